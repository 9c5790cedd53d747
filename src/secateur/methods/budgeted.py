"""`budgeted`: as many conditions as possible under a budget of conflicting rows.

Starts from the exact deletions. Then it repeatedly deletes the condition that brings the smallest further share of rows
into conflict (covered by rules of different classes), as long as the budget holds, both on the training rows and on
their mixture with shuffled copies from :mod:`secateur.methods.row_mixture`. Every row stays covered by its own leaf's
rule, so the rules can differ from the tree only on conflicting rows.

Ties go to the condition whose deletion meets the fewest further leaves of another class, then to source order, then to
the one nearest the root. Shares are whole numbers of a small unit, so sums depend on neither order nor threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secateur.methods import exact
from secateur.methods.budget_spending import spend_budget
from secateur.methods.contract import Asks, Deletions, Knob, Method, Problem, Why
from secateur.methods.row_mixture import mix_rows
from secateur.methods.settings import amount, share

__all__ = ["BUDGETS", "METHOD"]

# The values of δ that a slider has and a selection tries.
BUDGETS = (0.0, 0.0025, 0.005, 0.0075, 0.01, 0.0125, 0.015, 0.0175, 0.02, 0.025, 0.03, 0.04, 0.05)


@dataclass(frozen=True)
class Budgeted(Method):
    """The exact layer, then as many deletions as the budget allows."""

    budget: float = share(0.015)
    smoothing: float = amount(1000)

    name = "budgeted"
    summary = "exact deletion, then whatever brings the fewest rows into conflict, within a budget"
    preserves = "the class on all but a budgeted share of rows"
    guarantee = (
        "Every row stays covered, and rules that cover a row and agree give the tree's answer. On the training rows "
        "they disagree on at most {budget:.4g} of all (by weight), so the rest is predicted as the tree does. On other "
        "rows the budget is an estimate, not a bound."
    )
    asks = Asks.ROWS
    rung = 80
    knob = Knob("budget", "δ", BUDGETS, "The share of rows that rules of different classes may cover.")

    def delete(self, problem: Problem) -> Deletions:
        """Run the exact layer, then spend the budget."""
        tree, paths, rows = problem.tree, problem.paths, problem.listed_rows
        result = exact.METHOD.delete(problem)
        if not len(paths.links):
            return result
        mixture = mix_rows(tree, paths, rows.rows, rows.weights, self.smoothing)
        weight = np.append(0, np.cumsum(mixture.real))
        is_open = weight[mixture.index.last[paths.leaf_ids]] > weight[mixture.index.first[paths.leaf_ids]]
        spending = spend_budget(tree, paths, mixture, result.deleted, is_open, self.budget)
        judged = ~result.deleted
        result.before[judged], result.after[judged] = spending.before[judged], spending.after[judged]
        result.number[judged] = spending.real[judged]
        result.keep(judged, Why.OVER_BUDGET if spending.is_counted else Why.FAR_OVER_BUDGET)
        result.delete(judged & spending.deleted, Why.WITHIN_BUDGET)
        unsupported = judged & ~is_open[paths.rule]
        result.keep(unsupported, Why.NO_ROWS)
        for numbers in (result.before, result.after, result.number):
            numbers[unsupported] = np.nan
        return result


METHOD = Budgeted()
