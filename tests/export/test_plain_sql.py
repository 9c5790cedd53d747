"""Plain SQL, run by real databases, decides like the rules on what it says that it is right for.

Where the training rows are known, that is every number that is rounded to a training value; else every number of the
tree's type, and every one with no more digits than the limit.
"""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import listed_rows
import numpy as np
import pandas as pd
import pytest
import sqlglot
from export.forms import both_forms, in_form, probes_of
from export.test_sql import NOT_RUN, create_table, open_duckdb, table_rows, translate_for_duckdb
from exported_rules import HOSTILE, hostile_rules, ward_rules
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from probing_rows import Probe, make_probe
from published import TABLES, fit_frame
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import secateur
from secateur.cli.main import run as run_command
from secateur.errors import ParameterError
from secateur.export.sql_plain import BY_FACTS, BY_ROWS, BY_TYPE, EXACT, LIKE_TRAINING, shorten_known, shorten_unknown
from secateur.rules.decision_list import double_limit
from secateur.tree.columns import ColumnParser

GOLDEN = Path(__file__).parent / "golden"
LARGEST = float(np.finfo(np.float32).max)


def run_everywhere(postgres: Any, probe: Probe, number: str = "DOUBLE", **options: Any) -> dict[str, list[Any]]:
    """The answers of each database, in the order of the rows."""
    rows, marks = table_rows(probe), len(probe.names) + 1
    found = {}
    database = open_duckdb().begin()
    try:
        database.execute(create_table(probe, "duckdb", number, "TEXT"))
        database.executemany(f'INSERT INTO "rows" VALUES ({", ".join("?" * marks)})', rows)
        found["duckdb"] = database.execute(probe.rules.to_sql(plain=True, **options)).fetchall()
    finally:
        database.rollback()
    with closing(sqlite3.connect(":memory:")) as lite:
        lite.execute(create_table(probe, "sqlite", number, "TEXT"))
        lite.executemany(f'INSERT INTO "rows" VALUES ({", ".join("?" * marks)})', rows)
        found["sqlite"] = lite.execute(probe.rules.to_sql("sqlite", plain=True, **options)).fetchall()
    with postgres.transaction(force_rollback=True), postgres.cursor() as cursor:
        cursor.execute(create_table(probe, "postgres", number, "TEXT"))
        cursor.executemany(f'INSERT INTO "rows" VALUES ({", ".join(["%s"] * marks)})', rows)
        found["postgres"] = cursor.execute(probe.rules.to_sql("postgres", plain=True, **options)).fetchall()
    return {name: [row[0] for row in sorted(rows, key=lambda row: row[1])] for name, rows in found.items()}


def labels_of(probe: Probe) -> list[Any]:
    return [answer[0] for answer in probe.answers]


def is_assumed(row: dict[str, Any]) -> bool:
    """Numbers are finite, also in float32."""
    return all(not isinstance(value, float) or abs(value) <= LARGEST for value in row.values())


# --- The same answers ------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("name", TABLES)
def test_every_row_of_a_published_table_is_decided_alike(name: str, data_dir: str) -> None:
    rules, (kept, _), (aside, _) = fit_frame(name, data_dir)
    table = pd.concat([kept, aside]).sort_index().reset_index(names="place")
    said = rules.predict(table).tolist()
    with duckdb.connect() as database:
        database.register("rows", table)
        found = database.execute(rules.to_sql(table="rows", plain=True)).df().sort_values("place")
    assert found["prediction"].tolist() == said
    with closing(sqlite3.connect(":memory:")) as lite:
        table.to_sql("rows", lite, index=False)
        found = pd.read_sql(rules.to_sql("sqlite", table="rows", plain=True), lite).sort_values("place")
    assert found["prediction"].tolist() == said


