"""Every method and setting on the paper's data sets: stored results, fronts, and the command."""

from __future__ import annotations

import csv
import functools
import json
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from drawing import further
from stored_results import skip_if_older
from typer.testing import CliRunner

from benchmarks.paper.stored import load_study, load_versions
from secateur.cli.main import app
from secateur.datasets import load
from secateur.lab import beyond, lists, regression
from secateur.lab.beyond import FRONTS, JOINTLY, FrontPoint, find_fronts, measure_split, pick_knobs, summarize_beyond
from secateur.lab.local_search import LocalSearchTreeClassifier
from secateur.lab.protocol import ARMS, DATASETS, N_SPLITS, find_arm

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long


@functools.cache
def stored_points(arm: str) -> dict[tuple[str, str], FrontPoint]:
    return {(point.method, point.knob): point for point in find_fronts(summarize_beyond(load_study("beyond", arm)))}


FITTED: list[int] = []


@pytest.fixture(scope="module")
def output(data_dir: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command writes of the first split of one data set, and of two tables that it takes whatever is asked.

    FITTED is with how many restarts each search of it began.
    """
    output = tmp_path_factory.mktemp("beyond")
    search = LocalSearchTreeClassifier.fit

    def count(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        FITTED.append(model.n_restarts)
        return search(model, X, y, sample_weight)

    arguments = ["reproduce", "beyond", "--datasets", "backache", "--splits", "1", "--jobs", "1"]
    tables = {name: lists.MANY_CLASSES[name] for name in ("iris", "LED")}
    targets = regression.TARGETS[:2]
    with (
        mock.patch.object(lists, "MANY_CLASSES", tables),
        mock.patch.object(regression, "TARGETS", targets),
        mock.patch.object(LocalSearchTreeClassifier, "fit", count),
    ):
        result = CliRunner().invoke(app, [*arguments, "--data-dir", data_dir, "--output", str(output)])
    assert result.exit_code == 0, result.output
    return output


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("arm", "dataset", "split"),
    [
        *[("cart", "backache", 0), ("optimal", "backache", 0)],
        *further([("cart", "heart-h", 3), ("cart", "german", 3), ("optimal", "ionosphere", 3)]),
    ],
)
def test_a_split_gives_the_stored_result(arm: str, dataset: str, split: int, data_dir: str, output: Path) -> None:
    skip_if_older(load_versions("beyond")["scikit-learn"])
    if split == 0:
        found = json.loads((output / "beyond" / arm / dataset / "00.json").read_text())
    else:
        found = measure_split(ARMS[arm], load(dataset, data_dir), split)
    (kept,) = [one for one in load_study("beyond", arm) if (one["dataset"], one["split"]) == (dataset, split)]
    for ours, theirs in zip(found["rows"], kept["rows"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)


@pytest.mark.parametrize("study", ["beyond", "readings"])
@pytest.mark.parametrize("arm", ["cart", "optimal"])
def test_all_splits_of_all_data_sets_are_stored(study: str, arm: str) -> None:
    splits = load_study(study, arm)
    numbers = [{split["split"] for split in splits if split["dataset"] == dataset} for dataset in DATASETS]
    assert all(found == set(range(N_SPLITS)) for found in numbers)


@pytest.mark.parametrize("arm", ["cart", "optimal"])
def test_no_rule_of_faithful_or_mismatch_ends_beyond_its_tolerance(arm: str) -> None:
    for split in load_study("beyond", arm):
        assert {"faithful", "mismatch"} <= {row["method"] for row in split["rows"]}
        for row in split["rows"]:
            if row["method"] in ("faithful", "mismatch"):
                tolerance = row["picked"] if row["knob"] == "by folds" else float(row["knob"])
                assert row["max_abs_d"] <= tolerance + 1e-9
                assert row["share_beyond_tolerance"] == 0
            if row["method"] == "faithful":
                assert row["conflict"] == row["macro_dev"] == row["delta_accuracy"] == 0


@pytest.mark.parametrize("arm", ["cart", "optimal"])
def test_what_the_page_says_in_words_about_the_fronts_is_so(arm: str) -> None:
    points = stored_points(arm).values()
    assert max((p for p in points if p.conflict == 0), key=lambda p: p.removed).method == "exact"
    between = {p.method for p in points if 0.1 < p.conflict < 5 and "conflict" in p.fronts}
    assert between == {"budgeted"}
    faithful, exact = [p for p in points if p.method == "faithful"], stored_points(arm)["exact", ""]
    assert all(p.removed < exact.removed and p.conflict == p.macro_dev == 0 for p in faithful)
    assert stored_points(arm)["faithful", "the paper's ε"].mean_abs_delta_p < exact.mean_abs_delta_p / 2
    rows = [row for split in load_study("beyond", arm) for row in split["rows"] if row["knob"] == "by folds"]
    picked = [row["picked"] for row in rows if row["method"] == "faithful"]
    assert picked.count(0.2) > len(picked) / 2
    quinlan = stored_points(arm)["quinlan", ""]
    assert set(quinlan.fronts) == {*FRONTS, JOINTLY}
    assert quinlan.conflict > 50


def test_the_stored_cart_results_are_what_the_documents_say() -> None:
    points = stored_points("cart")
    for method, least in {"sibling": 8.5, "redundancy": 11.1, "exact": 16.9}.items():
        point = points[method, ""]
        assert point.removed >= least
        assert point.conflict == point.macro_dev == point.delta_accuracy == 0
    mismatch = points["mismatch", "the paper's ε"]
    assert mismatch.removed == pytest.approx(27.1, abs=0.05)
    assert mismatch.conflict <= 2.3
    assert mismatch.macro_dev <= 1.0
    default = points["budgeted", "0.015"]
    assert default.removed >= 41.7
    assert default.conflict <= 1.75
    assert default.macro_dev <= 0.64
    by_folds = points["budgeted", "by folds"]
    assert by_folds.removed >= 42.5
    assert by_folds.conflict <= 2.05


@pytest.mark.parametrize("arm", ["cart", "optimal"])
def test_nothing_of_the_papers_four_but_quinlan_is_on_the_front_of_conflict(arm: str) -> None:
    on_front = {point.method for point in stored_points(arm).values() if "conflict" in point.fronts}
    assert {"exact", "budgeted"} <= on_front
    assert on_front & set(beyond.PAPER_METHODS) == {"quinlan"}


def test_a_point_is_on_a_front_when_nothing_removes_as_much_for_less() -> None:
    def row(method: str, knob: str, removed: float, conflict: float) -> dict[str, Any]:
        rest = {**dict.fromkeys(beyond.METRICS, 0.0), "macro_dev": conflict, "delta_accuracy": -conflict}
        rest |= {"delta_brier": conflict, "mean_abs_delta_p": conflict, "removed": removed, "conflict": conflict}
        return {"dataset": "german", "method": method, "knob": knob, **rest}

    table = [
        row("exact", "", 10, 0),
        row("sibling", "", 9, 0),  # exact removes more for the same
        row("faithful", "0", 20, 2),
        row("faithful", "0.1", 20, 3),  # dearer than the one above
        row("budgeted", "0.01", 30, 2.5),
        row("mismatch", "0", 30, 2.5),  # a tie beats neither
    ]
    fronts = {(point.method, point.knob): point.fronts for point in find_fronts(table)}
    everything = (*FRONTS, JOINTLY)
    assert fronts == {
        ("exact", ""): everything,
        ("sibling", ""): (),
        ("faithful", "0"): everything,
        ("faithful", "0.1"): (),
        ("budgeted", "0.01"): everything,
        ("mismatch", "0"): everything,
    }


def test_points_have_one_order_values_first_then_names() -> None:
    row = {**dict.fromkeys(beyond.METRICS, 0.0), "dataset": "german", "method": "faithful"}
    table = [{**row, "knob": knob} for knob in ("the paper's ε", "0.1", "by folds", "0.05")]
    assert [point.knob for point in find_fronts(table)] == ["0.05", "0.1", "by folds", "the paper's ε"]


def test_the_joint_front_asks_for_all_prices_at_once() -> None:
    names = ("removed", "conflict", "macro_dev", "delta_brier")
    rows = [
        {**dict.fromkeys(beyond.METRICS, 0.0), **dict(zip(names, numbers, strict=True)), "dataset": "german"}
        | {"method": method, "knob": ""}
        for method, numbers in {
            "exact": (10, 0, 0, 0.2),
            "sibling": (5, 0, 0, 0.1),
            "redundancy": (5, 0, 0, 0.2),
        }.items()
    ]
    fronts = {point.method: point.fronts for point in find_fronts(rows)}
    assert JOINTLY in fronts["exact"]
    assert JOINTLY in fronts["sibling"]  # removes less than exact, at a better Brier score
    assert JOINTLY not in fronts["redundancy"]


def test_the_largest_move_of_a_rule_is_the_largest_of_all_splits() -> None:
    row = {**dict.fromkeys(beyond.METRICS, 1.0), "method": "exact", "knob": ""}
    splits = [{"dataset": "german", "rows": [{**row, "max_abs_d": d, "mean_abs_d": d}]} for d in (0.1, 0.3)]
    (found,) = summarize_beyond(splits)
    assert (found["max_abs_d"], found["mean_abs_d"]) == (0.3, pytest.approx(0.2))


def test_saved_trees_have_no_knob_by_folds(data_dir: str, tmp_path: Path) -> None:
    data = load("backache", data_dir)
    assert pick_knobs(find_arm("optimal", str(tmp_path)), data, 0) == {}


def test_the_tree_of_a_fold_is_fitted_once_for_all_methods(output: Path) -> None:
    assert output.is_dir()
    assert FITTED.count(10) == 5  # the trees of folds; that of the split has more restarts


def test_the_command_writes_tables_and_figures(output: Path) -> None:
    for arm in ("cart", "optimal"):
        rows = list(csv.DictReader((output / f"beyond_{arm}_by_dataset.csv").read_text().splitlines()))
        assert {row["method"] for row in rows} == set(beyond.KNOBS)
        assert (output / f"beyond_{arm}.svg").stat().st_size > 1000
        assert (output / f"beyond_{arm}.png").stat().st_size > 1000
    text = (output / "report_beyond.md").read_text()
    assert text.count("| budgeted |") == 2 * (len(beyond.BUDGETS) + 1)
    assert text.count("| faithful | by folds |") == 2
    assert text.count("### What folds pick") == 2
    assert "| sibling (paper) |" in text
    assert text.count("### Lists: how short") == 2
    assert text.count("| the list |") == 2 * (len(lists.EXACT_FORMS) + len(lists.BUDGETS))
    assert text.count("| the tree pruned, leaf by leaf |") == len(lists.BUDGETS) + 1  # of CART trees alone
    assert (output / "lists.svg").stat().st_size > 1000
