"""`layered`: exact deletion first, then the paper's reliability test on what is still suspicious.

The first layer deletes what the class provably does not depend on. The second runs ReliabilitySelect on the
mismatched links outside H that remain, against the leaf's own reliability. Exact deletions may themselves move a
rule's reliability, without limit (they admit leaves of the same class but another purity), so the two guarantees stand
side by side; `faithful` holds exact deletions to the tolerance too.
"""

from __future__ import annotations

from dataclasses import dataclass

from secateur.methods import exact
from secateur.methods.contract import TOLERANCES, Deletions, Knob, Problem, Why
from secateur.methods.selection import ReliabilityMethod

__all__ = ["METHOD"]


@dataclass(frozen=True)
class Layered(ReliabilityMethod):
    """The exact layer, then the reliability layer."""

    name = "layered"
    summary = (
        "exact deletion, which may move reliability, then conditions that point away from the rule's class, within a "
        "tolerance"
    )
    preserves = "the class, through the exact deletions; reliability within the tolerance, only where more was deleted"
    guarantee = (
        "Two layers. Exact deletions imply the rule's class for every possible row, but may move its reliability "
        "without limit. Further deletions were accepted only where the rule's training reliability ended within "
        "{tolerance:g} of its leaf's own; every row stays covered, but where such rules overlap a prediction may "
        "differ from the tree's."
    )
    knob = Knob("tolerance", TOLERANCES)
    tolerance_of = "the tolerance of further deletions; the method does not hold its exact ones to it"
    witness = "link"
    rung = 70
    gives = ReliabilityMethod.gives | {Why.NO_FOREIGN_LEAF}

    def begin(self, problem: Problem) -> Deletions:
        """Delete exactly."""
        return exact.METHOD.delete(problem)


METHOD = Layered()
