"""scikit-learn HistGradientBoostingRegressor, or -Classifier of two classes, with one iteration -> Tree.

Its one tree is a record array, ``_predictors[0][0].nodes``, in preorder. Comparison: float64(x) <= num_threshold, which
is infinite where a split leaves the right side to NaN. The second class is predicted where the leaf's value plus the
baseline is above zero; a regressor predicts that sum, through the inverse link of its loss.

Where columns hold categories, the model's own encoder comes first and moves them to the front: the encoder has their
labels, and a split has a bitset of the codes that go left. A value that the encoder does not know is NaN to the tree.
Such a tree takes labels as a pipeline does, so it has ``columns``.

Nodes count rows but not their classes. As in scikit-learn's other trees, NaN goes somewhere even where none was seen
(to the child with more rows), and nothing records whether any was; ``_was_fitted_with_missing`` infers it.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.adapters.model_checks import ancestor_names, check_fitted, fitted_names
from secateur.errors import InputError, InvalidTreeError, UnsupportedModelError
from secateur.rows.checking import check_rows, holds_missing
from secateur.rows.encoding import is_missing
from secateur.rows.rows import apply_tree
from secateur.tree.columns import Columns
from secateur.tree.tree import Label, Tree, make_tree

REGRESSOR = "HistGradientBoostingRegressor"


def read_model(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None) -> Tree:
    """Read the only tree of a fitted model, or say why it cannot be read."""
    _check_supported(model)
    nodes = model._predictors[0][0].nodes
    leaf = nodes["is_leaf"].astype(bool)
    n_features = int(model.n_features_in_)
    is_category = np.zeros(n_features, bool) if model.is_categorical_ is None else np.asarray(model.is_categorical_)
    original = np.argsort(~is_category, kind="stable")  # the model's own encoder moves categories to the front
    levels = _find_levels(model, {int(original[feature]) for feature in nodes["feature_idx"][~leaf]})
    feature = np.where(leaf, -1, original[np.where(leaf, 0, nodes["feature_idx"])])
    names = fitted_names(model)
    signs = model.monotonic_cst
    if hasattr(signs, "keys"):  # given by name
        signs = [signs.get(name, 0) for name in names or ()]
    try:
        tree = make_tree(
            children_left=np.where(leaf, -1, nodes["left"].astype(np.int64)),
            children_right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
            feature=feature,
            threshold=nodes["num_threshold"],
            missing_left=nodes["missing_go_to_left"].astype(bool),
            left_categories=_find_left_codes(model, feature, levels),
            categories=[levels.get(feature) for feature in range(n_features)],
            **_find_answers(model, nodes),
            n_features=n_features,
            accepts_missing=True,
            feature_names=names,
            dtype="float64",
            monotone=signs if signs is not None and np.any(signs) else None,
            # Where some column holds categories, asked for or not, rows hold labels and not codes.
            columns=Columns((None,) * n_features, (False,) * n_features) if np.any(model.is_categorical_) else None,
        )
    except InvalidTreeError as error:
        raise UnsupportedModelError(f"This {type(model).__qualname__} cannot be written as a Tree. {error}") from error
    if _was_fitted_with_missing(model, tree, X) if accepts_missing is None else accepts_missing:
        return tree
    none = np.zeros(tree.n_features, dtype=bool)
    return replace(tree, accepts_missing=none, missing_left=np.zeros(tree.n_nodes, dtype=bool))


def _check_supported(model: Any) -> None:
    found = type(model).__qualname__
    check_fitted(model, hasattr(model, "_predictors"))
    if len(getattr(model, "classes_", ())) > 2:
        raise UnsupportedModelError(
            f"This {found} has {len(model.classes_)} classes, and so a tree for each of them. Fit it on two classes."
        )
    if len(model._predictors) != 1:
        raise UnsupportedModelError(
            f"This {found} adds up {len(model._predictors)} trees, which correct one another. Fit it with max_iter=1."
        )


def _find_answers(model: Any, nodes: NDArray[Any]) -> dict[str, Any]:
    """Find what each node predicts, and of a regressor how many rows it has."""
    raw = np.ravel(model._baseline_prediction)[0] + nodes["value"]
    if REGRESSOR in ancestor_names(model, "sklearn.ensemble"):
        return {"values": model._loss.link.inverse(raw), "counts": nodes["count"].astype(np.float64)[:, None]}
    return {"leaf_class": raw > 0, "classes": model.classes_.tolist()}


def _find_encoder(model: Any) -> Any:
    return model._preprocessor.named_transformers_["encoder"]


def _find_levels(model: Any, tested: set[int]) -> dict[int, tuple[Label, ...]]:
    """List the labels of the categorical columns that splits test; code k is the k-th."""
    if model.is_categorical_ is None:
        return {}
    found = {}
    columns = np.flatnonzero(model.is_categorical_).tolist()
    for column, listed in zip(columns, _find_encoder(model).categories_, strict=True):
        labels = listed.tolist()
        if labels and isinstance(labels[-1], float) and math.isnan(labels[-1]):  # the last, and no category
            labels.pop()
        if column in tested:
            if any(is_missing(label) for label in labels):
                raise UnsupportedModelError(
                    f"Column {column} of this {type(model).__qualname__} has None as a category besides NaN, and a "
                    "Tree has one kind of missing value. Replace None by a label and fit again."
                )
            found[column] = tuple(labels)
    return found


def _find_left_codes(
    model: Any, feature: NDArray[np.int64], levels: dict[int, tuple[Label, ...]]
) -> dict[int, list[int]]:
    """List the codes that go left at each categorical split; unlisted values go where NaN goes."""
    predictor = model._predictors[0][0]
    found = {}
    for node in np.flatnonzero(predictor.nodes["is_categorical"].astype(bool)).tolist():
        record = predictor.nodes[node]
        bits = predictor.raw_left_cat_bitsets[int(record["bitset_idx"])]
        size = len(levels[int(feature[node])])
        left = [code for code in range(size) if int(bits[code // 32]) >> (code % 32) & 1]
        found[node] = [*left, *([size] if record["missing_go_to_left"] else [])]
    return found


def _was_fitted_with_missing(model: Any, tree: Tree, X: Any) -> bool:
    """Tell whether a model, or the rows passed with it, show that it was fitted with NaN."""
    nodes = model._predictors[0][0].nodes
    inner = np.flatnonzero(~tree.is_leaf)
    sizes = nodes["count"].astype(np.int64)
    larger_left = sizes[tree.children_left[inner]] > sizes[tree.children_right[inner]]
    numeric = ~nodes["is_categorical"][inner].astype(bool)
    if (tree.missing_left[inner] != larger_left).any() or np.isinf(tree.threshold[inner][numeric]).any():
        return True
    listed = [] if model.is_categorical_ is None else _find_encoder(model).categories_
    if any(is_missing(label) for labels in listed for label in labels.tolist()):
        return True
    if X is None or not holds_missing(X, {*tree.feature[~tree.is_leaf].tolist()}):
        return False
    try:
        reached = apply_tree(tree, check_rows(tree, X))
    except InputError:
        return False  # rows that do not fit are rejected, with a reason, when they are checked
    leaves = tree.is_leaf
    return np.array_equal(np.bincount(reached, minlength=tree.n_nodes)[leaves], sizes[leaves])
