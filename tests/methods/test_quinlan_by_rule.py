"""Quinlan's deletion rule by rule against passes over the rows, to the last bit, and against its slow versions."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

import secateur
from benchmarks.naive.by_rows import count_rules, delete_quinlan
from secateur.counting.training_evidence import RowEvidence
from secateur.methods import quinlan
from secateur.methods.quinlan import Limits, is_suited, shorten_by_rule
from secateur.rows import rows as rows_module
from secateur.rows.checking import check_rows
from secateur.tree.paths import trace_paths
from secateur.tree.tree import Tree, make_tree

ALPHAS = st.sampled_from([0.0, 1e-12, 0.01, 0.05, 0.3, 1.0])


def simplify(model: Any, X: Any, y: Any, by_rule: bool, **settings: Any) -> secateur.Rules:
    with mock.patch.object(quinlan, "is_suited", return_value=by_rule):
        return secateur.simplify(model, X, y, method="quinlan", each_leaf=True, **settings)


def check_same(found: secateur.Rules, wanted: secateur.Rules) -> None:
    for name, array in vars(wanted.deletions).items():
        np.testing.assert_array_equal(getattr(found.deletions, name), array, err_msg=name)
    np.testing.assert_array_equal(found.covered_counts, wanted.covered_counts)
    np.testing.assert_array_equal(found.leaf_counts, wanted.leaf_counts)


def deletions(rules: secateur.Rules) -> dict[int, list[int]]:
    return {rule.leaf_id: list(rule.deleted_ids) for rule in rules}


@given(data=st.data(), tree=strategies.trees(min_leaves=2, max_leaves=16), alpha=ALPHAS)
@settings(max_examples=200, deadline=None)
def test_rule_by_rule_equals_passes_over_the_rows(data: st.DataObject, tree: Tree, alpha: float) -> None:
    """Also where rules are left to the passes, because p-values are nearer to one another than is allowed."""
    X, y, _ = data.draw(strategies.labelled_rows(tree, max_rows=60))
    doubt, ties = data.draw(st.sampled_from([1e-11, 1e-11, 0.1, 0.9])), data.draw(st.sampled_from(["root", "leaf"]))
    with (
        mock.patch.object(quinlan, "PART_RULES", data.draw(st.sampled_from([1, 3, 256]))),
        mock.patch.object(quinlan, "Limits", partial(Limits, doubt=doubt)),
    ):
        found = simplify(tree, X, tree.classes[y], True, alpha=alpha, ties=ties)
    check_same(found, simplify(tree, X, tree.classes[y], False, alpha=alpha, ties=ties))
    assert deletions(found) == oracles.delete_quinlan(tree, X, y, None, alpha, ties)


def grown(n_rows: int, n_classes: int, *, missing: bool, seed: int = 0) -> tuple[DecisionTreeClassifier, Any, Any]:
    """A tree of noisy rows that nobody pruned, in Fortran order every other time."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 6), dtype=np.float32).round(2)
    y = np.clip((X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(n_rows)).round(), 0, n_classes - 1)
    X = np.asfortranarray(X) if seed % 2 else X
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return DecisionTreeClassifier(random_state=seed, min_samples_leaf=5).fit(X, y), X, y


def evidence_of(model: Any, X: Any, y: Any, weights: Any = None) -> RowEvidence:
    tree = secateur.from_model(model)
    return RowEvidence(tree, check_rows(tree, X), y.astype(np.int64), weights)


@pytest.mark.long
@pytest.mark.parametrize(("n_classes", "missing"), [(2, False), (3, True)])
def test_many_rows_of_several_blocks_give_the_same(n_classes: int, missing: bool) -> None:
    model, X, y = grown(4_000, n_classes, missing=missing, seed=n_classes)
    found = simplify(model, X, y, True)
    check_same(found, simplify(model, X, y, False))
    assert {"certainty-kept", "not-significant", "significant"} <= {
        reason.kind for rule in found for reason in rule.reasons.values()
    }


@pytest.mark.long
@pytest.mark.parametrize("n_workers", [1, 2])
def test_threads_are_as_many_as_memory_allows_and_share_the_rules(n_workers: int) -> None:
    model, X, y = grown(5_000, 2, missing=False)
    evidence, made = evidence_of(model, X, y), mock.Mock(wraps=quinlan._make_rounds)
    n_bytes = n_workers * (len(X) + 2 * quinlan.TILE_ROWS) * evidence.tree.depth // 8 + 1
    with (
        mock.patch.multiple(quinlan, PART_RULES=5, MASK_BYTES=n_bytes, _make_rounds=made),
        mock.patch.object(quinlan, "n_threads", return_value=3),
    ):
        found = simplify(model, X, y, True)
    assert made.call_count == n_workers
    check_same(found, simplify(model, X, y, False))


def test_the_rules_are_those_of_the_slow_version() -> None:
    model, X, y = grown(600, 2, missing=False)
    found = simplify(model, X, y, True)
    wanted = delete_quinlan(found.tree, X, y.astype(np.int64), 0.01, keep_masks=True)
    assert deletions(found) == wanted
    np.testing.assert_array_equal(found.covered_counts, count_rules(found.tree, X, y.astype(np.int64), wanted))


