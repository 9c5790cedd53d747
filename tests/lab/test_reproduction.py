"""The class-probability arms: stored results, resuming, reports, and agreement with the paper."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import math
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from drawing import further
from stored_results import skip_if_older
from typer.testing import CliRunner

import secateur
from benchmarks.paper import documents, figures, readings
from benchmarks.paper.stored import load_study, load_table, load_versions, store_run
from secateur.cli.main import app
from secateur.datasets import load
from secateur.lab import exhibits, pages, protocol, runtime, summary
from secateur.lab.protocol import ARMS, METRICS, PAPER, TOLERANCES, Study, find_arm, run_split
from secateur.lab.summary import STORED, load_counted

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

MANY_ROWS = ("adult", "EEG", "spambase")
FEW_ROWS = [dataset for dataset in protocol.DATASETS if dataset not in MANY_ROWS]


@pytest.mark.drawn
@pytest.mark.parametrize(
    ("arm", "dataset"),
    [  # each data set with one arm: the search takes seconds where rows are many
        *zip(itertools.cycle(["optimal", "cart"]), FEW_ROWS, strict=False),
        *(("cart", dataset) for dataset in MANY_ROWS),
        *further(zip(itertools.cycle(["cart", "optimal"]), FEW_ROWS, strict=False)),
        *further(("optimal", dataset) for dataset in MANY_ROWS),
    ],
)
def test_a_split_gives_the_stored_result(arm: str, dataset: str, data_dir: str) -> None:
    """Any drift in a tree, a method or a metric shows here; a newer scikit-learn that gives other trees does, too."""
    skip_if_older(load_versions("splits")["scikit-learn"])
    number = {"adult": 0, "EEG": 1, "spambase": 2}.get(dataset, 3)
    found = run_split(ARMS[arm], load(dataset, data_dir), number)
    (wanted,) = [s for s in load_study("splits", arm) if (s["dataset"], s["split"]) == (dataset, number)]
    assert found["n_rules"] == wanted["n_rules"]
    for ours, theirs in zip(found["rows"], wanted["rows"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-8)


@pytest.mark.parametrize(("arm", "dataset"), [("cart", "heart-h"), ("cart", "german"), ("optimal", "backache")])
def test_other_readings_of_a_split_give_the_stored_result(arm: str, dataset: str, data_dir: str) -> None:
    skip_if_older(load_versions("readings")["scikit-learn"])
    found = readings.measure_readings(ARMS[arm], load(dataset, data_dir), 3)
    (wanted,) = [s for s in load_study("readings", arm) if (s["dataset"], s["split"]) == (dataset, 3)]
    for ours, theirs in zip(found["rows"], wanted["rows"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-8)


def test_our_readings_are_those_of_the_tables() -> None:
    """The study of readings measures M1-P and Quinlan, too, for what is undefined: they are the ones of the tables."""
    for arm in ("cart", "optimal"):
        tables = {(s["dataset"], s["split"]): s["rows"] for s in load_study("splits", arm)}
        for split in load_study("readings", arm):
            rows = tables[split["dataset"], split["split"]]
            for method, tolerance in {"Quinlan": None, "M1-P": TOLERANCES[split["dataset"]]}.items():
                (ours,) = [row for row in rows if (row["method"], row["tolerance"]) == (method, tolerance)]
                (again,) = [row for row in split["rows"] if row["method"] == method]
                assert {c: again[c] for c in METRICS} == pytest.approx({c: ours[c] for c in METRICS}, abs=1e-8)


@pytest.mark.parametrize("arm", ["cart", "optimal"])
def test_the_stored_tables_follow_from_the_stored_splits(arm: str) -> None:
    table = summary.summarize(load_study("splits", arm), ARMS[arm].learner, TOLERANCES)
    for derived, written in zip(table, load_table(arm), strict=True):
        assert derived == pytest.approx(written, abs=2e-6)


def test_the_grid_picks_the_documented_tolerances() -> None:
    choices = summary.choose_tolerances([load_study("splits", "cart"), load_study("splits", "optimal")])
    assert [choice.picked for choice in choices] == [0.0, 0.03, 0.2, 0.0, 0.01, 0.1, 0.05, 0.2]


def test_the_stored_cart_arm_agrees_with_the_paper() -> None:
    cells = summary.compare(load_table("cart"), "CART")
    assert len(cells) == 288
    assert sum(abs(cell.distance) <= 3 for cell in cells) == 286
    removed = {row["method"]: row["removed_pct"] for row in summary.aggregate(load_table("cart"))}
    assert removed["M1-P"] == pytest.approx(27.1, abs=0.3)
    assert removed["M2-P"] == pytest.approx(8.6, abs=0.05)
    assert removed["Izza"] == pytest.approx(11.1, abs=0.05)


def test_the_stored_stand_in_comes_near_the_papers_iai_columns() -> None:
    ours = {row["method"]: row for row in summary.aggregate(load_table("optimal"))}
    paper = {row["method"]: row for row in summary.expected_aggregate() if row["learner"] == "IAI"}
    for method in ("M1-P", "M2-P", "Izza"):
        assert ours[method]["rule_irc_pct"] == pytest.approx(paper[method]["rule_irc_pct"], abs=3)
        assert ours[method]["irc_per_rule_pct"] == pytest.approx(paper[method]["irc_per_rule_pct"], abs=1.5)


def test_the_stored_tables_have_the_papers_columns_and_more() -> None:
    paper = (files("secateur.lab") / "expected" / "by_dataset.csv").read_text(encoding="utf-8").splitlines()[0]
    for arm in ("cart", "optimal"):
        header = (STORED / f"{arm}_by_dataset.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
        assert set(paper.split(",")) <= set(header)
        assert {"removed_pct", *(f"{column}_sd" for column in METRICS)} <= set(header)
        assert len(load_table(arm)) == 32


def test_a_finished_split_is_reused_and_a_damaged_one_is_run_again(data_dir: str, tmp_path: Path) -> None:
    ran: list[int] = []

    def count(arm: Any, data: Any, split: int) -> dict[str, Any]:
        ran.append(split)
        return run_split(arm, data, split)

    go = {"n_jobs": 1, "data_dir": data_dir, "progress": lambda name: None, "study": Study("splits", count)}
    first = protocol.run_arm(ARMS["cart"], ["backache"], 3, tmp_path, **go)
    assert ran == [0, 1, 2]
    (tmp_path / "splits" / "cart" / "backache" / "01.json").write_text('{"half')
    again = protocol.run_arm(ARMS["cart"], ["backache"], 3, tmp_path, **go)
    assert ran == [0, 1, 2, 1]
    assert again == first
    assert not list(tmp_path.rglob(".*"))  # nothing half-written


def test_results_of_another_version_or_split_are_not_reused(data_dir: str, tmp_path: Path) -> None:
    measured = run_split(ARMS["cart"], load("backache", data_dir), 0)
    where = (tmp_path, PAPER, ARMS["cart"], "backache")
    result = protocol.save_split(*where, 0, measured)
    assert protocol.load_split(*where, 0) == result
    assert measured.items() <= result.items()
    place = tmp_path / "splits" / "cart" / "backache"
    (place / "01.json").write_text((place / "00.json").read_text())
    assert protocol.load_split(*where, 1) is None
    protocol.save_split(*where, 0, {**measured, "scikit-learn": "0.0"})
    assert protocol.load_split(*where, 0) is None
    protocol.save_split(*where, 0, {**measured, "sources": "other"})
    assert protocol.load_split(*where, 0) is None  # a method changed, the version did not
    protocol.save_split(*where, 0, measured)
    other = replace(PAPER, settings={"budgets": [0.01]})
    assert protocol.load_split(tmp_path, other, ARMS["cart"], "backache", 0) is None


def test_a_change_of_what_decides_results_changes_the_digest_and_no_other_does(tmp_path: Path) -> None:
    decides = [f"{room}/one.py" for room in ("methods", "tree", "kernels", "counting")]
    decides += ["lab/protocol.py", "lab/sparse.py", "simplification.py"]
    shows = ["cli/one.py", "report/one.py", "lab/summary.py", "methods/notes.txt"]
    for name in (*decides, *shows):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("first")
    before = protocol.digest_sources.__wrapped__(tmp_path)
    for name in shows:
        (tmp_path / name).write_text("second")
    assert protocol.digest_sources.__wrapped__(tmp_path) == before
    for name in decides:
        (tmp_path / name).write_text("second")
        after = protocol.digest_sources.__wrapped__(tmp_path)
        assert after != before
        before = after


def test_saved_trees_stand_in_for_fitted_ones(data_dir: str, tmp_path: Path) -> None:
    from sklearn.model_selection import train_test_split

    data = load("backache", data_dir)
    X, _, y, _ = train_test_split(data.X, data.y, test_size=0.3, stratify=data.y, random_state=0)
    tree = secateur.from_model(ARMS["cart"].fit(data, 0, X, y), feature_names=data.feature_names)
    path = tmp_path / "backache" / "0.json"
    path.parent.mkdir()
    path.write_text(tree.to_json())
    arm = find_arm("optimal", str(tmp_path))
    result = run_split(arm, data, 0)
    assert result["rows"] == run_split(ARMS["cart"], data, 0)["rows"]
    stored_result = protocol.save_split(tmp_path, PAPER, arm, "backache", 0, result)
    assert protocol.load_split(tmp_path, PAPER, arm, "backache", 0) == stored_result
    path.write_text(replace(tree, feature_names=tree.feature_names[::-1]).to_json())
    assert protocol.load_split(tmp_path, PAPER, arm, "backache", 0) is None  # another tree, another result
    with pytest.raises(secateur.errors.InputError, match=r"0\.json tests other columns than backache"):
        run_split(arm, data, 0)
    path.write_text(replace(tree, classes=np.array(["no", "yes"]), class_names=("no", "yes")).to_json())
    with pytest.raises(secateur.errors.InputError, match=r"predicts \['no', 'yes'\], but the classes .* coded 0 and 1"):
        run_split(arm, data, 0)
    with pytest.raises(secateur.errors.InputError, match=r"Expected a saved tree at .*1\.json"):
        run_split(arm, data, 1)


def test_distances_are_in_standard_errors_of_both_sides() -> None:
    row = {"learner": "ours", "dataset": "german", "method": "M1-P", "splits": 30}
    row |= {"rule_irc_pct": 55.25, "rule_irc_pct_sd": math.sqrt(15)}
    (cell,) = summary.compare([row], "CART", ["rule_irc_pct"])
    assert (cell.theirs, cell.distance) == (54.25, pytest.approx(1.0))
    for few in ({"splits": 1, "rule_irc_pct_sd": None}, {"splits": 3, "rule_irc_pct_sd": 0.01}):
        (lonely,) = summary.compare([{**row, **few}], "CART", ["rule_irc_pct"])
        assert math.isnan(lonely.distance)
    (steady,) = summary.compare([{**row, "rule_irc_pct": 54.25, "rule_irc_pct_sd": 1e-14}], "CART", ["rule_irc_pct"])
    assert steady.distance == 0


def test_the_grid_picks_the_most_deletion_that_is_feasible_for_all_arms() -> None:
    def arm(conflicts: list[float]) -> list[dict[str, Any]]:
        rows = [
            {"method": "M1-P", "tolerance": e, "removed_pct": 10 + place, "delta_accuracy_pp": 0.1, "conflict_pct": c}
            for place, (e, c) in enumerate(zip(protocol.GRID, conflicts, strict=True))
        ]
        return [{"dataset": "german", "rows": rows}]

    (choice,) = summary.choose_tolerances([arm([0, 1, 2, 3, 4, 6]), arm([0, 1, 2, 5.1, 6, 7])])
    assert choice.picked == 0.03
    (alone,) = summary.choose_tolerances([arm([0, 1, 2, 3, 4, 6])])
    assert alone.picked == 0.1


def test_the_report_shows_every_table_with_ours_beside_the_papers() -> None:
    made = pages.make_pages(ARMS["optimal"], load_table("optimal"))
    titles = [page.title for page in made]
    assert sum("by data set" in title for title in titles) == sum("mean ± SD" in title for title in titles) == 3
    assert all("stand-in" in page.note for page in made)
    text = "\n".join(pages.to_markdown(page) for page in made)
    assert "72.66" in text  # the paper's mean RuleIRC of M1-P
    assert text.count("| spambase |") == 12
    assert "| 288 | 285 | 175 | 172 |" in text


def test_the_entropy_table_is_the_papers() -> None:
    assert exhibits.entropy_rows() == [
        ("(9,1)", "(61,29)", "0.322", "higher"),
        ("(36,4)", "(34,26)", "0.433", "higher"),
        ("(54,6)", "(16,24)", "0.600", "higher"),
        ("(63,7)", "(7,23)", "0.767", "lower"),
    ]


def test_figures_tell_c1_from_c0_without_colour() -> None:
    drawing = figures.draw_tree(figures.orientation_tree())
    assert "C0: x &lt;= 0" in drawing
    assert "C1: x &gt; 0" in drawing
    assert drawing.count("stroke-dasharray") == 1
    tree = figures.assimilation_tree()
    assert [round(share, 2) for share in (tree.counts[:, 1] / tree.counts.sum(axis=1))[[2, 3, 4, 5, 6]]] == [
        0.9,
        0.7,
        0.4,
        0.8,
        0.95,
    ]
    rule = figures.assimilated_rule()
    assert (rule.kept_ids, rule.deleted_ids) == ((2,), (3, 5))  # a strict prefix: the path to node 2
    assert rule.support > rule.source_support
    assert figures.draw_tree(tree, rule).count(", deleted") == 2


def test_a_small_runtime_study_measures_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(runtime, "LEAF_TARGETS", (4, 8))
    monkeypatch.setattr(runtime, "SEEDS", (0,))
    monkeypatch.setattr(runtime, "ROW_COUNTS", (512, 1024))
    seen: list[str] = []
    timings = runtime.run_runtime(seen.append, row_counts=(512, 1024))
    assert len(timings) == 16
    assert len(seen) == 4
    assert all(len(t.seconds) == 3 for t in timings)
    assert all(0 < t.quartiles[0] <= t.median <= t.quartiles[1] for t in timings)
    for path in runtime.draw_runtime(timings, tmp_path):
        assert path.stat().st_size > 1000


def test_every_call_of_the_runtime_study_is_stored() -> None:
    timings = load_counted("runtime")["timings"]
    assert len(timings) == 4 * (len(runtime.LEAF_TARGETS) + len(runtime.ROW_COUNTS))
    assert {len(timing["seconds"]) for timing in timings} == {len(runtime.SEEDS) * runtime.REPETITIONS}
    sizes = {(timing["panel"], timing["size"], timing["method"]) for timing in timings}
    assert set(documents.PAPER_SECONDS) <= sizes


def test_the_splits_that_all_data_sets_have_are_stored(tmp_path: Path) -> None:
    output, kept = tmp_path / "run", tmp_path / "stored"
    row = {"method": "faithful", "picked": 0.05, "allowed": True}
    for arm in ("cart", "optimal"):
        for dataset in protocol.DATASETS:
            for number in range(protocol.N_SPLITS):
                path = output / "beyond" / arm / dataset / f"{number:02d}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                found = {"secateur": "1", "scikit-learn": "2", "n_rules": 0, "rows": [{**row, "picked": number / 30}]}
                path.write_text(json.dumps(found))
    assert store_run(output, kept) == ["beyond"]
    packed = json.loads(gzip.decompress((kept / "beyond.json.gz").read_bytes()))
    assert packed["columns"] == ["method", "picked", "allowed"]
    assert packed["arms"]["cart"]["EEG"][1] == {"n_rules": 0, "rows": [["faithful", 0.033333333, True]]}
    path.unlink()  # the last split of the last data set: the others are taken
    store_run(output, kept)
    packed = json.loads(gzip.decompress((kept / "beyond.json.gz").read_bytes()))
    assert {len(splits) for splits in packed["arms"]["optimal"].values()} == {protocol.N_SPLITS - 1}
    assert {len(splits) for splits in packed["arms"]["cart"].values()} == {protocol.N_SPLITS}
    (path.parent / "00.json").unlink()
    with pytest.raises(secateur.errors.InputError, match=r"Expected finished splits of all data sets in .*optimal"):
        store_run(output, kept)


def test_te2rules_is_stored_with_its_version_and_of_cart_trees_alone(tmp_path: Path) -> None:
    output, kept = tmp_path / "run", tmp_path / "stored"
    for dataset in protocol.DATASETS:
        path = output / "te2rules" / "cart" / dataset / "00.json"
        path.parent.mkdir(parents=True)
        row = {"method": "TE2Rules", "knob": "", "paid": None}
        found = {"secateur": "1", "scikit-learn": "2", "te2rules": "3", "n_rules": 4, "rows": [row]}
        path.write_text(json.dumps(found))
    assert store_run(output, kept) == ["te2rules"]
    packed = json.loads(gzip.decompress((kept / "te2rules.json.gz").read_bytes()))
    assert list(packed["arms"]) == ["cart"]
    assert packed["te2rules"] == "3"
    assert packed["arms"]["cart"]["adult"] == [{"n_rules": 4, "rows": [["TE2Rules", "", None]]}]


def test_rows_of_the_runtime_study_are_nested_and_keep_every_leaf() -> None:
    model, X, _ = runtime.make_problem(0, 32, 4096, 16384)
    assert model.get_n_leaves() == 32
    assert len(np.unique(model.apply(X[:4096]))) == 32


def test_the_command_runs_a_slice_and_writes_whole_files(data_dir: str, tmp_path: Path) -> None:
    arguments = ["reproduce", "cart", "--datasets", "backache,ionosphere", "--splits", "2", "--jobs", "1"]
    result = CliRunner().invoke(app, [*arguments, "--data-dir", data_dir, "--output", str(tmp_path)])
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader((tmp_path / "cart_by_dataset.csv").read_text().splitlines()))
    assert [(row["dataset"], row["method"]) for row in rows[:2]] == [("backache", "M1-P"), ("backache", "M2-P")]
    report = (tmp_path / "report_cart.md").read_text()
    assert "by data set" in report
    assert report.count("| undecided") + report.count("\\| undecided") >= 2 * 4 * 9  # two splits decide nothing
    assert rows[2]["settings"] == "alpha=0.01 ties=root"
    assert json.loads((tmp_path / "tolerances.json").read_text()).keys() == {"backache", "ionosphere"}


def test_saved_trees_have_files_of_their_own(data_dir: str, tmp_path: Path) -> None:
    data, output = load("backache", data_dir), tmp_path / "out"
    saved = tmp_path / "saved" / "backache"
    saved.mkdir(parents=True)
    X, _, y, _ = protocol.split_rows(data, 0)
    model = ARMS["cart"].fit(data, 0, X, y)
    (saved / "0.json").write_text(secateur.from_model(model, feature_names=data.feature_names).to_json())
    arguments = ["reproduce", "optimal", "--datasets", "backache", "--splits", "1", "--jobs", "1", "--quiet"]
    arguments += ["--data-dir", data_dir, "--output", str(output)]
    others = ("optimal_by_dataset.csv", "report_optimal.md", "tolerances.json")
    output.mkdir()
    for name in others:
        (output / name).write_text("the stand-in's")
    result = CliRunner().invoke(app, [*arguments, "--iai-dir", str(saved.parent)])
    assert result.exit_code == 0, result.output
    assert {(output / name).read_text() for name in others} == {"the stand-in's"}
    assert {"saved_by_dataset.csv", "report_optimal_saved.md", "tolerances_saved.json"} <= {
        p.name for p in output.iterdir()
    }


def test_an_unknown_data_set_is_rejected_by_name(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["reproduce", "cart", "--datasets", "iris", "--output", str(tmp_path)])
    assert isinstance(result.exception, secateur.errors.ParameterError)
    assert "no data set 'iris'; the data sets are adult" in str(result.exception)


def test_tolerances_are_stated_for_every_data_set() -> None:
    assert set(TOLERANCES) == set(protocol.DATASETS)
    assert set(TOLERANCES.values()) <= set(protocol.GRID)
