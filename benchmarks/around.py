"""What surrounds a method, on the rules of a tree that nobody pruned: audit, proof, files, and the page."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import secateur
from benchmarks.answers import TOLERANCE, simplify
from benchmarks.cases import APPLY, FIT, Case, mismatch_rules
from benchmarks.naive.by_rows import delete_mismatch
from benchmarks.problems import Problem, make_rows, many_rows, unpruned
from benchmarks.race import Rounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AROUND_CASES"]

ROUNDS = Rounds(2, 3, 60.0)
SIZE = "MB"
CHECKED_ROWS = 2_000


def audits_right(audit: Any, problem: Problem) -> bool:
    """Whether the rates are those of the predictions, recounted, and conflicts those of some rows."""
    rules = mismatch_rules(problem)
    said, own = rules.predict(problem.X), problem.model.predict(problem.X)
    rates = 100 * np.array([(said == problem.y).mean(), (own == problem.y).mean(), (said == own).mean()])
    found = audit.accuracy, audit.tree_accuracy, audit.agreement
    return bool(np.allclose(rates, found)) and _conflicts_right(rules, problem)


def _conflicts_right(rules: secateur.Rules, problem: Problem) -> bool:
    some = slice(0, CHECKED_ROWS)
    covers = rules.covers(problem.X[some])
    classes = rules.paths.leaf_class
    n_classes = sum((covers[:, classes == class_id].any(axis=1)).astype(int) for class_id in range(2))
    few = rules.audit(problem.X[some], problem.y[some])
    return bool(np.isclose(few.conflict, 100 * (n_classes > 1).mean()))


def reads_back(text: str, problem: Problem) -> bool:
    """Whether the file gives the same rules, with the same words."""
    rules = mismatch_rules(problem)
    again = secateur.Rules.from_json(text)
    return again == rules and all(again[place].reasons == rules[place].reasons for place in (0, len(rules) // 2))


def decides_in_duckdb(statement: str, problem: Problem) -> bool:
    """Whether the database decides some rows as the rules do."""
    import duckdb
    import pandas as pd

    small = unpruned(True)
    rules = simplify("mismatch", small)
    names = [rules.tree.feature_name(feature) for feature in range(small.X.shape[1])]
    rows = pd.DataFrame(small.X.astype(float), columns=names)
    with duckdb.connect() as database:
        database.register("rows", rows)
        found = database.sql(rules.to_sql()).df()["prediction"].to_numpy()
    return np.array_equal(found, rules.predict(small.X)) and statement.count("WHEN") > len(mismatch_rules(problem)) / 2


@cache
def json_of(problem: Problem) -> str:
    """A file to read."""
    return mismatch_rules(problem).to_json()


@cache
def two_thousand_leaves(quick: bool) -> Problem:
    """A large tree that people may still look at."""
    X, y = make_rows(2_000 if quick else 50_000, 20)
    return Problem(DecisionTreeClassifier(max_leaf_nodes=100 if quick else 2_000, random_state=0).fit(X, y), X, y)


@cache
def exact_rules(problem: Problem) -> secateur.Rules:
    """Rules to show."""
    return secateur.simplify(problem.model, problem.X, problem.y, method="exact", each_leaf=True)


def shows_all(page: str, problem: Problem) -> bool:
    """Whether the page holds a record of every leaf."""
    start = page.index(">", page.index('<script type="application/json"')) + 1
    return len(json.loads(page[start : page.index("</script>", start)])["rules"]) == problem.model.get_n_leaves()


def fractional_weights(problem: Problem) -> NDArray[np.float64]:
    """Weights that do not add up exactly: 7, 9, 11 … 19 fourteenths."""
    return (7 + 2 * (np.arange(len(problem.X)) % 7)) / 14


def weighs_right(rules: secateur.Rules, problem: Problem) -> bool:
    """Whether a small table gives the slow version's rules, where rows are repeated instead; and the sum of all."""
    small = many_rows(True)
    weights = fractional_weights(small)
    found = secateur.simplify(small.model, small.X, small.y, sample_weight=weights, method="mismatch", each_leaf=True)
    times = np.rint(14 * weights).astype(np.int64)
    wanted = delete_mismatch(found.tree, np.repeat(small.X, times, axis=0), np.repeat(small.y, times), TOLERANCE)
    deleted = {rule.leaf_id: list(rule.deleted_ids) for rule in found}
    return deleted == wanted and bool(np.isclose(rules.leaf_counts.sum(), fractional_weights(problem).sum()))


def _about(name: str, call: Any, check: Any, bars: dict[str, str], **more: Any) -> Case:
    return Case(f"around/{name}", unpruned, call, check, (FIT,), bars, "after mismatch", **{"uses_rows": False, **more})


AROUND_CASES = [
    _about("audit", lambda p: mismatch_rules(p).audit(p.X, p.y), audits_right, {FIT.measure: "≤ 0.1"}, rounds=ROUNDS),
    _about("verify", lambda p: mismatch_rules(p).verify(), lambda proof, _: proof.ok, {FIT.measure: "≤ 0.3"}),
    _about(
        "to_json",
        lambda p: mismatch_rules(p).to_json(),
        reads_back,
        {FIT.measure: "≤ 0.3", SIZE: "≤ 40"},
        extra=lambda text: {SIZE: len(text.encode()) / 1e6},
    ),
    _about(
        "from_json",
        lambda p: secateur.Rules.from_json(json_of(p)),
        lambda rules, p: rules == mismatch_rules(p),
        {FIT.measure: "≤ 0.3"},
    ),
    _about("to_sql", lambda p: mismatch_rules(p).to_sql(), decides_in_duckdb, {FIT.measure: "≤ 0.3"}),
    Case(
        "around/report",
        two_thousand_leaves,
        lambda p: exact_rules(p).report().to_html(),
        shows_all,
        (FIT,),
        {SIZE: "≤ 2"},
        "after exact",
        uses_rows=False,
        extra=lambda page: {SIZE: len(page.encode()) / 1e6},
        rounds=ROUNDS,
    ),
    Case(
        "around/weights",
        many_rows,
        lambda p: secateur.simplify(
            p.model, p.X, p.y, sample_weight=fractional_weights(p), method="mismatch", each_leaf=True
        ),
        weighs_right,
        (APPLY,),
        {APPLY.measure: "≤ 3"},
        "mismatch with fractional weights",
        rounds=ROUNDS,
    ),
]
