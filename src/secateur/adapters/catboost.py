"""CatBoost's CatBoostClassifier and CatBoost, of one tree -> Tree.

The JSON of ``save_model`` is read. Comparison: float32(x) > border goes right. NaN goes left, unless the column's
``nan_value_treatment`` is "AsTrue". Categorical columns are kept as hashes of their labels, and splits by them, one-hot
or by statistics of the target, are refused: the labels are not in the model. A categorical column that no split tests
gets one label, the empty text, so that rows may hold any.

A symmetric tree asks the same question at all nodes of a level, and answer ``i`` is bit ``i`` of the leaf's number. The
last question becomes the root, so that the leaves are in the order of their numbers from left to right. A border that
is asked twice makes leaves that no row reaches; they stay.

The leaf's value is multiplied by the scale and the bias is added. Of two classes the second is predicted above 0; of
several the one with the largest value, the first of equals. Leaves keep the weight of their rows but not their classes:
there are no counts.

Node ids: the splits (of a symmetric tree level by level, else in preorder), then the leaves by CatBoost's own number:
leaf ``i`` is node ``n_leaves - 1 + i``.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from secateur.adapters.named_tree import name_tree
from secateur.errors import UnsupportedModelError
from secateur.rows import holds_missing
from secateur.tree import Label, Tree, make_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_model"]

SUPPORTED = ("CatBoostClassifier", "CatBoost")
BINARY = ("Logloss", "CrossEntropy")
MULTICLASS = ("MultiClass", "MultiClassOneVsAll")


class Source(NamedTuple):
    """A tree of CatBoost's: its splits and their children, and the values of its leaves by number.

    A child is the number of a split, or ``-1 - i`` for leaf ``i``.
    """

    splits: list[dict[str, Any]]
    children_left: list[int]
    children_right: list[int]
    leaf_values: NDArray[np.float64]


def read_model(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None, tree: int | None = None) -> Tree:
    """Read a fitted classification tree, or say why it cannot be read."""
    found = type(model).__qualname__
    _check_supported(model)
    name_tree(tree, int(model.tree_count_), found, votes=False)
    content = _load(model)
    labels: list[Label] = np.asarray(model.classes_).tolist()
    n_values = _count_values(content, labels, found)
    if "oblivious_trees" in content:
        source = _read_symmetric(content["oblivious_trees"][0], n_values)
    else:
        source = _read_nodes(content["trees"][0], n_values)
    names = [str(name) for name in model.feature_names_]
    numbers = content["features_info"].get("float_features", [])
    columns = [_find_column(split, numbers, found) for split in source.splits]
    n_leaves = len(source.leaf_values)
    scale, bias = content["scale_and_bias"]
    margins = source.leaf_values * scale + np.asarray(bias)
    leaf_class = margins.argmax(axis=1) if n_values > 1 else (margins[:, 0] > 0).astype(np.int64)
    shown = any(column["has_nans"] for column in numbers) or (X is not None and holds_missing(X))
    numeric = {column["flat_feature_index"] for column in numbers}
    padding = [-1] * n_leaves
    return make_tree(
        children_left=[_node_id(child, n_leaves) for child in source.children_left] + padding,
        children_right=[_node_id(child, n_leaves) for child in source.children_right] + padding,
        feature=[column["flat_feature_index"] for column in columns] + padding,
        threshold=[split["border"] for split in source.splits] + padding,
        missing_left=[column["nan_value_treatment"] != "AsTrue" for column in columns] + [False] * n_leaves,
        leaf_class=[-1] * len(columns) + leaf_class.tolist(),
        categories=[None if column in numeric else ("",) for column in range(len(names))],
        classes=labels,
        n_features=len(names),
        accepts_missing=shown if accepts_missing is None else accepts_missing,
        feature_names=None if names == [str(column) for column in range(len(names))] else names,
        dtype="float32",
    )


def _check_supported(model: Any) -> None:
    found = type(model).__qualname__
    known = {ancestor.__qualname__ for ancestor in type(model).__mro__ if ancestor.__module__.startswith("catboost.")}
    if not known & set(SUPPORTED) or known & {"CatBoostRegressor", "CatBoostRanker"}:
        raise UnsupportedModelError(
            f"Expected a {' or '.join(SUPPORTED)} of catboost, found {found}. Regression and ranking have no classes."
        )
    if not model.is_fitted():
        raise UnsupportedModelError(f"This {found} is not fitted yet. Call fit first.")


def _load(model: Any) -> dict[str, Any]:
    """The model's JSON, which CatBoost writes to a file only."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _count_values(content: dict[str, Any], labels: list[Label], found: str) -> int:
    """Number of values of a leaf; what does not predict one class is refused."""
    info = content["model_info"]
    loss = info.get("params", {}).get("loss_function", {}).get("type")
    n_values = len(content["scale_and_bias"][1])
    fits = (loss in BINARY and len(labels) == 2 and n_values == 1) or (loss in MULTICLASS and len(labels) == n_values)
    if not fits:
        raise UnsupportedModelError(
            f"Expected a {found} with one of the losses {', '.join(BINARY + MULTICLASS)}, found {loss!r} with "
            f"{len(labels)} classes. Fit it with one of them."
        )
    if float(info.get("binclass_probability_threshold", 0.5)) != 0.5:
        raise UnsupportedModelError(
            f"This {found} decides by another probability than 0.5. Call set_probability_threshold(0.5) first."
        )
    return n_values


