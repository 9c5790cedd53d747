from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from library_versions import SKLEARN
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

import secateur
from secateur import Tree, from_model
from secateur.errors import InputError, ParameterError, UnsupportedModelError
from secateur.rows.checking import check_labels, check_rows
from secateur.rows.rows import apply_tree, count_classes

MODELS = [DecisionTreeClassifier, ExtraTreeClassifier]
SAVED = Path(__file__).parents[1] / "models"
DATA = {
    "iris": load_iris,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
    "digits": load_digits,
}


def probes(model: Any, feature: int) -> list[float]:
    """The feature's thresholds, their float32 neighbours on each side, and the float64 neighbours of each."""
    found: list[float] = [0.0]
    for threshold in model.tree_.threshold[model.tree_.feature == feature].tolist():
        if not math.isfinite(threshold):
            continue
        near = np.float32(threshold)
        down = near if float(near) <= threshold else np.nextafter(near, np.float32(-np.inf))
        found += [threshold, float(near), float(down)]
        found += [float(np.nextafter(down, np.float32(side))) for side in (-np.inf, np.inf)]
        found += [math.nextafter(threshold, -math.inf), math.nextafter(threshold, math.inf)]
    return found


def rows_near(model: Any, X: NDArray[Any], seed: int = 0, *, missing: bool = False) -> NDArray[np.float64]:
    """Rows of which every threshold of the model is met, from both sides; the rest of each row is random."""
    generator = np.random.default_rng(seed)
    values = [probes(model, feature) for feature in range(X.shape[1])]
    mixed = np.column_stack([generator.choice(column, size=300) for column in values])
    rows = [mixed]
    for feature, column in enumerate(values):
        based = X[generator.integers(0, len(X), size=len(column))].astype(np.float64)
        based[:, feature] = column
        rows.append(based)
    low, high = np.nanmin(X, axis=0) - 1, np.nanmax(X, axis=0) + 1
    rows.append(generator.uniform(low, high, size=(300, X.shape[1])))
    found = np.vstack(rows)
    if missing:
        found[generator.random(found.shape) < 0.2] = np.nan
    else:
        found = np.nan_to_num(found, nan=0.0)
    return found


def assert_tree_equals_model(tree: Tree, model: Any, rows: NDArray[Any]) -> None:
    leaves = apply_tree(tree, check_rows(tree, rows))
    assert leaves.tolist() == model.apply(rows).tolist()
    assert tree.classes[tree.leaf_class[leaves]].tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize("model_class", MODELS)
@pytest.mark.parametrize("name", DATA)
def test_leaves_and_predictions_equal_scikit_learns_at_every_threshold(name: str, model_class: type[Any]) -> None:
    X, y = DATA[name](return_X_y=True)
    model = model_class(random_state=0).fit(X, y)
    tree = from_model(model)
    assert_tree_equals_model(tree, model, rows_near(model, X))
    assert not tree.accepts_missing.any()