@both_forms
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_without_rows_every_number_of_the_type_is_decided_as_by_the_rules(
    postgres: Any, form: str, data: st.DataObject
) -> None:
    probe = data.draw(probes_of(form))
    kind = {column.name: np.dtype(column.dtype).type for column in probe.listed.columns if column.labels is None}
    rows = [row for row in probe.rows if is_assumed(row)]
    rounded = [
        {name: float(kind[name](value)) if name in kind and value is not None else value for name, value in row.items()}
        for row in rows
    ]
    alone = make_probe(probe.rules.change(training=None, domain=None), rounded or [dict.fromkeys(probe.names)])
    for database, answers in run_everywhere(postgres, alone).items():
        assert answers == labels_of(alone), database


@both_forms
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_with_rows_every_number_that_is_rounded_to_a_training_value_is_decided_as_by_the_rules(
    postgres: Any, form: str, data: st.DataObject
) -> None:
    rules, tree = (probe := data.draw(probes_of(form))).rules, probe.rules.tree
    assert rules.training is not None
    trained = listed_rows.plain_rows(tree, np.asarray(rules.training.X, dtype=np.float64))
    rows = [dict(row) for row in trained]
    if "for every number of float32" in rules.to_sql("duckdb", plain=True):
        return  # a limit with training values on one side alone promises less: see the test without rows
    for column in probe.listed.columns:
        for row in trained if column.labels is None else ():
            value = row[column.name]
            if value is None:
                continue
            own = float(np.dtype(column.dtype).type(value))
            before = float(np.nextafter(np.dtype(column.dtype).type(own), np.dtype(column.dtype).type(-np.inf)))
            ends = double_limit(own, column.dtype), math.nextafter(double_limit(before, column.dtype), math.inf)
            rows += [{**row, column.name: near} for near in {own, *ends}]
    known = make_probe(rules, [row for row in rows if is_assumed(row)] or [dict.fromkeys(probe.names)])
    for database, answers in run_everywhere(postgres, known).items():
        assert answers == labels_of(known), database


@pytest.mark.parametrize("dialect", NOT_RUN)
@given(data=st.data())
@settings(max_examples=4, deadline=None)
def test_other_dialects_decide_alike_once_translated_for_duckdb(dialect: str, data: st.DataObject) -> None:
    probe = data.draw(probes_of("list"))
    assert probe.rules.training is not None
    rows = listed_rows.plain_rows(probe.rules.tree, np.asarray(probe.rules.training.X, dtype=np.float64))
    known = make_probe(probe.rules, [row for row in rows if is_assumed(row)] or [dict.fromkeys(probe.names)])
    statement = translate_for_duckdb(probe.rules.to_sql(dialect, plain=True), dialect)
    database = open_duckdb().begin()
    try:
        database.execute(create_table(known, "duckdb", "DOUBLE", "TEXT"))
        database.executemany(
            f'INSERT INTO "rows" VALUES ({", ".join("?" * (len(known.names) + 1))})', table_rows(known)
        )
        found = sorted(database.execute(statement).fetchall(), key=lambda row: row[1])
    finally:
        database.rollback()
    assert [row[0] for row in found] == labels_of(known)


@pytest.mark.parametrize("number", ["REAL", "DOUBLE"])
def test_a_fitted_tree_is_the_same_in_columns_of_four_and_eight_bytes(postgres: Any, number: str) -> None:
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"a": rng.normal(size=300).round(2), "b": rng.uniform(0, 1e6, 300).astype(np.float32)})
    y = np.where((X.a > 0.31) ^ (X.b > 444_444.44), "yes", "no")
    rules = secateur.simplify(DecisionTreeClassifier(random_state=0).fit(X, y), X, y)
    single = X.astype(np.float32).astype(np.float64) if number == "REAL" else X.astype(np.float64)
    for known in (rules, rules.change(training=None)):
        probe = make_probe(known, single.to_dict("records"))
        assert labels_of(probe) == rules.predict(single.astype(np.float32)).tolist()
        for database, answers in run_everywhere(postgres, probe, number).items():
            assert answers == labels_of(probe), database


