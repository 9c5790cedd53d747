"""`layered`: exact deletion first, then the paper's reliability test on what is still suspicious.

The first layer deletes what the class provably does not depend on. The second runs ReliabilitySelect on the
mismatched links outside H that remain, against the leaf's own reliability. Exact deletions may themselves move a
rule's reliability (they admit leaves of the same class but another purity), so the two guarantees stand side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secateur.methods import exact
from secateur.methods.contract import TOLERANCES, Asks, Deletions, Knob, Method, Problem
from secateur.methods.selection import keep_by_orientation, select_by_reliability
from secateur.methods.settings import amount, share
from secateur.tree.paths import DEFAULT_RF_TOL

__all__ = ["METHOD"]


@dataclass(frozen=True)
class Layered(Method):
    """The exact layer, then the reliability layer."""

    tolerance: float = share(0.05)
    rf_tol: float = amount(DEFAULT_RF_TOL)

    name = "layered"
    summary = "exact deletion, then conditions that point away from the rule's class, within a tolerance"
    preserves = "the class exactly, then reliability within ε"
    guarantee = (
        "Two layers. Exact deletions imply the rule's class for every possible row. Further deletions were accepted "
        "only where the rule's training reliability ended within {tolerance:g} of its leaf's own; every row stays "
        "covered, but where such rules overlap a prediction may differ from the tree's."
    )
    asks = Asks.COUNTS
    witness = "link"
    rung = 70
    knob = Knob("tolerance", "ε", TOLERANCES)

    def open_conditions(self, problem: Problem) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Delete exactly, and leave the mismatched links outside H open that remain."""
        gone = problem.find_exact()
        return gone, problem.paths.mismatched & ~problem.paths.inside_h & ~gone

    def delete(self, problem: Problem) -> Deletions:
        """Run the exact layer, then the reliability layer."""
        paths = problem.paths
        result = exact.METHOD.delete(problem)
        keep_by_orientation(result, paths, among=~result.deleted)
        candidates = ~result.deleted & paths.mismatched & ~paths.inside_h
        select_by_reliability(result, paths, problem.rows, candidates, self.tolerance)
        return result


METHOD = Layered()