@pytest.mark.parametrize("model_class", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_leaves_and_predictions_equal_scikit_learns_with_missing_values(model_class: type[Any], seed: int) -> None:
    X, y = load_wine(return_X_y=True)
    X[np.random.default_rng(seed).random(X.shape) < 0.3] = np.nan
    model = model_class(random_state=seed).fit(X, y)
    tree = from_model(model, accepts_missing=True if SKLEARN < (1, 8) else None)
    assert tree.accepts_missing.all()
    assert_tree_equals_model(tree, model, rows_near(model, X, seed, missing=True))


@settings(max_examples=60, deadline=None)
@given(strategies.sklearn_problems(), st.integers(0, 1000))
def test_every_drawn_model_is_read_exactly(problem: strategies.SklearnProblem, seed: int) -> None:
    missing = bool(np.isnan(problem.X).any())
    tree = from_model(problem.model, problem.X, accepts_missing=missing)
    assert_tree_equals_model(tree, problem.model, rows_near(problem.model, problem.X, seed, missing=missing))
    assert_tree_equals_model(tree, problem.model, problem.X)


@settings(max_examples=60, deadline=None)
@given(strategies.sklearn_problems())
def test_counts_are_those_of_the_training_rows(problem: strategies.SklearnProblem) -> None:
    tree = from_model(problem.model, problem.X, accepts_missing=bool(np.isnan(problem.X).any()))
    reached = apply_tree(tree, check_rows(tree, problem.X))
    routed = count_classes(tree, reached, check_labels(tree, problem.y, len(reached)), problem.sample_weight)
    if problem.sample_weight is None:
        assert tree.counts is not None
        assert tree.counts.tolist() == routed.tolist()
    else:
        # scikit-learn keeps weighted shares, so the product with the weight may miss the sum by rounding.
        np.testing.assert_allclose(tree.counts, routed, rtol=1e-12, atol=1e-12)


def test_counts_are_weighted_by_sample_and_by_class() -> None:
    X, y = load_iris(return_X_y=True)
    weights = np.linspace(0.1, 3, len(y))
    class_weight = {0: 1.0, 1: 2.5, 2: 0.5}
    model = DecisionTreeClassifier(max_depth=3, random_state=0, class_weight=class_weight)
    tree = from_model(model.fit(X, y, sample_weight=weights))
    total = weights * np.array([class_weight[label] for label in y.tolist()])
    routed = count_classes(tree, apply_tree(tree, check_rows(tree, X)), y, total)
    np.testing.assert_allclose(tree.counts, routed, rtol=1e-12)
    assert_tree_equals_model(tree, model, rows_near(model, X))


def test_balanced_class_weights_are_read() -> None:
    X, y = load_wine(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0, class_weight="balanced").fit(X, y)
    tree = from_model(model)
    assert tree.counts is not None
    np.testing.assert_allclose(tree.counts[0], len(y) / 3, rtol=1e-12)  # balanced: the classes weigh the same
    assert_tree_equals_model(tree, model, rows_near(model, X))


def test_whole_counts_are_whole() -> None:
    X, y = load_digits(return_X_y=True)
    tree = from_model(DecisionTreeClassifier(random_state=0, min_samples_leaf=7).fit(X, y))
    assert tree.counts is not None
    assert (tree.counts == np.rint(tree.counts)).all()
    assert tree.counts[0].tolist() == np.bincount(y).tolist()


@pytest.mark.parametrize("options", [{"max_leaf_nodes": 8}, {"ccp_alpha": 0.01}, {"criterion": "entropy"}], ids=str)
def test_trees_that_were_grown_or_pruned_in_other_ways_are_read(options: dict[str, Any]) -> None:
    X, y = load_wine(return_X_y=True)
    for model_class in MODELS:
        model = model_class(random_state=1, **options).fit(X, y)
        assert_tree_equals_model(from_model(model), model, rows_near(model, X))


def test_a_tree_of_a_forest_is_read_by_its_number() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, names)
    pipeline = make_pipeline(StandardScaler(), forest).fit(X, names)
    for number, model in enumerate(forest.estimators_):
        tree = from_model(forest, tree=number)
        reached = apply_tree(tree, check_rows(tree, X))
        assert reached.tolist() == model.apply(X).tolist()
        assert tree.classes[tree.leaf_class[reached]].tolist() == forest.classes_[model.predict(X).astype(int)].tolist()
        behind = from_model(pipeline, X, tree=number)
        scaled = pipeline[-1].estimators_[number].apply(pipeline[:-1].transform(X))
        assert apply_tree(behind, check_rows(behind, X)).tolist() == scaled.tolist()
    with pytest.raises(ParameterError, match=r"found 3: it has 3 trees, numbers 0 to 2"):
        from_model(forest, tree=3)
    with pytest.raises(ParameterError, match=r"A DecisionTreeClassifier is a single tree: leave tree=0 out"):
        from_model(forest.estimators_[0], tree=0)
    with pytest.raises(ParameterError, match=r"This is a single tree already: leave tree out"):
        from_model(from_model(forest, tree=0), tree=0)
    with pytest.raises(UnsupportedModelError, match="Boosting is no vote"):
        from_model(fitted(GradientBoostingClassifier(n_estimators=2)), tree=0)


# Labels.


