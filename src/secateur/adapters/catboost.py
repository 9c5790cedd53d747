"""CatBoost's CatBoostClassifier, CatBoostRegressor and CatBoost, of one tree -> Tree.

Reads the JSON of ``save_model``. Comparison: float32(x) > border goes right. NaN goes left, unless the column's
``nan_value_treatment`` is "AsTrue".

A one-hot split sends one category right. The model keeps only its hash, so rows are needed to find the label: CatBoost
writes the hashes of the labels that rows hold. It takes no missing category. Splits by target statistics are rejected,
because they are not conditions on the column. A categorical column that no split tests gets one label, the empty text,
so rows may hold anything there.

A symmetric tree asks the same question at all nodes of a level, and answer ``i`` is bit ``i`` of the leaf's number. The
last question becomes the root, which puts the leaves in the order of their numbers from left to right. A border that is
asked twice makes leaves that no row reaches; they stay.

The leaf's value is multiplied by the scale, and the bias is added, which is what a regressor predicts. With two classes
the second is predicted above 0; with more, the one with the largest value, the first of equals. Leaves keep the weight
of their rows but not their classes, so there are no counts.

Node ids: the splits (of a symmetric tree level by level, else in preorder), then the leaves by CatBoost's own number:
leaf ``i`` is node ``n_leaves - 1 + i``.
"""

import json
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from secateur.adapters import reading
from secateur.errors import InputError, UnsupportedModelError
from secateur.frames import frame_columns
from secateur.rows.checking import check_names, holds_missing
from secateur.tree.tree import Label, Tree

SUPPORTED = ("CatBoostClassifier", "CatBoostRegressor", "CatBoost")
NUMBER, ONE_HOT = "FloatFeature", "OneHotFeature"
LARGEST = float(np.finfo(np.float32).max)
BINARY = ("Logloss", "CrossEntropy")
MULTICLASS = ("MultiClass", "MultiClassOneVsAll")
REGRESSION = ("RMSE", "MAE", "Quantile", "MAPE", "Huber", "Expectile", "Lq")  # which predict the value as it is


class Source(NamedTuple):
    """A tree of CatBoost's: its splits, their children (``-1 - i`` for leaf ``i``), and the values of its leaves."""

    splits: list[dict[str, Any]]
    children: list[tuple[int, int]]
    leaf_values: list[Any]


def read_model(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None, tree: int | None = None) -> Tree:
    """Read a fitted tree, or say why it cannot be read."""
    found = type(model).__qualname__
    hint = "Ranking predicts neither classes nor values."
    reading.check_class(model, "catboost", SUPPORTED, hint, rejected=("CatBoostRanker",))
    reading.check_fitted(model, model.is_fitted())
    reading.choose_tree(model, tree, int(model.tree_count_), votes=False)
    content = _load(model)
    is_regression = _find_loss(content) in REGRESSION and len(content["scale_and_bias"][1]) == 1
    labels: list[Label] = [] if is_regression else np.asarray(model.classes_).tolist()
    n_values = 1 if is_regression else _count_values(content, labels, found)
    is_symmetric = "oblivious_trees" in content
    source = _read_symmetric(content["oblivious_trees"][0]) if is_symmetric else _read_nodes(content["trees"][0])
    names = [str(name) for name in model.feature_names_]
    columns = _read_columns(model, X, content["features_info"], {split["split_type"] for split in source.splits})
    nodes = [_read_split(split, columns) for split in source.splits]
    scale, bias = content["scale_and_bias"]
    margins = np.array(source.leaf_values, dtype=np.float64).reshape(-1, n_values) * scale + np.asarray(bias)
    leaf_class = margins.argmax(axis=1) if n_values > 1 else (margins[:, 0] > 0).astype(np.int64)
    leaves = [reading.Node(leaf_class=chosen) for chosen in leaf_class.tolist()]
    if is_regression:
        leaves = [reading.Node(leaf_class=0, value=value) for value in margins[:, 0].tolist()]
    asked = {node.feature for node in nodes}
    shown = any(column.get("has_nans") for column in columns) or (X is not None and holds_missing(X, asked))
    takes_missing = shown if accepts_missing is None else accepts_missing
    for place, children in enumerate(source.children):
        left, right = (reading.after_splits(child, len(nodes)) for child in children)
        nodes[place] = nodes[place]._replace(left=left, right=right)
    return reading.make_from_nodes(
        nodes + leaves,
        categories=[tuple(column["labels"].values()) if "labels" in column else None for column in columns],
        **({} if is_regression else {"classes": labels}),
        n_features=len(columns),
        # CatBoost rejects a missing category.
        accepts_missing=[takes_missing and "labels" not in column for column in columns],
        feature_names=None if names == [str(place) for place in range(len(names))] else names,
        dtype="float32",
    )


