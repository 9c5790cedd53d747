"""How good probabilities of rules and of their tree are, from counts alone, and what one would say without rules.

All rows that one rule decides get the same probabilities, so how many rows of each class it decides is all there is to
know: the scores are those of ``sklearn.metrics`` on single rows, for tables of any size.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.rules.rules import Rules

CLIP = float(np.finfo(np.float64).eps)  # as sklearn.metrics.log_loss clips
AT_ONCE = 1 << 22  # probabilities that are compared at once


class Scores(NamedTuple):
    """How good probabilities are."""

    brier: float  # mean squared error of the second class's probability; with more classes summed over all of them
    log_loss: float  # mean -log of the probability of a row's class, clipped at 2.2e-16
    auc: float  # area under the ROC curve; with more than two classes the mean of each against the rest


def score_shares(shares: NDArray[np.float64], counts: NDArray[np.float64]) -> Scores:
    """Score probabilities that groups of rows share, by the (weighted) rows of each class, (n_groups, n_classes).

    Examples
    --------
    >>> score_shares(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([[3.0, 1.0], [0.0, 2.0]])).auc
    0.8333333333333334
    """
    n_classes, total = shares.shape[1], float(counts.sum())
    squares = shares**2
    apart = (1.0 - shares) ** 2 + np.maximum(squares.sum(axis=1, keepdims=True) - squares, 0.0)  # from each class alone
    brier = float((counts * apart).sum()) / total / (2 if n_classes <= 2 else 1)
    loss = -float((counts * np.log(np.clip(shares, CLIP, 1 - CLIP))).sum()) / total
    sides = range(1, 2) if n_classes == 2 else range(n_classes)
    rows = counts.sum(axis=1)
    areas = [_find_area(shares[:, c], counts[:, c], rows - counts[:, c]) for c in sides]
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


def _find_area(score: NDArray[np.float64], inside: NDArray[np.float64], outside: NDArray[np.float64]) -> float:
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
    if rules.is_ranked:
        found: NDArray[np.float64] = rules.leaf_counts.sum(axis=0)
    elif rules.tree.counts is not None:
        found = np.asarray(rules.tree.counts[0], dtype=np.float64)
    else:
        return None
    return found if found.sum() > 0 else None


def find_guess(rules: Rules, sizes: NDArray[Any]) -> int:
    """Find the class that one would guess for any row, else the largest of some classes."""
    counts = count_classes(rules)
    return int((sizes if counts is None else counts).argmax())
