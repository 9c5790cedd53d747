"""Bit masks of links against walking one row at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.counting import masks
from secateur.counting.masks import (
    ClassMasks,
    list_rows,
    mask_blocks,
    mask_leaves,
    number_rows,
    pack_bits,
    pack_links,
    rows_in,
    unpack_bits,
)
from secateur.rows.checking import check_rows
from secateur.rows.rows import Rows, apply_tree
from secateur.tree.tree import Tree


@given(tree=strategies.trees(), data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_links_mask_holds_the_rows_that_satisfy_it(tree: Tree, data: st.DataObject) -> None:
    X = data.draw(strategies.rows(tree, max_rows=70))
    packed = pack_links(tree, check_rows(tree, X))
    for link in range(1, tree.n_nodes):
        found = unpack_bits(packed[link], len(X)).tolist()
        assert found == [oracles.satisfies(tree, row, [link]) for row in X]
    assert unpack_bits(packed[0], len(X)).all()
    leaves = oracles.leaves(tree)
    passing = list(mask_leaves(tree, packed))
    numbers = number_rows(enumerate(passing[1:]), len(leaves), len(X))  # rows of the first are in none
    assert numbers.tolist() == [leaves.index(oracles.walk(tree, row)) - 1 for row in X]
    for leaf, own in zip(leaves, passing, strict=True):
        assert list_rows(own).tolist() == [place for place, n in enumerate(numbers) if leaves[n + 1] == leaf]
        inside = rows_in(packed, np.array(oracles.path(tree, leaf), dtype=np.int64))
        assert np.bitwise_count(inside).sum() == sum(oracles.walk(tree, row) == leaf for row in X)


@given(tree=strategies.trees(), data=st.data())
@settings(max_examples=100, deadline=None)
def test_routing_reaches_the_leaf_that_a_walk_reaches(tree: Tree, data: st.DataObject) -> None:
    X = data.draw(strategies.rows(tree))
    assert apply_tree(tree, check_rows(tree, X)).tolist() == [oracles.walk(tree, row) for row in X]


def test_blocks_meet_without_a_gap(monkeypatch: object) -> None:
    """Row counts around the block size and the word size, in either memory order."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3)).astype(np.float32)
    tree = secateur.from_model(DecisionTreeClassifier(max_depth=4).fit(X, X[:, 0] * X[:, 1] > 0))
    whole = pack_links(tree, Rows.of(X))
    monkeypatch.setattr(masks, "BLOCK_ROWS", 128)  # type: ignore[attr-defined]
    for n_rows in (1, 63, 64, 65, 127, 128, 129, 700):
        for ordered in (X[:n_rows], np.asfortranarray(X[:n_rows])):
            packed = pack_links(tree, Rows.of(ordered))
            expected = unpack_bits(whole, 700)[:, :n_rows]
            assert np.array_equal(unpack_bits(packed, n_rows), expected)
            assert np.bitwise_count(packed).sum() == expected.sum()  # no stray bit beyond the last row


def test_masks_of_a_part_hold_no_row_beyond_it_and_masks_of_no_rows_are_none() -> None:
    X = np.arange(200, dtype=np.float32)[:, None]
    tree = secateur.from_model(DecisionTreeClassifier().fit(X, X[:, 0] > 100))
    rows = Rows.of(X)
    (kept,) = mask_blocks(tree, rows)  # they are kept for who asks again
    assert next(mask_blocks(tree, rows))[1] is kept[1]
    for first, last in ((0, 64), (64, 100), (0, 130), (128, 200)):
        ((span, found),) = mask_blocks(tree, rows.part(first, last))
        assert span == slice(0, last - first)
        assert np.bitwise_count(found[0]).sum() == last - first
        assert np.array_equal(unpack_bits(found, last - first), unpack_bits(kept[1], 200)[:, first:last])
    other = replace(tree, missing_left=~tree.missing_left)
    assert next(mask_blocks(other, rows))[1] is not kept[1]
    assert list(mask_blocks(tree, Rows.of(X[:0]), np.zeros(1, dtype=np.int64))) == []


@given(st.lists(st.booleans(), min_size=1, max_size=200))
def test_packing_is_undone_by_unpacking(flags: list[bool]) -> None:
    packed = pack_bits(np.array(flags))
    assert unpack_bits(packed, len(flags)).tolist() == flags
    assert np.bitwise_count(packed).sum() == sum(flags)


@given(
    marks=st.lists(st.tuples(st.booleans(), st.integers(0, 4), st.floats(0, 9)), min_size=1, max_size=200),
    most=st.sampled_from([0, 64]),
)
def test_rows_of_masks_are_counted_by_class(marks: list[tuple[bool, int, float]], most: int) -> None:
    inside, class_ids, weights = (np.array(column) for column in zip(*marks, strict=True))
    for given_weights in (None, weights):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(masks, "MOST_CLASS_MASKS", most)
            counts = np.zeros(5)
            ClassMasks(class_ids, given_weights, 5).add(pack_bits(inside), counts)
        expected = np.zeros(5)
        for is_in, class_id, weight in marks:
            expected[class_id] += (1.0 if given_weights is None else weight) * is_in
        assert counts.tolist() == expected.tolist()
