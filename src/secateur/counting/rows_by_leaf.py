"""Use the tree as an index of rows: put them in the order of the leaves that they reach.

The rows that pass a node are then one run, so that a walk of the tree with a rule's box finds the rows that it covers
without looking at the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.rows.leaves import apply_tree
from secateur.rows.rows import Rows
from secateur.tree.paths import find_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.tree.paths import Paths
    from secateur.tree.tree import Tree

__all__ = ["ORDERED_RULES", "RowIndex", "index_rows"]

ORDERED_RULES = 1_000  # for fewer rules, putting rows in order takes longer than it saves
COPIED_NUMBERS = 1 << 26  # a table that must be converted first is copied up to so many numbers


@dataclass(frozen=True)
class RowIndex:
    """Rows in the order of their leaves.

    Attributes
    ----------
    rows : Rows
        The rows, in their own order.
    order : ndarray of int64, shape (n_rows,)
        The rows from the leftmost leaf to the rightmost.
    columns : ndarray of int64, shape (n_columns,)
        The features that the tree tests.
    first, last : ndarray of int64, shape (n_nodes,)
        ``order[first[i]:last[i]]`` are the rows that pass node ``i``.
    reached : ndarray of int64, shape (n_rows,)
        The leaf that each row reaches, in the rows' own order.
    """

    rows: Rows
    order: NDArray[np.int64]
    columns: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    reached: NDArray[np.int64]

    @cached_property
    def values(self) -> NDArray[Any]:
        """The tested columns, rows in the order of their leaves, shape (n_rows, n_columns)."""
        return self.rows.take(self.order, self.columns)

    @cached_property
    def ordered(self) -> Rows | None:
        """The rows in the order of their leaves; None where it would take a copy of a large table."""
        if self.rows.source is not None:
            return self.rows.reorder(self.order)
        if self.rows.n_rows * len(self.columns) <= COPIED_NUMBERS:
            return Rows.of_columns(self.values, self.columns, self.rows.n_features)
        return None


def index_rows(tree: Tree, paths: Paths, rows: Rows, reached: NDArray[np.int64] | None = None) -> RowIndex:
    """Route the rows, unless it is known what they reach, and put them in the order of their leaves.

    Rows of one leaf keep theirs.
    """
    reached = apply_tree(tree, rows) if reached is None else reached
    columns = np.unique(tree.feature[tree.feature >= 0])
    # numpy sorts small numbers by their digits, several times faster
    rank = np.zeros(tree.n_nodes, dtype=np.uint16 if paths.n_rules <= np.iinfo(np.uint16).max else np.int64)
    rank[paths.leaf_ids] = np.arange(paths.n_rules)
    order = np.argsort(rank[reached], kind="stable")
    first, last = find_runs(tree, np.bincount(reached, minlength=tree.n_nodes))
    return RowIndex(rows, order, columns, first, last, reached)
