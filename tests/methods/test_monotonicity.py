"""Whether a tree is monotone in signs, judged by comparing every two rows of a grid.

A tree and its facts cut each column into finitely many cells. The grid holds the lowest and the highest value of every
cell, and NaN, so two possible rows in the wrong order exist exactly if two rows of the grid are.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import oracles
import pandas as pd
import pytest
import strategies
from forged_rules import forge
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from library_versions import SKLEARN, make_bins
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from told_trees import Row, all_rows, is_possible, ordered_trees, told_trees

import secateur
from secateur import Rules, Tree, TreeBuilder
from secateur.counting.training_evidence import RowEvidence
from secateur.errors import ParameterError
from secateur.kernels import running
from secateur.methods import Problem, Why
from secateur.methods.monotonicity import Monotonicity, decide_monotonicity, find_contradiction
from secateur.rows.checking import check_rows
from secateur.rows.rows import Rows
from secateur.tree.columns import find_cuts
from secateur.tree.contract import check_tree
from secateur.tree.facts import NO_FACTS, Facts
from secateur.tree.paths import trace_paths

# A grid of this many rows has a few hundred thousand pairs.
MOST_ROWS = 700


def compare(tree: Tree, signs: Sequence[int], facts: Facts, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether row j lies at or above row i, at [i, j], column by column."""
    above = np.ones((len(rows), len(rows)), dtype=bool)
    for feature, sign in enumerate(signs):
        low, high = rows[:, feature][:, None], rows[:, feature]
        same = (low == high) | (np.isnan(low) & np.isnan(high))
        if tree.categories[feature] is None:
            ordered = low < high if sign > 0 else low > high
        else:
            ordered = np.zeros_like(same)
            for order in facts.orders:
                for place, smaller in enumerate(order.codes if order.feature == feature else ()):
                    for larger in order.codes[place + 1 :]:
                        pair = (smaller, larger) if sign > 0 else (larger, smaller)
                        ordered |= (low == pair[0]) & (high == pair[1])
        above &= same | (ordered if sign else False)
    return above


def is_monotone_by_trying(tree: Tree, signs: Sequence[int], facts: Facts, rows: list[Row]) -> bool:
    """Whether no row of the first class lies above one of the second."""
    grid = np.array(rows)
    answers = np.array([oracles.tree_class(tree, row) for row in rows])
    wrong = (answers[:, None] == 1) & (answers == 0)
    return not (compare(tree, signs, facts, grid) & wrong).any()


def mend(tree: Tree, signs: Sequence[int], facts: Facts, rows: list[Row], seeds: set[int]) -> Tree:
    """The same tree with the second class in some leaves and in all leaves with larger rows, so that it is monotone."""
    above = compare(tree, signs, facts, np.array(rows))
    reached = np.array([oracles.walk(tree, row) for row in rows])
    second = set(seeds)
    while True:
        more = second | set(reached[above[np.isin(reached, sorted(second))].any(axis=0)].tolist())
        if more == second:
            break
        second = more
    leaf_class = np.where(tree.is_leaf, np.isin(np.arange(tree.n_nodes), sorted(second)), -1).astype(np.int64)
    mended = replace(tree, leaf_class=leaf_class)
    check_tree(mended)
    return mended


