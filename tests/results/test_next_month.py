"""Next month's rows beside the training rows: columns, facts, shares, and the swap set of two months."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.results.shifts import find_psi


def make_bank(seed: int, n_rows: int, drift: float = 0.0) -> pd.DataFrame:
    """Loans of a month: who is late, in debt over 45 % or without work defaults more often."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "debt": (100 * rng.beta(2, 5, n_rows)).round(1),
            "late": rng.poisson(0.35, n_rows).astype(float),
            "score": rng.normal(680, 70, n_rows).round(),
            "job": rng.choice(["permanent", "temporary", "none"], n_rows, p=[0.8, 0.15, 0.05]),
        }
    )
    table.loc[rng.random(n_rows) < 0.05, "score"] = np.nan
    risk = -3 + drift + table.late + 2.2 * (table.debt > 45) + 1.9 * (table.job == "none") + (table.score < 600)
    table["outcome"] = np.where(rng.random(n_rows) < 1 / (1 + np.exp(-risk)), "default", "repaid")
    return table


def make_rules(table: pd.DataFrame) -> secateur.Rules:
    X = pd.get_dummies(table.drop(columns="outcome"), dtype=float)
    model = DecisionTreeClassifier(max_depth=4, min_samples_leaf=30, random_state=0).fit(X, table.outcome)
    return secateur.simplify(model, X, table.outcome, of="default")


SEPTEMBER, OCTOBER = make_bank(1, 4000), make_bank(2, 2000, drift=0.5)
RULES = make_rules(SEPTEMBER)


def take(table: pd.DataFrame) -> pd.DataFrame:
    return pd.get_dummies(table.drop(columns="outcome"), dtype=float)


def test_columns_of_rows_like_the_training_rows_have_not_moved() -> None:
    again = make_bank(3, 2000)
    found = RULES.audit(take(again), again.outcome)
    assert found.table is not None
    assert {one.name for one in found.table.columns} >= {"debt", "late"}
    assert all(one.psi < 0.1 for one in found.table.columns)
    assert not found.table.moved
    same = RULES.audit(take(SEPTEMBER), SEPTEMBER.outcome).table
    assert same is not None
    assert all(one.psi == 0 and one.outside == 0 for one in same.columns)


def test_counts_shares_outside_and_psi_are_those_of_a_count_by_hand() -> None:
    X = take(OCTOBER)
    X.loc[:199, "debt"] = 200.0
    found = RULES.audit(X, OCTOBER.outcome).table
    assert found is not None
    debt = next(one for one in found.columns if one.name == "debt")
    assert debt.outside == pytest.approx(
        (X.debt > SEPTEMBER.debt.max()).mean() + (X.debt < SEPTEMBER.debt.min()).mean()
    )
    then, now = (values.astype(np.float32) for values in (SEPTEMBER.debt, X.debt))  # as the tree compares them
    deciles = np.quantile(then, np.arange(1, 10) / 10, method="inverted_cdf")
    assert debt.then.edges.tolist() == sorted(set(deciles.tolist()))
    for spread, values in ((debt.then, then), (debt.now, now)):
        ends = pairwise([-np.inf, *debt.then.edges, np.inf])
        by_hand = [((values > low) & (values <= high)).sum() for low, high in ends]
        assert spread.counts.tolist() == [*by_hand, values.isna().sum()]
    assert debt.psi == find_psi(debt.then.counts, debt.now.counts)
    assert debt.moved
    assert "outside the training range" in " ".join(RULES.audit(X, OCTOBER.outcome).shifts)


def test_percent_as_fractions_is_said_once_and_raises_the_alarm() -> None:
    X = take(OCTOBER)
    X["debt"] /= 100
    found = RULES.audit(X, OCTOBER.outcome)
    about = [one for one in found.shifts if one.startswith("debt")]
    assert len(about) == 1
    assert about[0].endswith("Is it written as fractions instead of percent?")
    assert found.moved


def test_broken_facts_are_counted() -> None:
    X, y = take(SEPTEMBER), SEPTEMBER.outcome
    model = DecisionTreeClassifier(max_depth=4, min_samples_leaf=30, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, facts=["debt <= 100", "late is a whole number"])
    new = take(OCTOBER)
    new.loc[:9, "debt"] = 150.0
    new.loc[5:6, "late"] = 1.5
    found = rules.audit(new, OCTOBER.outcome).table
    assert found is not None
    assert sorted(found.broken_facts.values()) == [2, 10]
    assert any(told.startswith("10 of 2,000 rows violate a stated fact: debt") for told in found.describe())


def test_the_calibration_error_is_the_mean_distance_of_shares() -> None:
    X, y = take(OCTOBER), OCTOBER.outcome
    found, line = RULES.audit(X, y), RULES.apply(X)
    apart = 0.0
    for one in RULES.lines:
        rows = y[line == one.index]
        if len(rows):
            apart += len(rows) / len(y) * abs(RULES.stated_shares[one.index] - (rows == one.prediction).mean())
    assert found.calibration_error == pytest.approx(apart)
    assert f"calibration error {apart:.3f}" in str(found)


def test_the_swap_set_of_two_months_equals_a_count_by_hand() -> None:
    later = make_rules(OCTOBER)
    X, y = take(OCTOBER), OCTOBER.outcome
    found = RULES.diff(later, X, y).swaps
    assert found is not None
    counted: dict[tuple[str, str], list[int]] = {}
    for before, after, own in zip(RULES.predict(X), later.predict(X), y, strict=True):
        if before != after:
            pair = counted.setdefault((before, after), [0, 0, 0])
            for place, holds in enumerate((True, before == own, after == own)):
                pair[place] += holds
    assert {(one.old, one.new): [one.rows, one.old_right, one.new_right] for one in found.swaps} == counted
    assert found.n_changed == sum(pair[0] for pair in counted.values()) > 0


def test_of_many_rows_a_hundred_thousand_are_counted_and_all_are_ranged() -> None:
    many = take(make_bank(4, 2000)).sample(250_000, replace=True, random_state=0)
    many.iloc[1_777, many.columns.get_loc("debt")] = 500.0  # in no run that is counted
    found = RULES.audit(many, RULES.predict(many)).table
    assert found is not None
    debt = next(one for one in found.columns if one.name == "debt")
    assert debt.now.counts.sum() == 100_000
    assert debt.now.high == 500.0
    assert debt.outside == pytest.approx(
        ((many.debt > SEPTEMBER.debt.max()) | (many.debt < SEPTEMBER.debt.min())).mean()
    )
    low, *between, high = (-np.inf, *debt.then.edges, np.inf)
    shares = [((many.debt > a) & (many.debt <= b)).mean() for a, b in pairwise((low, *between, high))]
    assert debt.now.counts[:-1] / 100_000 == pytest.approx(shares, abs=0.01)
