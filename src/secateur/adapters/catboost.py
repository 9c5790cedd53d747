"""CatBoost's CatBoostClassifier and CatBoost, of one tree -> Tree.

The JSON of ``save_model`` is read. Comparison: float32(x) > border goes right. NaN goes left, unless the column's
``nan_value_treatment`` is "AsTrue".

A one-hot split sends one category right. The model keeps its hash only, so the rows are needed to tell the label:
CatBoost writes the hashes of the labels that rows hold. It takes no missing category. Splits by statistics of the
target are refused: they are no conditions on the column. A categorical column that no split tests gets one label, the
empty text, so that rows may hold any.

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
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from secateur.adapters.named_tree import name_tree
from secateur.errors import InputError, UnsupportedModelError
from secateur.frames import frame_columns
from secateur.rows.checking import check_names, holds_missing
from secateur.tree.tree import Label, Tree, make_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_model"]

SUPPORTED = ("CatBoostClassifier", "CatBoost")
NUMBER, ONE_HOT = "FloatFeature", "OneHotFeature"
LARGEST = float(np.finfo(np.float32).max)
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


class Test(NamedTuple):
    """One test: a column, and a border or the category codes that go left."""

    column: int
    threshold: float
    missing_left: bool
    left_codes: list[int] | None


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
    columns = _read_columns(model, X, content["features_info"], {split["split_type"] for split in source.splits})
    tests = [_read_test(split, columns) for split in source.splits]
    scale, bias = content["scale_and_bias"]
    margins = source.leaf_values * scale + np.asarray(bias)
    leaf_class = margins.argmax(axis=1) if n_values > 1 else (margins[:, 0] > 0).astype(np.int64)
    shown = any(column.get("has_nans") for column in columns) or (X is not None and holds_missing(X))
    takes_missing = shown if accepts_missing is None else accepts_missing
    n_leaves = len(source.leaf_values)
    padding = [-1] * n_leaves
    return make_tree(
        children_left=[_node_id(child, n_leaves) for child in source.children_left] + padding,
        children_right=[_node_id(child, n_leaves) for child in source.children_right] + padding,
        feature=[test.column for test in tests] + padding,
        threshold=[test.threshold for test in tests] + padding,
        missing_left=[test.missing_left for test in tests] + [False] * n_leaves,
        left_categories={node: test.left_codes for node, test in enumerate(tests) if test.left_codes is not None},
        categories=[tuple(column["labels"].values()) if "labels" in column else None for column in columns],
        leaf_class=[-1] * len(tests) + leaf_class.tolist(),
        classes=labels,
        n_features=len(columns),
        # CatBoost refuses a missing category.
        accepts_missing=[takes_missing and "labels" not in column for column in columns],
        feature_names=None if names == [str(place) for place in range(len(names))] else names,
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


def _load(model: Any, pool: Any = None) -> dict[str, Any]:
    """The model's JSON, which CatBoost writes to a file only; with a pool, it has the labels of its categories."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json", pool=pool)
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
    left, right = ([_or_leaf(2 * node + side, len(splits)) for node in range(len(splits))] for side in (1, 2))
    return Source(splits, left, right, np.array(tree["leaf_values"], dtype=np.float64).reshape(-1, n_values))


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


def _read_columns(model: Any, X: Any, info: dict[str, Any], kinds: set[str]) -> list[dict[str, Any]]:
    """What the model says of each column; those that are no numbers have labels by their hashes."""
    if not kinds <= {NUMBER, ONE_HOT}:
        raise UnsupportedModelError(
            f"This {type(model).__qualname__} splits by statistics that it makes of a column that is no number, which "
            "are no conditions on the column. One-hot encode it, or raise one_hot_max_size, and fit again."
        )
    labels = _find_labels(model, X) if ONE_HOT in kinds else {}
    columns: list[dict[str, Any]] = []
    for place, name in enumerate(model.feature_names_):
        columns.append({"name": str(name), "labels": labels.get(place, {0: ""})})
    for column in info.get("float_features", []):
        columns[column["flat_feature_index"]] = column
    for column in info.get("categorical_features", []):
        columns[column["flat_feature_index"]] |= column
    return columns


def _find_labels(model: Any, X: Any) -> dict[int, dict[int, str]]:
    """The labels of each categorical column by their hashes, as far as rows show them."""
    import narwhals as nw

    given = None if X is None else frame_columns(X)
    if given is None:
        raise UnsupportedModelError(
            "CatBoost keeps hashes of categories, but not their labels. Pass the training rows, too, as a data frame."
        )
    check_names([str(name) for name in model.feature_names_], given, "X", "model")
    places = [int(place) for place in model.get_cat_feature_indices()]
    others = {
        "text_features": model.get_text_feature_indices(),
        "embedding_features": model.get_embedding_feature_indices(),
    }
    try:
        pool = import_module("catboost").Pool(X, cat_features=places, **others)
    except Exception as error:  # CatBoost refuses rows in many ways
        raise InputError(f"CatBoost refuses X: {' '.join(str(error).split())}") from error
    hashes = {one["value"]: int(one["hash"]) for one in _load(model, pool)["features_info"]["cat_features_hash"]}
    frame = nw.from_native(X, eager_only=True)
    found = {}
    for place in places:
        labels = frame[:, place].unique().to_list()
        strange = next((label for label in labels if not isinstance(label, str)), None)
        if strange is not None:
            raise UnsupportedModelError(
                f"Column {given[place]!r} has the category {strange!r}, which CatBoost takes for the same as "
                f"{str(strange)!r}. Convert the column to text and fit again."
            )
        found[place] = {hashes[label]: label for label in sorted(labels)}
    return found


def _read_test(split: dict[str, Any], columns: list[dict[str, Any]]) -> Test:
    """The test of a split; the index that it gives counts columns of its own kind."""
    if split["split_type"] == NUMBER:
        place = _find_place(columns, split["float_feature_index"], is_number=True)
        border = float(split["border"])
        # The largest border parts NaN from all numbers, which a Tree says with +inf.
        return Test(
            place, border if border < LARGEST else np.inf, columns[place]["nan_value_treatment"] != "AsTrue", None
        )
    place = _find_place(columns, split["cat_feature_index"], is_number=False)
    hashes, wanted = list(columns[place]["labels"]), split["value"] % 2**32
    if wanted not in hashes:
        raise InputError(
            f"X does not hold every category of the column {columns[place]['name']!r} that the tree tests. "
            "Pass the rows that the model was fitted on."
        )
    return Test(place, np.nan, False, [code for code in range(len(hashes) + 1) if code != hashes.index(wanted)])


def _find_place(columns: list[dict[str, Any]], index: int, *, is_number: bool) -> int:
    return next(
        place
        for place, column in enumerate(columns)
        if column.get("feature_index") == index and ("labels" not in column) == is_number
    )