@st.composite
def signed_trees(draw: st.DrawFn) -> tuple[Tree, list[int], list[Row]]:
    """Trees of two classes, about half of them monotone in the signs beside them, and the rows that are possible."""
    n_features = draw(st.integers(1, 3))
    plain = strategies.trees(n_features=n_features, n_classes=2, min_leaves=3, max_leaves=8)
    told = told_trees(n_features=max(2, n_features), n_classes=2, min_leaves=4)
    tree = draw(ordered_trees(draw(st.sampled_from([plain, told, told]))))
    signs = draw(strategies.lists_of(st.sampled_from([1, -1, 0, 1]), tree.n_features))
    rows = all_rows(tree)
    possible = [row for row in rows if is_possible(tree, tree.facts, row)]
    assume(possible and len(rows) <= MOST_ROWS)
    kind = draw(st.sampled_from(["nearly mended", "mended where possible", "mended", "as it is"]))
    if kind != "as it is":
        seeds = draw(st.sets(st.sampled_from(oracles.leaves(tree)), min_size=1, max_size=3))
        among = rows if kind == "mended" else possible
        tree = mend(tree, signs, tree.facts, among, seeds)
    if kind == "nearly mended":
        leaf_class = np.array(tree.leaf_class)
        leaf_class[draw(st.sampled_from(oracles.leaves(tree)))] ^= 1
        tree = replace(tree, leaf_class=leaf_class)
        check_tree(tree)
    return tree, signs, possible


def decide(tree: Tree, signs: Sequence[int], *, domain_knowledge: bool = True) -> Monotonicity:
    walked = None if domain_knowledge else replace(tree, facts=NO_FACTS)
    return decide_monotonicity(Problem(tree, trace_paths(tree), None, walked), signs)


def certified(tree: Tree, signs: Sequence[int], **how: Any) -> Rules:
    return secateur.simplify(tree, method="mismatch-certified", monotone=signs, each_leaf=True, **how)


def sign_what_is_ordered(tree: Tree, signs: Sequence[int]) -> list[int]:
    """The signs without those of categories that have no order, which are rejected."""
    ordered = {order.feature for order in tree.facts.orders}
    return [sign if tree.categories[f] is None or f in ordered else 0 for f, sign in enumerate(signs)]


@given(signed_trees())
@settings(max_examples=2500, deadline=None)
def test_the_verdict_is_that_of_comparing_every_two_rows(drawn: tuple[Tree, list[int], list[Row]]) -> None:
    tree, signs, possible = drawn
    found = decide(tree, signs)
    event(f"holds: {found.holds}, assumes facts: {found.rests_on_facts}")
    assert found.holds == is_monotone_by_trying(tree, signs, tree.facts, possible)
    every = all_rows(replace(tree, facts=NO_FACTS))
    for_all = is_monotone_by_trying(tree, signs, Facts(orders=tree.facts.orders), every)
    assert found.rests_on_facts == (tree.facts.limits_rows and not for_all)
    untold = decide(tree, signs, domain_knowledge=False)
    assert untold.holds == is_monotone_by_trying(tree, signs, NO_FACTS, every)


@given(signed_trees())
@settings(max_examples=200, deadline=None)
def test_the_compiled_walk_finds_what_the_plain_one_does(drawn: tuple[Tree, list[int], list[Row]]) -> None:
    tree, signs, _ = drawn
    with mock.patch.object(running, "PLAIN_ENTRIES", sys.maxsize):
        plain = decide(tree, signs)
    with mock.patch.object(running, "PLAIN_ENTRIES", -1):
        compiled = decide(tree, signs)
        assert compiled.holds == plain.holds
        assert compiled.rests_on_facts == plain.rests_on_facts
        if not plain.holds:
            assert compiled.find_violation() == plain.find_violation()


@given(signed_trees())
@settings(max_examples=1200, deadline=None)
def test_true_signs_certify_what_is_true_and_others_are_rejected_with_two_rows(
    drawn: tuple[Tree, list[int], list[Row]],
) -> None:
    tree, signs, possible = drawn
    signs = sign_what_is_ordered(tree, signs)
    if is_monotone_by_trying(tree, signs, tree.facts, possible):
        rules = certified(tree, signs)
        event(f"deletes: {rules.deleted.any()}, by facts: {'satisfy the facts' in rules.guarantee}")
        assert is_true(rules, possible)
        if not tree.facts:
            deleted = {rule.leaf_id: list(rule.deleted_ids) for rule in rules}
            assert deleted == oracles.delete_mismatch_monotone(tree, signs)
        found = rules.verify()
        assert found.ok, str(found)
        assert Rules.from_json(rules.to_json()).verify().ok
        return
    with pytest.raises(ParameterError, match="The tree is not monotone in the stated signs: leaf") as rejection:
        certified(tree, signs)
    check_violation(tree, signs, possible, str(rejection.value))