def _read_symmetric(tree: dict[str, Any], n_values: int) -> Source:
    levels = tree.get("splits") or []
    splits = [split for level, split in enumerate(reversed(levels)) for _ in range(2**level)]
    # Level by level, the children of node i are 2 i + 1 and 2 i + 2; those beyond the splits are leaves.
    children = [[_or_leaf(2 * node + side, len(splits)) for node in range(len(splits))] for side in (1, 2)]
    return Source(splits, *children, np.array(tree["leaf_values"], dtype=np.float64).reshape(-1, n_values))


def _or_leaf(node: int, n_splits: int) -> int:
    return node if node < n_splits else n_splits - 1 - node


def _read_nodes(tree: dict[str, Any], n_values: int) -> Source:
    if "split" not in tree:
        return Source([], [], [], np.array(tree["value"], dtype=np.float64).reshape(1, n_values))
    splits: list[dict[str, Any]] = []
    left: list[int] = []
    right: list[int] = []
    values: list[Any] = []
    stack: list[tuple[dict[str, Any], int, list[int]]] = [(tree, -1, left)]
    while stack:
        node, parent, side = stack.pop()
        number = len(splits)
        if parent >= 0:
            side[parent] = number
        splits.append(node["split"])
        left.append(0)
        right.append(0)
        for own, child in ((left, node["left"]), (right, node["right"])):  # CatBoost numbers them at their parent
            if "split" not in child:
                own[number] = -1 - len(values)
                values.append(child["value"])
        stack += [
            (node[name], number, own) for name, own in (("right", right), ("left", left)) if "split" in node[name]
        ]
    return Source(splits, left, right, np.array(values, dtype=np.float64).reshape(-1, n_values))


def _node_id(child: int, n_leaves: int) -> int:
    return child if child >= 0 else n_leaves - 2 - child


def _find_column(split: dict[str, Any], numbers: list[dict[str, Any]], found: str) -> dict[str, Any]:
    """The numeric column that a split tests."""
    if split["split_type"] != "FloatFeature":
        raise UnsupportedModelError(
            f"This {found} splits by a column that is no number, of which it keeps neither the labels nor what they "
            "stand for. One-hot encode the column and fit again without cat_features, text_features and the like."
        )
    return next(column for column in numbers if column["feature_index"] == split["float_feature_index"])
