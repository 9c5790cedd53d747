"""The paper's descriptive choice of ε, most deletion with accuracy not falling and conflict at most 5 %; and its own.

The paper does not print its ε. Ours is the value of its grid whose M1-P numbers come nearest to the printed ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from secateur.lab.protocol import DATASETS, GRID, TOLERANCES, Arm
from secateur.lab.summary import HEADLINES, compare, list_rows, summarize

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
    rows = pd.concat([list_rows(splits).assign(arm=arm) for arm, splits in enumerate(arms)])
    columns = ["removed_pct", "delta_accuracy_pp", "conflict_pct"]
    means = rows[rows["method"] == "M1-P"].groupby(["dataset", "tolerance", "arm"])[columns].mean()
    is_feasible = (means["delta_accuracy_pp"] >= 0) & (means["conflict_pct"] <= CONFLICT_CEILING)
    removed = means["removed_pct"].groupby(level=["dataset", "tolerance"]).mean()
    feasible = removed[is_feasible.groupby(level=["dataset", "tolerance"]).all()]
    return [
        Choice(
            dataset,
            float(feasible[dataset].idxmax()) if dataset in feasible else None,
            TOLERANCES[dataset],
            removed[dataset].to_dict(),
        )
        for dataset in DATASETS
        if dataset in removed
    ]


def count_nearest(arm: Arm, splits: Sequence[dict[str, Any]], *, in_points: bool = False) -> int:
    """Count the data sets of an arm on which M1-P is nearest to the paper's headlines at our tolerance of the grid."""
    far: dict[str, dict[float, float]] = {}
    for tolerance in GRID:
        table = summarize(splits, arm.learner, dict.fromkeys(DATASETS, tolerance))
        for cell in compare([row for row in table if row["method"] == "M1-P"], arm.beside, HEADLINES):
            sums = far.setdefault(cell.dataset, dict.fromkeys(GRID, 0.0))
            sums[tolerance] += (cell.ours - cell.theirs if in_points else cell.distance) ** 2
    return sum(min(GRID, key=lambda one: sums[one]) == TOLERANCES[dataset] for dataset, sums in far.items())
