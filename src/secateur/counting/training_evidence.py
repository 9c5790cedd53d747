"""What methods ask of training rows, and how the rows themselves answer.

One look at the rows answers all single conditions and all pairs of every rule: rows are counted by the conditions that
they violate (:mod:`secateur.counting.violations`). Any other set is one more count.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from secateur.counting.violations import Conditions, ViolationCounts, count_alone, count_violations, split_rules
from secateur.rows.rows import LabelledRows, RowIndex, Rows, count_classes, index_rows
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


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

        Returns
        -------
        ViolationCounts
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

        Returns
        -------
        ViolationCounts
        """
        opened, among = np.zeros_like(deleted), np.zeros(paths.n_rules, dtype=bool)
        opened[left], among[paths.rule[left]] = True, True
        return self.count_violations(paths, deleted, opened, among)

    def split_rules(self, paths: Paths, opened: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
        """Split the rules into groups that one pass can count.

        Parameters
        ----------
        paths : Paths
        opened : ndarray of bool, shape (n_entries,)

        Returns
        -------
        list of ndarray of bool, shape (n_rules,)
        """
        return split_rules(paths, opened, self.tree.n_classes)

    def count(self, paths: Paths, deleted: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count the (weighted) rows of each class that each rule covers, and each leaf's own rule.

        Parameters
        ----------
        paths : Paths
        deleted : ndarray of bool, shape (n_entries,)

        Returns
        -------
        tuple of two ndarray of float64, shape (n_rules, n_classes)
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
            reached = self.index(paths).reached
            self._leaf_counts = count_classes(self.tree, reached, self.class_ids, self.weights)[paths.leaf_ids]
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
    begin = np.cumsum(n_later) - n_later
    second = first + 1 + np.arange(len(first)) - np.repeat(begin, n_later)
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
