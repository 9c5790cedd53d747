"""`faithful`: exact, and every rule's reliability kept, whatever way its rows are counted."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import oracles
import pytest
import strategies
from drawing import fewer, further
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import datasets
from secateur.counting import training_evidence
from secateur.errors import ParameterError
from secateur.lab.protocol import ARMS, DATASETS, TOLERANCES, split_rows
from secateur.tree.tree import Tree

Problem = tuple[Tree, Any, Any, Any]
# Halves and quarters are met exactly, by shares of few rows.
TIES = st.sampled_from([0.0, 0.05, 0.1, 0.125, 0.25, 0.5, 1.0])


@st.composite
def problems(draw: st.DrawFn, **shape: Any) -> Problem:
    tree = draw(strategies.trees(**shape))
    return tree, *draw(strategies.labelled_rows(tree, weights=draw(st.booleans())))


def simplify(problem: Problem, **settings: Any) -> secateur.Rules:
    tree, X, y, w = problem
    return secateur.simplify(tree, X, tree.classes[y], sample_weight=w, method="faithful", each_leaf=True, **settings)


def deletions(rules: secateur.Rules) -> dict[int, list[int]]:
    return {rule.leaf_id: list(rule.deleted_ids) for rule in rules}


def one_class_tree() -> tuple[Tree, np.ndarray, np.ndarray]:
    """A tree that predicts "sick" everywhere, and its rows.

    ::

        0: x0 <= 0.5            [4, 16]  0.80
        ├── 1: sick             [2, 6]   0.75  (the two that are well have x1 = 1)
        └── 2: x1 <= 0.5        [2, 10]  0.83
            ├── 3: sick         [0, 2]   1.00
            └── 4: sick         [2, 8]   0.80
    """
    builder = secateur.TreeBuilder(classes=["well", "sick"], feature_names=["x0", "x1"])
    root = builder.split("x0", 0.5)
    builder.leaf([2, 6], parent=root, side="left")
    second = builder.split("x1", 0.5, parent=root, side="right")
    builder.leaf([0, 2], parent=second, side="left")
    builder.leaf([2, 8], parent=second, side="right")
    rows = [(0, 1, 0)] * 2 + [(0, 0, 1)] * 6 + [(1, 0, 1)] * 2 + [(1, 1, 0)] * 2 + [(1, 1, 1)] * 8
    table = np.array(rows)
    return builder.build(), table[:, :2].astype(float), np.array(["well", "sick"])[table[:, 2]]


def test_what_stayed_is_tried_again_because_reliability_goes_up_and_down() -> None:
    # Leaf 4 is right in 8 of 10 rows. Without link 2 alone, 8 of 12; without link 4 alone, 10 of 12; without both, 16
    # of 20. So the first sweep rejects link 2 and takes link 4, and the second takes link 2.
    tree, X, y = one_class_tree()
    rule = secateur.simplify(tree, X, y, method="faithful", protect=False, each_leaf=True)[2]
    assert rule.deleted_ids == (2, 4)
    first, second = rule.reasons[4], rule.reasons[2]
    assert (first.before, first.after) == (8 / 10, 10 / 12)
    assert (second.before, second.after) == (8 / 10, 16 / 20)
    assert str(second) == (
        "without it, and without what was deleted before it, the tree still says sick wherever the rule holds, and the "
        "rule's reliability goes from the leaf's own 80.0 % to 80.0 %, within 5 points"
    )


def test_what_points_away_from_the_class_inside_h_is_protected() -> None:
    # All of the tree is H, and the share of sick falls along link 4; without it gone, link 2 moves reliability too far.
    tree, X, y = one_class_tree()
    rule = secateur.simplify(tree, X, y, method="faithful", each_leaf=True)[2]
    assert rule.deleted_ids == ()
    assert rule.reasons[4].kind == "inside-h"
    assert str(rule.reasons[4]).startswith("protected: all leaves below node 0 predict sick")
    assert rule.reasons[2].kind == "reliability-moves"
    assert str(rule.reasons[2]) == (
        "without it the tree would still say sick wherever the rule holds, but the rule's reliability would go from "
        "the leaf's own 80.0 % to 66.7 %, more than 5 points away"
    )


@pytest.mark.parametrize(("tolerance", "gone"), [(0.25, (2,)), (np.nextafter(0.25, 0), ())])
def test_a_move_of_exactly_the_tolerance_is_allowed(tolerance: float, gone: tuple[int, ...]) -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["x"])
    root = builder.split("x", 0.5)
    builder.leaf([2, 2], parent=root, side="left", prediction="yes")
    builder.leaf([0, 4], parent=root, side="right")
    X, y = np.array([[0.0]] * 4 + [[1.0]] * 4), np.array(["no"] * 2 + ["yes"] * 6)
    rules = secateur.simplify(builder.build(), X, y, method="faithful", tolerance=tolerance, each_leaf=True)
    assert rules[1].deleted_ids == gone  # 4 of 4 becomes 6 of 8


def test_a_leaf_without_rows_keeps_everything() -> None:
    tree, X, y = one_class_tree()
    seen = X[:, 0] == 0
    rules = secateur.simplify(tree, X[seen], y[seen], method="faithful", tolerance=1.0, protect=False, each_leaf=True)
    assert deletions(rules) == {1: [1], 3: [], 4: []}
    assert {reason.kind for reason in rules[1].reasons.values()} == {"no-rows"}
    assert str(rules[1].reasons[2]) == "no row reaches this rule's leaf, so there is no reliability to keep"
    assert rules.verify().ok


def test_a_condition_that_separates_says_so_and_not_that_it_moves_reliability() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, method="faithful", tolerance=0.02, each_leaf=True)
    kinds = {reason.kind for rule in rules for reason in rule.reasons.values()}
    assert kinds == {"no-foreign-leaf", "not-certified", "reliability-moves", "inside-h"}
    for rule in rules:
        for reason in rule.reasons.values():
            if reason.kind == "not-certified":
                assert reason.witness_leaf is not None
                assert reason.before is reason.after is None
                assert str(reason).startswith("it keeps out rows of leaf")
            elif reason.kind == "reliability-moves":
                assert reason.witness_leaf is None


@given(problem=problems(max_leaves=12), tolerance=TIES, protect=st.booleans(), most_numbers=st.sampled_from([0, 8, 64]))
@settings(max_examples=150, deadline=None)
def test_rows_counted_by_pairs_and_in_groups_give_the_slow_version(
    problem: Problem, tolerance: float, protect: bool, most_numbers: int
) -> None:
    with mock.patch.object(training_evidence, "MOST_NUMBERS", most_numbers):
        rules = simplify(problem, tolerance=tolerance, protect=protect)
    assert deletions(rules) == oracles.delete_faithful(*problem, tolerance, protect=protect)


@given(problem=problems(max_leaves=10), tolerance=TIES, protect=st.booleans())
@settings(max_examples=150, deadline=None)
def test_every_reason_is_true_and_no_single_further_condition_can_go(
    problem: Problem, tolerance: float, protect: bool
) -> None:
    given_tree, X, y, w = problem
    tree = oracles.fill_counts(given_tree, X, y, w)
    for rule in simplify(problem, tolerance=tolerance, protect=protect):
        leaf, c = rule.leaf_id, int(tree.leaf_class[rule.leaf_id])
        base = oracles.reliability_without(tree, X, y, w, leaf, [])
        assert oracles.implies_class(tree, rule.kept_ids, c)
        if base is None:
            assert rule.deleted_ids == ()
            continue
        assert oracles.is_at_most(abs(oracles.find_move(tree, X, y, w, leaf, rule.kept_ids)), tolerance)
        for link in rule.kept_ids:
            without_it = [*rule.deleted_ids, link]
            left = oracles.without(oracles.path(tree, leaf), without_it)
            separates = not oracles.implies_class(tree, left, c)
            trial = oracles.reliability_without(tree, X, y, w, leaf, without_it)
            is_mismatched = link in oracles.mismatched_links(tree, leaf, oracles.RF_TOL)
            is_protected = protect and is_mismatched and oracles.inside_h(tree, leaf, link)
            kind = "inside-h" if is_protected else "not-certified" if separates else "reliability-moves"
            reason = rule.reasons[link]
            assert reason.kind == kind
            if kind == "reliability-moves":
                assert not oracles.is_at_most(abs(oracles.find_move(tree, X, y, w, leaf, left)), tolerance)
                assert (reason.before, reason.after) == pytest.approx((base, trial))


@given(problem=problems(max_leaves=10))
@settings(max_examples=60, deadline=None)
def test_a_tolerance_of_one_without_protection_deletes_what_exact_deletes(problem: Problem) -> None:
    tree, exact = problem[0], oracles.delete_exact(problem[0])
    rules = simplify(problem, tolerance=1, protect=False)
    assert deletions(rules) == {
        leaf: gone if rule.source_support else [] for rule, (leaf, gone) in zip(rules, exact.items(), strict=True)
    }
    assert len(rules) == tree.n_leaves


@pytest.mark.parametrize("value", [1, "yes", None])
def test_protect_is_true_or_false(value: Any) -> None:
    tree, X, y = one_class_tree()
    with pytest.raises(ParameterError, match=f"Expected protect as True or False, found {value!r}"):
        secateur.simplify(tree, X, y, method="faithful", protect=value, each_leaf=True)


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("protect", [True, False])
@pytest.mark.parametrize("dataset", fewer(DATASETS))
def test_no_rule_of_the_papers_data_sets_moves_by_more_than_the_tolerance(
    dataset: str, protect: bool, data_dir: str
) -> None:
    data = datasets.load(dataset, data_dir)
    for split in (0, *further([1])):
        X, _, y, _ = split_rows(data, split)
        model = ARMS["cart"].fit(data, split, X, y)
        rules = secateur.simplify(
            model, X, y, method="faithful", tolerance=TOLERANCES[dataset], protect=protect, each_leaf=True
        )
        moves = [abs(rule.reliability - rule.source_reliability) for rule in rules]
        assert max(moves) <= TOLERANCES[dataset]
        assert rules.deleted.any()
        assert (
            rules.deleted & ~secateur.simplify(model, method="exact", each_leaf=True).deleted
        ).sum() <= 0.05 * rules.deleted.sum()
        assert rules.verify().ok
