"""licketysplit LicketySPLITClassifier -> Tree.

The library casts every value to uint8 and tests its lowest bit; 1 goes to *its* left. Only columns of 0 and 1 mean
anything to it, and such a column reads as x <= 0.5, with the two children swapped. Rows with other values are rejected
when they are passed along; the model itself keeps none that could be checked.

Numeric columns come in through its ThresholdGuessBinarizer: a scikit-learn pipeline of the two is read in terms of the
original columns. There the binary column is float64(x) <= float64 threshold, so 1 is our left as well.

Labels are 0, 1, 2, … A leaf that defers to another model has no class: rejected. Nodes have no ids: they are
numbered in the library's own preorder, so the k-th leaf by id is the k-th of its ``leaf_paths()``. Only class shares
are kept, no counts. NaN is rejected by the binarizer, and cast to an arbitrary number without it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.adapters.reading import check_class, check_fitted, check_no_missing, fitted_names
from secateur.errors import UnsupportedModelError
from secateur.frames import frame_columns
from secateur.tree.tree import Tree, make_tree


def read_model(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None) -> Tree:
    """Read a fitted classifier, alone or behind the library's binarizer, or say why it cannot be read."""
    binarizer, classifier = _take_apart(model)
    is_regressor = "Regressor" in type(classifier).__qualname__
    hint = "Regression trees have no classes." if is_regressor else "Pass the fitted classifier itself."
    check_class(classifier, "licketysplit", ("LicketySPLITClassifier",), hint)
    check_fitted(classifier, hasattr(classifier, "classes_") and hasattr(classifier, "_model"))
    check_no_missing(classifier, accepts_missing, "knows 0 and 1 only")
    bits, when_one, when_zero, actions = _grow_from_paths(*classifier.get_tree_paths())
    n_bits = int(classifier.n_features_in_)
    if binarizer is None:
        _check_binary(X)
        columns, cuts, n_features, names = list(range(n_bits)), [0.5] * n_bits, n_bits, None
        left, right = when_zero, when_one
    else:
        columns = [int(column) for column, _ in binarizer.thresholds_]
        cuts = [float(cut) for _, cut in binarizer.thresholds_]
        n_features, names = int(binarizer.n_features_in_), fitted_names(binarizer)
        left, right = when_one, when_zero
    if len(cuts) != n_bits:
        raise UnsupportedModelError(
            f"The binarizer makes {len(cuts)} columns, but the tree was fitted on {n_bits}. Fit the whole pipeline."
        )
    made_up = [f"x{column}" for column in range(n_features)]  # what the binarizer calls nameless columns
    return make_tree(
        children_left=left,
        children_right=right,
        feature=[columns[bit] if bit >= 0 else -1 for bit in bits],
        threshold=[cuts[bit] if bit >= 0 else np.nan for bit in bits],
        leaf_class=actions,
        classes=classifier.classes_.tolist(),
        n_features=n_features,
        feature_names=None if names == made_up else names,
        dtype="float64",
    )


def _take_apart(model: Any) -> tuple[Any, Any]:
    """Return the binarizer, or None, and the classifier of a model or of a pipeline of both."""
    if not hasattr(model, "steps"):
        return None, model
    *before, classifier = (step for _, step in model.steps)
    if [type(step).__qualname__ for step in before] not in ([], ["ThresholdGuessBinarizer"]):
        found = " and ".join(type(step).__qualname__ for _, step in model.steps)
        raise UnsupportedModelError(
            f"Expected a pipeline of a ThresholdGuessBinarizer and a LicketySPLITClassifier, found {found}. Pass the "
            "last step alone for rules about the columns that it saw."
        )
    if before:
        check_fitted(before[0], hasattr(before[0], "thresholds_"))
    return (before[0] if before else None), classifier


def _grow_from_paths(
    paths: Sequence[Sequence[int]], actions: Sequence[int]
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Find the tested column, the children for 1 and 0, and the class of each node, in preorder, as the paths come."""
    feature, when_one, when_zero, leaf_class = [-1], [-1], [-1], [-1]
    for path, action in zip(paths, actions, strict=True):
        if action < 0:
            raise UnsupportedModelError(
                "This LicketySPLITClassifier has a leaf that defers to another model. Fit it without bb_pred."
            )
        node = 0
        for step in path:
            feature[node] = abs(step) - 1
            children = when_one if step > 0 else when_zero
            if children[node] < 0:
                children[node] = len(feature)
                for column in (feature, when_one, when_zero, leaf_class):
                    column.append(-1)
            node = children[node]
        leaf_class[node] = int(action)
    return feature, when_one, when_zero, leaf_class


def _check_binary(X: Any) -> None:
    """Reject rows that hold anything but 0 and 1: the library would test the lowest bit of their whole part."""
    if X is None:
        return
    names = frame_columns(X)
    try:
        rows: NDArray[np.float64] = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return  # rows that are no numbers are rejected, with a reason, when they are checked
    strange = np.argwhere((rows != 0) & (rows != 1))
    if rows.ndim == 2 and len(strange):
        row, column = strange[0].tolist()
        name = names[column] if names is not None else f"x{column}"
        raise UnsupportedModelError(
            f"LicketySPLITClassifier takes columns of 0 and 1, but column {name!r} holds {rows[row, column]:g} "
            f"(row {row}). Pass a fitted pipeline of its ThresholdGuessBinarizer and the classifier."
        )
