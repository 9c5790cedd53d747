"""The regression table: forms are measured as an obvious loop measures them, and lists keep their distance."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

import secateur
from benchmarks.regression_peers import load_rows
from secateur.lab.regression import (
    MADE,
    MOST_SPLITS,
    TARGETS,
    TOLERANCES,
    load_target,
    measure_target,
    regression_page,
    summarize_regression,
)


@pytest.fixture(scope="module")
def rows() -> list[dict[str, object]]:
    return [*measure_target("diabetes", 0), *measure_target("friedman1", 1)]


def test_lists_keep_their_distance_and_are_measured_as_by_hand(rows: list[dict[str, object]]) -> None:
    X, y = load_target("diabetes")
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    tree = DecisionTreeRegressor(max_depth=6, random_state=0).fit(train, y_train)
    for part in TOLERANCES:
        (row,) = (one for one in rows if one["target"] == "diabetes" and one["form"] == f"list, δ = {part:g} sd")
        rules = secateur.simplify(tree, train, y_train, tolerance=part * y_train.std(), sections=4)
        said = rules.predict(test)
        assert row["largest"] == pytest.approx(np.abs(said - tree.predict(test)).max() / y_train.std())
        assert row["largest"] <= part * (1 + 1e-9)
        assert row["delta_r2"] == pytest.approx(r2_score(y_test, said) - r2_score(y_test, tree.predict(test)))
        heading = 2 * (len(rules.sections) - 1)
        own = sum(len(rule.kept_ids) - len(rule._heading_ids) for rule in rules)
        assert row["conditions"] == heading + own


def test_pruned_trees_are_no_longer_than_the_list_beside_them(rows: list[dict[str, object]]) -> None:
    for part in TOLERANCES:
        for target in ("diabetes", "friedman1"):
            mine = {str(one["form"]): one for one in rows if one["target"] == target}
            most = mine[f"list, δ = {part:g} sd"]["conditions"]
            for drawn in ("a rule for each leaf", "drawn nested"):
                assert mine[f"pruned tree, {drawn}, as long as at δ = {part:g} sd"]["conditions"] <= most  # type: ignore[operator]


def test_the_stored_lists_are_within_their_bars() -> None:
    stored = load_rows()
    assert {(one["target"], one["split"]) for one in stored} == {(t, s) for t in TARGETS for s in range(MOST_SPLITS)}
    table = {one["form"]: one for one in summarize_regression(stored)}
    for part, most in zip(TOLERANCES, (47, 33, 19), strict=True):
        found = table[f"list, δ = {part:g} sd"]
        assert found["conditions"] <= most
        assert found["largest"] <= part + 1e-6


def test_stored_rows_are_those_of_a_new_run(rows: list[dict[str, object]]) -> None:
    stored = {(one["target"], one["split"], one["form"]): one for one in load_rows()}
    for one in rows:
        then = stored[one["target"], one["split"], one["form"]]
        assert then["conditions"] == one["conditions"]
        assert then["delta_r2"] == pytest.approx(one["delta_r2"], abs=1e-5)


def test_the_table_averages_targets_alike(rows: list[dict[str, object]]) -> None:
    table = summarize_regression([*rows, *rows[:9]])
    first = [one for one in rows if one["form"] == table[0]["form"]]
    shares = [100 * one["conditions"] / one["every"] for one in first]  # type: ignore[operator]
    assert table[0]["conditions"] == pytest.approx(np.mean(shares))
    page = regression_page(table, 1)
    assert len(page.rows) == 3 * len(TOLERANCES)
    assert len(MADE) == 4
