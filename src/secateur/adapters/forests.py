"""scikit-learn RandomForestClassifier, ExtraTreesClassifier and BaggingClassifier of trees -> Trees.

The trees of a forest predict class *indices*; the labels and the column names are the forest's. A tree of a
BaggingClassifier may know only some of the classes, because its sample held no others, and only some of the columns,
by numbers of its own, perhaps one of them twice. ``tree_.value`` holds the class fractions that the forest averages.
They are kept unchanged, because a fraction times a weight divided by that weight is not always the fraction again.

Samples are drawn as weights, so no tree shows the rows that it was fitted on, nor whether NaN was among them. A forest
takes NaN if any of its trees shows it, or if the training rows hold NaN and its trees take it. NaN that was not there
only makes the domain larger, and so the rules more careful.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.adapters.model_checks import (
    ENSEMBLES,
    ancestor_names,
    check_class,
    check_fitted,
    check_one_output,
    choose_tree,
)
from secateur.adapters.pipelines import read_trees
from secateur.adapters.scikit_learn import CLASSIFIERS as TREES
from secateur.adapters.scikit_learn import make_from_source, round_counts, was_fitted_with_missing
from secateur.errors import UnsupportedModelError
from secateur.rows.checking import holds_missing
from secateur.tree.tree import Tree

SUPPORTED = ("RandomForestClassifier", "ExtraTreesClassifier", "BaggingClassifier")


@dataclass(frozen=True)
class ForestTrees:
    """The trees of a forest, all of the same columns and classes."""

    trees: tuple[Tree, ...]
    # The class fractions that each node of each tree votes with, as the forest holds them, shape (n_nodes, n_classes).
    leaf_shares: tuple[NDArray[np.float64], ...]


def read_forest(model: Any, X: Any = None, accepts_missing: bool | None = None, tree: int | None = None) -> ForestTrees:
    """Read the trees of a fitted forest, or one of them, alone or at the end of a pipeline, or say why not."""
    if not ancestor_names(model, ENSEMBLES):  # a pipeline, whose trees are read in the columns that go into it
        forests: list[ForestTrees] = []

        def read_last(last: Any, rows: Any, _: bool) -> tuple[Tree, ...]:
            forests.append(read_forest(last, rows, accepts_missing, tree))
            return forests[0].trees

        return ForestTrees(tuple(read_trees(model, X, read_last)), forests[0].leaf_shares)
    _check_supported(model)
    takes_missing = _was_fitted_with_missing(model, X) if accepts_missing is None else accepts_missing
    columns = _list_columns(model)
    numbers: Sequence[int] = range(len(model.estimators_))
    if tree is not None:
        numbers = [choose_tree(model, tree, len(model.estimators_), votes=True)]
    shares = [_forest_shares(model, model.estimators_[number]) for number in numbers]
    trees = [
        _read_tree(model, model.estimators_[number], np.asarray(columns[number]), share, takes_missing)
        for number, share in zip(numbers, shares, strict=True)
    ]
    return ForestTrees(tuple(trees), tuple(shares))


def _check_supported(model: Any) -> None:
    found, known = type(model).__qualname__, ancestor_names(model, ENSEMBLES)
    hint = "Pass a forest whose trees vote, or a single fitted tree."
    if any("Boost" in name for name in known):
        hint = (
            "Boosting is no vote: each of its trees corrects those before it, and says little on its own. "
            "secateur.approximate(model, X) gives few rules that approximate it."
        )
    elif any("Regressor" in name for name in known):
        hint = (
            "The trees of a regression forest are averaged, so none decides alone: fit one tree to the answers of "
            "the forest, and simplify that."
        )
    check_class(model, ENSEMBLES, SUPPORTED, hint)
    check_fitted(model, hasattr(model, "estimators_"))
    if len(model.estimators_) == 0:
        raise UnsupportedModelError(f"This {found} has no trees. Fit it with n_estimators of at least 1.")
    check_one_output(model, getattr(model, "n_outputs_", 1))
    for estimator in model.estimators_:
        if ancestor_names(estimator, "sklearn.tree").isdisjoint(TREES):
            raise UnsupportedModelError(
                f"This {found} holds a {type(estimator).__qualname__}, which has no leaves to make rules of. "
                f"Bag {' or '.join(TREES)}."
            )


def _was_fitted_with_missing(model: Any, X: Any) -> bool:
    if any(was_fitted_with_missing(estimator, None, None) for estimator in model.estimators_):
        return True
    takes_missing = bool(model.estimators_[0].__sklearn_tags__().input_tags.allow_nan)
    asked = {
        int(own[feature])
        for own, estimator in zip(_list_columns(model), model.estimators_, strict=True)
        for feature in np.unique(estimator.tree_.feature).tolist()
        if feature >= 0
    }
    return takes_missing and X is not None and holds_missing(X, asked)


def _list_columns(model: Any) -> Any:
    """List the columns that each tree got, which bagging alone says."""
    return getattr(model, "estimators_features_", [np.arange(model.n_features_in_)] * len(model.estimators_))


def _forest_shares(model: Any, estimator: Any) -> NDArray[np.float64]:
    """Spread a tree's class fractions over the forest's classes; a class that its sample lacked gets 0."""
    fractions = estimator.tree_.value[:, 0, :]
    shares = np.zeros((len(fractions), len(model.classes_)))
    is_whole = fractions.shape[1] == len(model.classes_)
    shares[:, slice(None) if is_whole else np.asarray(estimator.classes_).astype(np.int64)] = fractions
    shares.flags.writeable = False
    return shares


def _read_tree(
    model: Any, estimator: Any, columns: NDArray[np.int64], shares: NDArray[np.float64], takes_missing: bool
) -> Tree:
    """Read a tree of its own columns and class indices as one of the forest's columns and labels."""
    source = estimator.tree_
    return make_from_source(
        source,
        model,
        shares,
        feature=columns[np.maximum(source.feature, 0)],  # negative at a leaf
        counts=round_counts(shares * source.weighted_n_node_samples[:, None]),
        accepts_missing=takes_missing,
        monotone=_forest_signs(estimator.monotonic_cst, columns, int(model.n_features_in_)),
    )


def _forest_signs(own: Any, columns: NDArray[np.int64], n_features: int) -> NDArray[np.int8] | None:
    """Give the forest's columns their signs; one that a tree got twice, with different signs, has none."""
    if own is None or not np.any(own):
        return None
    signs, twice = np.zeros((2, n_features), dtype=np.int8)
    signs[columns] = own
    np.add.at(twice, columns, signs[columns] != own)
    return np.where(twice > 0, 0, signs).astype(np.int8)
