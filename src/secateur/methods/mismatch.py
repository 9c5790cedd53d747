"""`mismatch`: the paper's M1-P, mismatched conditions deleted while the rule's reliability holds.

Candidates are the links on a leaf's path along which the share of the leaf's class falls (mismatched), outside H, the
largest subtree around the leaf that predicts one class only. ReliabilitySelect decides. Cost: one mask a link over the
rows, then a few mask intersections a candidate.
"""

from __future__ import annotations

from secateur.methods.contract import Deletions, Method, Problem, Why
from secateur.methods.selection import keep_by_orientation, select_by_reliability

__all__ = ["METHOD"]


def delete(problem: Problem) -> Deletions:
    """Run M1-P on every rule."""
    paths = problem.paths
    result = Deletions.keep_all(paths, Why.UNTOUCHED)
    keep_by_orientation(result, paths, among=~result.deleted)
    candidates = paths.mismatched & ~paths.inside_h
    select_by_reliability(result, paths, problem.rows, candidates, problem.parameters["tolerance"])
    return result


METHOD = Method(
    name="mismatch",
    aliases=("M1-P",),
    summary="deletes conditions that point away from the rule's class, within a reliability tolerance",
    preserves="each rule's reliability, within ε",
    guarantee=(
        "On the training rows the reliability of every rule is within {tolerance:g} of its leaf's own; every row stays "
        "covered, but where rules of different classes overlap a prediction may differ from the tree's."
    ),
    source="Hong, Lee, Sim & Hwang (M1-P)",
    needs_rows=True,
    is_exact=False,
    witness=None,
    parameters=("tolerance", "rf_tol"),
    delete=delete,
)
