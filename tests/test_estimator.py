"""RuleClassifier: a good scikit-learn citizen that says what ``simplify`` says."""

from __future__ import annotations

import io
import pickle
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from drawing import draw
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_global_output_transform_pandas,
    check_global_set_output_transform_polars,
    check_set_output_transform,
    check_set_output_transform_pandas,
    check_set_output_transform_polars,
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
    parametrize_with_checks,
)
from strategies import SklearnProblem, sklearn_problems

import secateur
from secateur.adapters.reading import is_pipeline
from secateur.errors import InputError, ParameterError, UnsupportedModelError
from secateur.estimator import RuleClassifier
from secateur.export.json import rules_from_state, rules_to_state
from secateur.methods import METHODS

CONFIGURATIONS = [
    RuleClassifier(),
    RuleClassifier(each_leaf=True),
    RuleClassifier(method="mismatch", each_leaf=True),
    RuleClassifier(budget=0.05),
    RuleClassifier(method="budgeted", each_leaf=True),
    RuleClassifier(DecisionTreeClassifier(max_depth=3)),
    RuleClassifier(ExtraTreeClassifier()),
]
# Of scikit-learn's own, but not among those that it runs on other people's estimators.
MORE_CHECKS = [
    check_dataframe_column_names_consistency,
    check_global_output_transform_pandas,
    check_global_set_output_transform_polars,
    check_set_output_transform,
    check_set_output_transform_pandas,
    check_set_output_transform_polars,
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
]


@parametrize_with_checks(CONFIGURATIONS[:1])
def test_it_passes_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.long
@pytest.mark.drawn
@parametrize_with_checks(draw(CONFIGURATIONS[1:], 3))
def test_it_passes_scikit_learns_checks_however_it_is_set(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")  # they mix frames and arrays
@pytest.mark.parametrize("check", MORE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", CONFIGURATIONS[:3], ids=["list", "each leaf", "mismatch"])
def test_it_passes_checks_of_names_and_output(estimator: RuleClassifier, check: Any) -> None:
    check("RuleClassifier", clone(estimator))


@pytest.fixture
def cancer() -> tuple[Any, Any]:
    return load_breast_cancer(return_X_y=True, as_frame=True)


def make_loans() -> tuple[pd.DataFrame, pd.Series]:
    """A table with text, blanks and whole numbers."""
    rng = np.random.default_rng(3)
    n = 240
    purpose = rng.choice(["car", "boat", "school"], n)
    age = rng.integers(18, 80, n)
    income = np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(7, 0.5, n))
    bad = ((purpose == "boat") & (age < 40)) ^ (rng.random(n) < 0.05)
    rows = pd.DataFrame({"purpose": purpose, "age": age, "income": income})
    return rows, pd.Series(np.where(bad, "default", "repaid"))


def make_text_pipeline(**options: Any) -> Pipeline:
    prepare = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["purpose"]), remainder="passthrough", verbose_feature_names_out=False
    )
    return make_pipeline(prepare, DecisionTreeClassifier(max_depth=4, random_state=0, **options))


def beside_thresholds(model: Any, X: np.ndarray) -> np.ndarray:
    """The rows, and copies of them with one value at a threshold or one float32 beside it."""
    inner = model.tree_.children_left >= 0
    rows = [X]
    for feature, threshold in zip(model.tree_.feature[inner], model.tree_.threshold[inner], strict=True):
        at = np.float32(threshold)
        for value in (at, np.nextafter(at, np.float32(-np.inf)), np.nextafter(at, np.float32(np.inf))):
            moved = X[:3].copy()
            moved[:, feature] = value
            rows.append(moved)
    return np.concatenate(rows)


@given(problem=sklearn_problems(), budget=st.sampled_from([0.0, 0.1]))
@settings(deadline=None)
def test_it_predicts_what_a_list_of_the_same_tree_predicts(problem: SklearnProblem, budget: float) -> None:
    X, y, weights, tree = problem
    rows = beside_thresholds(tree, X)
    model = RuleClassifier(tree, budget=budget).fit(X, y, sample_weight=weights)
    known = {"sample_weight": weights, "accepts_missing": bool(np.isnan(X).any())}
    rules = secateur.simplify(tree, X, y, budget=budget, **known)
    rejected = np.isinf(rows) | (np.isnan(rows) & ~rules.tree.accepts_missing)
    rows = rows[~rejected.any(axis=1)]
    assert model.rules_ == rules
    assert np.array_equal(model.predict(rows), rules.predict(rows))
    assert np.array_equal(model.predict_proba(rows), rules.predict_proba(rows))
    assert np.array_equal(model.predict_proba(rows, of="leaf"), rules.predict_proba(rows, of="leaf"))
    active = model.transform(rows)
    assert active.shape == (len(rows), len(rules.lines))
    assert np.array_equal(active[:, [rule.index for rule in rules]], rules.covers(rows))
    rest = [line.index for line in rules.lines if line.is_otherwise]
    assert np.array_equal(active[:, rest], rules.apply(rows)[:, None] == np.array(rest))
    assert len(model.get_feature_names_out()) == len(rules.lines)
    assert np.array_equal(model.classes_, tree.classes_)
    if not budget:
        assert np.array_equal(model.predict(rows), tree.predict(rows))