@pytest.mark.parametrize(
    "labels",
    [
        ["setosa", "versicolor", "a much longer name"],
        [3, 1, 2],
        [-1, 0, 1],
        [1.0, 2.0, -3.0],  # scikit-learn takes other floats for a regression target
        [False, True, True],
        np.array(["x", "y", "z"], dtype=object),
    ],
    ids=str,
)
def test_labels_of_every_type_are_kept(labels: Any) -> None:
    X, y = load_iris(return_X_y=True)
    named = np.asarray(labels)[y]
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, named)
    tree = from_model(model)
    assert tree.classes.tolist() == model.classes_.tolist()
    assert [type(label) for label in tree.classes.tolist()] == [type(label) for label in model.classes_.tolist()]
    assert tree.class_names == tuple(str(label) for label in model.classes_.tolist())
    rules = secateur.simplify(model, X, named, method="mismatch", each_leaf=True)
    assert rules.predict(X).tolist() == model.predict(X).tolist()
    assert Tree.from_json(tree.to_json()) == tree


def test_class_names_say_how_labels_read_and_leave_the_labels() -> None:
    data = load_iris()
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(data.data, data.target)
    tree = from_model(model, class_names=data.target_names)
    assert tree.class_names == ("setosa", "versicolor", "virginica")
    assert tree.classes.tolist() == [0, 1, 2]


# Single leaves.


@pytest.mark.parametrize("model_class", MODELS)
def test_a_constant_target_gives_one_leaf_and_one_class(model_class: type[Any]) -> None:
    X = np.arange(6.0).reshape(3, 2)
    model = model_class().fit(X, ["same"] * 3)
    tree = from_model(model)
    assert (tree.n_nodes, tree.n_classes, tree.classes.tolist()) == (1, 1, ["same"])
    assert tree.counts is not None
    assert tree.counts.tolist() == [[3.0]]
    assert_tree_equals_model(tree, model, X)
    rules = secateur.simplify(model, X, ["same"] * 3, method="mismatch", each_leaf=True)
    assert [rule.text for rule in rules] == ["always => same"]
    assert rules.verify().ok


@pytest.mark.parametrize("model_class", MODELS)
def test_a_tree_that_may_not_split_gives_one_leaf(model_class: type[Any]) -> None:
    X, y = load_iris(return_X_y=True)
    model = model_class(max_depth=3, min_samples_split=1000).fit(X, y)
    tree = from_model(model)
    assert tree.n_nodes == 1
    assert tree.leaf_class.tolist() == [0]  # a tie goes to the first class
    assert_tree_equals_model(tree, model, X)
    for method in secateur.METHODS:
        rules = (
            secateur.simplify(model, X, y, method=method, each_leaf=True) if method != "mismatch-certified" else None
        )
        if rules is not None:
            assert rules.predict(X).tolist() == [0] * len(X)


# Names.


def test_feature_names_come_from_a_frame() -> None:
    data = load_iris(as_frame=True)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(data.data, data.target)
    assert from_model(model).feature_names == tuple(data.feature_names)
    rules = secateur.simplify(model, data.data, data.target, method="mismatch", each_leaf=True)
    assert rules.predict(data.data).tolist() == model.predict(data.data).tolist()


def test_a_model_without_names_has_none_and_takes_given_ones() -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    assert from_model(model).feature_names is None
    assert from_model(model, feature_names=["a", "b", "c", "d"]).feature_names == ("a", "b", "c", "d")


def test_names_that_contradict_the_model_are_rejected() -> None:
    data = load_iris(as_frame=True)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(data.data, data.target)
    assert from_model(model, feature_names=data.feature_names).feature_names == tuple(data.feature_names)
    with pytest.raises(ParameterError, match="The model already names its columns, and feature_names differs"):
        from_model(model, feature_names=["a", "b", "c", "d"])


def test_a_tree_is_handed_through() -> None:
    X, y = load_iris(return_X_y=True)
    tree = from_model(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y))
    assert from_model(tree) == tree


def test_a_subclass_is_read_like_its_parent() -> None:
    class MyTree(DecisionTreeClassifier):
        pass

    X, y = load_iris(return_X_y=True)
    mine = MyTree(max_depth=3, random_state=0).fit(X, y)
    assert from_model(mine) == from_model(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y))


def test_the_model_is_left_as_it_was() -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    before = model.tree_.threshold.copy(), model.predict_proba(X)
    tree = from_model(model)
    assert model.tree_.threshold.flags.writeable
    assert not np.shares_memory(tree.threshold, model.tree_.threshold)
    assert (model.tree_.threshold == before[0]).all()
    assert (model.predict_proba(X) == before[1]).all()


# Missing values: docs/tree-format.md.


