"""Ask z3 whether a tree and its rules differ, and judge its answer by listing rows.

An answer ``sat`` is judged by its row: as doubles, codes and missing values it must be possible, and tree and rules
must differ on it. An answer ``unsat`` is judged by a grid: every limit of tree, rules and facts with the doubles beside
it, every category, and a missing value; on none of its possible rows may they differ. Nothing of the file's writer is
used for that.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

import list_oracles
import numpy as np
import oracles
import told_trees
import z3

import secateur
from secateur.export.smtlib import Line, list_lines, write_comparison
from secateur.rules.decision_list import ColumnTest
from secateur.tree.columns import find_cuts
from secateur.tree.tree import Tree

MOST_ROWS = 20_000
SORTS = {"Real": z3.Real, "Int": z3.Int, "Bool": z3.Bool}
Row = tuple[float, ...]


class Answer(NamedTuple):
    """What z3 says: whether there is a row on which tree and rules differ, and that row."""

    differ: bool
    row: Row | None


class WrongAnswerError(AssertionError):
    """What z3 says of a file is not so."""


def solve(tree: Tree, text: str) -> Answer:
    """Run z3 on a file; the row is in the tree's terms: doubles, codes, NaN."""
    solver = z3.Solver()
    solver.from_string(text)
    said = str(solver.check())
    if said not in ("sat", "unsat"):
        raise WrongAnswerError(f"z3 says {said}")
    if said == "unsat":
        return Answer(False, None)
    model = solver.model()
    values: dict[str, Any] = {
        name: model.eval(SORTS[sort](name), model_completion=True)
        for name, sort in re.findall(r"^\(declare-const (\w+) (\w+)\)$", text, re.MULTILINE)
    }
    for name, group, code in re.findall(
        r"^\(define-fun (x\d+) .* \(ite \(= (g\d+) (\d+)\) 1.0 0.0\)\)$", text, re.MULTILINE
    ):
        values[name] = z3.RealVal(int(values[group].as_long() == int(code)))
    return Answer(True, tuple(_read_value(tree, values, feature) for feature in range(tree.n_features)))


def _read_value(tree: Tree, values: dict[str, Any], feature: int) -> float:
    if z3.is_true(values.get(f"m{feature}")):
        return math.nan
    if (code := values.get(f"c{feature}")) is not None:
        return float(code.as_long())
    if (steps := values.get(f"k{feature}")) is not None:
        return float(Fraction(steps.as_long(), 10 ** tree.facts.decimals_of[feature]))
    if (number := values.get(f"x{feature}")) is not None:
        exact = Fraction(number.numerator_as_long(), number.denominator_as_long())
        nearest = float(exact)
        return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)
    low, high = find_ends(tree, feature)  # nothing is asked of it
    return min(max(0.0, low), high)


# --- tree and rules on listed rows ------------------------------------------------------------------------------------


def find_ends(tree: Tree, feature: int) -> tuple[float, float]:
    """The least and the largest number that a pipeline takes."""
    ranges = () if tree.columns is None else tree.columns.ranges
    return (ranges[feature] if ranges else None) or (-math.inf, math.inf)


def find_codes(tree: Tree, feature: int, column: Any) -> Any:
    """The code of each value of a column of categories, or of cells; NaN stays."""
    cuts = find_cuts(tree, feature)
    if cuts is None:
        return column
    return np.where(np.isnan(column), np.nan, [sum(cut < value for cut in cuts) for value in column.tolist()])


def find_leaves(tree: Tree, rows: Any) -> Any:
    """The node id of each row's leaf, walked node by node."""
    at = np.zeros(len(rows), dtype=int)
    for node in range(tree.n_nodes):
        here = np.flatnonzero(at == node)
        if tree.children_left[node] < 0 or not len(here):
            continue
        feature = int(tree.feature[node])
        column = rows[here, feature]
        if tree.categories[feature] is None:
            left = column.astype(tree.dtype).astype(float) <= tree.threshold[node]
        else:
            left = np.isin(find_codes(tree, feature, column), tree.left_codes(node))
        left = np.where(np.isnan(column), tree.missing_left[node], left)
        at[here] = np.where(left, tree.children_left[node], tree.children_right[node])
    return at


