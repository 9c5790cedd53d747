"""`mismatch`: the paper's M1-P, mismatched conditions deleted while the rule's reliability holds.

Candidates are the links on a leaf's path along which the share of the leaf's class falls (mismatched), outside H, the
largest subtree around the leaf that predicts one class only. ReliabilitySelect decides. Cost: one mask per link over
the rows, then a few mask intersections a candidate.
"""

from __future__ import annotations

from dataclasses import dataclass

from secateur.methods.contract import Deletions, Problem, Why
from secateur.methods.selection import ReliabilityMethod

__all__ = ["METHOD"]


@dataclass(frozen=True)
class Mismatch(ReliabilityMethod):
    """M1-P."""

    name = "mismatch"
    aliases = ("M1-P",)
    summary = "deletes conditions that point away from the rule's class, within a reliability tolerance"
    preserves = "each rule's reliability, within the tolerance"
    guarantee = (
        "On the training rows the reliability of every rule is within {tolerance:g} of its leaf's own; every row stays "
        "covered, but where rules of different classes overlap a prediction may differ from the tree's."
    )
    source = "Hong, Lee, Sim & Hwang (M1-P)"
    rung = 60

    def begin(self, problem: Problem) -> Deletions:
        """Delete nothing yet."""
        return Deletions.keep_all(problem.paths, Why.UNTOUCHED)


METHOD = Mismatch()
