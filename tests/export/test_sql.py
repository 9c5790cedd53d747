"""The SQL of a rule set, run by real databases, decides every row as the rule set does.

DuckDB, SQLite and PostgreSQL run it. There is no Spark, SQL Server, BigQuery or Snowflake here: their statements are
parsed back, and run by DuckDB after sqlglot has translated them.
"""

from __future__ import annotations

import math
import random
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import listed_rows
import numpy as np
import pandas as pd
import pytest
import sqlglot
from drawing import further
from export.forms import FORMS, both_forms, in_form, probe_in_form, probes_of
from exported_rules import HOSTILE, hostile_rules, ward_rules
from hypothesis import given, settings
from hypothesis import strategies as st
from probing_rows import REJECTED, Probe, closed_probe, fitted_probe, make_probe, numbers_at_limits
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from sqlglot import exp
from sqlglot.generator import Generator

import secateur
from secateur.errors import ParameterError
from secateur.export.sql import rules_to_sql
from secateur.export.sql_dialects import ALIASES, DIALECTS
from secateur.rules.decision_list import make_decision_list
from secateur.rules.rules import Rules
from secateur.tree.columns import ColumnParser
from secateur.tree.tree import make_tree

Found = list[tuple[Any, Any, Any]]


def create_table(probe: Probe, dialect: str, number: str, text: str) -> str:
    """A table named "rows" with a row number and the columns of the probe."""
    columns = [exp.ColumnDef(this=exp.to_identifier("row number", quoted=True), kind=exp.DataType.build("INT"))]
    for name in probe.names:
        kind = exp.DataType.build(text if probe.is_text(name) else number, dialect=dialect)
        columns.append(exp.ColumnDef(this=exp.to_identifier(name, quoted=True), kind=kind))
    schema = exp.Schema(this=exp.to_table("rows", quoted=True), expressions=columns)
    return exp.Create(this=schema, kind="TABLE").sql(dialect=dialect)


def table_rows(probe: Probe) -> list[tuple[Any, ...]]:
    return [(place, *(row[name] for name in probe.names)) for place, row in enumerate(probe.rows)]


def pick(probe: Probe, rows: list[tuple[Any, ...]]) -> Found:
    """What the statement found, in the order of the rows; its result has three columns before the table's."""
    assert all(len(row) == len(probe.names) + 4 for row in rows)
    return [(row[0], row[2], row[1]) for row in sorted(rows, key=lambda row: row[3])]


@cache
def open_duckdb() -> duckdb.DuckDBPyConnection:
    """One database for all tables, for opening it takes longer than a statement."""
    return duckdb.connect()


def run_duckdb(probe: Probe, statement: str, number: str = "DOUBLE", then: str = "") -> Found:
    database = open_duckdb().begin()
    try:
        database.execute(create_table(probe, "duckdb", number, "TEXT"))
        marks = ", ".join("?" * (len(probe.names) + 1))
        database.executemany(f'INSERT INTO "rows" VALUES ({marks})', table_rows(probe))
        if then:
            database.execute(then)
        return pick(probe, database.execute(statement).fetchall())
    finally:
        database.rollback()


def run_sqlite(probe: Probe, statement: str, then: str = "") -> Found:
    database = sqlite3.connect(":memory:")
    try:
        database.execute(create_table(probe, "sqlite", "DOUBLE", "TEXT"))
        marks = ", ".join("?" * (len(probe.names) + 1))
        database.executemany(f'INSERT INTO "rows" VALUES ({marks})', table_rows(probe))
        if then:
            database.execute(then)
        return pick(probe, database.execute(statement).fetchall())
    finally:
        database.close()


def run_postgres(connection: Any, probe: Probe, statement: str, number: str = "DOUBLE", then: str = "") -> Found:
    with connection.transaction(force_rollback=True), connection.cursor() as cursor:
        cursor.execute(create_table(probe, "postgres", number, "TEXT"))
        marks = ", ".join(["%s"] * (len(probe.names) + 1))
        cursor.executemany(f'INSERT INTO "rows" VALUES ({marks})', table_rows(probe))
        if then:
            cursor.execute(then)
        return pick(probe, cursor.execute(statement).fetchall())


def run(dialect: str, postgres: Any, probe: Probe, statement: str, then: str = "") -> Found:
    if dialect == "postgres":
        return run_postgres(postgres, probe, statement, then=then)
    return (run_duckdb if dialect == "duckdb" else run_sqlite)(probe, statement, then=then)


GOLDEN = Path(__file__).parent / "golden"
NOT_RUN = [name for name in DIALECTS if name not in ("duckdb", "postgres", "sqlite")]  # read back instead


@pytest.mark.parametrize(
    ("form", "dialect", "golden"),
    [("each leaf", "duckdb", "ward"), ("each leaf", "tsql", "ward"), ("list", "duckdb", "ward_list")],
)
def test_a_statement_reads_like_this(form: str, dialect: str, golden: str) -> None:
    written = rules_to_sql(in_form(form, ward_rules()), dialect, table="patients")
    assert f"{written}\n" == (GOLDEN / f"{golden}.{dialect}.sql").read_text()


