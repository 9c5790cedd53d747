"""`sibling`: the paper's M2-D and M2-P, certified by a sibling leaf of the same class.

A link (p, b) on the path of leaf L is deleted when b is internal and p's other child is a leaf that predicts L's class.
All such links go together: a row that leaves the path at a deleted link arrives at once in a leaf of the same class
(theorem "joint sibling deletion by rootmost divergence"). Needs no row. O(n_nodes + n_entries).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur.methods.contract import EXACT_GUARANTEE, Deletions, Method, Problem, Why

__all__ = ["METHOD"]


@dataclass(frozen=True)
class Sibling(Method):
    """Delete SIB(L) of every leaf."""

    name = "sibling"
    aliases = ("M2-D", "M2-P")
    summary = "deletes conditions into a subtree whose sibling is a leaf of the same class"
    preserves = "the tree's predictions, exactly"
    guarantee = EXACT_GUARANTEE
    source = "Hong, Lee, Sim & Hwang (M2-D, M2-P)"
    is_exact = True
    witness = "link"
    rung = 10
    gives = frozenset({Why.SIBLING_LEAF, Why.NOT_CERTIFIED})

    def delete(self, problem: Problem) -> Deletions:
        """Delete SIB(L) for every leaf."""
        paths = problem.paths
        result = Deletions.keep_all(paths, Why.NOT_CERTIFIED)
        certified = np.flatnonzero(paths.sibling_certified)
        result.delete(certified, Why.SIBLING_LEAF)
        result.node[certified] = paths.sibling[paths.links[certified]]
        return result


METHOD = Sibling()