def without_missing(model_class: type[Any] = DecisionTreeClassifier) -> tuple[Any, NDArray[Any], NDArray[Any]]:
    X, y = load_iris(return_X_y=True)
    return model_class(max_depth=3, random_state=0).fit(X, y), X, y


def with_nan(X: NDArray[Any]) -> NDArray[Any]:
    """Every second row without petal measures: too many for the leaves to fill up as they did in fitting."""
    spoiled = X.copy()
    spoiled[::2, 2:] = np.nan
    return spoiled


@pytest.mark.parametrize("model_class", MODELS)
def test_a_tree_fitted_without_nan_rejects_nan(model_class: type[Any]) -> None:
    model, X, y = without_missing(model_class)
    with pytest.raises(InputError, match=r"missing value in column 'x\d' \(row 0\), but as far as the tree shows"):
        secateur.simplify(model, with_nan(X), y, method="mismatch", each_leaf=True)
    rules = secateur.simplify(model, X, y, method="mismatch", each_leaf=True)
    with pytest.raises(InputError, match=r"missing value in column 'x\d' \(row 0\)"):
        rules.predict(with_nan(X))
    with pytest.raises(InputError, match=r"missing value in column 'x\d' \(row 0\)"):
        rules.audit(with_nan(X), y)


@pytest.mark.parametrize("model_class", MODELS)
@pytest.mark.parametrize("seed", range(5))
def test_no_tree_fitted_without_nan_is_taken_for_one_fitted_with_it(model_class: type[Any], seed: int) -> None:
    X, y = load_digits(return_X_y=True)
    for options in ({}, {"max_leaf_nodes": 20}, {"ccp_alpha": 0.002}, {"class_weight": "balanced"}):
        assert not from_model(model_class(random_state=seed, **options).fit(X, y)).accepts_missing.any()


def test_a_split_that_sends_nan_against_the_larger_child_shows_that_the_tree_was_fitted_with_nan() -> None:
    # NaN has the class of the smaller side, so the best split sends it there.
    X = np.array([[0.0]] * 6 + [[1.0]] * 2 + [[math.nan]] * 2)
    y = ["a"] * 6 + ["b"] * 4
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    tree = from_model(model)
    assert tree.accepts_missing.tolist() == [True]
    assert tree.missing_left.tolist() == [False, False, False]
    assert secateur.simplify(model, X, y, method="mismatch", each_leaf=True).predict(X).tolist() == y


@pytest.mark.skipif(SKLEARN < (1, 8), reason="older trees do not split between all numbers and NaN alone")
def test_a_threshold_of_infinity_shows_that_the_tree_was_fitted_with_nan() -> None:
    X = np.array([[0.0], [0.0], [math.nan], [math.nan]])
    y = ["a", "a", "b", "b"]
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert np.isinf(model.tree_.threshold[0])
    tree = from_model(model)
    assert tree.threshold[0] == math.inf
    assert tree.accepts_missing.all()
    rules = secateur.simplify(model, X, y, method="mismatch", each_leaf=True)
    assert rules.predict(X).tolist() == y
    assert rules.verify().ok


@pytest.mark.parametrize("goes_left", [0, 1])
def test_a_split_at_nan_as_old_versions_make_it_sends_every_number_right(goes_left: int) -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    state = model.tree_.__getstate__()
    state["nodes"]["threshold"][0] = math.nan
    state["nodes"]["missing_go_to_left"][0] = goes_left
    model.tree_.__setstate__(state)
    tree = from_model(model)
    assert tree.accepts_missing.all()
    assert_tree_equals_model(tree, model, rows_near(model, X, missing=True))


