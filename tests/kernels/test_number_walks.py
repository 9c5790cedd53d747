"""Walks of trees of numbers only give what walks of any tree give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from strategies import labelled_rows, trees

import secateur
from secateur.counting.rows_by_leaf import index_rows
from secateur.kernels import number_walks, run_walks
from secateur.kernels.run_walks import SMALL_TREE_ENTRIES, run_deletion
from secateur.rows.checking import check_rows
from secateur.tree.paths import trace_paths
from secateur.tree.tree import Tree


def delete_in_any_tree(tree: Tree) -> NDArray[np.bool_]:
    paths = trace_paths(tree)
    return run_walks._run("delete_links", tree, paths, np.zeros(len(paths.links), dtype=bool))


def delete_in_plain_python(tree: Tree) -> NDArray[np.bool_]:
    paths = trace_paths(tree)
    deleted = np.zeros(len(paths.links), dtype=bool)
    nodes, box = run_walks.pack_nodes(tree, paths), run_walks.make_number_box(tree)
    number_walks.delete_number_links(nodes, paths.is_left, box, paths.offsets, paths.links, paths.leaf_class, deleted)
    assert np.isneginf(box.low).all(), "the box is as it was"
    assert np.isposinf(box.high).all(), "the box is as it was"
    return deleted


@settings(deadline=None)
@given(tree=trees(max_leaves=16, missing=False, categorical=False), data=st.data())
def test_the_same_rows_are_counted_as_in_any_tree(tree: Tree, data: st.DataObject) -> None:
    paths = trace_paths(tree)
    X, y, w = data.draw(labelled_rows(tree, weights=True))
    rows = check_rows(tree, X)
    deleted = np.array(data.draw(st.lists(st.booleans(), min_size=len(paths.links), max_size=len(paths.links))), bool)
    index = index_rows(tree, paths, rows)
    weights = np.ones(len(X)) if w is None else np.array(w)
    listed = run_walks.make_indexed_rows(tree, index, y[index.order], weights[index.order])
    counts, others = np.zeros((2, paths.n_rules, tree.n_classes))
    nodes, box = run_walks.pack_nodes(tree, paths), run_walks.make_number_box(tree)
    arrays = paths.offsets, paths.links, paths.leaf_class
    as_they_lie = run_walks.make_number_rows(tree, index, y, weights)
    number_walks.count_number_rows(nodes, paths.is_left, box, *arrays, deleted, as_they_lie, counts)
    assert np.isneginf(box.low).all(), "the box is as it was"
    assert np.isposinf(box.high).all(), "the box is as it was"
    expected = run_walks._run("count_rows", tree, paths, deleted, listed, others)
    np.testing.assert_array_equal(counts, expected)


@settings(deadline=None)
@given(tree=trees(max_leaves=16, missing=False, categorical=False))
def test_the_same_links_go_as_in_any_tree(tree: Tree) -> None:
    np.testing.assert_array_equal(delete_in_plain_python(tree), delete_in_any_tree(tree))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_same_links_of_a_large_tree_go_compiled(dtype: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3_000, 5)).round(1)
    y = (X[:, 0] * X[:, 1] + rng.standard_normal(3_000) > 0).astype(int)
    tree = secateur.from_model(DecisionTreeClassifier(random_state=0).fit(X, y))
    tree = replace(tree, dtype=dtype)
    assert len(trace_paths(tree).links) > SMALL_TREE_ENTRIES
    paths = trace_paths(tree)
    deleted = run_deletion("delete_links", tree, paths)
    np.testing.assert_array_equal(deleted, delete_in_any_tree(tree))
    index = index_rows(tree, paths, check_rows(tree, X))
    counted = run_walks.run_count(tree, paths, deleted, index, y, None)
    listed = run_walks.make_indexed_rows(tree, index, y[index.order], np.ones(len(X)))
    others = np.zeros((paths.n_rules, tree.n_classes))
    np.testing.assert_array_equal(counted, run_walks._run("count_rows", tree, paths, deleted, listed, others))
