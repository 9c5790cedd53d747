"""ReliabilitySelect rule by rule, against passes over the rows and against the slow version."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import delete_mismatch, fill_counts
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.counting import violations
from secateur.methods import selection_by_rule
from secateur.rules.rule_set import RuleSet


def by_rule(**changes: int) -> Any:
    """Go rule by rule, however small the tree is."""
    return mock.patch.multiple(selection_by_rule, **{"FEWEST_RULES": 2, **changes})


def by_passes() -> Any:
    """Never go rule by rule."""
    return mock.patch.object(selection_by_rule, "MASK_BYTES", -1)


def assert_same(one: RuleSet, other: RuleSet) -> None:
    assert one == other
    for name, array in vars(one.deletions).items():
        np.testing.assert_array_equal(array, getattr(other.deletions, name), err_msg=name)
    np.testing.assert_array_equal(one.class_counts, other.class_counts)
    np.testing.assert_array_equal(one.source_class_counts, other.source_class_counts)


@given(
    problem=strategies.trees(max_leaves=12).flatmap(
        lambda tree: st.tuples(st.just(tree), strategies.labelled_rows(tree, max_rows=150))
    ),
    tolerance=st.sampled_from([0.0, 0.05, 0.3, 1.0]),
)
@settings(max_examples=80, deadline=None)
def test_rule_by_rule_gives_what_passes_give(problem: Any, tolerance: float) -> None:
    """With categories, missing values, several classes, and leaves that no row reaches."""
    tree, (X, y, *_) = problem
    labels = tree.classes[y]
    with by_passes():
        wanted = secateur.simplify(tree, X, labels, method="mismatch", tolerance=tolerance)
    with by_rule():
        found = secateur.simplify(tree, X, labels, method="mismatch", tolerance=tolerance)
    assert_same(found, wanted)
    for most in (0, 30, 1 << 20):  # compiled passes, and trials from what they count: by pairs, in groups, by patterns
        with by_passes(), mock.patch.multiple(violations, SMALL_COUNT=-1, MOST_NUMBERS=most):
            assert_same(secateur.simplify(tree, X, labels, method="mismatch", tolerance=tolerance), wanted)
    filled = fill_counts(tree, X, y, None)
    slow = delete_mismatch(filled, X, y, np.ones(len(y)), tolerance)
    assert {rule.leaf_id: sorted(rule.deleted_ids) for rule in found} == {leaf: sorted(d) for leaf, d in slow.items()}


def make_rows(n_rows: int, n_classes: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    rng = np.random.default_rng(n_classes)
    X = rng.standard_normal((n_rows, 6)).astype(np.float32)
    X[:, 3:] = np.rint(2 * X[:, 3:])
    score = X[:, 0] + X[:, 3] * (X[:, 4] > 0) + rng.standard_normal(n_rows)
    return X, np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))


@pytest.mark.parametrize("n_rows", [8_000, 40_000])  # one block of rows, and several
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_large_tree_goes_rule_by_rule(n_classes: int, n_rows: int) -> None:
    X, y = make_rows(n_rows, n_classes)
    model = DecisionTreeClassifier(random_state=0).fit(X[:8_000], y[:8_000])
    assert model.get_n_leaves() >= selection_by_rule.FEWEST_RULES
    with by_passes():
        wanted = secateur.simplify(model, X, y, method="mismatch")
    with mock.patch.object(selection_by_rule, "PART_RULES", 100):
        found = secateur.simplify(model, X, y, method="mismatch")
    assert_same(found, wanted)
    assert found.deleted.any()


def test_the_large_tree_used_the_kernel() -> None:
    X, y = make_rows(8_000, 2)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    with mock.patch.object(selection_by_rule, "_pack_tests", side_effect=RuntimeError("rule by rule")):
        with pytest.raises(RuntimeError, match="rule by rule"):
            secateur.simplify(model, X, y, method="mismatch")
        secateur.simplify(model, X, y, method="mismatch", sample_weight=np.full(len(y), 0.3))  # the order of sums
        with by_passes():
            secateur.simplify(model, X, y, method="mismatch")
