"""Statistics of rules: how good their probabilities are, and how far shares may lie from the truth.

All rows that one rule decides get the same probabilities, so how many rows of each class it decides is all there is to
know: the scores are those of ``sklearn.metrics`` on single rows, for tables of any size.

Shares have the exact interval of Clopper and Pearson (1934): at the level of 95 % it holds the true share in at least
95 of 100 samples, whatever the share and however few the rows. Reliabilities are often near 100 %, where intervals that
are right on average fall short. Differences of shares of different rows have Newcombe's hybrid score interval (1998,
method 10), which joins the score intervals of Wilson (1927); it is right on average over shares and numbers of rows,
not for each: with few rows and a share near 100 % it may hold the true difference in only 90 of 100 samples.

With weights, rows count for less than their number: for Kish's (1965) effective number of rows, (sum of weights)² / sum
of squared weights, which need not be whole. So equal weights count as rows, whatever their size.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secateur.errors import InputError
from secateur.rules.rules import Rules
from secateur.tree.shares import divide_or_nan, fisher_greater

Limits = tuple[NDArray[np.float64], NDArray[np.float64]]

CLIP = float(np.finfo(np.float64).eps)  # as sklearn.metrics.log_loss clips
AT_ONCE = 1 << 22  # probabilities that are compared at once


class Scores(NamedTuple):
    """How good probabilities are."""

    brier: float  # mean squared error of the second class's probability; with more classes summed over all of them
    log_loss: float  # mean -log of the probability of a row's class, clipped at 2.2e-16
    auc: float  # area under the ROC curve; with more than two classes the mean of each against the rest


def score_shares(shares: NDArray[np.float64], counts: NDArray[np.float64]) -> Scores:
    """Score probabilities that groups of rows share, by the (weighted) rows of each class, (n_groups, n_classes)."""
    n_classes, total = shares.shape[1], float(counts.sum())
    squares = shares**2
    apart = (1.0 - shares) ** 2 + np.maximum(squares.sum(axis=1, keepdims=True) - squares, 0.0)  # from each class alone
    brier = float((counts * apart).sum()) / total / (2 if n_classes <= 2 else 1)
    loss = -float((counts * np.log(np.clip(shares, CLIP, 1 - CLIP))).sum()) / total
    sides = range(1, 2) if n_classes == 2 else range(n_classes)
    rows = counts.sum(axis=1)
    areas = [find_area(shares[:, c], counts[:, c], rows - counts[:, c]) for c in sides]
    return Scores(brier, loss, float(np.mean(areas)))


def find_distances(
    one: NDArray[np.float64], rows: NDArray[np.int64], other: NDArray[np.float64], columns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Find how far pairs of probabilities are apart: half of what their classes differ by in all.

    With two classes that is the difference of either class's probability. ``rows`` and ``columns`` say which of ``one``
    is compared with which of ``other``, each of shape (n_groups, n_classes).
    """
    pairs, place = np.unique(rows * len(other) + columns, return_inverse=True)
    first, second = np.divmod(pairs, len(other))
    found = np.empty(len(pairs))
    step = max(1, AT_ONCE // one.shape[1])  # with many classes, a table of all pairs would not fit
    for start in range(0, len(pairs), step):
        some = slice(start, start + step)
        found[some] = np.abs(one[first[some]] - other[second[some]]).sum(axis=1) / 2
    return found[place]


def find_area(score: NDArray[np.float64], inside: NDArray[np.float64], outside: NDArray[np.float64]) -> float:
    """Find the share of pairs, one row of each side, that the score puts in order; half of a tie; NaN without pairs."""
    pairs = float(inside.sum()) * float(outside.sum())
    if not pairs:
        return math.nan
    _, place = np.unique(score, return_inverse=True)
    won, lost = (np.bincount(place, weights=rows) for rows in (inside, outside))
    below = np.cumsum(lost) - lost
    return float((won * (below + lost / 2)).sum()) / pairs


def count_classes(rules: Rules) -> NDArray[np.float64] | None:
    """Count the training rows of each class: those of the rules, else the tree's own; None where neither are known."""
    counts = rules.tree.counts if not rules.is_ranked else rules.leaf_counts.sum(axis=0, keepdims=True)
    found = None if counts is None else np.asarray(counts[0], dtype=np.float64)
    return None if found is None or not found.sum() > 0 else found


def find_guess(rules: Rules, sizes: NDArray[Any]) -> int:
    """Find the class that one would guess for any row, else the largest of some classes."""
    counts = count_classes(rules)
    return int((sizes if counts is None else counts).argmax())


UNSQUARABLE = (
    "sample_weight holds weights whose squares are too small or too large for a float: divide all weights by a "
    "constant, or leave out rows whose weight is next to nothing."
)
LEVEL = 0.95
LEAST_ROWS_OF_D = 5  # in the part and in the rest of the whole: with fewer, compare_nested is too short to be shown


def find_interval(share: ArrayLike, n_rows: ArrayLike, level: float = LEVEL) -> Limits:
    """Find the exact (Clopper-Pearson) limits of shares of so many rows, or effective rows; NaN without rows."""
    from scipy.special import betaincinv

    share, n_rows = np.broadcast_arrays(np.asarray(share, dtype=np.float64), np.asarray(n_rows, dtype=np.float64))
    low, high = np.full(share.shape, np.nan), np.full(share.shape, np.nan)
    known = (n_rows > 0) & ~np.isnan(share)
    low[known], high[known] = 0.0, 1.0
    right, wrong, beyond = share * n_rows, (1 - share) * n_rows, (1 - level) / 2
    some, others = known & (share > 0), known & (share < 1)
    low[some] = betaincinv(right[some], wrong[some] + 1, beyond)
    high[others] = betaincinv(right[others] + 1, wrong[others], 1 - beyond)
    return low, high


def expect_share(right: ArrayLike, n_rows: ArrayLike, level: float = LEVEL) -> Limits:
    """Find the limits of the share that as many new rows will have, if ``right`` of so many rows are of a class.

    They hold all shares that Fisher's exact test would not tell from this one, so that at the level of 95 % they hold
    the share of as many new rows in at least 95 of 100 samples; NaN without rows. Rows with weights count for their
    effective number, rounded down.
    """
    right, n_rows = np.asarray(right, dtype=np.float64), np.asarray(n_rows, dtype=np.float64)
    whole = np.floor(n_rows + 1e-9)
    known = whole > 0
    k, n = (divide_or_nan(right, n_rows) * whole)[known], whole[known]
    k = np.where(np.abs(k - np.rint(k)) < 1e-6, np.rint(k), k)

    def search(is_within: Callable[[NDArray[np.float64]], NDArray[np.bool_]]) -> NDArray[np.float64]:
        """Find the smallest number of rows from which on a test is passed."""
        low, high = np.zeros(len(n)), np.floor(n)
        while (low < high).any():
            middle = np.floor((low + high) / 2)
            passed = is_within(middle)
            low, high = np.where(passed, low, middle + 1), np.where(passed, middle, high)
        return low

    beyond = (1 - level) / 2
    found = np.full((2, len(whole)), np.nan)
    found[0, known] = search(lambda other: fisher_greater(k, n, other, n) > beyond) / n
    found[1, known] = 1 - search(lambda other: fisher_greater(n - k, n, other, n) > beyond) / n
    return found[0], found[1]


def compare_shares(
    share: ArrayLike, n_rows: ArrayLike, other: ArrayLike, other_rows: ArrayLike, level: float = LEVEL
) -> Limits:
    """Find Newcombe's limits of differences of shares of different (effective) rows; NaN where one has no rows."""
    share, other = np.asarray(share, dtype=np.float64), np.asarray(other, dtype=np.float64)
    low, high = _find_score_interval(share, n_rows, level)
    other_low, other_high = _find_score_interval(other, other_rows, level)
    down, up = np.hypot(share - low, other_high - other), np.hypot(high - share, other - other_low)
    return share - other - down, share - other + up


def compare_means(
    moments: ArrayLike, n_rows: ArrayLike, other: ArrayLike, other_rows: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Find Welch's limits, at 95 %, of the differences of means of different rows, and p of no difference.

    Moments are means and standard deviations of the rows themselves, shape (n, 2). NaN where one side has fewer than
    two rows, or neither has any spread.
    """
    from scipy.special import stdtr, stdtrit

    (mean, spread), (other_mean, other_spread) = (np.asarray(one, dtype=np.float64).T for one in (moments, other))
    sizes = (np.asarray(rows, dtype=np.float64) for rows in (n_rows, other_rows))
    free, other_free = (np.where(rows > 1, rows - 1, np.nan) for rows in sizes)
    own, beside = spread**2 / free, other_spread**2 / other_free
    freedom = divide_or_nan((own + beside) ** 2, own**2 / free + beside**2 / other_free)
    error, apart = np.sqrt(own + beside), mean - other_mean
    half = stdtrit(freedom, (1 + LEVEL) / 2) * error
    return apart - half, apart + half, 2 * stdtr(freedom, -np.abs(divide_or_nan(apart, error)))


def compare_nested(
    whole_right: ArrayLike, whole: ArrayLike, part_right: ArrayLike, part: ArrayLike, level: float = LEVEL
) -> Limits:
    """Find the interval of D, the share of a whole minus that of a part of it: of a rule and of its leaf.

    The two shares are of rows in common, so they do not vary independently. But the part and the rest of the whole have
    no row in common, and D = (rest / whole) · (share of the rest - share of the part). The sizes are taken as given;
    the interval is Newcombe's for the difference in brackets, times the first factor. It is right on average, from 5
    rows in the part and 5 in the rest; with a single row it may hold D in only 80 of 100 samples.

    ``whole_right`` are the rows of the whole in the class, ``whole`` all of them; the same of the part. The limits are
    0 where the part is the whole, NaN where the part has no rows.
    """
    right, total, part_right, part = (
        np.asarray(numbers, dtype=np.float64) for numbers in (whole_right, whole, part_right, part)
    )
    rest = np.maximum(total - part, 0.0)
    own, gained = divide_or_nan(part_right, part), divide_or_nan(np.maximum(right - part_right, 0.0), rest)
    factor = divide_or_nan(rest, total)
    low, high = (factor * limit for limit in compare_shares(np.clip(gained, 0.0, 1.0), rest, own, part, level))
    same = (rest == 0) & (part > 0)
    return np.where(same, 0.0, low), np.where(same, 0.0, high)


def count_effective(total: ArrayLike, squares: ArrayLike) -> NDArray[np.float64]:
    """Count effective rows by Kish: the squared sum of weights over the sum of squared weights; 0 without rows."""
    total, squares = np.asarray(total, dtype=np.float64), np.asarray(squares, dtype=np.float64)
    return np.nan_to_num(divide_or_nan(total**2, squares))


def check_squares(totals: ArrayLike, squares: ArrayLike) -> None:
    """Reject sums of weights whose squares are lost: the effective number of rows is not known then."""
    sums, found = np.asarray(totals, dtype=np.float64), np.asarray(squares, dtype=np.float64)
    is_lost = (sums > 0) & ~((found >= np.finfo(np.float64).tiny) & np.isfinite(found))
    if is_lost.any():
        raise InputError(UNSQUARABLE)


def adjust_by_holm(p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjust p-values by Holm (1979), so that any false alarm is as rare as one test's; NaN where none was tested."""
    adjusted = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    steps = p_values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _find_score_interval(share: NDArray[np.float64], n_rows: ArrayLike, level: float) -> Limits:
    """Find Wilson's score interval."""
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    n_rows = np.asarray(n_rows, dtype=np.float64)
    per_row = divide_or_nan(np.ones_like(n_rows), n_rows)
    shrink = 1 / (1 + z * z * per_row)
    centre = shrink * (share + z * z * per_row / 2)
    half = shrink * z * np.sqrt(share * (1 - share) * per_row + (z * per_row / 2) ** 2)
    return np.clip(centre - half, 0.0, share), np.clip(centre + half, share, 1.0)


def round_outwards(interval: tuple[float, float]) -> tuple[float, float]:
    """Round the ends of an interval to a tenth of a percent, outwards, so that rounding never narrows it."""
    low, high = interval
    return math.floor(1000 * low + 1e-9) / 1000, math.ceil(1000 * high - 1e-9) / 1000
