"""A messy table gives rules about numbers and dates, the same wherever the raw rows are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from messy_table import make_messy
from typer.testing import CliRunner

from secateur.cli.app import make_app
from secateur.cli.model_files import load_rules
from secateur.errors import InputError


def run(*arguments: object) -> str:
    """Run the command line, and give what it prints in one line."""
    result = CliRunner().invoke(make_app(), [str(word) for word in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return " ".join(result.output.split())


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return make_messy()


@pytest.fixture(scope="module")
def place(table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the table, with and without a header, its rules, and the tree."""
    place = tmp_path_factory.mktemp("messy")
    table.to_csv(place / "messy.csv", index=False)
    table.to_csv(place / "bare.csv", index=False, header=False)
    asked = ("simplify", place / "messy.csv", "--target", "status", "--quiet", "--save-model", place / "tree.skops")
    run(*asked, "-o", place / "rules.json")
    run(*asked[:-2], "--each-leaf", "--method", "none", "-o", place / "leaves.json")
    return place


def test_the_rules_mention_numbers_and_dates_and_the_notes_say_so(place: Path) -> None:
    told = json.loads(run("simplify", place / "messy.csv", "--target", "status", "--json"))
    rules = load_rules(place / "leaves.json")
    names = {condition.name for rule in rules for condition in rule.conditions}
    assert (
        {"opened", "used", "income"}
        <= names
        <= {"opened", "last_seen", "income", "balance", "used", "plan", "auto-pay"}
    )
    words = " ".join(condition.text for rule in rules for condition in rule.conditions)
    assert re.search(r"opened (before \d{4}-\d\d-\d\d|from \d{4}-\d\d-\d\d on)", words)
    assert re.search(r"used (<=|>) [\d.]+ %", words)
    (read,) = [note for note in told["notes"] if note.startswith("Read ")]
    assert "as dates opened (dd/mm/yyyy), last_seen (yyyy-mm-dd hh:mm)" in read
    assert "(--text COLUMN keeps one as text)" in read
    left_out = [note for note in told["notes"] if note.startswith("Left out")]
    assert left_out == [
        "Left out 'customer_id': every row has a different value, like a name or an identifier.",
        "Left out 'account id': its name and its 3,000 different values say that it is an identifier.",
        "Left out 'note': it is free text: 920 different texts, usually of 9 words.",
    ]


def test_texts_stay_texts_if_that_is_asked_for(place: Path) -> None:
    asked = ("simplify", place / "messy.csv", "--target", "status", "--json", "--text", "opened,used", "--keep", "note")
    told = json.loads(run(*asked))
    (read,) = [note for note in told["notes"] if note.startswith("Read ")]
    assert "opened" not in read
    assert "used" not in read
    assert not [note for note in told["notes"] if note.startswith("Left out 'note'")]


def test_a_file_without_a_header_is_read_and_its_target_named_by_place(place: Path) -> None:
    told = json.loads(run("simplify", place / "bare.csv", "--target", "column_11", "--json"))
    assert any("has no header: its columns are called column_1 to column_11" in note for note in told["notes"])
    assert any("column_3 (dd/mm/yyyy)" in note for note in told["notes"])
    with pytest.raises(InputError, match="Its first line holds no names: name a column by its place"):
        run("simplify", place / "bare.csv", "--target", "status")


@pytest.mark.long
def test_what_the_rules_lack_is_warned_of_at_the_top(place: Path) -> None:
    dropped = "used,balance,income,opened,last_seen"
    flat = " ".join(
        run("simplify", place / "messy.csv", "--target", "status", "--max-depth", "1", "--drop", dropped).split()
    )
    first, rest = flat.split("Warning: No rule predicts default", 1)
    assert " if " not in first  # before the rules
    assert "--balanced lets rare classes count as much" in rest
    assert "always saying good" in rest
    told = json.loads(run("simplify", place / "messy.csv", "--target", "status", "--balanced", "--json"))
    assert not any("No rule predicts" in warning for warning in told["warnings"])
    deep = json.loads(
        run("simplify", place / "messy.csv", "--target", "status", "--min-rows", "1", "--max-depth", "12", "--json")
    )
    assert any("fewer than 5 rows" in one and one.endswith("--min-rows 5 may avoid that.") for one in deep["warnings"])
    asked = ("simplify", place / "messy.csv", "--target", "status", "--max-depth", "12", "--json")
    each = json.loads(run(*asked, "--min-rows", "1", "--each-leaf"))
    assert any("fewer than 5 rows" in one and one.endswith("--min-rows 5 avoids them.") for one in each["warnings"])
    # Each leaf has five rows, but not every line decides as many: what was done already is not advised.
    assert not any("--min-rows" in warning for warning in json.loads(run(*asked))["warnings"])