@pytest.mark.parametrize("by_rule", [False, True])
@pytest.mark.parametrize(("ties", "kept"), [("root", (4,)), ("leaf", (2,))])
def test_of_two_conditions_that_select_the_same_rows_the_ties_say_which_goes(
    ties: str, kept: tuple[int, ...], by_rule: bool
) -> None:
    builder = secateur.TreeBuilder(classes=[0, 1], feature_names=["a", "b"])
    root = builder.split("a", 0)
    builder.leaf([5, 0], parent=root, side="left")
    inner = builder.split("b", 0, parent=root, side="right")
    builder.leaf([1, 0], parent=inner, side="left")  # no row below reaches it
    builder.leaf([0, 5], parent=inner, side="right")
    X, y = np.repeat([[-1.0, -1.0], [1.0, 1.0]], 5, axis=0), np.repeat([0, 1], 5)
    rules = simplify(builder.build(), X, y, by_rule, ties=ties)
    assert [rule.kept_ids for rule in rules] == [(1,), (2, 3), kept]
    assert rules[2].support == 5
    assert secateur.Rules.from_json(rules.to_json()).parameters["ties"] == ties


def chain(length: int) -> tuple[Tree, NDArray[Any], NDArray[Any]]:
    """A path that goes right at every test but the last, of two columns in turn; rows on both sides of every limit."""
    inner = np.arange(length)
    left, right = np.full((2, 2 * length + 1), -1)
    left[2 * inner], right[2 * inner] = 2 * inner + 1, 2 * inner + 2
    feature, threshold = np.full(2 * length + 1, -1), np.full(2 * length + 1, np.nan)
    feature[2 * inner], threshold[2 * inner] = inner % 2, inner
    tree = make_tree(
        children_left=left,
        children_right=right,
        feature=feature,
        threshold=threshold,
        leaf_class=np.arange(2 * length + 1) % 3 % 2,
        classes=[0, 1],
        n_features=2,
    )
    rng = np.random.default_rng(0)
    X = rng.integers(-1, length + 1, (400, 2)) + rng.choice([0.0, 0.5], (400, 2))
    return tree, X, (X.sum(axis=1) + rng.standard_normal(400) * length / 2 > length).astype(np.int64)


@pytest.mark.long
def test_a_path_may_be_longer_than_a_word_has_bits() -> None:
    tree, X, y = chain(140)
    check_same(simplify(tree, X, y, True), simplify(tree, X, y, False))


def test_a_column_may_have_more_limits_than_fit_in_two_bytes() -> None:
    tree, X, y = chain(20)
    with mock.patch.object(rows_module, "MOST_SHORT", 0):
        found = simplify(tree, X, y, True)
    check_same(found, simplify(tree, X, y, False))


def test_what_is_in_doubt_is_left_to_others() -> None:
    """Such as p-values that are equal, if more digits are in doubt than two equal ones may differ by."""
    model, X, y = grown(600, 2, missing=False)
    evidence = evidence_of(model, X, y)
    paths = trace_paths(evidence.tree)
    sure, _ = shorten_by_rule(evidence, paths, Limits(0.01, False))
    assert not sure.is_unsure.any()
    n_unsure = []
    for doubt in (1e-8, 0.9):
        unsure, _ = shorten_by_rule(evidence, paths, Limits(0.01, False, doubt))
        certain = ~unsure.is_unsure[paths.rule]
        np.testing.assert_array_equal(unsure.what[certain], sure.what[certain])
        n_unsure.append(unsure.is_unsure.sum())
    assert 0 < n_unsure[0] < n_unsure[1]


@pytest.mark.parametrize("n_rows", [490, 700])
def test_a_p_value_too_small_to_have_digits_is_left_to_others(n_rows: int) -> None:
    X, y = np.repeat([[0.0], [1.0]], n_rows, axis=0), np.repeat([0, 1], n_rows)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    evidence = evidence_of(model, X, y)
    outcome, _ = shorten_by_rule(evidence, trace_paths(evidence.tree), Limits(0.0, False))
    assert outcome.is_unsure.all()
    check_same(simplify(model, X, y, True, alpha=0.0), simplify(model, X, y, False, alpha=0.0))


def test_it_is_chosen_for_many_rows_without_weights_only(monkeypatch: pytest.MonkeyPatch) -> None:
    model, X, y = grown(20_000, 2, missing=False)
    evidence = evidence_of(model, X, y)
    paths = trace_paths(evidence.tree)
    monkeypatch.setattr(quinlan, "PLAIN_PAIRS", 1 << 22)
    assert is_suited(evidence, paths)
    assert not is_suited(evidence_of(model, X, y, np.ones(len(X))), paths)
    with mock.patch.object(quinlan, "MASK_BYTES", 1_000):
        assert not is_suited(evidence, paths)
    with mock.patch.object(quinlan, "MOST_EMPTY", 1):
        assert not is_suited(evidence, paths)
    with mock.patch.object(quinlan, "PLAIN_PAIRS", sys.maxsize):
        assert not is_suited(evidence, paths)


def test_a_tree_of_one_leaf_has_nothing_to_delete() -> None:
    X, y = np.zeros((1_000, 2), dtype=np.float32), np.repeat([0, 1], 500)
    model = DecisionTreeClassifier().fit(X, y)
    (rule,) = secateur.simplify(model, X, y, method="quinlan", each_leaf=True)
    assert (rule.kept_ids, rule.support) == ((), 1_000)
