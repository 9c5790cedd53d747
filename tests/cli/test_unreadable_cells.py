"""All cells of a file that cannot be read are told of in one go, and a few of them may count as blanks."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest

from secateur.cli import main


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table, and the same table with odd cells in three columns."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age, paid = rng.integers(18, 90, 400), rng.integers(100, 9000, 400)
    table = pd.DataFrame(
        {
            "age": age.astype(str),
            "paid": [f"€{value:,}.00" for value in paid],
            "seen": pd.date_range("2021-03-01", periods=400).strftime("%d/%m/%Y"),
            "ill": np.where((age > 50) & (paid > 3000), "yes", "no"),
        }
    )
    table.loc[20:24, ["age", "paid"]] = None  # so that the tree takes blanks
    table.to_csv("clean.csv", index=False)
    table.loc[[3, 7], "age"] = ["old", "ca. 40"]
    table.loc[9, "paid"] = "much"
    table.loc[11, "seen"] = "soon"
    table.to_csv("odd.csv", index=False)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with mock.patch.object(sys, "argv", ["secateur", *words]), pytest.raises(SystemExit) as ended:
        main.run()
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


CELLS = (
    "'age' holds 'old' (row 4), 'ca. 40' (row 8) among its numbers (2 of 400 cells); 'paid' holds 'much' (row 10) "
    "among its numbers (1 of 400 cells)"
)


@pytest.mark.usefixtures("place")
def test_one_report_names_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown, said = run(capsys, "simplify", "odd.csv", "--target", "ill")
    assert (code, shown) == (2, "")
    assert f"4 cells of odd.csv cannot be read: {CELLS}; 'seen' holds 'soon' (row 12) among its dates" in said
    assert "--blank-unreadable 0.005; keep a column as text with --text, or --drop it." in said
    code, _, said = run(capsys, "simplify", "odd.csv", "--target", "ill", "--blank-unreadable", "0.003")
    assert code == 2
    assert "2 cells of odd.csv cannot be read: 'age' holds 'old'" in said
    assert run(capsys, "simplify", "odd.csv", "--target", "ill", "--blank-unreadable", "0.5")[0] == 2


@pytest.mark.usefixtures("place")
def test_few_of_them_count_as_blanks_if_that_is_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    allowed = ("--target", "ill", "--blank-unreadable", "0.01")
    code, shown, _ = run(capsys, "simplify", "odd.csv", *allowed, "--json")
    assert code == 0
    (note,) = [one for one in json.loads(shown)["notes"] if one.startswith("Took")]
    assert note.startswith(f"Took for blanks what cannot be read: {CELLS}; 'seen'")
    blank = pd.read_csv("odd.csv", na_values=["old", "ca. 40", "much", "soon"])
    blank.to_csv("blank.csv", index=False)
    same = json.loads(run(capsys, "simplify", "blank.csv", "--target", "ill", "--json")[1])
    assert json.loads(shown)["rules"]["lines"] == same["rules"]["lines"]


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("command", ["audit", "explain", "verify", "diff"])
def test_rules_of_a_clean_table_meet_an_odd_one(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, _ = run(capsys, "simplify", "clean.csv", "--target", "ill", "--holdout", "0", "-o", "rules.json")
    assert code == 0
    words = {
        "audit": ("rules.json", "odd.csv", "--target", "ill"),
        "explain": ("rules.json", "odd.csv"),
        "verify": ("rules.json", "--data", "odd.csv", "--target", "ill"),
        "diff": ("rules.json", "rules.json", "--data", "odd.csv", "--target", "ill"),
    }[command]
    code, _, said = run(capsys, command, *words)
    assert code == 2
    assert f"3 cells of odd.csv cannot be read: {CELLS}." in said  # no rule asks for dates
    argv = mock.patch.object(sys, "argv", ["secateur", command, *words, "--blank-unreadable", "0.01"])
    with argv, suppress(SystemExit):  # audit and verify say that something differs
        main.run()
    told = capsys.readouterr()
    assert "Error" not in told.err
    assert len(told.out.splitlines()) > 1
