"""`budgeted`: as many conditions as possible under a ceiling of conflicting rows.

Starts from the exact deletions. Then it repeatedly deletes the condition that brings the smallest further share of rows
into conflict (covered by rules of different classes), as long as the ceiling holds, both on the training rows and on
their mixture with shuffled copies from :mod:`secateur.methods.row_mixture`. Every row stays covered by its own leaf's
rule, so the rules can differ from the tree only on conflicting rows.

A guard keeps rules honest: no such deletion may leave a rule's training reliability more than the tolerance below its
leaf's own, nor another class more common among its training rows, nor two rules with the same conditions and different
classes. Exact deletions come without it: they may move a reliability, by admitting less pure leaves of the class.

Ties go to the condition whose deletion meets the fewest further leaves of another class, then to source order, then to
the one nearest the root. Shares are whole numbers of a small unit, so sums depend on neither order nor threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur.methods.budget_spending import Trained, spend_budget
from secateur.methods.contract import Asks, Deletions, Knob, Method, Problem, Why, amount, share
from secateur.methods.row_mixture import mix_rows

__all__ = ["CONFLICTS", "METHODS"]

# The values of δ that a slider has and a selection tries.
CONFLICTS = (0.0, 0.0025, 0.005, 0.0075, 0.01, 0.0125, 0.015, 0.0175, 0.02, 0.025, 0.03, 0.04, 0.05)


WITHIN_CONFLICT = (
    "Every row stays covered, and rules that cover a row and agree give the tree's answer. On the training rows they "
    "disagree on at most {max_conflict:.4g} of all (by weight), so the rest is predicted as the tree does. On other "
    "rows that share is an estimate, not a bound."
)
GUARD = (
    "No deletion that brings rows into conflict leaves a rule's training reliability more than {tolerance:g} below its "
    "leaf's, or another class more common among its training rows."
)


@dataclass(frozen=True)
class Budgeted(Method):
    """The exact layer, then as many deletions as the ceiling of conflict allows."""

    max_conflict: float = share(0.015)
    smoothing: float = amount(1000)
    tolerance: float = share(0.05)

    name = "budgeted"
    summary = "exact deletion, then whatever brings the fewest rows into conflict, up to max_conflict"
    preserves = "the class on all but a share of rows, max_conflict"
    guarantee = f"{WITHIN_CONFLICT} {GUARD}"
    tolerance_of = "of deletions that bring rows into conflict; the method does not hold its exact ones to it"
    asks = Asks.ROWS
    rung = 80
    gives = frozenset(
        {
            Why.NO_FOREIGN_LEAF,
            Why.WITHIN_BUDGET,
            Why.OVER_BUDGET,
            Why.TOO_UNRELIABLE,
            Why.CONTRADICTED,
            Why.NO_ROWS,
        }
    )
    knob = Knob("max_conflict", CONFLICTS)

    def delete(self, problem: Problem) -> Deletions:
        """Run the exact layer, then delete up to the ceiling."""
        tree, paths, rows = problem.tree, problem.paths, problem.listed_rows
        if not len(paths.links):
            return Deletions.keep_all(paths, Why.NOT_CERTIFIED, has_numbers=False)
        implied = problem.find_exact()
        counts, leaf_counts = rows.count(paths, implied)
        mixture = mix_rows(tree, paths, rows.listed, self.smoothing)
        reached = np.append(0, np.cumsum(mixture.real))
        is_open = reached[mixture.last[paths.leaf_ids]] > reached[mixture.first[paths.leaf_ids]]
        del reached
        trained = Trained(counts, leaf_counts)
        spending = spend_budget(tree, paths, mixture, trained, implied, is_open, self.max_conflict, self.tolerance)
        del mixture  # before the reasons are written, for memory's sake
        result = Deletions.keep_all(paths, Why.NOT_CERTIFIED)
        result.delete(implied, Why.NO_FOREIGN_LEAF)
        rows.remember(spending.deleted, spending.counts, leaf_counts)
        judged = ~result.deleted
        result.before[judged], result.after[judged] = spending.before[judged], spending.after[judged]
        result.number[judged] = spending.real[judged]
        result.keep(judged, Why.OVER_BUDGET)
        result.delete(judged & spending.deleted, Why.WITHIN_BUDGET)
        guarded = judged & spending.is_guarded
        result.keep(guarded, Why.TOO_UNRELIABLE)
        own_reliability = spending.leaf_reliability[paths.rule]
        result.before[guarded], result.after[guarded] = own_reliability[guarded], spending.trial[guarded]
        result.number[guarded] = np.nan
        twinned = guarded & (spending.twin >= 0)
        result.keep(twinned, Why.CONTRADICTED)
        result.node[twinned] = paths.leaf_ids[spending.twin[twinned]]
        unsupported = judged & ~is_open[paths.rule]
        result.keep(unsupported, Why.NO_ROWS)
        for numbers in (result.before, result.after, result.number):
            numbers[unsupported] = np.nan
        return result


METHODS = (Budgeted(),)
