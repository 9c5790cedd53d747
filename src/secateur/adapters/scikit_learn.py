"""scikit-learn's trees, its forests that vote, and its histogram boosting of one iteration -> Tree.

DecisionTree and ExtraTree, of classes and of values. Comparison: float32(x) <= float64 threshold. ``tree_.value`` holds
class fractions, so counts are fractions times the node's weight. ``tree_.missing_go_to_left`` is filled even where no
NaN was seen (with the larger child), and nothing records whether NaN was seen at all; ``was_fitted_with_missing``
infers it. Before 1.8, scikit-learn counted some rows with NaN in leaves that they do not reach, and a rare split at NaN
sends every number right. With ``monotonic_cst`` the fractions are clipped to keep the order; what they say of a leaf's
class is the model's, but they are no counts, so training rows that are passed replace them (``Tree.has_own_counts``). A
regressor's ``tree_.value`` is what it predicts, under every criterion.

RandomForestClassifier, ExtraTreesClassifier and BaggingClassifier of such trees. Their trees predict class *indices*;
the labels and the column names are the forest's. A tree of a BaggingClassifier may know only some of the classes,
because its sample held no others, and only some of the columns, by numbers of its own, perhaps one of them twice.
``tree_.value`` holds the class fractions that the forest averages. They are kept unchanged, because a fraction times a
weight divided by that weight is not always the fraction again. Samples are drawn as weights, so no tree shows the rows
that it was fitted on, nor whether NaN was among them. A forest takes NaN if any of its trees shows it, or if the
training rows hold NaN and its trees take it. NaN that was not there only makes the domain larger, and so the rules more
careful.

HistGradientBoostingRegressor, or -Classifier of two classes. Its one tree is ``_predictors[0][0].nodes``, in preorder.
Comparison: float64(x) <= num_threshold, which is infinite where a split leaves the right side to NaN. The second class
is predicted where the leaf's value plus the baseline is above zero; a regressor predicts that sum, through the inverse
link of its loss. Where columns hold categories, the model's own encoder comes first and moves them to the front: the
encoder has their labels, and a split has a bitset of the codes that go left. A value that the encoder does not know is
NaN to the tree. Such a tree takes labels as a pipeline does, so it has ``columns``. Nodes count rows but not their
classes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.adapters import reading
from secateur.adapters.pipelines import read_trees
from secateur.errors import InputError, InvalidTreeError, UnsupportedModelError
from secateur.frames import frame_columns
from secateur.rows.checking import check_rows, holds_missing
from secateur.rows.encoding import frame_numbers, is_missing
from secateur.rows.rows import apply_tree
from secateur.tree.columns import Columns
from secateur.tree.tree import Label, Tree, make_tree

CLASSIFIERS = ("DecisionTreeClassifier", "ExtraTreeClassifier")
REGRESSORS = ("DecisionTreeRegressor", "ExtraTreeRegressor")
WHOLE_COUNT = 1e-6
FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier", "BaggingClassifier")
HISTOGRAM_REGRESSOR = "HistGradientBoostingRegressor"


def read_model(model: Any, X: Any, sample_weight: Any, accepts_missing: bool | None) -> Tree:
    """Read a fitted tree, or say why it cannot be read."""
    if reading.is_histogram_boosting(model):
        return _read_boosted(model, X, accepts_missing)
    hint = (
        "Pass a single fitted tree: one of a forest with from_model(forest, tree=0), a search's best_estimator_, or a "
        "pipeline that ends in a tree. Any other model: secateur.approximate(model, X)."
    )
    reading.check_class(model, "sklearn.tree", (*CLASSIFIERS, *REGRESSORS), hint)
    reading.check_fitted(model, hasattr(model, "tree_"))
    reading.check_one_output(model, model.n_outputs_)
    takes_missing = was_fitted_with_missing(model, X, sample_weight) if accepts_missing is None else accepts_missing
    signs = model.monotonic_cst
    source = model.tree_
    fractions = source.value[:, 0, :]
    if not reading.ancestor_names(model, "sklearn.tree").isdisjoint(REGRESSORS):
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
    named = {"leaf_class": fractions.argmax(axis=1), "classes": model.classes_.tolist()} if "values" not in tree else {}
    left, right, goes_left = source.children_left, source.children_right, source.missing_go_to_left.astype(bool)
    at_nan = np.isnan(source.threshold) & (left >= 0)  # no number is below NaN; turned around, all are below infinity
    return make_tree(
        children_left=np.where(at_nan, right, left),
        children_right=np.where(at_nan, left, right),
        threshold=np.where(at_nan, np.inf, source.threshold),
        missing_left=goes_left ^ at_nan,
        n_features=int(model.n_features_in_),
        feature_names=reading.fitted_names(model),
        dtype="float32",
        **{"feature": source.feature, **named, **tree},
    )


def round_counts(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make counts whole that miss a whole number by rounding only; clipped fractions miss it by more."""
    whole = np.rint(counts)
    return whole if np.abs(counts - whole).max() <= WHOLE_COUNT else counts


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
    return np.array_equal(np.bincount(source.apply(rows), minlength=len(sizes))[leaves], sizes[leaves])


