"""A search is taken as its best estimator."""

import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import UnsupportedModelError

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
def test_a_search_is_taken_as_its_best_estimator(search: type) -> None:
    grid = {"max_depth": [2, 3]}
    options = {"n_iter": 2} if search is RandomizedSearchCV else {}
    found = search(DecisionTreeClassifier(random_state=0), grid, **options).fit(X, Y)
    assert secateur.from_model(found) == secateur.from_model(found.best_estimator_)
    assert secateur.simplify(found, X, Y) == secateur.simplify(found.best_estimator_, X, Y)


def test_a_search_for_a_forest_is_approximated() -> None:
    found = GridSearchCV(RandomForestClassifier(3, random_state=0), {"max_depth": [2]}, cv=2).fit(X, Y)
    assert secateur.simplify(found, X).fidelity is not None


def test_a_search_that_was_not_fitted_is_rejected() -> None:
    with pytest.raises(UnsupportedModelError, match="a search's best_estimator_"):
        secateur.simplify(GridSearchCV(DecisionTreeClassifier(), {}), X, Y)