# --- The same answers as the rules -----------------------------------------------------------------------------------


@both_forms
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_duckdb_decides_as_the_rules_do(form: str, data: st.DataObject) -> None:
    probe = data.draw(probes_of(form))
    assert run_duckdb(probe, rules_to_sql(probe.rules, "duckdb")) == probe.answers


@both_forms
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_sqlite_decides_as_the_rules_do(form: str, data: st.DataObject) -> None:
    probe = data.draw(probes_of(form))
    assert run_sqlite(probe, rules_to_sql(probe.rules, "sqlite")) == probe.answers


@both_forms
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_postgres_decides_as_the_rules_do(postgres: Any, form: str, data: st.DataObject) -> None:
    probe = data.draw(probes_of(form))
    assert run_postgres(postgres, probe, rules_to_sql(probe.rules, "postgres")) == probe.answers


@both_forms
@pytest.mark.parametrize("dialect", [name for name in NOT_RUN if not DIALECTS[name].plain_only])
@given(data=st.data())
@settings(max_examples=4, deadline=None)
def test_other_dialects_decide_alike_once_translated_for_duckdb(form: str, dialect: str, data: st.DataObject) -> None:
    probe = data.draw(probes_of(form))
    # SQL Server and MySQL have neither NaN nor infinity, so nothing looks for them.
    odd = [any(isinstance(v, float) and not math.isfinite(v) for v in row.values()) for row in probe.rows]
    found = run_duckdb(probe, translate_for_duckdb(rules_to_sql(probe.rules, dialect), dialect))
    if not DIALECTS[dialect].has_infinity:
        found = [answer if strange else own for strange, own, answer in zip(odd, found, probe.answers, strict=True)]
    assert found == probe.answers


def translate_for_duckdb(text: str, dialect: str) -> str:
    statement = sqlglot.parse_one(text, dialect=dialect)
    for node in list(statement.find_all(exp.Collate)):  # DuckDB compares texts byte by byte as it is
        node.replace(node.this)
    for join in statement.find_all(exp.Join):
        join.this.set("cross_apply", None)
        join.set("kind", "CROSS")
    for node in list(statement.find_all(exp.National)):
        node.replace(exp.Literal.string(node.this))
    if dialect == "tsql":  # whose FLOAT has eight bytes, and its FLOAT(24) four
        for kind in list(statement.find_all(exp.DataType)):
            types = {"FLOAT": "DOUBLE", "FLOAT(24)": "REAL", "NVARCHAR(MAX)": "TEXT", "BIT": "BOOLEAN"}
            kind.replace(exp.DataType.build(types.get(kind.sql("tsql"), kind.sql("tsql"))))
    if dialect == "redshift":
        for kind in list(statement.find_all(exp.DataType)):
            kind.replace(exp.DataType.build("TEXT") if kind.sql("redshift") == "VARCHAR(MAX)" else kind.copy())
    return statement.sql(dialect="duckdb")


@pytest.fixture(scope="module", params=FORMS)
def cancer(request: pytest.FixtureRequest) -> Probe:
    return probe_in_form(request.param, fitted_probe())


def matches_predict(probe: Probe, found: list[tuple[Any, Any, Any]]) -> bool:
    X = pd.DataFrame(probe.rows)
    labels, numbers, shares = zip(*found, strict=True)
    rules = probe.rules
    return (
        list(labels) == rules.predict(X).tolist()
        and [number - 1 for number in numbers] == rules.apply(X).tolist()
        and list(shares) == rules.reliability[rules.apply(X)].tolist()
    )


def test_a_fitted_tree_is_the_same_in_three_databases(postgres: Any, cancer: Probe) -> None:
    rules = cancer.rules
    assert matches_predict(cancer, run_duckdb(cancer, rules_to_sql(rules)))
    assert matches_predict(cancer, run_sqlite(cancer, rules_to_sql(rules, "sqlite")))
    assert matches_predict(cancer, run_postgres(postgres, cancer, rules_to_sql(rules, "postgresql")))


def test_columns_of_four_bytes_are_compared_as_they_are(postgres: Any, cancer: Probe) -> None:
    with np.errstate(over="ignore"):
        rows = [{name: float(np.float32(value)) for name, value in row.items()} for row in cancer.rows]
    probe = make_probe(cancer.rules, rows)
    assert run_duckdb(probe, rules_to_sql(probe.rules), "REAL") == probe.answers
    assert run_postgres(postgres, probe, rules_to_sql(probe.rules, "postgres"), "REAL") == probe.answers


