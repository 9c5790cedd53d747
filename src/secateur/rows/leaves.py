"""Route rows through a tree to the leaves they reach."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.kernels import routes
from secateur.kernels.compiling import compile_module, is_soon_done
from secateur.kernels.threads import map_in_threads
from secateur.rows.rows import Rows
from secateur.tree.tree import Tree

# numpy routes so many rows in about as long as it takes to load compiled code.
PLAIN_ROWS = 1 << 21


def apply_tree(tree: Tree, rows: Rows) -> NDArray[np.int64]:
    """Find the leaf id of each row, shape (n_rows,)."""
    features = np.unique(tree.feature[~tree.is_leaf])
    reached = np.empty(rows.n_rows, dtype=np.int64)
    if is_soon_done("route_rows", rows.n_rows, PLAIN_ROWS):
        column_of = np.zeros(tree.n_features, dtype=np.int64)
        column_of[features] = np.arange(len(features))
        for span in rows.spans():
            reached[slice(*span)] = _descend(tree, rows.read(*span, features), column_of)
        return reached
    route_rows = compile_module(routes).route_rows
    start, table = tree.category_table

    def route(span: tuple[int, int]) -> None:
        block = rows.block(*span, features)
        columns = np.zeros(tree.n_features, dtype=np.int64)
        columns[features] = block.columns
        arrays = tree.children_left, tree.children_right, tree.feature, tree.upper, tree.missing_left, start, table
        route_rows(block.values, block.origin, block.step, columns, block.n_rows, *arrays, reached[slice(*span)])

    for _ in map_in_threads(route, rows.spans()):
        pass
    return reached


def _descend(tree: Tree, matrix: NDArray[Any], column_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Send all rows down together, one level at a time; rows that have arrived drop out."""
    nodes = np.zeros(len(matrix), dtype=np.int64)
    start, table = tree.category_table
    moving = np.arange(len(matrix)) if not tree.is_leaf[0] else np.zeros(0, dtype=np.int64)
    while len(moving):
        at = nodes[moving]
        values = matrix[moving, column_of[tree.feature[at]]]
        left = values <= tree.upper[at]
        missing = np.isnan(values)
        sets = (start[at] >= 0) & ~missing
        left[sets] = table[start[at[sets]] + values[sets].astype(np.int64)]
        left[missing] = tree.missing_left[at[missing]]
        nodes[moving] = np.where(left, tree.children_left[at], tree.children_right[at])
        moving = moving[~tree.is_leaf[nodes[moving]]]
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
