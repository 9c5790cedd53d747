"""`exact`: every single condition that the class does not depend on.

Links are tried root to leaf; each is deleted when no leaf of another class meets the box of what is left, which a
walk of the tree with that box decides. The result is subset-minimal: a box only grows by deletion, so a condition
that once kept a leaf out keeps it out for good. Needs no row.
"""

from __future__ import annotations

from secateur.kernels.run_walks import run_deletion
from secateur.methods.contract import EXACT_GUARANTEE, Deletions, Method, Problem, Why

__all__ = ["METHOD", "delete"]


def delete(problem: Problem) -> Deletions:
    """Delete single links from every rule while its class is implied."""
    result = Deletions.keep_all(problem.paths, Why.NOT_CERTIFIED)
    result.delete(run_deletion("delete_links", problem.feasible_tree(), problem.paths), Why.NO_FOREIGN_LEAF)
    return result


METHOD = Method(
    name="exact",
    aliases=(),
    summary="deletes every single condition that the class does not depend on",
    preserves="the tree's predictions, exactly",
    guarantee=EXACT_GUARANTEE,
    source="secateur",
    needs_rows=False,
    is_exact=True,
    witness="link",
    parameters=(),
    delete=delete,
)
