"""ReliabilitySelect: the paper's two-sided acceptance test for deleting a set of conditions.

Try the whole candidate set; if the rule's training reliability stays within ε of the leaf's own, accept it. Else walk
the candidates leaf to root and accept each one whose cumulative deletion stays within ε.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secateur.methods.contract import Deletions, Why

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.annotation import Annotation
    from secateur.evidence import Evidence

__all__ = ["keep_by_orientation", "select_by_reliability"]


def keep_by_orientation(result: Deletions, notes: Annotation, among: NDArray[np.bool_]) -> None:
    """Keep what is matched or neutral, and what is mismatched inside H; note the shift of the class share."""
    result.number[among] = notes.shift[among]
    result.keep(among & notes.matched, Why.MATCHED)
    result.keep(among & ~notes.matched & ~notes.mismatched, Why.NEUTRAL)
    protected = among & notes.mismatched & notes.inside_h
    result.keep(protected, Why.INSIDE_H)
    result.node[protected] = notes.homogeneous_top[notes.links[protected]]


def select_by_reliability(
    result: Deletions, notes: Annotation, evidence: Evidence, candidates: NDArray[np.bool_], tolerance: float
) -> None:
    """Run ReliabilitySelect on every rule that has candidate entries; what was deleted before stays deleted."""
    for rule in np.unique(notes.rule[candidates]).tolist():
        span = notes.entries(rule)
        class_id = int(notes.leaf_class[rule])
        base = evidence.reliability(evidence.rows(notes.links[span]), class_id)
        tried = np.flatnonzero(candidates[span])[::-1] + span.start  # leaf to root
        if np.isnan(base):
            result.keep(tried, Why.NO_ROWS)
            continue
        result.before[tried] = base
        firm = ~result.deleted[span] & ~candidates[span]
        rows = evidence.rows(notes.links[span][firm])
        joint = evidence.reliability(rows, class_id)
        if abs(joint - base) <= tolerance:
            result.delete(tried, Why.RELIABILITY_JOINT)
            result.after[tried] = joint
            continue
        masks = evidence.links[notes.links[tried]]
        # ahead[i]: the rows that satisfy every candidate after the i-th, all of which are still in the rule.
        ahead = np.bitwise_and.accumulate(np.vstack([evidence.links[:1], masks[:0:-1]]), axis=0)[::-1]
        for place, entry in enumerate(tried.tolist()):
            trial = evidence.reliability(rows & ahead[place], class_id)
            result.after[entry] = trial
            if abs(trial - base) <= tolerance:
                result.delete(entry, Why.RELIABILITY_STEP)
            else:
                result.keep(entry, Why.RELIABILITY_MOVES)
                rows = rows & masks[place]
