"""What methods ask of training rows, and how the rows themselves answer: one look at them answers many trials.

Rows are counted by the conditions that they violate, which answers all single conditions and all pairs of every rule;
any other set is one more count. Some conditions of a rule are *firm*: only rows that satisfy them all are counted.
Others are *open*: the rows are told apart by which of these they violate. What the rule gains when it loses an open
condition, with or without others, is then a sum of counts.

Rules with few open conditions have a cell for each pattern of violated ones, which answers every question. Where that
would be too many cells, rows that violate more than two conditions share one; the others answer as long as no more than
one open condition of a rule has been deleted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.counting.masks import ClassMasks, Masks, list_rows, mask_blocks, mask_leaves, rows_in
from secateur.rows.rows import LabelledRows, RowIndex, Rows, apply_tree, count_classes, index_rows
from secateur.tree.paths import Paths
from secateur.tree.shares import divide_or_nan
from secateur.tree.tree import Tree

# By up to this many open conditions, the masks of a rule are split; by more of them, rows are looked at one by one.
SPLIT_TESTS = 5
MASKED_LEAVES = 200  # with more leaves, rows are sent down the tree where no rule needs masks
FEW_CLASSES = 8  # with more classes, rows are looked up one by one
MOST_NUMBERS = 1 << 21  # numbers that a pass counts, on each thread: a cell has one for each class


@dataclass(frozen=True)
class Conditions:
    """Which conditions of rules are deleted and which are open; the others are firm."""

    deleted: NDArray[np.bool_]  # shape (n_entries,)
    opened: NDArray[np.bool_]
    among: NDArray[np.bool_]  # the rules to count, shape (n_rules,)


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
        single = np.flatnonzero(np.bitwise_count(beyond) == 1)
        place = np.bitwise_count(beyond[single] - 1)
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
    found, cells = Counter(tree, paths, conditions, layout, with_leaves=leaf_counts is None).count(listed)
    known = found if leaf_counts is None else leaf_counts
    return ViolationCounts(paths, conditions.opened, layout.is_paired, known, layout.rules, layout.offsets, cells)


def count_alone(tree: Tree, paths: Paths, listed: LabelledRows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Count the rows of each class of each leaf, and those that violate one condition of its path alone; no weights."""
    leaf_counts = np.zeros((paths.n_rules, tree.n_classes))
    counts = np.zeros((len(paths.links), tree.n_classes))
    for span, masks in mask_blocks(tree, listed.rows):
        classes = ClassMasks(listed.class_ids[span], None, tree.n_classes)
        for rule in range(paths.n_rules):
            entries = paths.entries(rule)
            violated = masks[0] & ~masks[paths.links[entries]]
            some, several = np.zeros((2, masks.shape[1]), dtype=np.uint64)
            for one in violated:
                several |= some & one
                some |= one
            classes.add(masks[0] & ~some, leaf_counts[rule])
            words = np.flatnonzero(some & ~several)
            alone = violated[:, words] & ~several[words]
            if classes.masks is None or len(classes.masks) > FEW_CLASSES:
                condition, place = divmod(list_rows(alone.reshape(-1)), max(1, 64 * len(words)))
                classes.add_rows((words[place >> 6] << 6) + (place & 63), condition, counts[entries])
            else:
                for class_id, members in enumerate(classes.masks[:, words]):
                    counts[entries, class_id] += np.bitwise_count(alone & members).sum(axis=1, dtype=np.int64)
    return leaf_counts, counts