@pytest.mark.parametrize("kind", ["BIGINT", "DECIMAL(18, 6)"])
def test_whole_and_decimal_columns_are_compared_as_numbers(postgres: Any, kind: str) -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age"])
    root = builder.split("age", 30)
    builder.leaf([8, 2], parent=root, side="left")
    builder.leaf([1, 9], parent=root, side="right")
    probe = make_probe(
        secateur.simplify(builder.build(), method="exact", each_leaf=True), [{"age": n} for n in (29, 30, 31, None)]
    )
    assert run_duckdb(probe, rules_to_sql(probe.rules), kind) == probe.answers
    assert run_postgres(postgres, probe, rules_to_sql(probe.rules, "postgres"), kind) == probe.answers


@both_forms
def test_a_pipeline_is_asked_in_its_own_columns(postgres: Any, form: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 400).astype(float),
            "dose": rng.normal(size=400),
            "pay": rng.uniform(1, 1000, 400),
            "ward": rng.choice(["A", "B", "it's C"], 400).astype(object),
            "kind": rng.choice(["x", "y"], 400).astype(object),
        }
    )
    frame.loc[::7, "age"] = np.nan
    flip = (frame["age"].fillna(40) > 50) ^ (frame["ward"] == "B") ^ (frame["dose"] > 0.3) ^ (frame["pay"] > 300)
    y = np.where(flip ^ (frame["kind"] == "x"), "back", "home")
    prepare = make_column_transformer(
        (SimpleImputer(), ["age"]),
        (KBinsDiscretizer(5, encode="ordinal"), ["dose"]),
        (FunctionTransformer(np.log, feature_names_out="one-to-one"), ["pay"]),
        (OneHotEncoder(handle_unknown="ignore"), ["ward"]),
        (OneHotEncoder(), ["kind"]),  # which rejects what it does not know
    )
    model = make_pipeline(prepare, DecisionTreeClassifier(random_state=0)).fit(frame, y)
    rules = in_form(form, secateur.simplify(model, frame, y, method="mismatch", each_leaf=True))
    rows = [
        {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]
    usual = rows[1]
    rows += [
        {**usual, **odd}
        for odd in (
            {"ward": "an unknown ward"},
            {"ward": None},
            {"kind": "an unknown kind"},
            {"kind": None},
            {"dose": None},
            {"dose": 1e300},
            {"pay": 0.0},
            {"pay": -1.0},
            {"pay": math.inf},
        )
    ]
    listed = make_decision_list(rules)
    for place, column in enumerate(listed.columns):
        if column.labels is None:
            rows += [{**usual, column.name: value} for value in numbers_at_limits(listed, place)]
    probe = make_probe(rules, rows)
    assert {column.name for column in listed.columns} == set(frame)
    assert probe.answers.count(REJECTED) > 3
    assert [number - 1 for _, number, _ in probe.answers[: len(frame)] if number] == rules.apply(frame).tolist()
    assert run_duckdb(probe, rules_to_sql(rules)) == probe.answers
    assert run_sqlite(probe, rules_to_sql(rules, "sqlite")) == probe.answers
    assert run_postgres(postgres, probe, rules_to_sql(rules, "postgres")) == probe.answers


@both_forms
def test_a_category_that_a_pipeline_rejects_has_no_rule(postgres: Any, form: str) -> None:
    probe = probe_in_form(form, closed_probe())
    assert REJECTED in probe.answers
    for dialect in ("duckdb", "postgres", "sqlite"):
        assert run(dialect, postgres, probe, rules_to_sql(probe.rules, dialect)) == probe.answers


@pytest.mark.parametrize("labels", [(1, 2, 3), (0.5, 1.5), (False, True), (2**60, 2**60 + 1)])
def test_categories_may_be_numbers_or_truth_values(postgres: Any, labels: tuple[Any, ...]) -> None:
    rules = ward_rules(categories=(None, labels))
    tree = rules.tree
    node = {"left_categories": {1: [0]}}
    tree = make_tree(
        **{name: getattr(tree, name).tolist() for name in ("children_left", "children_right", "feature", "threshold")},
        missing_left=tree.missing_left.tolist(),
        **node,
        categories=[None, labels],
        leaf_class=tree.leaf_class.tolist(),
        counts=tree.counts,
        classes=["back", "home"],
        n_features=2,
        accepts_missing=[False, True],
        dtype="float32",
    )
    probe = make_probe(
        secateur.simplify(tree, method="none", each_leaf=True),
        [{"x0": age, "x1": label} for age in (0.8, 0.9) for label in (*labels, labels[0], None)],
    )
    kind = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE"}[type(labels[0])]
    create = exp.Create(
        kind="TABLE",
        this=exp.Schema(
            this=exp.to_table("rows", quoted=True),
            expressions=[
                exp.ColumnDef(this=exp.to_identifier(name, quoted=True), kind=exp.DataType.build(of))
                for name, of in (("row number", "INT"), ("x0", "DOUBLE"), ("x1", kind))
            ],
        ),
    )
    with duckdb.connect() as database:
        database.execute(create.sql("duckdb"))
        database.executemany('INSERT INTO "rows" VALUES (?, ?, ?)', table_rows(probe))
        assert pick(probe, database.execute(rules_to_sql(probe.rules)).fetchall()) == probe.answers
    with postgres.transaction(force_rollback=True), postgres.cursor() as cursor:
        cursor.execute(create.sql("postgres"))
        cursor.executemany('INSERT INTO "rows" VALUES (%s, %s, %s)', table_rows(probe))
        assert pick(probe, cursor.execute(rules_to_sql(probe.rules, "postgres")).fetchall()) == probe.answers
    database = sqlite3.connect(":memory:")
    database.execute(create.sql("sqlite"))
    database.executemany('INSERT INTO "rows" VALUES (?, ?, ?)', table_rows(probe))
    assert pick(probe, database.execute(rules_to_sql(probe.rules, "sqlite")).fetchall()) == probe.answers
    database.close()


def test_categories_may_be_stored_as_an_enumeration(postgres: Any) -> None:
    probe = make_probe(ward_rules(), [{"age": 0.1, "ward": ward} for ward in ("A", "B", "elsewhere", None)])
    create = "CREATE TYPE place AS ENUM ('A', 'B', 'elsewhere')"  # which has no C, and would reject to compare with it
    table = 'CREATE TABLE "rows" ("row number" INT, "age" DOUBLE PRECISION, "ward" place)'
    with duckdb.connect() as database:
        database.execute(create)
        database.execute(table)
        database.executemany('INSERT INTO "rows" VALUES (?, ?, ?)', table_rows(probe))
        assert pick(probe, database.execute(rules_to_sql(probe.rules)).fetchall()) == probe.answers
    with postgres.transaction(force_rollback=True), postgres.cursor() as cursor:
        cursor.execute(create)
        cursor.execute(table)
        cursor.executemany('INSERT INTO "rows" VALUES (%s, %s, %s)', table_rows(probe))
        assert pick(probe, cursor.execute(rules_to_sql(probe.rules, "postgres")).fetchall()) == probe.answers


@both_forms
def test_two_thousand_rules_are_one_statement(postgres: Any, form: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4)).astype(np.float32).astype(float)
    y = rng.integers(0, 3, 6000)
    model = DecisionTreeClassifier(max_leaf_nodes=2000, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, method="exact", each_leaf=form == "each leaf")
    assert rules.tree_rules == 2000
    assert len(rules) == 2000 or form == "list"
    asked = X[:40]
    probe = Probe(
        rules, make_decision_list(rules), ["x0", "x1", "x2", "x3"], listed_rows.plain_rows(rules.tree, asked), []
    )
    for found in (
        run_duckdb(probe, rules_to_sql(rules)),
        run_sqlite(probe, rules_to_sql(rules, "sqlite")),
        run_postgres(postgres, probe, rules_to_sql(rules, "postgres")),
    ):
        assert [number - 1 for _, number, _ in found] == rules.apply(asked).tolist()
        assert [label for label, _, _ in found] == rules.predict(asked).tolist()


