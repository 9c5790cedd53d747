"""Shuffled neighbours of rows, and how faithful trees of each size are on rows that they were not grown on.

A neighbour takes a tenth, a third or more than half of its columns from other rows, one by one. Neighbours show a tree
how the model answers between the rows, which few rows alone do not; each counts less than a row, because what
matters is how the model answers where rows are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secateur.surrogates.growing import grow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["NEIGHBOUR_WEIGHT", "SIZES", "draw_neighbours", "estimate_fidelity"]

NEIGHBOUR_WEIGHT = 0.3  # of a row
SWAPPED = (0.1, 0.3, 0.6)  # shares of the columns that come from other rows
SIZES = (
    *(1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64),
    *(80, 96, 112, 128, 160, 192, 224, 256),
)
N_FOLDS = 5
MANY_ROWS = 20_000  # from here on one fold tells enough, and so many rows to grow its trees on


def draw_neighbours(
    n_rows: int, n_columns: int, n_neighbours: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw neighbours: the row that each is a neighbour of, and the row that each of its columns comes from."""
    own = np.resize(random.permutation(n_rows), n_neighbours)
    swapped = random.random((n_neighbours, n_columns)) < random.choice(SWAPPED, size=(n_neighbours, 1))
    return own, np.where(swapped, random.integers(n_rows, size=swapped.shape), own[:, None])


def estimate_fidelity(
    codes: NDArray[np.float32],
    answers: NDArray[np.int64],
    neighbours_of: NDArray[np.int64],
    sizes: Sequence[int],
    random: np.random.Generator,
    seed: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate for each size the share of rows on which a tree says what the model says, by folds.

    The first rows are real, the others neighbours of them. A tree is grown without a fold and without the neighbours of
    its rows, and compared with the model on both. The first result is of the real rows alone; the second counts
    neighbours as they weigh, and tells sizes apart with less noise: rows that the model was fitted on show what it
    learned by heart rather than what it does.
    """
    n_real = len(codes) - len(neighbours_of)
    weights = np.append(np.ones(n_real), np.full(len(neighbours_of), NEIGHBOUR_WEIGHT))
    # Each fold gets its share of every answer.
    order = random.permutation(n_real)
    fold = np.empty(n_real, dtype=np.int64)
    fold[order[np.argsort(answers[order], kind="stable")]] = np.arange(n_real) % N_FOLDS
    of_row = np.append(fold, fold[neighbours_of])
    same, seen_weight = np.zeros((2, len(sizes))), np.zeros(2)
    for number in range(1 if n_real > MANY_ROWS else N_FOLDS):
        seen = np.flatnonzero(of_row == number)
        rest = of_row != number
        if n_real > MANY_ROWS:
            chosen = np.zeros(n_real, dtype=bool)
            chosen[random.permutation(n_real)[:MANY_ROWS]] = True
            rest &= np.append(chosen, chosen[neighbours_of])
        grown = grow(codes[rest], answers[rest], weights[rest], sizes[-1], seed)
        agrees = grown.answer(codes[seen], sizes) == answers[seen]
        counted = np.stack([seen < n_real, weights[seen]])
        same += counted @ agrees.T
        seen_weight += counted.sum(axis=1)
    real, mixed = same / seen_weight[:, None]
    return real, mixed
