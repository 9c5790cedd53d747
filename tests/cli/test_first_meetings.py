"""What a new user meets: models that are no tree, broken files, sentences said twice, statuses that say too little."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner, Result

import secateur
from secateur import spark
from secateur.cli.main import app
from secateur.errors import InputError
from secateur.lab.rulebench import run


def invoke(*words: Any) -> Result:
    return CliRunner().invoke(app, [*map(str, words)])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of tumours with a model that is no tree, and a bank's table of amounts, percentages and dates."""
    home = tmp_path_factory.mktemp("first")
    frame = load_breast_cancer(as_frame=True).frame
    frame.to_csv(home / "tumours.csv", index=False)
    rows = frame.drop(columns="target").to_numpy()[:, :2]
    skops.io.dump(LogisticRegression().fit(rows, frame["target"]), home / "line.skops")
    random = np.random.default_rng(0)
    income, rate = random.integers(500, 9000, 400), random.uniform(1, 30, 400)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, 400), unit="D")
    bank = {
        "income": [f"€ {value:,}" for value in income],
        "rate": [f"{value:.1f}%" for value in rate],
        "opened": days.strftime("%d/%m/%Y"),
        "outcome": np.where((income < 3000) | (rate > 22) | (days.year == 2021), "default", "repaid"),
    }
    pd.DataFrame(bank).to_csv(home / "bank.csv", index=False)
    return home


@pytest.mark.parametrize("words", [("--target", "target"), ()])
def test_a_model_that_is_no_tree_is_for_approximate(place: Path, words: tuple[str, ...]) -> None:
    table = (place / "tumours.csv",) if words else ()
    rejected = invoke("simplify", *table, *words, "--model", place / "line.skops")
    assert "found LogisticRegression. `secateur approximate MODEL DATA`" in str(rejected.exception)
    assert "from_model" not in str(rejected.exception)


@pytest.mark.parametrize("content", ["hello", '{"format": "secateur-rules", ', '{"a": 1}', "[1, 2]"])
def test_a_broken_file_of_rules_is_told_of_as_json(tmp_path: Path, content: str) -> None:
    path = tmp_path / "rules.json"
    path.write_text(content)
    for words in (("explain", path, "--row", "a=1"), ("verify", path), ("simplify", "--model", path)):
        told = str(invoke(*words).exception)
        assert "JSON" in told
        assert "PMML" not in told
        assert "learner" not in told


def test_apply_says_each_sentence_once(place: Path, tmp_path: Path) -> None:
    rules, edits, used = tmp_path / "rules.json", tmp_path / "edits.json", ("--target", "target")
    invoke("simplify", place / "tumours.csv", *used, "-q", "--export", "json", "-o", rules)
    edits.write_text(json.dumps([{"edit": "strike", "line": 1, "reason": "too few rows"}]))
    said = invoke("apply", rules, edits, "--data", place / "tumours.csv", *used)
    assert said.exit_code == 0, said.output
    assert said.output.count("Edited once") == 1
    assert "Verified." in said.output


def test_a_bank_table_is_verified_with_its_data_and_model(place: Path, tmp_path: Path) -> None:
    rules, model, used = tmp_path / "rules.json", tmp_path / "model.skops", ("--target", "outcome")
    made = invoke("simplify", place / "bank.csv", *used, "-q", "--export", "json", "-o", rules, "--save-model", model)
    assert made.exit_code == 0, made.output
    found = secateur.Rules.from_json(rules.read_text())
    assert sum(parser is not None for parser in found.tree.column_parsers) == 3
    checked = invoke("verify", rules, "--data", place / "bank.csv", *used, "--model", model)
    assert checked.exit_code == 0, checked.output
    assert "how texts of columns are read" not in checked.output
    other = pd.read_csv(place / "bank.csv")
    other["opened"] = pd.to_datetime(other["opened"], dayfirst=True)  # the same days, written otherwise
    other.to_csv(tmp_path / "other.csv", index=False)
    changed = invoke("verify", rules, "--data", tmp_path / "other.csv", *used, "--model", model)
    assert changed.exit_code != 0, "a table that is written otherwise says nothing of how this one was read"


def test_a_missing_data_file_leaves_its_data_set_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run.load_bench

    def load(name: str, data_dir: Any = None) -> Any:
        if name == "wine":
            raise InputError("The file of wine is not here.")
        return whole(name, data_dir)

    monkeypatch.setattr(run, "load_bench", load)
    asked = ("--splits", "1", "--output", tmp_path / "found", "-q")
    done = invoke("bench", "--datasets", "wine,iris", *asked)
    assert done.exit_code == 2
    assert "Left out 'wine': The file of wine is not here." in done.output.replace("\n", " ")
    assert (tmp_path / "found" / "results.parquet").is_file()
    nothing = invoke("bench", "--datasets", "wine", *asked)
    assert str(nothing.exception) == "The file of wine is not here."


@pytest.mark.long
def test_columns_may_be_preferred(place: Path) -> None:
    asked = ("simplify", place / "tumours.csv", "--target", "target", "--budget", "0.05", "--export", "csv")
    before = invoke(*asked).output
    dear = [name for name in load_breast_cancer().feature_names if name in before]
    after = {name: invoke(*asked, "--prefer", f"{name} = 1000").output for name in dear}
    assert any(text.count(name) < before.count(name) for name, text in after.items())
    assert all(text.count(name) <= before.count(name) for name, text in after.items())
    for wrong in ("age", "age = much"):
        assert "such as 'age = 10'" in str(invoke(*asked, "--prefer", wrong).exception)
    assert "No list that keeps the promise was found" in str(invoke(*asked, "--max-columns", "1").exception)
    limited = invoke(*asked, "--tolerance", "1", "--max-columns", "4")
    assert limited.exit_code == 0
    assert 0 < sum(name in limited.output for name in load_breast_cancer().feature_names) <= 4
    assert "--max-columns is for a short list" in str(invoke(*asked[:4], "--each-leaf", "--max-columns", "2").exception)
    assert "--prefer is for a short list" in str(invoke(*asked[:4], "--each-leaf", "--prefer", "a = 2").exception)


def test_a_preference_keeps_the_class_of_otherwise() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    for label in (0, 1):
        rules = secateur.simplify(model, X, y, otherwise=label)
        kept = rules.prefer({"worst texture": 10})
        assert {line.prediction for line in kept.lines if line.is_otherwise} == {label}


def test_evidence_on_spark_has_the_arguments_of_evidence_in_memory() -> None:
    here, there = (
        list(inspect.signature(one).parameters.values())[3:]
        for one in (secateur.collect_evidence, spark.collect_evidence)
    )
    assert [(one.name, one.kind, one.default) for one in here] == [(one.name, one.kind, one.default) for one in there]
