"""ReliabilitySelect from compiled counts and from numpy's, and against the slow version."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import delete_mismatch, fill_counts

import secateur
from secateur.counting import training_evidence

METHODS = {"mismatch": delete_mismatch}


def assert_same(one: secateur.Rules, other: secateur.Rules) -> None:
    assert one == other
    for name, array in vars(one.deletions).items():
        np.testing.assert_array_equal(array, getattr(other.deletions, name), err_msg=name)
    np.testing.assert_array_equal(one.covered_counts, other.covered_counts)
    np.testing.assert_array_equal(one.leaf_counts, other.leaf_counts)


@pytest.mark.parametrize("method", METHODS)
@given(
    problem=strategies.trees(max_leaves=12).flatmap(
        lambda tree: st.tuples(st.just(tree), strategies.labelled_rows(tree, max_rows=150))
    ),
    tolerance=st.sampled_from([0.0, 0.05, 0.3, 1.0]),
)
@settings(max_examples=80, deadline=None)
def test_counts_by_pairs_and_in_groups_give_what_patterns_give(method: str, problem: Any, tolerance: float) -> None:
    """With categories, missing values, several classes, and leaves that no row reaches."""
    tree, (X, y, *_) = problem
    labels = tree.classes[y]
    wanted = secateur.simplify(tree, X, labels, method=method, tolerance=tolerance, each_leaf=True)
    for most in (0, 30, 1 << 20):  # by pairs, in groups, by patterns
        with mock.patch.object(training_evidence, "MOST_NUMBERS", most):
            assert_same(secateur.simplify(tree, X, labels, method=method, tolerance=tolerance, each_leaf=True), wanted)
    filled = fill_counts(tree, X, y, None)
    slow = METHODS[method](filled, X, y, np.ones(len(y)), tolerance)
    assert {rule.leaf_id: sorted(rule.deleted_ids) for rule in wanted} == {leaf: sorted(d) for leaf, d in slow.items()}
