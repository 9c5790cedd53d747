"""What every door says of rows, beside the line that answers them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from net import forms
from numpy.typing import NDArray

Said = tuple[Any, Any]  # of each row the label, and the number of the line from 1; None where a door names no line
N_EXPLAINED = 10


def ask_predict(rules: Any, rows: pd.DataFrame) -> Said:
    return rules.predict(rows), None


@cache
def open_duckdb() -> duckdb.DuckDBPyConnection:
    """One database for all questions, for opening it takes longer than most of them."""
    return duckdb.connect(config={"threads": 1})


def ask_duckdb(rules: Any, rows: pd.DataFrame) -> Said:
    found = open_duckdb().register("rows", rows).execute(rules.to_sql("duckdb")).df()
    return found["prediction"], found["rule"]


def ask_sqlite(rules: Any, rows: pd.DataFrame) -> Said:
    with closing(sqlite3.connect(":memory:")) as database:
        rows.to_sql("rows", database, index=False)
        found = pd.read_sql_query(rules.to_sql("sqlite"), database)
    return found["prediction"], found["rule"]


def ask_python(rules: Any, rows: pd.DataFrame) -> Said:
    predict = load(rules.to_python())
    found = [predict(row) for row in rows.to_dict("records")]
    return [label for label, _, _ in found], [number for _, number, _ in found]


def ask_numpy(rules: Any, rows: pd.DataFrame) -> Said:
    labels, numbers, _ = load(rules.to_python(vectorized=True))(rows)
    return labels, numbers


def ask_written(rules: Any, rows: pd.DataFrame) -> Said:
    with TemporaryDirectory() as place:
        path = Path(place) / "written.parquet"
        assert rules.write_predictions(rows, path) == len(rows)
        found = pd.read_parquet(path)
    return found["prediction"], found["rule"]


DOORS: dict[str, Callable[[Any, pd.DataFrame], Said]] = {
    "predict": ask_predict,
    "written predictions": ask_written,
    "Python": ask_python,
    "numpy": ask_numpy,
    "SQLite": ask_sqlite,
    "DuckDB": ask_duckdb,
}


def load(source: str, name: str = "predict") -> Any:
    """The function that a written module holds."""
    written: dict[str, Any] = {}
    exec(compile(source, "<written>", "exec"), written)
    return written[name]


def find_wrong(
    rules: Any, model: Any, rows: pd.DataFrame, doors: Collection[str] = tuple(DOORS)
) -> dict[str, NDArray[np.int64]]:
    """Doors that do not say of every row what its line says, each with the rows that it gets wrong."""
    at, by_tree = forms.applied(rules, rows), model.predict(rows)
    said = np.array(forms.lines(rules), dtype=object)[at]
    wrong = {door: differ_from_lines(rules, at, *DOORS[door](rules, rows)) for door in doors}
    wrong["covers"] = _find_uncovered(rules, rows, at)
    wrong["explain"] = _find_explained_otherwise(rules, rows, at, by_tree)
    wrong["predict_proba"] = _find_other_shares(rules, model, rows, at)
    wrong["audit"] = _find_miscounted(rules, rows, at, said, by_tree)
    return {door: places for door, places in wrong.items() if len(places)}


def differ_from_lines(rules: Any, at: NDArray[np.int64], labels: Any, numbers: Any = None) -> NDArray[np.int64]:
    """Rows whose label, or the line that is named, is not that of the line that answers."""
    lines = np.array(forms.lines(rules), dtype=object)
    is_wrong = np.asarray(labels, dtype=object) != lines[at]
    if numbers is not None:
        named = np.asarray(numbers, dtype=np.int64) - 1
        is_wrong |= named != at
    return np.flatnonzero(is_wrong)


def _find_uncovered(rules: Any, rows: pd.DataFrame, at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows whose rule does not cover them, and rows of "otherwise" that a rule covers."""
    covers = rules.covers(rows)
    assert covers.shape == (len(rows), forms.n_rules(rules))
    place_of = np.full(len(forms.lines(rules)), -1)
    place_of[forms.rule_lines(rules)] = np.arange(forms.n_rules(rules))
    place = place_of[at]
    by_rule = place >= 0
    fine = ~covers.any(axis=1)
    fine[by_rule] = covers[by_rule, place[by_rule]]
    return np.flatnonzero(~fine)


