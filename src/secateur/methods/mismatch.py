"""`mismatch`: the paper's M1-P, mismatched conditions deleted while the rule's reliability holds.

Candidates are the links on a leaf's path along which the share of the leaf's class falls (mismatched), outside H, the
largest subtree around the leaf that predicts one class only. ReliabilitySelect decides. Cost: one mask per link over
the rows, then a few mask intersections a candidate.

Try the whole candidate set; if the rule's training reliability stays within ε of the leaf's own, accept it. Else walk
the candidates leaf to root and accept each one whose cumulative deletion stays within ε. All rules are tried together:
one pass over the rows counts them by the candidates that they violate, which answers every trial. Where rules have too
many candidates for that, a pass serves a rule until two of its candidates are gone, and another pass follows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secateur.counting.training_evidence import TrainingEvidence
from secateur.counting.violations import ViolationCounts, find_reliability
from secateur.methods.contract import (
    DEFAULT_TOLERANCE,
    TOLERANCES,
    Asks,
    Deletions,
    Knob,
    Method,
    Problem,
    Why,
    amount,
    share,
)
from secateur.tree.paths import DEFAULT_RF_TOL, Paths
from secateur.tree.shares import compare_reliability

__all__ = ["METHODS", "keep_by_orientation", "select_by_reliability"]


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
    knob = Knob("tolerance", TOLERANCES)
    rung = 60
    gives = frozenset(
        {
            *(Why.RELIABILITY_JOINT, Why.RELIABILITY_STEP),
            *(Why.MATCHED, Why.NEUTRAL, Why.INSIDE_H, Why.RELIABILITY_MOVES, Why.NO_ROWS),
        }
    )

    def open_conditions(self, problem: Problem) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Leave the mismatched links outside H open."""
        suspects = _find_suspects(problem.paths)
        return np.zeros_like(suspects), suspects

    def delete(self, problem: Problem) -> Deletions:
        """Run ReliabilitySelect on every rule."""
        paths = problem.paths
        result = Deletions.keep_all(paths, Why.UNTOUCHED)
        keep_by_orientation(result, paths)
        select_by_reliability(result, paths, problem.rows, _find_suspects(paths), self.tolerance)
        return result


def _find_suspects(paths: Paths) -> NDArray[np.bool_]:
    return paths.mismatched & ~paths.inside_h


def keep_by_orientation(result: Deletions, paths: Paths) -> None:
    """Keep what is matched or neutral, and what is mismatched inside H; note the shift of the class share."""
    result.number[:] = paths.shift
    result.keep(paths.matched, Why.MATCHED)
    result.keep(~paths.matched & ~paths.mismatched, Why.NEUTRAL)
    protected = paths.mismatched & paths.inside_h
    result.keep(protected, Why.INSIDE_H)
    result.node[protected] = paths.homogeneous_top[paths.links[protected]]


def select_by_reliability(
    result: Deletions, paths: Paths, evidence: TrainingEvidence, candidates: NDArray[np.bool_], tolerance: float
) -> None:
    """Run ReliabilitySelect on every rule that has candidates; what was deleted before stays deleted."""
    counts = np.zeros((paths.n_rules, evidence.tree.n_classes))
    for among in evidence.split_rules(paths, candidates):
        found, leaf_counts = _select(result, paths, evidence, candidates & among[paths.rule], among, tolerance)
        counts[among] = found[among]
    evidence.remember(result.deleted, counts, leaf_counts)


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
    left, step = _sort_from_leaf(paths, left)
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


def _sort_from_leaf(paths: Paths, entries: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort entries by step: those nearest the leaf of every rule, then the next; give each one's step too."""
    rule = paths.rule[entries]
    step = np.searchsorted(rule, rule, side="right") - 1 - np.arange(len(entries))
    order = np.argsort(step, kind="stable")
    return entries[order], step[order]


METHODS = (Mismatch(),)
