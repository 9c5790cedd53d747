"""Count the rows that pairs of rules of different classes share.

Only rows in conflict matter, and most of them are covered by the same few sets of rules. So the rows of a block are
grouped by the set of rules that covers them, and a group of any size costs what one row does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secateur.counting.bit_masks import unpack_bits
from secateur.counting.coverage import mask_blocks, rows_of_rule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.counting.bit_masks import Masks
    from secateur.rows.rows import Rows
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Tree

__all__ = ["PairCounts", "count_overlaps"]

# Pairs that are listed before they are added up, so that a row covered by thousands of rules takes no more memory.
MOST_PAIRS = 1 << 22


@dataclass(frozen=True)
class PairCounts:
    """(Weighted) rows that pairs of rules share; counts of parts add up.

    Attributes
    ----------
    total : float
        All rows.
    first, second : ndarray of int64, shape (n_pairs,)
        The two rules, the smaller number first; sorted.
    rows : ndarray of float64, shape (n_pairs,)
        Rows that both cover.
    """

    total: float
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    rows: NDArray[np.float64]

    def __add__(self, other: PairCounts) -> PairCounts:
        first, second = np.concatenate([self.first, other.first]), np.concatenate([self.second, other.second])
        return _add_up(self.total + other.total, first, second, np.concatenate([self.rows, other.rows]))


def count_overlaps(
    tree: Tree, paths: Paths, deleted: NDArray[np.bool_], rows: Rows, weights: NDArray[np.float64] | None
) -> PairCounts:
    """Count the rows that each pair of rules of different classes shares; pairs that share none are left out."""
    widened = np.bincount(paths.rule[deleted], minlength=paths.n_rules) > 0
    total = float(rows.n_rows if weights is None else weights.sum())
    counts = _count_nothing(total)
    if not widened.any():  # leaves share no row
        return counts
    for span, masks in mask_blocks(tree, rows):
        weight = np.ones(span.stop - span.start) if weights is None else weights[span]
        for group, size in _group_rows(paths, deleted, masks, weight):
            counts += _pair_rules(paths, group, size)
    return counts


def _group_rows(
    paths: Paths, deleted: NDArray[np.bool_], masks: Masks, weight: NDArray[np.float64]
) -> list[tuple[NDArray[np.bool_], NDArray[np.float64]]]:
    """Find the sets of rules that cover rows in conflict, (n_sets, n_rules), and the weight of the rows of each."""
    covered = np.stack([rows_of_rule(paths, deleted, rule, masks) for rule in range(paths.n_rules)])
    once, twice = np.zeros_like(masks[0]), np.zeros_like(masks[0])
    for class_id in np.unique(paths.leaf_class).tolist():
        own = np.bitwise_or.reduce(covered[paths.leaf_class == class_id], axis=0)
        twice |= once & own
        once |= own
    in_conflict = np.flatnonzero(unpack_bits(twice, len(weight)))
    parts = []
    step = max(1, MOST_PAIRS // paths.n_rules)
    for start in range(0, len(in_conflict), step):
        chosen = in_conflict[start : start + step]
        words, bit = chosen // 64, (chosen % 64).astype(np.uint64)
        sets = ((covered[:, words] >> bit) & np.uint64(1)).astype(bool).T
        packed = np.packbits(sets, axis=1)
        _, place, group = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        sums = np.bincount(group.ravel(), weights=weight[chosen]).astype(np.float64)
        parts.append((sets[place], sums))
    return parts


def _pair_rules(paths: Paths, sets: NDArray[np.bool_], weight: NDArray[np.float64]) -> PairCounts:
    """List the pairs of rules of different classes in each set, and add up the weights of equal pairs."""
    owner, rule = np.nonzero(sets)
    n_rules = np.bincount(owner, minlength=len(sets))
    n_later = np.repeat(np.cumsum(n_rules), n_rules) - 1 - np.arange(len(owner))
    counts = _count_nothing(0.0)
    ends = np.cumsum(n_later)
    bounds = np.searchsorted(ends, np.arange(0, ends[-1] if len(ends) else 0, MOST_PAIRS)).tolist()
    for start, stop in zip(bounds, [*bounds[1:], len(owner)], strict=True):
        part = n_later[start:stop]
        one = np.repeat(np.arange(start, stop), part)
        two = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(part) - part, part)
        first, second = rule[one], rule[two]
        differ = paths.leaf_class[first] != paths.leaf_class[second]
        counts += _add_up(0.0, first[differ], second[differ], weight[owner[one]][differ])
    return counts


def _count_nothing(total: float) -> PairCounts:
    nobody = np.zeros(0, dtype=np.int64)
    return PairCounts(total, nobody, nobody, np.zeros(0))


def _add_up(total: float, first: NDArray[np.int64], second: NDArray[np.int64], rows: NDArray[np.float64]) -> PairCounts:
    """Sort pairs and add up the rows of equal ones; pairs of no weight are left out."""
    if not len(first):
        return PairCounts(total, first, second, rows)
    size = int(second.max()) + 1
    keys, place = np.unique(first * size + second, return_inverse=True)
    sums = np.bincount(place, weights=rows).astype(np.float64)
    keys, sums = keys[sums > 0], sums[sums > 0]
    return PairCounts(total, keys // size, keys % size, sums)
