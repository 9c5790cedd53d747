"""`layered`: exact deletion first, then the paper's reliability test on what is still suspicious.

The first layer deletes what the class provably does not depend on. The second runs ReliabilitySelect on the
mismatched links outside H that remain, against the leaf's own reliability. Exact deletions may themselves move a
rule's reliability (they admit leaves of the same class but another purity), so the two guarantees stand side by side.
"""

from __future__ import annotations

from secateur.methods import exact
from secateur.methods.contract import Deletions, Method, Problem
from secateur.methods.selection import keep_by_orientation, select_by_reliability

__all__ = ["METHOD"]


def delete(problem: Problem) -> Deletions:
    """Run the exact layer, then the reliability layer."""
    paths = problem.paths
    result = exact.delete(problem)
    keep_by_orientation(result, paths, among=~result.deleted)
    candidates = ~result.deleted & paths.mismatched & ~paths.inside_h
    select_by_reliability(result, paths, problem.rows, candidates, problem.parameters["tolerance"])
    return result


METHOD = Method(
    name="layered",
    aliases=(),
    summary="exact deletion, then conditions that point away from the rule's class, within a tolerance",
    preserves="the class exactly, then reliability within ε",
    guarantee=(
        "Two layers. Exact deletions imply the rule's class for every possible row. Further deletions "
        "were accepted only "
        "where the rule's training reliability ended within {tolerance:g} of its leaf's own; every row "
        "stays covered, but "
        "where such rules overlap a prediction may differ from the tree's."
    ),
    source="secateur",
    needs_rows=True,
    is_exact=False,
    witness="link",
    parameters=("tolerance", "rf_tol"),
    delete=delete,
)
