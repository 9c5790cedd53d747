"""licketysplit LicketySPLITClassifier -> Tree.

The library casts every value to uint8 and tests its lowest bit; 1 goes to *its* left. Only columns of 0 and 1 mean
anything to it, and such a column reads as x <= 0.5, with the two children swapped. Rows with other values are refused
when they are passed along; the model itself keeps none that could be checked.

Numeric columns come in through its ThresholdGuessBinarizer: a scikit-learn pipeline of the two is read in terms of the
original columns. There the binary column is float64(x) <= float64 threshold, so 1 is our left as well.

Labels are 0, 1, 2, … A leaf that defers to another model has no class: refused. Nodes have no ids: they are
numbered in the library's own preorder, so the k-th leaf by id is the k-th of its ``leaf_paths()``. Only class shares
are kept, no counts. NaN is refused by the binarizer, and cast to an arbitrary number without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import ParameterError, UnsupportedModelError
from secateur.frames import frame_columns
from secateur.tree.tree import Tree, make_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["read_model"]


def read_model(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None) -> Tree:
    """Read a fitted classifier, alone or behind the library's binarizer, or say why it cannot be read."""
    binarizer, classifier = _take_apart(model)
    _check_supported(classifier, accepts_missing)
    feature, when_one, when_zero, actions = _grow_from_paths(*classifier.get_tree_paths())
    if binarizer is None:
        _check_binary(X)
        return make_tree(
            children_left=when_zero,
            children_right=when_one,
            feature=feature,
            threshold=np.full(len(feature), 0.5),
            leaf_class=actions,
            classes=classifier.classes_.tolist(),
            n_features=int(classifier.n_features_in_),
            dtype="float64",
        )
    columns = [int(column) for column, _ in binarizer.thresholds_]
    cuts = [float(cut) for _, cut in binarizer.thresholds_]
    if len(cuts) != classifier.n_features_in_:
        raise UnsupportedModelError(
            f"The binarizer makes {len(cuts)} columns, but the tree was fitted on {classifier.n_features_in_}. "
            "Fit the pipeline as a whole."
        )
    names = [str(name) for name in binarizer.feature_names_in_]
    made_up = names == [f"x{column}" for column in range(len(names))]  # what the binarizer calls nameless columns
    return make_tree(
        children_left=when_one,
        children_right=when_zero,
        feature=[columns[bit] if bit >= 0 else -1 for bit in feature],
        threshold=[cuts[bit] if bit >= 0 else np.nan for bit in feature],
        leaf_class=actions,
        classes=classifier.classes_.tolist(),
        n_features=int(binarizer.n_features_in_),
        feature_names=None if made_up else names,
        dtype="float64",
    )


def _take_apart(model: Any) -> tuple[Any, Any]:
    """The binarizer, if there is one, and the classifier of a model or of a pipeline of both."""
    if not hasattr(model, "steps"):
        return None, model
    *before, classifier = (step for _, step in model.steps)
    if [type(step).__qualname__ for step in before] not in ([], ["ThresholdGuessBinarizer"]):
        raise UnsupportedModelError(
            "Expected a pipeline of a ThresholdGuessBinarizer and a LicketySPLITClassifier, found "
            f"{' and '.join(type(step).__qualname__ for _, step in model.steps)}. Pass the last step alone to get the "
            "rules in terms of the columns that it saw."
        )
    if before and not hasattr(before[0], "thresholds_"):
        raise UnsupportedModelError("This ThresholdGuessBinarizer is not fitted yet. Call fit first.")
    return (before[0] if before else None), classifier


def _check_supported(model: Any, accepts_missing: bool | None) -> None:
    found = type(model).__qualname__
    ours = {ancestor.__qualname__ for ancestor in type(model).__mro__ if ancestor.__module__.startswith("licketysplit")}
    if "LicketySPLITClassifier" not in ours:
        hint = "Regression trees have no classes." if "Regressor" in found else "Pass the fitted classifier itself."
        raise UnsupportedModelError(f"Expected a LicketySPLITClassifier, found {found}. {hint}")
    if not hasattr(model, "classes_") or not hasattr(model, "_model"):
        raise UnsupportedModelError(f"This {found} is not fitted yet. Call fit first.")
    if accepts_missing:
        raise ParameterError(
            f"accepts_missing=True does not fit: {found} knows 0 and 1 only. Leave accepts_missing out."
        )


def _grow_from_paths(
    paths: Sequence[Sequence[int]], actions: Sequence[int]
) -> tuple[list[int], list[int], list[int], list[int]]:
    """The tree whose leaf paths these are: tested column, child for 1, child for 0 and class of each node.

    A step of a path is a column's number plus one, negative for the side of 0. The paths come in preorder, so numbering
    each node when it is first met numbers all of them in preorder.
    """
    feature, when_one, when_zero, leaf_class = [-1], [-1], [-1], [-1]
    for path, action in zip(paths, actions, strict=True):
        if action < 0:
            raise UnsupportedModelError(
                "This LicketySPLITClassifier has a leaf that defers to another model, which has no class of its own. "
                "Fit it without bb_pred."
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
    """Refuse rows that hold anything but 0 and 1: the library would test the lowest bit of their whole part."""
    if X is None:
        return
    names = frame_columns(X)
    try:
        rows: NDArray[np.float64] = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return  # rows that are no numbers are refused, with a reason, when they are checked
    strange = np.argwhere((rows != 0) & (rows != 1))
    if rows.ndim == 2 and len(strange):
        row, column = strange[0].tolist()
        name = names[column] if names is not None else f"x{column}"
        raise UnsupportedModelError(
            f"LicketySPLITClassifier is made for columns of 0 and 1, but column {name!r} holds {rows[row, column]:g} "
            f"(row {row}). Fit a pipeline of its ThresholdGuessBinarizer and the classifier, and pass that."
        )
