"""``secateur diagnose``: what it prints, writes and rejects."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from loans import make_loans
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

import secateur
from secateur.cli.main import app
from secateur.cli.model_files import dump_model
from secateur.errors import SecateurError


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with texts and blanks, and a model of numbers with its rows, whole and in parts."""
    place = tmp_path_factory.mktemp("diagnose")
    make_loans().to_csv(place / "loans.csv", index=False)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 3)), columns=list("abc"))
    frame["y"] = np.where(frame["a"] + frame["b"] + rng.normal(size=600) > 0.2, "yes", "no")
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame[list("abc")], frame["y"])
    (place / "model.skops").write_bytes(dump_model(model))
    frame.to_parquet(place / "whole.parquet")
    (place / "parts").mkdir()
    for part in range(3):
        frame.iloc[part * 200 : part * 200 + 200].to_parquet(place / "parts" / f"{part}.parquet")
    return place


def run(*arguments: Any) -> str:
    found = CliRunner().invoke(app, ["diagnose", *(str(argument) for argument in arguments)])
    assert found.exit_code == 0, found.output
    return found.stdout


def reject(*arguments: Any) -> str:
    found = CliRunner().invoke(app, ["diagnose", *(str(argument) for argument in arguments)])
    assert isinstance(found.exception, SecateurError), found.output
    return str(found.exception)


def model_and_rows(place: Path) -> tuple[Any, Any, Any]:
    frame = pd.read_parquet(place / "whole.parquet")
    X, y = frame[list("abc")], frame["y"]
    return DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y), X, y


def test_it_prints_what_the_library_says(place: Path) -> None:
    model, X, y = model_and_rows(place)
    expected = secateur.diagnose(model, X, y, tolerance=0.1)
    taken = (place / "whole.parquet", "--target", "y", "--model", place / "model.skops", "--tolerance", 0.1)
    shown = run(*taken, "--no-facts")
    assert expected.to_text() in shown
    opening = f"The model for 'y' on 600 rows of {place / 'whole.parquet'} gives 16 rules with 64 conditions.\n\n"
    assert shown.startswith(opening)
    leaf = expected.leaf_ids[2]
    for chosen in (("--rule", 3), ("--leaf", leaf), ("--rule", 3, "--leaf", leaf)):
        one = run(*taken, "--no-facts", *chosen, "--pairs")
        assert expected.to_text([leaf], pairs=True) in one
        assert one.count("\nRule ") == 1
    record = json.loads(run(*taken, "--no-facts", "--json", "--rule", 2, "--pairs"))
    assert record["rules"] == json.loads(json.dumps(expected.to_dict([expected.leaf_ids[1]], pairs=True)))["rules"]


@pytest.mark.parametrize("which", ["directory", "pattern", "large file"])
def test_a_large_table_is_read_in_batches(which: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secateur.cli.tables.table_file.LARGE_FILE", 1_000)
    data = {"directory": place / "parts", "pattern": place / "parts" / "*.parquet"}.get(which, place / "whole.parquet")
    model, X, y = model_and_rows(place)
    taken = (data, "--target", "y", "--model", place / "model.skops", "--json", "--overlaps", "--method", "quinlan")
    told = json.loads(run(*taken))
    assert "read in batches" in told["notes"][0]
    assert told["rules"] == json.loads(json.dumps(secateur.diagnose(model, X, y).to_dict()))["rules"]
    found = secateur.simplify(model, X, y, method="quinlan", each_leaf=True).overlaps(X)
    assert told["overlaps"]["method"] == "quinlan"
    pairs = [(*pair["rules"], *pair["predictions"], pair["rows"]) for pair in told["overlaps"]["pairs"]]
    assert pairs == [(o.first + 1, o.second + 1, o.first_prediction, o.second_prediction, o.rows) for o in found]
    assert pairs


def test_a_tree_is_fitted_to_a_table_of_ones_own(place: Path) -> None:
    shown = run(place / "loans.csv", "--target", "outcome", "--max-depth", 3, "--overlaps", "--tolerance", 0.3)
    assert shown.startswith(f"A decision tree for 'outcome', fitted to 400 rows of {place / 'loans.csv'}, gives ")
    assert "After mismatch: " in shown
    assert "C1, C0: the share of repaid rises (C1) or falls (C0)" in shown
    assert "purpose" in shown


def test_a_model_alone_has_two_layers(place: Path) -> None:
    shown = run("--model", place / "model.skops", "--rule", 1)
    assert "orientation  the share of" in shown
    assert "    effect " not in shown
    assert "IRC: irrelevant condition." in " ".join(shown.split())
    assert "D: by how much" not in " ".join(shown.split())


@pytest.mark.long
def test_files_hold_what_their_ending_says(place: Path, tmp_path: Path) -> None:
    taken = (place / "loans.csv", "--target", "outcome", "--max-depth", 3)
    run(*taken, "-o", tmp_path / "d.csv")
    run(*taken, "-o", tmp_path / "d.json", "--pairs", "--overlaps")
    run(*taken, "-o", tmp_path / "d.txt", "--rule", 2)
    record = json.loads((tmp_path / "d.json").read_text())
    with (tmp_path / "d.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    listed = [one for rule in record["rules"] for one in rule["conditions"]]
    assert [line["condition"] for line in lines] == [one["condition"] for one in listed]
    assert [line["presumption"] for line in lines] == [one["presumption"] or "" for one in listed]
    assert (tmp_path / "d.txt").read_text().startswith("Rule 2 (leaf ")
    assert "d.txt exists already" in reject(*taken, "-o", tmp_path / "d.txt")
    run(*taken, "-o", tmp_path / "d.txt", "--force")


def test_many_rules_are_cut_with_a_way_to_the_rest(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secateur.cli.diagnose.SHOWN_RULES", 2)
    shown = run("--model", place / "model.skops")
    assert shown.count("Rule ") == 2
    assert "… and 14 more rules: name some with --rule, or write them all with --output." in shown


def test_quiet_prints_nothing(place: Path) -> None:
    assert run(place / "loans.csv", "--target", "outcome", "-q") == ""


@pytest.mark.long
def test_mistakes_get_a_sentence(place: Path, tmp_path: Path) -> None:
    taken = (place / "loans.csv", "--target", "outcome")
    own = ("--model", place / "model.skops")
    for arguments, sentence in {
        (): "Name a table with its --target, or a model with --model, or both.",
        ("--target", "y", *own): "Name a table with its --target",
        (*own, "--pairs"): "--pairs and --overlaps are about rows: name a table",
        (*own, "--max-depth", 3): "are for a tree that is fitted here",
        (*taken, "--rule", 99): "There is no rule 99: the rules are numbered from 1 to ",
        (*taken, "--rule", 0): "There is no rule 0",
        (*taken, "--leaf", 0): "The tree has no leaf 0: its leaves are ",
        (*taken, "--method", "exact"): "--method shortens the rules for --overlaps: add --overlaps",
        (*taken, "--overlaps", "--method", "exakt"): "There is no method 'exakt'. Did you mean 'exact'",
        (*taken, "--tolerance", 3): "Expected tolerance as a number from 0 to 1",
        (*taken, "-o", tmp_path / "d.xlsx"): "Give it the ending .csv, .json or .txt.",
        (*taken, "-o", tmp_path / "d.json", "--json"): "--json prints to the screen",
        (*taken, "-o", tmp_path / "d.csv", "--pairs"): "leave --pairs and --overlaps out, or write .json",
    }.items():
        assert sentence in reject(*arguments)
    assert not list(tmp_path.iterdir())