def _find_explained_otherwise(
    rules: Any, rows: pd.DataFrame, at: NDArray[np.int64], by_tree: NDArray[Any]
) -> NDArray[np.int64]:
    lines, places = forms.lines(rules), np.linspace(0, len(rows) - 1, N_EXPLAINED).astype(int)
    asked = zip(places.tolist(), rows.iloc[places].to_dict("records"), strict=True)
    wrong = [
        place for place, row in asked if forms.explained(rules, row) != (at[place], lines[at[place]], by_tree[place])
    ]
    return np.array(wrong, dtype=np.int64)


def _find_other_shares(rules: Any, model: Any, rows: pd.DataFrame, at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows whose probabilities are not what their line states, or its rows have; without rows, not the tree's own."""
    found = rules.predict_proba(rows)
    if not forms.has_counts(rules) and rules.keeps_shares:  # as they are stated, by the tree's own counts
        stated, own = np.array(forms.stated_shares(rules), dtype=np.float64), np.array(forms.class_ids(rules))
        return np.flatnonzero(~np.isclose(found[np.arange(len(at)), own[at]], stated[at], rtol=0, atol=1e-12))
    if not forms.has_counts(rules):
        return np.flatnonzero(~np.isclose(found, model.predict_proba(rows), rtol=0, atol=1e-12).all(axis=1))
    counts, own = forms.line_counts(rules), np.array(forms.class_ids(rules))
    total = counts.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, counts / np.maximum(total, 1e-300), np.eye(counts.shape[1])[own])
    stated = np.array([np.nan if share is None else share for share in forms.stated_shares(rules)])
    for line in np.flatnonzero(~np.isnan(stated)).tolist():
        others = np.where(np.arange(counts.shape[1]) == own[line], 0.0, counts[line])
        if not others.sum() and not np.isclose(stated[line], 1.0):  # how the others share the rest is not in the rows
            others = np.where(np.arange(counts.shape[1]) == own[line], 0.0, found[at == line].sum(axis=0))
        shares[line] = others / max(others.sum(), 1e-300) * (1 - stated[line])
        shares[line, own[line]] = stated[line]
    is_wrong = ~np.isclose(found, shares[at], rtol=0, atol=1e-12).all(axis=1)
    is_wrong |= ~np.isclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)
    # The class of a line has the largest probability, but where another class has more of its rows.
    is_commonest = np.isnan(stated) & (shares[np.arange(len(own)), own] == shares.max(axis=1))
    is_wrong |= is_commonest[at] & (found[np.arange(len(at)), own[at]] < found.max(axis=1))
    return np.flatnonzero(is_wrong)


def _find_miscounted(
    rules: Any, rows: pd.DataFrame, at: NDArray[np.int64], said: NDArray[Any], by_tree: NDArray[Any]
) -> NDArray[np.int64]:
    """No rows, or row 0 where an audit does not count what the lines say."""
    truth = np.roll(by_tree, 1)
    audit = rules.audit(rows, truth)
    expected = {
        "agreement": (forms.agreement(audit), said == by_tree),
        "accuracy": (audit.accuracy, said == truth),
        "tree_accuracy": (audit.tree_accuracy, by_tree == truth),
        "coverage": (forms.coverage(audit), np.isin(at, forms.rule_lines(rules))),
    }
    differ = {name for name, (share, marks) in expected.items() if abs(share - 100 * marks.mean()) > 1e-9}
    return np.array([0] if differ or audit.n_rows != len(rows) else [], dtype=np.int64)