def is_true(rules: Rules, possible: list[Row]) -> bool:
    """Whether the tree predicts the class of every rule that covers a possible row."""
    tree = rules.tree
    answers = np.array([oracles.tree_class(tree, row) for row in possible])
    covered = rules.covers(np.array(possible))
    return all((answers[covered[:, rule.index]] == tree.leaf_class[rule.leaf_id]).all() for rule in rules)


def check_violation(tree: Tree, signs: list[int], possible: list[Row], rejection: str) -> None:
    """Check that the two rows shown are possible, in order, and reach the leaves named."""
    found = decide(tree, signs).find_violation()
    for leaf, class_id in ((found.lower_leaf, 1), (found.upper_leaf, 0)):
        assert tree.leaf_class[leaf] == class_id
        assert f"leaf {leaf} predicts" in rejection
    # What the points leave out may hold anything that is possible beside them, the same in both rows.
    named = [f for f in range(tree.n_features) if f"x{f}" in found.lower]
    pairs = [
        [
            tuple(value_of(tree, f, point[f"x{f}"]) if f in named else value for f, value in enumerate(row))
            for point in (found.lower, found.upper)
        ]
        for row in possible
    ]
    assert any(
        is_possible(tree, tree.facts, lower)
        and is_possible(tree, tree.facts, upper)
        and oracles.walk(tree, lower) == found.lower_leaf
        and oracles.walk(tree, upper) == found.upper_leaf
        and compare(tree, signs, tree.facts, np.array([lower, upper]))[0, 1]
        for lower, upper in pairs
    )


def value_of(tree: Tree, feature: int, value: Any) -> float:
    """A point's value as a row holds it."""
    if value is None:
        return math.nan
    levels = tree.categories[feature]
    if levels is None:
        return float(value)
    return float(levels.index(value)) if value in levels else float(len(levels))


@given(signed_trees())
@settings(max_examples=600, deadline=None)
def test_no_rule_is_rejected_that_the_theorem_certifies(drawn: tuple[Tree, list[int], list[Row]]) -> None:
    """Q goes exactly if every row that the rest of a rule admits lies on the favourable side of one of the rule."""
    tree, signs, _ = drawn
    tree = replace(tree, facts=NO_FACTS)
    signs = sign_what_is_ordered(tree, signs)
    rows = all_rows(tree)
    assume(is_monotone_by_trying(tree, signs, NO_FACTS, rows))
    above = compare(tree, signs, NO_FACTS, np.array(rows))
    for rule in certified(tree, signs):
        own = oracles.path(tree, rule.leaf_id)
        gone = oracles.mismatched_links(tree, rule.leaf_id, oracles.RF_TOL)
        inside, admitted = (
            np.array([oracles.satisfies(tree, row, links) for row in rows])
            for links in (own, oracles.without(own, gone))
        )
        farther = above[inside] if rule.prediction == tree.classes[1] else above[:, inside].T
        holds = inside.any() and bool(farther.any(axis=0)[admitted].all())
        event(f"certified: {holds and bool(gone)}")
        assert list(rule.deleted_ids) == (gone if holds else [])


def test_a_condition_that_a_kept_one_implies_needs_no_sign() -> None:
    # Of leaf 3, x <= 1.5 is mismatched and x <= 0.5 is not: together they say x <= 0.5.
    builder = TreeBuilder(classes=["no", "yes"], feature_names=["x"])
    root = builder.split("x", 1.5)
    inner = builder.split("x", 0.5, parent=root, side="left")
    builder.leaf([1, 9], parent=inner, side="left")
    builder.leaf([19, 1], parent=inner, side="right")
    builder.leaf([3, 7], parent=root, side="right")
    rules = certified(builder.build(), {})
    assert [rule.kept_ids for rule in rules] == [(2,), (1, 3), (4,)]
    assert rules.verify().ok


