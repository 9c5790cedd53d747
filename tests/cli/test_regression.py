"""Numbers as targets on the command line: said in one line, with their units, and what is about classes rejected."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from secateur import Rules
from secateur.cli import main

FRAME = load_diabetes(as_frame=True, scaled=False).frame


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    written = FRAME.assign(
        cost=[f"€{value * 13.5:,.2f}" for value in FRAME.target],
        part=[f"{value / 4:.1f}%" for value in FRAME.target],
        seen=pd.date_range("2020-01-01", periods=len(FRAME)).strftime("%d/%m/%Y"),
        grade=(FRAME.target // 100).astype(int),
    )
    written.to_csv("rows.csv", index=False)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with mock.patch.object(sys, "argv", ["secateur", *words]), pytest.raises(SystemExit) as ended:
        main.run()
    captured = capsys.readouterr()
    return int(ended.value.code or 0), " ".join((captured.out + captured.err).split())


DROPPED = ("--drop", "cost,part,seen,grade")


@pytest.mark.usefixtures("table")
def test_many_numbers_are_regression_and_one_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "simplify", "rows.csv", "--target", "target", *DROPPED, "--holdout", "0")
    assert code == 0
    assert "'target' holds 214 different numbers, so it is predicted as a number (--classes takes them" in said
    assert f"Each value is at most {np.ceil(FRAME.target.std(ddof=0) * 25) / 100:g} from the tree's, for any" in said
    assert "An independent check proved it" in said


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(("target", "shown"), [("cost", "about €"), ("part", " % if ")])
def test_units_are_kept(capsys: pytest.CaptureFixture[str], target: str, shown: str) -> None:
    others = ",".join({"cost", "part", "seen", "grade", "target"} - {target})
    words = ("simplify", "rows.csv", "--target", target, "--drop", others, "--holdout", "0.25", "--tolerance", "0.5sd")
    code, said = run(capsys, *words)
    assert code == 0
    assert shown in said


@pytest.mark.usefixtures("table")
def test_rows_are_set_aside_and_shown_first(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "simplify", "rows.csv", "--target", "target", *DROPPED)
    assert code == 0
    assert "Set aside 111 of 442 rows, drawn at random" in said
    assert re.search(r"unseen rows?, mean [0-9.,]+.*training rows?, mean", said)


@pytest.mark.usefixtures("table")
def test_a_small_table_has_a_headline_of_rows_that_its_trees_did_not_see(capsys: pytest.CaptureFixture[str]) -> None:
    small = FRAME[:150]
    small.to_csv("small.csv", index=False)
    code, said = run(capsys, "simplify", "small.csv", "--target", "target")
    assert code == 0
    assert "150 rows are too few to set some aside" in said
    own = np.empty(150)
    for kept, left in KFold(5, shuffle=True, random_state=0).split(small):
        model = DecisionTreeRegressor(max_depth=5, min_samples_leaf=5, random_state=0)
        model.fit(small.iloc[kept].drop(columns="target"), small.target.iloc[kept])
        own[left] = model.predict(small.iloc[left].drop(columns="target"))
    error = float(((own - small.target) ** 2).mean() ** 0.5)
    assert f"New rows: Off by {error:.4g} (root mean square) on 150 rows, each judged by a tree that was" in said
    told = json.loads(run(capsys, "simplify", "small.csv", "--target", "target", "--json")[1])
    assert told["crossed"]["error"] == pytest.approx(error)
    assert told["measures"]["error"] < error  # training rows flatter


@pytest.mark.usefixtures("table")
def test_few_numbers_are_classes(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "simplify", "rows.csv", "--target", "grade", "--drop", "cost,part,seen,target")
    assert code == 0
    assert "Right for" in said


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("simplify", "rows.csv", "--target", "seen"), "holds dates or times"),
        (("simplify", "rows.csv", "--target", "target", "--classes"), "expected a few classes"),
        (("simplify", "rows.csv", "--target", "target", "--balanced"), "leave it out"),
        (("simplify", "rows.csv", "--target", "target", "--method", "mismatch"), "says nothing about single rows"),
        (("simplify", "rows.csv", "--target", "target", "--tolerance", "much"), "Expected --tolerance as a number"),
        (("simplify", "rows.csv", "--target", "target", "--of", "1"), "'of' names a class"),
        (("compare", "rows.csv", "--target", "target"), "holds numbers"),
        (("report", "rows.csv", "--target", "target", "--groups-by", "sex", "-o", "p.html"), "compares classes"),
        (("diagnose", "rows.csv", "--target", "target"), "A diagnosis needs classes"),
    ],
)
def test_what_does_not_fit_is_one_sentence(capsys: pytest.CaptureFixture[str], words: Any, sentence: str) -> None:
    code, said = run(capsys, *words)
    assert code == 2
    assert sentence in said
    assert "Traceback" not in said


@pytest.mark.long
@pytest.mark.usefixtures("table")
def test_files_are_written_read_verified_audited_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    made = ("simplify", "rows.csv", "--target", "target", *DROPPED)
    assert run(capsys, *made, "--export", "json", "-o", "rules.json")[0] == 0
    rules = Rules.from_json(Path("rules.json").read_text())
    assert rules.tree.is_regression
    code, said = run(capsys, "verify", "rules.json", "--data", "rows.csv", "--target", "target")
    assert code == 2  # nothing is wrong, but no model was named
    assert "means and spreads of the targets recounted" in said
    code, said = run(capsys, "audit", "rules.json", "rows.csv", "--target", "target")
    assert code == 0
    assert "R² " in said
    code, said = run(
        capsys, "explain", "rules.json", "--row", json.dumps(FRAME.drop(columns="target").iloc[0].to_dict())
    )
    assert "Predicted about" in said
    assert code == 0


@pytest.mark.long
@pytest.mark.usefixtures("table")
def test_one_rule_for_each_leaf_is_measured_verified_and_audited(capsys: pytest.CaptureFixture[str]) -> None:
    made = ("simplify", "rows.csv", "--target", "target", *DROPPED, "--each-leaf")
    assert re.search(r"\d unseen rows? \(\d+ training rows", run(capsys, *made)[1])
    assert run(capsys, *made, "--export", "json", "-o", "rules.json")[0] == 0
    code, said = run(capsys, "verify", "rules.json", "--data", "rows.csv", "--target", "target")
    assert "the unseen rows of lines and leaves recounted" in said
    FRAME[:300].to_csv("earlier.csv", index=False)
    FRAME[150:].assign(target=FRAME.target + 400).to_csv("later.csv", index=False)
    asked = ("audit", "rules.json", "later.csv", "--target", "target")
    code, said = run(capsys, *asked)
    assert code == 2  # nothing to compare lines with
    assert "The training targets of the rules of leaves are not kept" in said
    code, said = run(capsys, *asked, "--since", "earlier.csv")
    assert code == 1
    assert "Welch's test of means" in said


@pytest.mark.long
@pytest.mark.usefixtures("table")
def test_swap_sets_of_values_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    for seed in ("0", "1"):
        made = ("simplify", "rows.csv", "--target", "target", *DROPPED, "--seed", seed)
        assert run(capsys, *made, "--export", "json", "-o", f"{seed}.json")[0] == 0
    code, said = run(capsys, "diff", "0.json", "1.json", "--data", "rows.csv", "--target", "target")
    assert code == 1
    assert "The mean absolute error changes by" in said
    assert "nearer to the target now" in said
    assert "--otherwise" not in said


@pytest.mark.usefixtures("table")
def test_a_fitted_model_meets_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    skops = pytest.importorskip("skops.io")
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(FRAME.drop(columns="target"), FRAME.target)
    skops.dump(model, "tree.skops")
    code, said = run(capsys, "simplify", "rows.csv", "--target", "target", "--model", "tree.skops")
    assert code == 0
    assert "The model for rows.csv predicts target: 442 training rows" in said
    code, said = run(capsys, "simplify", "--model", "tree.skops", "--tolerance", "10")
    assert code == 0
    assert "predicts numbers; no rows were named" in said
