"""`quinlan`: antecedent deletion by certainty factor and Fisher's exact test (Quinlan, 1987).

For each remaining condition the rule is compared with and without it. k of n rows are right with it; deletion admits n'
further rows, of which k' are right. The condition is deletable if the certainty factor k/n does not fall, or if
Fisher's one-sided exact test of [[k, n - k], [k', n' - k']] gives p > α. The deletable condition whose removal leaves
the highest certainty factor goes (then highest p, then nearest the root), and so on until none is deletable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secateur.methods.contract import Deletions, Method, Problem, Why
from secateur.methods.fisher import fisher_greater

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.evidence import Evidence
    from secateur.masks import Masks

__all__ = ["METHOD"]

CERTAINTY_TOLERANCE = 1e-12
# Two p-values this close (relatively) are one value computed twice: the condition nearer the root then goes first.
P_TOLERANCE = 1e-9


def delete(problem: Problem) -> Deletions:
    """Delete conditions greedily from every rule."""
    notes, evidence, alpha = problem.notes, problem.rows, problem.parameters["alpha"]
    result = Deletions.keep_all(notes, Why.UNTOUCHED)
    for rule in range(notes.n_rules):
        span = notes.entries(rule)
        class_id = int(notes.leaf_class[rule])
        left = np.arange(span.start, span.stop)
        right, total = evidence.count(evidence.rows(notes.links[left]), class_id)
        if total == 0:
            result.keep(left, Why.NO_ROWS)
            continue
        while len(left):
            rights, totals = _count_without_each(evidence, evidence.links[notes.links[left]], class_id)
            certainty, widened = right / total, rights / totals
            p = fisher_greater(np.full(len(left), right), np.full(len(left), total), rights - right, totals - total)
            holds = widened >= certainty - CERTAINTY_TOLERANCE
            result.before[left], result.after[left], result.number[left] = certainty, widened, p
            deletable = holds | (p > alpha)
            if not deletable.any():
                result.keep(left, Why.SIGNIFICANT)
                break
            best = _choose(deletable, widened, p)
            result.delete(left[best], Why.CERTAINTY_KEPT if holds[best] else Why.NOT_SIGNIFICANT)
            right, total = float(rights[best]), float(totals[best])
            left = np.delete(left, best)
    return result


def _count_without_each(
    evidence: Evidence, masks: Masks, class_id: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Right and total rows of the rule without each of its conditions, from prefix and suffix intersections."""
    everyone = evidence.links[:1]
    before = np.bitwise_and.accumulate(np.vstack([everyone, masks[:-1]]), axis=0)
    after = np.bitwise_and.accumulate(np.vstack([everyone, masks[:0:-1]]), axis=0)[::-1]
    counted = [evidence.count(rows, class_id) for rows in before & after]
    rights, totals = np.array(counted).T
    return rights, totals


def _choose(deletable: NDArray[np.bool_], certainty: NDArray[np.float64], p: NDArray[np.float64]) -> int:
    best = deletable & (certainty == certainty[deletable].max())
    best &= p >= p[best].max() * (1 - P_TOLERANCE)
    return int(np.flatnonzero(best)[0])


METHOD = Method(
    name="quinlan",
    aliases=(),
    summary="deletes conditions while certainty does not fall or the loss is not significant",
    preserves="nothing",
    guarantee=(
        "None: rules are shortened one by one on the training rows, and rules of different classes may overlap "
        "freely. Every row stays covered."
    ),
    source="Quinlan (1987)",
    needs_rows=True,
    is_exact=False,
    witness=None,
    parameters=("alpha",),
    delete=delete,
)
