"""Use the tree as an index of rows: put them in the order of the leaves that they reach."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.rows.leaves import apply_tree
from secateur.rows.rows import Rows
from secateur.tree.paths import Paths, find_runs
from secateur.tree.tree import Tree


class RowIndex(NamedTuple):
    """Rows in the order of their leaves, in which every node has a run of them."""

    order: NDArray[np.int64]  # the rows from the leftmost leaf to the rightmost
    first: NDArray[np.int64]  # the rows order[first[i]:last[i]] pass node i
    last: NDArray[np.int64]
    reached: NDArray[np.int64]  # the leaf that each row reaches, in the rows' own order


def index_rows(tree: Tree, paths: Paths, rows: Rows) -> RowIndex:
    """Route the rows, and put them in the order of their leaves; rows of one leaf keep theirs."""
    reached = apply_tree(tree, rows)
    # numpy sorts small numbers by their digits, several times faster
    rank = np.zeros(tree.n_nodes, dtype=np.uint16 if paths.n_rules <= np.iinfo(np.uint16).max else np.int64)
    rank[paths.leaf_ids] = np.arange(paths.n_rules)
    order = np.argsort(rank[reached], kind="stable")
    first, last = find_runs(tree, np.bincount(reached, minlength=tree.n_nodes))
    return RowIndex(order, first, last, reached)
