"""The paper's descriptive choice of ε, most deletion with accuracy not falling and conflict at most 5 %; and its own.

The paper does not print its ε. Ours is the value of its grid whose M1-P numbers come nearest to the printed ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from secateur.lab.protocol import DATASETS, TOLERANCES
from secateur.lab.summary import list_rows

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
