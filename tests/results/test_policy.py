"""A typed policy answers rows as a reader of its words would, and what cannot be read is said in one sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import InputError, ParameterError
from secateur.results import parse_policy

COLUMNS = {
    "dti": None,
    "late": None,
    "Rate in %; net": None,
    "opened": None,
    "job": ("permanent", "temporary", "self employed", "none"),
}
LABELS = ("approve", "refuse", "ask, and wait")


def make_applicants(n_rows: int, seed: int = 0) -> pd.DataFrame:
    """Applicants with blanks in every column."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "dti": rng.integers(40, 50, n_rows).astype(float),
            "late": rng.integers(0, 3, n_rows).astype(float),
            "Rate in %; net": rng.integers(0, 20, n_rows) / 2,
            "opened": pd.Timestamp("2026-09-20") + pd.to_timedelta(rng.integers(0, 10, n_rows), unit="D"),
            "job": rng.choice(np.array(COLUMNS["job"], dtype=object), n_rows),
        }
    )
    return table.mask(rng.random(table.shape) < 0.15)


def test_lines_answer_as_they_read() -> None:
    policy = parse_policy(
        "Refuse if dti > 45 and late >= 1;"
        "'ask, and wait' if job in {temporary, self employed} and opened >= 2026-09-25; refuse if Rate in %;"
        " net <= 1.5 or missing; approve if dti is missing; refuse if job is none or temporary;"
        " otherwise approve",
        COLUMNS,
        LABELS,
    )
    table = make_applicants(2000)
    expected, lines = [], []
    for row in table.itertuples(index=False, name=None):
        dti, late, rate, opened, job = row
        checks = (
            (dti > 45 and late >= 1, "refuse"),
            (job in ("temporary", "self employed") and opened >= pd.Timestamp("2026-09-25"), "ask, and wait"),
            (pd.isna(rate) or rate <= 1.5, "refuse"),
            (pd.isna(dti), "approve"),
            (job in ("none", "temporary"), "refuse"),
            (True, "approve"),
        )
        place = next(place for place, (holds, _) in enumerate(checks) if holds)
        lines.append(place)
        expected.append(checks[place][1])
    assert set(lines) == set(range(6))
    for rows in (table, pl.from_pandas(table)):
        assert policy.apply(rows).tolist() == lines
        assert policy.predict(rows).tolist() == expected
    assert parse_policy(str(policy), COLUMNS, LABELS).predict(table).tolist() == expected
    assert str(policy.lines[-1]) == "otherwise approve"


@given(
    st.sampled_from(["<", "<=", ">", ">=", "≤", "≥", "=", "!="]),
    st.integers(-3, 3),
    st.lists(st.sampled_from([-3.0, -1.0, 0.0, 1.0, 3.0, float("nan")]), min_size=1, max_size=8),
)
def test_comparisons_are_those_of_single_numbers(sign: str, limit: int, numbers: list[float]) -> None:
    policy = parse_policy(f"1 if x {sign} {limit}; otherwise 0", ["x"], [0, 1])
    compare = {"≤": "<=", "≥": ">=", "=": "=="}.get(sign, sign)
    beside = np.nextafter(limit, np.inf), np.nextafter(limit, -np.inf)
    for one in (*numbers, *beside):
        holds = not np.isnan(one) and bool(eval(f"one {compare} limit", {"one": one, "limit": limit}))
        assert policy.predict([[one]]).tolist() == [int(holds)], (one, sign)


