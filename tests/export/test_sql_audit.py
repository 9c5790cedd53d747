"""The SQL of an audit, run by real databases, counts rows as the audit in memory does."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from dataclasses import fields, replace
from functools import cache
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
import pytest
import sqlglot
import strategies
from export.forms import both_forms, in_form
from exported_rules import HOSTILE, hostile_rules
from hypothesis import given, settings
from hypothesis import strategies as st
from method_settings import own_settings
from probing_rows import METHODS, asked_rows, fitted_probe, rejecting_columns
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from sqlglot import exp

import secateur
from secateur import Rules, TreeBuilder, simplify
from secateur.errors import InputError
from secateur.export import sql
from secateur.export.sql import audit_to_sql
from secateur.export.sql_dialects import DIALECTS
from secateur.results.audit import finish_audit
from secateur.results.audit_counts import AuditCounter, AuditCounts
from secateur.rows.checking import check_labels, check_rows
from secateur.rows.rows import LabelledRows
from secateur.spark.audit_groups import count_covered, count_groups

KINDS = {str: "TEXT", bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE"}


class Case(NamedTuple):
    """Rules, rows in their holder's terms, labels and weights, and which rows are taken in memory."""

    rules: Rules
    rows: list[dict[str, Any]]
    labels: list[Any]
    weights: list[float]
    taken: list[bool]

    def frame(self, rows: list[dict[str, Any]]) -> pd.DataFrame:
        tree = self.rules.tree
        columns = {}
        for feature, levels in enumerate(tree.categories):
            cuts = None if tree.columns is None else tree.columns.cuts[feature]
            kind = float if levels is None or cuts is not None else object
            columns[tree.feature_name(feature)] = np.array([row[tree.feature_name(feature)] for row in rows], kind)
        return pd.DataFrame(columns)

    def count_in_memory(self) -> AuditCounts:
        rows = [row for row, taken in zip(self.rows, self.taken, strict=True) if taken]
        labels = [label for label, taken in zip(self.labels, self.taken, strict=True) if taken]
        weights = np.array([weight for weight, taken in zip(self.weights, self.taken, strict=True) if taken])
        tree = self.rules.tree
        truth = check_labels(tree, np.array(labels), len(labels))
        return AuditCounter(self.rules).count(LabelledRows(check_rows(tree, self.frame(rows)), truth, weights))


def make_case(rules: Rules, rows: list[dict[str, Any]], labels: list[Any], weights: list[float]) -> Case:
    case = Case(rules, rows, labels, weights, [])

    def find_taken(some: list[dict[str, Any]]) -> list[bool]:
        try:
            check_rows(rules.tree, case.frame(some))
        except InputError:
            half = len(some) // 2
            return [*find_taken(some[:half]), *find_taken(some[half:])] if half else [False]
        return [True] * len(some)

    return case._replace(taken=find_taken(rows))


@st.composite
def cases(draw: st.DrawFn, form: str) -> Case:
    """Trees of every kind, rules of every method with and without a ranking, and rows that try the tree's own tests."""
    tree = draw(strategies.trees())
    X, y, _ = draw(strategies.labelled_rows(tree))
    method = draw(st.sampled_from(METHODS))
    is_ranked = secateur.METHODS[method].needs_rows or draw(st.booleans())
    given_rows = (X, tree.classes[y]) if is_ranked else ()
    rules = simplify(
        tree, *given_rows, method=method, each_leaf=form == "each leaf", **own_settings(method, tolerance=0.2)
    )
    leaves = simplify(tree, method="none", each_leaf=True)
    if tree.dtype == "float64" and draw(st.booleans()):  # as all trees are that stand behind pipelines
        known = replace(tree, columns=draw(rejecting_columns(tree)))
        rules, leaves = replace(rules, tree=known), replace(leaves, tree=known)
    rows = draw(asked_rows(leaves))
    labels = draw(strategies.lists_of(st.sampled_from(tree.classes.tolist()), len(rows)))
    return make_case(rules, rows, labels, draw(strategies.lists_of(st.sampled_from([0.0, 1.0, 2.0]), len(rows))))


def run(database: Any, case: Case, dialect: str, *, weighted: bool = True, mark: str = "?") -> Any:
    """The statement, the groups that a database gives, which say whether their rows are taken, and the rules asked."""
    tree = case.rules.tree
    names = [tree.feature_name(feature) for feature in range(tree.n_features)]
    columns = [[row[name] for row in case.rows] for name in names] + [case.labels, case.weights, case.taken]
    names += ["its label", "its weight", "taken"]
    made = []
    for name, column in zip(names, columns, strict=True):
        held = [type(value) for value in column if value is not None]
        kind = exp.DataType.build(KINDS[held[0]] if held and held[0] is not int else "DOUBLE" if not held else "BIGINT")
        made.append(exp.ColumnDef(this=exp.to_identifier(name, quoted=True), kind=kind))
    schema = exp.Schema(this=exp.to_table("rows", quoted=True), expressions=made)
    database.execute(exp.Create(this=schema, kind="TABLE").sql(dialect=dialect))
    marks = ", ".join([mark] * len(names))
    database.executemany(f'INSERT INTO "rows" VALUES ({marks})', list(zip(*columns, strict=True)))
    weight = "its weight" if weighted else None
    asked = [] if case.rules.is_list else np.unique(case.rules.paths.rule[case.rules.deleted]).tolist()
    statement = audit_to_sql(case.rules, "its label", dialect, sample_weight=weight, by=["taken"], asked=asked)
    found = database.execute(statement.text)
    header = [column[0] for column in found.description]
    return statement, [dict(zip(header, group, strict=True)) for group in found.fetchall()], asked


