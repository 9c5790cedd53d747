"""Calls on one problem each, raced against known work on the same rows and tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

import secateur
from benchmarks.answers import (
    ALPHA,
    TOLERANCE,
    agrees,
    keep_to_budgets,
    make_budgets,
    make_counted_list,
    make_list,
    make_list_of_values,
    predicts_right,
    says_the_same,
    simplify,
    stay_near,
    stays_near,
    stays_within_budget,
)
from benchmarks.naive.all_pairs import delete_redundancy, is_monotone
from benchmarks.naive.by_rows import delete_mismatch, delete_quinlan
from benchmarks.problems import (
    Problem,
    Unavailable,
    adult,
    many_rows,
    monotone,
    ordinary,
    paper_leaves,
    unpruned,
    values,
)
from benchmarks.race import FULL, QUICK, Rounds, peak_bytes, race
from benchmarks.result import Quartiles, Result, quartiles
from secateur.choosing import BUDGETS

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["APPLY", "CASES", "FIT", "MEMORY", "PREDICT", "Case", "Reference", "mismatch_rules", "run_cases"]

MEMORY, DELETES = "× X of extra memory", "× conditions that Izza deletes"


@dataclass(frozen=True)
class Reference:
    """Known work: a multiple of it is reported, or for a slow version how many times faster we are."""

    name: str
    call: Callable[[Problem], object]
    is_slow: bool = False
    once: bool = False  # too slow for more than one repetition

    @property
    def measure(self) -> str:
        """What the ratio is called."""
        return f"× faster than {self.name}" if self.is_slow else f"× {self.name}"

    def ratio(self, ours: list[float], theirs: list[float]) -> Quartiles:
        """The ratio round by round; what ran once is compared with every round."""
        ratios = np.array(ours) / np.array(theirs)
        return quartiles(1 / ratios if self.is_slow else ratios)


def tree_of(problem: Problem) -> secateur.Tree:
    """What the slow versions read; making it costs them next to nothing."""
    return secateur.from_model(problem.model)


APPLY = Reference("apply", lambda p: p.model.tree_.apply(p.X))
FIT = Reference("fit", lambda p: clone(p.model).fit(p.X, p.y))
PREDICT = Reference("model.predict", lambda p: p.model.predict(p.X))
EXACT = Reference("exact", lambda p: simplify("exact", p))
TREE_PREDICT = Reference("tree_.predict", lambda p: p.model.tree_.predict(p.X))
IZZA = Reference("all-pairs Izza", lambda p: delete_redundancy(tree_of(p)), is_slow=True)
IZZA_BOXES = Reference("Izza, boxes kept", lambda p: delete_redundancy(tree_of(p), keep_boxes=True), is_slow=True)
NAIVE = Reference("naive", lambda p: delete_mismatch(tree_of(p), p.X, p.y, TOLERANCE), is_slow=True)
QUINLAN = Reference("naive", lambda p: delete_quinlan(tree_of(p), p.X, p.y, ALPHA), is_slow=True, once=True)
QUINLAN_MASKS = Reference(
    "naive, masks kept",
    lambda p: delete_quinlan(tree_of(p), p.X, p.y, ALPHA, keep_masks=True),
    is_slow=True,
    once=True,
)


@dataclass(frozen=True, eq=False)
class Case:
    """A timed call with the check of its answer; the cases of one problem take turns.

    ``about`` says what the check and the ratios leave open; ``extra`` gives further measures of the answer.
    """

    name: str
    problem: Callable[[bool], Problem]
    call: Callable[[Problem], Any]
    check: Callable[[Any, Problem], bool]
    references: tuple[Reference, ...]
    bars: dict[str, str]
    about: str = ""
    uses_rows: bool = True
    extra: Callable[[Any], dict[str, float]] = lambda _: {}
    rounds: Rounds = FULL


def run_cases(cases: list[Case], quick: bool) -> list[Result]:
    """Check the answers of the cases of one problem, then let them and their references take turns."""
    try:
        problem = cases[0].problem(quick)
    except Unavailable as reason:
        return [Result(case.name, case.about, skipped=str(reason)) for case in cases]
    results = {}
    for case in cases:
        about = "; ".join(filter(None, (problem.about, case.about)))
        result = results[case] = Result(case.name, about, bars=case.bars)
        answer = case.call(problem)
        result.right = bool(case.check(answer, problem))
        if result.right:
            extra = case.extra(answer)
            del answer
            if case.uses_rows:
                extra[MEMORY] = peak_bytes(partial(case.call, problem)) / problem.X.nbytes
            result.measures = {name: Quartiles(value, value, value) for name, value in extra.items()}
    right = [case for case in cases if results[case].right]
    references = dict.fromkeys(reference for case in right for reference in case.references)
    runners: list[Any] = [*right, *references]
    calls = {runner: partial(runner.call, problem) for runner in runners}
    rounds = QUICK if quick else cases[0].rounds
    seconds = race(calls, rounds, once={reference for reference in references if reference.once})
    for case in right:
        ratios = {r.measure: r.ratio(seconds[case], seconds[r]) for r in case.references}
        results[case].measures = ratios | results[case].measures
        results[case].seconds = quartiles(seconds[case])
    return list(results.values())


@cache
def mismatch_rules(problem: Problem) -> secateur.Rules:
    """Rules to predict with."""
    return simplify("mismatch", problem)


def agrees_in_part(rules: secateur.Rules, problem: Problem) -> bool:
    """Ten leaves of the large tree, and all leaves of a small one, as the slow version has them."""
    small = unpruned(True)
    return agrees(rules, problem, 10) and agrees(simplify(rules.method, small), small)


def spends_right(rules: secateur.Rules, problem: Problem) -> bool:
    """The slow version's rules on a tiny tree, and a conflict within the budget, recounted on all rows."""
    tiny = unpruned(True, 300)
    return agrees(simplify("budgeted", tiny), tiny) and stays_within_budget(rules, problem)


