"""A bank's tables of two months, as people export them: what the first screen answers, and what next month shows."""

from __future__ import annotations

import datetime as dt
import json
import re
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest

from secateur import Rules
from secateur.cli import main
from secateur.cli.console import errors, out

TARGET = ("--target", "Outcome")
POLICY = "Default if Debt-to-Income > 45 and # Late Payments >= 1; otherwise Repaid"


def make_loans(month: int, n_rows: int, drift: float = 0.0) -> pd.DataFrame:
    """Make loans with amounts, percentages, dates, ids, codes, notes and blanks; some four in a hundred default."""
    rng = np.random.default_rng(month)
    dti, used = rng.beta(2, 5, n_rows), rng.beta(1.5, 2.5, n_rows)
    late, score = rng.poisson(0.35, n_rows), rng.normal(680, 70, n_rows).astype(int)
    risk = -5.2 + drift + late + 2.2 * (dti > 0.45) + 1.7 * (used > 0.8) + 1.3 * (score < 600)
    first = dt.date(2026, month, 1)
    table = pd.DataFrame(
        {
            "Loan ID": [f"LN{month:02d}{place:06d}" for place in range(n_rows)],
            "Application Date": [
                (first + dt.timedelta(int(d))).strftime("%d.%m.%Y") for d in rng.integers(0, 28, n_rows)
            ],
            "Customer No.": [f"CUST-{one:05d}" for one in rng.integers(1, 9000, n_rows)],
            "Loan Amount": [f"€{one:,.2f}" for one in np.exp(rng.normal(9.2, 0.6, n_rows))],
            "Debt-to-Income": [f"{100 * one:.1f}%" for one in dti],
            "Card Utilisation": [f"{100 * one:.0f}%" for one in used],
            "# Late Payments": late,
            "Purpose": rng.choice(["Car", "Boat", "Holiday", "car "], n_rows),
            "Credit Score": score.astype(str),
            "Branch": 1000 + rng.integers(0, 40, n_rows),
            "Outcome": np.where(rng.random(n_rows) < 1 / (1 + np.exp(-risk)), "Default", "Repaid"),
        }
    )
    table.loc[rng.random(n_rows) < 0.05, "Credit Score"] = "N/A"
    table.loc[rng.random(n_rows) < 0.08, "Card Utilisation"] = ""
    return table


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bank")
    make_loans(9, 12_000).to_csv(place / "sep.csv", index=False)
    october = make_loans(10, 5_000, drift=0.5)
    october.to_csv(place / "oct.csv", index=False)
    for name in ("Debt-to-Income", "Card Utilisation"):
        shares = pd.to_numeric(october[name].str.rstrip("%"), errors="coerce") / 100
        october[name] = shares.map("{:.3f}".format).where(shares.notna(), "")
    october.to_csv(place / "fractions.csv", index=False)
    for month in ("sep", "oct"):
        call("simplify", str(place / f"{month}.csv"), *TARGET, "-o", str(place / f"{month}.json"), "--quiet")
    return place


def call(*words: str) -> int:
    with mock.patch.object(sys, "argv", ["secateur", *words]), pytest.raises(SystemExit) as ended:
        main.run()
    return int(ended.value.code or 0)