@given(signed_trees(), st.data())
@settings(max_examples=600, deadline=None)
def test_a_forged_certificate_fails(drawn: tuple[Tree, list[int], list[Row]], data: st.DataObject) -> None:
    tree, signs, possible = drawn
    signs = sign_what_is_ordered(tree, signs)
    rules = secateur.simplify(tree, method="none", each_leaf=True)
    widened = np.array(data.draw(strategies.lists_of(st.booleans(), len(rules.deleted))))
    assume(widened.any())
    deletions = replace(rules.deletions, deleted=widened, why=np.where(widened, Why.MONOTONE, Why.UNTOUCHED))
    claimed = {"rf_tol": 1e-12, "monotone": signs, "certificate": "all rows"}
    nan = np.full_like(rules.covered_counts, np.nan)
    forged = forge(rules, method="mismatch-certified", parameters=claimed, deletions=deletions, covered_counts=nan)
    found = forged.verify()
    if not is_monotone_by_trying(tree, signs, tree.facts, possible):
        assert not found.ok
        assert "The tree is not monotone in the stated signs: leaf" in found.failures[0]
    if not is_true(forged, possible):
        assert not found.ok
    unsigned = forge(forged, parameters={"rf_tol": 1e-12, "domain": "listed cases", "certificate": "1 listed rows"})
    assert "is said to depend on monotonicity, but no signs are stated." in str(unsigned.verify())


REJECTION = (
    "The tree is not monotone in the stated signs: leaf 8 predicts 'malignant' for a row with compactness error = 0, "
    "but leaf 9 predicts 'benign' for one with compactness error = 1, which by the signs favours 'malignant' no less "
    "(both with worst radius = 0, worst concave points = 0, radius error = 0, area error = 60). Correct the signs, or "
    "pass a domain instead."
)


def tumours() -> tuple[Any, NDArray[np.float64], NDArray[np.int64]]:
    """An ordinary tree, and its rows; the second class is malignant."""
    data = load_breast_cancer()
    y = 1 - data.target
    return DecisionTreeClassifier(max_depth=5, random_state=0).fit(data.data, y), data.data, y


def test_signs_that_an_ordinary_tree_does_not_keep_to_are_rejected() -> None:
    model, X, y = tumours()
    names = {"feature_names": load_breast_cancer().feature_names, "class_names": ["benign", "malignant"]}
    with pytest.raises(ParameterError) as rejection:
        secateur.simplify(model, X, y, method="mismatch-certified", monotone=[1] * 30, each_leaf=True, **names)
    assert str(rejection.value) == REJECTION


def test_a_certificate_by_signs_that_are_not_true_fails() -> None:
    # What was certified when signs were believed: rules that contradict the tree on rows it was fitted on.
    model, X, y = tumours()
    rules = secateur.simplify(model, X, y, method="none", each_leaf=True)
    gone = oracles.delete_mismatch_monotone(rules.tree, [1] * 30)
    paths = rules.paths
    leaves = paths.leaf_ids[paths.rule].tolist()
    deleted = np.array([link in gone[leaf] for leaf, link in zip(leaves, paths.links.tolist(), strict=True)])
    assert (deleted.sum(), len(deleted)) == (27, 80)
    believed = forge(
        rules,
        method="mismatch-certified",
        parameters={"rf_tol": 1e-12, "monotone": [1] * 30, "certificate": "all rows"},
        deletions=replace(rules.deletions, deleted=deleted, why=np.where(deleted, Why.MONOTONE, Why.UNTOUCHED)),
        covered_counts=np.full_like(rules.covered_counts, np.nan),
    )
    answers, covered = model.predict(X), believed.covers(X)
    wrong = [covered[:, rule.index] & (answers != rule.prediction) for rule in believed]
    assert np.any(wrong, axis=0).sum() == 5
    assert "The tree is not monotone in the stated signs: leaf" in str(believed.verify(X, y))
    for signs, sentence in [
        ([1] * 29, "not one of -1, 0 and +1 for each of the 30 columns"),
        ([2] * 30, "not one of -1, 0 and +1 for each of the 30 columns"),
        ([0] * 30, "lost a condition that the stated directions do not cover"),
    ]:
        found = forge(believed, parameters={**believed.parameters, "monotone": signs}).verify()
        assert not found.ok
        assert sentence in found.failures[0]


