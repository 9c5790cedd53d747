"""`subtree`: the sibling certificate with any same-class subtree in place of the sibling leaf.

A link (p, b) on the path of leaf L is deleted when every leaf below p's other child predicts L's class. All such
links go together: a row that leaves the path at the deleted link nearest the root enters such a subtree and ends in
the same class. Needs no row. O(n_nodes + n_entries).
"""

from __future__ import annotations

from dataclasses import dataclass

from secateur.methods.contract import EXACT_GUARANTEE, Deletions, Method, Problem, Why

__all__ = ["METHOD"]


@dataclass(frozen=True)
class Subtree(Method):
    """Delete links whose sibling subtree has the class of the leaf."""

    name = "subtree"
    summary = "deletes conditions whose other branch predicts the same class throughout"
    preserves = "the tree's predictions, exactly"
    guarantee = EXACT_GUARANTEE
    is_exact = True
    witness = "link"
    rung = 20
    gives = frozenset({Why.SAME_CLASS_SUBTREE, Why.NOT_CERTIFIED})

    def delete(self, problem: Problem) -> Deletions:
        """Delete every link whose sibling subtree predicts the leaf's class only."""
        paths = problem.paths
        other = paths.sibling[paths.links]
        certified = paths.homogeneous[other] == paths.leaf_class_of_entry
        result = Deletions.keep_all(paths, Why.NOT_CERTIFIED)
        result.delete(certified, Why.SAME_CLASS_SUBTREE)
        result.node[certified] = other[certified]
        return result


METHOD = Subtree()
