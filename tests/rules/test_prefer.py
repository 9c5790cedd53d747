"""Lists whose conditions cost as much as their columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import InputError, ParameterError
from secateur.tree.tree import Tree


def fit_wine(**settings: Any) -> tuple[secateur.Rules, Any, Any]:
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=5, max_features=5, random_state=0).fit(X, y)
    return secateur.simplify(model, X, y, **settings), X, y


def columns_of(rules: secateur.Rules) -> set[str]:
    """Read the columns off the printed conditions and headings."""
    headings = [condition for section in rules.sections for condition in section.heading]
    listed = [*headings, *(condition for rule in rules for condition in rule.conditions)]
    return {name for name in rules.tree.feature_names if any(name in str(condition) for condition in listed)}


@settings(deadline=None, max_examples=40)
@given(tree=strategies.trees(max_leaves=8), data=st.data())
def test_the_promise_stays(tree: Tree, data: st.DataObject) -> None:
    X, y, _ = data.draw(strategies.labelled_rows(tree))
    labels = tree.classes[y]
    form = {"tolerance": data.draw(st.sampled_from([0.1, 1.0])), "sections": data.draw(st.sampled_from([1, 3]))}
    costs = {feature: data.draw(st.sampled_from([0.5, 1, 10])) for feature in range(tree.n_features)}
    plain = secateur.simplify(tree, X, labels, **form)  # type: ignore[arg-type]
    made = secateur.simplify(tree, X, labels, prefer=costs, **form)  # type: ignore[arg-type]
    assert made.verify(X, labels).ok
    assert np.array_equal(made.predict(X), plain.predict(X))
    alike = secateur.simplify(tree, X, labels, prefer=dict.fromkeys(costs, 3), **form)  # type: ignore[arg-type]
    assert [line.text for line in alike.lines] == [line.text for line in plain.lines]
    assert [line.text for line in plain.prefer({}).lines] == [line.text for line in plain.lines]


def test_a_dear_column_is_asked_less() -> None:
    rules, X, y = fit_wine(budget=0.05)
    made = rules.prefer({"hue": 10})
    assert "hue" in columns_of(rules) - columns_of(made)
    assert made.budget == 0.05
    assert made.verify(X, y).ok


def test_few_columns_are_asked() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=5, max_features=5, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, budget=0.05)
    made = secateur.simplify(model, X, y, budget=0.05, max_columns=7)
    assert len(columns_of(made)) <= 7 < len(columns_of(rules))
    assert made.verify(X, y).ok


def test_no_list_of_so_few_columns() -> None:
    rules, _, _ = fit_wine()
    with pytest.raises(InputError, match="No list that keeps the promise was found that asks 1 column or fewer"):
        rules.prefer({}, max_columns=1)


@pytest.mark.parametrize(
    ("prefer", "found"),
    [
        ({"hues": 3}, "There is no column 'hues'. Did you mean 'hue'?"),
        ({"hue": 0}, "Expected the cost of 'hue' as a number above 0, found 0."),
        ({"hue": "dear"}, "Expected the cost of 'hue' as a number above 0, found 'dear'."),
        (["hue"], "Expected prefer as costs of columns"),
    ],
)
def test_costs_that_are_none(prefer: Any, found: str) -> None:
    with pytest.raises(ParameterError, match=found.replace("?", ".")):
        fit_wine(prefer=prefer)


def test_costs_are_for_a_list() -> None:
    with pytest.raises(ParameterError, match="'prefer' is for a list"):
        fit_wine(prefer={"hue": 2}, each_leaf=True)
    with pytest.raises(ParameterError, match="Expected max_columns as a whole number from 1 on, found 0"):
        fit_wine(max_columns=0)
    with pytest.raises(ParameterError, match="There is no column True"):
        fit_wine(prefer={True: 10})
    by_name, _, _ = fit_wine(prefer={"malic_acid": 10}, max_columns=9, sections=2)
    by_place, _, _ = fit_wine(prefer={np.int64(1): 10}, max_columns=np.int64(9), sections=np.int64(2))
    assert by_place.to_json() == by_name.to_json()
    rules, _, _ = fit_wine()
    with pytest.raises(InputError, match="call prefer before any edit"):
        rules.strike(0).prefer({"hue": 2})
