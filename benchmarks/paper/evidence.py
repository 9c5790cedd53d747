"""What the claims of the paper are held against: our stored results, and how far they are from its numbers."""

from functools import cached_property
from statistics import median
from typing import Any

import numpy as np

from benchmarks.paper.operations import Work
from benchmarks.paper.readings import Fit, fit_readings
from benchmarks.paper.stored import load_study, load_table
from benchmarks.paper.verdicts import Estimate, Values, mean_of
from secateur.lab.deterministic import DeterministicRow, reproduce_deterministic
from secateur.lab.protocol import ARMS, DATASETS, TOLERANCES
from secateur.lab.sparse import list_values
from secateur.lab.summary import (
    LEAST_SPLITS,
    NO_SPREAD,
    PAPER_COLUMNS,
    Cell,
    Choice,
    choose_tolerances,
    compare,
    load_counted,
    summarize,
)

ARM_NAMES = {"optimal": "stand-in", "cart": "CART"}  # in the paper's order: IAI, CART


class Evidence:
    """The stored results, read when they are asked for."""

    @cached_property
    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of data sets and procedures, by arm."""
        return {arm: load_table(arm) for arm in ARM_NAMES}

    @cached_property
    def _values(self) -> dict[tuple[str, str, str, float | None], list[dict[str, Any]]]:
        """The rows of every split, in order, by arm, data set, procedure and tolerance."""
        found: dict[tuple[str, str, str, float | None], list[dict[str, Any]]] = {}
        for arm in ARM_NAMES:
            for split in load_study("splits", arm):
                for row in split["rows"]:
                    found.setdefault((arm, split["dataset"], row["method"], row["tolerance"]), []).append(row)
        return found

    def values(self, arm: str, dataset: str, method: str, column: str, tolerance: float | None = None) -> Values:
        """One number of every split of a data set, in order; M1-P at the tolerance of the tables unless told."""
        if method == "M1-P" and tolerance is None:
            tolerance = TOLERANCES[dataset]
        return np.array([row[column] for row in self._values[arm, dataset, method, tolerance]], dtype=np.float64)

    def by_split(self, arm: str, method: str, column: str) -> list[Values]:
        """One number of every split, data set after data set."""
        return [self.values(arm, dataset, method, column) for dataset in DATASETS]

    def mean(self, arm: str, method: str, column: str) -> Estimate:
        """The mean over data sets."""
        return mean_of(self.by_split(arm, method, column))

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
        """Count the splits of both arms in which tree or rules predict one class only for all test rows, and all."""
        splits = [split for arm in ARM_NAMES for split in load_study("readings", arm)]
        rows = [row for split in splits for row in split["rows"] if row["method"] == method]
        return sum(row["undefined"] for row in rows), len(splits)

    def count_unaffected(self) -> int:
        """Count the splits and procedures of the tables in which no rule is shortened; M1-P at every tolerance."""
        splits = [split for arm in ARM_NAMES for split in load_study("splits", arm)]
        return sum(row["rule_irc_pct"] == 0 for split in splits for row in split["rows"])

    @cached_property
    def reproduced(self) -> list[tuple[DeterministicRow, int]]:
        """Our rows of the deterministic table, each with the random_state of its tree."""
        return reproduce_deterministic()

    @cached_property
    def states(self) -> dict[str, dict[str, int]]:
        """In how many states of its tree each statement about a deterministic table is true."""
        found: dict[str, dict[str, int]] = load_counted("deterministic_states")
        return found

    def proved(self, solver: str, kind: str, method: str, column: str) -> dict[str, Values]:
        """One number of every split of trees proved optimal, of each data set that has enough of them."""
        found = list_values(load_study("sparse", solver), kind, method, column)
        return {name: np.array(values) for name, values in found.items() if len(values) >= LEAST_SPLITS}

    @cached_property
    def timings(self) -> dict[tuple[str, int, str], list[float]]:
        """The seconds of every call of the runtime study."""
        timings = load_counted("runtime")["timings"]
        return {(one["panel"], one["size"], one["method"]): one["seconds"] for one in timings}

    def seconds(self, panel: str, size: int, method: str) -> float:
        """The median of a procedure's seconds."""
        return median(self.timings[panel, size, method])

    @cached_property
    def _works(self) -> list[tuple[tuple[str, int, str], Work]]:
        counts = [name for name in vars(Work()) if name != "deleted"]
        return [
            ((row["panel"], row["size"], row["method"]), Work(**{name: row[name] for name in counts}))
            for row in load_counted("operations")
        ]

    def sizes(self, panel: str) -> list[int]:
        """The sizes at which operations were counted."""
        return sorted({size for (name, size, _), _ in self._works if name == panel})

    def operations(self, panel: str, size: int, method: str) -> float:
        """The median over seeds of what a procedure does."""
        return median(work.operations for key, work in self._works if key == (panel, size, method))

    def most_of_bound(self, method: str) -> float:
        """The largest share of the paper's bound that a procedure takes, over all sizes and seeds."""
        return max(work.operations / work.bound for (_, _, name), work in self._works if name == method)

    def growth(self, panel: str, method: str) -> float:
        """The power of the size that operations grow with."""
        sizes = self.sizes(panel)
        counts = [self.operations(panel, size, method) for size in sizes]
        return float(np.polyfit(np.log(sizes), np.log(counts), 1)[0])
