"""Codes of rows: no test of the tree tells a row from what its codes stand for."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.rows import rows as rows_module
from secateur.rows.checking import check_rows
from secateur.rows.rows import apply_tree, code_columns
from secateur.tree.tree import Tree


def trees_and_rows() -> st.SearchStrategy[tuple[Tree, Any]]:
    return strategies.trees(max_leaves=12).flatmap(
        lambda tree: st.tuples(st.just(tree), strategies.rows(tree, max_rows=30))
    )


@given(problem=trees_and_rows(), dtype=st.sampled_from([np.uint8, np.uint16, np.uint32]), data=st.data())
@settings(max_examples=150, deadline=None)
def test_codes_pass_the_tests_that_their_rows_pass(problem: tuple[Tree, Any], dtype: Any, data: st.DataObject) -> None:
    tree, X = problem
    chosen = np.flatnonzero(data.draw(strategies.lists_of(st.booleans(), len(X))))
    with mock.patch.object(rows_module, "MOST_SHORT", 0 if dtype is np.uint32 else 1 << 16):
        coded = code_columns(tree, check_rows(tree, X), chosen, len(chosen), takes_bytes=dtype is np.uint8)
    assert coded.codes.dtype == dtype
    limit_code, missing_code = coded.find_limits(tree)
    values = coded.read()
    column_of = {feature: column for column, feature in enumerate(coded.features.tolist())}
    for place, row in enumerate(X[chosen]):
        for node in np.flatnonzero(~tree.is_leaf).tolist():
            column = column_of[int(tree.feature[node])]
            wanted = oracles.goes_left(tree, node, float(row[tree.feature[node]]))
            assert oracles.goes_left(tree, node, float(values[place, column])) == wanted
            code = int(coded.codes[column, place])
            is_listed = not tree.is_categorical[node] or code in tree.left_codes(node)
            assert ((code <= limit_code[node] and is_listed) or code == missing_code[node]) == wanted


@given(problem=trees_and_rows())
@settings(max_examples=60, deadline=None)
def test_coded_rows_reach_the_leaves_of_their_rows_in_any_order(problem: tuple[Tree, Any]) -> None:
    tree, X = problem
    rows = check_rows(tree, X)
    reached = apply_tree(tree, rows)
    coded = code_columns(tree, rows, np.arange(len(X)), len(X))
    np.testing.assert_array_equal(apply_tree(tree, coded.as_rows(tree.n_features)), reached)
    order = np.argsort(reached)
    coded.sort(order)
    # Large tables are not read as a whole.
    with mock.patch.object(rows_module, "PLAIN_ROWS", -1):
        np.testing.assert_array_equal(apply_tree(tree, coded.as_rows(tree.n_features)), reached[order])


@pytest.mark.parametrize(
    ("n_limits", "dtype"), [(254, np.uint8), (255, np.uint16), (65_534, np.uint16), (65_535, np.uint32)]
)
def test_codes_are_as_wide_as_the_longest_column_needs(n_limits: int, dtype: Any) -> None:
    tree = mock.Mock(feature=np.zeros(2, dtype=np.int64), is_leaf=np.array([False, False]), dtype=np.dtype(np.float32))
    rows = mock.Mock(spans=lambda: [(0, 1)], select=lambda *_: np.full((1, 1), np.nan, dtype=np.float32))
    with mock.patch.object(rows_module, "_find_limits", return_value=np.arange(n_limits, dtype=np.float32)):
        coded = code_columns(tree, rows, np.arange(1), 1)
    assert coded.codes.dtype == dtype
    assert coded.codes.tolist() == [[n_limits + 1]]