@both_forms
def test_rules_made_without_rows_predict_as_the_tree_does(form: str) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    rules = secateur.simplify(model, method="exact", each_leaf=form == "each leaf")
    probe = make_probe(rules, X.to_dict("records"))
    found = run_duckdb(probe, rules_to_sql(rules))
    assert [label for label, _, _ in found] == model.predict(X).tolist()
    assert [number - 1 for _, number, _ in found] == rules.apply(X).tolist()


# --- Names and labels ------------------------------------------------------------------------------------------------


def hostile_probe(form: str, *, numbers: bool) -> Probe:
    draw = random.Random(0)
    values = [0.0, 0.5, 1.0, None] if numbers else [*HOSTILE, "none of them"]
    rows = [{name: draw.choice(values) for name in HOSTILE} for _ in range(30)]
    rows += [{name: 1.0 if numbers else HOSTILE[place - 1] for place, name in enumerate(HOSTILE)}]
    for chosen in range(len(HOSTILE)):  # each rule decides a row
        passed = [1.0 if numbers else HOSTILE[place - 1] for place in range(len(HOSTILE))]
        passed[chosen] = 0.0 if numbers else HOSTILE[chosen]
        rows.append(dict(zip(HOSTILE, passed, strict=True)))
    return make_probe(in_form(form, hostile_rules(numbers=numbers)), rows)


