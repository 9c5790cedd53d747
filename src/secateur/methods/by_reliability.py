"""`mismatch`, the paper's M1-P, and `faithful`: deletions that leave the rule's training reliability within ε.

Candidates of `mismatch` are the links on a leaf's path along which the share of the leaf's class falls (mismatched),
outside H, the largest subtree around the leaf that predicts one class only. ReliabilitySelect tries the whole set; if
the rule's reliability stays within ε of the leaf's own, all go. Else it walks the candidates leaf to root and accepts
each one whose cumulative deletion stays within ε.

`faithful` tries links root to leaf. One goes if, without it and what is gone already, no leaf of another class meets
the rule *and* reliability holds. Mismatched links inside H, which set a less pure leaf apart from others of its class,
stay unless ``protect=False``. A leaf once met is met for good, but reliability goes up and down; so what stayed is
tried again, root to leaf, until a whole sweep deletes nothing. Then no single further condition can go; two together
still might. A condition that separates classes on its own never becomes deletable, so rows are counted by the others.

All rules are tried together: one pass over the rows counts them by the candidates that they violate, which answers
every trial. Where rules have too many candidates for that, a pass serves a rule until two of its candidates are gone,
and another pass follows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from secateur.counting.training_evidence import TrainingEvidence, ViolationCounts, find_reliability
from secateur.kernels.running import run_met, run_witnesses
from secateur.methods.contract import (
    DEFAULT_TOLERANCE,
    EXACT_GUARANTEE,
    TOLERANCES,
    Asks,
    Deletions,
    Method,
    Problem,
    Tunable,
    Why,
    amount,
    flag,
    share,
)
from secateur.tree.paths import DEFAULT_RF_TOL, Paths
from secateur.tree.shares import compare_reliability


@dataclass(frozen=True)
class Mismatch(Method):
    """M1-P."""

    tolerance: float = share(DEFAULT_TOLERANCE)
    rf_tol: float = amount(DEFAULT_RF_TOL)

    name = "mismatch"
    aliases = ("M1-P",)
    summary = "deletes conditions that point away from the rule's class, within a reliability tolerance"
    preserves = "each rule's reliability, within the tolerance"
    guarantee = (
        "On the training rows the reliability of every rule is within {tolerance:g} of its leaf's own; every row stays "
        "covered, but where rules of different classes overlap a prediction may differ from the tree's."
    )
    source = "Hong, Lee, Sim & Hwang (M1-P)"
    asks = Asks.COUNTS
    tunable = Tunable("tolerance", TOLERANCES)
    strictness = 60
    gives = frozenset(
        {Why.RELIABILITY_JOINT, Why.RELIABILITY_STEP, Why.RELIABILITY_MOVES}
        | {Why.MATCHED, Why.NEUTRAL, Why.INSIDE_H, Why.NO_ROWS}
    )

    def open_conditions(self, problem: Problem) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Leave the mismatched links outside H open."""
        suspects = _find_suspects(problem.paths)
        return np.zeros_like(suspects), suspects

    def delete(self, problem: Problem) -> Deletions:
        """Run ReliabilitySelect on every rule."""
        paths = problem.paths
        result = Deletions.keep_by_sign(paths)
        protected = paths.mismatched & paths.inside_h
        result.keep(protected, Why.INSIDE_H)
        result.node[protected] = paths.homogeneous_top[paths.links[protected]]
        evidence, candidates = problem.rows, _find_suspects(paths)
        counts = np.zeros((paths.n_rules, evidence.tree.n_classes))
        for among in evidence.split_rules(paths, candidates):
            found, leaf_counts = _select(result, paths, evidence, candidates & among[paths.rule], among, self.tolerance)
            counts[among] = found[among]
        evidence.remember(result.deleted, counts, leaf_counts)
        return result


def _find_suspects(paths: Paths) -> NDArray[np.bool_]:
    return paths.mismatched & ~paths.inside_h


