"""Wrong files and options are rejected in words that a person can use."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from secateur.cli.app import make_app


def reject(*arguments: object) -> str:
    """Give the sentence with which the command line rejects."""
    result = CliRunner().invoke(make_app(), [str(word) for word in arguments])
    assert result.exit_code != 0
    said = result.output if isinstance(result.exception, SystemExit) else str(result.exception)
    return " ".join(said.split())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("rejections")
    rows = pd.DataFrame({f"c{i}": [i * row % 7 for row in range(60)] for i in range(11)})
    rows["status"] = ["late" if row % 7 > 3 else "paid" for row in range(60)]
    rows.to_csv(place / "rows.csv", index=False)
    rows.to_csv(place / "bare.csv", index=False, header=False)
    asked = ["simplify", str(place / "rows.csv"), "--target", "status", "-q", "-o", str(place / "rules.json")]
    assert CliRunner().invoke(make_app(), asked).exit_code == 0
    (place / "page.html").write_text("<!DOCTYPE html>\n<html><body>\n<p>a, b</p>\n</body></html>\n")
    return place


OPTIONS = {
    ("--budget", "1%"): "Invalid value for '--budget': expected a number, such as 0.01.",
    ("--max-depth", "x"): "Invalid value for '--max-depth': expected a whole number.",
    ("--max-depth", "0"): "Invalid value for '--max-depth': expected at least 1.",
    ("--export", "xls"): "Invalid value for '--export': 'xls' is not one of 'sql', ",
    ("--otherwise", "pad"): "There is no class 'pad' to leave to otherwise: the classes are 'late', 'paid', and 'auto' "
    "chooses one. Did you mean 'paid'?",
}


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_is_rejected_in_plain_words(place: Path, option: tuple[str, str]) -> None:
    said = reject("simplify", place / "rows.csv", "--target", "status", *option)
    assert OPTIONS[option] in said
    assert "Input should" not in said


def test_what_is_no_table_is_told_by_its_name(place: Path) -> None:
    asked = ("--target", "status")
    assert "page.html is a web page or another XML file" in reject("simplify", place / "page.html", *asked)
    assert "holds a tree or rules of secateur, not a table" in reject("simplify", place / "rules.json", *asked)


def test_a_column_without_a_name_is_named_by_its_place(place: Path) -> None:
    asked = ["simplify", str(place / "bare.csv"), "--target", "12", "--json"]
    assert CliRunner().invoke(make_app(), asked).exit_code == 0
    said = reject("simplify", place / "bare.csv", "--target", "13")
    assert "Its columns are 'column_1', 'column_2'" in said
    assert said.endswith("…, 'column_11' and 'column_12'.")


@pytest.mark.long
def test_a_table_of_very_many_texts_is_rejected_at_once(tmp_path: Path) -> None:
    rows = pd.DataFrame({f"c{i}": ["a", "b", "a", "c"] for i in range(1_001)} | {"status": ["late", "paid"] * 2})
    rows.to_csv(tmp_path / "wide.csv", index=False)
    said = reject("simplify", tmp_path / "wide.csv", "--target", "status")
    assert "has 1,001 columns of texts, and at most 1,000 are read as categories or dates: leave columns out" in said


def test_a_column_that_the_tree_does_not_ask_for_may_hold_anything(tmp_path: Path) -> None:
    rows = pd.DataFrame({"age": [row * 7 % 45 for row in range(60)], "city": ["Bern", "Basel", "Genf"] * 20})
    rows["status"] = ["late" if age > 30 else "paid" for age in rows["age"]]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    asked = ["simplify", str(tmp_path / "rows.csv"), "--target", "status", "-q", "-o", str(tmp_path / "rules.json")]
    assert CliRunner().invoke(make_app(), asked).exit_code == 0
    for row in ("age=50,city=Bern", '{"age": 50, "city": "Bern"}'):
        result = CliRunner().invoke(make_app(), ["explain", str(tmp_path / "rules.json"), "--row", row])
        assert result.exit_code == 0, result.output
        assert "Predicted late" in result.output