@pytest.mark.parametrize("signs", [[1, 0, -1, 1], [1, 1, 1, 1], [0, -1, 0, 0]])
@pytest.mark.parametrize("missing", [False, True])
def test_a_tree_fitted_with_monotonic_cst_is_monotone(signs: list[int], missing: bool) -> None:
    if missing and SKLEARN < (1, 8):
        pytest.skip("scikit-learn before 1.8 fits no tree with monotonic_cst to NaN")
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 4))
    y = (X @ np.array(signs) + rng.normal(size=1500) > 0).astype(int)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    for seed in range(3):
        model = DecisionTreeClassifier(monotonic_cst=signs, random_state=seed).fit(X, y)
        rules = secateur.simplify(model, X, y, method="mismatch-certified", each_leaf=True)
        assert rules.parameters["monotone"] == signs
        assert rules.verify().ok
        answers, covered = model.predict(X), rules.covers(X)
        assert all((answers[covered[:, rule.index]] == rule.prediction).all() for rule in rules)


def test_a_large_tree_is_decided_as_a_small_one() -> None:
    # More conditions than plain Python takes on, so this runs the compiled walk.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = (X[:, 0] + rng.normal(size=3000) > 0).astype(int)
    model = DecisionTreeClassifier(monotonic_cst=[1, 0, 0, 0, 0], random_state=0).fit(X, y)
    tree = secateur.from_model(model)
    assert len(trace_paths(tree).links) > 1000
    assert decide(tree, [1, 0, 0, 0, 0]).holds
    leaves = np.flatnonzero(tree.is_leaf)
    values = {f: [-9.0, *np.unique(tree.upper[tree.feature == f]).tolist(), 9.0] for f in range(5)}
    base = np.array([[rng.choice(values[f]) for f in range(5)] for _ in range(400)])
    for sign, feature in ((-1, 0), (1, 1), (1, 4)):
        signs = [sign if f == feature else 0 for f in range(5)]
        found = decide(tree, signs)
        rows = np.repeat(base[:, None], len(values[feature]), axis=1)
        rows[:, :, feature] = values[feature]
        answers = model.predict(rows.reshape(-1, 5)).reshape(rows.shape[:2])[:, ::sign]
        assert (np.diff(answers, axis=1) < 0).any()  # some line through the grid falls
        assert not found.holds
        assert {found.find_violation().lower_leaf, found.find_violation().upper_leaf} <= set(leaves.tolist())


def sized_tree() -> Tree:
    builder = TreeBuilder(classes=["no", "yes"], feature_names=["size", "age"], categories={"size": ["S", "M", "L"]})
    root = builder.split_categories("size", ["S"])
    young = builder.split("age", 30, parent=root, side="left")
    builder.leaf([8, 2], parent=young, side="left")
    builder.leaf([4, 6], parent=young, side="right")
    old = builder.split("age", 20, parent=root, side="right")
    builder.leaf([4, 6], parent=old, side="left")
    builder.leaf([1, 9], parent=old, side="right")
    return builder.build()


def test_ordered_categories_count_as_ordered_where_a_fact_says_so() -> None:
    tree = sized_tree()
    rising = ["size is ordered: S < M < L"]
    signs = {"size": 1, "age": 1}
    assert certified(tree, signs, facts=rising).verify().ok
    with pytest.raises(ParameterError, match=r"'yes' for a row with size = .*, but leaf .* 'no' for one with size = S"):
        certified(tree, signs, facts=["size is ordered L < M < S"])


