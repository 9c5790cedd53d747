"""scikit-learn DecisionTreeClassifier, DecisionTreeRegressor and the ExtraTree pair -> Tree.

Comparison: float32(x) <= float64 threshold. ``tree_.value`` holds class fractions, so counts are fractions times the
node's weight. ``tree_.missing_go_to_left`` is filled even where no NaN was seen (with the larger child), and nothing
records whether NaN was seen at all; ``was_fitted_with_missing`` infers it. Before 1.8, scikit-learn counted some rows
with NaN in leaves that they do not reach, and a rare split at NaN sends every number right. With ``monotonic_cst`` the
fractions are clipped to keep the order; what they say of a leaf's class is the model's, but they are no counts, so
training rows that are passed replace them (``Tree.has_own_counts``). A regressor's ``tree_.value`` is
what it predicts, under every criterion.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.adapters import hist_gradient_boosting
from secateur.adapters.model_checks import (
    ancestor_names,
    check_class,
    check_fitted,
    check_one_output,
    fitted_names,
    is_histogram_boosting,
)
from secateur.frames import frame_columns
from secateur.rows.checking import holds_missing
from secateur.rows.encoding import frame_numbers
from secateur.tree.tree import Tree, make_tree

CLASSIFIERS = ("DecisionTreeClassifier", "ExtraTreeClassifier")
REGRESSORS = ("DecisionTreeRegressor", "ExtraTreeRegressor")
SUPPORTED = (*CLASSIFIERS, *REGRESSORS)
WHOLE_COUNT = 1e-6


def read_model(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None) -> Tree:
    """Read a fitted tree, or say why it cannot be read."""
    if is_histogram_boosting(model):
        return hist_gradient_boosting.read_model(model, X, sample_weight, accepts_missing)
    _check_supported(model)
    takes_missing = was_fitted_with_missing(model, X, sample_weight) if accepts_missing is None else accepts_missing
    signs = model.monotonic_cst
    source = model.tree_
    fractions = source.value[:, 0, :]
    if not ancestor_names(model, "sklearn.tree").isdisjoint(REGRESSORS):
        weights = source.weighted_n_node_samples[:, None]
        return make_from_source(
            source, model, fractions, values=fractions[:, 0], counts=weights, accepts_missing=takes_missing
        )
    # Weighted counts need not be whole.
    weights = source.weighted_n_node_samples
    is_weighted = bool((source.n_node_samples != weights).any())
    counts = fractions * weights[:, None]
    return make_from_source(
        source,
        model,
        fractions,
        counts=counts if is_weighted else round_counts(counts),
        accepts_missing=takes_missing,
        monotone=signs if signs is not None and np.any(signs) else None,
    )


def make_from_source(source: Any, model: Any, fractions: NDArray[np.float64], **tree: Any) -> Tree:
    """Make a Tree of a ``tree_``, with the labels and columns of the model that it belongs to."""
    labels = (
        {"leaf_class": fractions.argmax(axis=1), "classes": model.classes_.tolist()} if "values" not in tree else {}
    )
    left, right, goes_left = source.children_left, source.children_right, source.missing_go_to_left.astype(bool)
    at_nan = np.isnan(source.threshold) & (left >= 0)  # no number is below NaN; turned around, all are below infinity
    return make_tree(
        children_left=np.where(at_nan, right, left),
        children_right=np.where(at_nan, left, right),
        threshold=np.where(at_nan, np.inf, source.threshold),
        missing_left=goes_left ^ at_nan,
        n_features=int(model.n_features_in_),
        feature_names=fitted_names(model),
        dtype="float32",
        **{"feature": source.feature, **labels, **tree},
    )


def round_counts(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make counts whole that miss a whole number by rounding only; clipped fractions miss it by more."""
    whole = np.rint(counts)
    return whole if np.abs(counts - whole).max() <= WHOLE_COUNT else counts


def _check_supported(model: Any) -> None:
    hint = (
        "Pass a single fitted tree: one of a forest with from_model(forest, tree=0), a search's best_estimator_, or a "
        "pipeline that ends in a tree."
    )
    check_class(model, "sklearn.tree", SUPPORTED, hint)
    check_fitted(model, hasattr(model, "tree_"))
    check_one_output(model, model.n_outputs_)


def was_fitted_with_missing(model: Any, X: Any, sample_weight: Any) -> bool:
    """Tell whether a fitted tree, or the rows passed with it, show that it was fitted with NaN."""
    source = model.tree_
    inner = np.flatnonzero(source.children_left >= 0)
    sizes = source.n_node_samples
    larger_left = sizes[source.children_left[inner]] > sizes[source.children_right[inner]]
    against = source.missing_go_to_left[inner].astype(bool) != larger_left
    if against.any() or not np.isfinite(source.threshold[inner]).all():
        return True
    if X is None or not holds_missing(X, {*source.feature[inner].tolist()}):
        return False
    try:
        rows = frame_numbers(X) if frame_columns(X) is not None else np.asarray(X)
        rows = np.ascontiguousarray(rows, dtype=np.float32)
        fitted = slice(None) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64) > 0
        rows = rows[fitted]
    except (TypeError, ValueError, IndexError):
        return False  # rows that do not fit are rejected, with a reason, when they are checked
    if rows.ndim != 2 or rows.shape[1] != model.n_features_in_:  # scikit-learn's tree itself does not check
        return False
    leaves = source.children_left < 0
    reached = source.apply(rows)
    return np.array_equal(np.bincount(reached, minlength=len(sizes))[leaves], sizes[leaves])
