"""Means over splits and data sets, beside the paper's numbers; and its choice of ε.

The paper does not print its ε. Ours is the value of its grid whose M1-P numbers come nearest to the printed ones.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from secateur.lab.protocol import DATASETS, METHODS, METRICS, N_SPLITS, TOLERANCES
from secateur.methods import find_method
from secateur.tree.shares import none_if_nan

STORED = files("secateur.lab") / "stored"  # what we ran; nothing in it was typed
NO_SPREAD = 1e-9  # a standard error that is rounding only
LEAST_SPLITS = 5  # fewer say nothing about how much splits differ
PAPER_COLUMNS = tuple(METRICS)[:9]  # those of the paper's tables by data set
HEADLINES = ("rule_irc_pct", "irc_per_rule_pct", "delta_accuracy_pp", "conflict_pct", "macro_dev_pp")


@dataclass(frozen=True)
class Cell:
    """One number of ours beside the paper's."""

    dataset: str
    method: str
    column: str
    ours: float
    theirs: float
    distance: float  # the difference in standard errors; NaN where there are too few splits


def list_rows(splits: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """List the rows of all splits, each with its data set."""
    return pd.DataFrame([{"dataset": split["dataset"], **row} for split in splits for row in split["rows"]])


def summarize(splits: Sequence[dict[str, Any]], learner: str, tolerances: Mapping[str, float]) -> list[dict[str, Any]]:
    """Make a row for each data set and procedure: mean and standard deviation of every metric over the splits."""
    table = []
    for dataset in DATASETS:
        mine = [split for split in splits if split["dataset"] == dataset]
        for method in METHODS if mine else ():
            wanted = tolerances[dataset] if method == "M1-P" else None
            rows = [
                row for split in mine for row in split["rows"] if (row["method"], row["tolerance"]) == (method, wanted)
            ]
            settings = find_method(method).describe() | ({} if wanted is None else {"tolerance": wanted})
            listed = " ".join(f"{name}={value}" for name, value in settings.items())
            named = {"learner": learner, "dataset": dataset, "method": method, "settings": listed}
            table.append({**named, "splits": len(rows), **describe_rows(rows)})
    return table


def aggregate(table: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make a row for each procedure: mean and standard deviation across the data-set means."""
    by_method = {method: [row for row in table if row["method"] == method] for method in METHODS}
    return [
        {"learner": mine[0]["learner"], "method": method, **describe_rows(mine)}
        for method, mine in by_method.items()
        if mine
    ]


def describe_rows(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Take the mean and the standard deviation of every metric, over the rows for which it is defined."""
    frame = pd.DataFrame(rows, columns=list(METRICS)).astype(np.float64)
    frame["irc_per_rule_pct"] = frame["irc_per_rule_pct"].mask(frame["rule_irc_pct"] == 0)
    means, spreads = frame.mean().to_dict(), frame.std().to_dict()
    described: dict[str, float | None] = {}
    for column in METRICS:
        described |= {column: means[column], f"{column}_sd": none_if_nan(spreads[column])}
    return described


def compare(table: Sequence[dict[str, Any]], beside: str, columns: Sequence[str] = PAPER_COLUMNS) -> list[Cell]:
    """Put our numbers beside those of one of the paper's learners, cell by cell."""
    paper = {(row["dataset"], row["method"]): row for row in expected_by_dataset() if row["learner"] == beside}
    cells = []
    for row in table:
        key = row["dataset"], row["method"]
        for column in columns:
            ours, theirs = row[column], paper[key][column]
            cells.append(Cell(*key, column, ours, theirs, _distance(ours - theirs, standard_error(row, column))))
    return cells


def mean_distance(table: Sequence[dict[str, Any]], method: str, column: str, theirs: float) -> float:
    """Measure how far the mean over data sets is from the paper's, in standard errors of that mean."""
    mine = [row for row in table if row["method"] == method]
    gap = fmean(row[column] for row in mine) - theirs
    return _distance(gap, math.sqrt(sum(standard_error(row, column) ** 2 for row in mine)) / len(mine))


def standard_error(row: Mapping[str, Any], column: str) -> float:
    """Estimate how much both sides vary over their splits, the paper's over 30; NaN where there are too few splits."""
    sd = row[f"{column}_sd"]
    return (
        math.nan
        if sd in (None, "") or row["splits"] < LEAST_SPLITS
        else float(sd * math.sqrt(1 / row["splits"] + 1 / N_SPLITS))
    )


def _distance(gap: float, error: float) -> float:
    # A column that never varies (an exact method's conflict) must agree to the paper's last digit; NaN stays NaN.
    return (0.0 if abs(gap) <= 0.005 else math.inf) if error < NO_SPREAD else gap / error


def load_counted(name: str) -> Any:
    """Read what was timed or counted whole: ``runtime``, ``operations`` or ``deterministic_states``."""
    return json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))


def expected_by_dataset() -> list[dict[str, Any]]:
    """Read the paper's numbers for each learner, data set and procedure."""
    return _read("by_dataset.csv")


def expected_aggregate() -> list[dict[str, Any]]:
    """Read the paper's means and standard deviations over data sets."""
    return _read("aggregate.csv")


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write rows as CSV; numbers keep six digits after the point."""
    return str(pd.DataFrame(rows).to_csv(index=False, float_format="%.6f", lineterminator="\n"))


def _read(name: str) -> list[dict[str, Any]]:
    with (files("secateur.lab") / "expected" / name).open(encoding="utf-8") as file:
        rows: list[dict[str, Any]] = pd.read_csv(file).to_dict("records")
    return rows


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
