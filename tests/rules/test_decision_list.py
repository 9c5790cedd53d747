"""The decision list decides every row as the rules do."""

from __future__ import annotations

import math
import re
from typing import Any

import listed_rows
import numpy as np
import pandas as pd
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from method_settings import own_settings
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import choose_lines
from secateur.errors import ParameterError
from secateur.rules.decision_list import ColumnTest, double_limit, list_tests, make_decision_list
from secateur.tree.regions import domain_of, regions_of_links
from secateur.tree.tree import Tree

METHODS = st.sampled_from([name for name in secateur.METHODS if name != "mismatch-certified"])


@st.composite
def problems(draw: st.DrawFn) -> tuple[Tree, Any, Any, Any, str]:
    tree = draw(strategies.trees())
    X, y, _ = draw(strategies.labelled_rows(tree))
    return tree, X, tree.classes[y], draw(strategies.rows(tree)), draw(METHODS)


@given(problem=problems())
@settings(max_examples=150, deadline=None)
def test_the_list_decides_as_the_rules_do(problem: tuple[Tree, Any, Any, Any, str]) -> None:
    tree, X, y, asked, method = problem
    rules = secateur.simplify(tree, X, y, method=method, each_leaf=True, **own_settings(method, tolerance=0.2))
    for some in (rules, choose_lines(rules)):
        listed = make_decision_list(some)
        decided = [listed_rows.decide(listed, row) for row in listed_rows.plain_rows(tree, asked)]
        assert [rule.index for rule in decided if rule] == some.apply(asked).tolist()
        assert [rule.label for rule in decided if rule] == some.predict(asked).tolist()
        for rule in listed.rules:
            line = some.lines[rule.index]
            assert rule.share == (line.reliability if line.share is None else line.share)


@given(tree=strategies.trees(), data=st.data(), method=st.sampled_from(["none", "sibling", "redundancy", "exact"]))
@settings(max_examples=80, deadline=None)
def test_a_list_made_without_rows_predicts_as_the_tree(tree: Tree, data: st.DataObject, method: str) -> None:
    asked = data.draw(strategies.rows(tree))
    for rules in (secateur.simplify(tree, method=method, each_leaf=True), secateur.simplify(tree, method=method)):
        listed = make_decision_list(rules)
        decided = [listed_rows.decide(listed, row) for row in listed_rows.plain_rows(tree, asked)]
        assert [rule.index for rule in decided if rule] == rules.apply(asked).tolist()
        assert [rule.label for rule in decided if rule] == rules.predict(asked).tolist()


@given(problem=problems())
@settings(max_examples=150, deadline=None)
def test_tests_are_what_the_conditions_of_each_rule_leave_together(problem: tuple[Tree, Any, Any, Any, str]) -> None:
    tree, X, y, _, method = problem
    rules = secateur.simplify(tree, X, y, method=method, each_leaf=True, **own_settings(method, tolerance=0.2))
    features = list(range(tree.n_features))
    wanted = [(index, _tests_one_by_one(rules, index)) for index in rules.ranking.tolist()]
    wanted = [(index, tests) for index, tests in wanted if ColumnTest(0, (), (), False, False) not in tests]
    found = list_tests(rules, rules.deleted, features, rules.leaves[rules.order])
    assert [(index, [test._replace(column=0) for test in tests]) for index, tests in found] == wanted
    listed = make_decision_list(rules)
    first_of: dict[frozenset[Any], int] = {}
    for index, tests in found:
        first_of.setdefault(frozenset(tests), index)
    assert [rule.index for rule in listed.rules] == list(first_of.values())
    assert [column.feature for column in listed.columns] == sorted(
        {test.column for tests in first_of for test in tests}
    )
    assert [rule.text for rule in listed.rules] == [rules[index].text for index in first_of.values()]


def _tests_one_by_one(rules: secateur.Rules, index: int) -> list[ColumnTest]:
    """What a rule's conditions leave of each column that they ask for, if that is not all; columns left out."""
    tree, tests = rules.tree, []
    for feature, region in regions_of_links(tree, rules.paths, rules[index].kept_ids).items():
        levels = tree.categories[feature]
        missing = region.missing and bool(tree.accepts_missing[feature])
        if missing == tree.accepts_missing[feature] and region == domain_of(tree, feature)._replace(
            missing=region.missing
        ):
            continue
        if levels is None:
            tests.append(
                ColumnTest(0, ((region.low, region.high),) if region.low < region.high else (), (), False, missing)
            )
        else:
            codes = sorted(region.codes or ())
            labels = tuple(levels[code] for code in codes if code < len(levels))
            tests.append(ColumnTest(0, (), labels, len(levels) in codes, missing))
    return tests


def test_a_list_asks_for_the_columns_before_a_pipeline() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 400).astype(float),
            "dose": rng.normal(size=400),
            "ward": rng.choice(["A", "B", "C"], 400).astype(object),
        }
    )
    frame.loc[::7, "age"] = np.nan
    y = np.where((frame["age"].fillna(40) > 50) ^ (frame["ward"] == "B") ^ (frame["dose"] > 0.3), "back", "home")
    prepare = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
        (KBinsDiscretizer(5, encode="ordinal"), ["dose"]),
        (OneHotEncoder(handle_unknown="ignore"), ["ward"]),
    )
    model = make_pipeline(prepare, DecisionTreeClassifier(random_state=0)).fit(frame, y)
    rules = secateur.simplify(model, frame, y, method="mismatch", each_leaf=True)
    listed = make_decision_list(rules)
    assert {column.name for column in listed.columns} == {"age", "dose", "ward"}
    asked = pd.concat([frame, pd.DataFrame({"age": [50.0], "dose": [0.0], "ward": ["an unknown ward"]})])
    plain = [
        {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
        for row in asked.to_dict("records")
    ]
    decided = [listed_rows.decide(listed, row) for row in plain]
    assert [rule.index for rule in decided if rule] == rules.apply(asked).tolist()


def test_rules_that_nothing_ranks_are_rejected() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age"])
    root = builder.split("age", 30)
    builder.leaf([8, 2], parent=root, side="left")
    builder.leaf([1, 9], parent=root, side="right")
    rules = secateur.simplify(builder.build(), method="mismatch-certified", monotone=[1], each_leaf=True)
    with pytest.raises(ParameterError, match=re.escape("pass X and y to simplify")):
        make_decision_list(rules)


@given(limit=st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_double_limit_is_the_last_double_that_rounds_to_the_limit_or_below(limit: float) -> None:
    last = double_limit(limit, "float32")
    with np.errstate(over="ignore"):
        assert np.float32(last) <= np.float32(limit)
        assert np.float32(math.nextafter(last, math.inf)) > np.float32(limit)


def test_a_double_limit_of_no_limit_is_none() -> None:
    assert double_limit(math.inf, "float32") == math.inf
    assert double_limit(-math.inf, "float32") == -math.inf
