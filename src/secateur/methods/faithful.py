"""`faithful`: conditions that neither the class nor the rule's reliability depends on.

Links are tried root to leaf. One goes if, without it and what is gone already, no leaf of another class meets the rule
*and* the rule's training reliability lies within ε of its leaf's. Mismatched links inside H, which set a less pure
leaf apart from others of its class, stay unless ``protect=False``. A leaf once met is met for good, but reliability
goes up and down; so what stayed is tried again, root to leaf, until a whole sweep deletes nothing. Then no single
further condition can go; two together still might.

A condition that separates classes on its own never becomes deletable, so rows are counted by the others only. Cost: a
walk for all rules decides those; then each sweep takes, for each place on a path, one sum of counts and one walk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from secateur.counting.violations import ViolationCounts, find_reliability
from secateur.kernels.running import run_met, run_witnesses
from secateur.methods.contract import (
    DEFAULT_TOLERANCE,
    EXACT_GUARANTEE,
    TOLERANCES,
    Asks,
    Deletions,
    Knob,
    Method,
    Problem,
    Why,
    amount,
    flag,
    share,
)
from secateur.tree.paths import DEFAULT_RF_TOL
from secateur.tree.shares import compare_reliability

__all__ = ["METHODS"]


@dataclass(frozen=True)
class Faithful(Method):
    """Delete single links while the class is implied and reliability holds."""

    tolerance: float = share(DEFAULT_TOLERANCE)
    protect: bool = flag(True)
    rf_tol: float = amount(DEFAULT_RF_TOL)

    name = "faithful"
    summary = "deletes single conditions that the class does not depend on, if reliability stays within a tolerance"
    preserves = "the tree's predictions, exactly, and each rule's reliability, within the tolerance"
    guarantee = (
        f"{EXACT_GUARANTEE} On the training rows the reliability of every rule is within {{tolerance:g}} of its "
        "leaf's own."
    )
    asks = Asks.COUNTS
    is_exact = True
    witness = "link"
    rung = 45
    gives = frozenset({Why.NO_FOREIGN_LEAF, Why.NOT_CERTIFIED, Why.RELIABILITY_MOVES, Why.INSIDE_H, Why.NO_ROWS})
    knob = Knob("tolerance", TOLERANCES)
    words: ClassVar[Mapping[int, str]] = {
        Why.NO_FOREIGN_LEAF: (
            "without it, and without what was deleted before it, the tree still says {name} wherever the rule holds, "
            "and the rule's reliability goes {moved_from_leaf}, within {tolerated} points"
        ),
        Why.RELIABILITY_MOVES: (
            "without it the tree would still say {name} wherever the rule holds, but the rule's reliability would go "
            "{moved_from_leaf}, more than {tolerated} points away"
        ),
        Why.INSIDE_H: (
            "protected: all leaves below node {node} predict {name}, and it sets apart a part where the share of "
            "{name} is {points} points lower"
        ),
        Why.NO_ROWS: "no row reaches this rule's leaf, so there is no reliability to keep",
    }

    def open_conditions(self, problem: Problem) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Leave the unprotected links open that do not separate classes on their own."""
        nothing = np.zeros(len(problem.paths.links), dtype=bool)
        return nothing, self._find_candidates(problem)

    def delete(self, problem: Problem) -> Deletions:
        """Sweep over the candidates of every rule until nothing more goes."""
        paths, evidence, candidates = problem.paths, problem.rows, self._find_candidates(problem)
        result = Deletions.keep_all(paths, Why.NOT_CERTIFIED)
        protected = self._find_protected(problem)
        result.keep(protected, Why.INSIDE_H)
        result.number[protected] = paths.shift[protected]
        result.node[protected] = paths.homogeneous_top[paths.links[protected]]
        counts = np.zeros((paths.n_rules, problem.tree.n_classes))
        for among in evidence.split_rules(paths, candidates):
            group = _Sweeps(problem, result, candidates & among[paths.rule], among, self.tolerance)
            group.run()
            counts[among], leaf_counts = group.counts[among], group.leaf_counts
        evidence.remember(result.deleted, counts, leaf_counts)
        _name_separators(problem, result)
        return result

    def _find_candidates(self, problem: Problem) -> NDArray[np.bool_]:
        nothing = np.zeros(len(problem.paths.links), dtype=bool)
        separated = run_witnesses(problem.feasible_tree(), problem.paths, nothing, by_feature=False)
        return (separated < 0) & ~self._find_protected(problem)

    def _find_protected(self, problem: Problem) -> NDArray[np.bool_]:
        paths = problem.paths
        return paths.mismatched & paths.inside_h if self.protect else np.zeros(len(paths.links), dtype=bool)


