"""pycontree ConTree -> Tree.

Comparison: the float64 value <= a threshold that the library keeps as float32; the value itself is never rounded.
Labels are whole numbers (fit cuts anything else down to int32), and what predict returns are those numbers; there is no
``classes_``, so the classes are read from the training labels that the model keeps. It keeps its training rows, too:
the counts are those rows, routed, as in its own predict_proba and export_dot. Nodes have no ids: they are numbered in
preorder. NaN is refused by the library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import ParameterError, UnsupportedModelError
from secateur.tree.tree import Tree, make_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_model"]


def read_model(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None) -> Tree:
    """Read a fitted ConTree, or say why it cannot be read."""
    _check_supported(model, accepts_missing)
    labels, codes = np.unique(model.train_y_, return_inverse=True)
    class_ids = {int(label): code for code, label in enumerate(labels)}
    left: list[int] = []
    right: list[int] = []
    feature: list[int] = []
    threshold: list[float] = []
    leaf_class: list[int] = []
    counts: list[NDArray[np.int64]] = []
    root_rows = np.arange(len(codes))
    stack: list[tuple[Any, NDArray[np.int64], int, list[int]]] = [(model.tree_, root_rows, -1, left)]
    while stack:
        source, rows, parent, side = stack.pop()
        node = len(left)
        if parent >= 0:
            side[parent] = node
        left.append(-1)
        right.append(-1)
        counts.append(np.bincount(codes[rows], minlength=len(labels)))
        is_leaf = source.is_leaf_node()
        feature.append(-1 if is_leaf else int(source.get_split_feature()))
        threshold.append(np.nan if is_leaf else float(source.get_split_threshold()))
        leaf_class.append(class_ids[int(source.get_label())] if is_leaf else -1)
        if not is_leaf:
            goes_left = model.train_X_[rows, feature[node]] <= threshold[node]
            stack.append((source.get_right(), rows[~goes_left], node, right))
            stack.append((source.get_left(), rows[goes_left], node, left))
    names = getattr(model, "feature_names_in_", None)
    return make_tree(
        children_left=left,
        children_right=right,
        feature=feature,
        threshold=threshold,
        leaf_class=leaf_class,
        counts=counts,
        classes=labels.tolist(),
        n_features=int(model.n_features_in_),
        feature_names=None if names is None else names.tolist(),
        dtype="float64",
    )


def _check_supported(model: Any, accepts_missing: bool | None) -> None:
    found = type(model).__qualname__
    ours = {ancestor.__qualname__ for ancestor in type(model).__mro__ if ancestor.__module__.startswith("pycontree")}
    if "ConTree" not in ours:
        raise UnsupportedModelError(f"Expected a ConTree of pycontree, found {found}. Pass the fitted ConTree itself.")
    if getattr(model, "tree_", None) is None:
        raise UnsupportedModelError(f"This {found} is not fitted yet. Call fit first.")
    if model.train_X_ is None or model.train_y_ is None:
        raise UnsupportedModelError(
            f"This {found} has lost its training rows (train_X_, train_y_), which alone tell its classes. Fit it again."
        )
    if accepts_missing:
        raise ParameterError(f"accepts_missing=True does not fit: {found} refuses NaN. Leave accepts_missing out.")