def test_values_are_predicted_as_they_are(postgres: Any) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    rules = secateur.simplify(DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, X.a + X.b), X, X.a + X.b)
    probe = make_probe(rules, X.to_dict("records"))
    for answers in run_everywhere(postgres, probe).values():
        assert [float(answer) for answer in answers] == rules.predict(X).tolist()


# --- How it reads ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cancer() -> secateur.Rules:
    """A list in sections, with unseen rows."""
    X, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.drop(columns=[name for name in X if name.endswith("error")]), np.where(labels, "benign", "malignant")
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[::2], y[::2])
    return secateur.simplify(model, X[::2], y[::2], sections=2).measure(X[1::2], y[1::2])


def test_a_statement_reads_like_this(cancer: secateur.Rules) -> None:
    assert len(cancer.sections) > 1
    assert f"{cancer.to_sql(plain=True, table='clinic.patients')}\n" == (GOLDEN / "cancer_plain.duckdb.sql").read_text()


def test_the_heading_of_a_section_is_written_once(cancer: secateur.Rules) -> None:
    statement = sqlglot.parse_one(cancer.to_sql(plain=True), dialect="duckdb")
    inner = [case for case in statement.find_all(sqlglot.exp.Case) if case.find_ancestor(sqlglot.exp.Case)]
    assert len(inner) == len(cancer.sections)
    for section in cancer.sections[:-1]:
        assert section.otherwise is not None
    assert sum(len(case.args["ifs"]) for case in inner) == len(cancer)


def test_every_line_says_its_rows_the_unseen_first(cancer: secateur.Rules) -> None:
    statement = cancer.to_sql(plain=True)
    for line in secateur.export.listing.make_listing(cancer).lines:
        assert f" -- {line.number}: {line.rows}" in statement
    assert "in training" in statement


def test_it_says_how_limits_were_shortened(cancer: secateur.Rules) -> None:
    def say(rules: secateur.Rules) -> str:
        return rules.to_sql(plain=True).replace("\n-- ", " ")

    assert BY_ROWS in say(cancer)
    alone = cancer.change(training=None)
    assert BY_TYPE in say(alone)
    assert BY_ROWS not in say(alone)
    stated = secateur.simplify(ward_rules().tree, facts=["age has 1 decimal"])
    assert BY_FACTS.format("1 in age") in say(stated)
    assert '"age" <= 0.801' in say(stated)
    double = secateur.simplify(replace(alone.tree, dtype="float64"))
    assert EXACT in say(double)


def test_the_promise_stands_above_it_only_where_limits_decide_like_the_model(cancer: secateur.Rules) -> None:
    for rules, is_promised in ((cancer, False), (secateur.simplify(cancer.tree), True)):
        head = rules.to_sql(plain=True).partition("SELECT")[0].replace("\n-- ", " ")
        assert (rules.guarantee in head) == is_promised
        assert (LIKE_TRAINING in head) != is_promised


# --- Limits ----------------------------------------------------------------------------------------------------------


singles = st.floats(-1e6, 1e6, width=32).map(lambda x: float(np.float32(x)))


@given(singles)
def test_a_limit_that_nothing_is_known_of_keeps_all_singles_and_all_short_numbers_on_their_side(limit: float) -> None:
    number = shorten_unknown(limit)
    above = float(np.nextafter(np.float32(limit), np.float32(np.inf)))
    assert limit <= float(number) < above
    step = Decimal(1).scaleb(int(number.as_tuple().exponent))
    for places in range(-3, 4):  # numbers with no more digits, as doubles that the model would round
        near = float(number + places * step)
        assert (near <= float(number)) == (float(np.float32(near)) <= limit)


