"""Lines that need a second look are flagged, and plain ones are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import secateur
from secateur.results.measures import describe_flags, find_flags
from secateur.tree.columns import ColumnParser


def make_rules(columns: dict[str, np.ndarray], labels: np.ndarray, **settings: object) -> secateur.Rules:
    X = pd.DataFrame(columns)
    model = DecisionTreeClassifier(min_samples_leaf=20, random_state=0, **settings).fit(X, labels)  # type: ignore[arg-type]
    return secateur.simplify(model, X, labels, of="bad", sections=1)


def kinds(rules: secateur.Rules) -> set[str]:
    return {one.kind for one in find_flags(rules)}


def test_a_code_is_flagged_and_an_amount_is_not() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.integers(1000, 1040, 800).astype(float)
    labels = np.where((numbers > 1020) ^ (rng.random(800) < 0.1), "bad", "good")
    coded = make_rules({"Branch": numbers}, labels, max_depth=1)
    assert kinds(coded) == {"code"}
    assert "Line 1 compares Branch, which looks like a code" in str(coded)
    assert kinds(make_rules({"amount": numbers}, labels, max_depth=1)) == set()
    assert kinds(make_rules({"Branch": numbers / 7}, labels, max_depth=1)) == set()


def test_a_date_that_every_later_row_passes_is_flagged() -> None:
    rng = np.random.default_rng(1)
    days = np.sort(rng.integers(20_000, 20_100, 1000)).astype(float)
    for limit, few in (
        (20_095, "at most one training row in ten is as late, and every later row will be."),
        (20_050, ""),
    ):
        labels = np.where((days >= limit) ^ (rng.random(1000) < 0.02), "bad", "good")
        X = pd.DataFrame({"applied": days})
        model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, labels)
        tree = replace(secateur.from_model(model, X), column_parsers=(ColumnParser("date"),))
        rules = secateur.simplify(tree, X, labels, of="bad", otherwise="good")
        assert kinds(rules) == {"late-date"}
        told = few or "every row later than the training rows will be."
        assert told in str(rules)
        assert any(told in one for one in rules.report().summary["lists"][0]["cautions"])


@pytest.mark.parametrize(("limit", "expected"), [(20_095, True), (20_050, False)])
def test_a_date_that_no_later_row_can_have_is_flagged(limit: int, expected: bool) -> None:
    rng = np.random.default_rng(1)
    days = np.sort(rng.integers(20_000, 20_100, 1000)).astype(float)
    labels = np.where((days < limit) ^ (rng.random(1000) < 0.02), "bad", "good")
    X = pd.DataFrame({"applied": days})
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, labels)
    tree = replace(secateur.from_model(model, X), column_parsers=(ColumnParser("date"),))
    rules = secateur.simplify(tree, X, labels, of="bad", otherwise="good")
    assert "late-date" in kinds(rules)
    assert ("in ten is later, and no later row will satisfy that" in str(rules)) == expected
    assert ("no row later than the training rows will satisfy that" in str(rules)) != expected


def test_bands_that_go_up_and_down_beyond_chance_are_flagged() -> None:
    rng = np.random.default_rng(2)
    age = rng.uniform(20, 80, 6000)
    chance = np.select([age < 32, age < 44, age < 56, age < 68], [0.02, 0.4, 0.12, 0.48], 0.26)
    labels = np.where(rng.random(6000) < chance, "bad", "good")
    rules = make_rules({"age": age}, labels, max_leaf_nodes=5)
    flags = [one for one in find_flags(rules) if one.kind == "not-monotone"]
    assert flags
    assert any("than on either side of it" in one.text for one in flags)
    rising = np.where(rng.random(6000) < (age - 20) / 90, "bad", "good")
    assert "not-monotone" not in kinds(make_rules({"age": age}, rising, max_leaf_nodes=4))


@pytest.mark.parametrize(("sign", "stated"), [(1, "was stated to lower it"), (-1, None), (0, None)])
def test_shares_that_go_against_a_stated_direction_are_flagged(sign: int, stated: str | None) -> None:
    rng = np.random.default_rng(4)
    age = rng.uniform(20, 80, 6000)
    X, labels = pd.DataFrame({"age": age}), np.where(rng.random(6000) < (age - 20) / 90, "bad", "good")
    model = DecisionTreeClassifier(max_leaf_nodes=4, min_samples_leaf=20, random_state=0).fit(X, labels)
    # The sign is that of the second class, good: +1 says that good becomes likelier with age, and bad less likely.
    tree = replace(secateur.from_model(model, X), monotone=np.array([sign]))
    rules = secateur.simplify(tree, X, labels, of="bad", sections=1)
    told = [one.text for one in find_flags(rules) if one.kind == "not-monotone"]
    assert bool(told) == (stated is not None)
    assert all(f"age {stated}" in one and "bad in training" in one for one in told)


def test_lines_whose_rows_speak_against_them_are_flagged_once() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 10, 600)
    labels = np.where((x > 7) ^ (rng.random(600) < 0.05), "bad", "good")
    rules = make_rules({"x": x}, labels, max_depth=1)
    measured = rules.measure(pd.DataFrame({"x": x}), np.where(x > 7, "good", "good"))
    assert kinds(measured) == {"did-not-hold-up"}
    fell = np.flatnonzero(measured.did_not_hold_up) + 1
    assert [one.line for one in find_flags(measured)] == fell.tolist()
    assert all(one.text.startswith(f"Line {one.line} did not hold up") for one in find_flags(measured))
    assert len(find_flags(measured)) <= measured.n_lines
    assert describe_flags(measured) == []  # the numbers beside the line tell
    empty = rules.measure(pd.DataFrame({"x": [1.0] * 30}), ["good"] * 30)
    assert "no-rows" in kinds(empty)


@given(st.data())
def test_rows_of_a_struck_line_go_to_the_next_that_holds(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    rows, labels, _ = data.draw(strategies.labelled_rows(tree))
    rules = secateur.simplify(tree, rows, tree.classes[labels], tolerance=1.0)
    found = rules.audit(rows, tree.classes[labels]).per_line
    covers, line = rules.covers(rows), rules.apply(rows)
    own = [rule.index for rule in rules]
    for one in found:
        place = one.line - 1
        if rules.lines[place].is_otherwise:
            assert one.if_struck is None
            continue
        right = []
        for row in np.flatnonzero(line == place).tolist():
            held = [index for index, is_held in zip(own, covers[row], strict=True) if is_held and index > place]
            section = rules.lines[place].section
            answer = rules.lines[held[0]] if held else section.otherwise
            right.append(answer.class_id == labels[row])
        assert (None if not right else np.mean(right)) == one.if_struck


def test_values_of_a_struck_line_are_off_by_the_next_answer() -> None:
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 10, (500, 2))
    y = np.floor(X[:, 0]) + rng.normal(0, 0.3, 500)
    rules = secateur.simplify(
        DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y), X, y, tolerance=0.5, sections=1
    )
    found, line, covers = rules.audit(X, y).per_line, rules.apply(X), rules.covers(X)
    rest = rules.sections[0].otherwise
    for rule in rules:
        rows = np.flatnonzero(line == rule.index)
        later = [[k for k in range(len(rules)) if covers[row, k] and rules[k].index > rule.index] for row in rows]
        answers = np.array([rules[one[0]].prediction if one else rest.prediction for one in later], dtype=float)
        assert found[rule.index].if_struck == pytest.approx(np.abs(y[rows] - answers).mean())
