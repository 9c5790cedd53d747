"""`mismatch`: the paper's M1-P, mismatched conditions deleted while the rule's reliability holds.

Candidates are the links on a leaf's path along which the share of the leaf's class falls (mismatched), outside H, the
largest subtree around the leaf that predicts one class only. ReliabilitySelect decides. Cost: one mask per link over
the rows, then a few mask intersections a candidate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secateur.methods.contract import DEFAULT_TOLERANCE, TOLERANCES, Asks, Deletions, Knob, Method, Problem, Why
from secateur.methods.selection import keep_by_orientation, select_by_reliability
from secateur.methods.settings import amount, share
from secateur.tree.paths import DEFAULT_RF_TOL, Paths

__all__ = ["METHOD"]


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


METHOD = Mismatch()
