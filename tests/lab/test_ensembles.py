"""The stored lists of ensembles, ours beside those of other tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.paper.ensembles import (
    KINDS,
    OURS,
    compare_lists,
    find_gains,
    load_coverage,
    load_lists,
    make_blocks,
    store_lists,
)
from secateur.lab.protocol import DATASETS


def test_ours_is_never_longer_than_the_list_beside_it() -> None:
    for one in compare_lists():
        for mine, theirs in one["pairs"]:
            assert mine["n_conditions"] <= max(1, theirs["n_conditions"])


@pytest.mark.parametrize("kind", KINDS)
def test_ours_is_more_faithful_on_average_and_on_most_data_sets(kind: str) -> None:
    """Where TE2Rules did not end within its time, ours is the only list."""
    gains = find_gains(kind)
    n_alone = len(DATASETS) - len(gains)
    assert sum(gains.values()) > 0
    assert sum(gain > 0 for gain in gains.values()) + n_alone >= 6


def test_the_interval_holds_the_fidelity_on_fresh_rows() -> None:
    covered, total = load_coverage()
    assert total >= 300
    assert covered >= 0.94 * total


def test_every_data_set_has_a_list_of_ours() -> None:
    found = {(row["kind"], row["dataset"]) for row in load_lists() if row["approach"] == OURS and row["ended"] == "yes"}
    assert found == {(kind, dataset) for kind in KINDS for dataset in DATASETS}


def test_ours_has_every_split_and_so_have_lists_that_are_quick() -> None:
    for approach in (OURS, "greedy-list", "skope-rules"):
        found = {
            (row["kind"], row["dataset"], row["split"])
            for row in load_lists()
            if (row["approach"], row["ended"]) == (approach, "yes")
        }
        assert found == {(kind, dataset, split) for kind in KINDS for dataset in DATASETS for split in range(10)}


@pytest.mark.parametrize("kind", KINDS)
def test_data_sets_without_another_list_are_told_apart(kind: str) -> None:
    """What TE2Rules did not end is no win of ours."""
    gains = find_gains(kind)
    line = next(line for line in make_blocks()["lists-words"].splitlines() if line.startswith(f"- {KINDS[kind]}: "))
    won = sum(gain > 0 for gain in gains.values())
    assert f"more faithful on {won} of the {len(gains)} data sets on which TE2Rules ended" in line
    alone = [name for name in DATASETS if name not in gains]
    assert all(name in line.split("On the other")[1] for name in alone)
    assert f"On the other {len(alone)}, " in line
    assert "TE2Rules gave no list in 120 s" in line


def test_the_table_has_a_line_for_each_kind_and_data_set() -> None:
    assert make_blocks()["lists"].count("\n") == 2 + len(KINDS) * len(DATASETS)


def test_lists_are_stored_as_they_were_measured(tmp_path: Path) -> None:
    place = tmp_path / "ensembles" / "te2rules" / "forest" / "german"
    place.mkdir(parents=True)
    (place / "03.json").write_text(json.dumps({"version": "1", "ended": "time limit", "limit": None}))
    assert store_lists(tmp_path, tmp_path / "kept.csv") == 1
    header, line = (tmp_path / "kept.csv").read_text().splitlines()
    assert dict(zip(header.split(","), line.split(","), strict=True))["ended"] == "time limit"
    assert line.startswith("te2rules,forest,german,3,1,time limit,,")
