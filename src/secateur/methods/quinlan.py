"""`quinlan`: antecedent deletion by certainty factor and Fisher's exact test (Quinlan, 1987).

For each remaining condition the rule is compared with and without it. k of n rows are right with it; deletion admits n'
further rows, of which k' are right. The condition is deletable if the certainty factor k/n does not fall, or if
Fisher's one-sided exact test of [[k, n - k], [k', n' - k']] gives p > α. The deletable condition whose removal leaves
the highest certainty factor goes (then highest p, then nearest the root, or the leaf with ``ties="leaf"``), and so on
until none is deletable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secateur.counting.row_evidence import RowEvidence
from secateur.counting.training_evidence import TrainingEvidence
from secateur.kernels.quinlan import CERTAINTY_KEPT, NOT_SIGNIFICANT
from secateur.methods.contract import Asks, Deletions, Method, Problem, Why
from secateur.methods.fisher import fisher_greater
from secateur.methods.quinlan_by_rule import Limits, is_suited, shorten_by_rule
from secateur.methods.settings import choice, share
from secateur.tree.paths import Paths

__all__ = ["METHOD"]

CERTAINTY_TOLERANCE = 1e-12
# Two p-values this close (relatively) are one value computed twice: ``ties`` then says which condition goes first, and
# 3/10 is not above 0.3, whichever way its last digits fall.
P_TOLERANCE = 1e-9
# A test takes some two hundred bytes for a while.
TABLES_AT_ONCE = 1 << 16


def _shorten(
    result: Deletions, paths: Paths, evidence: TrainingEvidence, among: NDArray[np.bool_], limits: Limits
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shorten a group of rules; return the counts of the new rules, and of leaves."""
    violations = evidence.count_violations(paths, result.deleted, among[paths.rule], among)
    counts, leaf_counts = violations.counts.copy(), violations.leaf_counts
    has_rows = leaf_counts.sum(axis=1) > 0
    result.keep(violations.opened & ~has_rows[paths.rule], Why.NO_ROWS)
    left = np.flatnonzero(violations.opened & has_rows[paths.rule])
    n_rounds = 0
    while len(left):
        if violations.is_paired and n_rounds == 2:
            violations, n_rounds = evidence.count_violations_left(paths, result.deleted, left), 0
        rule, gained = paths.rule[left], violations.gain(left, result.deleted)
        wanted, total, more = paths.leaf_class[rule], counts[rule].sum(axis=1), gained.sum(axis=1)
        right, more_right = counts[rule, wanted], gained[np.arange(len(left)), wanted]
        certainty, widened = right / total, (right + more_right) / (total + more)
        p = fisher_greater(right, total, more_right, more)
        holds = widened >= certainty - CERTAINTY_TOLERANCE
        result.before[left], result.after[left], result.number[left] = certainty, widened, p
        result.keep(left, Why.SIGNIFICANT)
        best = _choose(rule, holds | (p > limits.alpha * (1 + P_TOLERANCE)), widened, p, to_leaf=limits.to_leaf)
        result.delete(left[best[holds[best]]], Why.CERTAINTY_KEPT)
        result.delete(left[best[~holds[best]]], Why.NOT_SIGNIFICANT)
        counts[rule[best]] += gained[best]
        is_active = np.zeros(paths.n_rules, dtype=bool)
        is_active[rule[best]] = True
        left = left[is_active[rule] & ~result.deleted[left]]
        n_rounds += 1
    return counts, leaf_counts


def _shorten_by_rule(
    result: Deletions, paths: Paths, evidence: RowEvidence, limits: Limits
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """Shorten rules without counting them together; return those still to do, the counts of the others, of leaves."""
    (what, tables, counts, is_unsure), leaf_counts = shorten_by_rule(evidence, paths, limits)
    has_rows = (leaf_counts.sum(axis=1) > 0)[paths.rule]
    result.keep(~has_rows, Why.NO_ROWS)
    judged = np.flatnonzero(has_rows & ~is_unsure[paths.rule])
    for first in range(0, len(judged), TABLES_AT_ONCE):
        some = judged[first : first + TABLES_AT_ONCE]
        right, total, more_right, more = tables[some].T.astype(np.float64)
        result.before[some], result.after[some] = right / total, (right + more_right) / (total + more)
        result.number[some] = fisher_greater(right, total, more_right, more)
    result.keep(judged, Why.SIGNIFICANT)
    result.delete(judged[what[judged] == CERTAINTY_KEPT], Why.CERTAINTY_KEPT)
    result.delete(judged[what[judged] == NOT_SIGNIFICANT], Why.NOT_SIGNIFICANT)
    return is_unsure, counts, leaf_counts


def _choose(
    rule: NDArray[np.int32],
    deletable: NDArray[np.bool_],
    certainty: NDArray[np.float64],
    p: NDArray[np.float64],
    *,
    to_leaf: bool,
) -> NDArray[np.int64]:
    """Choose each rule's condition that leaves the highest certainty, then the highest p, then by the place."""
    best = np.flatnonzero(deletable)
    for value, slack in ((certainty, 0.0), (p, P_TOLERANCE)):
        highest = np.zeros(rule[-1] + 1)
        np.maximum.at(highest, rule[best], value[best])
        best = best[value[best] >= highest[rule[best]] * (1 - slack)]
    best = best[::-1] if to_leaf else best
    return best[np.unique(rule[best], return_index=True)[1]]


@dataclass(frozen=True)
class Quinlan(Method):
    """Greedy deletion, one condition at a time."""

    alpha: float = share(0.01)
    ties: str = choice("root", "leaf")  # which of two equally good conditions goes first

    name = "quinlan"
    summary = "deletes conditions while certainty does not fall or the loss is not significant"
    preserves = "nothing"
    guarantee = (
        "None: rules are shortened one by one on the training rows, and rules of different classes may overlap "
        "freely. Every row stays covered."
    )
    source = "Quinlan (1987)"
    asks = Asks.COUNTS
    rung = 90
    gives = frozenset({Why.CERTAINTY_KEPT, Why.NOT_SIGNIFICANT, Why.UNTOUCHED, Why.SIGNIFICANT, Why.NO_ROWS})

    def open_conditions(self, problem: Problem) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Leave every condition open."""
        every = np.ones(len(problem.paths.links), dtype=bool)
        return ~every, every

    def delete(self, problem: Problem) -> Deletions:
        """Delete conditions greedily, one at a time from every rule that has a deletable one."""
        paths, evidence = problem.paths, problem.rows
        result = Deletions.keep_all(paths, Why.UNTOUCHED)
        counts, to_do = np.zeros((paths.n_rules, problem.tree.n_classes)), np.ones(paths.n_rules, dtype=bool)
        limits = Limits(self.alpha, CERTAINTY_TOLERANCE, P_TOLERANCE, self.ties == "leaf")
        if isinstance(evidence, RowEvidence) and is_suited(evidence, paths):
            to_do, counts, leaf_counts = _shorten_by_rule(result, paths, evidence, limits)
        for group in evidence.split_rules(paths, to_do[paths.rule]) if to_do.any() else ():
            among = group & to_do
            found, leaf_counts = _shorten(result, paths, evidence, among, limits)
            counts[among] = found[among]
        evidence.remember(result.deleted, counts, leaf_counts)
        return result


METHOD = Quinlan()
