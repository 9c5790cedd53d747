"""Masks of rows: the rows of a rule are those that satisfy its conditions, however rows are cut to blocks."""

from __future__ import annotations

import math
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
from secateur.rows.row_source import MemoryRows
from secateur.tree.builder import TreeBuilder
from secateur.tree.tree import Tree
from secateur.verify import case, masked_rows
from secateur.verify.boxes import walk_paths
from secateur.verify.masked_rows import list_rows, pack, split_rows


@given(st.data())
@pytest.mark.parametrize(("block", "members"), [(1 << 16, 64), (64, 0)])
def test_masked_rows_are_those_that_satisfy_each_condition(block: int, members: int, data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    X, y, w = data.draw(strategies.labelled_rows(tree, weights=True, max_rows=150))
    weights = data.draw(st.sampled_from([None, np.array(w)]))
    targets = data.draw(st.sampled_from([None, np.arange(len(X)) / 7]))
    paths = walk_paths(tree)
    kept = np.array(data.draw(strategies.lists_of(st.booleans(), len(paths.links))), dtype=bool)
    chosen = np.flatnonzero(data.draw(strategies.lists_of(st.booleans(), len(paths.leaves))))
    heavy = np.ones(len(X)) if weights is None else weights
    found: dict[int, list[int]] = {rule: [] for rule in chosen.tolist()}
    counts = np.zeros((len(paths.leaves), tree.n_classes))
    squares, powers, leaves, first = np.zeros(len(paths.leaves)), np.zeros(3), [], 0
    with mock.patch.multiple(masked_rows, BLOCK_ROWS=block, MOST_MEMBERS=members):
        for rows in split_rows(tree, paths, (check_rows(tree, X).matrix, y, weights, targets)):
            for rule, mask in rows.satisfying(kept, chosen):
                found[rule] += (first + list_rows(mask)).tolist()
                counts[rule] += rows.count(mask)
                squares[rule] += rows.add_squares(mask)
            if targets is not None:
                powers += rows.add_powers(rows.links[0], 0.5)
            leaves += paths.leaves[rows.leaf_places].tolist()
            first += rows.n_rows
            assert rows.n_rows <= block
    assert leaves == [oracles.walk(tree, row) for row in X]
    for rule in chosen.tolist():
        links = paths.links[kept & (paths.rule == rule)].tolist()
        wanted = [row for row in range(len(X)) if oracles.satisfies(tree, X[row], links)]
        assert found[rule] == wanted
        own = [sum(heavy[row] for row in wanted if y[row] == class_id) for class_id in range(tree.n_classes)]
        np.testing.assert_allclose(counts[rule], own)  # sums may be taken in another order
        np.testing.assert_allclose(squares[rule], sum(heavy[row] ** 2 for row in wanted))
    if targets is not None:
        above = targets - 0.5
        np.testing.assert_allclose(powers, [heavy.sum(), (heavy * above).sum(), (heavy * above**2).sum()], atol=1e-9)


@given(st.lists(st.booleans(), max_size=300))
def test_listing_is_the_inverse_of_packing(flags: list[bool]) -> None:
    assert list_rows(pack(np.array(flags, dtype=bool))).tolist() == [row for row, flag in enumerate(flags) if flag]


@given(tree=strategies.trees(max_leaves=10), data=st.data())
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("each_leaf", [True, False])
def test_what_is_proved_does_not_depend_on_blocks_nor_on_what_is_kept(
    each_leaf: bool, tree: Any, data: st.DataObject
) -> None:
    X, y, w = data.draw(strategies.labelled_rows(tree, weights=True, max_rows=200))
    weights = data.draw(st.sampled_from([None, w]))
    rules = secateur.simplify(tree, X, tree.classes[y], sample_weight=weights, each_leaf=each_leaf)
    wrong = y.copy()
    wrong[0] = (wrong[0] + 1) % tree.n_classes
    for labels in (y, wrong):
        given_rows: dict[str, Any] = {"sample_weight": weights}
        with (
            mock.patch.multiple(masked_rows, BLOCK_ROWS=64),
            mock.patch.object(case, "KEPT_BYTES", 0),
            mock.patch("secateur.verify.lists.FEW_LEAVES", 0),
        ):
            in_blocks = rules.verify(X, tree.classes[labels], **given_rows)
        at_once = rules.verify(X, tree.classes[labels], **given_rows)
        assert (at_once.ok, at_once.failures, at_once.checks) == (in_blocks.ok, in_blocks.failures, in_blocks.checks)


@pytest.mark.parametrize("keeps", [True, False])
def test_rows_of_a_list_are_read_once_if_their_masks_can_be_kept(keeps: bool) -> None:
    builder = TreeBuilder(["no", "yes"], ["x"])
    root = builder.split("x", 0.5)
    builder.leaf([3, 1], parent=root, side="left")
    builder.leaf([1, 3], parent=root, side="right")
    X, y = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array(["no", "yes", "no", "yes"])
    rules = secateur.simplify(builder.build(), X, y)
    read = MemoryRows.map
    times = []

    def count(*given: Any, **named: Any) -> Any:
        times.append(1)
        return read(*given, **named)

    kept_bytes = case.KEPT_BYTES if keeps else 0
    with mock.patch.object(MemoryRows, "map", count), mock.patch.object(case, "KEPT_BYTES", kept_bytes):
        assert rules.verify(X, y).ok
    assert len(times) == (1 if keeps else 2)


@pytest.mark.parametrize("n_limits", [3, 253, 254, 255, 256, 300])
@pytest.mark.parametrize("accepts_missing", [True, False])
def test_rules_of_many_limits_hold_the_rows_between_them(n_limits: int, accepts_missing: bool) -> None:
    tree = _cut_in_steps(n_limits, accepts_missing)
    limits = np.arange(float(n_limits))
    numbers = np.concatenate([np.nextafter(limits, -np.inf), limits, np.nextafter(limits, np.inf)])
    probes = np.array([*numbers, *[math.nan] * accepts_missing])
    rng = np.random.default_rng(n_limits)
    others = rng.choice(probes, 9 * len(probes))
    X = np.column_stack([np.concatenate([probes, others]), np.arange(10 * len(probes)) < len(probes)])
    paths = walk_paths(tree)
    is_last = np.append(paths.rule[1:] != paths.rule[:-1], True)  # so that every limit is asked for
    above = tree.feature[paths.parent[paths.links]] == 0
    kept = np.where(above, is_last | (rng.random(len(paths.links)) < 3 / n_limits), rng.random(len(paths.links)) < 0.9)
    every = np.arange(len(paths.leaves))
    (rows,) = split_rows(tree, paths, (X, np.zeros(len(X), dtype=np.int64), None, None))
    found = {rule: list_rows(mask) for rule, mask in rows.satisfying(kept, every)}
    for rule in every.tolist():
        wanted = np.ones(len(X), dtype=bool)
        for link in paths.links[kept & (paths.rule == rule)].tolist():
            node = paths.parent[link]
            values = X[:, tree.feature[node]]
            left = np.where(np.isnan(values), tree.missing_left[node], values <= tree.threshold[node])
            wanted &= left == paths.is_left[link]
        assert sorted(found[rule].tolist()) == np.flatnonzero(wanted).tolist()


def _cut_in_steps(n_limits: int, accepts_missing: bool) -> Tree:
    """A tree that asks for a rare value, then for the lowest limit, the highest, the next to lowest and so on."""
    builder = TreeBuilder(["no", "yes"], ["x", "is_rare"], dtype="float64", accepts_missing=accepts_missing)
    node, side = builder.split("is_rare", 0.5), "right"
    builder.leaf([3, 1], parent=node, side="left")
    for step in range(n_limits):
        at_leaf, onwards = ("left", "right") if step % 2 == 0 else ("right", "left")
        limit = step // 2 if step % 2 == 0 else n_limits - 1 - step // 2
        node = builder.split("x", limit, parent=node, side=side, missing=("left", "right")[step % 3 == 0])
        builder.leaf([1, 2], parent=node, side=at_leaf)
        side = onwards
    builder.leaf([1, 3], parent=node, side=side)
    return builder.build()
