"""A change of exactly ε is within it: decided on fractions of counts, with ε as the decimal that was written."""

from __future__ import annotations

from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import oracles
import pytest
from drawing import draw
from hypothesis import example, given
from hypothesis import strategies as st
from list_oracles import is_off
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import ListForm, choose_lines
from secateur.methods import row_mixture
from secateur.methods.leaves import list_places
from secateur.tree.shares import compare_reliability
from secateur.tree.tree import Tree
from secateur.verify.case import find_beyond

TOLERANCES = [0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.6]
POOL = 30  # rows of the mixture, so that slow versions end
BUDGET = 0.3


def count(n_rows: int) -> st.SearchStrategy[list[int]]:
    return st.tuples(st.integers(0, n_rows), st.integers(0, n_rows)).map(list)


@given(now=count(60), before=count(60), tolerance=st.sampled_from(TOLERANCES))
@example(now=[8, 2], before=[3, 2], tolerance=0.2)
@example(now=[19, 1], before=[20, 0], tolerance=0.05)
@example(now=[19 * 2**40, 2**40 + 1], before=[20, 0], tolerance=0.05)
def test_counts_are_compared_as_fractions_by_methods_and_by_the_checker(
    now: list[int], before: list[int], tolerance: float
) -> None:
    one, other = np.array([now], dtype=float), np.array([before], dtype=float)
    side = compare_reliability(one, other, [0], tolerance)[0]
    fell, rose = (found[0] for found in find_beyond(one, other, np.array([0]), tolerance))
    if not sum(now) or not sum(before):
        assert np.isnan(side)
        assert fell
        assert rose
        return
    move = Fraction(now[0], sum(now)) - Fraction(before[0], sum(before))
    wanted = 0 if abs(move) <= Fraction(repr(tolerance)) else 1 if move > 0 else -1
    assert side == wanted
    assert (fell, rose) == (wanted < 0, wanted > 0)


def test_sums_of_weights_have_a_slack() -> None:
    before, now = np.array([[0.3, 0.2]]), np.array([[0.8, 0.2]])  # 3/5 to 4/5, each a little beside
    assert compare_reliability(now, before, [0], 0.2)[0] == 0
    assert compare_reliability(now + np.array([1e-9, 0]), before, [0], 0.2)[0] == 1
    assert not any(found[0] for found in find_beyond(now, before, np.array([0]), 0.2))


def make_problem(seed: int) -> tuple[Tree, Any, Any, float]:
    """A small table of few values, so that shares are fractions of small numbers; its tree, and a tolerance."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(20, 60))
    X = rng.integers(0, 4, (n_rows, 4)).astype(float)
    y = ((X[:, 0] + X[:, 1] * (X[:, 2] > 1) > 3) ^ (rng.random(n_rows) < 0.25)).astype(int)
    y[:2] = 0, 1
    model = DecisionTreeClassifier(max_depth=4, min_samples_leaf=2, random_state=seed).fit(X, y)
    return secateur.from_model(model), X, y, float(rng.choice(TOLERANCES))


def list_differences(seed: int, *, budgets: bool = True) -> tuple[int, list[str]]:
    """Make the rules of one tree by all methods with ε; count them, and name those that the slow version has not."""
    tree, X, y, tolerance = make_problem(seed)
    found: dict[str, dict[int, list[int]]] = {}
    wanted: dict[str, dict[int, list[int]]] = {
        "mismatch": oracles.delete_mismatch(tree, X, y, None, tolerance),
        "faithful": oracles.delete_faithful(tree, X, y, None, tolerance),
        "unprotected": oracles.delete_faithful(tree, X, y, None, tolerance, protect=False),
    }
    given = {"X": X, "y": y, "each_leaf": True}
    settings: dict[str, dict[str, Any]] = {
        "mismatch": {"method": "mismatch"},
        "faithful": {"method": "faithful"},
        "unprotected": {"method": "faithful", "protect": False},
    }
    with mock.patch.object(row_mixture, "POOL_ROWS", POOL):
        if budgets:
            settings["budgeted"] = {"method": "budgeted", "max_conflict": BUDGET}
            guard = oracles.Guard(y, tolerance)
            wanted["budgeted"] = oracles.delete_budgeted(tree, X, None, BUDGET, 1000, guard, pool=POOL)
            exact = secateur.simplify(tree, X, y, each_leaf=True)
            lines = choose_lines(exact, ListForm(tolerance), budget=BUDGET)
            leaves = lines.paths.leaf_ids
            found["list"] = {
                line: leaves[list_places(may)].tolist() for line, may in enumerate(lines.find_answerable())
            }
            wanted["list"] = {
                line: [leaf for leaf in leaves.tolist() if not is_off(lines, line, leaf)]
                for line in range(lines.n_lines)
            }
            assert lines.verify(X, y).ok
        for name, own in settings.items():
            rules = secateur.simplify(tree, **given, tolerance=tolerance, **own)
            found[name] = {rule.leaf_id: list(rule.deleted_ids) for rule in rules}
            assert rules.verify(X, y).ok
    differing = [
        f"seed {seed}, {name}, leaf {leaf}"
        for name, of_leaf in wanted.items()
        for leaf in sorted(set(of_leaf) | set(found[name]))
        if of_leaf.get(leaf) != found[name].get(leaf)
    ]
    return sum(map(len, wanted.values())), differing


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("first", draw([0, 8, 16], 1))
def test_rules_are_those_of_exact_fractions(first: int) -> None:
    for seed in range(first, first + 8):
        assert list_differences(seed)[1] == []


def test_an_effect_of_exactly_the_tolerance_is_none_and_no_rule_is_beyond_it() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["a", "b"])
    root = builder.split("a", 0)
    X, y = [], []
    for side, pairs in {"left": [(2, 3), (9, 1)], "right": [(0, 5), (9, 1)]}.items():
        below = builder.split("b", 0, parent=root, side=side)
        for turn, (no, yes) in zip(("left", "right"), pairs, strict=True):
            builder.leaf([no, yes], parent=below, side=turn)
            X += [[-1.0 if side == "left" else 1.0, -1.0 if turn == "left" else 1.0]] * (no + yes)
            y += ["no"] * no + ["yes"] * yes
    tree = builder.build()
    found = secateur.diagnose(tree, X, y, tolerance=0.2)
    first = found[0]
    assert (first.reliability, first.reliability_without, first.effect) == (0.6, 0.8, "probabilistic-irc")
    assert "D = +20.0 points, within ±20 points" in found.to_text()
    assert found.effect_of(first.leaf_id, first.link_id).effect == "reliability-preserving"
    rules = secateur.simplify(tree, X, y, method="mismatch", tolerance=0.2, each_leaf=True)
    assert rules[0].deleted_ids == (first.link_id,)
    assert rules.audit(X, y).share_beyond_tolerance == 0
    assert rules.verify(X, y).ok
