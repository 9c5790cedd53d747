"""One rule for what our splits say to a number or a bound of the paper.

A statement is a range: a number is itself ± a tenth, a bound is its side. Our mean has a 95 % interval: that of the
mean of another 30 splits of the same data sets, since the paper's own are not published. The statement is supported if
the interval lies inside its range, contradicted if outside, else undecided. Differences and ratios are paired by split.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from secateur.lab.protocol import N_SPLITS
from secateur.lab.rulebench.statistics import CONTRADICTED, SUPPORTED, UNDECIDED
from secateur.lab.summary import LEAST_SPLITS

MARGIN = 0.1  # of a stated number
LAST_DIGIT = 0.005  # the paper's numbers have two digits
CONFIDENCE = 0.95

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A number of ours and its interval, unbounded where there are too few splits."""

    value: float
    low: float
    high: float

    def show(self, form: str = ".2f") -> str:
        """Write the number and its interval."""
        if math.isinf(self.high):
            return f"{self.value:{form}} (too few splits)"
        if self.high - self.low < 2 * LAST_DIGIT:
            return f"{self.value:{form}}"
        return f"{self.value:{form}} ({self.low:{form}} to {self.high:{form}})"

    def is_near(self, number: float) -> str:
        """Judge a number of the paper."""
        reach = max(MARGIN * abs(number), LAST_DIGIT)
        return self.lies(number - reach, number + reach)

    def lies(self, low: float = -math.inf, high: float = math.inf) -> str:
        """Judge a range that the paper names."""
        if self.high < low or self.low > high:
            return CONTRADICTED
        return SUPPORTED if low <= self.low and self.high <= high and math.isfinite(self.high) else UNDECIDED


def estimate(parts: Iterable[tuple[float, Values]]) -> Estimate:
    """Estimate a weighted sum of means over splits, each of splits of its own."""
    value, variance, squares = 0.0, 0.0, 0.0
    enough = True
    for weight, values in parts:
        found = values[~np.isnan(values)]
        enough &= len(found) >= LEAST_SPLITS
        value += weight * float(found.mean())
        if enough:
            own = weight**2 * float(found.var(ddof=1)) * (1 / len(found) + 1 / N_SPLITS)
            variance, squares = variance + own, squares + own**2 / (len(found) - 1)
    if not enough:
        return Estimate(value, -math.inf, math.inf)
    reach = 0.0
    if variance > 0:  # Welch's degrees of freedom
        reach = float(student.ppf((1 + CONFIDENCE) / 2, variance**2 / squares)) * math.sqrt(variance)
    return Estimate(value, value - reach, value + reach)


def mean_of(by_dataset: Sequence[Values]) -> Estimate:
    """Estimate the mean over data sets, which count equally."""
    return estimate((1 / len(by_dataset), values) for values in by_dataset)


def ratio_of(above: Sequence[Values], below: Sequence[Values]) -> Estimate:
    """Estimate a ratio of means over data sets, to first order, splits paired."""
    base = float(np.mean([values.mean() for values in below]))
    ratio = float(np.mean([values.mean() for values in above])) / base
    around = mean_of([(a - ratio * b) / base for a, b in zip(above, below, strict=True)])
    return Estimate(ratio, ratio + around.low, ratio + around.high)


def combine(verdicts: Iterable[str]) -> str:
    """Judge a statement of several parts: all must be supported, and one that is contradicted is enough."""
    found = set(verdicts)
    return CONTRADICTED if CONTRADICTED in found else UNDECIDED if UNDECIDED in found else SUPPORTED
