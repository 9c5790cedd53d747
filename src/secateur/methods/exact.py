"""`exact`: every single condition that the class does not depend on.

Links are tried root to leaf; each is deleted when no leaf of another class meets the box of what is left, which a
walk of the tree with that box decides. The result is subset-minimal: a box only grows by deletion, so a condition
that once kept a leaf out keeps it out for good. Needs no row.
"""

from __future__ import annotations

from dataclasses import dataclass

from secateur.methods.contract import EXACT_GUARANTEE, Deletions, Method, Problem, Why

__all__ = ["METHOD"]


@dataclass(frozen=True)
class Exact(Method):
    """Delete single links while the class is implied."""

    name = "exact"
    summary = "deletes every single condition that the class does not depend on"
    preserves = "the tree's predictions, exactly"
    guarantee = EXACT_GUARANTEE
    is_exact = True
    witness = "link"
    rung = 40
    gives = frozenset({Why.NO_FOREIGN_LEAF, Why.NOT_CERTIFIED})

    def delete(self, problem: Problem) -> Deletions:
        """Delete single links from every rule while its class is implied."""
        result = Deletions.keep_all(problem.paths, Why.NOT_CERTIFIED, has_numbers=False)
        result.delete(problem.find_exact(), Why.NO_FOREIGN_LEAF)
        return result


METHOD = Exact()