@given(st.lists(singles, min_size=2, max_size=2, unique=True), st.floats(0, 1), st.sampled_from(["float32", "float64"]))
def test_a_limit_between_two_values_is_as_short_as_it_can_be(ends: list[float], part: float, dtype: str) -> None:
    below, above = sorted(ends)
    kind = np.dtype(dtype).type
    limit = min(max(float(kind(below + part * (above - below))), below), float(np.nextafter(kind(above), kind(below))))
    number = shorten_known(limit, dtype, below, above)
    assert double_limit(below, dtype) <= float(number) < above
    n_digits = len(number.as_tuple().digits)
    for digits in range(3, n_digits):  # with fewer digits, none lies near the limit
        shorter = Decimal(f"{limit:.{digits - 1}e}")
        if digits > Decimal(limit).adjusted():
            assert (
                not double_limit(below, dtype) < float(kind(float(shorter))) < above
                or shorter == number
                or n_digits <= 5
            )


@pytest.mark.parametrize(
    ("limit", "below", "above", "n_decimals", "written"),
    [
        (18.0, 18.0, 19.0, 0, "18"),  # the first double beyond 18 is rounded to it, and is no whole number
        (17.5, 17.5, 17.7, 1, "17.5"),
        (17.5, 17.5, 17.7, None, "17.6"),  # nothing says that no number lies just above 17.5
        (0.43, 0.42, float(np.float32(0.43)), None, "0.429"),  # 0.43 itself goes the other way
    ],
)
def test_a_limit_is_the_natural_number_where_it_decides_alike(
    limit: float, below: float, above: float, n_decimals: int | None, written: str
) -> None:
    ends = [float(np.float32(end)) for end in (below, above)]
    limit = min(float(np.float32(limit)), float(np.nextafter(np.float32(ends[1]), np.float32(0))))
    number = shorten_known(limit, "float32", *ends, n_decimals=n_decimals)
    assert str(number) == written


@given(st.integers(0, 3), st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=2, unique=True), st.floats(0, 1))
def test_a_limit_keeps_the_numbers_of_a_column_on_their_sides(n_decimals: int, ends: list[int], part: float) -> None:
    low, high = sorted(Decimal(end).scaleb(-n_decimals) for end in ends)
    below, above = (float(np.float32(float(end))) for end in (low, high))
    assume(below < above)
    last = np.nextafter(np.float32(above), np.float32(below))
    limit = float(min(max(np.float32(below + part * (above - below)), np.float32(below)), last))
    number = float(shorten_known(limit, "float32", below, above, n_decimals=n_decimals))
    for value in (low, high):  # as numbers of four bytes, and of eight
        for held in (float(np.float32(float(value))), float(value)):
            assert (held <= number) == (float(np.float32(float(value))) <= limit)


# --- Blanks, amounts and dates ---------------------------------------------------------------------------------------


def test_texts_that_mean_a_blank_are_blanks(postgres: Any) -> None:
    rules = ward_rules()
    rows = [{"age": 0.1, "ward": ward} for ward in ("A", "C", "N/A", "", None, "other")]
    wanted = [row | {"ward": None if row["ward"] in ("N/A", "") else row["ward"]} for row in rows]
    probe = make_probe(rules, rows)._replace(answers=make_probe(rules, wanted).answers)
    assert labels_of(probe) == ["home", "back", "back", "back", "back", "back"]
    rejecting = secateur.simplify(
        replace(rules.tree, accepts_missing=np.array([False, False])), method="none", each_leaf=True
    )
    strict = make_probe(rejecting, rows)._replace(answers=make_probe(rejecting, wanted).answers)
    assert labels_of(strict) == ["home", "back", None, None, None, "back"]
    for one in (probe, strict):
        for database, answers in run_everywhere(postgres, one, blanks=["N/A", ""]).items():
            assert answers == labels_of(one), database


@pytest.mark.parametrize("plain", [False, True])
def test_a_category_that_looks_like_a_blank_stays_a_category(plain: bool) -> None:
    rules = secateur.simplify(replace(ward_rules().tree, categories=(None, ("A", "N/A", "C"))), each_leaf=True)
    statement = rules.to_sql(plain=plain, blanks=["N/A"])
    with duckdb.connect() as database:
        database.execute("CREATE TABLE rows AS SELECT 0.1 AS age, 'N/A' AS ward")
        assert database.execute(statement).fetchall()[0][0] == "home"


