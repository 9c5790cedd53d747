"""The paper's descriptive choice of ε, most deletion with accuracy not falling and conflict at most 5 %; and its own.

The paper does not print its ε. Ours is the value of its grid whose M1-P numbers come nearest to the printed ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from secateur.lab.protocol import DATASETS, GRID, TOLERANCES, Arm
from secateur.lab.summary import HEADLINES, compare, summarize

CONFLICT_CEILING = 5.0


@dataclass(frozen=True)
class Choice:
    """The tolerance that the grid picks for a data set; None when no value of the grid is feasible."""

    dataset: str
    picked: float | None
    assumed: float
    removed: Mapping[float, float]


def choose_tolerances(arms: Sequence[Sequence[dict[str, Any]]]) -> list[Choice]:
    """Pick one tolerance a data set, shared by the arms whose splits are given."""
    choices = []
    for dataset in DATASETS:
        removed: dict[float, float] = {}
        feasible = []
        for tolerance in GRID:
            means = [_means(splits, dataset, tolerance) for splits in arms]
            if not all(means):
                break
            removed[tolerance] = fmean(mean["removed_pct"] for mean in means)
            if all(mean["delta_accuracy_pp"] >= 0 and mean["conflict_pct"] <= CONFLICT_CEILING for mean in means):
                feasible.append(tolerance)
        if removed:
            picked = max(feasible, key=lambda tolerance: removed[tolerance]) if feasible else None
            choices.append(Choice(dataset, picked, TOLERANCES[dataset], removed))
    return choices


def count_nearest(arm: Arm, splits: Sequence[dict[str, Any]], *, in_points: bool = False) -> int:
    """Count the data sets of an arm on which M1-P is nearest to the paper at our tolerance, of all in the grid.

    Near is the root mean square difference of the five headline numbers, in standard errors or in points.
    """
    far: dict[str, dict[float, float]] = {}
    for tolerance in GRID:
        table = summarize(splits, arm.learner, dict.fromkeys(DATASETS, tolerance))
        for cell in compare([row for row in table if row["method"] == "M1-P"], arm.beside, HEADLINES):
            sums = far.setdefault(cell.dataset, dict.fromkeys(GRID, 0.0))
            sums[tolerance] += (cell.ours - cell.theirs if in_points else cell.distance) ** 2
    return sum(min(GRID, key=lambda one: sums[one]) == TOLERANCES[dataset] for dataset, sums in far.items())


def _means(splits: Sequence[dict[str, Any]], dataset: str, tolerance: float) -> dict[str, float]:
    """Average over the splits of a data set; empty where there are none."""
    rows = [
        row
        for split in splits
        if split["dataset"] == dataset
        for row in split["rows"]
        if row["method"] == "M1-P" and row["tolerance"] == tolerance
    ]
    columns = ("removed_pct", "delta_accuracy_pp", "conflict_pct") if rows else ()
    return {column: fmean(row[column] for row in rows) for column in columns}
