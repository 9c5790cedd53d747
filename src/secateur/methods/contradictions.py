"""Find two labelled rows that contradict signs: the larger one has the first class, the other the second.

Labels are noisy, so this says nothing about the tree. It tells a person that the signs may be wrong, or the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.counting.training_evidence import RowEvidence
from secateur.facts.ordering import find_ranks
from secateur.tree.tree import Tree

__all__ = ["MOST_ROWS", "Contradiction", "describe_contradiction", "find_contradiction"]

# Rows are compared pair by pair, so only so many of them, the first ones.
MOST_ROWS = 10_000
BLOCK_PAIRS = 1 << 22


class Contradiction(NamedTuple):
    """Two rows: by the signs the upper one favours the second class no less, but only the lower one has it."""

    lower: int
    upper: int


def find_contradiction(tree: Tree, signs: Sequence[int], listed: RowEvidence) -> Contradiction | None:
    """Find two of the first rows that contradict the signs; rows that are equal do not.

    Rows of which not all columns are read, as behind a pipeline, cannot be compared.
    """
    if tree.columns is not None or (listed.rows.column_of < 0).any() or not any(signs):
        return None
    n_rows = min(listed.n_rows, MOST_ROWS)
    matrix = listed.rows.select(0, n_rows, np.arange(tree.n_features)).astype(np.float64)
    labels = listed.class_ids[:n_rows]
    same, rising = _split_columns(tree, signs, matrix)
    if not rising.shape[1]:
        return None
    sizes = np.array([np.inf if levels is None else len(levels) for levels in tree.categories])
    # Unlisted categories share one code but need not be equal, so rows that hold one are not compared.
    known = np.asarray(~(matrix >= sizes).any(axis=1))
    _, group = np.unique(np.nan_to_num(same, nan=np.inf), axis=0, return_inverse=True)
    found = [
        pair
        for lower, upper in _pairs_of_groups(group.ravel(), labels, known)
        if (pair := _find_pair(rising, lower, upper)) is not None
    ]
    return min(found, default=None)


def describe_contradiction(tree: Tree, found: Contradiction, rows: str, n_rows: int) -> str:
    """Say which rows contradict the signs."""
    first, second = tree.class_names
    among = f" (the first {MOST_ROWS:,} rows were compared)" if n_rows > MOST_ROWS else ""
    return (
        f"{rows} {found.lower} and {found.upper} contradict the signs: by them row {found.upper} favours {second!r} no "
        f"less, but it is labelled {first!r} and row {found.lower} {second!r}{among}. What is certified is what the "
        "tree predicts, not the labels."
    )


def _split_columns(
    tree: Tree, signs: Sequence[int], matrix: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Split rows into what must be equal to compare two of them, and numbers that count as larger where they are."""
    same, rising = [], []
    for feature, sign in enumerate(signs):
        values, ranks = matrix[:, feature], find_ranks(tree, feature)
        if sign == 0 or (tree.categories[feature] is not None and ranks is None):
            same.append(values)
            continue
        place = values
        if ranks is not None:
            place = np.where(np.isnan(values), np.nan, ranks[np.nan_to_num(values).astype(np.int64)])
        is_ranked = ~np.isnan(place)
        same.append(np.where(is_ranked, -1.0, np.nan_to_num(values, nan=np.inf)))
        rising.append(np.where(is_ranked, sign * place, 0.0))
    none = np.zeros((len(matrix), 0))
    return np.column_stack([none, *same]), np.column_stack([none, *rising])


def _pairs_of_groups(
    group: NDArray[np.int64], labels: NDArray[np.int64], known: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """List, for groups that hold both classes, the rows of the second class and those of the first."""
    order = np.lexsort((labels, group))
    order = order[known[order]]
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        if len(rows) and labels[rows[0]] != labels[rows[-1]]:
            yield np.sort(rows[labels[rows] == 1]), np.sort(rows[labels[rows] == 0])


def _find_pair(rising: NDArray[np.float64], lower: NDArray[np.int64], upper: NDArray[np.int64]) -> Contradiction | None:
    """Find the first row of some that lies below one of others, and the first such one."""
    size = max(1, BLOCK_PAIRS // len(upper))
    for begin in range(0, len(lower), size):
        one, other = (places.ravel() for places in np.meshgrid(lower[begin : begin + size], upper, indexing="ij"))
        differs = np.zeros(len(one), dtype=bool)
        for column in rising.T:
            small, large = column[one], column[other]
            kept = small <= large
            one, other, differs = one[kept], other[kept], (differs | (small < large))[kept]
        if differs.any():
            place = int(differs.argmax())
            return Contradiction(int(one[place]), int(other[place]))
    return None
