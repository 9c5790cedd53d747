"""Shares of counts, which may be zero or unknown, and whether two of them differ."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    return np.asarray(np.divide(part, whole, out=np.full(shape, np.nan), where=whole > 0))


def none_if_nan(value: float) -> float | None:
    """Give a stored number as a plain float; None where it is not known."""
    return None if value != value else float(value)


CHUNK = 64
# Tails are summed for so many tables at a time, which stay in the processor's cache; a short tail never waits for a
# long one.
SLICE = 256


def fisher_greater(k: ArrayLike, n: ArrayLike, other_k: ArrayLike, other_n: ArrayLike) -> NDArray[np.float64]:
    """P-values of the tables [[k, n - k], [other_k, other_n - other_k]] against "the first share is larger".

    The p-value is the upper tail P(K >= k) of the hypergeometric distribution. Its first term comes from log-gamma
    functions, the others from their ratios; the shorter tail is summed. Weighted counts need not be whole: the gamma
    functions extend the terms.

    Examples
    --------
    >>> fisher_greater([3], [3], [0], [3]).round(6).tolist()
    [0.05]
    """
    k, n, other_k, other_n = (np.atleast_1d(np.asarray(a, dtype=np.float64)) for a in (k, n, other_k, other_n))
    right, total = k + other_k, n + other_n
    smallest, largest = np.maximum(0.0, right - other_n), np.minimum(n, right)
    p = np.ones(len(k))
    # At the smallest possible k the tail is everything, and exactly 1: rounding must not decide a tie there.
    open_tables = np.flatnonzero(k > smallest)
    if not len(open_tables):
        return p
    k, n, other_n, right, total = (a[open_tables] for a in (k, n, other_n, right, total))
    smallest, largest = smallest[open_tables], largest[open_tables]
    upward = k > n * right / total
    start, step = np.where(upward, k, k - 1), np.where(upward, 1.0, -1.0)
    length = np.where(upward, largest - start, start - smallest)
    tail = np.exp(_log_choose(n, start) + _log_choose(other_n, right - start) - _log_choose(n + other_n, right))
    by_length = np.argsort(length, kind="stable")
    for first in range(0, len(by_length), SLICE):
        some = by_length[first : first + SLICE]
        tail[some] *= _sum_ratios(*(a[some] for a in (start, step, length, n, other_n, right)))
    p[open_tables] = np.clip(np.where(upward, tail, 1.0 - tail), 0.0, 1.0)
    return p


def _log_choose(n: NDArray[np.float64], k: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import gammaln  # which takes long to load

    value: NDArray[np.float64] = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return value


def _sum_ratios(
    start: NDArray[np.float64],
    step: NDArray[np.float64],
    length: NDArray[np.float64],
    n: NDArray[np.float64],
    other_n: NDArray[np.float64],
    right: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Sum a tail's terms relative to its first, chunk by chunk until the rest is negligible."""
    total, last = np.ones(len(start)), np.ones(len(start))
    begin = 0
    running = length >= 1
    while running.any():
        offsets = np.arange(begin, begin + CHUNK, dtype=np.float64)
        i = start[:, None] + step[:, None] * offsets
        rising = step[:, None] > 0
        wrong = other_n[:, None] - right[:, None]
        over = np.where(rising, (n[:, None] - i) * (right[:, None] - i), i * (wrong + i))
        under = np.where(rising, (i + 1) * (wrong + i + 1), (n[:, None] - i + 1) * (right[:, None] - i + 1))
        within = offsets[None, :] + 1 <= length[:, None] + 1e-9
        ratio = np.divide(over, under, out=np.zeros_like(over), where=within)
        terms = last[:, None] * np.cumprod(ratio, axis=1)
        total += np.where(running, terms.sum(axis=1), 0.0)
        last = terms[:, -1]
        begin += CHUNK
        # The ratios fall along a tail, so what is left is at most a geometric series.
        bound = np.clip(ratio[:, -1], 0.0, 1.0 - 1e-9)
        running &= last * bound / (1.0 - bound) > total * 1e-17
    return total