def say(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = call(*words)
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def read_rules(path: Path) -> Rules:
    return Rules.from_json(path.read_text(encoding="utf-8"))


def read_rows(path: Path) -> pd.DataFrame:
    """Read a month with blanks as the command line reads it."""
    table = pd.read_csv(path, dtype={"Branch": str})
    return table.assign(Purpose=table["Purpose"].str.strip())


@pytest.mark.long
def test_the_screen_says_what_is_found_at_what_precision_and_where(
    months: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for console in (out, errors):
        monkeypatch.setattr(console, "width", 80)
    code, shown = say(capsys, "simplify", str(months / "sep.csv"), *TARGET)
    assert code == 0
    end = " ".join(shown.splitlines()[-24:])  # what stays on a screen of 24 lines
    end = re.sub(r"\s+", " ", end)
    found, of, named, right = map(
        int, re.findall(r"Default: finds (\d+) of (\d+) unseen .*?; of (\d+) that it names, (\d+) are Default", end)[0]
    )
    told = r"Line (\d+) states the highest probability.*?, ([\d.]+ %): (\d+) of its (\d+) unseen rows are Default"
    ((number, highest, *told_rows),) = re.findall(told, end)
    line, of_line, rows = int(number), *map(int, told_rows)
    rules = read_rules(months / "sep.json")
    counts = np.array(json.loads((months / "sep.json").read_text())["unseen"]["line_counts"])  # of Default and Repaid
    says = np.array([one.prediction == "Default" for one in rules.lines])
    assert (found, of) == (counts[says, 0].sum(), counts[:, 0].sum())
    assert (named, right) == (counts[says].sum(), found)
    stated = [one.share if one.prediction == "Default" else 1 - one.share for one in rules.lines]
    assert stated[line - 1] == max(one for one, n_rows in zip(stated, counts.sum(axis=1), strict=True) if n_rows >= 5)
    assert highest == f"{100 * stated[line - 1]:.1f} %"
    is_first = stated[line - 1] == max(stated)
    assert ("of those with at least 5 unseen rows" in end) is not is_first
    assert (of_line, rows) == (counts[line - 1, 0], counts[line - 1].sum())


def test_fractions_for_percentages_are_caught(months: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = say(capsys, "audit", str(months / "sep.json"), str(months / "fractions.csv"), *TARGET)
    assert code == 1
    assert "Debt-to-Income" in re.sub(r"\s+", " ", shown)
    assert re.search(r"fraction|below every limit|100 times", shown), shown


def test_an_audit_in_which_no_line_moved_says_why_its_status_is_1(
    months: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = tmp_path / "few.csv"  # too few rows for any line, and a column in another unit
    few.write_text("".join((months / "fractions.csv").read_text().splitlines(keepends=True)[:41]))
    told = "No line moved, but the table did, so the status is 1."
    code, shown = say(capsys, "audit", str(months / "sep.json"), str(few), *TARGET)
    assert (code, told in re.sub(r"\s+", " ", shown)) == (1, True)
    code, shown = say(capsys, "audit", str(months / "sep.json"), str(months / "sep.csv"), *TARGET)
    assert (code, told in re.sub(r"\s+", " ", shown)) == (0, False)


def test_the_swap_set_is_a_count_by_hand(months: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("diff", str(months / "sep.json"), str(months / "oct.json"), "--data", str(months / "oct.csv"), *TARGET)
    code, shown = say(capsys, *words, "--json")
    assert code == 1
    swaps = json.loads(shown)["swaps"]
    rows = read_rows(months / "oct.csv")
    before, after = (read_rules(months / f"{month}.json").predict(rows) for month in ("sep", "oct"))
    truth = rows["Outcome"].to_numpy()
    for one in swaps["swaps"]:
        moved = (before == one["old"]) & (after == one["new"])
        assert one["rows"] == moved.sum()
        assert (one["old_right"], one["new_right"]) == (
            (moved & (before == truth)).sum(),
            (moved & (after == truth)).sum(),
        )
    assert swaps["n_changed"] == (before != after).sum() > 0


@pytest.mark.parametrize("command", ["diff", "audit"])
def test_a_policy_is_compared_row_by_row(command: str, months: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ("--data", str(months / "oct.csv")) if command == "diff" else (str(months / "oct.csv"),)
    code, shown = say(capsys, command, str(months / "sep.json"), *rows, *TARGET, "--policy", POLICY, "--json")
    assert code in (0, 1)
    told = json.loads(shown)
    swaps = (told["policy"] if command == "audit" else told)["swaps"]
    table = read_rows(months / "oct.csv")
    said = read_rules(months / "sep.json").predict(table)
    percent = pd.to_numeric(table["Debt-to-Income"].str.rstrip("%"))
    typed = np.where((percent > 45) & (table["# Late Payments"] >= 1), "Default", "Repaid")
    assert swaps["n_changed"] == (said != typed).sum() > 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--policy", "Default if Debt > 45; otherwise Repaid"), "No column is called 'Debt'"),
        (("--policy", "Reject if Branch is 1001; otherwise Repaid"), "No label is called 'Reject'"),
        (("--policy", POLICY, "oct.json"), "and not both"),
        ((), "Name the rules to compare with, or a policy"),
    ],
)
def test_a_slip_in_a_policy_is_one_sentence(
    words: tuple[str, ...], sentence: str, months: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with mock.patch("os.getcwd", return_value=str(months)):
        code, shown = say(capsys, "diff", str(months / "sep.json"), *words, "--data", str(months / "oct.csv"), *TARGET)
    assert code == 2
    assert sentence in shown
    assert len(shown.strip().splitlines()) == 1


def test_a_policy_needs_rows(months: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = say(capsys, "diff", str(months / "sep.json"), "--policy", POLICY)
    assert (code, "name them, --data FILE" in shown) == (2, True)


def test_a_small_table_has_a_headline_of_rows_that_its_trees_did_not_see(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from sklearn.model_selection import StratifiedKFold
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(150, 3)).round(2), columns=["a", "b", "c"])
    y = np.where(X["a"] + rng.normal(size=150) > 0.7, "ill", "well")
    X.assign(state=y).to_csv(tmp_path / "small.csv", index=False)
    code, shown = say(capsys, "simplify", str(tmp_path / "small.csv"), "--target", "state", "--json")
    assert code == 0
    told = json.loads(shown)
    assert told["rules"].get("unseen") is None
    assert any("150 rows are too few to set some aside" in one for one in told["warnings"])
    right = 0
    for kept, left in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        tree = DecisionTreeClassifier(max_depth=5, min_samples_leaf=5, random_state=0).fit(X.iloc[kept], y[kept])
        right += (tree.predict(X.iloc[left]) == y[left]).sum()
    assert told["crossed"]["accuracy"] == pytest.approx(right / 150)
    assert right / 150 < told["audit"]["accuracy"] / 100  # training rows flatter
    words = re.sub(r"\s+", " ", say(capsys, "simplify", str(tmp_path / "small.csv"), "--target", "state")[1])
    assert "New rows: " in words
    assert "each judged by a tree that was not fitted to it" in words
