"""Rows through a tree: which leaf each row reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.tree import Tree

__all__ = ["apply_tree", "count_classes"]


def apply_tree(tree: Tree, matrix: NDArray[Any]) -> NDArray[np.int64]:
    """Leaf id of each row of a checked matrix, shape (n_rows,).

    All rows descend together, one level a step; rows that have arrived drop out.
    """
    nodes = np.zeros(len(matrix), dtype=np.int64)
    start, table = tree.category_table
    moving = np.arange(len(matrix)) if not tree.is_leaf[0] else np.zeros(0, dtype=np.int64)
    while len(moving):
        at = nodes[moving]
        values = matrix[moving, tree.feature[at]]
        left = values <= tree.upper[at]
        missing = np.isnan(values)
        sets = (start[at] >= 0) & ~missing
        left[sets] = table[start[at[sets]] + values[sets].astype(np.int64)]
        left[missing] = tree.missing_left[at[missing]]
        nodes[moving] = np.where(left, tree.children_left[at], tree.children_right[at])
        moving = moving[~tree.is_leaf[nodes[moving]]]
    return nodes


def count_classes(
    tree: Tree, matrix: NDArray[Any], class_ids: NDArray[np.int64], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """(Weighted) rows of each class that pass each node, shape (n_nodes, n_classes)."""
    cells = apply_tree(tree, matrix) * tree.n_classes + class_ids
    counts = np.bincount(cells, weights=weights, minlength=tree.n_nodes * tree.n_classes).astype(np.float64)
    counts = counts.reshape(tree.n_nodes, tree.n_classes)
    for level in reversed(tree.levels):
        inner = level[~tree.is_leaf[level]]
        counts[inner] = counts[tree.children_left[inner]] + counts[tree.children_right[inner]]
    return counts