def test_a_sign_for_categories_without_an_order_is_rejected() -> None:
    tree, rejection = sized_tree(), r"monotone says \+1 for 'size', .* no order: .* 'size is ordered: S < M < L'"
    for facts in ({}, {"facts": ["size is ordered L < M < S"], "domain_knowledge": False}):
        with pytest.raises(ParameterError, match=rejection):
            certified(tree, {"size": 1, "age": 1}, **facts)
    rules = certified(tree, {"age": 1})
    assert rules.verify().ok
    forged = forge(rules, parameters={**rules.parameters, "monotone": [1, 1]})
    assert forged.verify().failures == ("A sign is stated for 'size', but its categories have no order.",)


def test_facts_can_make_signs_true_and_are_then_named() -> None:
    builder = TreeBuilder(classes=["no", "yes"], feature_names=["paris", "rome", "age"])
    root = builder.split("paris", 0.5)
    builder.leaf([9, 1], parent=root, side="left")
    both = builder.split("rome", 0.5, parent=root, side="right")
    old = builder.split("age", 30, parent=both, side="left")
    builder.leaf([5, 1], parent=old, side="left")
    builder.leaf([1, 9], parent=old, side="right")
    wrong = builder.split("age", 40, parent=both, side="right")
    builder.leaf([1, 5], parent=wrong, side="left")
    builder.leaf([5, 1], parent=wrong, side="right")
    tree = builder.build()
    with pytest.raises(ParameterError, match=r"age = .* \(both with paris = 1, rome = 1\)"):
        certified(tree, {"age": 1})
    rules = certified(tree, {"age": 1}, groups={"city": ["paris", "rome"]})
    assert 'all rows that satisfy the facts "at most one of city\'s 2 columns is 1"' in rules.guarantee
    assert rules.verify().ok
    with pytest.raises(ParameterError, match="not monotone"):
        certified(tree, {"age": 1}, groups={"city": ["paris", "rome"]}, domain_knowledge=False)


@given(strategies.trees(n_classes=2, n_features=2), st.data())
@settings(max_examples=200, deadline=None)
def test_rows_that_contradict_signs_are_those_of_comparing_every_two(tree: Tree, data: st.DataObject) -> None:
    tree = data.draw(ordered_trees(st.just(tree)))
    signs = data.draw(strategies.lists_of(st.sampled_from([1, -1, 0]), 2))
    X = check_rows(tree, data.draw(strategies.rows(tree, max_rows=12))).matrix.astype(np.float64)
    y = np.array(data.draw(strategies.lists_of(st.integers(0, 1), len(X))), dtype=np.int64)
    found = find_contradiction(tree, signs, RowEvidence(tree, Rows.of(X), y, None))
    sizes = [math.inf if levels is None else len(levels) for levels in tree.categories]
    equal = compare(tree, [0, 0], NO_FACTS, X)
    wrong = compare(tree, signs, tree.facts, X) & ~equal & (y[:, None] == 1) & (y == 0)
    unlisted = (sizes <= X).any(axis=1)
    wrong[unlisted], wrong[:, unlisted] = False, False
    assert found == min(map(tuple, np.argwhere(wrong).tolist()), default=None)


def test_rows_that_contradict_the_signs_are_named() -> None:
    X = np.array([[1.0], [2.0], [3.0], [4.0], [4.5], [5.0], [6.0]])
    y = np.array(["no", "no", "yes", "no", "yes", "yes", "yes"])
    model = DecisionTreeClassifier(max_depth=1, monotonic_cst=[1]).fit(X, y)
    rules = secateur.simplify(model, X, y, method="mismatch-certified", each_leaf=True)
    said = (
        "Rows 2 and 3 contradict the signs: by them row 3 favours 'yes' no less, but it is labelled 'no' and row 2 "
        "'yes'. What is certified is what the tree predicts, not the labels."
    )
    assert rules.remarks == (said,)
    assert str(rules).endswith(f"Note: {said}")
    listed = secateur.simplify(model, method="mismatch-certified", domain=(X, y), each_leaf=True)
    assert listed.remarks == (said.replace("Rows 2", "Listed rows 2"),)
    assert secateur.simplify(model, X[:3], y[:3], method="mismatch-certified", each_leaf=True).remarks == ()