def test_a_text_for_a_blank_among_numbers_stops_no_guarded_statement(postgres: Any) -> None:
    rules = ward_rules(accepts_missing=np.array([True, True]))
    make = "CREATE TABLE rows (age {}, ward TEXT)"
    insert = "INSERT INTO rows VALUES ('0.1', 'A'), ('N/A', 'A'), (' N/A ', 'N/A'), ('0.9', 'N/A'), ('0.1', 'N/A')"
    wanted = rules.predict(
        pd.DataFrame({"age": [0.1, None, None, 0.9, 0.1], "ward": ["A", "A", None, None, None]})
    ).tolist()
    with duckdb.connect() as database:
        database.execute(make.format("TEXT"))
        database.execute(insert)
        assert [row[0] for row in database.execute(rules.to_sql(blanks=["N/A"])).fetchall()] == wanted
        assert database.execute(rules.to_sql_check(blanks=["N/A"])).fetchall() == []
        with pytest.raises(duckdb.Error, match="N/A"):
            database.execute(rules.to_sql()).fetchall()
    with postgres.transaction(force_rollback=True), postgres.cursor() as cursor:
        cursor.execute(make.format("TEXT"))
        cursor.execute(insert)
        assert [row[0] for row in cursor.execute(rules.to_sql("postgres", blanks=["N/A"])).fetchall()] == wanted
    with closing(sqlite3.connect(":memory:")) as lite:
        lite.execute(make.format("REAL"))  # where a text that is a number becomes one
        lite.execute(insert)
        assert [row[0] for row in lite.execute(rules.to_sql("sqlite", blanks=["N/A"])).fetchall()] == wanted


def read_rules(step: str = "day") -> secateur.Rules:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["opened", "paid", "hour"])
    root = builder.split("opened", 18_687.5)
    paid = builder.split("paid", 1_599.38, parent=root, side="left")
    at = builder.split("hour", 43_200.5, parent=root, side="right")
    builder.leaf([1, 9], parent=paid, side="left")
    builder.leaf([9, 1], parent=paid, side="right")
    builder.leaf([2, 9], parent=at, side="left")
    builder.leaf([9, 2], parent=at, side="right")
    how = (
        ColumnParser("date", order="dmy", step=step),
        ColumnParser("number", unit="€", thousands=","),
        ColumnParser("clock", step="second"),
    )
    return secateur.simplify(replace(builder.build(), column_parsers=how), method="none", each_leaf=True)


@pytest.mark.parametrize("step", ["day", "minute"])
def test_typed_dates_times_and_amounts_are_compared_as_they_are(step: str, postgres: Any) -> None:
    rules = read_rules(step)
    moments = [f"2021-03-{day} {time}" for day in ("01", "02") for time in ("00:00:00", "11:59:00", "12:01:00")]
    rows = [
        (day, paid, at) for day in moments for paid in (1599.37, 1599.38, 1599.39) for at in ("12:00:00", "12:00:01")
    ]
    frame = pd.DataFrame(rows, columns=["opened", "paid", "hour"])
    wanted = rules.predict(frame.assign(paid=frame.paid.map("€{:,.2f}".format))).tolist()
    assert set(wanted) == {"no", "yes"}
    kinds = "opened TIMESTAMP, paid DOUBLE PRECISION, hour TIME"
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE rows ({kinds})")
        database.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
        assert [row[0] for row in database.execute(rules.to_sql(plain=True)).fetchall()] == wanted
    with postgres.transaction(force_rollback=True), postgres.cursor() as cursor:
        cursor.execute(f"CREATE TABLE rows ({kinds})")
        cursor.executemany("INSERT INTO rows VALUES (%s, %s, %s)", rows)
        assert [row[0] for row in cursor.execute(rules.to_sql("postgres", plain=True)).fetchall()] == wanted
    with closing(sqlite3.connect(":memory:")) as lite:
        lite.execute("CREATE TABLE rows (opened TEXT, paid REAL, hour TEXT)")
        lite.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
        assert [row[0] for row in lite.execute(rules.to_sql("sqlite", plain=True)).fetchall()] == wanted
    with pytest.raises(ParameterError, match="'hour' with times of the day, and Spark has no type"):
        rules.to_sql("spark", plain=True)


