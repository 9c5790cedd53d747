"""Trees that are proved optimal: what is stored is what a run gives, and a missing solver is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from drawing import further
from typer.testing import CliRunner

import secateur
from benchmarks.paper.stored import load_study
from secateur.cli.main import app
from secateur.datasets import load
from secateur.lab import sparse
from secateur.lab.sparse import KINDS, SOLVERS, list_values, measure_sparse, require_solver, sparse_page

if TYPE_CHECKING:
    from pathlib import Path


def assert_stored(found: dict[str, Any], solver: str, dataset: str, split: int) -> None:
    (wanted,) = [s for s in load_study("sparse", solver) if (s["dataset"], s["split"]) == (dataset, split)]
    for ours, theirs in zip(found["rows"], wanted["rows"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-8)


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize(
    ("solver", "dataset"), [("streed", "backache"), *further([("streed", "cancer"), ("contree", "cancer")])]
)
def test_a_split_gives_the_stored_result(solver: str, dataset: str, data_dir: str) -> None:
    pytest.importorskip(f"py{solver}", reason=f"py{solver} is not installed")
    assert_stored(measure_sparse(SOLVERS[solver], load(dataset, data_dir), 1), solver, dataset, 1)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_small_tree_is_proved_and_no_better_one_is_found_by_trying_all(solver: str) -> None:
    pytest.importorskip(f"py{solver}", reason=f"py{solver} is not installed")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(60, 3)).astype(np.float32)
    y = (X[:, 0].astype(int) ^ X[:, 1].astype(int)) ^ (rng.random(60) < 0.1)
    model, is_proved = sparse.fit_proved(solver, 0.0, X, y.astype(np.int64))
    # Depth 4 tells all cells of three binary columns apart: the best tree says the commonest class of each.
    cells = X @ [1, 2, 4]
    best = sum(max(np.bincount(y[cells == cell].astype(int))) for cell in np.unique(cells))
    assert is_proved
    assert (model.predict(X) == y).sum() == best


def test_every_stored_tree_was_proved_and_no_deeper_than_four() -> None:
    for solver in SOLVERS:
        rows = [row for split in load_study("sparse", solver) for row in split["rows"]]
        assert all(row["proved"] and row["leaves"] <= 16 for row in rows)
        assert {row["cost"] for row in rows} <= {0.0, *sparse.COSTS}
        assert all(row["conflict_pct"] == 0 for row in rows if row["method"] in ("M2-P", "Izza"))


def test_a_tree_without_proof_is_left_out() -> None:
    def row(kind: str, proved: bool, removed: float) -> dict[str, object]:
        return {"tree": kind, "method": "M1-P", "proved": proved, "removed_pct": removed, "leaves": 1, "cost": 0.0}

    rows = [row("full", True, 10.0), row("full", False, 20.0), row("sparse", True, 30.0)]
    assert list_values([{"dataset": "cancer", "rows": rows}], "full", "M1-P", "removed_pct") == {"cancer": [10.0]}


def test_the_page_has_a_line_for_each_data_set_and_kind() -> None:
    for solver, arm in SOLVERS.items():
        splits = load_study("sparse", solver)
        page = sparse_page(arm, splits)
        assert len(page.rows) == len(KINDS) * (len({split["dataset"] for split in splits}) + 1)


@pytest.mark.long
def test_the_command_gives_the_stored_results_and_goes_on_where_it_was(
    data_dir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for solver in SOLVERS:
        pytest.importorskip(f"py{solver}", reason=f"py{solver} is not installed")
    arguments = ["reproduce", "sparse", "--datasets", "cancer", "--splits", "1", "--jobs", "1", "--quiet"]
    arguments += ["--data-dir", data_dir, "--output", str(tmp_path)]
    first = CliRunner().invoke(app, arguments)
    assert first.exit_code == 0, first.output
    report = (tmp_path / "report_sparse.md").read_text()
    assert report.count("| cancer | sparse |") == 2
    for solver in SOLVERS:
        found = json.loads((tmp_path / "sparse" / solver / "cancer" / "00.json").read_text())
        assert_stored(found, solver, "cancer", 0)
    monkeypatch.setattr(sparse, "fit_proved", None)  # nothing is fitted again
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 0, again.output
    assert (tmp_path / "report_sparse.md").read_text() == report


def test_a_missing_solver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "find_spec", lambda name: None)
    with pytest.raises(secateur.errors.ParameterError, match="STreeD is not installed: pip install pystreed"):
        require_solver("streed")
