"""Shares of counts, where a count may be zero or unknown."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

SLACK = 1e-12  # what rounding explains, of a difference of two shares


def compare_reliability(
    counts: NDArray[np.float64], others: NDArray[np.float64], class_ids: Any, tolerance: float
) -> NDArray[np.float64]:
    """Tell whether rules' reliabilities lie within a tolerance of others (0), below (-1) or above (+1).

    Counts of rows are compared as fractions, with the tolerance as the decimal number that was written; sums of
    weights, which are rounded, with a slack. NaN where one of the two has no rows.
    """
    place = np.arange(len(counts))
    fractions = [(part[place, class_ids], part.sum(axis=1)) for part in (counts, others)]
    moved = np.subtract(*(divide_or_nan(*fraction) for fraction in fractions))
    side: NDArray[np.float64] = np.sign(moved) * (np.abs(moved) > tolerance + SLACK)
    near = np.flatnonzero(np.abs(np.abs(moved) - tolerance) <= SLACK)
    whole = np.all([part[near] == np.floor(part[near]) for part in (counts, others)], axis=(0, 2))
    most = Fraction(repr(float(tolerance)))
    for tied in near[whole].tolist():
        now, before = (Fraction(int(part[tied]), int(total[tied])) for part, total in fractions)
        side[tied] = np.sign(moved[tied]) * (abs(now - before) > most)
    return side


def divide_or_nan(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    """Divide two arrays, which broadcast; NaN where the whole is zero."""
    shape = np.broadcast_shapes(part.shape, whole.shape)
    share: NDArray[np.float64] = np.divide(part, whole, out=np.full(shape, np.nan), where=whole > 0)
    return share


def none_if_nan(value: float) -> float | None:
    """Give a stored number as a plain float; None where it is not known."""
    return None if value != value else float(value)