def find_passing(tree: Tree, test: ColumnTest, rows: Any) -> Any:
    """Whether each row passes a test."""
    feature, column = test.column, rows[:, test.column]
    levels = tree.categories[feature]
    if levels is None or find_cuts(tree, feature) is not None:
        numbers = column.astype(tree.dtype).astype(float) if levels is None else column
        passes = np.zeros(len(rows), dtype=bool)
        for low, high in test.intervals:
            passes |= (low < numbers) & (numbers <= high)
    else:
        allowed = [code for code, label in enumerate(levels) if label in test.labels]
        passes = np.isin(column, [*allowed, *[len(levels)] * test.unlisted])
    return np.where(np.isnan(column), test.missing, passes)


def find_holding(tree: Tree, lines: list[Line], rows: Any) -> Any:
    """Whether each line holds for each row; "otherwise" where no rule of its section does."""
    holds = np.ones((len(lines), len(rows)), dtype=bool)
    for place, line in enumerate(lines):
        for test in line.tests:
            holds[place] &= find_passing(tree, test, rows)
    for place, line in enumerate(lines):
        if line.is_otherwise:
            rules = [at for at, one in enumerate(lines) if one.section == line.section and not one.is_otherwise]
            holds[place] &= ~holds[rules].any(axis=0)
    return holds


def find_differing(rules: secateur.Rules, lines: list[Line], rows: Any) -> Any:
    """Whether tree and lines differ on each row: as the guarantee of exact rules says, else by the first that holds."""
    leaves = find_leaves(rules.source_tree, rows)
    said = rules.tree.leaf_class[leaves]
    first_is_wrong, wrong = np.ones(len(rows), dtype=bool), np.zeros(len(rows), dtype=bool)
    is_answered = np.zeros(len(rows), dtype=bool)
    states = promises_answers(rules) or rules.tree.is_regression
    for line, holds in zip(lines, find_holding(rules.tree, lines, rows), strict=True):
        differs = said != line.class_id
        if line.share is not None and states:
            differs |= np.isin(leaves, find_beyond(rules, line.share))
        wrong |= holds & differs
        first_is_wrong[holds & ~is_answered] = differs[holds & ~is_answered]
        is_answered |= holds
    return wrong | ~is_answered if promises_answers(rules) else first_is_wrong


def find_beyond(rules: secateur.Rules, share: float) -> list[int]:
    """Node ids of the leaves whose share, or value, lies beyond the tolerance of a line's, which is a float."""
    within = Fraction(str(rules.tolerance)) + Fraction(1, 10**12) * max(Fraction(1), abs(Fraction(share)))
    values, every = rules.tree.values, np.flatnonzero(rules.tree.is_leaf).tolist()
    own = [list_oracles.share_of(rules, leaf) if values is None else Fraction(values[leaf].item()) for leaf in every]
    return [leaf for leaf, value in zip(every, own, strict=True) if abs(value - Fraction(share)) > within]


def promises_answers(rules: secateur.Rules) -> bool:
    """Whether every possible row is promised the tree's class."""
    return rules.is_exact or (rules.budget == 0 and "monotone" in rules.parameters and not rules.journal)


def find_possible(tree: Tree, rows: Any) -> Any:
    """Whether the tree accepts each row and it satisfies the facts."""
    found = np.ones(len(rows), dtype=bool)
    for feature in range(tree.n_features):
        column, levels = rows[:, feature], tree.categories[feature]
        low, high = find_ends(tree, feature)
        if levels is None or find_cuts(tree, feature) is not None:
            found &= np.isnan(column) | ((low <= column) & (column <= high))
            with np.errstate(over="ignore"):
                found &= ~np.isinf(column.astype(tree.dtype))
        elif tree.columns is not None and tree.columns.closed[feature]:
            found &= np.isnan(column) | (column < len(levels))
        if not tree.accepts_missing[feature]:
            found &= ~np.isnan(column)
    if tree.facts.limits_rows:
        rounded = rows.copy()
        for feature, levels in enumerate(tree.categories):
            if levels is None:
                rounded[:, feature] = rows[:, feature].astype(tree.dtype)
        kept = np.flatnonzero(found).tolist()
        found[kept] = [told_trees.is_possible(tree, tree.facts, tuple(rounded[row].tolist())) for row in kept]
    return found