@both_forms
@pytest.mark.parametrize("numbers", [True, False])
def test_hostile_names_and_labels_are_data_in_three_databases(postgres: Any, numbers: bool, form: str) -> None:
    probe = hostile_probe(form, numbers=numbers)
    assert {answer[0] for answer in probe.answers} >= set(HOSTILE)
    assert run_duckdb(probe, rules_to_sql(probe.rules)) == probe.answers
    assert run_sqlite(probe, rules_to_sql(probe.rules, "sqlite")) == probe.answers
    assert run_postgres(postgres, probe, rules_to_sql(probe.rules, "postgres")) == probe.answers


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("numbers", "form"), [(True, "each leaf"), (False, "list"), *further([(False, "each leaf"), (True, "list")])]
)
@pytest.mark.parametrize("dialect", [name for name in DIALECTS if not DIALECTS[name].plain_only])
def test_hostile_names_and_labels_survive_in_every_dialect(dialect: str, numbers: bool, form: str) -> None:
    rules = in_form(form, hostile_rules(numbers=numbers))
    if DIALECTS[dialect].ignores_trailing and not numbers:
        with pytest.raises(ParameterError, match=r"'trailing' and 'trailing ' .* the same in (SQL Server|Redshift)"):
            rules_to_sql(rules, dialect)
        return
    if dialect == "bigquery":
        with pytest.raises(ParameterError, match="BigQuery has no name such as"):
            rules_to_sql(rules, dialect)
        return
    statements = sqlglot.parse(rules_to_sql(rules, dialect), dialect=dialect)
    assert len(statements) == 1
    assert isinstance(statements[0], exp.Select)
    names = {node.name for node in statements[0].find_all(exp.Identifier)}
    assert names >= set(HOSTILE)
    texts = {node.this for node in statements[0].find_all(exp.Literal, exp.National) if node.is_string}
    texts |= {node.this for node in statements[0].find_all(exp.National)}
    assert texts >= set(HOSTILE)


def test_a_hostile_table_is_a_name() -> None:
    name = '"; DROP TABLE x;--'
    statement = sqlglot.parse_one(rules_to_sql(ward_rules(), table=[name]), dialect="duckdb")
    assert name in {table.name for table in statement.find_all(exp.Table)}


def test_dots_separate_the_parts_of_a_table() -> None:
    assert 'FROM "main"."patients" AS source' in rules_to_sql(ward_rules(), table="main.patients")
    assert 'FROM "main.patients" AS source' in rules_to_sql(ward_rules(), table=["main.patients"])


@pytest.mark.parametrize("table", ["typed", "decided", "source", "rule"])
def test_a_table_may_be_called_as_a_part_of_the_statement(postgres: Any, table: str) -> None:
    probe = make_probe(ward_rules(), [{"age": 0.8, "ward": "A"}])
    renamed = {"duckdb": {}, "postgres": {}, "sqlite": {}}
    for dialect in renamed:
        rename = f'ALTER TABLE "rows" RENAME TO "{table}"'
        statement = rules_to_sql(probe.rules, dialect, table)
        assert run(dialect, postgres, probe, statement, rename) == probe.answers


def test_columns_may_be_called_as_parts_of_the_statement(postgres: Any) -> None:
    names = ("rule", "Prediction")
    rules = ward_rules()
    rules = secateur.simplify(replace(rules.tree, feature_names=names), method="none", each_leaf=True)
    probe = make_probe(rules, [{"rule": 0.8, "Prediction": "A"}, {"rule": 0.9, "Prediction": None}])
    for dialect in ("duckdb", "postgres", "sqlite"):
        statement = rules_to_sql(rules, dialect)
        assert '"rule_"' in statement
        assert '"prediction_"' in statement
        assert run(dialect, postgres, probe, statement) == probe.answers
    for names in (("source", "typed"), ("typed", "decided"), ("a_number", "a number")):
        rules = secateur.simplify(replace(rules.tree, feature_names=names), method="none", each_leaf=True)
        probe = make_probe(rules, [{names[0]: 0.8, names[1]: "A"}, {names[0]: 0.9, names[1]: None}])
        for dialect in ("duckdb", "postgres", "sqlite"):
            assert run(dialect, postgres, probe, rules_to_sql(rules, dialect)) == probe.answers


def test_the_added_columns_can_be_named() -> None:
    statement = rules_to_sql(ward_rules(), names=("r", "p", "q"))
    with duckdb.connect() as database:
        database.execute("CREATE TABLE rows AS SELECT 0.8::DOUBLE AS age, 'A' AS ward, 7 AS rule, 'mine' AS prediction")
        found = database.execute(statement)
        assert [column[0] for column in found.description] == ["p", "q", "r", "age", "ward", "rule", "prediction"]
        assert found.fetchall()[0] == ("home", 0.75, 1, 0.8, "A", 7, "mine")
    for same in (("a", "a", "b"), ("a", "b", "A")):
        for plain in (False, True):
            with pytest.raises(ParameterError, match="Expected 3 different names, found 'a'"):
                rules_to_sql(ward_rules(), names=same, plain=plain)
        with pytest.raises(ParameterError, match="Expected 3 different names"):
            ward_rules().to_sql(names=same)


