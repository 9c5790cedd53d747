"""Rules as the counting kernels read them: distinct tests, and each condition as a literal of one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secateur.kernels.tiles import Preorder, RuleLiterals, Tests
from secateur.tree.paths import find_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.tree.paths import Paths
    from secateur.tree.tree import Tree

__all__ = ["Conditions", "make_literals", "make_preorder", "make_tests"]


@dataclass(frozen=True)
class Conditions:
    """What becomes of the conditions of rules in a violations; what is neither deleted nor open is firm.

    Attributes
    ----------
    deleted, opened : ndarray of bool, shape (n_entries,)
    among : ndarray of bool, shape (n_rules,)
        The rules that are counted at all.
    """

    deleted: NDArray[np.bool_]
    opened: NDArray[np.bool_]
    among: NDArray[np.bool_]


def make_tests(tree: Tree) -> tuple[NDArray[np.int64], Tests, NDArray[np.int64]]:
    """The tested features, the distinct tests in their terms, and the literal of the link into each node."""
    inner = np.flatnonzero(~tree.is_leaf)
    first_leaf, _ = find_runs(tree, tree.is_leaf.astype(np.int64))
    start, table = tree.category_table
    features, column = np.unique(tree.feature[inner], return_inverse=True)
    limit = np.where(start[inner] < 0, tree.upper[inner], 0.0)
    keys = np.column_stack([column, start[inner] >= 0, limit, tree.missing_left[inner], start[inner]])
    order = np.lexsort(keys.T[::-1])
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    test = np.empty(len(order), dtype=np.int64)
    test[order] = np.cumsum(is_new) - 1
    chosen = order[is_new]
    slot = np.empty(len(chosen), dtype=np.int64)
    slot[np.argsort(first_leaf[inner[chosen]], kind="stable")] = np.arange(len(chosen))
    literal = np.full(tree.n_nodes, -1, dtype=np.int64)
    literal[tree.children_left[inner]] = 2 * slot[test]
    literal[tree.children_right[inner]] = 2 * slot[test] + 1
    n_limits = np.bincount(column[chosen][start[inner[chosen]] < 0], minlength=len(features))
    tests = Tests(
        slot=slot,
        first=np.searchsorted(column[chosen], np.arange(len(features) + 1)),
        n_limits=n_limits,
        most_limits=int(n_limits.max(initial=0)),
        limit=limit[chosen].astype(tree.dtype),
        missing_left=tree.missing_left[inner[chosen]],
        table_start=start[inner[chosen]],
        table=table,
        takes_missing=tree.accepts_missing[features],
    )
    return features, tests, literal


def make_literals(
    paths: Paths,
    literal: NDArray[np.int64],
    conditions: Conditions,
    rules: NDArray[np.int64],
    cells: NDArray[np.int64],
    is_paired: bool,
) -> RuleLiterals:
    """The firm and open literals of some rules."""
    listed = np.zeros(paths.n_rules, dtype=bool)
    listed[rules] = True
    among = listed[paths.rule] & ~conditions.deleted
    firm_offsets, firm = _gather(paths, literal, rules, among & ~conditions.opened)
    return RuleLiterals(
        firm_offsets,
        firm,
        int(np.diff(firm_offsets).max(initial=0)),
        _shared_prefixes(firm_offsets, firm),
        *_gather(paths, literal, rules, among & conditions.opened),
        cells,
        is_paired,
    )


def _gather(
    paths: Paths, literal: NDArray[np.int64], rules: NDArray[np.int64], chosen: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The literals of chosen entries, and where those of each rule begin."""
    sizes = np.bincount(paths.rule[chosen], minlength=paths.n_rules)[rules]
    return np.concatenate([[0], np.cumsum(sizes)]), literal[paths.links[chosen]]


def _shared_prefixes(offsets: NDArray[np.int64], literals: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many first literals each rule shares with the one before."""
    sizes = np.diff(offsets)
    shared = np.zeros(len(sizes), dtype=np.int64)
    alive = np.arange(1, len(sizes))
    for place in range(int(sizes.max(initial=0))):
        alive = alive[np.minimum(sizes[alive], sizes[alive - 1]) > place]
        alive = alive[literals[offsets[alive] + place] == literals[offsets[alive - 1] + place]]
        shared[alive] = place + 1
    return shared


def make_preorder(tree: Tree, paths: Paths, literal: NDArray[np.int64]) -> Preorder:
    """The nodes of the tree, left subtree before right subtree, as the kernels visit them."""
    size = np.ones(tree.n_nodes, dtype=np.int64)
    for inner in reversed(tree.inner_levels):
        size[inner] += size[tree.children_left[inner]] + size[tree.children_right[inner]]
    place = np.zeros(tree.n_nodes, dtype=np.int64)
    for inner in tree.inner_levels:
        place[tree.children_left[inner]] = place[inner] + 1
        place[tree.children_right[inner]] = place[inner] + 1 + size[tree.children_left[inner]]
    node = np.empty(tree.n_nodes, dtype=np.int64)
    node[place] = np.arange(tree.n_nodes)
    rule = np.full(tree.n_nodes, -1, dtype=np.int64)
    rule[paths.leaf_ids] = np.arange(paths.n_rules)
    return Preorder(
        depth=tree.node_depth[node],
        literal=literal[node],
        beyond=np.arange(tree.n_nodes) + size[node],
        rule=rule[node],
    )