def make_grid(tree: Tree, lines: list[Line], rng: Random) -> tuple[Any, bool]:
    """A row of every kind that tree, lines and facts tell apart, or many of them at random; only possible ones."""
    values = [_list_values(tree, lines, feature) for feature in range(tree.n_features)]
    is_complete = math.prod(map(len, values)) <= MOST_ROWS
    if is_complete:
        drawn = list(itertools.product(*values))
    else:
        drawn = [tuple(map(rng.choice, values)) for _ in range(MOST_ROWS)]
    rows = np.array(drawn, dtype=float).reshape(len(drawn), tree.n_features)
    return rows[find_possible(tree, rows)], is_complete


def _list_values(tree: Tree, lines: list[Line], feature: int) -> list[float]:
    """Values of a column on both sides of everything that is asked of it."""
    missing = [math.nan] * bool(tree.accepts_missing[feature])
    levels, cuts, facts = tree.categories[feature], find_cuts(tree, feature), tree.facts
    if levels is not None and cuts is None:
        return [*map(float, range(len(levels) + 1)), *missing]
    if feature in facts.group_of:
        return [0.0, 1.0]
    limits = {*(cuts or ()), *tree.threshold[tree.feature == feature].tolist(), *find_ends(tree, feature)}
    limits |= {end for claim in facts.all_claims if claim.subject == feature for end in claim.region[:2]}
    tests = (test for line in lines for test in line.tests if test.column == feature)
    limits |= {end for test in tests for ends in test.intervals for end in ends}
    kind = np.dtype(tree.dtype).type if cuts is None else np.float64
    found = {0.0, -100.0, 100.0}
    for limit in sorted(limit for limit in limits if math.isfinite(limit)):
        own = float(kind(oracles.number_not_above(tree, limit))) if cuts is None else limit
        found |= {limit, math.nextafter(limit, math.inf), own, float(np.nextafter(kind(own), kind(np.inf)))}
    if feature in facts.decimals_of:
        scale = 10 ** facts.decimals_of[feature]
        found = {(math.floor(value * scale) + step) / scale for value in found for step in (-1, 0, 1, 2)}
    else:  # one of each kind is enough: those that nothing tells apart are dropped
        tells = sorted(limit for limit in limits if not math.isnan(limit))
        kept: dict[tuple[bool, ...], float] = {}
        for value in sorted(found):
            kept[tuple(float(kind(value)) <= limit for limit in tells)] = value
        found = {*kept.values()}
    return [*sorted(found), *missing]


# --- judging ----------------------------------------------------------------------------------------------------------


class Verdict(NamedTuple):
    """Whether z3 finds a row on which tree and lines differ; where not, whether all kinds of rows were listed."""

    differ: bool
    is_complete: bool


def judge(rules: secateur.Rules, lines: list[Line], rng: Random) -> Verdict:
    """Ask z3 and judge its answer; raises if that is wrong."""
    tree = with_assumed_facts(rules)
    answer = solve(tree, write_comparison(rules, lines))
    if answer.row is not None:
        rows = np.array([answer.row], dtype=float)
        if not find_possible(tree, rows)[0]:
            raise WrongAnswerError(f"an impossible row: {answer.row}")
        if not find_differing(rules, lines, rows)[0]:
            raise WrongAnswerError(f"tree and rules do not differ on {answer.row}")
        return Verdict(True, True)
    rows, is_complete = make_grid(tree, lines, rng)
    differing = find_differing(rules, lines, rows)
    if differing.any():
        raise WrongAnswerError(f"unsat, but tree and rules differ on {rows[differing][0].tolist()}")
    return Verdict(False, is_complete)


def with_assumed_facts(rules: secateur.Rules) -> Tree:
    """The tree with the facts that the guarantee names; those of other rules with all of them."""
    facts = rules.tree.facts
    if rules.is_exact:
        for words, fact in rules.facts_used.stated:
            if words not in rules.assumptions:
                fewer = facts.leave_out(fact, rules.tree.n_features)
                facts = facts if fewer is None else fewer
    return replace(rules.source_tree, facts=facts)