@pytest.mark.parametrize("names", ["rule, prediction, share", "RULE, Prediction, age_number", "age_number, ward_label"])
def test_a_table_may_have_columns_that_are_called_like_ours(names: str) -> None:
    rules = ward_rules()
    values = "(0.8, 'A', 7, 7, 7), (0.9, NULL, 7, 7, 7), (0.1, 'C', 7, 7, 7)"
    extra = [*names.split(", "), "other"][:3]
    wanted = [("home", 0.75, 1), ("back", 1.0, 3), ("back", 0.9, 2)]
    create = f'CREATE TABLE rows (age DOUBLE, ward TEXT, "{extra[0]}" INT, "{extra[1]}" INT, "{extra[2]}" INT)'
    with duckdb.connect() as database:
        database.execute(create)
        database.execute(f"INSERT INTO rows VALUES {values}")
        assert [row[:3] for row in database.execute(rules.to_sql()).fetchall()] == wanted
    lite = sqlite3.connect(":memory:")
    lite.execute(create)
    lite.execute(f"INSERT INTO rows VALUES {values}")
    assert [row[:3] for row in lite.execute(rules.to_sql("sqlite")).fetchall()] == wanted
    lite.close()


def test_where_postgres_cannot_tell_two_columns_apart_it_says_so(postgres: Any) -> None:
    psycopg = pytest.importorskip("psycopg")
    with postgres.transaction(force_rollback=True), postgres.cursor() as cursor:
        cursor.execute("CREATE TABLE \"rows\" AS SELECT 0.8 AS age, 'A' AS ward, 7 AS rule, 7 AS age_number")
        found = cursor.execute(ward_rules().to_sql("postgres", names=("r", "prediction", "reliability"))).fetchall()
        assert found[0][:3] == ("home", 0.75, 1)
    with postgres.transaction(force_rollback=True):
        postgres.execute("CREATE TABLE \"rows\" AS SELECT 0.8 AS age, 'A' AS ward, 7 AS rule")
        with pytest.raises(psycopg.errors.AmbiguousColumn):
            postgres.execute(ward_rules().to_sql("postgres"))