@pytest.mark.parametrize("kind", ["REAL", "NUMERIC", "TEXT", "BLOB", ""])
@pytest.mark.parametrize("takes_missing", [False, True])
def test_sqlite_answers_no_row_whose_number_is_stored_as_a_text(kind: str, takes_missing: bool) -> None:
    rules = ward_rules(accepts_missing=np.array([takes_missing, True]))
    numbers = [None, -3.0, 0.1, 0.5, 0.9, 12.0]
    rows = [(stored, ward) for one in numbers for stored in (one, None if one is None else f"{one}") for ward in "AC"]
    with closing(sqlite3.connect(":memory:")) as lite:
        lite.execute(f"CREATE TABLE rows (age {kind}, ward TEXT)")
        lite.executemany("INSERT INTO rows VALUES (?, ?)", [*rows, ("old", "A"), (b"9", "A")])
        statement = rules.to_sql("sqlite", plain=True)
        found = lite.execute(statement).fetchall()
    is_known = [isinstance(age, float | int) or (age is None and takes_missing) for _, age, _ in found]
    assert sum(is_known) >= (0 if kind == "TEXT" else 10)
    ages = [float(age) if isinstance(age, float | int) else float("nan") for _, age, _ in found]
    asked = ages if takes_missing else np.nan_to_num(ages).tolist()
    by_rules = rules.predict(pd.DataFrame({"age": asked, "ward": [ward for *_, ward in found]})).tolist()
    assert [row[0] for row in found] == [one if own else None for one, own in zip(by_rules, is_known, strict=True)]
    assert "finite numbers (a text gets NULL) in age" in statement.replace("\n-- ", " ")


def test_columns_that_are_numbers_already_need_no_reading() -> None:
    tree = replace(ward_rules().tree, column_parsers=(ColumnParser("number", unit="€", thousands=","), None))
    rules = secateur.simplify(tree, method="none", each_leaf=True)
    with pytest.raises(ParameterError, match=r"not in SQLite.*if the table holds numbers, say numbers="):
        rules.to_sql("sqlite")
    with closing(sqlite3.connect(":memory:")) as lite:
        lite.execute("CREATE TABLE rows (age REAL, ward TEXT)")
        lite.executemany("INSERT INTO rows VALUES (?, ?)", [(0.1, "A"), (0.9, "A"), (0.1, "C")])
        for options in ({"numbers": ["age"]}, {"plain": True}):
            found = lite.execute(rules.to_sql("sqlite", **options)).fetchall()
            assert [row[0] for row in found] == ["home", "back", "back"]
        assert lite.execute(rules.to_sql_check("sqlite", numbers=["age"])).fetchall() == []
    with pytest.raises(ParameterError, match=r"no column 'agee' that could hold numbers\. Did you mean 'age'"):
        rules.to_sql(numbers=["agee"])
    with pytest.raises(ParameterError, match="compare the column 'ward' with dates, times or texts"):
        rules.to_sql(numbers=["ward"])
    with pytest.raises(ParameterError, match="Expected numbers as a list of texts, found 'age'"):
        rules.to_sql(numbers="age")