def test_the_default_predicts_as_the_tree_does(cancer: tuple[Any, Any]) -> None:
    X, y = cancer
    for model in (RuleClassifier(random_state=0), RuleClassifier(each_leaf=True, random_state=0)):
        model.fit(X[::2], y[::2])
        assert model.rules_.method == "exact"
        assert np.array_equal(model.predict(X), model.estimator_.predict(X))


def test_a_class_weight_shapes_the_tree_and_not_the_counts_of_a_list(cancer: tuple[Any, Any]) -> None:
    X, y = cancer
    tree = DecisionTreeClassifier(max_depth=3, class_weight={0: 10, 1: 1}, random_state=0)
    model = RuleClassifier(tree).fit(X, y)
    assert np.array_equal(model.predict(X), model.estimator_.predict(X))
    assert model.rules_.decided_counts.sum() == len(y)


def test_the_class_of_otherwise_is_chosen(cancer: tuple[Any, Any]) -> None:
    X, y = cancer
    for label in (0, 1):
        rules = RuleClassifier(otherwise=label, random_state=0).fit(X, y).rules_
        assert rules.lines[-1].prediction == label
        assert rules.verify(X, y)
    model = RuleClassifier(otherwise=7)
    with pytest.raises(ParameterError, match=r"There is no class .* to leave to otherwise: the classes are"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.long
def test_a_grid_search_goes_over_the_budget_of_a_list(cancer: tuple[Any, Any]) -> None:
    X, y = cancer
    grid = {"method": ["exact", "mismatch"], "budget": [0.0, 0.05, 0.1]}
    search = GridSearchCV(RuleClassifier(random_state=0), grid, cv=3, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 6


@given(problem=sklearn_problems(), method=st.sampled_from([name for name in METHODS if name != "mismatch-certified"]))
@settings(deadline=None)
def test_it_predicts_what_the_rules_of_the_same_tree_predict(problem: SklearnProblem, method: str) -> None:
    X, y, weights, tree = problem
    options: dict[str, Any] = {"method": method, "accepts_missing": bool(np.isnan(X).any()), "each_leaf": True}
    rules = secateur.simplify(tree, X, y, **options, sample_weight=weights)
    rows = beside_thresholds(tree, X)
    rejected = np.isinf(rows) | (np.isnan(rows) & ~rules.tree.accepts_missing)
    rows = rows[~rejected.any(axis=1)]
    for model in (
        RuleClassifier(tree, method=method, each_leaf=True),
        RuleClassifier(FrozenEstimator(tree), **options),
    ):
        model.fit(X, y, sample_weight=weights)
        assert model.rules_ == rules
        assert np.array_equal(model.predict(rows), rules.predict(rows))
        assert np.array_equal(model.predict_proba(rows), rules.predict_proba(rows))
        assert np.array_equal(model.transform(rows), rules.covers(rows))
        assert np.allclose(model.predict_proba(rows).sum(axis=1), 1, rtol=0, atol=1e-12)  # sums of a few shares
        assert model.predict(rows).dtype == tree.predict(X).dtype
        assert np.array_equal(model.classes_, tree.classes_)


def test_the_default_is_a_tree_of_five_levels_at_most(cancer: tuple[Any, Any]) -> None:
    X, y = cancer
    model = RuleClassifier(random_state=4).fit(X, y)
    tree = DecisionTreeClassifier(max_depth=5, random_state=4).fit(X, y)
    assert model.rules_ == secateur.simplify(tree, X, y)
    assert model.estimator is None
    assert model.score(X, y) == accuracy_score(y, model.rules_.predict(X))


def test_every_argument_of_simplify_reaches_it() -> None:
    X, y = make_loans()
    X = X.drop(columns="purpose").fillna(0)
    given_options = {
        "method": "exact",
        "class_names": ["late", "fine"],
        "integers": ["age"],
        "facts": ["0 <= age <= 120"],
    }
    source = DecisionTreeClassifier(max_depth=6, monotonic_cst=[1, 1], random_state=0)
    model = RuleClassifier(source, **given_options).fit(X, y)
    assert model.rules_ == secateur.simplify(model.estimator_, X, y, **given_options)
    blind = RuleClassifier(model.estimator, **given_options, domain_knowledge=False).fit(X, y)
    assert blind.rules_ == secateur.simplify(model.estimator_, X, y, **given_options, domain_knowledge=False)
    for method, options in [
        ("mismatch", {"tolerance": 0.3, "rf_tol": 1e-9}),
        ("faithful", {"tolerance": 0.3, "protect": False, "rf_tol": 1e-9}),
        ("budgeted", {"max_conflict": 0.2, "smoothing": 10, "tolerance": 0.3}),
        ("quinlan", {"alpha": 0.4, "ties": "leaf"}),
        ("mismatch-certified", {"monotone": {"age": 1}, "rf_tol": 1e-9}),
    ]:
        model.set_params(method=method, **options).fit(X, y)
        options_given = {**given_options, "method": method, **options}
        assert model.rules_ == secateur.simplify(model.estimator_, X, y, **options_given)
        assert {name: model.rules_.parameters[name] for name in options if name != "monotone"} == {
            name: value for name, value in options.items() if name != "monotone"
        }
        model.set_params(monotone=None)


def test_a_seed_is_given_to_every_step_and_none_leaves_them_alone() -> None:
    X, y = load_wine(return_X_y=True)
    source = make_pipeline(PCA(3, random_state=7), DecisionTreeClassifier(random_state=8))
    assert [step.random_state for _, step in RuleClassifier(source).fit(X, y).estimator_.steps] == [7, 8]
    seeded = RuleClassifier(source, random_state=1).fit(X, y).estimator_
    assert [step.random_state for _, step in seeded.steps] == [1, 1]
    assert source[-1].random_state == 8


def test_a_frozen_tree_is_not_fitted_again(cancer: tuple[Any, Any]) -> None:
    X, y = cancer
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:300], y[:300])
    model = RuleClassifier(FrozenEstimator(tree), random_state=5).fit(X[300:], y[300:])
    assert model.rules_.tree == secateur.from_model(tree)
    assert model.rules_ == secateur.simplify(tree, X[300:], y[300:])
    assert tree.random_state == 0


