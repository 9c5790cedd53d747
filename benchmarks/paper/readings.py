"""Other readings of what the paper leaves open, measured on the same splits.

- Quinlan's procedure with ``ties="leaf"``; ours breaks ties (equal certainty factor, equal p) towards the root.
- Izza's procedure with single conditions as its unit, which is our ``exact``; ours drops whole features.
- How often a precision is undefined, because no test row is predicted to be of that class; ours is then 0.

``python -m benchmarks.paper.readings`` measures them, beside what ``secateur reproduce all`` wrote.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import secateur
from secateur.datasets import Dataset
from secateur.lab.pages import FAR
from secateur.lab.protocol import (
    DATASETS,
    N_SPLITS,
    TOLERANCES,
    Arm,
    Study,
    find_arm,
    measure_rules,
    run_arm,
    split_rows,
)
from secateur.lab.summary import HEADLINES, compare, describe_rows, list_rows

LEAF_TIES, SINGLE_CONDITIONS = "Quinlan, ties to the leaf", "Izza, single conditions"
READ_AS = {LEAF_TIES: "Quinlan", SINGLE_CONDITIONS: "Izza"}  # whose numbers in the paper they would have to meet


@dataclass(frozen=True)
class Fit:
    """How near a reading comes to the paper's numbers of its procedure, all data sets together."""

    reading: str
    n_numbers: int
    rms: float  # root mean square of the differences, in standard errors; those of numbers that never vary left out
    n_far: int  # differences of more than three standard errors, or in a number that never varies


def measure_readings(arm: Arm, data: Dataset, split: int) -> dict[str, Any]:
    """Fit one tree and measure the other readings on it; M1-P and Quinlan as we read them for what is undefined."""
    X_train, X_test, y_train, y_test = split_rows(data, split)
    shorten = partial(secateur.simplify, arm.fit(data, split, X_train, y_train), X_train, y_train, each_leaf=True)
    found = {
        LEAF_TIES: shorten(method="quinlan", ties="leaf"),
        SINGLE_CONDITIONS: shorten(method="exact"),
        "Quinlan": shorten(method="quinlan"),
        "M1-P": shorten(method="M1-P", tolerance=TOLERANCES[data.name]),
    }
    by_tree = found[SINGLE_CONDITIONS].predict(X_test)  # exact: the tree's own predictions
    rows = []
    for method, rules in found.items():
        measured = measure_rules(rules, X_test, y_test)
        n_given = min(len(set(labels.tolist())) for labels in (by_tree, rules.predict(X_test)))
        rows.append({"method": method, **measured, "undefined": int(n_given < rules.tree.n_classes)})
    return {"n_rules": len(rules), "rows": rows}


READINGS = Study("readings", measure_readings)


def fit_readings(arm: Arm, splits: Sequence[dict[str, Any]], table: Sequence[dict[str, Any]]) -> list[Fit]:
    """Compare our readings (``table``: the paper's procedures by data set) and the other ones with the paper."""
    fits = []
    rows = list_rows(splits)
    for other, method in READ_AS.items():
        found = [
            {"dataset": dataset, "method": method, "splits": len(mine), **describe_rows(mine.to_dict("records"))}
            for dataset, mine in rows[rows["method"] == other].groupby("dataset", sort=False)
        ]
        ours = [row for row in table if row["method"] == method]
        fits += [_fit(method, ours, arm.beside), _fit(other, found, arm.beside)]
    return fits


def _fit(reading: str, table: list[dict[str, Any]], beside: str) -> Fit:
    distances = [cell.distance for cell in compare(table, beside, HEADLINES)]
    finite = [distance for distance in distances if math.isfinite(distance)]
    rms = math.sqrt(sum(distance**2 for distance in finite) / len(finite)) if finite else math.nan
    return Fit(reading, len(distances), rms, sum(abs(distance) > FAR for distance in distances))


RUN: dict[str, Any] = {"n_jobs": 2, "data_dir": None, "progress": print}


def main() -> None:
    """Measure the other readings on both arms; finished splits in ./reproduction are reused."""
    for name in ("cart", "optimal"):
        run_arm(find_arm(name, None), DATASETS, N_SPLITS, Path("reproduction"), study=READINGS, **RUN)


if __name__ == "__main__":
    main()