def _load(model: Any, pool: Any = None) -> dict[str, Any]:
    """Read the model's JSON, which CatBoost writes to a file only; a pool adds the labels of its categories."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json", pool=pool)
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _find_loss(content: dict[str, Any]) -> Any:
    return content["model_info"].get("params", {}).get("loss_function", {}).get("type")


def _count_values(content: dict[str, Any], labels: list[Label], found: str) -> int:
    """Count the values of a leaf; reject what does not predict one class."""
    info, loss = content["model_info"], _find_loss(content)
    n_values = len(content["scale_and_bias"][1])
    fits = (loss in BINARY and len(labels) == 2 and n_values == 1) or (loss in MULTICLASS and len(labels) == n_values)
    if not fits:
        raise UnsupportedModelError(
            f"Expected a {found} with one of the losses {', '.join(BINARY + MULTICLASS)}, found {loss!r} with "
            f"{len(labels)} classes; for values with one of {', '.join(REGRESSION)}. Fit it with one of them."
        )
    if float(info.get("binclass_probability_threshold", 0.5)) != 0.5:
        raise UnsupportedModelError(
            f"This {found} decides by another probability than 0.5. Call set_probability_threshold(0.5)."
        )
    return n_values


def _read_symmetric(tree: dict[str, Any]) -> Source:
    levels = tree.get("splits") or []
    splits = [split for level, split in enumerate(reversed(levels)) for _ in range(2**level)]
    # Level by level, the children of node i are 2 i + 1 and 2 i + 2; those beyond the splits are leaves, in order.
    return Source(splits, [(2 * node + 1, 2 * node + 2) for node in range(len(splits))], tree["leaf_values"])


def _read_nodes(tree: dict[str, Any]) -> Source:
    if "split" not in tree:
        return Source([], [], tree["value"])
    splits: list[dict[str, Any]] = []
    values: list[Any] = []

    def read(node: dict[str, Any]) -> tuple[reading.Node, dict[str, Any]]:
        splits.append(node["split"])
        found, inner = reading.Node(), {}
        for side in ("left", "right"):  # CatBoost numbers leaves at their parent
            if "split" in node[side]:
                inner[side] = node[side]
            else:
                values.append(node[side]["value"])
                found = found.with_child(side, -len(values))
        return found, inner

    return Source(splits, [(node.left, node.right) for node in reading.grow_nodes(tree, read)], values)


def _read_columns(model: Any, X: Any, info: dict[str, Any], kinds: set[str]) -> list[dict[str, Any]]:
    """List what the model says of each column; those that are no numbers have labels by their hashes."""
    if not kinds <= {NUMBER, ONE_HOT}:
        raise UnsupportedModelError(
            f"This {type(model).__qualname__} splits by statistics of a categorical column, which are no conditions on "
            "the column. One-hot encode it, or raise one_hot_max_size, and fit again."
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
    """Map hashes to labels for each categorical column, as far as rows show them."""
    import narwhals as nw

    given = None if X is None else frame_columns(X)
    if given is None:
        raise UnsupportedModelError(
            "CatBoost keeps hashes of categories, but not their labels. Pass the training rows as a data frame, too."
        )
    check_names([str(name) for name in model.feature_names_], given, "X", "model")
    places = [int(place) for place in model.get_cat_feature_indices()]
    others = {
        "text_features": model.get_text_feature_indices(),
        "embedding_features": model.get_embedding_feature_indices(),
    }
    try:
        pool = import_module("catboost").Pool(X, cat_features=places, **others)
    except Exception as error:  # CatBoost rejects rows in many ways
        raise InputError(f"CatBoost rejects X: {' '.join(str(error).split())}") from error
    hashes = {one["value"]: int(one["hash"]) for one in _load(model, pool)["features_info"]["cat_features_hash"]}
    frame = nw.from_native(X, eager_only=True)
    found = {}
    for place in places:
        labels = frame[:, place].unique().to_list()
        strange = next((label for label in labels if not isinstance(label, str)), None)
        if strange is not None:
            raise UnsupportedModelError(
                f"Column {given[place]!r} has the category {strange!r}, to CatBoost the same as {str(strange)!r}. "
                "Convert the column to text and fit again."
            )
        found[place] = {hashes[label]: label for label in sorted(labels)}
    return found


def _read_split(split: dict[str, Any], columns: list[dict[str, Any]]) -> reading.Node:
    """Read a split without its children; the index that it gives counts columns of its own kind."""
    if split["split_type"] == NUMBER:
        place = _find_place(columns, split["float_feature_index"], is_number=True)
        border = float(split["border"])
        # The largest border parts NaN from all numbers, which a Tree says with +inf.
        border = border if border < LARGEST else np.inf
        missing_left = columns[place]["nan_value_treatment"] != "AsTrue"
        return reading.Node(feature=place, threshold=border, missing_left=missing_left)
    place = _find_place(columns, split["cat_feature_index"], is_number=False)
    hashes, wanted = list(columns[place]["labels"]), split["value"] % 2**32
    if wanted not in hashes:
        raise InputError(
            f"X does not hold every category of the column {columns[place]['name']!r} that the tree tests. Pass the "
            "training rows."
        )
    return reading.Node(feature=place, codes=[code for code in range(len(hashes) + 1) if code != hashes.index(wanted)])


def _find_place(columns: list[dict[str, Any]], index: int, *, is_number: bool) -> int:
    return next(
        place
        for place, column in enumerate(columns)
        if column.get("feature_index") == index and ("labels" not in column) == is_number
    )