def test_a_frozen_pipeline_is_read_in_its_own_columns() -> None:
    X, y = make_loans()
    pipeline = make_text_pipeline().fit(X, y)
    model = RuleClassifier(FrozenEstimator(pipeline), method="exact").fit(X, y)
    assert np.array_equal(model.predict(X), pipeline.predict(X))
    assert set(model.rules_.tree.feature_names or ()) == set(X.columns)


def test_no_training_row_is_kept(cancer: tuple[Any, Any]) -> None:
    X, y = cancer
    model = RuleClassifier(random_state=0).fit(X, y)
    assert model.rules_.training is None
    assert model.rules_.domain is None
    assert model.rules_.verify(X, y)


@pytest.mark.parametrize("source", [None, DecisionTreeClassifier(random_state=0)], ids=["default", "given"])
def test_a_grid_search_goes_over_the_depth_of_the_tree_and_the_tolerance(source: Any, cancer: tuple[Any, Any]) -> None:
    X, y = cancer
    grid = {"estimator__max_depth": [1, 3], "tolerance": [0.0, 0.2]}
    model = RuleClassifier(source, method="mismatch", random_state=0)
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, y)
    best = search.best_estimator_
    assert best.estimator_.max_depth == search.best_params_["estimator__max_depth"] == 3
    assert best.rules_.parameters["tolerance"] == search.best_params_["tolerance"]
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    assert best.rules_ == secateur.simplify(tree, X, y, method="mismatch", tolerance=best.tolerance)


def test_parameters_of_the_default_tree_make_it_a_given_one() -> None:
    model = RuleClassifier().set_params(estimator__min_samples_leaf=7)
    assert (model.estimator.max_depth, model.estimator.min_samples_leaf) == (5, 7)
    assert RuleClassifier().set_params(tolerance=0.1).estimator is None
    with pytest.raises(ValueError, match="Invalid parameter 'no_such'"):
        RuleClassifier().set_params(estimator__no_such=1)


def test_the_default_tree_is_asked_for_by_none_too() -> None:
    model = RuleClassifier(DecisionTreeClassifier(max_depth=9))
    model.set_params(estimator=None, estimator__min_samples_leaf=7, tolerance=0.2)
    assert (model.estimator.max_depth, model.estimator.min_samples_leaf, model.tolerance) == (5, 7, 0.2)


@pytest.mark.parametrize("wrong", [{"estimator__no_such": 1}, {"estimator__max_depth": 3, "no_such": 1}])
@pytest.mark.parametrize("given", [{}, {"estimator": None}])
def test_a_parameter_that_is_rejected_makes_no_tree(given: dict[str, Any], wrong: dict[str, Any]) -> None:
    model = RuleClassifier()
    with pytest.raises(ValueError, match="Invalid parameter 'no_such'"):
        model.set_params(**given, **wrong)
    assert model.estimator is None


