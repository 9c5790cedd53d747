"""Rows that no test tells apart are recounted together: the same answers as of each row."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest import mock

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

import secateur
from secateur.rows.checking import check_rows
from secateur.verify import case
from secateur.verify.boxes import walk_paths
from secateur.verify.case import merge_alike


@given(tree=strategies.trees(max_leaves=8), data=st.data())
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("few_limits", [0, 32])
def test_a_kind_has_the_rows_that_go_alike_at_every_node(few_limits: int, tree: Any, data: st.DataObject) -> None:
    X, y, w = data.draw(strategies.labelled_rows(tree, weights=True, max_rows=80))
    matrix, limit = check_rows(tree, X).matrix, walk_paths(tree).limit
    lefts = tree.children_left[tree.children_left >= 0].tolist()
    goes = [(int(y[row]), *(oracles.satisfies(tree, cells, [link]) for link in lefts)) for row, cells in enumerate(X)]
    n_times = 4096  # so that there are more rows than kinds may be
    for weights in (None, np.array(w)):
        expected, found = Counter[Any](), Counter[Any]()
        for row, own in enumerate(goes):
            expected[own] += 1 if weights is None else weights[row]
        with mock.patch.multiple(case, FEW_LIMITS=few_limits, MERGED_ROWS=700):
            many = None if weights is None else np.repeat(weights, n_times) / n_times
            kinds = merge_alike(tree, limit, np.repeat(matrix, n_times, axis=0), np.repeat(y, n_times), many)
        for class_id, weight, first in zip(
            kinds.class_ids.tolist(), kinds.weights, kinds.first // n_times, strict=True
        ):
            assert goes[first][0] == class_id
            found[goes[first]] += weight if weights is not None else weight / n_times
        assert found == pytest.approx(expected)
        assert not (kinds.first % n_times).any()  # the first of each kind is the first of equal rows


@given(tree=strategies.trees(max_leaves=10), data=st.data())
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("each_leaf", [True, False])
def test_what_is_proved_and_what_is_not_does_not_depend_on_merging(
    each_leaf: bool, tree: Any, data: st.DataObject
) -> None:
    X, y, w = data.draw(strategies.labelled_rows(tree, weights=True, max_rows=60))
    weights = data.draw(st.sampled_from([None, w]))
    rules = secateur.simplify(tree, X, tree.classes[y], sample_weight=weights, each_leaf=each_leaf)
    wrong = y.copy()
    wrong[0] = (wrong[0] + 1) % tree.n_classes
    for labels in (y, wrong):
        with mock.patch.object(case, "MOST_KINDS", 0):
            apart = rules.verify(X, tree.classes[labels], sample_weight=weights)
        merged = rules.verify(X, tree.classes[labels], sample_weight=weights)
        assert (merged.ok, merged.failures, merged.checks) == (apart.ok, apart.failures, apart.checks)
