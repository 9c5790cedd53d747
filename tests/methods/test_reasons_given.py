"""Why a condition went or stayed is what the definitions say, condition by condition."""

from __future__ import annotations

from typing import Any

import oracles
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.methods import Why
from secateur.tree.tree import Tree


@st.composite
def problems(draw: st.DrawFn) -> tuple[Tree, Any, Any, Any]:
    """Trees with few rows, so that some leaves have none."""
    tree = draw(strategies.trees(max_leaves=7))
    return tree, *draw(strategies.labelled_rows(tree, weights=draw(st.booleans()), max_rows=12))


def found_reasons(rules: secateur.Rules) -> dict[tuple[int, int], Why]:
    paths = rules.paths
    leaves, why = paths.leaf_ids[paths.rule].tolist(), rules.deletions.why.tolist()
    return {(leaf, link): Why(one) for leaf, link, one in zip(leaves, paths.links.tolist(), why, strict=True)}


@given(problem=problems(), tolerance=st.sampled_from([0.0, 0.1, 0.3]))
@settings(max_examples=150, deadline=None)
def test_orientation_decides_before_reliability(problem: tuple[Tree, Any, Any, Any], tolerance: float) -> None:
    tree, X, y, w = problem
    rules = secateur.simplify(
        tree, X, tree.classes[y], sample_weight=w, method="mismatch", tolerance=tolerance, each_leaf=True
    )
    tree = oracles.fill_counts(*problem)
    deleted = {rule.leaf_id: rule.deleted_ids for rule in rules}
    for (leaf, link), why in found_reasons(rules).items():
        leans = oracles.orientation(tree, link, int(tree.leaf_class[leaf]))
        if leans != "mismatched":
            expected = {Why.MATCHED if leans == "matched" else Why.NEUTRAL}
        elif oracles.inside_h(tree, leaf, link):
            expected = {Why.INSIDE_H}
        elif oracles.reliability_without(tree, X, y, w, leaf, []) is None:
            expected = {Why.NO_ROWS}
        elif link in deleted[leaf]:
            expected = {Why.RELIABILITY_JOINT, Why.RELIABILITY_STEP}
        else:
            expected = {Why.RELIABILITY_MOVES}
        assert why in expected


@given(problem=problems(), tolerance=st.sampled_from([0.0, 0.1, 0.3]), protect=st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_faithful_rule_keeps_what_separates_classes_or_moves_reliability(
    problem: tuple[Tree, Any, Any, Any], tolerance: float, protect: bool
) -> None:
    tree, X, y, w = problem
    rules = secateur.simplify(
        tree,
        X,
        tree.classes[y],
        sample_weight=w,
        method="faithful",
        tolerance=tolerance,
        protect=protect,
        each_leaf=True,
    )
    tree = oracles.fill_counts(*problem)
    deleted = {rule.leaf_id: rule.deleted_ids for rule in rules}
    for (leaf, link), why in found_reasons(rules).items():
        c = int(tree.leaf_class[leaf])
        rest = oracles.without(oracles.path(tree, leaf), [*deleted[leaf], link])
        leans = oracles.orientation(tree, link, c)
        if link in deleted[leaf]:
            expected = Why.NO_FOREIGN_LEAF
        elif protect and leans == "mismatched" and oracles.inside_h(tree, leaf, link):
            expected = Why.INSIDE_H
        elif not oracles.implies_class(tree, rest, c):
            expected = Why.NOT_CERTIFIED
        elif oracles.reliability_without(tree, X, y, w, leaf, []) is None:
            expected = Why.NO_ROWS
        else:
            expected = Why.RELIABILITY_MOVES
        assert why == expected


def test_a_condition_that_would_cost_too_much_costs_more_than_is_spent() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, budget=0.01)
    found = [(rule, reason) for rule in rules for reason in rule.reasons.values() if reason.kind == "too-dear"]
    assert len(found) > 5
    assert any(reason.after < 0.01 for _, reason in found), "of one class"
    share = {label: (model.predict(X) == label).mean() for label in (0, 1)}
    for _, reason in found:
        assert reason.before < reason.after
        # All rows that are off may be of the rarer class that the tree predicts.
        assert reason.after > 0.01 * min(share.values()) * 0.9