def test_leaves_have_five_rows_unless_fewer_are_asked_for(place: Path) -> None:
    assert min(rule.source_support or 0 for rule in load_rules(place / "leaves.json")) >= 5


@pytest.mark.long
def test_raw_rows_are_read_alike_by_every_door(place: Path, table: pd.DataFrame) -> None:
    rules = load_rules(place / "leaves.json")
    wanted = rules.apply(table)
    few = load_rules(place / "rules.json")
    assert (few.predict(table) == rules.predict(table)).all()
    assert (rules.apply(str(place / "messy.csv")) == wanted).all()
    typed = table.assign(
        opened=pd.to_datetime(table["opened"], format="%d/%m/%Y"), last_seen=pd.to_datetime(table["last_seen"])
    )
    assert (rules.apply(typed) == wanted).all()
    typed.to_parquet(place / "typed.parquet")
    assert (rules.apply(str(place / "typed.parquet")) == wanted).all()
    row = table.iloc[5]
    assert rules.explain(row).rule.index == wanted[5]
    assert rules.explain(row.to_dict()).rule.index == wanted[5]
    assert rules.verify().ok
    found = json.loads(
        run("verify", place / "leaves.json", "--data", place / "messy.csv", "--target", "status", "--json")
    )
    assert (found["ok"], found["failures"]) == (None, [])
    assert "how texts of columns are read" in found["unchecked"][0]
    said = json.loads(run("explain", place / "leaves.json", place / "messy.csv", "--json"))
    assert [one["line"] - 1 for one in said] == wanted.tolist()


def test_a_saved_model_reads_the_raw_table_again(place: Path) -> None:
    target = place / "again.json"
    run("simplify", place / "messy.csv", "--target", "status", "--model", place / "tree.skops", "-o", target, "--quiet")
    assert load_rules(target).tree.column_parsers == load_rules(place / "rules.json").tree.column_parsers


@pytest.mark.long
def test_exports_decide_raw_rows_as_predict_does(place: Path, table: pd.DataFrame) -> None:
    rules = load_rules(place / "leaves.json")
    wanted, numbers = rules.predict(table), rules.apply(table) + 1
    written: dict[str, Any] = {}
    exec(rules.to_python(), written)
    assert [written["predict"](row)[1] for row in table.to_dict("records")] == numbers.tolist()
    exec(rules.to_python(vectorized=True), written)
    assert (written["predict"](table)[1] == numbers).all()
    typed = table.assign(opened=pd.to_datetime(table["opened"], format="%d/%m/%Y"))
    assert (written["predict"](typed)[1] == numbers).all()
    path = str(place / "messy.csv")
    with duckdb.connect() as database:
        database.execute("CREATE TABLE texts AS SELECT * FROM read_csv(?, all_varchar := true)", [path])
        database.execute(
            "CREATE TABLE found AS SELECT * FROM read_csv(?, auto_type_candidates := "
            "['BOOLEAN', 'BIGINT', 'DOUBLE', 'DATE', 'TIMESTAMP', 'VARCHAR'])",
            [path],
        )
        types = dict(
            database.execute(
                "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'found'"
            ).fetchall()
        )
        assert (types["auto-pay"], types["last_seen"]) == ("BOOLEAN", "TIMESTAMP")
        for name in ("texts", "found"):
            got = database.sql(rules.to_sql("duckdb", table=name)).df()
            assert (got["prediction"].to_numpy() == wanted).all()
            assert (got["rule"].to_numpy() == numbers).all()
            assert database.sql(rules.to_sql_check("duckdb", table=name)).fetchall() == []


def test_a_reading_sends_a_row_one_microsecond_before_and_after_a_limit_where_predict_does(place: Path) -> None:
    rules = load_rules(place / "leaves.json")
    tree = rules.tree
    feature = (tree.feature_names or ()).index("opened")
    cuts = tree.threshold[(tree.feature == feature) & np.isfinite(tree.threshold)]
    days = np.unique(np.concatenate([np.floor(cuts), np.ceil(cuts), np.floor(cuts) + 1]))
    usual = make_messy(50, seed=3).iloc[[7]]
    moments = pd.Timestamp("1970-01-01") + pd.to_timedelta(days, unit="D")
    rows = pd.concat([usual] * 2 * len(days)).reset_index(drop=True)
    rows["opened"] = [*moments, *(moments - pd.Timedelta(1, "us"))]
    with duckdb.connect() as database:
        database.register("rows_", rows)
        got = database.sql(rules.to_sql("duckdb", table="rows_")).df()["rule"].to_numpy()
    assert (got - 1 == rules.apply(rows)).all()


