"""The rows in a box are those that satisfy its conditions, one by one."""

from __future__ import annotations

import math

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

from secateur.rows.checking import check_rows
from secateur.tree.builder import TreeBuilder
from secateur.tree.tree import Tree
from secateur.verify.boxes import Boxes, walk_paths
from secateur.verify.case import PlacedRows


@given(st.data())
def test_rows_in_boxes_are_those_that_satisfy_each_condition(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    X = check_rows(tree, data.draw(strategies.rows(tree))).matrix
    paths = walk_paths(tree)
    kept = np.array(data.draw(strategies.lists_of(st.booleans(), len(paths.links))), dtype=bool)
    chosen = np.flatnonzero(data.draw(strategies.lists_of(st.booleans(), len(paths.leaves))))
    placed = PlacedRows(tree, X)
    from_root = np.zeros(len(chosen), dtype=np.int64)
    found = dict(placed.satisfying(Boxes(tree, paths, kept, chosen), from_root))
    assert sorted(found) == list(range(len(chosen)))
    for place, rule in enumerate(chosen.tolist()):
        links = paths.links[kept & (paths.rule == rule)].tolist()
        wanted = [row for row in range(len(X)) if oracles.satisfies(tree, X[row], links)]
        assert sorted(found[place].tolist()) == wanted


@given(st.data())
def test_rows_that_pass_a_node_are_looked_at_alone(data: st.DataObject) -> None:
    """Each leaf's own rule, from its leaf: the rows that reach it."""
    tree = data.draw(strategies.trees())
    X = check_rows(tree, data.draw(strategies.rows(tree))).matrix
    paths = walk_paths(tree)
    everything = np.ones(len(paths.links), dtype=bool)
    boxes = Boxes(tree, paths, everything, np.arange(len(paths.leaves)))
    reached = np.array([oracles.walk(tree, row) for row in X])
    found = dict(PlacedRows(tree, X).satisfying(boxes, paths.leaves))
    assert sorted(found) == list(range(len(paths.leaves)))
    for place, rows in found.items():
        assert sorted(rows.tolist()) == np.flatnonzero(reached == paths.leaves[place]).tolist()


@pytest.mark.parametrize("n_limits", [3, 253, 254, 255, 256, 300])
@pytest.mark.parametrize("accepts_missing", [True, False])
def test_boxes_of_many_limits_hold_the_rows_between_them(n_limits: int, accepts_missing: bool) -> None:
    """Places among few limits take a byte, among more of them two; rows are looked up by either column."""
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
    found = dict(PlacedRows(tree, X).satisfying(Boxes(tree, paths, kept, every), np.zeros(len(every), dtype=np.int64)))
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
