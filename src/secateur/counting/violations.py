"""Count rows by the conditions that they violate: one pass over the rows answers many trials of every rule.

Some conditions of a rule are *firm*: only rows that satisfy them all are counted. Others are *open*: the rows are told
apart by which of these they violate. What the rule gains when it loses an open condition, with or without others, is
then a sum of counts, so a method can try deletions without another look at the rows.

Rules with few open conditions have a cell for each pattern of violated ones, which answers every question. Where that
would be too many cells, rows that violate more than two conditions share one; the others answer as long as no more than
one open condition of a rule has been deleted.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.counting.coverage import count_bits, pack_links, rows_in, unpack_bits
from secateur.counting.tile_arguments import (
    NO_NODES,
    Conditions,
    keep_asked,
    make_preorder,
    make_room,
    make_rule_conditions,
    make_tests,
)
from secateur.kernels import tiles
from secateur.kernels.running import compile_module, is_soon_done, map_in_threads, n_threads
from secateur.rows.rows import LabelledRows, apply_tree, count_classes
from secateur.tree.paths import Paths
from secateur.tree.shares import divide_or_nan
from secateur.tree.tree import Tree

# numpy looks at so many pairs of a row and a rule, or an open condition, in less time than compiling takes.
PLAIN_PAIRS = 1 << 31
# It looks at so many rows at a time.
PLAIN_ROWS = 1 << 17
# Numbers that a pass counts, on each thread: a cell has one for each class.
MOST_NUMBERS = 1 << 21


class Layout(NamedTuple):
    """The rules to count, the first cell of each and where cells end, and whether only pairs are told apart."""

    rules: NDArray[np.int64]
    offsets: NDArray[np.int64]
    is_paired: bool


@dataclass(frozen=True)
class ViolationCounts:
    """(Weighted) rows of each class, by rule and by violated open conditions.

    Cell ``offsets[i] + p`` counts the rows whose violated open conditions are pattern ``p``, a bit each from the root
    on. If paired: first the rows that violate none, then those that violate the k-th alone, then those that violate the
    j-th and the k-th alone for j < k at ``k (k - 1) / 2 + j``, and last all others.
    """

    paths: Paths
    opened: NDArray[np.bool_]  # the open conditions
    is_paired: bool  # whether only rows that violate up to two open conditions are told apart
    leaf_counts: NDArray[np.float64]  # rows that satisfy all conditions of a rule's path
    rules: NDArray[np.int64]  # that were counted; the others cover what their leaf covers
    offsets: NDArray[np.int64]  # first cell of each of them
    cells: NDArray[Any]  # shape (n_cells, n_classes)

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """Rows of each class that each rule covers, shape (n_rules, n_classes)."""
        counts = self.leaf_counts.copy()
        counts[self.rules] = self.cells[self.offsets[:-1]]
        return counts

    @cached_property
    def counts_without_open(self) -> NDArray[np.float64]:
        """Rows of each class that each rule covers without any of its open conditions."""
        counts = self.leaf_counts.copy()
        if len(self.rules):
            counts[self.rules] = np.add.reduceat(self.cells, self.offsets[:-1], dtype=np.float64)
        return counts

    def gain(self, entries: NDArray[np.int64], deleted: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Count the rows of each class that a rule gains by losing one more open entry, shape (n_entries, n_classes).

        ``deleted`` marks the open entries that are gone by now; if only pairs are told apart, at most one of a rule.
        """
        return self._gain_by_pairs(entries, deleted) if self.is_paired else self._gain_by_patterns(entries, deleted)

    def _gain_by_pairs(self, entries: NDArray[np.int64], deleted: NDArray[np.bool_]) -> NDArray[np.float64]:
        paths = self.paths
        other = np.full(paths.n_rules, -1, dtype=np.int64)
        gone = self._open_entries[deleted[self._open_entries]]
        other[paths.rule[gone]] = self.find_places(gone)
        first, size = self.first_cells, self.n_open
        rule, one = paths.rule[entries], self.find_places(entries)
        two = other[rule]
        gained: NDArray[np.float64] = self.cells[first[rule] + 1 + one].astype(np.float64)
        low, high = np.minimum(one, two), np.maximum(one, two)
        paired = low >= 0
        gained[paired] += self.cells[(first[rule] + 1 + size[rule] + high * (high - 1) // 2 + low)[paired]]
        return gained

    def _gain_by_patterns(self, entries: NDArray[np.int64], deleted: NDArray[np.bool_]) -> NDArray[np.float64]:
        gone = self._open_entries[deleted[self._open_entries]]
        allowed = np.zeros(self.paths.n_rules, dtype=np.int64)
        np.bitwise_or.at(allowed, self.paths.rule[gone], np.int64(1) << self.find_places(gone))
        beyond = self._pattern & ~allowed[self._owner]
        single = np.flatnonzero(count_bits(beyond) == 1)
        place = count_bits(beyond[single] - 1)
        asked = np.full(len(self._open_entries), -1, dtype=np.int64)
        asked[np.searchsorted(self._open_entries, entries)] = np.arange(len(entries))
        target = asked[np.searchsorted(self._open_rule, self._owner[single]) + place]
        gained = np.zeros((len(entries), self.cells.shape[1]))
        np.add.at(gained, target[target >= 0], self.cells[single[target >= 0]])
        return gained

    def count_pairs(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
        """Count the rows of each class that violate two open entries of a rule and no other, (n_pairs, n_classes).

        The entry nearer to the root comes first.
        """
        rule, one, two = self.paths.rule[first], self.find_places(first), self.find_places(second)
        start = self.first_cells
        if self.is_paired:
            cell = start[rule] + 1 + self.n_open[rule] + two * (two - 1) // 2 + one
        else:
            cell = start[rule] + ((np.int64(1) << one) | (np.int64(1) << two))
        return self.cells[cell].astype(np.float64)

    @cached_property
    def _open_entries(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.opened)

    @cached_property
    def _open_rule(self) -> NDArray[np.int32]:
        return self.paths.rule[self._open_entries]

    @cached_property
    def first_cells(self) -> NDArray[np.int64]:
        """The first cell of each rule that was counted, shape (n_rules,)."""
        first = np.zeros(self.paths.n_rules, dtype=np.int64)
        first[self.rules] = self.offsets[:-1]
        return first

    @cached_property
    def n_open(self) -> NDArray[np.int64]:
        """How many open conditions each rule has."""
        return np.bincount(self._open_rule, minlength=self.paths.n_rules)

    def find_places(self, entries: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many open entries of its rule come before each of some open entries."""
        before = self._n_open_before
        return before[entries] - before[self.paths.offsets[self.paths.rule[entries]]]

    @cached_property
    def _n_open_before(self) -> NDArray[np.int64]:
        """How many open entries come before each entry, of its rule and of others."""
        return np.concatenate([[0], np.cumsum(self.opened)])

    @cached_property
    def _owner(self) -> NDArray[np.int64]:
        return np.repeat(self.rules, np.diff(self.offsets))

    @cached_property
    def _pattern(self) -> NDArray[np.int64]:
        return np.arange(len(self.cells)) - np.repeat(self.offsets[:-1], np.diff(self.offsets))


def find_reliability(
    paths: Paths, counts: NDArray[np.float64], rules: NDArray[np.int32] | None = None
) -> NDArray[np.float64]:
    """Share of each rule's (weighted) rows in its class, by default of all rules; NaN where it has none."""
    wanted = paths.leaf_class if rules is None else paths.leaf_class[rules]
    return divide_or_nan(counts[np.arange(len(counts)), wanted], counts.sum(axis=1))


def _count_pairs(n_open: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the cells of rules with so many open conditions where only pairs are told apart."""
    return 2 + n_open + n_open * (n_open - 1) // 2


def split_rules(paths: Paths, opened: NDArray[np.bool_], n_classes: int) -> list[NDArray[np.bool_]]:
    """Split the rules into groups that one pass can count, as masks of the rules; almost always one group."""
    n_open = paths.count(opened)
    cells = np.minimum(np.exp2(n_open.astype(np.float64)), _count_pairs(n_open))
    group = np.cumsum(cells * n_classes) // max(1, MOST_NUMBERS)
    return [group == number for number in np.unique(group)]


def list_patterns(paths: Paths, conditions: Conditions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the rules that have something deleted or open, and the first cell of each: a cell for every pattern."""
    rules, n_open = _list_rules(paths, conditions)
    return rules, np.concatenate([[0], np.cumsum(np.int64(1) << n_open)])


def _list_rules(paths: Paths, conditions: Conditions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the rules that have something deleted or open, and how many open conditions each has."""
    n_open = paths.count(conditions.opened)
    is_widened = paths.count(conditions.deleted) > 0
    rules = np.flatnonzero(conditions.among & (is_widened | (n_open > 0)))
    return rules, n_open[rules]


def _lay_out(paths: Paths, conditions: Conditions, n_classes: int) -> Layout:
    """Tell all patterns apart if there is room for them, else pairs."""
    rules, size = _list_rules(paths, conditions)
    is_paired = bool(np.exp2(size.astype(np.float64)).sum() * n_classes > MOST_NUMBERS)
    sizes = _count_pairs(size) if is_paired else np.int64(1) << size
    return Layout(rules, np.concatenate([[0], np.cumsum(sizes)]), is_paired)


def count_violations(
    tree: Tree,
    paths: Paths,
    conditions: Conditions,
    listed: LabelledRows,
    leaf_counts: NDArray[np.float64] | None = None,
) -> ViolationCounts:
    """Count the rows of every rule by the open conditions that they violate, and of the leaves if not known yet."""
    layout = _lay_out(paths, conditions, tree.n_classes)
    counter = _Counter(tree, paths, conditions, layout, with_leaves=leaf_counts is None)
    found, cells = counter.count(listed)
    known = found if leaf_counts is None else leaf_counts
    return ViolationCounts(paths, conditions.opened, layout.is_paired, known, layout.rules, layout.offsets, cells)


class PatternCounter:
    """Counts rows of each leaf, and of each cell of :func:`list_patterns`, however many cells there are.

    What does not depend on the rows is prepared once, for rows that come in many chunks.
    """

    def __init__(self, tree: Tree, paths: Paths, conditions: Conditions) -> None:
        self._counter = _Counter(tree, paths, conditions, Layout(*list_patterns(paths, conditions), False), True)

    def count(self, listed: LabelledRows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count a chunk of rows."""
        leaf_counts, cells = self._counter.count(listed)
        return leaf_counts, cells.astype(np.float64)


@dataclass(frozen=True)
class _Counter:
    """Counts rows of each leaf, if wanted, and of each cell of a layout."""

    tree: Tree
    paths: Paths
    conditions: Conditions
    layout: Layout
    with_leaves: bool

    def count(self, listed: LabelledRows) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Count by numpy as long as that is soon done, else in compiled code."""
        n_pairs = listed.rows.n_rows * (self.paths.n_rules + int(np.count_nonzero(self.conditions.opened)))
        is_plain = is_soon_done("count_by_violations", n_pairs, PLAIN_PAIRS)
        return self._count_by_numpy(listed) if is_plain else self._count_by_tiles(listed)

    def _count_by_numpy(self, listed: LabelledRows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Make a mask of many rows for each link, and count each rule by its masks; weights are added row after row."""
        (rows, class_ids, weights), (rules, offsets, is_paired) = listed[:3], self.layout
        tree, paths, conditions, n_classes = self.tree, self.paths, self.conditions, self.tree.n_classes
        leaf_counts, cells = np.zeros((paths.n_rules, n_classes)), np.zeros((offsets[-1], n_classes))
        if self.with_leaves:
            leaf_counts = count_classes(tree, apply_tree(tree, rows), class_ids, weights)[paths.leaf_ids]
        tested = np.unique(tree.feature[~tree.is_leaf])
        for start in range(0, rows.n_rows, PLAIN_ROWS):
            n_rows = min(PLAIN_ROWS, rows.n_rows - start)
            masks = pack_links(tree, rows.select(start, start + n_rows, tested), tested)
            for rule, (first, last) in zip(rules.tolist(), pairwise(offsets.tolist()), strict=True):
                span = paths.entries(rule)
                links, opened = paths.links[span], conditions.opened[span]
                firm = links[~conditions.deleted[span] & ~opened]
                inside = np.flatnonzero(unpack_bits(rows_in(masks, firm), n_rows))
                violated = ~unpack_bits(masks[links[opened]], n_rows)[:, inside]
                own = _find_cells(violated, is_paired=is_paired) * n_classes + class_ids[start + inside]
                counted = cells[first:last].reshape(-1)
                if weights is None:
                    counted += np.bincount(own, minlength=len(counted))
                else:
                    np.add.at(counted, own, weights[start + inside])
        return leaf_counts, cells

    @cached_property
    def _tile_arguments(self) -> tuple[NDArray[np.int64], Any, Any, Any]:
        """The tested features, the tests, the rules' conditions and the nodes, as compiled code reads them."""
        features, tests, condition_of = make_tests(self.tree)
        conditions = make_rule_conditions(self.paths, condition_of, self.conditions, *self.layout)
        if self.with_leaves:
            return features, tests, conditions, make_preorder(self.tree, self.paths, condition_of)
        return features, *keep_asked(tests, conditions), NO_NODES

    def _count_by_tiles(self, listed: LabelledRows) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Count tiles of rows in compiled code, blocks of them on several threads.

        Numbers of rows are whole and may be added in any order. Weights are added row after row on one thread, so that
        their sums do not depend on the machine.
        """
        count_by_violations = compile_module(tiles).count_by_violations
        rows, class_ids, weights = listed[:3]
        features, tests, conditions, nodes = self._tile_arguments
        tree, n_rules, n_cells = self.tree, self.paths.n_rules, self.layout.offsets[-1]
        weight = np.zeros(0) if weights is None else weights
        n_parts = min(n_threads(), len(rows.spans())) if weights is None else 1
        waiting: SimpleQueue[tuple[int, int] | None] = SimpleQueue()
        for item in [*rows.spans(), *[None] * n_parts]:
            waiting.put(item)

        def count(_: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
            """Count whatever block is next, so that threads end at about the same time."""
            leaf_counts = np.zeros((n_rules, tree.n_classes))
            cells = np.zeros((n_cells, tree.n_classes), dtype=np.uint32 if weights is None else np.float64)
            room = make_room(tests, conditions.longest, tree.depth, tree.n_classes)
            while (span := waiting.get()) is not None:
                block = rows.block(*span, features)
                count_by_violations(
                    *(block.values, block.origin, block.step, block.columns, *span, class_ids, weight),
                    *(tests, nodes, conditions, room, leaf_counts, cells),
                )
            return leaf_counts, cells

        results = map_in_threads(count, range(n_parts))
        leaf_counts, cells = next(results)
        for other_leaf_counts, other_cells in results:
            leaf_counts += other_leaf_counts
            cells += other_cells
        return leaf_counts, cells


def _find_cells(violated: NDArray[np.bool_], *, is_paired: bool) -> NDArray[np.int64]:
    """Find the cell of each row from the open conditions that it violates, shape (n_open, n_rows)."""
    place = np.arange(len(violated))
    if not is_paired:
        return (np.int64(1) << place) @ violated
    n_violated = violated.sum(axis=0)
    low = np.where(violated, place[:, None], len(violated)).min(axis=0, initial=len(violated))
    high = np.where(violated, place[:, None], -1).max(axis=0, initial=-1)
    pair = 1 + len(violated) + high * (high - 1) // 2 + low
    many = 1 + len(violated) + len(violated) * (len(violated) - 1) // 2
    return np.select([n_violated == 0, n_violated == 1, n_violated == 2], [np.zeros_like(low), 1 + low, pair], many)
