"""All rules of a random forest against the time that the forest took to fit, on the same rows in the same process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

import secateur
from benchmarks.answers import agrees
from benchmarks.cases import FIT, PREDICT, Case, Reference
from benchmarks.problems import Problem, adult
from benchmarks.race import Rounds
from secateur.rules.forest import ForestRules

__all__ = ["FOREST_CASES"]

CHECKED_TREES, CHECKED_LEAVES = 3, 3
ROUNDS = Rounds(2, 3, 60.0)  # a fit takes as long as all other cases together


@dataclass(frozen=True, eq=False)
class ForestProblem(Problem):
    """A fitted forest with the rows that it was fitted on."""

    @property
    def about(self) -> str:
        """Rows, columns, trees and leaves."""
        n_leaves = sum(tree.get_n_leaves() for tree in self.model.estimators_)
        return f"{len(self.X):,} × {self.X.shape[1]} rows, {len(self.model.estimators_)} trees, {n_leaves:,} leaves"


@cache
def adult_forest(quick: bool) -> ForestProblem:
    """A forest as scikit-learn makes it by default, but of 200 trees, on the paper's largest data set."""
    rows = adult(quick)
    model = RandomForestClassifier(3 if quick else 200, random_state=0).fit(rows.X, rows.y)
    return ForestProblem(model, rows.X, rows.y)


def simplify(method: str, problem: Problem, *, with_rows: bool = True) -> ForestRules:
    """The call that is timed."""
    rows = (problem.X, problem.y) if with_rows else (None, None)
    return secateur.simplify(problem.model, *rows, method=method, each_leaf=True)  # type: ignore[return-value]


def votes_right(rules: ForestRules, problem: Problem) -> bool:
    """Whether rules predict the forest's own labels and, to the last bit, its probabilities."""
    same = np.array_equal(rules.predict(problem.X), problem.model.predict(problem.X))
    return same and np.array_equal(rules.predict_proba(problem.X), problem.model.predict_proba(problem.X))


def agrees_in_part(rules: ForestRules, problem: Problem) -> bool:
    """Whether a few leaves of a few trees have the rules and the counts of the slow version."""
    trees = [Problem(one.tree, problem.X, problem.y) for one in rules[:CHECKED_TREES]]
    return all(agrees(one, tree, CHECKED_LEAVES) for one, tree in zip(rules, trees, strict=False))


@cache
def exact_rules(problem: Problem) -> ForestRules:
    """Rules to predict with."""
    return simplify("exact", problem, with_rows=False)


def refit(problem: Problem, n_jobs: int) -> Any:
    """Fit the forest again on several processors."""
    return clone(problem.model).set_params(n_jobs=n_jobs).fit(problem.X, problem.y)


FIT_BY_TWO = Reference("fit by two jobs", partial(refit, n_jobs=2))
FITS = (FIT, FIT_BY_TWO)
MUST = {FIT.measure: "≤ 1"}
IN_PART = f"slow version: {CHECKED_LEAVES} leaves of {CHECKED_TREES} trees"
FOREST_CASES = [
    Case(
        "forest/exact",
        adult_forest,
        partial(simplify, "exact", with_rows=False),
        votes_right,
        FITS,
        MUST,
        uses_rows=True,
        rounds=ROUNDS,
    ),
    Case("forest/exact-counted", adult_forest, partial(simplify, "exact"), votes_right, FITS, MUST, rounds=ROUNDS),
    Case(
        "forest/mismatch",
        adult_forest,
        partial(simplify, "mismatch"),
        agrees_in_part,
        FITS,
        {FIT.measure: "≤ 2"},
        IN_PART,
        rounds=ROUNDS,
    ),
    Case(
        "forest/predict",
        adult_forest,
        lambda problem: exact_rules(problem).predict(problem.X),
        lambda labels, problem: np.array_equal(labels, problem.model.predict(problem.X)),
        (PREDICT,),
        {},
        "after exact",
        rounds=ROUNDS,
    ),
]
