"""The rows in a box are those that satisfy its conditions, one by one."""

from __future__ import annotations

import numpy as np
import oracles
import strategies
from hypothesis import given
from hypothesis import strategies as st

from secateur.rows.checking import check_rows
from secateur.verify.boxes import Boxes
from secateur.verify.paths import walk_paths
from secateur.verify.placed_rows import PlacedRows


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
