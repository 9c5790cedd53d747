"""Every door gives one answer: predict, apply, explain, SQL, Python, numpy, written predictions and the audit.

So it is in both forms, with and without facts about the columns. Rows that contradict the facts are asked about, too:
nothing is promised there, but one list of rules must not say two things.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import listed_rows
import numpy as np
import pandas as pd
import pytest
import strategies
import told_trees
from drawing import PROFILE, draw
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from net import answers, forms
from net.cases import EXACT, FURTHER_SEEDS, METHODS, SEEDS, WITHOUT_ROWS, Case, list_cases, make_told
from net.tables import Told
from numpy.typing import NDArray

from secateur.tree.facts import Facts, Group
from secateur.tree.tree import Tree, make_tree

DOORS = tuple(answers.DOORS)
FEWER_DOORS = tuple(door for door in DOORS if door != "DuckDB")  # which takes a tenth of a second to plan


def find_wrong(rules: Any, told: Told, rows: pd.DataFrame, doors: Collection[str]) -> dict[str, NDArray[np.int64]]:
    wrong = answers.find_wrong(rules, told.model, rows, doors)
    # Beside that, exact rules say what the tree says of every row that keeps to the facts.
    asked = told.rows["possible"] if rules.tree.facts else rows
    differ = np.flatnonzero(rules.predict(asked) != told.model.predict(asked)) if rules.is_exact else ()
    return {**wrong, "tree": np.asarray(differ)} if len(differ) else wrong


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("case", list_cases("nothing", "facts", "groups"))
def test_every_door_gives_one_answer(case: Case) -> None:
    # The next form, method and fact is asked of the other tree; a thorough run asks each of both.
    place = [one.values[0] for one in list_cases("nothing", "facts", "groups")].index(case)
    case.check(SEEDS if PROFILE == "thorough" else [SEEDS[place % 2]], lambda _, *asked: find_wrong(*asked, DOORS))


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("case", list_cases("facts and groups"))
def test_every_door_gives_one_answer_on_further_trees(case: Case) -> None:
    case.check(draw(FURTHER_SEEDS, 1), lambda _, *asked: find_wrong(*asked, DOORS))


def test_the_rules_of_exact_methods_say_so() -> None:
    told = make_told(SEEDS[0])
    for form in forms.FORMS:
        for method in METHODS:
            assert Case(form, method, "facts", True).make_rules(told).is_exact == (method in EXACT)


# --- random trees -----------------------------------------------------------------------------------------------------


def check_random_tree(rules: Any, X: NDArray[np.float64]) -> None:
    at, rows = forms.applied(rules, X), listed_rows.plain_rows(rules.tree, X)
    listed, predict = forms.decision_list(rules), answers.load(rules.to_python())
    decided = [listed_rows.decide(listed, row) for row in rows]
    said: dict[str, tuple[Any, Any]] = {
        "decision list": ([rule.label for rule in decided if rule], [rule.index + 1 for rule in decided if rule]),
        "Python": tuple(zip(*(predict(row)[:2] for row in rows), strict=True)),
        "predict": (rules.predict(X), None),
    }
    wrong = {
        door: places for door, doors in said.items() if len(places := answers.differ_from_lines(rules, at, *doors))
    }
    assert not wrong


@pytest.mark.parametrize("form", forms.FORMS)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_random_trees_give_one_answer(form: str, data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    X, y, _ = data.draw(strategies.labelled_rows(tree))
    method = data.draw(st.sampled_from(METHODS[:-1]))
    training = (X, tree.classes[y]) if method not in WITHOUT_ROWS or data.draw(st.booleans()) else ()
    check_random_tree(forms.FORMS[form](tree, *training, method=method), data.draw(strategies.rows(tree)))


Problem = tuple[
    Tree, str, NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]
]  # tree, method, X, y, asked rows


@st.composite
def told_problems(draw: st.DrawFn) -> Problem:
    """Trees with facts, training rows that keep to them, and rows of every kind."""
    tree = draw(told_trees.told_trees())
    every = told_trees.all_rows(tree)
    possible = [row for row in every if told_trees.is_possible(tree, tree.facts, row)]
    assume(possible)
    X = np.array(draw(st.lists(st.sampled_from(possible), min_size=1, max_size=30)), dtype=np.float64)
    y = draw(strategies.lists_of(st.integers(0, tree.n_classes - 1), len(X)))
    asked = draw(st.lists(st.sampled_from(every), min_size=1, max_size=30))
    method = draw(st.sampled_from(METHODS[:-1]))
    return tree, method, X, np.array(y, dtype=np.int64), np.array(asked, dtype=np.float64)


def make_known_problem() -> Problem:
    """Two columns of which at most one is 1; the rule that asks only for the second is the more reliable one."""
    tree = make_tree(
        children_left=[1, 3, -1, -1, -1],
        children_right=[2, 4, -1, -1, -1],
        feature=[0, 1, -1, -1, -1],
        threshold=[0.5, 0.5, *[np.nan] * 3],
        leaf_class=[-1, -1, 0, 0, 1],
        classes=["no", "yes"],
        n_features=2,
    )
    tree = told_trees.with_facts(tree, Facts(groups=(Group("g", (0, 1), ("x0", "x1")),)))
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 0]], dtype=np.float64)
    return tree, "exact", X, np.array([0, 1, 0, 1]), np.array([[1.0, 1.0]])


@pytest.mark.parametrize("form", forms.FORMS)
@given(told=told_problems())
@example(told=make_known_problem())
@settings(max_examples=60, deadline=None)
def test_random_trees_with_facts_give_one_answer(form: str, told: Problem) -> None:
    tree, method, X, y, asked = told
    check_random_tree(forms.FORMS[form](tree, X, tree.classes[y], method=method), asked)
