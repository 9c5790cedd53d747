"""Find the rules that cover each row, add up rows by cells, and count those that pairs of rules share.

Only rows in conflict matter for pairs, and many of them are covered by the same rules. So the rows of a block are
grouped by the set of rules that covers them, and a group of any size costs what one row does. Pairs are then listed
where few rules cover a row, and come from products of matrices where many do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secateur.counting.masks import Masks, mask_blocks, rows_of_rule, unpack_bits
from secateur.rows.rows import Rows
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree


def cover_rows(
    tree: Tree, paths: Paths, deleted: NDArray[np.bool_], rows: Rows, rules: NDArray[np.int64] | None = None
) -> NDArray[np.bool_]:
    """Find out whether each rule, or each of some, covers each row, shape (n_rows, n_rules)."""
    listed = np.arange(paths.n_rules) if rules is None else rules
    covered = np.empty((rows.n_rows, len(listed)), dtype=bool)
    is_listed = np.zeros(paths.n_rules, dtype=bool)
    is_listed[listed] = True
    asked = np.unique(paths.parent[paths.links[~deleted & is_listed[paths.rule]]])
    for span, masks in mask_blocks(tree, rows, asked):
        for place, rule in enumerate(listed.tolist()):
            covered[span, place] = unpack_bits(rows_of_rule(paths, deleted, rule, masks), span.stop - span.start)
    return covered


# Pairs that are listed before equal ones are added up, so that rows covered by many rules take no more memory.
MOST_PAIRS = 1 << 22
MOST_MARKS = 1 << 25  # rows in conflict times rules that are looked at together
LISTED_COST = 256  # listing a pair and sorting it takes as long as so many products of a matrix


@dataclass(frozen=True)
class PairCounts:
    """(Weighted) rows that pairs of rules share; counts of parts add up."""

    total: float  # all rows
    first: NDArray[np.int64]  # the two rules of each pair, the smaller number first; sorted
    second: NDArray[np.int64]
    rows: NDArray[np.float64]  # that both cover

    def __add__(self, other: PairCounts) -> PairCounts:
        return _merge(self.total + other.total, [self, other])


def count_overlaps(
    tree: Tree, paths: Paths, deleted: NDArray[np.bool_], rows: Rows, weights: NDArray[np.float64] | None
) -> PairCounts:
    """Count the rows that each pair of rules of different classes shares; pairs that share none are left out."""
    total = float(rows.n_rows if weights is None else weights.sum())
    if not deleted.any():  # leaves share no row
        return _count_nothing(total)
    merged, waiting, n_waiting = _count_nothing(total), [], 0
    for span, masks in mask_blocks(tree, rows):
        weight = np.ones(span.stop - span.start) if weights is None else weights[span]
        for sets, size in _group_rows(paths, deleted, masks, weight):
            for part in _pair_rules(paths, sets, size):
                waiting.append(part)
                n_waiting += len(part.rows)
                if n_waiting > MOST_PAIRS + len(merged.rows):
                    merged, waiting, n_waiting = _merge(total, [merged, *waiting]), [], 0
    return _merge(total, [merged, *waiting])


def _group_rows(
    paths: Paths, deleted: NDArray[np.bool_], masks: Masks, weight: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.float64]]]:
    """Find the sets of rules that cover rows in conflict, (n_sets, n_rules), and the weight of the rows of each."""
    covered = np.stack([rows_of_rule(paths, deleted, rule, masks) for rule in range(paths.n_rules)])
    once, twice = np.zeros_like(masks[0]), np.zeros_like(masks[0])
    for class_id in np.unique(paths.leaf_class).tolist():
        own = np.bitwise_or.reduce(covered[paths.leaf_class == class_id], axis=0)
        twice |= once & own
        once |= own
    in_conflict = np.flatnonzero(unpack_bits(twice, len(weight)))
    marks = covered.view(np.uint8)
    step = max(1, MOST_MARKS // paths.n_rules)
    for start in range(0, len(in_conflict), step):
        chosen = in_conflict[start : start + step]
        sets = ((marks[:, chosen // 8] >> (chosen % 8).astype(np.uint8)) & 1).astype(bool).T
        _, place, group = np.unique(np.packbits(sets, axis=1), axis=0, return_index=True, return_inverse=True)
        yield sets[place], np.bincount(group.ravel(), weights=weight[chosen]).astype(np.float64)


def _pair_rules(paths: Paths, sets: NDArray[np.bool_], weight: NDArray[np.float64]) -> Iterator[PairCounts]:
    """Count the pairs of rules of different classes in sets: one by one if they are few, else by products."""
    used = np.flatnonzero(sets.any(axis=0))
    sizes = sets.sum(axis=1)
    n_pairs = int((sizes * (sizes - 1) // 2).sum())
    if LISTED_COST * n_pairs > len(sets) * len(used) ** 2:
        return _multiply(paths, sets[:, used], weight, used)
    return _list_pairs(paths, sets, weight)


def _list_pairs(paths: Paths, sets: NDArray[np.bool_], weight: NDArray[np.float64]) -> Iterator[PairCounts]:
    """List the pairs of each set, some sets at a time, and add up the weights of equal pairs."""
    owner, rule = np.nonzero(sets)
    n_rules = np.bincount(owner, minlength=len(sets))
    n_later = np.repeat(np.cumsum(n_rules), n_rules) - 1 - np.arange(len(owner))
    ends = np.cumsum(n_later)
    bounds = np.searchsorted(ends, np.arange(0, ends[-1], MOST_PAIRS)).tolist()
    for start, stop in zip(bounds, [*bounds[1:], len(owner)], strict=True):
        part = n_later[start:stop]
        one = np.repeat(np.arange(start, stop), part)
        two = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(part) - part, part)
        first, second = rule[one], rule[two]
        differ = paths.leaf_class[first] != paths.leaf_class[second]
        yield _add_up(0.0, first[differ], second[differ], weight[owner[one]][differ])


def _multiply(
    paths: Paths, sets: NDArray[np.bool_], weight: NDArray[np.float64], used: NDArray[np.int64]
) -> Iterator[PairCounts]:
    """Multiply the marks of some rules with those of all later ones: the products sum up the shared weight."""
    marks = sets.astype(np.float64)
    step = max(1, MOST_PAIRS // len(used))
    for start in range(0, len(used), step):
        stop = min(start + step, len(used))
        shared = (marks[:, start:stop] * weight[:, None]).T @ marks[:, start:]
        differ = paths.leaf_class[used[start:stop], None] != paths.leaf_class[None, used[start:]]
        later = np.arange(stop - start)[:, None] < np.arange(len(used) - start)
        one, two = np.nonzero((shared > 0) & differ & later)
        yield PairCounts(0.0, used[start + one], used[start + two], shared[one, two])


def _count_nothing(total: float) -> PairCounts:
    nobody = np.zeros(0, dtype=np.int64)
    return PairCounts(total, nobody, nobody, np.zeros(0))


def _merge(total: float, parts: Sequence[PairCounts]) -> PairCounts:
    numbers = (np.concatenate([getattr(part, name) for part in parts]) for name in ("first", "second", "rows"))
    return _add_up(total, *numbers)


def _add_up(total: float, first: NDArray[np.int64], second: NDArray[np.int64], rows: NDArray[np.float64]) -> PairCounts:
    """Sort pairs and add up the rows of equal ones; pairs of no weight are left out."""
    if not len(first):
        return PairCounts(total, first, second, rows)
    size = int(second.max()) + 1
    keys, place = np.unique(first * size + second, return_inverse=True)
    sums = np.bincount(place, weights=rows).astype(np.float64)
    keys, sums = keys[sums > 0], sums[sums > 0]
    return PairCounts(total, keys // size, keys % size, sums)
