"""The methods against their slow versions on scikit-learn's own data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import pytest
from drawing import further
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier

import secateur

# Slow versions look at every row for every trial, so the larger sets are thinned.
LOADERS = {
    "iris": (load_iris, 1),
    "wine": (load_wine, 1),
    "breast_cancer": (load_breast_cancer, 3),
    "digits": (load_digits, 8),
}


@pytest.fixture(scope="module", params=LOADERS)
def problem(request: pytest.FixtureRequest) -> tuple[Any, Any, Any, Any]:
    load, step = LOADERS[request.param]
    X, y = load(return_X_y=True)
    X, y = X[::step].astype(np.float32), y[::step]
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    return model, X, y, secateur.from_model(model)


def deletions(rules: secateur.Rules) -> dict[int, list[int]]:
    return {rule.leaf_id: list(rule.deleted_ids) for rule in rules}


@pytest.mark.parametrize("method", ["sibling", "redundancy", "exact"])
def test_row_free_methods(problem: tuple[Any, Any, Any, Any], method: str) -> None:
    model, _, _, tree = problem
    slow = {
        "sibling": oracles.delete_sibling,
        "redundancy": oracles.delete_redundancy,
        "exact": oracles.delete_exact,
    }[method]
    rules = secateur.simplify(model, method=method, each_leaf=True)
    assert deletions(rules) == slow(tree)
    assert rules.verify().ok


@pytest.mark.parametrize("tolerance", [0.0, 0.05, 0.2])
def test_mismatch(problem: tuple[Any, Any, Any, Any], tolerance: float) -> None:
    model, X, y, tree = problem
    rules = secateur.simplify(model, X, y, method="mismatch", tolerance=tolerance, each_leaf=True)
    assert deletions(rules) == oracles.delete_mismatch(tree, X, y, None, tolerance)


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("tolerance", "protect"),
    [(0.05, True), (0.2, False), *further([(0.0, True), (0.0, False), (0.05, False), (0.2, True)])],
)
def test_faithful(problem: tuple[Any, Any, Any, Any], tolerance: float, protect: bool) -> None:
    model, X, y, tree = problem
    rules = secateur.simplify(model, X, y, method="faithful", tolerance=tolerance, protect=protect, each_leaf=True)
    assert deletions(rules) == oracles.delete_faithful(tree, X, y, None, tolerance, protect=protect)


def test_quinlan(problem: tuple[Any, Any, Any, Any]) -> None:
    model, X, y, tree = problem
    assert deletions(secateur.simplify(model, X, y, method="quinlan", each_leaf=True)) == oracles.delete_quinlan(
        tree, X, y, None
    )


def test_mismatch_certified(problem: tuple[Any, Any, Any, Any]) -> None:
    model, X, y, tree = problem
    rules = secateur.simplify(model, X, y, method="M1-D", each_leaf=True)
    assert deletions(rules) == oracles.delete_mismatch_certified(tree, X, y)


@pytest.mark.parametrize("method", ["none", "sibling", "redundancy", "exact"])
def test_exact_methods_predict_like_the_model_at_and_beside_every_threshold(
    problem: tuple[Any, Any, Any, Any], method: str
) -> None:
    model, X, _, tree = problem
    rules = secateur.simplify(model, method=method, each_leaf=True)
    rng = np.random.default_rng(0)
    rows = [X, rng.normal(X.mean(axis=0), 2 * X.std(axis=0) + 1e-3, size=(500, X.shape[1])).astype(np.float32)]
    for node in np.flatnonzero(~tree.is_leaf):
        limit = np.float32(tree.upper[node])
        beside = X[rng.integers(len(X), size=6)].copy()
        beside[:, tree.feature[node]] = [
            limit,
            np.float32(tree.threshold[node]),
            np.nextafter(limit, np.float32(np.inf)),
            np.nextafter(limit, np.float32(-np.inf)),
            np.nextafter(np.nextafter(limit, np.float32(np.inf)), np.float32(np.inf)),
            limit,
        ]
        rows.append(beside)
    everything = np.vstack(rows)
    assert (rules.predict(everything) == model.predict(everything)).all()
    # Any resolver would do: every rule that covers a row predicts what the model predicts.
    labels = np.array([rule.prediction for rule in rules])
    covered = rules.covers(everything)
    wrong = covered & (labels[None, :] != model.predict(everything)[:, None])
    assert covered.any(axis=1).all()
    assert not wrong.any()
