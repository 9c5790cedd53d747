"""Blanks around the texts of a table do not count, wherever the raw rows are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from secateur.cli.app import make_app
from secateur.cli.model_files import load_rules
from secateur.errors import ParameterError


def run(*arguments: object) -> str:
    """Run the command line, and give its answer in one line."""
    result = CliRunner().invoke(make_app(), [str(word) for word in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return " ".join(result.stdout.split())


def make_table(n_rows: int = 400) -> pd.DataFrame:
    """Make rows in which work and marriage decide, some of them unknown."""
    rng = np.random.default_rng(3)
    work = rng.choice(["Private", "State", "?"], n_rows)
    married = rng.choice(["yes, still", "no"], n_rows)
    age = rng.integers(20, 70, n_rows)
    rich = ((married == "yes, still") & (age > 40)) | ((work == "?") & (age > 55))
    return pd.DataFrame({"age": age, "work": work, "married": married, "income": np.where(rich, ">50K", "<=50K")})


def pad(table: pd.DataFrame) -> pd.DataFrame:
    """Put a blank before each text, and sometimes one behind it."""
    padded = table.copy()
    for column in ("work", "married", "income"):
        ends = np.where(np.arange(len(table)) % 3 == 0, " ", "")
        padded[column] = " " + table[column] + ends
    return padded


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the table, as it is and with blanks, and the rules of either."""
    place = tmp_path_factory.mktemp("blanks")
    for name, table in (("plain", make_table()), ("padded", pad(make_table()))):
        table.to_csv(place / f"{name}.csv", index=False)
        asked = ("simplify", place / f"{name}.csv", "--target", "income", "--quiet", "--holdout", "0")
        run(*asked, "--each-leaf", "--method", "none", "-o", place / f"{name}.json")
    return place


def test_the_rules_are_those_of_the_table_without_blanks_and_a_note_says_so(place: Path) -> None:
    padded, plain = load_rules(place / "padded.json"), load_rules(place / "plain.json")
    assert [rule.text for rule in padded] == [rule.text for rule in plain]
    assert padded.tree.accepts_missing.tolist() == plain.tree.accepts_missing.tolist()
    told = json.loads(run("simplify", place / "padded.csv", "--target", "income", "--json"))
    cut = "Cut the blanks around the texts of income, work, married (--text COLUMN keeps one as it is written)."
    assert cut in told["notes"]
    kept = json.loads(run("simplify", place / "padded.csv", "--target", "income", "--json", "--text", "married"))
    assert any("texts of income, work (" in note for note in kept["notes"])
    assert 'married is " no"' in str(kept) or 'married is not " no"' in str(kept) or "' no'" in str(kept)


@pytest.mark.long
@pytest.mark.parametrize("made_of", ["plain", "padded"])
def test_every_command_decides_padded_rows_as_plain_ones(place: Path, made_of: str) -> None:
    rules = place / f"{made_of}.json"
    wanted = [one["prediction"] for one in json.loads(run("explain", rules, place / "plain.csv", "--json"))]
    found = json.loads(run("explain", rules, place / "padded.csv", "--json"))
    assert [one["prediction"] for one in found] == wanted
    audits = [
        json.loads(run("audit", rules, place / f"{name}.csv", "--target", "income", "--json"))["audit"]
        for name in ("plain", "padded")
    ]
    assert audits[0] == audits[1]
    row = "age=45,work=Private,married="
    told = json.dumps({"age": 45, "work": " State ", "married": "yes, still "})
    assert "Predicted >50K" in run("explain", rules, "--row", told)
    assert "Predicted <=50K" in run("explain", rules, "--row", row + "no")


def test_every_door_reads_padded_rows_as_plain_ones(place: Path) -> None:
    rules = load_rules(place / "padded.json")
    known = make_table().assign(work=lambda table: table["work"].where(table["work"] != "?", None))
    raw = pad(make_table()).assign(work=lambda table: table["work"].where(~table["work"].str.contains("[?]"), "  "))
    wanted = rules.apply(known)
    assert (rules.apply(raw) == wanted).all()
    assert (rules.apply(raw[["age", "work", "married"]].to_numpy(dtype=object)) == wanted).all()
    assert (rules.apply(str(place / "padded.csv")) == wanted).all()
    raw.to_parquet(place / "raw.parquet")
    assert (rules.apply(str(place / "raw.parquet")) == wanted).all()
    assert rules.audit(str(place / "padded.csv"), "income").accuracy == rules.audit(known, "income").accuracy
    assert [rules.explain(row).rule.index for row in raw.head(20).to_dict("records")] == wanted[:20].tolist()
    assert rules.verify(raw, "income").ok


@pytest.mark.parametrize("name", ["raw", "known"])
def test_exports_decide_padded_rows_as_predict_does(place: Path, name: str) -> None:
    rules = load_rules(place / "padded.json")
    known = make_table().assign(work=lambda table: table["work"].where(table["work"] != "?", None))
    raw = pad(make_table()).assign(work=lambda table: table["work"].where(~table["work"].str.contains("[?]"), "  "))
    rows, numbers = {"raw": raw, "known": known}[name], rules.apply(known) + 1
    written: dict[str, Any] = {}
    exec(rules.to_python(), written)
    assert [written["predict"](row)[1] for row in rows.to_dict("records")] == numbers.tolist()
    exec(rules.to_python(vectorized=True), written)
    assert (written["predict"](rows)[1] == numbers).all()
    with duckdb.connect() as database:
        database.register("shown", rows)
        database.execute("CREATE TABLE rows AS SELECT * FROM shown")
        found = database.execute(rules.to_sql()).df()
        assert (found["rule"] == numbers).all()
        assert database.execute(rules.to_sql_check()).fetchall() == []
    for dialect in ("postgres", "spark", "sqlite", "tsql", "bigquery", "snowflake"):
        assert "TRIM(" in rules.to_sql(dialect)
    with pytest.raises(ParameterError, match="cut the blanks around the texts of"):
        rules.to_pmml()


def test_a_blank_may_have_blanks_around_it_among_numbers(place: Path) -> None:
    make_table().assign(age=lambda table: [" ?" if one == 33 else f" {one}" for one in table["age"]]).to_csv(
        place / "unknown.csv", index=False
    )
    told = json.loads(run("simplify", place / "unknown.csv", "--target", "income", "--json"))
    assert "age" in str(told["rules"])
