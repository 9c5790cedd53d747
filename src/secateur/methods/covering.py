"""Choose few of the rules of a tree so that every leaf of a class lies in one of them.

A rule *stands for* a leaf of its class when the leaf's whole region lies in the rule's. Rules that stand for every leaf
of a class, and meet no leaf of another, say all about that class; what they do not cover is of the other classes.

The choice is greedy: the rule that stands for the most further leaves per condition comes next; at the end, what became
superfluous goes. Ties go to the rule with more leaves, then to source order.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secateur.kernels.run_walks import run_contained
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

__all__ = ["Containment", "choose_rules", "find_containment"]


@dataclass(frozen=True)
class Containment:
    """The leaves that each rule stands for, as places in source order.

    ``leaves[offsets[i]:offsets[i + 1]]`` are those of rule ``i``, increasing.
    """

    offsets: NDArray[np.int64]
    leaves: NDArray[np.int64]
    is_possible: NDArray[np.bool_]  # whether some possible row reaches each leaf

    def of_rule(self, rule: int) -> NDArray[np.int64]:
        """The leaves that a rule stands for."""
        return self.leaves[self.offsets[rule] : self.offsets[rule + 1]]


def find_containment(tree: Tree, paths: Paths, deleted: NDArray[np.bool_]) -> Containment:
    """Find the leaves that each rule stands for; the tree is one over possible rows."""
    own = run_contained(tree, paths, np.zeros_like(deleted))
    is_possible = np.zeros(paths.n_rules, dtype=bool)
    is_possible[own[:, 0]] = True
    runs = run_contained(tree, paths, deleted)
    lengths = runs[:, 2] - runs[:, 1]
    rule = np.repeat(runs[:, 0], lengths)
    leaf = np.arange(len(rule)) + np.repeat(runs[:, 1] - (np.cumsum(lengths) - lengths), lengths)
    stands = (paths.leaf_class[leaf] == paths.leaf_class[rule]) & is_possible[leaf]
    rule, leaf = rule[stands], leaf[stands]
    offsets = np.searchsorted(rule, np.arange(paths.n_rules + 1))
    return Containment(offsets, leaf, is_possible)


def choose_rules(
    containment: Containment, n_conditions: NDArray[np.int64], among: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Choose some of the rules that together stand for every leaf that one of them stands for, in source order."""
    bounds, leaves, costs = containment.offsets.tolist(), containment.leaves.tolist(), n_conditions.tolist()
    candidates = np.flatnonzero(among & (np.diff(containment.offsets) > 0)).tolist()
    is_covered = bytearray(len(n_conditions))

    def rate(rule: int, n_leaves: int) -> tuple[float, int, int]:
        return (-n_leaves / costs[rule] if costs[rule] else -math.inf, -n_leaves, rule)

    heap = [rate(rule, bounds[rule + 1] - bounds[rule]) for rule in candidates]
    heapq.heapify(heap)
    chosen = []
    while heap:
        listed = heapq.heappop(heap)
        rule = listed[2]
        own = leaves[bounds[rule] : bounds[rule + 1]]
        n_further = len(own) - sum(is_covered[leaf] for leaf in own)
        if not n_further:
            continue
        now = rate(rule, n_further)
        if now > listed:  # others were chosen since; it may not be the best any more
            heapq.heappush(heap, now)
            continue
        chosen.append(rule)
        for leaf in own:
            is_covered[leaf] = 1
    return _drop_superfluous(np.array(sorted(chosen), dtype=np.int64), containment, n_conditions)


def _drop_superfluous(
    chosen: NDArray[np.int64], containment: Containment, n_conditions: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Drop rules all of whose leaves others stand for, the longest first."""
    times = np.zeros(len(n_conditions), dtype=np.int64)
    for rule in chosen.tolist():
        times[containment.of_rule(rule)] += 1
    kept = np.ones(len(n_conditions), dtype=bool)
    for rule in chosen[np.argsort(-n_conditions[chosen], kind="stable")].tolist():
        own = containment.of_rule(rule)
        if (times[own] > 1).all():
            times[own] -= 1
            kept[rule] = False
    return chosen[kept[chosen]]
