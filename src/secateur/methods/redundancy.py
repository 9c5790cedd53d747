"""`redundancy`: path-redundant features (Izza, Ignatiev and Marques-Silva, 2022).

Features of the path are tried in the order in which the path first tests them, root to leaf. All of the path's
conditions on a feature go at once if no leaf of another class meets the box that is left. Whether one does is found
by walking the tree with the box, never by comparing all pairs of leaves. Needs no row.
"""

from __future__ import annotations

from dataclasses import dataclass

from secateur.kernels.run_walks import run_deletion
from secateur.methods.contract import EXACT_GUARANTEE, Deletions, Method, Problem, Why

__all__ = ["METHOD"]


@dataclass(frozen=True)
class Redundancy(Method):
    """Delete redundant features."""

    name = "redundancy"
    aliases = ("Izza",)
    summary = "deletes all conditions on a feature that the class does not depend on"
    preserves = "the tree's predictions, exactly"
    guarantee = EXACT_GUARANTEE
    source = "Izza, Ignatiev & Marques-Silva (2022)"
    is_exact = True
    witness = "feature"
    rung = 30
    gives = frozenset({Why.FEATURE_REDUNDANT, Why.NOT_CERTIFIED})

    def delete(self, problem: Problem) -> Deletions:
        """Delete redundant features from every rule."""
        result = Deletions.keep_all(problem.paths, Why.NOT_CERTIFIED, has_numbers=False)
        # An implication ties features together, and this method asks of each feature alone.
        walked = problem.feasible_tree(linked=False)
        result.delete(run_deletion("delete_features", walked, problem.paths), Why.FEATURE_REDUNDANT)
        return result


METHOD = Redundancy()
