"""Rows that try what a decision list asks: at every limit and beside it, every category, nothing, and what is rejected.

The answers come from :func:`listed_rows.decide`, which is short and obvious.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import listed_rows
import numpy as np
import strategies
from exported_rules import ward_rules
from hypothesis import strategies as st
from method_settings import own_settings
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.rules.decision_list import Column, DecisionList, double_limit, make_decision_list
from secateur.tree.columns import Columns
from secateur.tree.tree import Tree

Answer = tuple[Any, int | None, float | None]
REJECTED: Answer = (None, None, None)
METHODS = [name for name in secateur.METHODS if name != "mismatch-certified"]


class Probe(NamedTuple):
    """Rules, rows in their holder's terms, and what the rules say of each."""

    rules: secateur.Rules
    listed: DecisionList
    names: list[str]
    rows: list[dict[str, Any]]
    answers: list[Answer]

    def columns(self, name: str) -> list[Any]:
        return [row[name] for row in self.rows]

    def is_text(self, name: str) -> bool:
        labels = [label for column in self.listed.columns if column.name == name for label in column.labels or ()]
        return any(isinstance(value, str) for value in (*labels, *self.columns(name)))


def make_probe(rules: secateur.Rules, rows: list[dict[str, Any]]) -> Probe:
    listed = make_decision_list(rules)
    names = [rules.tree.feature_name(feature) for feature in range(rules.tree.n_features)]
    return Probe(rules, listed, names, rows, [answer_row(listed, row) for row in rows])


def answer_row(listed: DecisionList, row: dict[str, Any]) -> Answer:
    """Label, number from 1 and reliability; nothing where the row is rejected."""
    plain = {name: None if value != value else value for name, value in row.items()}
    if any(_is_too_large(column, plain[column.name]) for column in listed.columns if column.labels is None):
        return REJECTED
    rule = listed_rows.decide(listed, plain)
    return REJECTED if rule is None else (rule.label, rule.index + 1, rule.share)


def _is_too_large(column: Column, value: float | None) -> bool:
    with np.errstate(over="ignore"):
        return value is not None and bool(np.isinf(np.dtype(column.dtype).type(value)))


def numbers_at_limits(listed: DecisionList, place: int) -> list[float]:
    """Each limit of a column, the last double that counts as the limit, and the doubles and singles beside both."""
    found = {0.0, 1.0}
    for rule in listed.rules:
        for test in rule.tests:
            if test.column == place:
                found.update(end for interval in test.intervals for end in interval if math.isfinite(end))
    kind = np.dtype(listed.columns[place].dtype).type
    for limit in list(found):
        last = double_limit(limit, listed.columns[place].dtype)
        found.update((last, math.nextafter(last, math.inf), math.nextafter(last, -math.inf)))
        found.update(float(np.nextafter(kind(limit), kind(side))) for side in (-math.inf, math.inf))
    return sorted(found)


def fitted_probe() -> Probe:
    """A tree that scikit-learn fitted, and rows at and beside every one of its thresholds."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    rules = secateur.simplify(DecisionTreeClassifier(random_state=0).fit(X, y), X, y, method="mismatch", each_leaf=True)
    listed = make_decision_list(rules)
    rows = X.to_dict("records")
    for place, column in enumerate(listed.columns):
        rows += [{**rows[place], column.name: value} for value in numbers_at_limits(listed, place)]
    return make_probe(rules, rows)


def closed_probe() -> Probe:
    """Rules whose ward must be one of three, even where the rule that decides does not ask for it."""
    tree = ward_rules().tree
    columns = Columns(cuts=(None, None), closed=(False, True))
    rules = secateur.simplify(
        replace(tree, columns=columns, accepts_missing=np.array([False, False])), method="none", each_leaf=True
    )
    probe = make_probe(rules, [{"age": age, "ward": ward} for age in (0.1, 0.9) for ward in ("A", "C", "D")])
    assert [number for _, number, _ in probe.answers] == [1, 2, None, 3, 3, None]
    return probe


REJECTIONS = (None, math.nan, math.inf, -math.inf, 3.5e38, 3.4028235677973366e38, 3.4028235677973362e38, 1e-60, -1e-46)


@st.composite
def probes(draw: st.DrawFn, *, max_rows: int = 25) -> Probe:
    """Trees of every kind, rules of every method, and rows that try them."""
    tree: Tree = draw(strategies.trees())
    X, y, _ = draw(strategies.labelled_rows(tree))
    method = draw(st.sampled_from(METHODS))
    rules = secateur.simplify(
        tree, X, tree.classes[y], method=method, each_leaf=True, **own_settings(method, tolerance=0.2)
    )
    if draw(st.booleans()):
        rules = replace(rules, tree=replace(tree, columns=draw(rejecting_columns(tree))))
    return make_probe(rules, draw(asked_rows(rules, max_rows)))


@st.composite
def rejecting_columns(draw: st.DrawFn, tree: Tree) -> Columns:
    """What pipelines reject: categories that are not listed, numbers beyond two ends."""
    numbers = [levels is None for levels in tree.categories]
    ends = st.none() | st.sampled_from([(0.0, math.inf), (-1.0, 1.5), (-math.inf, 2.0)])
    return Columns(
        cuts=(None,) * tree.n_features,
        closed=tuple(not is_number and draw(st.booleans()) for is_number in numbers),
        # Only trees of float64 stand behind pipelines.
        ranges=tuple(draw(ends) if is_number and tree.dtype == "float64" else None for is_number in numbers),
    )


def asked_rows(rules: secateur.Rules, max_rows: int = 25) -> st.SearchStrategy[list[dict[str, Any]]]:
    tree, listed = rules.tree, make_decision_list(rules)
    cells: dict[str, st.SearchStrategy[Any]] = {
        tree.feature_name(feature): st.sampled_from([0.0, 0.5]) if levels is None else st.sampled_from(levels)
        for feature, levels in enumerate(tree.categories)
    }
    for place, column in enumerate(listed.columns):
        if column.labels is None:
            usual = st.sampled_from(numbers_at_limits(listed, place)) | st.floats(-4, 4)
            odd = st.sampled_from(REJECTIONS)
        else:
            usual = st.sampled_from([*column.labels, listed_rows.UNLISTED])
            odd = st.none()
        # Most rows must be decided by a rule, or little is tried.
        missing = [st.none()] if column.takes_missing else []
        cells[column.name] = st.one_of(usual, usual, usual, usual, usual, odd, *missing)
    return st.integers(1, max_rows).flatmap(
        lambda size: st.lists(st.fixed_dictionaries(cells), min_size=size, max_size=size)
    )
