"""Count what rules cover without one of their conditions, without two, and without any set of them.

One look at the rows answers all single conditions and all pairs of every rule: rows are counted by the conditions that
they violate (:mod:`secateur.counting.violations`). Any other set is one more count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from secateur.counting.training_evidence import TrainingEvidence
    from secateur.counting.violations import ViolationCounts
    from secateur.tree.paths import Paths


def count_without_one(evidence: TrainingEvidence, paths: Paths) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Count the rows of each class of every leaf, and of its rule without each entry alone, (n_entries, n_classes)."""
    opened = np.ones(len(paths.links), dtype=bool)
    gained = np.zeros((len(opened), evidence.tree.n_classes))
    for among, violations in _count_groups(evidence, paths, opened):
        entries = np.flatnonzero(among[paths.rule])
        gained[entries] = violations.gain(entries, ~opened)
    leaf_counts: NDArray[np.float64] = violations.leaf_counts
    return leaf_counts, leaf_counts[paths.rule] + gained


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
