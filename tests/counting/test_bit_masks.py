"""Bit masks of links against walking one row at a time."""

from __future__ import annotations

from types import SimpleNamespace
from unittest import mock

import numpy as np
import oracles
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.counting import coverage as masks
from secateur.counting.coverage import count_bits, pack_bits, pack_links, rows_in, unpack_bits
from secateur.rows.checking import check_rows
from secateur.rows.rows import apply_tree
from secateur.tree.tree import Tree


@given(tree=strategies.trees(), data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_links_mask_holds_the_rows_that_satisfy_it(tree: Tree, data: st.DataObject) -> None:
    X = data.draw(strategies.rows(tree, max_rows=70))
    packed = pack_links(tree, check_rows(tree, X).matrix)
    for link in range(1, tree.n_nodes):
        found = unpack_bits(packed[link], len(X)).tolist()
        assert found == [oracles.satisfies(tree, row, [link]) for row in X]
    assert unpack_bits(packed[0], len(X)).all()
    for leaf in oracles.leaves(tree):
        inside = rows_in(packed, np.array(oracles.path(tree, leaf), dtype=np.int64))
        assert count_bits(inside).sum() == sum(oracles.walk(tree, row) == leaf for row in X)


@given(tree=strategies.trees(), data=st.data())
@settings(max_examples=100, deadline=None)
def test_routing_reaches_the_leaf_that_a_walk_reaches(tree: Tree, data: st.DataObject) -> None:
    X = data.draw(strategies.rows(tree))
    assert apply_tree(tree, check_rows(tree, X)).tolist() == [oracles.walk(tree, row) for row in X]


def test_blocks_meet_without_a_gap(monkeypatch: object) -> None:
    """Row counts around the block size and the word size, in either memory order."""
    from sklearn.tree import DecisionTreeClassifier

    import secateur

    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3)).astype(np.float32)
    tree = secateur.from_model(DecisionTreeClassifier(max_depth=4).fit(X, X[:, 0] * X[:, 1] > 0))
    whole = pack_links(tree, X)
    monkeypatch.setattr(masks, "BLOCK_ROWS", 128)  # type: ignore[attr-defined]
    for n_rows in (1, 63, 64, 65, 127, 128, 129, 700):
        for ordered in (X[:n_rows], np.asfortranarray(X[:n_rows])):
            packed = pack_links(tree, ordered)
            expected = unpack_bits(whole, 700)[:, :n_rows]
            assert np.array_equal(unpack_bits(packed, n_rows), expected)
            assert np.bitwise_count(packed).sum() == expected.sum()  # no stray bit beyond the last row


@given(st.lists(st.booleans(), min_size=1, max_size=200))
def test_packing_is_undone_by_unpacking(flags: list[bool]) -> None:
    packed = pack_bits(np.array(flags))
    assert unpack_bits(packed, len(flags)).tolist() == flags
    assert np.bitwise_count(packed).sum() == sum(flags)


@given(words=st.lists(st.integers(0, 2**63 - 1), max_size=6), has_function=st.booleans())
def test_bits_are_counted_by_any_numpy(words: list[int], has_function: bool) -> None:
    of_one = SimpleNamespace(**{name: value for name, value in vars(np).items() if name != "bitwise_count"})
    for dtype in (np.int64, np.uint64):
        with mock.patch.object(masks, "np", np if has_function else of_one):
            found = count_bits(np.array(words, dtype=dtype))
        assert found.tolist() == [word.bit_count() for word in words]
        assert (np.zeros(len(words), dtype=np.int64) + found).dtype == np.int64
