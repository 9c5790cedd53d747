"""A row on the command line is read as a line of a CSV file is, in the same sentences; a column is told of once."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from drawing import draw
from typer.testing import CliRunner

from secateur.cli.app import make_app
from secateur.errors import InputError

CELLS = (
    "60",
    "1_000",
    "1e3",
    "inf",
    "1,5",
    "60,000",
    "0x10",
    "１２",
    "+60",
    " 60 ",
    "60.",
    "--3",
    "3%",
    "none",
    "NA",
    "x",
)


def run(*words: object) -> str:
    """What a command prints; its error in a sentence."""
    result = CliRunner().invoke(make_app(), list(map(str, words)))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        assert isinstance(result.exception, InputError), result.exception
        return f"{result.output}{result.exception}"
    return result.output


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of which a tree asks numbers and a date, and rules of it."""
    place = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 90, 400), "income": rng.normal(3, 1, 400).round(2)})
    table["seen"] = pd.date_range("2021-03-01", periods=400).strftime("%d/%m/%Y")
    late = table["age"] > 50
    table["y"] = np.where((late & (table["income"] > 3)) | (~late & (table.index > 200)), "good", "bad")
    table.to_csv(place / "table.csv", index=False)
    run("simplify", place / "table.csv", "--target", "y", "-o", place / "dated.json")
    run("simplify", place / "table.csv", "--target", "y", "-o", place / "plain.json", "--drop", "seen")
    return place


@pytest.fixture
def place(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("rules", ["plain.json", "dated.json"])
def test_a_row_is_read_by_the_rules_of_a_file(place: Path, rules: str) -> None:
    for cell in CELLS if rules == "dated.json" else draw(CELLS, 5):
        given = {"age": cell, "income": "4", **({"seen": "03/04/2021"} if rules == "dated.json" else {})}
        with (place / "one.csv").open("w", newline="") as file:
            csv.writer(file).writerows([given.keys(), given.values()])
        in_file = (
            run("explain", rules, "one.csv", "--json")
            .replace("one.csv", "--row")
            .replace("Error: X holds", "row holds")
        )
        as_row = run("explain", rules, "--row", json.dumps(given), "--json")
        if "prediction" in in_file:
            (wanted,) = json.loads(in_file[in_file.index("[\n") :])
            found = json.loads(as_row[as_row.index("{\n") :])
            assert [found[name] for name in wanted if name != "row"] == [
                wanted[name] for name in wanted if name != "row"
            ]
            assert in_file[: in_file.index("[\n")] == as_row[: as_row.index("{\n")], cell
        else:
            assert as_row.removeprefix("row ") == in_file.removeprefix("X "), cell


def test_a_column_with_another_decimal_sign_is_told_of_once_with_what_helps(place: Path) -> None:
    table = pd.read_csv("table.csv", dtype=str)
    table["income"] = table["income"].str.replace(".", ",")
    table.to_csv("commas.csv", index=False)
    said = run("audit", "dated.json", "commas.csv", "--target", "y")
    assert "--blank-unreadable" not in said
    n_odd = table["income"].str.contains(",").sum()
    assert (
        f"commas.csv is not written as the rules read it: 'income' holds {table['income'].iloc[0]!r} (row 1) and "
        f"{n_odd - 1} more in place of numbers such as 1599.38 ({n_odd} of 400 cells). Write such cells so, or name a "
        "text that means a blank with --missing; or make rules from a table that is written like this one."
    ) in said
    table["income"] = table["income"].str.replace(",", ".")
    table.to_csv("points.csv", index=False)
    assert "is not written" not in run("audit", "dated.json", "points.csv", "--target", "y")
    run("simplify", "commas.csv", "--target", "y", "-o", "commas.json")
    assert "is not written" not in run("audit", "commas.json", "commas.csv", "--target", "y")


@pytest.mark.long
def test_diff_asks_for_otherwise_only_where_it_would_help(place: Path) -> None:
    advice = "make both files with the same --otherwise"
    names, deep = {}, ("--max-depth", 6)
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame(rng.normal(size=(1_500, 3)).round(2), columns=["a", "b", "c"])
        table["w"] = rng.choice(list("xyz"), 1_500)
        is_first = ((table["a"] > 0) & (table["b"] > 0.3)) | ((table["w"] == "x") & (table["c"] > 0.5))
        good = np.where(is_first, table["c"] > 0, table["a"] <= table["b"] + seed / 5)
        table.assign(y=np.where(good, "good", "bad")).to_csv(f"{seed}.csv", index=False)
        for own in ("good", "bad"):
            names[seed, own] = f"{seed}-{own}.json"
            run("simplify", f"{seed}.csv", "--target", "y", "--otherwise", own, "-o", names[seed, own], *deep)
    for own, other in (("good", "bad"), ("bad", "good")):
        said = run("diff", names[0, own], names[1, own])
        assert "otherwise" in said  # the sections differ, so what they leave does
        assert advice not in said
        assert advice in run("diff", names[0, own], names[1, other])


def test_json_of_rows_has_the_share_that_a_line_states(place: Path) -> None:
    rows = json.loads(run("explain", "plain.json", "table.csv", "--json"))
    words = run("explain", "plain.json", "table.csv").replace("\n", " ")
    for row in rows[:50]:
        stated = row["share"] if row["prediction"] == "good" else 1 - row["share"]
        assert f"Row {row['row']}: {row['prediction']} by line {row['line']}: " in words
        assert f"states {100 * stated:.1f} %" in words.partition(f"Row {row['row']}: ")[2].partition("Row ")[0]