@dataclass(frozen=True)
class Counter:
    """Counts rows of each leaf, if wanted, and of each cell of a layout."""

    tree: Tree
    paths: Paths
    conditions: Conditions
    layout: Layout
    with_leaves: bool

    @classmethod
    def of_patterns(cls, tree: Tree, paths: Paths, conditions: Conditions) -> Counter:
        """Prepare once to count every cell of :func:`list_patterns`, however many, of rows that come in chunks."""
        return cls(tree, paths, conditions, Layout(*list_patterns(paths, conditions), False), True)

    def count(self, listed: LabelledRows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count some rows."""
        (rows, class_ids, weights), tree, paths = listed[:3], self.tree, self.paths
        leaf_counts = np.zeros((paths.n_rules, tree.n_classes))
        cells = np.zeros((self.layout.offsets[-1], tree.n_classes))
        has_rules = len(self.layout.rules) > 0
        by_masks = weights is None and (has_rules or paths.n_rules <= MASKED_LEAVES)
        if self.with_leaves and not by_masks:
            leaf_counts = count_classes(tree, apply_tree(tree, rows), class_ids, weights)[paths.leaf_ids]
        if not has_rules and not (self.with_leaves and by_masks):
            return leaf_counts, cells
        for span, masks in mask_blocks(tree, rows):
            classes = ClassMasks(class_ids[span], None if weights is None else weights[span], tree.n_classes)
            if self.with_leaves and by_masks:
                for passing, counts in zip(mask_leaves(tree, masks), leaf_counts, strict=True):
                    classes.add(passing, counts)
            for rule, (first, last) in zip(
                self.layout.rules.tolist(), pairwise(self.layout.offsets.tolist()), strict=True
            ):
                self._count_rule(rule, masks, classes, cells[first:last])
        return leaf_counts, cells

    def _count_rule(self, rule: int, masks: Masks, classes: ClassMasks, cells: NDArray[np.float64]) -> None:
        """Count the rows of a rule, by the open conditions that they violate."""
        span = self.paths.entries(rule)
        links, opened = self.paths.links[span], self.conditions.opened[span]
        inside = rows_in(masks, links[~self.conditions.deleted[span] & ~opened])
        if not opened.any():
            classes.add(inside, cells[0])
            return
        words = np.flatnonzero(inside)  # of a rule deep in a tree, few words have a row
        asked, inside = masks[links[opened]][:, words], inside[words]
        if classes.masks is None or len(asked) > SPLIT_TESTS or self.layout.is_paired:
            self._list_rows(words, inside, asked, classes, cells)
            return
        parts = inside[None]
        for held in asked:
            parts = np.concatenate([parts & held, parts & ~held])
        for class_id, members in enumerate(classes.masks[:, words]):
            cells[:, class_id] += np.bitwise_count(parts & members).sum(axis=1, dtype=np.int64)

    def _list_rows(
        self, words: NDArray[np.int64], inside: Masks, asked: Masks, classes: ClassMasks, cells: NDArray[np.float64]
    ) -> None:
        """Count rows one by one; without weights, those that violate nothing, or more than are told apart, by masks."""
        listed = inside
        if classes.masks is not None:
            some, several, many = np.zeros((3, len(words)), dtype=np.uint64)
            for held in asked:
                violated = inside & ~held
                many |= several & violated
                several |= some & violated
                some |= violated
            members = classes.masks[:, words]
            cells[0] += np.bitwise_count(inside & ~some & members).sum(axis=1, dtype=np.int64)
            if self.layout.is_paired:
                cells[-1] += np.bitwise_count(many & members).sum(axis=1, dtype=np.int64)
            listed = some & ~many if self.layout.is_paired else some
        place = list_rows(listed)
        word, bit = place >> 6, (place & 63).astype(np.uint64)
        violated = (asked[:, word] >> bit) & np.uint64(1) == 0
        rows = (words[word] << 6) + (place & 63)
        classes.add_rows(rows, _find_cells(violated, is_paired=self.layout.is_paired), cells)


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


class TrainingEvidence(ABC):
    """What methods ask of training rows: how many of each class any rule covers."""

    tree: Tree

    def count_violations(
        self,
        paths: Paths,
        deleted: NDArray[np.bool_],
        opened: NDArray[np.bool_] | None = None,
        among: NDArray[np.bool_] | None = None,
    ) -> ViolationCounts:
        """Count the rows of rules by the open conditions that they violate.

        Parameters
        ----------
        paths : Paths
            The tree's rules and their conditions.
        deleted : ndarray of bool, shape (n_entries,)
            Conditions that are gone.
        opened : ndarray of bool, shape (n_entries,), default=None
            Conditions that rows are told apart by; by default none.
        among : ndarray of bool, shape (n_rules,), default=None
            The rules that are counted; by default all.
        """
        nothing, everyone = np.zeros_like(deleted), np.ones(paths.n_rules, dtype=bool)
        conditions = Conditions(deleted, nothing if opened is None else opened, everyone if among is None else among)
        return self._answer(paths, conditions)

    @abstractmethod
    def _answer(self, paths: Paths, conditions: Conditions) -> ViolationCounts:
        """Answer :meth:`count_violations`."""

    def count_violations_left(
        self, paths: Paths, deleted: NDArray[np.bool_], left: NDArray[np.int64]
    ) -> ViolationCounts:
        """Open some conditions and count the rows of their rules.

        Parameters
        ----------
        paths : Paths
        deleted : ndarray of bool, shape (n_entries,)
        left : ndarray of int64
            The open conditions.
        """
        opened, among = np.zeros_like(deleted), np.zeros(paths.n_rules, dtype=bool)
        opened[left], among[paths.rule[left]] = True, True
        return self.count_violations(paths, deleted, opened, among)

    def split_rules(self, paths: Paths, opened: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
        """Split the rules into groups that one pass can count, each an array of bools, shape (n_rules,).

        Parameters
        ----------
        paths : Paths
        opened : ndarray of bool, shape (n_entries,)
        """
        return split_rules(paths, opened, self.tree.n_classes)

    def count(self, paths: Paths, deleted: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count the (weighted) rows of each class that each rule covers, and each leaf's own rule.

        Parameters
        ----------
        paths : Paths
        deleted : ndarray of bool, shape (n_entries,)
        """
        violations = self.count_violations(paths, deleted)
        return violations.counts, violations.leaf_counts

    def remember(  # noqa: B027  # a subclass that keeps nothing has nothing to do
        self, deleted: NDArray[np.bool_], counts: NDArray[np.float64], leaf_counts: NDArray[np.float64]
    ) -> None:
        """Keep the counts that a method made, for whoever asks for them again.

        Parameters
        ----------
        deleted : ndarray of bool, shape (n_entries,)
        counts, leaf_counts : ndarray of float64, shape (n_rules, n_classes)
        """


@dataclass
class RowEvidence(TrainingEvidence):
    """Labelled, possibly weighted rows, and the counts that were asked for already."""

    tree: Tree
    rows: Rows
    class_ids: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    _counted: tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]] | None = field(
        default=None, init=False, repr=False
    )
    _leaf_counts: NDArray[np.float64] | None = field(default=None, init=False, repr=False)
    _index: RowIndex | None = field(default=None, init=False, repr=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    @property
    def listed(self) -> LabelledRows:
        """The rows with their classes and weights."""
        return LabelledRows(self.rows, self.class_ids, self.weights)

    def _answer(self, paths: Paths, conditions: Conditions) -> ViolationCounts:
        violations = count_violations(self.tree, paths, conditions, self.listed, self._leaf_counts)
        self._leaf_counts = violations.leaf_counts
        return violations

    def index(self, paths: Paths) -> RowIndex:
        """Find the order of the rows by their leaves, once; the paths are the tree's own."""
        if self._index is None:
            self._index = index_rows(self.tree, paths, self.rows)
        return self._index

    def count_leaves(self, paths: Paths) -> NDArray[np.float64]:
        """Count the rows of each class in each leaf."""
        if self._leaf_counts is None:
            cells = self.index(paths).place.astype(np.int64) * self.tree.n_classes + self.class_ids
            counts = np.bincount(cells, self.weights, paths.n_rules * self.tree.n_classes).astype(np.float64)
            self._leaf_counts = counts.reshape(paths.n_rules, self.tree.n_classes)
        return self._leaf_counts

    def count(self, paths: Paths, deleted: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count rows as the base class says, unless a method has."""
        if self._counted is not None and np.array_equal(self._counted[0], deleted):
            return self._counted[1:]
        return super().count(paths, deleted)

    def remember(
        self, deleted: NDArray[np.bool_], counts: NDArray[np.float64], leaf_counts: NDArray[np.float64]
    ) -> None:
        """Keep the counts that a method made; sums of weights are made again, as their order decides the last bit."""
        if self.weights is None:
            self._counted = deleted.copy(), counts, leaf_counts


def count_without_one(evidence: TrainingEvidence, paths: Paths) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Count the rows of each class of every leaf, and of its rule without each entry alone, (n_entries, n_classes)."""
    if isinstance(evidence, RowEvidence) and evidence.weights is None:
        leaf_counts, gained = count_alone(evidence.tree, paths, evidence.listed)
        return leaf_counts, leaf_counts[paths.rule] + gained
    opened = np.ones(len(paths.links), dtype=bool)
    gained = np.zeros((len(opened), evidence.tree.n_classes))
    for among, violations in _count_groups(evidence, paths, opened):
        entries = np.flatnonzero(among[paths.rule])
        gained[entries] = violations.gain(entries, ~opened)
    return violations.leaf_counts, violations.leaf_counts[paths.rule] + gained


def list_pairs(paths: Paths, rules: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the pairs of entries of some rules, rule after rule, the entry nearer to the root first."""
    chosen = np.zeros(paths.n_rules, dtype=bool)
    chosen[rules] = True
    entries = np.flatnonzero(chosen[paths.rule])
    n_later = paths.offsets[paths.rule[entries] + 1] - 1 - entries
    first = np.repeat(entries, n_later)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(n_later) - n_later, n_later)
    return first, second


def count_without_two(
    evidence: TrainingEvidence, paths: Paths, first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Count the rows of each class of the rules without both entries of each pair, (n_pairs, n_classes)."""
    opened = np.zeros(len(paths.links), dtype=bool)
    opened[first] = opened[second] = True
    counts = np.zeros((len(first), evidence.tree.n_classes))
    nothing = np.zeros_like(opened)
    for among, violations in _count_groups(evidence, paths, opened):
        own = np.flatnonzero(among[paths.rule[first]])
        entries = np.flatnonzero(opened & among[paths.rule])
        gained = violations.gain(entries, nothing)
        one, two = (np.searchsorted(entries, part[own]) for part in (first, second))
        both = violations.count_pairs(first[own], second[own])
        counts[own] = violations.leaf_counts[paths.rule[first[own]]] + gained[one] + gained[two] + both
    return counts


def count_without_sets(
    evidence: TrainingEvidence, paths: Paths, rules: Sequence[int], sets: Sequence[NDArray[np.int64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Count the rows of each class of rules, and of each without a set of its entries, (n_sets, n_classes).

    Sets of different rules share a look at the rows; several sets of one rule take one each.
    """
    source, counts = np.zeros((2, len(rules), evidence.tree.n_classes))
    waiting = list(range(len(rules)))
    while waiting:
        # The first waiting set of every rule, by rule.
        now = {rules[place]: place for place in reversed(waiting)}
        deleted, among = np.zeros(len(paths.links), dtype=bool), np.zeros(paths.n_rules, dtype=bool)
        for rule, place in now.items():
            deleted[sets[place]], among[rule] = True, True
        violations = evidence.count_violations(paths, deleted, among=among)
        for rule, place in now.items():
            source[place], counts[place] = violations.leaf_counts[rule], violations.counts[rule]
        done = set(now.values())
        waiting = [place for place in waiting if place not in done]
    return source, counts


def _count_groups(
    evidence: TrainingEvidence, paths: Paths, opened: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.bool_], ViolationCounts]]:
    """Count rows by the open entries that they violate, some rules at a time, as many as one pass can count."""
    nothing = np.zeros_like(opened)
    for among in evidence.split_rules(paths, opened):
        yield among, evidence.count_violations(paths, nothing, opened & among[paths.rule], among)