@dataclass(frozen=True)
class ForestTrees:
    """The trees of a forest, all of the same columns and classes."""

    trees: tuple[Tree, ...]
    # The class fractions that each node of each tree votes with, as the forest holds them, shape (n_nodes, n_classes).
    leaf_shares: tuple[NDArray[np.float64], ...]


def read_forest(model: Any, X: Any = None, accepts_missing: bool | None = None, tree: int | None = None) -> ForestTrees:
    """Read the trees of a fitted forest, or one of them, alone or at the end of a pipeline, or say why not."""
    if not reading.ancestor_names(model, reading.ENSEMBLES):  # a pipeline, whose trees are read in its own columns
        forests: list[ForestTrees] = []

        def read_last(last: Any, rows: Any, _: bool) -> tuple[Tree, ...]:
            forests.append(read_forest(last, rows, accepts_missing, tree))
            return forests[0].trees

        return ForestTrees(tuple(read_trees(model, X, read_last)), forests[0].leaf_shares)
    _check_forest(model)
    takes_missing = _forest_takes_missing(model, X) if accepts_missing is None else accepts_missing
    columns = _list_columns(model)
    numbers: Sequence[int] = range(len(model.estimators_))
    if tree is not None:
        numbers = [reading.choose_tree(model, tree, len(model.estimators_), votes=True)]
    shares = [_forest_shares(model, model.estimators_[number]) for number in numbers]
    trees = [
        _read_tree(model, model.estimators_[number], np.asarray(columns[number]), share, takes_missing)
        for number, share in zip(numbers, shares, strict=True)
    ]
    return ForestTrees(tuple(trees), tuple(shares))


def _check_forest(model: Any) -> None:
    found, known = type(model).__qualname__, reading.ancestor_names(model, reading.ENSEMBLES)
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
    reading.check_class(model, reading.ENSEMBLES, FORESTS, hint)
    reading.check_fitted(model, hasattr(model, "estimators_"))
    if len(model.estimators_) == 0:
        raise UnsupportedModelError(f"This {found} has no trees. Fit it with n_estimators of at least 1.")
    reading.check_one_output(model, getattr(model, "n_outputs_", 1))
    for estimator in model.estimators_:
        if reading.ancestor_names(estimator, "sklearn.tree").isdisjoint(CLASSIFIERS):
            raise UnsupportedModelError(
                f"This {found} holds a {type(estimator).__qualname__}, which has no leaves to make rules of. "
                f"Bag {' or '.join(CLASSIFIERS)}."
            )


def _forest_takes_missing(model: Any, X: Any) -> bool:
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


def _read_boosted(model: Any, X: Any, accepts_missing: bool | None) -> Tree:
    """Read the only tree of a fitted model, or say why it cannot be read."""
    _check_boosted(model)
    nodes = model._predictors[0][0].nodes
    leaf = nodes["is_leaf"].astype(bool)
    n_features = int(model.n_features_in_)
    is_category = np.zeros(n_features, bool) if model.is_categorical_ is None else np.asarray(model.is_categorical_)
    original = np.argsort(~is_category, kind="stable")  # the model's own encoder moves categories to the front
    levels = _find_levels(model, {int(original[feature]) for feature in nodes["feature_idx"][~leaf]})
    feature = np.where(leaf, -1, original[np.where(leaf, 0, nodes["feature_idx"])])
    names = reading.fitted_names(model)
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
            left_categories=_left_codes(model, feature, levels),
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
    if _was_boosted_with_missing(model, tree, X) if accepts_missing is None else accepts_missing:
        return tree
    none = np.zeros(tree.n_features, dtype=bool)
    return replace(tree, accepts_missing=none, missing_left=np.zeros(tree.n_nodes, dtype=bool))


def _check_boosted(model: Any) -> None:
    found = type(model).__qualname__
    reading.check_fitted(model, hasattr(model, "_predictors"))
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
    if HISTOGRAM_REGRESSOR in reading.ancestor_names(model, reading.ENSEMBLES):
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


def _left_codes(model: Any, feature: NDArray[np.int64], levels: dict[int, tuple[Label, ...]]) -> dict[int, list[int]]:
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


def _was_boosted_with_missing(model: Any, tree: Tree, X: Any) -> bool:
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
