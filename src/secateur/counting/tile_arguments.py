"""Rules as the counting kernels read them: the distinct tests of a tree, each condition as a side of one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secateur.kernels.tiles import SPLIT_TESTS, TILE_ROWS, TILE_WORDS, Preorder, Room, RuleConditions, Tests
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

NO_NODES = Preorder(*np.zeros((4, 0), dtype=np.int64))


@dataclass(frozen=True)
class Conditions:
    """Which conditions of rules are deleted and which are open; the others are firm."""

    deleted: NDArray[np.bool_]  # shape (n_entries,)
    opened: NDArray[np.bool_]
    among: NDArray[np.bool_]  # the rules to count, shape (n_rules,)


def make_tests(tree: Tree) -> tuple[NDArray[np.int64], Tests, NDArray[np.int64]]:
    """List the tested features, the distinct tests in their terms, and the condition of the link into each node."""
    inner = np.flatnonzero(~tree.is_leaf)
    first_leaf, _ = tree.leaf_runs
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
    condition_of = np.full(tree.n_nodes, -1, dtype=np.int64)
    condition_of[tree.children_left[inner]] = 2 * slot[test]
    condition_of[tree.children_right[inner]] = 2 * slot[test] + 1
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
    return features, tests, condition_of


def make_rule_conditions(
    paths: Paths,
    condition_of: NDArray[np.int64],
    conditions: Conditions,
    rules: NDArray[np.int64],
    cells: NDArray[np.int64],
    is_paired: bool,
) -> RuleConditions:
    """List the firm and the open conditions of some rules, given the condition of the link into each node."""

    def gather(chosen: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the chosen conditions of each rule begin, and these conditions."""
        sizes = np.bincount(paths.rule[chosen], minlength=paths.n_rules)[rules]
        return np.concatenate([[0], np.cumsum(sizes)]), condition_of[paths.links[chosen]]

    listed = np.zeros(paths.n_rules, dtype=bool)
    listed[rules] = True
    among = listed[paths.rule] & ~conditions.deleted
    offsets, firm = gather(among & ~conditions.opened)
    longest, shared = int(np.diff(offsets).max(initial=0)), _find_shared(offsets, firm)
    return RuleConditions(offsets, firm, longest, shared, *gather(among & conditions.opened), cells, is_paired)


def _find_shared(offsets: NDArray[np.int64], conditions: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many first conditions each rule shares with the rule before it."""
    sizes = np.diff(offsets)
    shared = np.zeros(len(sizes), dtype=np.int64)
    alive = np.arange(1, len(sizes))
    for place in range(int(sizes.max(initial=0))):
        alive = alive[np.minimum(sizes[alive], sizes[alive - 1]) > place]
        alive = alive[conditions[offsets[alive] + place] == conditions[offsets[alive - 1] + place]]
        shared[alive] = place + 1
    return shared


def keep_asked(tests: Tests, conditions: RuleConditions) -> tuple[Tests, RuleConditions]:
    """Leave out the tests that no condition of the rules is about."""
    is_asked = np.zeros(len(tests.slot), dtype=bool)
    is_asked[conditions.firm >> 1] = is_asked[conditions.open >> 1] = True
    slot = np.cumsum(is_asked) - 1
    kept = is_asked[tests.slot]
    n_before = np.concatenate([[0], np.cumsum(kept)])
    begin = tests.first[:-1]
    n_limits = n_before[begin + tests.n_limits] - n_before[begin]

    def renumber(asked: NDArray[np.int64]) -> NDArray[np.int64]:
        numbers: NDArray[np.int64] = 2 * slot[asked >> 1] + (asked & 1)
        return numbers

    fewer = tests._replace(
        slot=slot[tests.slot[kept]],
        first=n_before[tests.first],
        n_limits=n_limits,
        most_limits=int(n_limits.max(initial=0)),
        limit=tests.limit[kept],
        missing_left=tests.missing_left[kept],
        table_start=tests.table_start[kept],
    )
    return fewer, conditions._replace(firm=renumber(conditions.firm), open=renumber(conditions.open))


def make_preorder(tree: Tree, paths: Paths, condition_of: NDArray[np.int64]) -> Preorder:
    """List the nodes as the kernels visit them: left subtree before right subtree."""
    size = np.ones(tree.n_nodes, dtype=np.int64)
    for inner in reversed(tree.inner_levels):
        size[inner] += size[tree.children_left[inner]] + size[tree.children_right[inner]]
    place = np.zeros(tree.n_nodes, dtype=np.int64)
    for inner in tree.inner_levels:
        place[tree.children_left[inner]] = place[inner] + 1
        place[tree.children_right[inner]] = place[inner] + 1 + size[tree.children_left[inner]]
    node = np.argsort(place)
    rule = np.full(tree.n_nodes, -1, dtype=np.int64)
    rule[paths.leaf_ids] = np.arange(paths.n_rules)
    beyond = np.arange(tree.n_nodes) + size[node]
    return Preorder(tree.node_depth[node], condition_of[node], beyond, rule[node])


def make_room(tests: Tests, longest: int, depth: int, n_classes: int) -> Room:
    """Allocate room for a thread to count rules of up to ``longest`` firm conditions."""
    sizes = tests.most_limits, len(tests.limit), depth + 1, n_classes, 1 << SPLIT_TESTS, longest + 1
    masks = (np.zeros((size, TILE_WORDS), dtype=np.uint64) for size in sizes)
    n_columns = len(tests.n_limits)
    return Room(np.zeros((n_columns, TILE_ROWS), dtype=tests.limit.dtype), np.zeros(TILE_ROWS, dtype=np.int32), *masks)
