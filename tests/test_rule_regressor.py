"""RuleRegressor behaves as scikit-learn's regressors do, and stays within its tolerance of its tree."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from secateur import RuleClassifier, RuleRegressor
from secateur.errors import ParameterError, UnsupportedModelError

X, Y = load_diabetes(return_X_y=True, as_frame=True)


@parametrize_with_checks([RuleRegressor()])
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.long
@parametrize_with_checks([RuleRegressor(each_leaf=True), RuleRegressor(tolerance=0.0)])
def test_scikit_learns_own_checks_however_it_is_set(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("settings", [{}, {"tolerance": "0.1sd"}, {"each_leaf": True}, {"sections": 1}])
def test_values_stay_within_the_tolerance_of_the_tree(settings: dict[str, Any]) -> None:
    model = RuleRegressor(random_state=0, **settings).fit(X, Y)
    distance = np.abs(model.predict(X) - model.estimator_.predict(X)).max()
    assert distance <= model.rules_.tolerance * (1 + 1e-12)
    assert model.score(X, Y) > 0.3
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.rules_.to_json() == model.rules_.to_json()
    assert model.transform(X).shape == (len(X), model.rules_.n_lines)


@pytest.mark.long
def test_it_works_in_searches_pipelines_and_around_fitted_trees() -> None:
    search = GridSearchCV(RuleRegressor(random_state=0), {"estimator__max_depth": [2, 3], "tolerance": [0, "0.5sd"]})
    assert search.fit(X, Y).best_score_ > 0.2
    assert cross_val_score(make_pipeline(StandardScaler(), RuleRegressor()), X, Y).mean() > 0.1
    inside = RuleRegressor(make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=3))).fit(X, Y)
    assert inside.rules_.tree.feature_names == tuple(X.columns)
    tree = DecisionTreeRegressor(max_depth=3).fit(X, Y)
    assert RuleRegressor(FrozenEstimator(tree)).fit(X, Y).rules_.tree_rules == 8
    assert clone(inside).tolerance is None


def test_weights_reach_tree_and_lines() -> None:
    weights = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
    model = RuleRegressor(random_state=0).fit(X, Y, sample_weight=weights)
    times = weights.astype(int)
    repeated = RuleRegressor(random_state=0).fit(np.repeat(X, times, axis=0), np.repeat(Y, times))
    assert model.rules_.support.sum() == weights.sum()
    assert model.rules_.tolerance == pytest.approx(repeated.rules_.tolerance)


def test_the_other_kind_of_tree_is_rejected() -> None:
    with pytest.raises(UnsupportedModelError, match="use RuleClassifier"):
        RuleRegressor(DecisionTreeClassifier()).fit(X, Y)
    with pytest.raises(UnsupportedModelError, match="use RuleRegressor"):
        RuleClassifier(DecisionTreeRegressor()).fit(X, Y > 100)
    with pytest.raises(ParameterError, match="tolerance"):
        RuleRegressor(tolerance=-1).fit(X, Y)
    with pytest.raises(ParameterError, match="'max_rules' is for a model of several trees"):
        RuleRegressor(max_rules=2).fit(X, Y)
    with pytest.raises(ParameterError, match="'integers' is for one tree"):
        RuleRegressor(RandomForestRegressor(3), integers=[0]).fit(X, Y)
