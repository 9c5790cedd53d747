"""`mismatch`: the paper's M1-P, mismatched conditions deleted while the rule's reliability holds.

Candidates are the links on a leaf's path along which the share of the leaf's class falls (mismatched), outside H, the
largest subtree around the leaf that predicts one class only. ReliabilitySelect decides. Cost: one mask a link over the
rows, then a few mask intersections a candidate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secateur.methods.contract import TOLERANCES, Asks, Deletions, Knob, Method, Problem, Why
from secateur.methods.selection import keep_by_orientation, select_by_reliability
from secateur.methods.settings import amount, share
from secateur.tree.paths import DEFAULT_RF_TOL

__all__ = ["METHOD"]


@dataclass(frozen=True)
class Mismatch(Method):
    """M1-P."""

    tolerance: float = share(0.05)
    rf_tol: float = amount(DEFAULT_RF_TOL)

    name = "mismatch"
    aliases = ("M1-P",)
    summary = "deletes conditions that point away from the rule's class, within a reliability tolerance"
    preserves = "each rule's reliability, within ε"
    guarantee = (
        "On the training rows the reliability of every rule is within {tolerance:g} of its leaf's own; every row stays "
        "covered, but where rules of different classes overlap a prediction may differ from the tree's."
    )
    source = "Hong, Lee, Sim & Hwang (M1-P)"
    asks = Asks.COUNTS
    rung = 60
    knob = Knob("tolerance", "ε", TOLERANCES)

    def open_conditions(self, problem: Problem) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Leave the mismatched links outside H open."""
        suspects = problem.paths.mismatched & ~problem.paths.inside_h
        return np.zeros_like(suspects), suspects

    def delete(self, problem: Problem) -> Deletions:
        """Run M1-P on every rule."""
        paths = problem.paths
        result = Deletions.keep_all(paths, Why.UNTOUCHED)
        keep_by_orientation(result, paths, among=~result.deleted)
        candidates = paths.mismatched & ~paths.inside_h
        select_by_reliability(result, paths, problem.rows, candidates, self.tolerance)
        return result


METHOD = Mismatch()