def keeps_to_signs(rules: secateur.Rules, problem: Problem) -> bool:
    """Ten leaves of the large tree, and all of a small one, are in order; a sign that is not true is refused."""
    small, signs = tree_of(monotone(True)), rules.parameters["monotone"]
    untrue = [*signs[:-1], 1]
    if not is_monotone(rules.tree, signs, 10) or not is_monotone(small, signs) or is_monotone(small, untrue):
        return False
    try:
        secateur.simplify(small, method="mismatch-certified", monotone=untrue, each_leaf=True)
    except secateur.errors.ParameterError:
        return bool(rules.deleted.any()) and rules.verify().ok
    return False


def times_izza(rules: secateur.Rules) -> dict[str, float]:
    """How much more is deleted than by Izza's procedure."""
    slow = sum(map(len, delete_redundancy(rules.tree, keep_boxes=True).values()))
    return {DELETES: float(rules.deleted.sum()) / max(slow, 1)}


def _case(
    group: str, problem: Any, method: str, references: tuple[Reference, ...], bars: dict[str, str], **more: Any
) -> Case:
    more = {"check": agrees, "uses_rows": secateur.METHODS[method].needs_rows, **more}
    return Case(f"{group}/{method}", problem, partial(simplify, method), references=references, bars=bars, **more)


MANY = partial(_case, "many-rows", many_rows)
LEAVES = partial(_case, "paper-leaves", paper_leaves, references=(IZZA, IZZA_BOXES, FIT))
thousand_leaves = partial(ordinary, n_leaves=1_000)
UNPRUNED = partial(_case, "unpruned", unpruned, references=(FIT, APPLY))
IN_PART: dict[str, Any] = {
    "check": agrees_in_part,
    "about": "slow version: 10 leaves, and all of 2,000 rows",
    "uses_rows": True,
}
SPENDS: dict[str, Any] = {
    "check": spends_right,
    "about": "slow version: 300 rows; all conflicts recounted",
}
CASES = [
    MANY("mismatch", (APPLY, NAIVE), {APPLY.measure: "≤ 1"}),
    MANY(
        "quinlan",
        (APPLY, QUINLAN, QUINLAN_MASKS),
        {APPLY.measure: "≤ 4", QUINLAN.measure: "> 200"},
        about="naive timed once",
    ),
    Case(
        "many-rows/predict",
        many_rows,
        lambda problem: mismatch_rules(problem).predict(problem.X),
        predicts_right,
        (PREDICT, TREE_PREDICT),
        {PREDICT.measure: "≤ 2"},
        "after mismatch",
    ),
    LEAVES("sibling", bars={IZZA.measure: "≥ 100"}),
    LEAVES("exact", bars={IZZA.measure: "≥ 75", DELETES: "> 1"}, extra=times_izza),
    LEAVES("redundancy", bars={}),
    UNPRUNED("exact", bars={FIT.measure: "≤ 0.02"}, **IN_PART),
    UNPRUNED("mismatch", bars={FIT.measure: "≤ 0.15", MEMORY: "≤ 3"}, **IN_PART),
    UNPRUNED("quinlan", bars={FIT.measure: "≤ 2"}, **IN_PART),
    _case("ordinary", thousand_leaves, "budgeted", (FIT, APPLY), {}, **SPENDS),
    _case(
        "monotone",
        monotone,
        "mismatch-certified",
        (FIT, APPLY),
        {FIT.measure: "≤ 0.1"},
        check=keeps_to_signs,
        about="all pairs of leaves: 10 leaves, and all of 2,000 rows",
    ),
    _case("adult", adult, "budgeted", (FIT, APPLY), {FIT.measure: "≤ 2"}),
    Case(
        "lists/large",
        unpruned,
        make_list,
        says_the_same,
        (FIT, EXACT),
        {FIT.measure: "≤ 0.2"},
        "with the time of exact; 2,000 rows decided as by the model",
        uses_rows=False,
    ),
    Case(
        "lists/exact", ordinary, make_counted_list, says_the_same, (FIT, APPLY), {FIT.measure: "≤ 0.5", MEMORY: "≤ 8"}
    ),
    Case("lists/values", values, make_counted_list, stays_near, (FIT, APPLY), {FIT.measure: "≤ 0.5", MEMORY: "≤ 8"}),
    Case(
        "lists/values/large",
        partial(values, n_leaves=22_000),
        make_list_of_values,
        stays_near,
        (FIT,),
        {FIT.measure: "≤ 0.2"},
        "without rows",
        uses_rows=False,
    ),
    *(
        Case(
            f"lists/values/budgets/{n_leaves}",
            partial(values, n_leaves=n_leaves),
            make_budgets,
            stay_near,
            (FIT,),
            {FIT.measure: "≤ 3" if n_leaves > 200 else "≤ 1.5", MEMORY: "≤ 8"},
            f"all {len(BUDGETS)} budgets; rows beyond the tolerance recounted",
        )
        for n_leaves in (200, 1_000)
    ),
    *(
        Case(
            f"lists/budgets/{n_leaves}-{n_classes}",
            partial(ordinary, n_leaves=n_leaves, n_classes=n_classes),
            make_budgets,
            keep_to_budgets,
            (FIT,),
            {FIT.measure: "≤ 3" if n_leaves > 200 else "≤ 1.5", MEMORY: "≤ 8"},
            f"all {len(BUDGETS)} budgets, {n_classes} classes; rows decided otherwise recounted by class",
        )
        for n_leaves, n_classes in ((200, 2), (200, 5), (200, 10), (1_000, 2))
    ),
]