def judge_rules(rules: secateur.Rules, rng: Random) -> Verdict:
    """Judge rules as they are: some row is possible, and those that promise the tree's answers give all of them."""
    lines = list_lines(rules)
    asked, _, _ = write_comparison(rules, lines).rpartition("(assert ")
    if not solve(with_assumed_facts(rules), asked).differ:
        raise WrongAnswerError("no row is possible")
    found = judge(rules, lines, rng)
    if found.differ and promises_answers(rules):
        raise WrongAnswerError("rules that promise the tree's answers differ from it")
    return found


# --- mutants ----------------------------------------------------------------------------------------------------------


def mutate(rules: secateur.Rules, rng: Random) -> tuple[str, secateur.Rules, list[Line]] | None:
    """Change one thing in the lines of some rules; None where there is nothing to change."""
    lines, tree = list_lines(rules), rules.tree
    if not lines:
        return None
    kinds = ["class", "line"] + ["condition", "limit", "limit", "value"] * any(line.tests for line in lines)
    kind = rng.choice([*kinds, "share"] if rules.keeps_shares or tree.is_regression else kinds)
    if kind in ("class", "line", "share"):
        place = rng.randrange(len(lines))
        own = lines[place]
        named = f"otherwise, {kind}" if own.is_otherwise else kind
        if kind == "line":
            return named, rules, lines[:place] + lines[place + 1 :]
        if kind == "share":
            assert own.share is not None
            steps = (1e-9 * max(1, abs(own.share)), 0.5 * rules.tolerance, 3 * rules.tolerance)
            moved = own.share + rng.choice((-1, 1)) * rng.choice(steps)
            return named, rules, _put(lines, place, own._replace(share=moved))
        others = [c for c in range(tree.n_classes) if c != own.class_id]
        return (named, rules, _put(lines, place, own._replace(class_id=rng.choice(others)))) if others else None
    place = rng.choice([place for place, line in enumerate(lines) if line.tests])
    tests = list(lines[place].tests)
    asked = rng.randrange(len(tests))
    if kind == "condition":
        del tests[asked]
    else:
        tests[asked] = _change_test(tree, tests[asked], kind, rng)
        if tests[asked] == lines[place].tests[asked]:
            return None
    return kind, rules, _put(lines, place, lines[place]._replace(tests=tuple(tests)))


def _put(lines: list[Line], place: int, line: Line) -> list[Line]:
    return [*lines[:place], line, *lines[place + 1 :]]


def _change_test(tree: Tree, test: ColumnTest, kind: str, rng: Random) -> ColumnTest:
    """Move a limit, by one number or more; or let a category or a missing value pass that did not, or the reverse."""
    ends = [(i, j) for i, both in enumerate(test.intervals) for j, end in enumerate(both) if math.isfinite(end)]
    if kind == "limit" and ends:
        i, j = rng.choice(ends)
        is_cell = find_cuts(tree, test.column) is not None
        number, limit = np.float64 if is_cell else np.dtype(tree.dtype).type, test.intervals[i][j]
        towards = rng.choice((-math.inf, math.inf))
        moved = float(np.nextafter(number(limit), number(towards)))
        both = [list(interval) for interval in test.intervals]
        both[i][j] = rng.choice((moved, moved, float(number(limit + math.copysign(1, towards)))))
        return test._replace(intervals=tuple((low, high) for low, high in both if low < high))
    levels = tree.categories[test.column]
    is_open = tree.columns is None or not tree.columns.closed[test.column]
    if levels is not None and find_cuts(tree, test.column) is None and rng.random() < 0.7:
        code = rng.randrange(len(levels) + is_open)
        if code == len(levels):
            return test._replace(unlisted=not test.unlisted)
        labels = {*test.labels} ^ {levels[code]}
        return test._replace(labels=tuple(label for label in levels if label in labels))
    return test._replace(missing=not test.missing) if tree.accepts_missing[test.column] else test
