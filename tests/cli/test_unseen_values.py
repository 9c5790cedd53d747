"""A value that the training table did not have is named where rules decide it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from secateur.cli.app import make_app
from secateur.cli.model_files import load_rules
from secateur.errors import InputError


def run(*arguments: object) -> str:
    """Run the command line, and give all that it prints in one line."""
    result = CliRunner().invoke(make_app(), [str(word) for word in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return " ".join(result.output.split())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("unseen")
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"age": rng.integers(20, 70, 300), "employed": rng.choice(["yes", "no"], 300)})
    table["status"] = np.where((table["employed"] == "no") & (table["age"] < 40), "late", "paid")
    table.to_csv(place / "loans.csv", index=False)
    table.assign(employed=table["employed"].str.capitalize()).to_csv(place / "caps.csv", index=False)
    run("simplify", place / "loans.csv", "--target", "status", "--quiet", "-o", place / "rules.json")
    run("simplify", place / "loans.csv", "--target", "status", "--quiet", "--each-leaf", "-o", place / "leaves.json")
    return place


@pytest.mark.parametrize("name", ["rules", "leaves"])
def test_an_explanation_shows_the_value_and_says_that_it_is_new(place: Path, name: str) -> None:
    told = run("explain", place / f"{name}.json", "--row", "age=30,employed=No")
    assert "any other)" not in told
    assert told.startswith(
        "Caution: employed is 'No', which is not among the values that the tree knows ('no', 'yes'), so it counts as "
        "any other. Did you mean 'no'? Predicted paid"
    )
    assert "employed is No" in told
    rules = load_rules(place / f"{name}.json")
    for row in ({"age": 30, "employed": "No"}, pd.DataFrame({"age": [30], "employed": ["No"]})):
        assert " ".join(rules.explain(row).text.split()) == told
    assert "Caution" not in run("explain", place / f"{name}.json", "--row", "age=30,employed=no")


@pytest.mark.parametrize("command", [("audit", "--target", "status"), ("explain",)])
def test_a_table_of_new_values_is_told_of(place: Path, command: tuple[str, ...]) -> None:
    told = run(command[0], place / "rules.json", place / "caps.csv", *command[1:])
    note = rf"300 of 300 rows of {place}/caps.csv hold a value of employed that the tree does not know, such as "
    assert re.search(note + r"'(Yes|No)', and count as any other: it knows 'no', 'yes'.* mean '(yes|no)'\?", told)
    assert "does not know" not in run(command[0], place / "rules.json", place / "loans.csv", *command[1:])


def test_another_table_is_told_by_its_columns_before_its_labels(place: Path) -> None:
    pd.DataFrame({"hours": [1, 2, 3], "income": ["low", "high", "low"]}).to_csv(place / "other.csv", index=False)
    with pytest.raises(InputError, match=r"other.csv has none of the columns that the model was fitted on \('age', "):
        run("audit", place / "rules.json", place / "other.csv", "--target", "income")
