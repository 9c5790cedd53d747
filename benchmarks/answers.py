"""Whether rules are right: what the slow version deletes, and the rows that it counts, leaf by leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import secateur
from benchmarks.naive import all_pairs, by_rows
from benchmarks.naive.budgeted import count_conflicts, delete_budgeted
from secateur.choosing import BUDGETS, choose_lines_by_budget

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from benchmarks.naive.plain_tree import Deletion
    from benchmarks.problems import Problem

__all__ = [
    "ALPHA",
    "BUDGET",
    "SLOW",
    "TOLERANCE",
    "agrees",
    "keep_to_budgets",
    "make_budgets",
    "make_counted_list",
    "make_list",
    "predicts_right",
    "says_the_same",
    "simplify",
    "stays_within_budget",
]

TOLERANCE, ALPHA, BUDGET = 0.05, 0.01, 0.015  # the defaults of simplify

SLOW: dict[str, Callable[[Problem, secateur.Tree, list[int] | None], Deletion]] = {
    "sibling": lambda _, tree, leaves: all_pairs.delete_sibling(tree, leaves),
    "redundancy": lambda _, tree, leaves: all_pairs.delete_redundancy(tree, leaves, keep_boxes=True),
    "exact": lambda _, tree, leaves: all_pairs.delete_exact(tree, leaves),
    "mismatch": lambda p, tree, leaves: by_rows.delete_mismatch(tree, p.X, p.y, TOLERANCE, leaves),
    "quinlan": lambda p, tree, leaves: by_rows.delete_quinlan(tree, p.X, p.y, ALPHA, leaves, keep_masks=True),
    "budgeted": lambda p, tree, _: delete_budgeted(tree, p.X, p.y, BUDGET),
}


def simplify(method: str, problem: Problem) -> secateur.Rules:
    """The call that is timed; methods that need no rows get none."""
    rows = (problem.X, problem.y) if secateur.METHODS[method].needs_rows else ()
    return secateur.simplify(problem.model, *rows, method=method, each_leaf=True)


def agrees(rules: secateur.Rules, problem: Problem, n_leaves: int | None = None) -> bool:
    """Whether the rules of all leaves, or of so many spread over the tree, are those of the slow version."""
    listed = [rule.leaf_id for rule in rules]
    leaves = None if n_leaves is None else listed[:: -(-len(listed) // n_leaves)]
    wanted = SLOW[rules.method](problem, rules.tree, leaves)
    places = [place for place, leaf in enumerate(listed) if leaf in wanted]
    if {listed[place]: list(rules[place].deleted_ids) for place in places} != wanted:
        return False
    if not secateur.METHODS[rules.method].needs_rows:
        return True
    return np.array_equal(rules.covered_counts[places], by_rows.count_rules(rules.tree, problem.X, problem.y, wanted))


def make_list(problem: Problem) -> secateur.Rules:
    """The call that is timed; no rows are needed."""
    return secateur.simplify(problem.model)


def make_counted_list(problem: Problem) -> secateur.Rules:
    """The call that is timed, with rows."""
    return secateur.simplify(problem.model, problem.X, problem.y)


def make_list_of_values(problem: Problem) -> secateur.Rules:
    """The call that is timed, without rows: the tolerance is a number."""
    return secateur.simplify(problem.model, tolerance=float(problem.y.std() / 4))


def stays_near(rules: secateur.Rules, problem: Problem) -> bool:
    """Whether no more rows than the budget get a value further from the model's than the tolerance."""
    apart = np.abs(rules.predict(problem.X) - problem.model.predict(problem.X))
    return len(rules) > 0 and float((apart > rules.tolerance * (1 + 1e-12)).mean()) <= rules.budget


def stay_near(lists: list[secateur.Rules], problem: Problem) -> bool:
    """Whether all lists of values do."""
    return len(lists) == len(BUDGETS) and all(stays_near(rules, problem) for rules in lists)


def make_budgets(problem: Problem) -> list[secateur.Rules]:
    """The call that is timed: the lists of all budgets."""
    rules = secateur.simplify(problem.model, problem.X, problem.y, each_leaf=True)
    return list(choose_lines_by_budget(rules, BUDGETS))


def says_the_same(rules: secateur.Rules, problem: Problem, n_rows: int = 2_000) -> bool:
    """Whether the rule that covers each of some rows, or "otherwise", has the class that the model predicts."""
    X = problem.X[:n_rows]
    said = rules.class_ids[rules.apply(X)]
    return len(rules) > 0 and np.array_equal(rules.tree.classes[said], problem.model.predict(X))


def keep_to_budgets(lists: list[secateur.Rules], problem: Problem) -> bool:
    """Whether each list answers no more than its budget of the rows of each class differently from the model."""
    own = problem.model.predict(problem.X)
    for rules in lists:
        differs = rules.tree.classes[rules.class_ids[rules.apply(problem.X)]] != own
        if any(differs[own == label].mean() > rules.budget for label in np.unique(own)):
            return False
    return len(lists) == len(BUDGETS)


def stays_within_budget(rules: secateur.Rules, problem: Problem) -> bool:
    """Whether no more than the budgeted share of the rows is covered by rules of different classes."""
    deletion = {rule.leaf_id: list(rule.deleted_ids) for rule in rules}
    return count_conflicts(rules.tree, problem.X, deletion) <= BUDGET * len(problem.X)


def predicts_right(predicted: NDArray[Any], problem: Problem) -> bool:
    """Whether predictions after `mismatch` are those of the slow version's best rules."""
    tree = secateur.from_model(problem.model)
    wanted = by_rows.predict(tree, problem.X, problem.y, SLOW["mismatch"](problem, tree, None))
    return np.array_equal(predicted, tree.classes[wanted])