@pytest.mark.long
def test_cross_validation_takes_text_columns_through_a_pipeline() -> None:
    X, y = make_loans()
    scores = cross_val_score(RuleClassifier(make_text_pipeline()), X, y, cv=4, error_score="raise")
    assert scores.min() > 0.8
    model = RuleClassifier(make_text_pipeline()).fit(X, y)
    assert model.rules_ == secateur.simplify(make_text_pipeline().fit(X, y), X, y)
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert "purpose is boat" in model.rules_.to_text()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["age", "purpose", "income"]])


@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_give_their_names(as_frame: Any) -> None:
    X, y = load_iris(return_X_y=True)
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    frame = as_frame({name: X[:, place] for place, name in enumerate(names)})
    model = RuleClassifier(random_state=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == names
    assert model.estimator_.feature_names_in_.tolist() == names
    assert "petal" in model.rules_[0].text
    assert np.array_equal(model.predict(frame), RuleClassifier(random_state=0).fit(X, y).predict(X))
    assert np.array_equal(model.predict(frame), model.rules_.predict(frame))
    with pytest.warns(UserWarning, match="does not have valid feature names, but RuleClassifier"):
        model.predict(X)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([False, True]),
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([-3, 8], dtype=np.int8),
        np.array([0.0, 2.0]),
    ],
    ids=["bool", "text", "object", "small", "float"],
)
def test_labels_keep_their_kind(labels: np.ndarray, cancer: tuple[Any, Any]) -> None:
    X, y = cancer[0].to_numpy(), labels[cancer[1]]
    model = RuleClassifier(random_state=0).fit(X, y)
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    assert model.classes_.dtype == tree.classes_.dtype
    assert model.predict(X).dtype == tree.predict(X).dtype
    assert np.array_equal(model.predict(X), secateur.simplify(tree, X, y).predict(X))
    assert model.score(X, y) > 0.9


def test_labels_of_series_are_taken() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    expected = RuleClassifier(random_state=0).fit(X, names).predict(X)
    for series in (pd.Series(names), pd.Series(names, dtype="category"), pl.Series(names.tolist())):
        assert RuleClassifier(random_state=0).fit(X, series).predict(X).tolist() == expected.tolist()


def test_missing_values_go_where_the_tree_sends_them(cancer: tuple[Any, Any]) -> None:
    X, y = cancer[0].to_numpy(), cancer[1]
    holes = X.copy()
    holes[::5, 20:24] = np.nan
    model = RuleClassifier(method="exact", random_state=0).fit(holes, y)
    assert np.array_equal(model.predict(holes), model.estimator_.predict(holes))
    whole = RuleClassifier(method="exact", random_state=0).fit(X, y)
    with pytest.raises(InputError, match=r"fitted without missing values.*accepts_missing=True"):
        whole.predict(holes)
    told = RuleClassifier(method="exact", random_state=0, accepts_missing=True).fit(X, y)
    assert np.array_equal(told.predict(holes), told.estimator_.predict(holes))


def test_the_tag_of_missing_values_follows_the_tree() -> None:
    for tree in (DecisionTreeClassifier(), DecisionTreeClassifier(criterion="gini"), ExtraTreeClassifier()):
        taken = get_tags(tree).input_tags.allow_nan
        assert get_tags(RuleClassifier(tree)).input_tags.allow_nan == taken
    from secateur.lab import LocalSearchTreeClassifier

    local = LocalSearchTreeClassifier()
    assert get_tags(RuleClassifier(local)).input_tags.allow_nan is False
    X = np.array([[0.0], [np.nan], [1.0]])
    with pytest.raises(ValueError, match="contains NaN"):
        RuleClassifier(local).fit(X, [0, 1, 1])


def test_weights_count_for_the_tree_and_for_the_rules(cancer: tuple[Any, Any]) -> None:
    X, y = cancer
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    model = RuleClassifier(random_state=0).fit(X, y, sample_weight=weights)
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y, sample_weight=weights)
    assert model.rules_ == secateur.simplify(tree, X, y, sample_weight=weights)
    repeated = np.repeat(np.arange(len(y)), weights)
    again = RuleClassifier(random_state=0).fit(X.iloc[repeated], y.iloc[repeated])
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_weights_reach_the_last_step_of_a_pipeline() -> None:
    X, y = make_loans()
    weights = np.where(y == "default", 5.0, 1.0)
    model = RuleClassifier(make_text_pipeline()).fit(X, y, sample_weight=weights)
    pipeline = make_text_pipeline().fit(X, y, decisiontreeclassifier__sample_weight=weights)
    assert model.rules_ == secateur.simplify(pipeline, X, y, sample_weight=weights)
    assert model.rules_ != RuleClassifier(make_text_pipeline()).fit(X, y).rules_


def test_weights_for_a_tree_that_takes_none_are_rejected() -> None:
    class Unweighted(DecisionTreeClassifier):
        def fit(self, X: Any, y: Any) -> Unweighted:
            return super().fit(X, y)

    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match=r"Unweighted takes none\. Leave it out"):
        RuleClassifier(Unweighted()).fit(X, y, sample_weight=np.ones(len(y)))