@pytest.mark.parametrize("version", ["1.5.2", "1.6.1", "1.7.2"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
def test_a_tree_pickled_by_an_older_version_is_read(version: str) -> None:
    X, y = load_iris(return_X_y=True)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    with (SAVED / f"sklearn_{version}.pkl").open("rb") as file:
        model = pickle.load(file)
    tree = from_model(model, X)
    assert tree.accepts_missing.all()
    assert_tree_equals_model(tree, model, rows_near(model, X, missing=True))
    assert secateur.simplify(model, X, y).verify().ok


def hidden_missing() -> tuple[Any, NDArray[Any], NDArray[Any]]:
    """NaN goes with the larger child everywhere: the model alone cannot show that it was fitted with NaN."""
    X = np.array([[0.0], [0.0], [math.nan], [math.nan], [1.0]])
    y = np.array(["a", "a", "a", "a", "b"])
    return DecisionTreeClassifier(random_state=0).fit(X, y), X, y


def test_rows_with_nan_that_fill_the_leaves_exactly_show_that_the_tree_was_fitted_with_nan() -> None:
    model, X, y = hidden_missing()
    assert not from_model(model).accepts_missing.any()
    assert from_model(model, X).accepts_missing.all()
    assert secateur.simplify(model, X, y, method="mismatch", each_leaf=True).predict(X).tolist() == y.tolist()


@pytest.mark.parametrize("make_frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_with_nan_shows_it_too(make_frame: Callable[[dict[str, Any]], Any]) -> None:
    model, X, y = hidden_missing()
    for values in (X[:, 0], [None if math.isnan(value) else value for value in X[:, 0].tolist()]):
        frame = make_frame({"f": values})
        assert from_model(model, frame).accepts_missing.all()
        assert (
            secateur.simplify(model, frame, y, method="mismatch", each_leaf=True).predict(frame).tolist() == y.tolist()
        )


def test_a_nullable_frame_of_pandas_shows_it_too() -> None:
    _, X, y = hidden_missing()
    model = DecisionTreeClassifier(random_state=0).fit(np.column_stack([X, np.zeros(len(X))]), y)
    values = pd.array([None if math.isnan(value) else value for value in X[:, 0].tolist()], dtype="Float64")
    frame = pd.DataFrame({"f": values, "g": np.zeros(len(X), dtype=int)})
    assert from_model(model, frame).accepts_missing.all()
    assert secateur.simplify(model, frame, y, method="mismatch", each_leaf=True).predict(frame).tolist() == y.tolist()


def test_other_rows_with_nan_show_nothing() -> None:
    model, X, y = hidden_missing()
    with pytest.raises(InputError, match=r"missing value in column 'x0' \(row 2\)"):
        secateur.simplify(model, X[:-1], y[:-1], method="mismatch", each_leaf=True)


def test_the_caller_may_say_that_a_tree_takes_nan() -> None:
    model, X, y = without_missing()
    spoiled = with_nan(X)
    rules = secateur.simplify(model, spoiled, y, accepts_missing=True, method="mismatch", each_leaf=True)
    assert rules.tree.accepts_missing.all()
    assert_tree_equals_model(rules.tree, model, rows_near(model, X, missing=True))
    exact = secateur.simplify(model, method="exact", accepts_missing=True, each_leaf=True)
    assert exact.predict(spoiled).tolist() == model.predict(spoiled).tolist()


def test_the_caller_may_say_that_a_tree_takes_no_nan() -> None:
    model, X, y = hidden_missing()
    with pytest.raises(InputError, match=r"missing value in column 'x0' \(row 2\)"):
        secateur.simplify(model, X, y, accepts_missing=False, method="mismatch", each_leaf=True)


def test_a_tree_fitted_with_nan_takes_nan_in_every_method() -> None:
    X, y = load_iris(return_X_y=True)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    rows = rows_near(model, X, missing=True)
    for name, method in secateur.METHODS.items():
        if name == "mismatch-certified":
            continue
        rules = secateur.simplify(model, X, y, method=name, each_leaf=True)
        assert rules.verify().ok
        if method.is_exact:
            assert rules.predict(rows).tolist() == model.predict(rows).tolist()


# Monotonicity.


def test_the_signs_that_a_tree_was_fitted_with_are_read() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    signs = [0] * X.shape[1]
    signs[0], signs[7] = -1, 1
    model = DecisionTreeClassifier(max_depth=4, random_state=0, monotonic_cst=signs).fit(X, y)
    tree = from_model(model)
    assert tree.monotone is not None
    assert tree.monotone.tolist() == signs
    assert_tree_equals_model(tree, model, rows_near(model, X))
    rules = secateur.simplify(model, X, y, method="mismatch-certified", each_leaf=True)
    assert rules.parameters["monotone"] == signs
    assert "the tree was proved to be monotone" in rules.guarantee


@pytest.mark.parametrize("signs", [None, [0, 0, 0, 0]])
def test_a_tree_fitted_without_signs_has_none(signs: list[int] | None) -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=2, random_state=0, monotonic_cst=signs).fit(X[:100], y[:100])
    assert from_model(model).monotone is None


# What is rejected.


def fitted(model: Any) -> Any:
    X, y = load_iris(return_X_y=True)
    return model.fit(X, y)


REJECTED: dict[str, tuple[Callable[[], Any], str]] = {
    "an unfitted regression tree": (DecisionTreeRegressor, "This DecisionTreeRegressor is not fitted yet"),
    "an unfitted extra regression tree": (ExtraTreeRegressor, "This ExtraTreeRegressor is not fitted yet"),
    "an unfitted tree": (DecisionTreeClassifier, "This DecisionTreeClassifier is not fitted yet. Call fit first"),
    "an unfitted extra tree": (ExtraTreeClassifier, "This ExtraTreeClassifier is not fitted yet"),
    "several outputs": (
        lambda: DecisionTreeClassifier().fit([[0], [1]], [[0, 1], [1, 0]]),
        "This DecisionTreeClassifier predicts 2 outputs, but a rule has one class",
    ),
    "a linear model": (lambda: LogisticRegression(), "found LogisticRegression"),
    "a clustering": (lambda: KMeans(), "found KMeans"),
    "the bare tree_": (lambda: fitted(DecisionTreeClassifier()).tree_, "found Tree"),
    "a dict": (lambda: {"tree": 1}, r"found dict\. Hand over a tree from elsewhere with secateur\.TreeBuilder"),
    "nothing": (lambda: None, "Expected a fitted tree of sklearn, .* or a secateur.Tree, found NoneType"),
    "a number": (lambda: 3, "found int"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_a_model_that_cannot_be_read_exactly_is_rejected_by_name(case: str) -> None:
    make_model, sentence = REJECTED[case]
    model = make_model()
    with pytest.raises(UnsupportedModelError, match=sentence):
        from_model(model)
    with pytest.raises(UnsupportedModelError, match=sentence):
        secateur.simplify(model, method="exact", each_leaf=True)


@pytest.mark.parametrize("make_model", [RandomForestClassifier, GradientBoostingClassifier])
def test_a_tree_is_not_read_from_many(make_model: Any) -> None:
    with pytest.raises(UnsupportedModelError, match=f"found {make_model.__name__}. Pass a single fitted tree"):
        from_model(fitted(make_model()))


def test_a_class_instead_of_a_model_is_rejected() -> None:
    with pytest.raises(UnsupportedModelError, match="Expected a fitted tree"):
        from_model(DecisionTreeClassifier)


def test_one_tree_of_a_forest_is_read() -> None:
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(n_estimators=2, random_state=0).fit(X, y)
    model = forest.estimators_[0]
    assert_tree_equals_model(from_model(model), model, rows_near(model, X))


def test_rows_without_weight_do_not_hide_that_a_tree_was_fitted_with_nan() -> None:
    rng = np.random.default_rng(0)
    rejected = 0
    for seed in range(60):
        X = rng.normal(size=(40, 3)).round(1)
        X[rng.random(X.shape) < 0.3] = np.nan
        y = rng.integers(0, 2, 40)
        weights = rng.integers(0, 3, 40)
        model = DecisionTreeClassifier(max_depth=2, random_state=seed).fit(X, y, sample_weight=weights)
        rejected += not secateur.from_model(model, X, sample_weight=weights).accepts_missing.all()
    assert rejected == 0 if SKLEARN >= (1, 8) else rejected < 10


def test_nan_rows_of_another_width_are_rejected_before_they_are_routed() -> None:
    X = np.zeros((10, 400))
    X[5:, 399] = 1
    model = DecisionTreeClassifier().fit(X, X[:, 399] > 0)
    with pytest.raises(InputError, match="has 1 columns, but the tree was fitted on 400"):
        secateur.simplify(model, np.full((3, 1), np.nan), [True, False, True], method="mismatch", each_leaf=True)


def test_a_missing_value_is_rejected_for_its_own_column_though_others_had_some() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    X[:50, 1] = np.nan  # in a column that no split asks
    rules = secateur.simplify(DecisionTreeClassifier(max_depth=1).fit(X, y), X, y)
    with pytest.raises(InputError, match=r"as far as the tree shows, it was fitted without missing values in that col"):
        rules.predict(np.array([[np.nan, 0.0]]))
