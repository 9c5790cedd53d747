"""Large tables on the command line: read in batches, with the rules that the rows in memory give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

import secateur
from secateur.cli.main import app
from secateur.cli.model_files import dump_model
from secateur.errors import SecateurError


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(900, 3)), columns=list("abc"))
    frame["n"] = rng.integers(0, 5, 900)
    score = frame["a"] + frame["b"] * frame["n"] / 3
    frame["y"] = np.where(score + rng.normal(size=900) > 0.2, "yes", "no")
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame[list("abcn")], frame["y"])
    (tmp_path / "model.skops").write_bytes(dump_model(model))
    frame.to_parquet(tmp_path / "whole.parquet")
    (tmp_path / "parts").mkdir()
    for part in range(3):
        frame.iloc[part * 300 : part * 300 + 300].to_parquet(tmp_path / "parts" / f"{part}.parquet")
    return tmp_path


def run(*arguments: Any) -> str:
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert found.exit_code == 0, found.output
    return found.output


def reject(*arguments: Any) -> str:
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert isinstance(found.exception, SecateurError), found.output
    return str(found.exception)


@pytest.mark.long
@pytest.mark.parametrize("which", ["directory", "pattern", "large file"])
def test_rules_of_a_large_table_are_those_of_its_rows(which: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secateur.cli.tables.table_file.LARGE_FILE", 1_000)
    data = {"directory": place / "parts", "pattern": place / "parts" / "*.parquet"}.get(which, place / "whole.parquet")
    out = place / "rules.json"
    taken = ("--target", "y", "--model", place / "model.skops")
    faithful = ("--each-leaf", "--method", "faithful")
    told = json.loads(run("simplify", data, *taken, *faithful, "--json", "-o", out, "--export", "json"))
    assert "read in batches" in told["notes"][0]
    assert told["verified"]
    assert told["audit"]["n_rows"] == 900
    frame = pd.read_parquet(place / "whole.parquet")
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame[list("abcn")], frame["y"])
    expected = secateur.simplify(model, frame[list("abcn")], frame["y"], method="faithful", each_leaf=True)
    assert secateur.Rules.from_json(out.read_text()) == expected
    shown = run("verify", out, "--data", data, "--target", "y", "--model", place / "model.skops")
    assert "recounted from the rows" in shown
    assert "the rules belong to the model" in shown
    few = place / "few.json"
    told = json.loads(run("simplify", data, *taken, "--json", "-o", few, "--export", "json"))
    assert told["verified"]
    exact = secateur.simplify(model, frame[list("abcn")], frame["y"])
    assert secateur.Rules.from_json(few.read_text()) == exact
    shown = run("verify", few, "--data", data, "--target", "y", "--model", place / "model.skops")
    assert "the rows that each line decides recounted" in shown
    told = " ".join(run("audit", few, data, "--target", "y").split())
    n_sections = len(exact.sections)
    rests = "“otherwise”" if n_sections == 1 else f"{n_sections} × “otherwise”"
    assert f"0 of {exact.n_lines} lines ({len(exact)} rules and {rests}) moved" in told
    shown = run("simplify", data, *taken, "--report", place / "page.html")
    assert "of 900 training rows" in " ".join(shown.split())
    assert (place / "page.html").stat().st_size > 10_000


@pytest.mark.long
def test_without_facts_whole_numbers_are_numbers(place: Path) -> None:
    model = ("--target", "y", "--model", place / "model.skops", "--json")
    for data in (place / "whole.parquet", place / "parts"):
        for flags, whole in (((), ["n"]), (("--no-facts",), None)):
            told = json.loads(run("simplify", data, *model, *flags))
            facts = told["rules"]["tree"].get("facts", {})
            found = facts.get("integers")
            assert (found is None) == (whole is None), (data, flags, facts)
            assert told["verified"]


def test_rows_without_a_label_are_left_out_and_counted(place: Path) -> None:
    path = place / "parts" / "1.parquet"
    frame = pd.read_parquet(path)
    frame.assign(y=frame["y"].where(frame.index % 3 > 0)).to_parquet(path)
    told = json.loads(run("simplify", place / "parts", "--target", "y", "--model", place / "model.skops", "--json"))
    assert told["notes"][1] == "100 rows without a value of 'y' were left out."
    assert told["audit"]["n_rows"] == 800


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--holdout", "0.3"],
            "read in batches (as directories, patterns and files over 256 MiB are), where --holdout",
        ),
        (["--drop", "a"], "--drop does not work"),
        (["--sample", "10"], "--sample does not work"),
        (["--target", "z"], "has no column 'z', which --target names"),
        (["--method", "nope"], "nope"),
    ],
)
def test_what_needs_all_rows_is_rejected(arguments: list[str], sentence: str, place: Path) -> None:
    taken = ("--target", "y", "--model", place / "model.skops")
    assert sentence in reject("simplify", place / "parts", *taken, *arguments)


def test_a_tree_is_not_fitted_to_many_files(place: Path) -> None:
    assert "pass a tree with --model" in reject("simplify", place / "parts", "--target", "y")
    assert "with --target" in reject("simplify", place / "parts", "--model", place / "model.skops")