def add_covered(counts: AuditCounts, rules: Rules, groups: Any, asked: list[int]) -> None:
    if asked:
        counts.by_line[asked], counts.squares[asked] = count_covered(rules, [len(asked)], [groups])


def assert_same_counts(case: Case, statement: Any, groups: Any, asked: list[int]) -> None:
    assert all((group["rejected"] is None) == bool(group["taken"]) for group in groups)
    rejected = [group for group in groups if not group["taken"]]
    assert sum(group["n_rows"] for group in rejected) == case.taken.count(False)
    if rejected:
        with pytest.raises(InputError, match=rf"df has {case.taken.count(False)} rows? that the rules reject"):
            count_groups(case.rules, statement.rejections, groups)
    taken = [group for group in groups if group["taken"]]
    if taken:
        found, expected = count_groups(case.rules, statement.rejections, taken), case.count_in_memory()
        add_covered(found, case.rules, taken, asked)
        assert not len(found.struck)  # where the rows of a struck line would go is counted in memory only
        names = [one.name for one in fields(found) if one.name != "struck"]
        assert [n for n in names if not np.array_equal(getattr(found, n), getattr(expected, n))] == []


@both_forms
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_duckdb_counts_as_the_audit_in_memory_does(form: str, data: st.DataObject) -> None:
    case, deepest = data.draw(cases(form)), data.draw(st.sampled_from([0, sql.MOST_NESTED]))
    with duckdb.connect() as database, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sql, "MOST_NESTED", deepest)
        assert_same_counts(case, *run(database, case, "duckdb"))


@pytest.mark.long
def test_edited_lines_are_in_conflict_by_the_class_that_they_say() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
    y = ((X["a"] + X["b"] * X["c"] + rng.normal(size=len(X))) > 0).astype(int)
    whole = simplify(DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X, y), X, y)
    conflicts = []
    for line in range(whole.n_lines):
        rules = whole.answer(line, 1 - int(whole.lines[line].prediction))
        case = make_case(rules, X.to_dict("records"), y.tolist(), [1.0] * len(X))
        with duckdb.connect() as database:
            assert_same_counts(case, *run(database, case, "duckdb"))
        conflicts.append(case.count_in_memory().total("in_conflict"))
    assert max(conflicts) > 0


@pytest.mark.long
@both_forms
def test_a_pipeline_is_asked_in_its_own_columns(form: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"dose": rng.normal(size=300), "pay": rng.uniform(1, 99, 300), "ward": rng.choice(["A", "B"], 300)}
    )
    frame["ward"] = frame["ward"].astype(object)
    y = (frame["dose"] > 0.3) ^ (frame["pay"] > 30) ^ (frame["ward"] == "B") ^ (rng.random(300) < 0.1)
    prepare = make_column_transformer(
        (KBinsDiscretizer(5, encode="ordinal"), ["dose"]),
        (FunctionTransformer(np.log, feature_names_out="one-to-one"), ["pay"]),
        (OneHotEncoder(), ["ward"]),
    )
    model = make_pipeline(prepare, DecisionTreeClassifier(max_depth=6, random_state=0)).fit(frame, y)
    rules = in_form(form, simplify(model, frame, y, method="mismatch", tolerance=0.3, each_leaf=True))
    usual = frame.to_dict("records")
    odd: list[dict[str, Any]] = [{"ward": "C"}, {"ward": None}, {"dose": None}, {"dose": 1e300}, {"pay": 0.0}]
    odd += [{"pay": -1.0}, {"pay": -2.0}, {"pay": math.inf}]
    rows = [*usual, *({**usual[0], **change} for change in odd)]
    case = make_case(rules, rows, [*y.tolist(), *[True] * len(odd)], [1.0] * len(rows))
    with duckdb.connect() as database:
        statement, groups, asked = run(database, case, "duckdb", weighted=False)
    assert_same_counts(case, statement, groups, asked)
    with pytest.raises(InputError) as caught:
        count_groups(rules, statement.rejections, groups)
    assert str(caught.value) == (
        "df has 6 rows that the rules reject: column 'pay' holds an infinite value, or one that is not between 0 and "
        "inf, in 3 rows, column 'dose' has a missing value, for which the tree was not fitted, in 1 row, column 'ward' "
        "has a missing value, for which the tree was not fitted, in 1 row, and so on. Fill in what is missing, correct "
        "the others, or leave these rows out."
    )
    with duckdb.connect() as database:
        kept = make_case(rules, usual, y.tolist(), [1.0] * len(usual))
        statement, groups, asked = run(database, kept, "duckdb", weighted=False)
    audit = rules.audit(frame, y)
    assert audit.conflict > 0 or form == "list"
    counts = count_groups(rules, statement.rejections, groups)
    add_covered(counts, rules, groups, asked)
    assert audit == finish_audit(rules, counts)