def test_a_number_that_a_pipeline_asks_by_cell_is_ordered() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 90, 400).astype(float), "bmi": rng.normal(25, 4, 400)})
    y = (X["age"] / 20 + X["bmi"] / 10 + rng.normal(size=400) > 5.5).astype(int)
    bins = make_bins(5, "onehot-dense")
    steps = make_column_transformer((bins, ["age"]), (StandardScaler(), ["bmi"]))
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=4, random_state=0)).fit(X, y)
    tree = secateur.from_model(model, X)
    assert find_cuts(tree, 0) is not None
    ages = np.linspace(15, 95, 300)
    grid = pd.DataFrame({"age": np.tile(ages, 300), "bmi": np.linspace(10, 40, 300).repeat(300)})
    lines = model.predict(grid).reshape(300, 300)
    for sign in (1, -1):
        if (sign * np.diff(lines, axis=1) >= 0).all():
            rules = secateur.simplify(model, X, y, method="mismatch-certified", monotone={"age": sign}, each_leaf=True)
            assert rules.verify().ok
            answers, covered = model.predict(X), rules.covers(X)
            assert all((answers[covered[:, rule.index]] == rule.prediction).all() for rule in rules)
        else:
            with pytest.raises(ParameterError, match=r"not monotone in the stated signs: leaf .* with age [=>] "):
                secateur.simplify(model, X, y, method="mismatch-certified", monotone={"age": sign}, each_leaf=True)
    assert not (np.diff(lines, axis=1) <= 0).all()  # so one of the two is rejected


def test_the_diagnosis_certifies_nothing_by_signs_that_are_not_true() -> None:
    data = load_breast_cancer()
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(data.data, data.target)
    tree = replace(secateur.from_model(model), monotone=np.ones(30, dtype=np.int8))
    assert {row.monotone for row in secateur.diagnose(tree)} == {False}
    with pytest.raises(ParameterError, match="not monotone in the signs it was fitted with"):
        secateur.simplify(tree, method="mismatch-certified", each_leaf=True)


def clipped_model() -> tuple[DecisionTreeClassifier, NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = (X[:, 0] + rng.normal(size=500) > 0).astype(int)
    return DecisionTreeClassifier(max_depth=5, monotonic_cst=[1, 0, 0], random_state=0).fit(X, y), X, y


def test_conditions_point_where_the_counts_of_rows_do_though_the_model_clips_its_shares() -> None:
    model, X, y = clipped_model()
    read = secateur.from_model(model)
    assert not read.has_own_counts
    rules = secateur.simplify(model, X, y, method="mismatch-certified", each_leaf=True)
    counted = oracles.fill_counts(replace(read, counts=None), X, y, None)
    np.testing.assert_array_equal(rules.tree.counts, counted.counts)
    np.testing.assert_array_equal(rules.tree.leaf_class, read.leaf_class)
    deleted = {rule.leaf_id: list(rule.deleted_ids) for rule in rules}
    assert deleted == oracles.delete_mismatch_monotone(counted, [1, 0, 0])
    assert rules.verify(X, y).ok
    found = secateur.diagnose(model, X, y)
    assert [row.status for row in found] == [
        oracles.orientation(counted, row.link_id, int(read.leaf_class[row.leaf_id])) for row in found
    ]


def test_clipped_shares_that_were_looked_at_are_named() -> None:
    model, X, y = clipped_model()
    said = [remark for remark in secateur.simplify(model, method="M1-D", each_leaf=True).remarks if "clipped" in remark]
    assert len(said) == 1
    assert said[0].endswith("shares, not from class counts: pass the training rows.")
    assert not any("clipped" in remark for remark in secateur.simplify(model, X, y, method="M1-D").remarks)
