"""Route rows through a tree, or through further tests below its leaves, to where they end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.kernels import routes as kernel
from secateur.kernels.compiling import compile_module, is_soon_done
from secateur.kernels.threads import map_in_threads
from secateur.rows.rows import Rows
from secateur.tree.tree import Tree

# numpy routes so many rows in about as long as it takes to load compiled code.
PLAIN_ROWS = 1 << 21


class Routes(NamedTuple):
    """Tests that send a row from node 0 on to a node without a test: a tree, or one whose branches meet again.

    Each has an element per node; ``feature`` is -1 where a row ends. A row goes left where its value is at most
    ``upper``; of a code, where ``table[start + code]`` is true (``start`` is -1 for numbers); of a missing value, where
    ``missing_left`` is.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    feature: NDArray[np.int64]
    upper: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    start: NDArray[np.int64]
    table: NDArray[np.bool_]

    @classmethod
    def of(cls, tree: Tree) -> Routes:
        """Take the tests of a tree; rows end at the ids of its leaves."""
        tests = tree.feature, tree.upper, tree.missing_left, *tree.category_table
        return cls(tree.children_left, tree.children_right, *tests)


def apply_tree(tree: Tree, rows: Rows) -> NDArray[np.int64]:
    """Find the leaf id of each row, shape (n_rows,)."""
    return follow(Routes.of(tree), rows)


def follow(routes: Routes, rows: Rows) -> NDArray[np.int64]:
    """Find the node at which each row ends, shape (n_rows,)."""
    features = np.unique(routes.feature[routes.feature >= 0])
    reached = np.empty(rows.n_rows, dtype=np.int64)
    columns = np.zeros(rows.n_features, dtype=np.int64)
    if is_soon_done("route_rows", rows.n_rows, PLAIN_ROWS):
        columns[features] = np.arange(len(features))
        for span in rows.spans():
            reached[slice(*span)] = _descend(routes, rows.read(*span, features), columns)
        return reached
    route_rows = compile_module(kernel).route_rows

    def route(span: tuple[int, int]) -> None:
        block = rows.block(*span, features)
        own = np.zeros_like(columns)
        own[features] = block.columns
        route_rows(block.values, block.origin, block.step, own, block.n_rows, *routes, reached[slice(*span)])

    for _ in map_in_threads(route, rows.spans()):
        pass
    return reached


def _descend(routes: Routes, matrix: NDArray[Any], column_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Send all rows on together, one test at a time; rows that have arrived drop out."""
    nodes = np.zeros(len(matrix), dtype=np.int64)
    moving = np.arange(len(matrix)) if routes.feature[0] >= 0 else np.zeros(0, dtype=np.int64)
    while len(moving):
        at = nodes[moving]
        values = matrix[moving, column_of[routes.feature[at]]]
        left = values <= routes.upper[at]
        missing = np.isnan(values)
        sets = (routes.start[at] >= 0) & ~missing
        left[sets] = routes.table[routes.start[at[sets]] + values[sets].astype(np.int64)]
        left[missing] = routes.missing_left[at[missing]]
        nodes[moving] = np.where(left, routes.left[at], routes.right[at])
        moving = moving[routes.feature[nodes[moving]] >= 0]
    return nodes


def count_classes(
    tree: Tree, reached: NDArray[np.int64], class_ids: NDArray[np.int64], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Count the (weighted) rows of each class that pass each node, from the leaves reached; (n_nodes, n_classes)."""
    cells = reached * tree.n_classes + class_ids
    counts = np.bincount(cells, weights=weights, minlength=tree.n_nodes * tree.n_classes).astype(np.float64)
    return sum_up(tree, counts.reshape(tree.n_nodes, tree.n_classes))


def sum_up(tree: Tree, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add the counts of the leaves up to the root, in place."""
    for inner in reversed(tree.inner_levels):
        counts[inner] = counts[tree.children_left[inner]] + counts[tree.children_right[inner]]
    return counts