@cache
def limit_rules(form: str = "each leaf") -> Rules:
    """A tree of scikit-learn, and rules that contradict one another."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    return in_form(form, simplify(model, X, y, method="mismatch", tolerance=0.4, each_leaf=True))


@both_forms
def test_three_databases_count_a_fitted_tree_at_every_limit(postgres: Any, form: str) -> None:
    rules = limit_rules(form)
    rows = fitted_probe().rows[400:]  # the rows at the limits are the last
    rng = np.random.default_rng(0)
    labels, weights = rng.integers(0, 2, len(rows)), rng.integers(0, 9, len(rows))
    case = make_case(rules, rows, labels.tolist(), weights.astype(float).tolist())
    with duckdb.connect() as database:
        assert_same_counts(case, *run(database, case, "duckdb"))
    with closing(sqlite3.connect(":memory:")) as database:
        assert_same_counts(case, *run(database, case, "sqlite"))
    with postgres.transaction(force_rollback=True), postgres.cursor() as cursor:
        assert_same_counts(case, *run(cursor, case, "postgres", mark="%s"))


@both_forms
def test_rows_that_contradict_a_fact_are_counted_as_in_memory(form: str) -> None:
    builder = TreeBuilder(classes=["no", "yes"], feature_names=["age", "dose"])
    root = builder.split("age", 10)
    builder.leaf([9, 1], parent=root, side="left")
    older = builder.split("dose", 5, parent=root, side="right")
    builder.leaf([8, 2], parent=older, side="left")
    builder.leaf([1, 9], parent=older, side="right")
    rules = simplify(builder.build(), method="exact", facts=["age >= 18"], each_leaf=form == "each leaf")
    rows = [{"age": age, "dose": dose} for age in (5.0, 40.0) for dose in (1.0, 9.0)]
    case = make_case(rules, rows, ["no", "no", "no", "yes"], [1.0] * 4)
    with duckdb.connect() as database:
        statement, groups, asked = run(database, case, "duckdb")
    assert_same_counts(case, statement, groups, asked)
    assert count_groups(rules, statement.rejections, groups).total("in_conflict") == (form == "each leaf")


@both_forms
@pytest.mark.parametrize("numbers", [True, False])
def test_names_and_labels_cannot_become_code(numbers: bool, form: str) -> None:
    rules = in_form(form, hostile_rules(numbers=numbers))
    rows = [
        {
            name: (0.4 if k == place else 0.6) if numbers else HOSTILE[(k + (k != place)) % len(HOSTILE)]
            for k, name in enumerate(HOSTILE)
        }
        for place in range(len(HOSTILE))
    ]
    case = make_case(rules, rows, list(HOSTILE), [1.0] * len(rows))
    with duckdb.connect() as database:
        assert_same_counts(case, *run(database, case, "duckdb"))


@both_forms
@pytest.mark.parametrize(
    "dialect", [name for name in DIALECTS if name not in ("duckdb", "sqlite", "postgres", "oracle")]
)
def test_other_dialects_parse_what_is_written(dialect: str, form: str) -> None:
    statement = audit_to_sql(limit_rules(form), "its label", dialect, sample_weight="its weight", by=["ward"])
    read = sqlglot.parse_one(statement.text, dialect=dialect)
    named = ["ward", "rejected", "truth", "place", "conflict", "n_rows", "weight"]
    named += ["squares", "odd_weights", "n_counted"]
    assert sorted(column.alias_or_name for column in read.expressions) == sorted(named)


def test_what_is_wrong_with_labels_and_weights_is_one_sentence() -> None:
    rules = limit_rules()
    good = {"rejected": None, "truth": 0, "place": 0, "n_rows": 5}
    cases: list[tuple[list[dict[str, Any]], str]] = [
        ([], "df has no rows; at least one is needed."),
        (
            [good, {**good, "truth": -1, "label": 9}, {**good, "truth": -1, "label": 7, "conflict": 1}],
            "y holds the label 7 or others which the model never saw, in 10 rows of df; its classes are 0, 1. "
            "Pass y in the model's own labels.",
        ),
        ([good, {**good, "truth": None, "n_rows": 1}], "y holds no label in 1 row of df. Leave these rows out."),
        (
            [{**good, "weight": 2.0, "squares": 2.0, "odd_weights": 3}],
            "sample_weight must be finite and not negative, but 3 rows of df hold another.",
        ),
        (
            [{**good, "weight": math.inf, "squares": math.inf, "odd_weights": 0}],
            "The sum of sample_weight is too large for a float: divide all weights by a constant.",
        ),
    ]
    for groups, sentence in cases:
        with pytest.raises(InputError) as caught:
            count_groups(rules, (), groups)
        assert str(caught.value) == sentence
