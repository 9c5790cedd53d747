"""Every method and knob on the paper's data sets: stored results, fronts, and the command."""

from __future__ import annotations

import csv
import functools
import gzip
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest
from stored_results import skip_if_older
from typer.testing import CliRunner

from secateur.cli.main import app
from secateur.datasets import load
from secateur.paper import beyond
from secateur.paper.beyond import FrontPoint, find_fronts, measure_split, summarize_beyond
from secateur.paper.protocol import ARMS, DATASETS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

STORED = files("secateur.paper") / "stored" / "beyond.json.gz"


@functools.cache
def stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(STORED.read_bytes()))
    return found


def stored_splits(arm: str) -> list[dict[str, Any]]:
    columns = stored()["columns"]
    return [
        {"dataset": dataset, "split": number, "rows": [dict(zip(columns, row, strict=True)) for row in rows]}
        for dataset, splits in stored()["arms"][arm].items()
        for number, rows in enumerate(splits)
    ]


@functools.cache
def stored_points(arm: str) -> dict[tuple[str, str], FrontPoint]:
    return {(point.method, point.knob): point for point in find_fronts(summarize_beyond(stored_splits(arm)))}


@pytest.mark.parametrize(
    ("arm", "dataset"),
    [("cart", "backache"), ("cart", "heart-h"), ("cart", "german"), ("optimal", "backache"), ("optimal", "ionosphere")],
)
def test_a_split_gives_the_stored_result(arm: str, dataset: str, data_dir: str) -> None:
    skip_if_older(stored()["scikit-learn"])
    found = measure_split(ARMS[arm], load(dataset, data_dir), 3)
    (wanted,) = [s for s in stored_splits(arm) if (s["dataset"], s["split"]) == (dataset, 3)]
    for ours, theirs in zip(found["rows"], wanted["rows"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize("arm", ["cart", "optimal"])
def test_all_splits_of_all_data_sets_are_stored(arm: str) -> None:
    assert {split["dataset"] for split in stored_splits(arm)} == set(DATASETS)
    assert len(stored_splits(arm)) == 240


def test_the_stored_cart_results_are_what_the_documents_say() -> None:
    points = stored_points("cart")
    for method, least in {"sibling": 8.5, "redundancy": 11.1, "subtree": 12.4, "exact": 16.9}.items():
        point = points[method, ""]
        assert point.removed >= least
        assert point.conflict == point.macro_dev == point.delta_accuracy == 0
    mismatch, layered = points["mismatch", "the paper's ε"], points["layered", "the paper's ε"]
    assert mismatch.removed == pytest.approx(27.1, abs=0.05)
    assert layered.removed >= 33.3
    assert max(mismatch.conflict, layered.conflict) <= 2.3
    assert max(mismatch.macro_dev, layered.macro_dev) <= 1.0
    default = points["budgeted", "0.015"]
    assert default.removed >= 44
    assert default.conflict <= 1.8
    assert default.macro_dev <= 0.62
    by_folds = points["budgeted", "by folds"]
    assert by_folds.removed >= 44.5
    assert by_folds.conflict <= 2.0


@pytest.mark.parametrize("arm", ["cart", "optimal"])
def test_nothing_of_the_papers_four_but_quinlan_is_on_the_front_of_conflict(arm: str) -> None:
    on_front = {point.method for point in stored_points(arm).values() if "conflict" in point.fronts}
    assert {"exact", "budgeted"} <= on_front
    assert on_front & set(beyond.PAPER_METHODS) == {"quinlan"}


def test_a_point_is_on_a_front_when_nothing_removes_as_much_for_less() -> None:
    def row(method: str, knob: str, removed: float, conflict: float) -> dict[str, Any]:
        rest = {"rule_irc": 0.0, "macro_dev": conflict, "delta_accuracy": -conflict}
        return {"dataset": "german", "method": method, "knob": knob, "removed": removed, "conflict": conflict, **rest}

    table = [
        row("exact", "", 10, 0),
        row("subtree", "", 9, 0),  # exact removes more for the same
        row("layered", "0", 20, 2),
        row("layered", "0.1", 20, 3),  # dearer than the one above
        row("budgeted", "0.01", 30, 2.5),
        row("mismatch", "0", 30, 2.5),  # a tie beats neither
    ]
    fronts = {(point.method, point.knob): point.fronts for point in find_fronts(table)}
    everything = ("conflict", "macro_dev", "delta_accuracy")
    assert fronts == {
        ("exact", ""): everything,
        ("subtree", ""): (),
        ("layered", "0"): everything,
        ("layered", "0.1"): (),
        ("budgeted", "0.01"): everything,
        ("mismatch", "0"): everything,
    }


def test_the_command_writes_tables_and_figures(data_dir: str, tmp_path: Path) -> None:
    arguments = ["reproduce", "beyond", "--datasets", "backache", "--splits", "1", "--jobs", "1"]
    result = CliRunner().invoke(app, [*arguments, "--data-dir", data_dir, "--output", str(tmp_path)])
    assert result.exit_code == 0, result.output
    for arm in ("cart", "optimal"):
        rows = list(csv.DictReader((tmp_path / f"beyond_{arm}_by_dataset.csv").read_text().splitlines()))
        assert {row["method"] for row in rows} == set(beyond.KNOBS)
        assert (tmp_path / f"beyond_{arm}.svg").stat().st_size > 1000
        assert (tmp_path / f"beyond_{arm}.png").stat().st_size > 1000
    text = (tmp_path / "report_beyond.md").read_text()
    assert text.count("| budgeted |") == 2 * len(beyond.BUDGETS) + 1
    assert "| sibling (paper) |" in text