def test_oracle_gets_no_name_that_it_cannot_hold_and_no_empty_text() -> None:
    statement = ward_rules().to_sql("oracle", plain=True, blanks=["", "N/A"])
    frame = pd.DataFrame({"age": [0.1, 0.1, 0.1, 0.9, 0.1], "ward": ["A", "C", None, "A", "N/A"]})
    with duckdb.connect() as database:
        database.register("rows", frame)
        found = database.execute(translate_for_duckdb(statement, "oracle")).fetchall()
    assert [row[0] for row in found] == ["home", "back", "back", "back", "back"]
    assert 'FROM "rows" source' in statement
    assert "''" not in statement  # which is NULL there, so that NOT IN would never hold
    rules = secateur.simplify(replace(ward_rules().tree, feature_names=('a"b', "ward")), each_leaf=True)
    with pytest.raises(ParameterError, match="Oracle has no name with a double quote"):
        rules.to_sql("oracle", plain=True)
    truths = secateur.simplify(replace(ward_rules().tree, categories=(None, (False, True))), each_leaf=True)
    assert " IN (0, 1)" in truths.to_sql("oracle", plain=True)


def test_blanks_around_texts_are_cut() -> None:
    tree = replace(ward_rules().tree, column_parsers=(None, ColumnParser("text")))
    rules = secateur.simplify(tree, method="none", each_leaf=True)
    with duckdb.connect() as database:
        database.execute("CREATE TABLE rows (age DOUBLE, ward TEXT)")
        database.execute("INSERT INTO rows VALUES (0.1, ' A'), (0.1, 'C '), (0.1, '  '), (0.1, 'other')")
        found = database.execute(rules.to_sql(plain=True)).fetchall()
    frame = pd.DataFrame({"age": [0.1] * 4, "ward": [" A", "C ", "  ", "other"]})
    assert [row[0] for row in found] == rules.predict(frame).tolist()


# --- Hostile names, and the command line -----------------------------------------------------------------------------


@both_forms
@pytest.mark.parametrize("numbers", [False, True])
def test_hostile_names_stay_names(form: str, numbers: bool) -> None:
    rules = in_form(form, hostile_rules(numbers=numbers))
    rows = [{name: value if numbers else HOSTILE[place] for name in HOSTILE} for place, value in enumerate((0.1, 0.9))]
    probe = make_probe(rules, rows)
    for dialect in ("duckdb", "sqlite", "mysql", "snowflake"):
        (statement,) = sqlglot.parse(rules.to_sql(dialect, plain=True), dialect=dialect)
        assert isinstance(statement, sqlglot.exp.Select)
    found = run_everywhere_but_postgres(probe)
    assert all(answers == labels_of(probe) for answers in found)


def run_everywhere_but_postgres(probe: Probe) -> list[list[Any]]:
    """PostgreSQL cuts names of 10,000 characters."""
    rows, marks = table_rows(probe), ", ".join("?" * (len(probe.names) + 1))
    found = []
    database = open_duckdb().begin()
    try:
        database.execute(create_table(probe, "duckdb", "DOUBLE", "TEXT"))
        database.executemany(f'INSERT INTO "rows" VALUES ({marks})', rows)
        found.append([row[0] for row in database.execute(probe.rules.to_sql(plain=True)).fetchall()])
    finally:
        database.rollback()
    with closing(sqlite3.connect(":memory:")) as lite:
        lite.execute(create_table(probe, "sqlite", "DOUBLE", "TEXT"))
        lite.executemany(f'INSERT INTO "rows" VALUES ({marks})', rows)
        found.append([row[0] for row in lite.execute(probe.rules.to_sql("sqlite", plain=True)).fetchall()])
    return found


def test_the_command_line_writes_it(
    cancer: secateur.Rules, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = tmp_path / "rules.json"
    stored.write_text(cancer.to_json())

    def run(*words: str) -> tuple[str, str]:
        monkeypatch.setattr("sys.argv", ["secateur", "export", str(stored), *words])
        with pytest.raises(SystemExit):
            run_command()
        shown = capsys.readouterr()
        return shown.out, shown.err

    plain = secateur.Rules.from_json(cancer.to_json()).to_sql(plain=True, table="cancer")
    assert run("--format", "sql", "--plain", "--sql-table", "cancer")[0].strip() == plain
    assert "--plain and --numbers are about SQL" in run("--format", "csv", "--plain")[1]
    guarded = run("--format", "sql", "--missing", "unknown")[0]
    assert "'N/A'" in guarded
    assert "'unknown'" in guarded
