"""What the claims of the paper are held against: our stored results, and how far they are from its numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from secateur.datasets import load
from secateur.lab.deterministic import TABLES, DeterministicRow, reproduce_deterministic
from secateur.lab.protocol import ARMS, DATASETS, TOLERANCES
from secateur.lab.readings import Fit, count_undefined, fit_readings
from secateur.lab.stored_results import load_study, load_table, load_timings
from secateur.lab.summary import NO_SPREAD, PAPER_COLUMNS, Cell, compare, standard_error, summarize
from secateur.lab.tolerances import Choice, choose_tolerances
from secateur.simplification import simplify

__all__ = ["ARM_NAMES", "Evidence", "Measured"]

ARM_NAMES = {"optimal": "stand-in", "cart": "CART"}  # in the paper's order: IAI, CART


@dataclass(frozen=True)
class Measured:
    """A number of ours with its standard error: that of a difference between two runs of 30 splits."""

    value: float
    error: float

    def __sub__(self, other: Measured) -> Measured:
        return Measured(self.value - other.value, math.hypot(self.error, other.error))

    def __truediv__(self, other: Measured) -> Measured:
        ratio = self.value / other.value
        spread = math.hypot(self.error / self.value, other.error / other.value)
        return Measured(ratio, abs(ratio) * spread)

    def is_near(self, theirs: float, digits: int = 2) -> bool:
        """Whether the paper's number is within three standard errors, or equal to its last digit."""
        return bool(abs(self.value - theirs) <= max(3 * self.error, 0.5 * 10**-digits + 1e-9))


class Evidence:
    """The stored results, read when they are asked for."""

    @cached_property
    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of data sets and procedures, by arm."""
        return {arm: load_table(arm) for arm in ARM_NAMES}

    def row(self, arm: str, dataset: str, method: str) -> dict[str, Any]:
        """The row of one data set and procedure."""
        return next(row for row in self.tables[arm] if (row["dataset"], row["method"]) == (dataset, method))

    def by_dataset(self, arm: str, method: str, column: str) -> dict[str, float]:
        """The means over splits, by data set."""
        return {dataset: float(self.row(arm, dataset, method)[column]) for dataset in DATASETS}

    def mean(self, arm: str, method: str, column: str) -> Measured:
        """The mean over data sets."""
        rows = [self.row(arm, dataset, method) for dataset in DATASETS]
        errors = [standard_error(row, column) for row in rows]
        return Measured(fmean(row[column] for row in rows), math.sqrt(sum(e * e for e in errors)) / len(rows))

    def cell(self, arm: str, dataset: str, method: str, column: str) -> Measured:
        """One number of a data set."""
        row = self.row(arm, dataset, method)
        return Measured(row[column], standard_error(row, column))

    def cells(self, arm: str) -> list[Cell]:
        """Every number of the tables by data set beside the paper's."""
        return compare(self.tables[arm], ARMS[arm].beside, PAPER_COLUMNS)

    def count_varying(self, arm: str) -> int:
        """Count the numbers that vary over splits; the others are 0 or 100 on every one."""
        return sum(row[f"{column}_sd"] > NO_SPREAD for row in self.tables[arm] for column in PAPER_COLUMNS)

    @cached_property
    def choices(self) -> list[Choice]:
        """The tolerances that the paper's grid rule picks on our results."""
        return choose_tolerances([load_study("splits", arm) for arm in ("cart", "optimal")])

    @cached_property
    def fits(self) -> dict[str, dict[str, Fit]]:
        """How near each reading comes to the paper, by arm; ours on the splits on which the others were measured."""
        found = {}
        for arm in ARM_NAMES:
            others = load_study("readings", arm)
            both = {(split["dataset"], split["split"]) for split in others}
            ours = [split for split in load_study("splits", arm) if (split["dataset"], split["split"]) in both]
            fits = fit_readings(ARMS[arm], others, summarize(ours, ARMS[arm].learner, TOLERANCES))
            found[arm] = {fit.reading: fit for fit in fits}
        return found

    def count_readings(self, arm: str) -> int:
        """Count the splits on which the other readings were measured."""
        return len(load_study("readings", arm)) // len(DATASETS)

    def count_undefined(self, method: str) -> tuple[int, int]:
        """Count the splits of both arms in which a precision is undefined, and all splits."""
        studies = [load_study("readings", arm) for arm in ARM_NAMES]
        return sum(count_undefined(splits, method) for splits in studies), sum(len(splits) for splits in studies)

    def count_unaffected(self) -> int:
        """Count the splits and procedures of the tables in which no rule is shortened; M1-P at every tolerance."""
        splits = [split for arm in ARM_NAMES for split in load_study("splits", arm)]
        return sum(row["rule_irc_pct"] == 0 for split in splits for row in split["rows"])

    @cached_property
    def deterministic(self) -> dict[tuple[str, str], DeterministicRow]:
        """Our rows of the deterministic table."""
        return {(row.dataset, row.method): row for row, _ in self.reproduced}

    @cached_property
    def reproduced(self) -> list[tuple[DeterministicRow, int]]:
        """Our rows of the deterministic table, each with the random_state of its tree."""
        return reproduce_deterministic()

    def deleted(self, title: str, method: str) -> set[tuple[int, int]]:
        """The (leaf, link) that a procedure deletes on a deterministic table."""
        state = next(state for row, state in self.reproduced if row.dataset == title)
        data = load(TABLES[title])
        model = DecisionTreeClassifier(random_state=state).fit(data.X, data.y)
        rules = simplify(model, data.X, data.y, method=method, each_leaf=True)
        return {(int(rules.paths.leaf_ids[rule.place]), link) for rule in rules for link in rule.deleted_ids}

    @cached_property
    def timings(self) -> dict[tuple[str, int, str], list[float]]:
        """The seconds of every call of the runtime study."""
        return {(one["panel"], one["size"], one["method"]): one["seconds"] for one in load_timings()["timings"]}

    def seconds(self, panel: str, size: int, method: str) -> float:
        """The median of a procedure's seconds."""
        return median(self.timings[panel, size, method])

    def exponent(self, panel: str, method: str, least: int = 0) -> float:
        """The power of the size that the median seconds grow with, from a size on."""
        sizes = sorted(size for name, size, one in self.timings if (name, one) == (panel, method) and size >= least)
        seconds = [self.seconds(panel, size, method) for size in sizes]
        return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