def test_upper_and_lower_case_differ_whatever_the_column_says(postgres: Any) -> None:
    rows, wanted = "(0.1, 'A'), (0.1, 'a'), (0.1, 'C')", ["home", "back", "back"]
    with duckdb.connect() as database:
        database.execute("CREATE TABLE rows (age DOUBLE, ward TEXT COLLATE NOCASE)")
        database.execute(f"INSERT INTO rows VALUES {rows}")
        assert [row[0] for row in database.execute(ward_rules().to_sql()).fetchall()] == wanted
    lite = sqlite3.connect(":memory:")
    lite.execute("CREATE TABLE rows (age DOUBLE, ward TEXT COLLATE NOCASE)")
    lite.execute(f"INSERT INTO rows VALUES {rows}")
    assert [row[0] for row in lite.execute(ward_rules().to_sql("sqlite")).fetchall()] == wanted
    lite.close()
    with postgres.transaction(force_rollback=True), postgres.cursor() as cursor:
        cursor.execute("CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        cursor.execute('CREATE TABLE "rows" (age DOUBLE PRECISION, ward TEXT COLLATE blind)')
        cursor.execute(f'INSERT INTO "rows" VALUES {rows}')
        assert [row[0] for row in cursor.execute(ward_rules().to_sql("postgres")).fetchall()] == wanted


OTHER_TYPES = {
    "truth values for yes and no": ("BOOLEAN", "TRUE", ("Yes", "No", "Perhaps"), "Yes"),
    "truth values for two words of yes": ("BOOLEAN", "TRUE", ("Yes", "TRUE", "No"), None),
    "truth values for other words": ("BOOLEAN", "TRUE", ("A", "B", "C"), None),
    "whole numbers for codes": ("BIGINT", "7", ("007", "008", "C"), "007"),
    "fractions for numbers": ("DOUBLE PRECISION", "1.0", ("1", "2.5", "C"), "1"),
    "decimal numbers for numbers": ("DECIMAL(9, 2)", "2.50", ("1", "2.5", "C"), "2.5"),
    "numbers for two codes": ("BIGINT", "7", ("7", "07", "C"), None),
    "numbers for words": ("BIGINT", "7", ("A", "B", "C"), None),
}


@pytest.mark.parametrize("case", OTHER_TYPES)
def test_a_column_of_another_type_is_the_category_that_it_must_be_or_stops_the_statement(
    case: str, postgres: Any
) -> None:
    kind, value, labels, label = OTHER_TYPES[case]
    rules = secateur.simplify(replace(ward_rules().tree, categories=(None, labels)), method="none", each_leaf=True)
    make = f"CREATE TABLE rows (age DOUBLE PRECISION, ward {kind})"
    insert = f"INSERT INTO rows VALUES (0.1, {value}), (0.1, NULL)"
    wanted = [row[:3] for row in _ask_duckdb(rules, "TEXT", label)] if label is not None else None
    with duckdb.connect() as database:
        database.execute(make)
        database.execute(insert)
        if wanted is None:
            with pytest.raises(duckdb.Error, match=r"The column 'ward' holds .*, but the rules compare texts"):
                database.execute(rules.to_sql()).fetchall()
        else:
            assert [row[:3] for row in database.execute(rules.to_sql()).fetchall()] == wanted
            assert database.execute(rules.to_sql_check()).fetchall() == []
    with postgres.transaction(force_rollback=True), postgres.cursor() as cursor:
        cursor.execute(make)
        cursor.execute(insert)
        if wanted is None:
            with pytest.raises(Exception, match=r"The column 'ward' holds .*, but the rules compare texts"):
                cursor.execute(rules.to_sql("postgres"))
        else:
            assert [row[:3] for row in cursor.execute(rules.to_sql("postgres")).fetchall()] == wanted


def _ask_duckdb(rules: Rules, kind: str, label: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE rows (age DOUBLE, ward {kind})")
        database.execute("INSERT INTO rows VALUES (0.1, ?), (0.1, NULL)", [label])
        return database.execute(rules.to_sql()).fetchall()


def test_a_row_of_another_type_has_no_rule_in_sqlite_and_the_check_counts_it() -> None:
    rules = secateur.simplify(
        replace(ward_rules().tree, categories=(None, ("Yes", "No", "C"))), method="none", each_leaf=True
    )
    with closing(sqlite3.connect(":memory:")) as lite:
        lite.execute("CREATE TABLE rows (age DOUBLE, ward)")
        lite.executemany("INSERT INTO rows VALUES (0.1, ?)", [(1,), ("Yes",), ("perhaps",)])
        assert [row[2] is None for row in lite.execute(rules.to_sql("sqlite")).fetchall()] == [True, False, False]
        assert lite.execute(rules.to_sql_check("sqlite")).fetchall() == [
            ("ward", "not decided: not a value that the rules can read", 1, "1"),
            ("ward", "decided as any other: not a category of the training table", 1, "perhaps"),
        ]


@pytest.mark.parametrize("step", ["day", "minute"])
@pytest.mark.parametrize("order", ["ymd", "dmy", "mdy"])
def test_raw_amounts_and_dates_are_read_by_databases_as_by_predict(step: str, order: str, postgres: Any) -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["opened", "paid"])
    root = builder.split("opened", 18_687.5)
    paid = builder.split("paid", 1_599.38, parent=root, side="left")
    builder.leaf([8, 2], parent=root, side="right")
    builder.leaf([1, 9], parent=paid, side="left")
    builder.leaf([9, 1], parent=paid, side="right")
    how = ColumnParser("date", order=order, step=step), ColumnParser("number", unit="$", thousands=",")
    rules = secateur.simplify(replace(builder.build(), column_parsers=how), method="none", each_leaf=True)
    date = {"ymd": "2021-{m}-{d}", "dmy": "{d}/{m}/2021", "mdy": "{m}/{d}/2021"}[order]
    days = [date.format(m="03", d=day) + time for day in ("01", "02") for time in ("", " 11:59", " 12:01", " 23:59")]
    frame = pd.DataFrame({"opened": days * 3, "paid": ["$1,599.38", "-$5", "1,599.39"] * len(days)})
    wanted = rules.predict(frame).tolist()
    assert set(wanted) == {"no", "yes"}
    with duckdb.connect() as database:
        database.register("frame", frame)
        assert [row[0] for row in database.execute(rules.to_sql(table="frame")).fetchall()] == wanted
    with postgres.transaction(force_rollback=True), postgres.cursor() as cursor:
        cursor.execute("CREATE TABLE rows (opened TEXT, paid TEXT)")
        cursor.executemany("INSERT INTO rows VALUES (%s, %s)", frame.to_numpy().tolist())
        assert [row[0] for row in cursor.execute(rules.to_sql("postgres")).fetchall()] == wanted
        assert cursor.execute(rules.to_sql_check("postgres")).fetchall() == []
        cursor.execute("UPDATE rows SET paid = 'much' WHERE paid = '-$5'")
        ((column, _, n_rows, example),) = cursor.execute(rules.to_sql_check("postgres")).fetchall()
        assert (column, n_rows, example) == ("paid", len(days), "much")
    for other in ("sqlite", "snowflake"):
        with pytest.raises(ParameterError, match="which the statement does in DuckDB, PostgreSQL and Spark only"):
            rules.to_sql(other)


def test_text_among_the_truth_values_of_sqlite_is_rejected() -> None:
    rules = secateur.simplify(
        replace(ward_rules().tree, categories=(None, (True, False))), method="none", each_leaf=True
    )
    lite = sqlite3.connect(":memory:")
    lite.execute("CREATE TABLE rows (age DOUBLE, ward)")
    lite.executemany("INSERT INTO rows VALUES (0.1, ?)", [(1,), (0,), (None,), ("True",)])
    assert [row[0] for row in lite.execute(rules.to_sql("sqlite")).fetchall()] == ["home", "home", "back", None]
    lite.close()


@pytest.mark.parametrize("threshold", [0.0034011, 0.948608171, 938.72683988, 0.1, 1e-9, 123456.789])
def test_sqlite_reads_every_limit_right(threshold: float) -> None:
    builder = secateur.TreeBuilder(classes=["below", "above"], feature_names=["x"], dtype="float64")
    root = builder.split("x", threshold)
    builder.leaf([5, 1], parent=root, side="left")
    builder.leaf([1, 5], parent=root, side="right")
    rules = secateur.simplify(builder.build(), method="exact", each_leaf=True)
    numbers = [math.nextafter(threshold, -math.inf), threshold, math.nextafter(threshold, math.inf)]
    lite = sqlite3.connect(":memory:")
    lite.execute("CREATE TABLE rows (x DOUBLE)")
    lite.executemany("INSERT INTO rows VALUES (?)", [(number,) for number in numbers])
    assert [row[0] for row in lite.execute(rules.to_sql("sqlite"))] == ["below", "below", "above"]
    lite.close()


def test_a_column_called_true_means_nothing_to_sqlite() -> None:
    rules = secateur.simplify(
        replace(ward_rules().tree, categories=(None, (False, True))), method="none", each_leaf=True
    )
    lite = sqlite3.connect(":memory:")
    lite.execute('CREATE TABLE rows (age DOUBLE, ward, "true" TEXT, "false" TEXT)')
    lite.executemany("INSERT INTO rows VALUES (0.1, ?, 'x', 'y')", [(0,), (1,), (None,)])
    assert [row[0] for row in lite.execute(rules.to_sql("sqlite"))] == ["home", "home", "back"]
    lite.close()


def test_bigquery_gets_no_name_that_could_end_its_quotes() -> None:
    for name in ("back\\slash", "ti`ck"):
        rules = secateur.simplify(
            replace(ward_rules().tree, feature_names=(name, "ward")), method="none", each_leaf=True
        )
        with pytest.raises(ParameterError, match="BigQuery has no name such as"):
            rules.to_sql("bigquery")
        with pytest.raises(ParameterError, match="BigQuery has no name such as"):
            ward_rules().to_sql("bigquery", table=[name])


@pytest.mark.parametrize("alias", ALIASES)
def test_dialects_have_the_names_that_people_use(alias: str) -> None:
    assert rules_to_sql(ward_rules(), alias.upper()) == rules_to_sql(ward_rules(), ALIASES[alias])


# --- What is rejected -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dialect": "oracle"}, "For Oracle there is plain SQL only: pass plain=True"),
        ({"dialect": "access"}, "There is no dialect 'access'; choose one of duckdb, postgres"),
        ({"dialect": "postgre"}, "Did you mean 'postgres"),
        ({"table": ""}, "Expected a table such as 'rows'"),
        ({"table": "a..b"}, "found 'a..b'"),
        ({"table": "a.b.c.d"}, "Pass a list of these parts if one of them holds a dot"),
        ({"names": ("a", "b")}, "Expected a name for each of rule, prediction, share, found 2"),
        ({"table": "a\0b"}, "holds a character that SQL text cannot hold"),
        ({"table": "a\ud800"}, "holds a character that SQL text cannot hold"),
        ({"table": f"a{Generator.SENTINEL_LINE_BREAK}b"}, "holds a character that SQL text cannot hold"),
    ],
)
def test_a_wrong_argument_is_rejected_with_a_sentence(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        rules_to_sql(ward_rules(), **arguments)


def test_names_that_are_one_name_to_a_database_are_rejected() -> None:
    rules = secateur.simplify(replace(ward_rules().tree, feature_names=("Age", "age")), method="none", each_leaf=True)
    with pytest.raises(ParameterError, match="'Age' and 'age' have the same name in DuckDB"):
        rules_to_sql(rules)
    assert '"Age"' in rules_to_sql(rules, "postgres")


def test_a_column_without_a_name_is_rejected() -> None:
    rules = secateur.simplify(replace(ward_rules().tree, feature_names=("", "age")), method="none", each_leaf=True)
    with pytest.raises(ParameterError, match="a column without a name"):
        rules_to_sql(rules)


def test_categories_of_several_types_are_rejected() -> None:
    rules = secateur.simplify(
        replace(ward_rules().tree, categories=(None, ("A", 2, "C"))), method="none", each_leaf=True
    )
    with pytest.raises(ParameterError, match="'ward' are of several types"):
        rules_to_sql(rules)


def test_sqlite_says_that_a_column_is_not_there() -> None:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE rows (age REAL)")  # a quoted name that is not known would be a text to SQLite
    with pytest.raises(sqlite3.OperationalError, match=r"no such column: source\.ward"):
        database.execute(rules_to_sql(ward_rules(), "sqlite"))
    database.close()


def test_sqlite_does_not_take_text_for_a_number() -> None:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE rows (age, ward)")
    database.executemany("INSERT INTO rows VALUES (?, 'A')", [("",), ("0.1",), (b"1",), (0.1,), (1,)])
    found = database.execute(rules_to_sql(ward_rules(), "sqlite")).fetchall()
    assert [row[2] for row in found] == [None, None, None, 1, 3]  # the rule
    database.close()
