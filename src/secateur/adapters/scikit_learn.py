"""scikit-learn DecisionTreeClassifier and ExtraTreeClassifier -> Tree.

Comparison: float32(x) <= float64 threshold. ``tree_.value`` holds class fractions, so counts are fractions times the
node's weight. ``tree_.missing_go_to_left`` is filled even where no NaN was seen (with the larger child), and nothing
records whether NaN was seen at all; ``was_fitted_with_missing`` infers it. With ``monotonic_cst`` the fractions are
clipped to keep the order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.adapters import hist_gradient_boosting
from secateur.errors import UnsupportedModelError
from secateur.frames import frame_columns
from secateur.rows.checking import holds_missing
from secateur.rows.encoding import frame_numbers
from secateur.tree.tree import Tree, make_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SUPPORTED", "read_model", "was_fitted_with_missing"]

SUPPORTED = ("DecisionTreeClassifier", "ExtraTreeClassifier")


def read_model(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None) -> Tree:
    """Read a fitted classification tree, or say why it cannot be read."""
    if hist_gradient_boosting.is_histogram_boosting(model):
        return hist_gradient_boosting.read_model(model, X, sample_weight, accepts_missing)
    _check_supported(model)
    source = model.tree_
    leaf = source.children_left < 0
    fractions = source.value[:, 0, :]
    takes_missing = was_fitted_with_missing(model, X, sample_weight) if accepts_missing is None else accepts_missing
    names = getattr(model, "feature_names_in_", None)
    signs = model.monotonic_cst
    return make_tree(
        children_left=source.children_left,
        children_right=source.children_right,
        feature=source.feature,
        threshold=source.threshold,
        missing_left=source.missing_go_to_left.astype(bool),
        leaf_class=np.where(leaf, fractions.argmax(axis=1), -1),
        counts=_class_counts(source, fractions),
        classes=model.classes_.tolist(),
        n_features=int(model.n_features_in_),
        accepts_missing=takes_missing,
        feature_names=None if names is None else names.tolist(),
        dtype="float32",
        monotone=signs if signs is not None and np.any(signs) else None,
    )


def _check_supported(model: Any) -> None:
    found = type(model).__qualname__
    known = {
        ancestor.__qualname__ for ancestor in type(model).__mro__ if ancestor.__module__.startswith("sklearn.tree")
    }
    if not known & set(SUPPORTED):
        hint = (
            "Pass a single fitted tree: a forest's with tree=0, 1, …, a search's best_estimator_, or a pipeline that "
            "ends in a tree."
        )
        if any("Regressor" in name for name in (*known, found)):
            hint = "Regression trees have no classes."
        raise UnsupportedModelError(f"Expected a {' or '.join(SUPPORTED)}, found {found}. {hint}")
    if not hasattr(model, "tree_"):
        raise UnsupportedModelError(f"This {found} is not fitted yet. Call fit first.")
    if model.n_outputs_ != 1:
        raise UnsupportedModelError(
            f"This {found} predicts {model.n_outputs_} outputs, but a rule has one class. Fit one tree for each output."
        )


def _class_counts(source: Any, fractions: NDArray[np.float64]) -> NDArray[np.float64]:
    counts: NDArray[np.float64] = fractions * source.weighted_n_node_samples[:, None]
    unweighted = np.array_equal(source.n_node_samples, source.weighted_n_node_samples)
    whole = np.rint(counts)
    # A fraction times its denominator misses a whole count by rounding only; clipped fractions miss it by more.
    if unweighted and np.abs(counts - whole).max() <= 1e-6:
        return whole
    return counts


def was_fitted_with_missing(model: Any, X: Any, sample_weight: Any) -> bool:
    """Whether a fitted tree, or the rows passed with it, show that it was fitted with NaN."""
    source = model.tree_
    inner = np.flatnonzero(source.children_left >= 0)
    sizes = source.n_node_samples
    larger_left = sizes[source.children_left[inner]] > sizes[source.children_right[inner]]
    if np.isinf(source.threshold[inner]).any() or (source.missing_go_to_left[inner].astype(bool) != larger_left).any():
        return True
    if X is None or not holds_missing(X):
        return False
    try:
        rows = frame_numbers(X) if frame_columns(X) is not None else np.asarray(X)
        rows = np.ascontiguousarray(rows, dtype=np.float32)
        fitted = slice(None) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64) > 0
        rows = rows[fitted]
    except (TypeError, ValueError, IndexError):
        return False  # rows that do not fit are refused, with a reason, when they are checked
    if rows.ndim != 2 or rows.shape[1] != model.n_features_in_:  # scikit-learn's tree itself does not check
        return False
    leaves = source.children_left < 0
    reached = source.apply(rows)
    return np.array_equal(np.bincount(reached, minlength=len(sizes))[leaves], sizes[leaves])