def test_what_a_database_cannot_read_is_counted_or_stops_it(place: Path) -> None:
    rules = load_rules(place / "leaves.json")
    rows = make_messy(40, seed=5)
    rows.loc[3, "used"] = "n/k"
    rows.loc[4, "auto-pay"] = "perhaps"
    with duckdb.connect() as database:
        database.register("odd", rows)
        found = database.sql(rules.to_sql_check("duckdb", table="odd")).fetchall()
        assert ("used", "not decided: not a value that the rules can read", 1, "n/k") in found
        if any(column.name == "auto-pay" for column in rules[0].conditions):
            assert ("auto-pay", "decided as any other: not a category of the training table", 1, "perhaps") in found
        assert database.sql(rules.to_sql("duckdb", table="odd")).df()["rule"].isna().tolist().count(True) == 1
    with pytest.raises(InputError, match=r"'used' of X holds 'n/k' \(row 3\), but the rules read it as numbers"):
        rules.predict(rows)


@pytest.mark.long
def test_a_percentage_may_be_a_bare_number_in_later_tables(place: Path, table: pd.DataFrame) -> None:
    rules = load_rules(place / "leaves.json")
    wanted = rules.apply(table)
    bare = table.assign(used=table["used"].str.rstrip("%"))
    assert (rules.apply(bare) == wanted).all()
    written: dict[str, Any] = {}
    exec(rules.to_python(), written)
    assert [written["predict"](row)[1] for row in bare.to_dict("records")] == (wanted + 1).tolist()
    with duckdb.connect() as database:
        database.register("bare", bare)
        assert (database.sql(rules.to_sql("duckdb", table="bare")).df()["rule"] == wanted + 1).all()
    table.assign(used=bare["used"].where(table.index % 20 == 0, table["used"])).to_csv(place / "mixed.csv", index=False)
    with pytest.raises(InputError, match=r"'used' holds .* among its numbers"):
        run("simplify", place / "mixed.csv", "--target", "status")


def test_explain_takes_a_row_as_people_write_it(place: Path) -> None:
    rules = load_rules(place / "rules.json")
    asked = {condition.name for rule in rules for condition in rule.conditions}
    given = {
        "opened": "03/02/2023",
        "used": "82%",
        "income": "37,900",
        "balance": "$1,599.38",
        "plan": "Basic",
        "auto-pay": "No",
        "last_seen": "2023-05-06 10:20",
    }
    row = ",".join(f"{name}={given[name]}" for name in asked)
    said = run("explain", place / "rules.json", "--row", row)
    assert said.startswith("Predicted ")
    assert "82 %" in said or "used" not in asked
    with pytest.raises(InputError, match=r"'opened' holds 'soon' \(row 1\) in place of dates such as dd/mm/yyyy"):
        run("explain", place / "rules.json", "--row", json.dumps({**given, "opened": "soon"}))


@pytest.mark.long
def test_the_page_says_how_the_table_was_read_and_the_tree_fitted(place: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run("simplify", place / "messy.csv", "--target", "status", "--balanced", "--quiet", "--report", page)
    told = json.loads(page.read_text().split('id="secateur-data">')[1].split("</script>")[0])["notes"]
    assert told[0].startswith("The tree was fitted with a depth of at most 5 and at least 5 rows in each leaf; every")
    assert any(note.startswith("Left out 'customer_id'") for note in told)


@pytest.mark.long
def test_an_amount_is_read_alike_on_the_command_line_in_python_and_in_a_table(tmp_path: Path) -> None:
    amounts = np.arange(1_000, 41_000, 100)
    written = [f"{n // 1000}.{n % 1000:03d},50 €" for n in amounts]
    path, rules = tmp_path / "euro.csv", tmp_path / "rules.json"
    pd.DataFrame({"amount": written, "outcome": np.where(amounts > 15_000, "late", "paid")}).to_csv(path, index=False)
    run("simplify", path, "--target", "outcome", "--quiet", "-o", rules)
    for text in ("20.000", "20.000,00 €", "9.000", "9000"):
        (tmp_path / "one.csv").write_text(f'amount\n"{text}"\n')
        (by_table,) = json.loads(run("explain", rules, tmp_path / "one.csv", "--json"))
        one = json.loads(run("explain", rules, "--row", json.dumps({"amount": text}), "--json"))
        assert one["prediction"] == by_table["prediction"] == load_rules(rules).explain({"amount": text}).prediction
        assert one["prediction"] == ("late" if text.startswith("2") else "paid")
