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
from secateur import compiled, number_kernels
from secateur.annotation import annotate
from secateur.compiled import SMALL_TREE_ENTRIES, run_deletion
from secateur.row_index import index_rows
from secateur.rows import check_rows
from secateur.tree import Tree


def delete_in_any_tree(tree: Tree) -> NDArray[np.bool_]:
    notes = annotate(tree)
    return compiled._run("delete_links", tree, notes, np.zeros(len(notes.links), dtype=bool))


def delete_in_plain_python(tree: Tree) -> NDArray[np.bool_]:
    notes = annotate(tree)
    deleted = np.zeros(len(notes.links), dtype=bool)
    nodes, box = number_kernels.pack_nodes(tree, notes), number_kernels.make_number_box(tree)
    number_kernels.delete_number_links(nodes, notes.is_left, box, notes.offsets, notes.links, notes.leaf_class, deleted)
    assert np.isneginf(box.low).all(), "the box is as it was"
    assert np.isposinf(box.high).all(), "the box is as it was"
    return deleted


@settings(deadline=None)
@given(tree=trees(max_leaves=16, missing=False, categorical=False), data=st.data())
def test_the_same_rows_are_counted_as_in_any_tree(tree: Tree, data: st.DataObject) -> None:
    notes = annotate(tree)
    X, y, w = data.draw(labelled_rows(tree, weights=True))
    rows = check_rows(tree, X)
    deleted = np.array(data.draw(st.lists(st.booleans(), min_size=len(notes.links), max_size=len(notes.links))), bool)
    index = index_rows(tree, notes, rows)
    weights = np.ones(len(X)) if w is None else np.array(w)
    listed = compiled.make_indexed_rows(tree, index, y[index.order], weights[index.order])
    counts, others = np.zeros((2, notes.n_rules, tree.n_classes))
    nodes, box = number_kernels.pack_nodes(tree, notes), number_kernels.make_number_box(tree)
    paths = notes.offsets, notes.links, notes.leaf_class
    as_they_lie = number_kernels.make_number_rows(tree, index, y, weights)
    number_kernels.count_number_rows(nodes, notes.is_left, box, *paths, deleted, as_they_lie, counts)
    assert np.isneginf(box.low).all(), "the box is as it was"
    assert np.isposinf(box.high).all(), "the box is as it was"
    expected = compiled._run("count_rows", tree, notes, deleted, listed, others)
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
    assert len(annotate(tree).links) > SMALL_TREE_ENTRIES
    notes = annotate(tree)
    deleted = run_deletion("delete_links", tree, notes)
    np.testing.assert_array_equal(deleted, delete_in_any_tree(tree))
    index = index_rows(tree, notes, check_rows(tree, X))
    counted = compiled.run_count(tree, notes, deleted, index, y, None)
    listed = compiled.make_indexed_rows(tree, index, y[index.order], np.ones(len(X)))
    others = np.zeros((notes.n_rules, tree.n_classes))
    np.testing.assert_array_equal(counted, compiled._run("count_rows", tree, notes, deleted, listed, others))