@dataclass
class _Sweeps:
    """The sweeps over the candidates of a group of rules, all rules side by side."""

    problem: Problem
    result: Deletions
    candidates: NDArray[np.bool_]
    among: NDArray[np.bool_]
    tolerance: float
    violations: ViolationCounts = field(init=False)
    counts: NDArray[np.float64] = field(init=False)  # of the rules as they are by now
    n_taken: NDArray[np.int64] = field(init=False)  # of each rule, since violations were counted
    is_whole: bool = field(default=True, init=False)  # whether violations are of the whole group

    def __post_init__(self) -> None:
        paths, result = self.problem.paths, self.result
        self._take(self.problem.rows.count_violations(paths, result.deleted, self.candidates, self.among))
        self.leaf_counts = self.violations.leaf_counts
        self.counts = self.violations.counts.copy()
        self.base = find_reliability(paths, self.leaf_counts)
        self.tree = self.problem.feasible_tree()

    def _take(self, violations: ViolationCounts) -> None:
        self.violations, self.n_taken = violations, np.zeros(self.problem.paths.n_rules, dtype=np.int64)

    def _recount(self, left: NDArray[np.int64]) -> None:
        self._take(self.problem.rows.count_violations_left(self.problem.paths, self.result.deleted, left))
        self.is_whole = False

    def run(self) -> None:
        """Sweep until no rule loses a condition; one that lost none in a sweep is done."""
        rule, result = self.problem.paths.rule, self.result
        tried = self.candidates & ~np.isnan(self.base)[rule]
        result.keep(self.candidates & ~tried, Why.NO_ROWS)
        left = np.flatnonzero(tried)
        while len(left):
            was_deleted = result.deleted[left]
            self._sweep(left)
            lost = np.zeros(len(self.among), dtype=bool)
            lost[rule[left[result.deleted[left] & ~was_deleted]]] = True
            # What separates classes by now does so for good.
            left = left[lost[rule[left]] & (result.why[left] == Why.RELIABILITY_MOVES)]
            if len(left) and (self.violations.is_paired or not self.is_whole):
                self._recount(left)

    def _sweep(self, left: NDArray[np.int64]) -> None:
        """Try candidates root to leaf, those of one step of all rules together."""
        rule = self.problem.paths.rule
        while len(left):
            waiting = [left[:0]]
            step = np.arange(len(left)) - np.searchsorted(rule[left], rule[left])
            order = np.argsort(step, kind="stable")
            for entries in np.split(left[order], np.cumsum(np.bincount(step))[:-1]):
                is_answered = (self.n_taken[rule[entries]] <= 1) | (not self.violations.is_paired)
                waiting.append(entries[~is_answered])
                self._try(entries[is_answered])
            left = np.sort(np.concatenate(waiting))
            if len(left):
                self._recount(left)

    def _try(self, entries: NDArray[np.int64]) -> None:
        """Try one candidate of each of some rules: count first, and walk only for those that counts let go."""
        paths, result = self.problem.paths, self.result
        rules = paths.rule[entries]
        widened = self.counts[rules] + self.violations.gain(entries, result.deleted)
        result.before[entries], result.after[entries] = self.base[rules], find_reliability(paths, widened, rules)
        own = paths.leaf_class[rules]
        holds = compare_reliability(widened, self.leaf_counts[rules], own, self.tolerance) == 0
        result.keep(entries[~holds], Why.RELIABILITY_MOVES)
        entries, rules, widened = entries[holds], rules[holds], widened[holds]
        if not len(entries):
            return
        result.delete(entries, Why.NO_FOREIGN_LEAF)
        separates = run_met(self.tree, paths, result.deleted, rules.astype(np.int64)) >= 0
        result.keep(entries[separates], Why.NOT_CERTIFIED)
        self.counts[rules[~separates]] = widened[~separates]
        self.n_taken[rules[~separates]] += 1


def _name_separators(problem: Problem, result: Deletions) -> None:
    """Say of a condition that keeps a leaf of another class out that it does, whatever it does to reliability."""
    separated = run_witnesses(problem.feasible_tree(), problem.paths, result.deleted, by_feature=False) >= 0
    result.keep(separated & (result.why == Why.RELIABILITY_MOVES), Why.NOT_CERTIFIED)
    for numbers in (result.before, result.after):
        numbers[result.why == Why.NOT_CERTIFIED] = np.nan


METHODS = (Faithful(),)