class Recording(DecisionTreeClassifier):
    """A tree that remembers what its fit was given."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True, note: Any = None) -> Recording:
        self.got_ = (None if sample_weight is None else sample_weight.tolist(), note)
        return super().fit(X, y, sample_weight, check_input)


def test_routed_metadata_reaches_whoever_requested_it() -> None:
    X, y = load_iris(return_X_y=True)
    weights = np.linspace(1, 2, len(y))
    with config_context(enable_metadata_routing=True):
        asks = Recording(random_state=0).set_fit_request(sample_weight=True, note=True)
        model = RuleClassifier(asks).set_fit_request(sample_weight=True)
        both = model.fit(X, y, sample_weight=weights, note="x")
        assert both.estimator_.got_ == (weights.tolist(), "x")
        assert both.rules_.is_weighted
        rejects = Recording(random_state=0).set_fit_request(sample_weight=False)
        rules_only = RuleClassifier(rejects).fit(X, y, sample_weight=weights)
        assert rules_only.estimator_.got_ == (None, None)
        assert rules_only.rules_.is_weighted
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            RuleClassifier(Recording()).fit(X, y, sample_weight=weights)
        with pytest.raises(TypeError, match=r"unexpected argument.*other"):
            RuleClassifier(asks).fit(X, y, other=1)
    direct = RuleClassifier(Recording(random_state=0)).fit(X, y, sample_weight=weights, note="y")
    assert direct.estimator_.got_ == (weights.tolist(), "y")


@pytest.mark.parametrize("source", [None, FrozenEstimator(DecisionTreeClassifier())], ids=["default", "frozen"])
def test_weights_are_routed_through_a_search_and_a_pipeline(source: Any) -> None:
    X, y = load_iris(return_X_y=True)
    weights = np.linspace(1, 2, len(y))
    if source is not None:
        source = FrozenEstimator(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y))
    with config_context(enable_metadata_routing=True):
        model = RuleClassifier(source, random_state=0)
        steps = make_pipeline("passthrough", clone(model).set_fit_request(sample_weight=True))
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        grid = {"ruleclassifier__tolerance": [0.0, 0.1]}
        search = GridSearchCV(steps, grid, scoring=scorer, cv=3, error_score="raise")
        search.fit(X, y, sample_weight=weights)
        found = search.best_estimator_[-1]
        assert found.rules_.is_weighted
        alone = clone(model).set_params(tolerance=found.tolerance).fit(X, y, sample_weight=weights)
        assert found.rules_ == alone.rules_


def test_rule_activations_feed_a_later_step(cancer: tuple[Any, Any]) -> None:
    X, y = cancer
    steps = make_pipeline(StandardScaler(), RuleClassifier(random_state=0), LogisticRegression())
    steps.fit(X, y)
    assert steps.score(X, y) > 0.95
    scaled = StandardScaler().fit_transform(X)
    rules = secateur.simplify(DecisionTreeClassifier(max_depth=5, random_state=0).fit(scaled, y), scaled, y)
    covered, decided = rules.covers(scaled), rules.apply(scaled)
    place_of = {rule.index: place for place, rule in enumerate(rules)}
    active = np.column_stack(
        [decided == line.index if line.is_otherwise else covered[:, place_of[line.index]] for line in rules.lines]
    )
    assert active.any(axis=1).all()
    assert np.array_equal(steps[:-1].transform(X), active)
    assert np.array_equal(steps.predict(X), LogisticRegression().fit(active, y).predict(active))
    assert steps[:-1].get_feature_names_out().tolist() == steps[1].get_feature_names_out().tolist()
    assert steps.named_steps["logisticregression"].n_features_in_ == len(rules.lines)


def test_it_is_also_the_last_step_of_a_pipeline(cancer: tuple[Any, Any]) -> None:
    X, y = cancer
    steps = Pipeline([("scale", StandardScaler()), ("rules", RuleClassifier(random_state=0))])
    assert cross_val_score(steps, X, y, cv=3, scoring="roc_auc", error_score="raise").min() > 0.85
    steps.fit(X, y)
    assert np.array_equal(steps.predict(X), steps[-1].rules_.predict(steps[0].transform(X)))


def test_names_of_activations_are_unique_and_read_as_rules() -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)
    wide: dict[str, Any] = {"method": "budgeted", "max_conflict": 0.5, "tolerance": 1.0, "each_leaf": True}
    model = RuleClassifier(DecisionTreeClassifier(random_state=0), **wide).fit(X, y)
    texts = [rule.text for rule in model.rules_]
    names = model.get_feature_names_out()
    assert len(set(texts)) < len(texts)  # else this would test nothing
    assert len(set(names)) == len(names) == len(texts)
    assert names[0] == f"rule 1: {texts[0]}"
    for library, frame in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        out = clone(model).set_output(transform=library).fit(X, y).transform(X)
        assert isinstance(out, frame)
        assert list(out.columns) == names.tolist()
        assert np.array_equal(out.to_numpy(), model.transform(X))


@pytest.mark.parametrize("library", [pd, pl])
def test_text_without_an_encoder_is_one_sentence(library: Any) -> None:
    frame = library.DataFrame({"age": [1, 2, 3, 4], "ward": ["A", "B", "A", "B"]})
    with pytest.raises(InputError, match="Column 'ward' holds text, but the tree takes numbers: encode it first"):
        RuleClassifier().fit(frame, [0, 1, 0, 1])


def test_names_of_columns_that_differ_are_rejected() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = RuleClassifier().fit(X, y)
    assert len(model.get_feature_names_out(X.columns)) == len(model.rules_.lines)
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        model.get_feature_names_out(["a", "b", "c", "d"])
    with pytest.raises(ValueError, match=r"number of features \(4\)"):
        RuleClassifier().fit(X.to_numpy(), y).get_feature_names_out(["a"])


def save_pickle(model: Any) -> Any:
    return pickle.loads(pickle.dumps(model))


def save_joblib(model: Any) -> Any:
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


def save_skops(model: Any) -> Any:
    saved = skops.io.dumps(model)
    untrusted = skops.io.get_untrusted_types(data=saved)
    ours = [name for name in untrusted if name.startswith("secateur")]
    derived = model.rules_.tree.columns is not None and model.rules_.tree.columns.derived
    pipelines = ["secateur.adapters.pipelines.probe.Encoder", "secateur.adapters.pipelines.reader.Derivation"]
    assert ours == [*(pipelines if derived else ()), "secateur.estimator.RuleClassifier"]
    return skops.io.loads(saved, trusted=untrusted)


SAVED: dict[str, Any] = {
    "tree": RuleClassifier(),
    "facts": RuleClassifier(facts=["0 <= age <= 120"], class_names=["a", "b"], method="exact"),
    "frozen": RuleClassifier(FrozenEstimator(DecisionTreeClassifier(max_depth=3, random_state=0))),
    "text": RuleClassifier(make_text_pipeline()),
    "derived": RuleClassifier(make_pipeline(PCA(2), DecisionTreeClassifier(max_depth=3))),
    "layered": RuleClassifier(method="mismatch"),
    "compact": RuleClassifier(),
    "compact text": RuleClassifier(make_text_pipeline(), otherwise="default"),
    "compact budget": RuleClassifier(budget=0.03),
}


@pytest.mark.long
@pytest.mark.parametrize("save", [save_pickle, save_joblib, save_skops])
@pytest.mark.parametrize("kind", SAVED)
def test_a_saved_model_comes_back_whole(kind: str, save: Any) -> None:
    X, y = make_loans()
    if "text" not in kind:
        X = X.drop(columns="purpose").fillna(1000)
    model = SAVED[kind]
    if kind == "frozen":
        model = RuleClassifier(FrozenEstimator(clone(model.estimator.estimator).fit(X, y)))
    model = clone(model).set_params(random_state=0).fit(X, y)
    text = model.rules_.to_text(reasons=True)  # fills caches, which are not saved
    loaded = save(model)
    assert loaded.rules_ == model.rules_
    assert loaded.rules_.tree == model.rules_.tree
    assert loaded.rules_.to_text(reasons=True) == text
    assert loaded.rules_.verify(X, y)
    for method in ("predict", "predict_proba", "transform"):
        assert np.array_equal(getattr(loaded, method)(X), getattr(model, method)(X))
    assert loaded.get_params().keys() == model.get_params().keys()
    assert np.array_equal(loaded.estimator_.predict(X), model.estimator_.predict(X))


def test_an_unfitted_model_is_saved_and_cloned() -> None:
    model = RuleClassifier(DecisionTreeClassifier(max_depth=2), tolerance=0.2)
    for copy in (clone(model), save_pickle(model)):
        assert (copy.tolerance, copy.estimator.max_depth) == (0.2, 2)
        assert not hasattr(copy, "rules_")
        assert not hasattr(copy, "tree_")


def test_rules_that_were_read_from_a_file_keep_what_it_said() -> None:
    X, y = load_iris(return_X_y=True)
    read = secateur.Rules.from_json(RuleClassifier(random_state=0).fit(X, y).rules_.to_json())
    again = rules_from_state(rules_to_state(read))
    assert again == read
    assert again.stored == read.stored
    assert again.verify(X, y)


@pytest.mark.parametrize("method", METHODS)
def test_state_holds_the_rules_of_every_method(method: str) -> None:
    X, y = load_iris(return_X_y=True)
    keep = np.unique(X, axis=0, return_index=True)[1]  # listed cases must not contradict one another
    X, y = X[keep], y[keep]
    rules = secateur.simplify(DecisionTreeClassifier(random_state=0).fit(X, y), X, y, method=method)
    again = rules_from_state(pickle.loads(pickle.dumps(rules_to_state(rules))))
    assert again == rules
    assert again.parameters == rules.parameters
    assert np.array_equal(again.predict_proba(X), rules.predict_proba(X))


def test_a_fitted_model_can_be_simplified_again() -> None:
    X, y = load_iris(return_X_y=True)
    model = RuleClassifier(random_state=0).fit(X, y)
    assert secateur.simplify(model, X, y, method="exact") == secateur.simplify(model.estimator_, X, y, method="exact")
    with pytest.raises(UnsupportedModelError, match="RuleClassifier is not fitted yet"):
        secateur.simplify(RuleClassifier(), X, y)


def test_the_page_of_an_estimator_shows_it_and_its_tree() -> None:
    X, y = load_iris(return_X_y=True)
    page = estimator_html_repr(RuleClassifier(ExtraTreeClassifier()).fit(X, y))
    assert "RuleClassifier" in page
    assert "ExtraTreeClassifier" in page
    assert "RuleClassifier" in RuleClassifier()._repr_html_()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (DecisionTreeRegressor(), "found DecisionTreeRegressor, which is a regressor"),
        (make_pipeline(StandardScaler(), DecisionTreeRegressor()), "found Pipeline, which is a regressor"),
        (RandomForestClassifier(3), "is for one tree, found RandomForestClassifier.*each_leaf=True"),
        (make_pipeline(StandardScaler(), RandomForestClassifier(3)), "is for one tree, found Pipeline"),
        (GradientBoostingClassifier(), "is for one tree, found GradientBoostingClassifier"),
        (FrozenEstimator(RandomForestClassifier(3)), "is for one tree, found RandomForestClassifier"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "found LogisticRegression"),
    ],
    ids=["regressor", "regressor at the end", "forest", "forest at the end", "boosting", "frozen forest", "line"],
)
def test_a_model_that_is_no_single_tree_is_rejected(source: Any, message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(UnsupportedModelError, match=message):
        RuleClassifier(source, each_leaf=True).fit(X, y)


@pytest.mark.parametrize(
    "source",
    [
        RandomForestClassifier(10),
        make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=5)),
        FrozenEstimator(RandomForestClassifier(5, random_state=0).fit(*load_iris(return_X_y=True))),
    ],
    ids=["forest", "boosting at the end", "frozen forest"],
)
def test_several_trees_are_approximated_by_a_list(source: Any) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = RuleClassifier(source, max_rules=4, random_state=0).fit(X.to_numpy(), y)
    assert model.rules_.fidelity is not None
    assert len(model.rules_) <= 4
    assert model.score(X.to_numpy(), y) > 0.8
    assert model.predict_proba(X.to_numpy()).shape == (150, 3)
    again = pickle.loads(pickle.dumps(model))
    assert str(again.rules_.fidelity) == str(model.rules_.fidelity)
    assert again.predict(X.to_numpy()).tolist() == model.predict(X.to_numpy()).tolist()
    for unread in ({"budget": 0.01}, {"sections": 2}, {"domain_knowledge": False}, {"tolerance": 0.2}, {"of": 1}):
        with pytest.raises(ParameterError, match=f"is approximated, and '{next(iter(unread))}' is for one tree"):
            RuleClassifier(source, **unread).fit(X.to_numpy(), y)


def test_what_only_several_trees_read_is_rejected_of_one() -> None:
    X, y = load_iris(return_X_y=True)
    for unread in ({"max_rules": 3}, {"fidelity": 0.9}):
        with pytest.raises(ParameterError, match=f"'{next(iter(unread))}' is for a model of several trees"):
            RuleClassifier(**unread).fit(X, y)


@pytest.mark.parametrize("source", ["tree", 3, DecisionTreeClassifier])
def test_what_is_no_estimator_is_rejected(source: Any) -> None:
    X, y = load_iris(return_X_y=True)
    model = RuleClassifier(source)
    assert get_tags(model).input_tags.allow_nan is False
    with pytest.raises(ParameterError, match="Expected estimator as a scikit-learn classifier"):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "no method 'magic'"),
        ({"tolerance": 2}, "Expected tolerance as a number from 0 to 1, found 2"),
        ({"budget": "much"}, "Expected budget"),
        ({"alpha": -0.1}, "Expected alpha"),
        ({"smoothing": None}, "Expected smoothing"),
        ({"rf_tol": np.inf}, "Expected rf_tol"),
        ({"each_leaf": "yes"}, "Expected each_leaf as True or False, found 'yes'"),
        ({"budget": 2}, "Expected budget as a number from 0 to 1, found 2"),
    ],
)
def test_a_bad_parameter_is_rejected_before_anything_is_fitted(options: dict[str, Any], message: str) -> None:
    class Unfit(DecisionTreeClassifier):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Unfit:
            raise AssertionError("it was fitted")

    X, y = load_iris(return_X_y=True)
    with pytest.raises(ParameterError, match=message):
        RuleClassifier(Unfit(), **options).fit(X, y)


def test_an_unfitted_frozen_tree_is_rejected() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(NotFittedError, match="DecisionTreeClassifier instance is not fitted yet"):
        RuleClassifier(FrozenEstimator(DecisionTreeClassifier())).fit(X, y)


def test_a_frozen_tree_of_other_labels_is_rejected() -> None:
    X, y = load_iris(return_X_y=True)
    frozen = FrozenEstimator(DecisionTreeClassifier().fit(X, y))
    with pytest.raises(InputError, match="which the model never saw"):
        RuleClassifier(frozen).fit(X, y + 7)


def test_a_fit_that_failed_leaves_no_fitted_model() -> None:
    X, y = load_iris(return_X_y=True)
    model = RuleClassifier(facts=["x0 <= 1"])
    with pytest.raises(InputError):
        model.fit(X, y)
    with pytest.raises(NotFittedError, match="RuleClassifier instance is not fitted yet"):
        model.predict(X)


def test_a_pipeline_of_one_tree_is_read_as_that_tree() -> None:
    X, y = load_iris(return_X_y=True)
    source = make_pipeline(DecisionTreeClassifier(max_depth=3, random_state=0))
    assert is_pipeline(source)
    model = RuleClassifier(source).fit(X, y, sample_weight=np.ones(len(y)))
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    assert np.array_equal(model.predict(X), secateur.simplify(tree, X, y).predict(X))


def test_every_seed_of_scikit_learn_chooses_the_rows_that_are_held_out() -> None:
    X, y = load_iris(return_X_y=True)

    def held(seed: Any) -> list[int]:
        model = RuleClassifier(holdout=0.25, random_state=seed).fit(X, y)
        assert model.rules_.verify(X[model.training_rows_], y[model.training_rows_])
        return list(model.training_rows_)

    assert held(3) == held(np.int64(3)) == held(np.random.RandomState(3))
    assert held(3) != held(4)
    assert held(None) == held(0)
    for wrong, words in {"x": "'x' cannot be used to seed", -1: "Seed must be between 0 and"}.items():
        with pytest.raises(ValueError, match=words):
            RuleClassifier(holdout=0.25, random_state=wrong).fit(X, y)


@pytest.mark.long
def test_a_forest_is_approximated_with_the_given_seed() -> None:
    X, y = load_iris(return_X_y=True)
    forest = FrozenEstimator(RandomForestClassifier(5, random_state=0).fit(X, y))

    def seed_of(random_state: Any) -> int | None:
        fidelity = RuleClassifier(forest, random_state=random_state).fit(X, y).rules_.fidelity
        assert fidelity is not None
        return fidelity.seed

    assert seed_of(None) == seed_of(0) == 0
    assert seed_of(np.int64(7)) == 7
    assert seed_of(np.random.RandomState(1)) == seed_of(np.random.RandomState(1)) != seed_of(np.random.RandomState(2))
    with pytest.raises(ParameterError, match="Expected random_state as a whole number"):
        seed_of("x")


def test_rows_that_are_held_out_are_counted_and_not_fitted() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    weights = np.random.default_rng(0).random(len(y)) + 0.5
    for rows, weight in ((X, None), (X.to_numpy(), weights)):
        model = RuleClassifier(holdout=0.25, random_state=3).fit(rows, y, sample_weight=weight)
        kept, left = train_test_split(np.arange(len(y)), test_size=0.25, stratify=y, random_state=3)
        unseen = model.rules_.unseen
        assert unseen is not None
        assert unseen.rows is None
        expected = np.ones(len(y)) if weight is None else weight
        assert unseen.leaf_counts.sum() == pytest.approx(expected[left].sum())
        assert model.rules_.leaf_counts.sum() == pytest.approx(expected[kept].sum())
        again = RuleClassifier(random_state=3).fit(
            *((rows.iloc if hasattr(rows, "iloc") else rows)[np.sort(kept)], y[np.sort(kept)]),
            sample_weight=None if weight is None else weight[np.sort(kept)],
        )
        assert (again.predict(rows) == model.predict(rows)).all()
        assert np.array_equal(model.training_rows_, np.sort(kept))
    model = RuleClassifier(random_state=3).fit(X, y)
    assert model.rules_.unseen is None
    assert model.training_rows_ is None
    with pytest.raises(ParameterError, match="holdout is for a tree that is fitted here"):
        RuleClassifier(FrozenEstimator(DecisionTreeClassifier().fit(X, y)), holdout=0.25).fit(X, y)
    with pytest.raises(InputError, match=r"Cannot hold out a share of 0\.9 of 4 rows"):
        RuleClassifier(holdout=0.9).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
