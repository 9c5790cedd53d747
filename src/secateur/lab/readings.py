"""Other readings of what the paper leaves open, measured on the same splits.

- Quinlan's procedure with ties (equal certainty factor, equal p) broken towards the leaf; ours breaks them towards the
  root.
- Izza's procedure with single conditions as its unit, which is our ``exact``; ours drops whole features.
- How often a precision is undefined, because no test row is predicted to be of that class; ours is then 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import secateur
from secateur.datasets import Dataset
from secateur.lab.pages import FAR, Page
from secateur.lab.protocol import DATASETS, METRICS, TOLERANCES, Arm, Study, split_rows
from secateur.lab.summary import HEADLINES, compare, describe_rows
from secateur.methods.fisher import fisher_greater
from secateur.methods.quinlan import CERTAINTY_TOLERANCE, P_TOLERANCE
from secateur.tree.shares import none_if_nan

__all__ = [
    *("LEAF_TIES", "READINGS", "SINGLE_CONDITIONS", "Fit", "count_undefined", "fit_readings", "measure_readings"),
    *("readings_page", "shorten_by_quinlan"),
]

ALPHA = 0.01
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
    model = arm.fit(data, split, X_train, y_train)
    quinlan = secateur.simplify(model, X_train, y_train, method="quinlan", each_leaf=True)
    found = {
        LEAF_TIES: shorten_by_quinlan(quinlan, X_train, y_train, ties="leaf"),
        SINGLE_CONDITIONS: secateur.simplify(model, X_train, y_train, method="exact", each_leaf=True),
        "Quinlan": quinlan,
        "M1-P": secateur.simplify(
            model, X_train, y_train, method="M1-P", each_leaf=True, tolerance=TOLERANCES[data.name]
        ),
    }
    by_tree = found[SINGLE_CONDITIONS].predict(X_test)  # exact: the tree's own predictions
    rows = []
    for method, rules in found.items():
        audit = rules.audit(X_test, y_test)
        measured = {column: none_if_nan(getattr(audit, metric)) for column, metric in METRICS.items()}
        n_given = min(len(set(labels.tolist())) for labels in (by_tree, rules.predict(X_test)))
        rows.append({"method": method, **measured, "undefined": int(n_given < rules.tree.n_classes)})
    return {"n_rules": len(quinlan), "rows": rows}


READINGS = Study("readings", measure_readings, {"alpha": ALPHA})


def fit_readings(arm: Arm, splits: Sequence[dict[str, Any]], table: Sequence[dict[str, Any]]) -> list[Fit]:
    """Compare our readings (``table``: the paper's procedures by data set) and the other ones with the paper."""
    fits = []
    for other, method in READ_AS.items():
        found = []
        for dataset in DATASETS:
            mine = [row for split in splits if split["dataset"] == dataset for row in split["rows"]]
            rows = [row for row in mine if row["method"] == other]
            if rows:
                named = {"dataset": dataset, "method": method, "splits": len(rows)}
                found.append({**named, **describe_rows(rows)})
        ours = [row for row in table if row["method"] == method]
        fits += [_fit(method, ours, arm.beside), _fit(other, found, arm.beside)]
    return fits


def _fit(reading: str, table: list[dict[str, Any]], beside: str) -> Fit:
    distances = [cell.distance for cell in compare(table, beside, HEADLINES)]
    finite = [distance for distance in distances if math.isfinite(distance)]
    rms = math.sqrt(sum(distance**2 for distance in finite) / len(finite)) if finite else math.nan
    return Fit(reading, len(distances), rms, sum(abs(distance) > FAR for distance in distances))


def count_undefined(splits: Sequence[dict[str, Any]], method: str) -> int:
    """Count the splits in which the tree or the rules predict one class only for all test rows."""
    return sum(row["undefined"] for split in splits for row in split["rows"] if row["method"] == method)


def readings_page(arm: Arm, fits: Sequence[Fit]) -> Page:
    """Show how near each reading comes to the paper."""
    return Page(
        f"Other readings, {arm.learner}",
        f"{arm.title}; RuleIRC, IRC/rule, ΔAccuracy, conflict and MacroDev of every data set, beside the paper's "
        f"{arm.beside} columns",
        ("reading", "numbers", "root mean square of diff/SE", f"beyond {FAR:g} SE"),
        tuple((fit.reading, str(fit.n_numbers), f"{fit.rms:.2f}", str(fit.n_far)) for fit in fits),
    )


def shorten_by_quinlan(rules: secateur.Rules, X: Any, y: Any, *, ties: str) -> secateur.Rules:
    """Shorten the rules by Quinlan's procedure, with ties broken towards the "root" or the "leaf".

    Plain masks over the rows, condition by condition: no missing values, no categories.
    """
    tree, paths = rules.tree, rules.paths
    X = np.asarray(X, dtype=np.float32).astype(np.float64)
    is_right_side = np.zeros(tree.n_nodes, dtype=bool)
    is_right_side[tree.children_right[~tree.is_leaf]] = True
    deleted = np.zeros(len(paths.links), dtype=bool)
    counts = np.array(rules.covered_counts)
    for rule in range(paths.n_rules):
        own = tree.classes[paths.leaf_class[rule]] == np.asarray(y)
        entries = np.flatnonzero(paths.rule == rule).tolist()  # root to leaf
        masks = {}
        for entry in entries:
            link, parent = paths.links[entry], paths.parent[paths.links[entry]]
            masks[entry] = (X[:, tree.feature[parent]] > tree.threshold[parent]) == is_right_side[link]
        gone = _delete_one_by_one(masks, own, backwards=ties == "leaf")
        deleted[gone] = True
        inside = _all([masks[entry] for entry in entries if entry not in gone], len(X))
        counts[rule] = [np.sum(inside & (np.asarray(y) == label)) for label in tree.classes]
    return rules.change(deletions=replace(rules.deletions, deleted=deleted), covered_counts=counts)


def _delete_one_by_one(masks: dict[int, NDArray[np.bool_]], own: NDArray[np.bool_], *, backwards: bool) -> list[int]:
    gone: list[int] = []
    if not _all(list(masks.values()), len(own)).any():
        return gone  # no row, no certainty
    while True:
        kept = [entry for entry in masks if entry not in gone]
        inside = _all([masks[entry] for entry in kept], len(own))
        right, total = np.count_nonzero(inside & own), np.count_nonzero(inside)
        deletable: list[tuple[float, float, int]] = []  # certainty left, p, condition
        for entry in reversed(kept) if backwards else kept:
            wide = _all([masks[other] for other in kept if other != entry], len(own))
            wide_right, wide_total = np.count_nonzero(wide & own), np.count_nonzero(wide)
            table = (right, total, wide_right - right, wide_total - total)
            p = float(fisher_greater(*(np.array([float(number)]) for number in table))[0])
            certainty = wide_right / wide_total
            if certainty >= right / total - CERTAINTY_TOLERANCE or p > ALPHA * (1 + P_TOLERANCE):
                deletable.append((certainty, p, entry))
        if not deletable:
            return gone
        surest = [(p, entry) for certainty, p, entry in deletable if certainty == max(one[0] for one in deletable)]
        least = max(p for p, _ in surest) * (1 - P_TOLERANCE)
        gone.append(next(entry for p, entry in surest if p >= least))


def _all(masks: list[NDArray[np.bool_]], n_rows: int) -> NDArray[np.bool_]:
    every: NDArray[np.bool_] = np.logical_and.reduce(masks) if masks else np.ones(n_rows, dtype=bool)
    return every