def _select(
    result: Deletions,
    paths: Paths,
    evidence: TrainingEvidence,
    candidates: NDArray[np.bool_],
    among: NDArray[np.bool_],
    tolerance: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Try the candidates of a group of rules; return the counts of the new rules, and of leaves."""
    violations = evidence.count_violations(paths, result.deleted, candidates, among)
    counts, leaf_counts = violations.counts.copy(), violations.leaf_counts
    base, joint = (find_reliability(paths, c) for c in (leaf_counts, violations.counts_without_open))
    tried = candidates & ~np.isnan(base)[paths.rule]
    result.keep(candidates & ~tried, Why.NO_ROWS)
    result.before[tried] = base[paths.rule[tried]]
    holds = compare_reliability(violations.counts_without_open, leaf_counts, paths.leaf_class, tolerance) == 0
    together = candidates & holds[paths.rule]
    result.delete(together, Why.RELIABILITY_JOINT)
    result.after[together] = joint[paths.rule[together]]
    counts[holds] = violations.counts_without_open[holds]

    left = np.flatnonzero(tried & ~together)
    while len(left):
        left = _try_in_turn(result, violations, left, leaf_counts, tolerance, counts)
        if len(left):
            del violations  # its cells take as much memory as those that follow
            violations = evidence.count_violations_left(paths, result.deleted, left)
    return counts, leaf_counts


def _try_in_turn(
    result: Deletions,
    violations: ViolationCounts,
    left: NDArray[np.int64],
    leaf_counts: NDArray[np.float64],
    tolerance: float,
    counts: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Try candidates from leaf to root, one of every rule at a time; return those that need another count.

    ``counts`` become those of the rules without what was taken.
    """
    paths = violations.paths
    # Those nearest the leaf of every rule come first, then the next.
    rule = paths.rule[left]
    step = np.searchsorted(rule, rule, side="right") - 1 - np.arange(len(left))
    order = np.argsort(step, kind="stable")
    left, step = left[order], step[order]
    n_taken = np.zeros(paths.n_rules, dtype=np.int64)
    waiting = [left[:0]]
    for entries in np.split(left, np.flatnonzero(np.diff(step)) + 1):
        if violations.is_paired:
            waiting.append(entries[n_taken[paths.rule[entries]] > 1])
            entries = entries[n_taken[paths.rule[entries]] <= 1]
        rules = paths.rule[entries]
        widened = counts[rules] + violations.gain(entries, result.deleted)
        result.after[entries] = find_reliability(paths, widened, rules)
        taken = compare_reliability(widened, leaf_counts[rules], paths.leaf_class[rules], tolerance) == 0
        result.delete(entries[taken], Why.RELIABILITY_STEP)
        result.keep(entries[~taken], Why.RELIABILITY_MOVES)
        counts[rules[taken]] = widened[taken]
        n_taken[rules[taken]] += 1
    return np.sort(np.concatenate(waiting))


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
    strictness = 45
    gives = frozenset({Why.NO_FOREIGN_LEAF, Why.NOT_CERTIFIED, Why.RELIABILITY_MOVES, Why.INSIDE_H, Why.NO_ROWS})
    tunable = Tunable("tolerance", TOLERANCES)
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
        return np.zeros(len(problem.paths.links), dtype=bool), self._find_candidates(problem)

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
        # A condition that keeps a leaf of another class out is said to, whatever it does to reliability.
        separated = run_witnesses(problem.feasible_tree(), paths, result.deleted, by_feature=False) >= 0
        result.keep(separated & (result.why == Why.RELIABILITY_MOVES), Why.NOT_CERTIFIED)
        for numbers in (result.before, result.after):
            numbers[result.why == Why.NOT_CERTIFIED] = np.nan
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

    def __post_init__(self) -> None:
        paths, result = self.problem.paths, self.result
        self._take(self.problem.rows.count_violations(paths, result.deleted, self.candidates, self.among))
        self.leaf_counts = self.violations.leaf_counts
        self.counts = self.violations.counts.copy()  # of the rules as they are by now
        self.is_whole = True  # whether violations are of the whole group
        self.base = find_reliability(paths, self.leaf_counts)
        self.tree = self.problem.feasible_tree()

    def _take(self, violations: ViolationCounts) -> None:
        """Begin with new counts, since which no rule has lost a condition."""
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


METHODS = (Mismatch(), Faithful())
