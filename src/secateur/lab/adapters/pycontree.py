"""pycontree ConTree -> Tree.

Comparison: the float64 value <= a threshold that the library keeps as float32; the value itself is never rounded.
Labels are whole numbers (fit cuts anything else down to int32), and predict returns those numbers. There is no
``classes_``, so the classes are read from the training labels that the model keeps. It also keeps its training rows:
the counts are those rows, routed, as in its own predict_proba and export_dot. Nodes have no ids and are numbered in
preorder. The library rejects NaN.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.adapters import reading
from secateur.errors import UnsupportedModelError
from secateur.tree.tree import Tree


def read_model(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None) -> Tree:
    """Read a fitted ConTree, or say why it cannot be read."""
    reading.check_class(model, "pycontree", ("ConTree",), "Pass the fitted ConTree itself.")
    reading.check_fitted(model, getattr(model, "tree_", None) is not None)
    if model.train_X_ is None or model.train_y_ is None:
        raise UnsupportedModelError(
            f"This {type(model).__qualname__} has lost its training rows (train_X_, train_y_), which alone tell its "
            "classes. Fit it again."
        )
    reading.check_no_missing(model, accepts_missing)
    labels, codes = np.unique(model.train_y_, return_inverse=True)
    class_ids = {int(label): code for code, label in enumerate(labels)}

    def read(found: tuple[Any, NDArray[np.int64]]) -> tuple[reading.Node, dict[str, Any]]:
        source, rows = found
        counts = np.bincount(codes[rows], minlength=len(labels))
        if source.is_leaf_node():
            return reading.Node(leaf_class=class_ids[int(source.get_label())], counts=counts), {}
        column, cut = int(source.get_split_feature()), float(source.get_split_threshold())
        goes_left = model.train_X_[rows, column] <= cut
        children = {"left": (source.get_left(), rows[goes_left]), "right": (source.get_right(), rows[~goes_left])}
        return reading.Node(feature=column, threshold=cut, counts=counts), children

    return reading.make_from_nodes(
        reading.grow_nodes((model.tree_, np.arange(len(codes))), read),
        classes=labels.tolist(),
        n_features=int(model.n_features_in_),
        feature_names=reading.fitted_names(model),
        dtype="float64",
    )