def test_labels_that_negate_leave_blanks_out() -> None:
    policy = parse_policy("refuse if job is not none; otherwise approve", COLUMNS, LABELS)
    rows = pd.DataFrame({"job": ["none", "temporary", None]})
    assert policy.predict(rows).tolist() == ["approve", "refuse", "approve"]
    either = parse_policy("refuse if job not in none, temporary or missing; otherwise approve", COLUMNS, LABELS)
    assert either.predict(rows).tolist() == ["approve", "approve", "refuse"]
    known = parse_policy("refuse if `job` is not missing; otherwise approve", COLUMNS, LABELS)
    assert known.predict(rows).tolist() == ["refuse", "refuse", "approve"]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("refuse if dti > 45", "ends with “otherwise” and a label"),
        ("", "ends with “otherwise” and a label"),
        ("otherwise approve; refuse if dti > 45; otherwise approve", "is the last line of a policy"),
        ("refuse dti > 45; otherwise approve", "Expected a label, “if” and conditions"),
        ("refuse if dti; otherwise approve", "Expected a column, an operator and a value"),
        ("refuse if dit > 45; otherwise approve", "No column is called 'dit' (in 'dit > 45'). Did you mean 'dti'?"),
        ("reject if dti > 45; otherwise approve", "No label is called 'reject'"),
        ("refuse if dti > high; otherwise approve", "Expected a number or a date such as 2026-09-27, found 'high'"),
        ("refuse if job > 4; otherwise approve", "Column 'job' holds labels, not numbers"),
        ("refuse if job is nun; otherwise approve", "No label of 'job' is called 'nun'"),
        ("refuse if job is; otherwise approve", "Expected a label after 'is'"),
    ],
)
def test_mistakes_are_said_in_one_sentence(written: str, told: str) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_policy(written, COLUMNS, LABELS)
    assert told in str(caught.value)


def test_rows_that_do_not_fit_are_named() -> None:
    policy = parse_policy("refuse if dti > 45; otherwise approve", ["dti", "job"], LABELS)
    with pytest.raises(InputError, match=r"'dti', which X does not have\. Did you mean 'DTI'"):
        policy.predict(pd.DataFrame({"DTI": [1.0]}))
    with pytest.raises(InputError, match="the column holds texts"):
        policy.predict(pd.DataFrame({"dti": ["high"]}))
    with pytest.raises(InputError, match=r"found an array of shape \(1, 3\)"):
        policy.predict([[1, 2, 3]])
    asks = parse_policy("refuse if dti is high; otherwise approve", ["dti", "job"], LABELS)
    with pytest.raises(InputError, match="'dti' is 'high', but the column holds numbers"):
        asks.predict(pd.DataFrame({"dti": [1.0]}))


def test_rules_are_compared_with_a_policy_and_with_a_model() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"dti": rng.uniform(0, 95, 600), "late": rng.poisson(0.4, 600).astype(float)})
    y = np.where((X.dti > 45) & (X.late >= 1) ^ (rng.random(600) < 0.05), "refuse", "approve")
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y)
    policy = parse_policy("refuse if dti > 60; otherwise approve", rules.tree.feature_names, rules.tree.classes)
    difference = rules.diff(policy, X, y)
    found = difference.swaps
    assert found is not None
    before, after = rules.predict(X), np.where(X.dti > 60, "refuse", "approve")
    assert found.n_changed == (before != after).sum() > 0
    for one in found.swaps:
        both = (before == one.old) & (after == one.new)
        assert (one.rows, one.old_right, one.new_right) == (
            both.sum(),
            (both & (y == one.old)).sum(),
            (both & (y == one.new)).sum(),
        )
    for old, new, n_rows in found.moves:
        assert n_rows == ((rules.apply(X) == old - 1) & (policy.apply(X) == new - 1) & (before != after)).sum()
    assert not difference.is_same
    assert str(difference).startswith("Now: refuse if dti > 60; otherwise approve.\n")
    same = rules.diff(model, X, y)
    assert same.is_same
    assert same.swaps is not None
    assert same.swaps.moves == ()
    with pytest.raises(InputError, match="compared by its answers: pass rows"):
        rules.diff(policy)
    with pytest.raises(InputError, match="Expected rules, a policy or a model to compare with, found int"):
        rules.diff(3)


def test_every_comma_within_braces_separates_labels() -> None:
    rows = pd.DataFrame({"code": [100, 200, 1200, 100200, 300]})
    for written, refused in (
        ("{100,200}", [100, 200]),
        ("{100, 200}", [100, 200]),
        ("{100,200,300}", [100, 200, 300]),
        ("(100,200)", [100, 200]),
        ("1,200", [1200]),
        ("100 or 1,200", [100, 1200]),
    ):
        known = parse_policy(f"refuse if code in {written}; otherwise approve", ["code"], LABELS)
        assert (known.predict(rows) == "refuse").tolist() == rows["code"].isin(refused).tolist(), written
