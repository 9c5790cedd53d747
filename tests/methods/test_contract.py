"""Every method equals its slow version, and keeps what all methods promise."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from method_settings import own_settings
from sklearn.tree import DecisionTreeClassifier

import secateur
import secateur.methods.budgeted
import secateur.methods.row_mixture
from secateur.errors import ParameterError
from secateur.methods import METHODS, find_method
from secateur.tree.tree import Tree

ROW_FREE = {
    "none": oracles.delete_none,
    "sibling": oracles.delete_sibling,
    "redundancy": oracles.delete_redundancy,
    "exact": oracles.delete_exact,
}
TOLERANCES = st.sampled_from([0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0])


def deletions(rules: secateur.Rules) -> dict[int, list[int]]:
    return {rule.leaf_id: list(rule.deleted_ids) for rule in rules}


@st.composite
def trees_with_rows(draw: st.DrawFn, *, weights: bool | None = None, **shape: Any) -> tuple[Tree, Any, Any, Any]:
    tree = draw(strategies.trees(**shape))
    weighted = draw(st.booleans()) if weights is None else weights
    X, y, w = draw(strategies.labelled_rows(tree, weights=weighted))
    return tree, X, y, w


def simplify(problem: tuple[Tree, Any, Any, Any], method: str, **parameters: Any) -> secateur.Rules:
    tree, X, y, w = problem
    return secateur.simplify(tree, X, tree.classes[y], sample_weight=w, method=method, each_leaf=True, **parameters)


@pytest.mark.parametrize("method", ROW_FREE)
@given(tree=strategies.trees())
@settings(max_examples=150, deadline=None)
def test_a_row_free_method_equals_its_slow_version(method: str, tree: Tree) -> None:
    assert deletions(secateur.simplify(tree, method=method, each_leaf=True)) == ROW_FREE[method](tree)


@given(problem=trees_with_rows(), tolerance=TOLERANCES)
@settings(max_examples=150, deadline=None)
def test_mismatch_equals_its_slow_version(problem: tuple[Tree, Any, Any, Any], tolerance: float) -> None:
    rules = simplify(problem, "mismatch", tolerance=tolerance)
    assert deletions(rules) == oracles.delete_mismatch(*problem, tolerance)


@given(problem=trees_with_rows(), tolerance=TOLERANCES, protect=st.booleans())
@settings(max_examples=300, deadline=None)
def test_faithful_equals_its_slow_version(problem: tuple[Tree, Any, Any, Any], tolerance: float, protect: bool) -> None:
    rules = simplify(problem, "faithful", tolerance=tolerance, protect=protect)
    assert deletions(rules) == oracles.delete_faithful(*problem, tolerance, protect=protect)


@given(
    problem=trees_with_rows(),
    alpha=st.sampled_from([0.0, 0.01, 0.05, 0.3, 1.0]),
    ties=st.sampled_from(["root", "leaf"]),
)
@settings(max_examples=150, deadline=None)
def test_quinlan_equals_its_slow_version(problem: tuple[Tree, Any, Any, Any], alpha: float, ties: str) -> None:
    rules = simplify(problem, "quinlan", alpha=alpha, ties=ties)
    assert deletions(rules) == oracles.delete_quinlan(*problem, alpha, ties)


def test_budgeted_rejects_trees_on_which_it_would_not_end() -> None:
    X = np.arange(8.0).reshape(-1, 1)
    model = DecisionTreeClassifier().fit(X, X[:, 0] % 2)
    with (
        mock.patch.object(secateur.methods.budgeted, "MOST_RULES", 7),
        pytest.raises(ParameterError, match="at most 7 leaves, and this one has 8: fit it with max_leaf_nodes"),
    ):
        secateur.simplify(model, X, X[:, 0] % 2, method="budgeted", each_leaf=True)


@given(
    problem=trees_with_rows(),
    budget=st.sampled_from([0.0, 0.015, 0.1, 0.3, 0.5, 1.0]),
    smoothing=st.sampled_from([0, 1, 10, 1000, 2.5]),
    tolerance=TOLERANCES,
    pool_rows=st.sampled_from([1, 10, 40]),
    most_values=st.sampled_from([0, 8]),
    most_cells=st.sampled_from([1, 2**24]),
    mask_bytes=st.sampled_from([0, 2**28]),
)
@settings(max_examples=200, deadline=None)
def test_budgeted_equals_its_slow_version(
    problem: tuple[Tree, Any, Any, Any],
    budget: float,
    smoothing: float,
    tolerance: float,
    pool_rows: int,
    most_values: int,
    most_cells: int,
    mask_bytes: int,
) -> None:
    tree, X, y, w = problem
    with (
        mock.patch.object(secateur.methods.row_mixture, "POOL_ROWS", pool_rows),
        mock.patch.multiple(
            secateur.methods.budgeted,
            MOST_VALUES=most_values,
            MOST_CELLS=most_cells,
            MASK_BYTES=mask_bytes,
        ),
    ):
        rules = simplify(problem, "budgeted", max_conflict=budget, smoothing=smoothing, tolerance=tolerance)
    steps = oracles.budgeted_steps(tree, X, w, budget, smoothing, oracles.Guard(y, tolerance), pool=pool_rows)
    gone = {(step.leaf, step.link) for step in steps}
    assert deletions(rules) == {
        leaf: [link for link in oracles.path(tree, leaf) if link in exact or (leaf, link) in gone]
        for leaf, exact in oracles.delete_exact(tree).items()
    }
    paid = {
        (rule.leaf_id, link): (reason.after - reason.before, reason.number)
        for rule in rules
        for link, reason in rule.reasons.items()
        if reason.kind == "within-budget"
    }
    expected = {(step.leaf, step.link): (float(step.mixed), float(step.real)) for step in steps}
    assert paid.keys() == expected.keys()
    for key, cost in paid.items():
        assert cost == pytest.approx(expected[key], abs=1e-9)


@given(problem=trees_with_rows(), budget=st.sampled_from([0.0, 0.1, 0.3]), smoothing=st.sampled_from([0, 10]))
@settings(max_examples=100, deadline=None)
def test_what_stays_would_cost_more_than_the_budget(
    problem: tuple[Tree, Any, Any, Any], budget: float, smoothing: float
) -> None:
    with mock.patch.object(secateur.methods.row_mixture, "POOL_ROWS", 20):
        rules = simplify(problem, "budgeted", max_conflict=budget, smoothing=smoothing)
    for rule in rules:
        for link in rule.kept_ids:
            reason = rule.reasons[link]
            if reason.kind not in ("no-rows", "too-unreliable", "contradicted"):
                assert reason.kind == "over-budget"
                assert max(reason.after, reason.number) > budget


@given(problem=trees_with_rows(), budget=st.sampled_from([0.1, 0.5, 1.0]), tolerance=TOLERANCES)
@settings(max_examples=100, deadline=None)
def test_what_the_guard_keeps_would_be_within_the_budget_and_dishonest(
    problem: tuple[Tree, Any, Any, Any], budget: float, tolerance: float
) -> None:
    tree, X, y, w = problem
    with mock.patch.object(secateur.methods.row_mixture, "POOL_ROWS", 20):
        rules = simplify(problem, "budgeted", max_conflict=budget, tolerance=tolerance)
    kept = {rule.leaf_id: list(rule.kept_ids) for rule in rules}
    for rule in rules:
        own = int(tree.leaf_class[rule.leaf_id])
        was_paid = any(reason.kind == "within-budget" for reason in rule.reasons.values())
        if was_paid:
            assert oracles.is_at_most(-oracles.find_move(tree, X, y, w, rule.leaf_id, kept[rule.leaf_id]), tolerance)
            assert rule.class_counts[own] == max(rule.class_counts)
        for other in rules:
            if was_paid and other.prediction != rule.prediction and other.support:
                assert not oracles.same_values(tree, kept[rule.leaf_id], kept[other.leaf_id])
        for link, reason in rule.reasons.items():
            if reason.kind not in ("too-unreliable", "contradicted"):
                continue
            wider = oracles.without(kept[rule.leaf_id], [link])
            trial = oracles.support_and_reliability(tree, X, y, w, wider, own)[1]
            assert (reason.before, reason.after) == (rule.source_reliability, trial)
            assert not oracles.is_honest(tree, X, w, oracles.Guard(y, tolerance), kept, rule.leaf_id, wider)
            twins = [
                leaf
                for leaf, links in kept.items()
                if tree.leaf_class[leaf] != own and oracles.same_values(tree, wider, links)
            ]
            assert reason.kind == "too-unreliable" or reason.node_id in twins


def twin_tree() -> Tree:
    """Three leaves: 2 (class 0) and 3 (class 1) up to x0 = 0.5, apart by x1, and 4 (class 2) above."""
    builder = secateur.TreeBuilder(classes=[0, 1, 2], feature_names=["x0", "x1"])
    root = builder.split("x0", 0.5)
    node = builder.split("x1", 0.5, parent=root, side="left")
    builder.leaf(prediction=0, parent=node, side="left")
    builder.leaf(prediction=1, parent=node, side="right")
    builder.leaf(prediction=2, parent=root, side="right")
    return builder.build()


def test_two_rules_with_the_same_conditions_never_say_different_things() -> None:
    # Half of the rows of leaves 2 and 3 are of the other's class: without its condition on x1, either rule would be as
    # reliable as before.
    X = np.array([[0.0, 0]] * 2 + [[0, 1]] * 2 + [[1, 0], [1, 1]] * 8)
    y = np.array([0, 1, 0, 1] + [2] * 16)
    rules = simplify((twin_tree(), X, y, None), "budgeted", max_conflict=0.3, smoothing=0)
    assert deletions(rules) == {2: [2], 3: [], 4: []}
    kept = rules[1].reasons[3]
    assert (kept.kind, kept.node_id, kept.before, kept.after) == ("contradicted", 2, 0.5, 0.5)
    assert kept.text == (
        "without it the rule would have the same conditions as the rule of leaf 2, which predicts another class"
    )
    assert rules.verify().ok


def test_a_rule_may_lose_what_only_a_twin_kept_once_the_twin_is_wider() -> None:
    # Leaf 2 has two rows of classes 0 and 1 each, leaf 3 one each; half of the rows of leaf 4 are of class 0.
    #     Leaf 2's rule loses its condition on x1 first, for two rows in conflict, and leaf 3's must keep its own.
    #     Then leaf 2's loses the other, for eight; half of all rows are of class 0. Now leaf 3's may lose one.
    X = np.array([[0.0, 0]] * 4 + [[0, 1]] * 2 + [[1, 0], [1, 1]] * 4)
    y = np.array([0, 1, 0, 1, 0, 1] + [0, 0, 2, 2] * 2)
    problem = twin_tree(), X, y, None
    assert deletions(simplify(problem, "budgeted", max_conflict=0.5, smoothing=0)) == {2: [2], 3: [], 4: []}
    rules = simplify(problem, "budgeted", max_conflict=1, smoothing=0)
    assert deletions(rules) == {2: [1, 2], 3: [3], 4: []}
    kept = rules[2].reasons[4]
    assert kept.text == (
        "without it 28.6 % of the rule's rows would be 2, where its leaf has 50.0 %: more than 5 points below"
    )


@given(data=st.data(), tree=strategies.trees(max_leaves=7), budget=st.sampled_from([0.2, 0.5, 1.0]))
@settings(max_examples=100, deadline=None)
def test_twins_are_rejected_as_in_the_slow_version(data: st.DataObject, tree: Tree, budget: float) -> None:
    # Every row is listed once with each class, so that all classes are equally common everywhere.
    X = np.repeat(data.draw(strategies.rows(tree, max_rows=12)), tree.n_classes, axis=0)
    y = np.arange(len(X)) % tree.n_classes
    with mock.patch.object(secateur.methods.row_mixture, "POOL_ROWS", 10):
        rules = simplify((tree, X, y, None), "budgeted", max_conflict=budget, smoothing=1)
    guard = oracles.Guard(y, 0.05)
    assert deletions(rules) == oracles.delete_budgeted(tree, X, None, budget, 1, guard, pool=10)


@given(data=st.data(), tree=strategies.trees())
@settings(max_examples=150, deadline=None)
def test_mismatch_certified_by_a_finite_domain_equals_its_slow_version(data: st.DataObject, tree: Tree) -> None:
    X = data.draw(strategies.rows(tree, max_rows=25)).astype(tree.dtype) + 0.0  # -0.0 equals 0.0
    seen: dict[tuple[str, ...], int] = {}  # equal rows, NaN included, get one label
    y = np.array([seen.setdefault(tuple(map(str, row)), data.draw(st.integers(0, tree.n_classes - 1))) for row in X])
    rules = secateur.simplify(tree, method="M1-D", domain=(X, tree.classes[y]), each_leaf=True)
    assert deletions(rules) == oracles.delete_mismatch_certified(tree, X, y)
    assert rules.verify().ok
    assert deletions(secateur.simplify(tree, X, tree.classes[y], method="M1-D", each_leaf=True)) == deletions(rules)


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.is_exact])
@given(problem=trees_with_rows(max_leaves=8))
@settings(max_examples=60, deadline=None)
def test_an_exact_method_changes_no_prediction_on_a_grid_of_every_region(
    method: str, problem: tuple[Tree, Any, Any, Any]
) -> None:
    tree = problem[0]
    grid = oracles.grid_rows(tree, limit=800)
    rules = simplify(problem, method, **own_settings(method, tolerance=1, protect=False))
    expected = np.array([oracles.tree_class(tree, row) for row in grid])
    assert (rules.predict(grid) == tree.classes[expected]).all()
    covered = rules.covers(grid)
    assert covered.any(axis=1).all()
    for rule in rules:
        assert (tree.classes[expected[covered[:, rule.index]]] == rule.prediction).all()


@given(tree=strategies.trees(max_leaves=8))
@settings(max_examples=60, deadline=None)
def test_exact_is_subset_minimal(tree: Tree) -> None:
    for rule in secateur.simplify(tree, method="exact", each_leaf=True):
        for link in rule.kept_ids:
            rest = [kept for kept in rule.kept_ids if kept != link]
            assert not oracles.implies_class(tree, rest, tree.leaf_class[rule.leaf_id])


@pytest.mark.parametrize("method", METHODS)
@given(problem=trees_with_rows())
@settings(max_examples=40, deadline=None)
def test_every_method_keeps_what_all_methods_promise(method: str, problem: tuple[Tree, Any, Any, Any]) -> None:
    tree, X, y, _ = problem
    if method == "mismatch-certified":
        X, first = np.unique(X.astype(tree.dtype), axis=0, return_index=True)
        if np.isnan(X).any():  # numpy keeps equal rows with NaN apart, so the table might contradict itself
            return
        problem = (tree, X, np.asarray(y)[first], None)
    before = [np.array(part, copy=True) for part in problem[1:3]]
    rules = simplify(problem, method)
    assert len(rules) == tree.n_leaves
    assert [rule.leaf_id for rule in rules] == oracles.leaves(tree)
    for rule in rules:
        path = oracles.path(tree, rule.leaf_id)
        assert sorted(rule.kept_ids + rule.deleted_ids, key=path.index) == path
        assert [link for link in path if link in rule.kept_ids] == list(rule.kept_ids)
        assert set(rule.reasons) == set(path)
        assert {link for link, reason in rule.reasons.items() if reason.deleted} == set(rule.deleted_ids)
    assert rules == simplify(problem, method)  # deterministic
    assert rules.verify().ok, rules.verify()
    assert all(np.array_equal(old, new, equal_nan=True) for old, new in zip(before, problem[1:3], strict=True))


@given(problem=trees_with_rows())
@settings(max_examples=60, deadline=None)
def test_a_tolerance_of_one_deletes_every_candidate(problem: tuple[Tree, Any, Any, Any]) -> None:
    tree = problem[0]
    for rule in simplify(problem, "mismatch", tolerance=1):
        candidates = [
            link
            for link in oracles.mismatched_links(tree, rule.leaf_id, oracles.RF_TOL)
            if not oracles.inside_h(tree, rule.leaf_id, link)
        ]
        assert sorted(rule.deleted_ids) == (sorted(candidates) if rule.source_support else [])


@given(problem=trees_with_rows())
@settings(max_examples=60, deadline=None)
def test_a_tolerance_of_zero_keeps_every_reliability(problem: tuple[Tree, Any, Any, Any]) -> None:
    tree, X, y, w = problem
    for rule in simplify(problem, "mismatch", tolerance=0):
        if rule.deleted_ids:
            c = tree.leaf_class[rule.leaf_id]
            _, after = oracles.support_and_reliability(tree, X, y, w, rule.kept_ids, c)
            _, before = oracles.support_and_reliability(tree, X, y, w, oracles.path(tree, rule.leaf_id), c)
            assert after == before


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("M1-D", "mismatch-certified"),
        ("m1-p", "mismatch"),
        ("M2-D", "sibling"),
        ("m2-P", "sibling"),
        ("izza", "redundancy"),
        ("QUINLAN", "quinlan"),
        (" exact ", "exact"),
    ],
)
def test_the_papers_names_are_accepted_in_any_case(alias: str, name: str) -> None:
    assert find_method(alias).name == name


def test_an_unknown_method_names_the_nearest() -> None:
    with pytest.raises(ParameterError, match=r"no method 'siblings'. Did you mean 'sibling'"):
        find_method("siblings")
    with pytest.raises(ParameterError, match="Expected the name of a method, found 3"):
        find_method(3)  # type: ignore[arg-type]
