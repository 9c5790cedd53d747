"""Spend a budget of conflicting rows on deletions: set up the arrays of the kernels, and grow them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secateur.counting.bit_masks import pack_bits
from secateur.errors import InputError
from secateur.kernels import budget as budget_kernels
from secateur.kernels.budget import HEAP_SIZE, MIXED_SPENT, N_COUNTERS, N_DELETED, N_WATCHES, REAL_SPENT, Accounts, Rows
from secateur.kernels.budget_guard import NOT_BLOCKED, Guard
from secateur.kernels.compiling import compile_module
from secateur.kernels.run_walks import make_box, make_walkable
from secateur.methods.budget_by_masks import MOST_CELLS, spend_by_masks
from secateur.tree.shares import divide_or_nan

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

    from secateur.counting.bit_masks import Masks
    from secateur.methods.row_mixture import MixedRows
    from secateur.rows.coded_columns import CodedColumns
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Tree

__all__ = ["Spending", "Trained", "spend_budget"]

MAP_BYTES = 1 << 23  # of the bit maps of rows, unless there are so many rows that these maps for each column take more
COLUMN_MAPS = 8
BLOCK_ROWS = 1 << 11  # the rows of smaller subtrees are looked at together
WATCHES = 8  # of a row, at first
MOST_WATCHES = (1 << 31) - 1  # they are numbered by 32 bits
COUNTED_PAIRS = 10**9  # pairs of a kept entry and a row up to which every kept entry is counted in full


@dataclass(frozen=True)
class Trained:
    """How many training rows of each class the rules cover before the budget is spent."""

    counts: NDArray[np.float64]  # shape (n_rules, n_classes)
    leaf_counts: NDArray[np.float64]  # of the rules' leaves
    is_weighted: bool


@dataclass(frozen=True)
class Spending:
    """What was deleted and what it cost, as shares; one element for each entry."""

    deleted: NDArray[np.bool_]  # before, and by the budget
    # Mixed share in conflict before and after the deletion; for a kept entry, in the end and if it went too.
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    # Share of training rows that the deletion brought into conflict; for a kept entry, in conflict if it went too.
    real: NDArray[np.float64]
    is_counted: bool  # whether the numbers of kept entries were counted to the end; else they are lower bounds
    is_guarded: NDArray[np.bool_]  # kept although the budget would allow its deletion
    trial: NDArray[np.float64]  # for those, the rule's reliability without it
    twin: NDArray[np.int32]  # the rule of another class that would have the same conditions; -1 if there is none
    leaf_reliability: NDArray[np.float64]  # of each rule's leaf
    counts: NDArray[np.float64]  # training rows that each rule covers in the end, by their own class


def spend_budget(
    tree: Tree,
    paths: Paths,
    mixture: MixedRows,
    trained: Trained,
    deleted: NDArray[np.bool_],
    is_open: NDArray[np.bool_],
    budget: float,
    tolerance: float,
    kernels: ModuleType | None = None,
) -> Spending:
    """Delete further entries of the open rules, cheapest first, while the budget holds and the guard allows it."""
    deleted = deleted.copy()
    is_candidate = ~deleted & is_open[paths.rule]
    tree_arrays = make_walkable(tree, paths), make_box(tree)
    rows = _make_rows(tree, paths, mixture)
    guard = _make_guard(paths, trained, tolerance)
    accounts = _make_accounts(tree, tree_arrays[1].width, is_candidate, mixture.n_rows)
    path_arrays = paths.offsets, paths.links, paths.rule, paths.leaf_class
    limits = np.array(mixture.limits(budget))
    is_counted = True
    # Sums of weights depend on their order, which is that of the walks.
    is_small = not trained.is_weighted and int(accounts.counters[HEAP_SIZE]) * mixture.n_rows <= MOST_CELLS
    if kernels is None and is_small:
        spend_by_masks(tree, paths, mixture, tree_arrays, rows, accounts, guard, deleted, limits)
    else:
        module = compile_module(budget_kernels) if kernels is None else kernels
        while not module.spend(*tree_arrays, rows, accounts, guard, *path_arrays, deleted, limits):
            accounts = _make_room(accounts, mixture.n_rows)
        is_counted = int(np.count_nonzero(~deleted)) * mixture.n_rows <= COUNTED_PAIRS
        if is_counted:
            module.count_kept(*tree_arrays, rows, accounts, *path_arrays, deleted, is_open, mixture.mixed_total)
    del rows
    accounts = accounts._replace(watch_entry=None, watch_before=None)  # to have their memory for what comes
    return _sum_up(paths, mixture, accounts, guard, deleted, limits, is_counted=is_counted)


def _sum_up(
    paths: Paths,
    mixture: MixedRows,
    accounts: Accounts,
    guard: Guard,
    deleted: NDArray[np.bool_],
    limits: NDArray[np.int64],
    *,
    is_counted: bool,
) -> Spending:
    """Turn the units of the accounts into shares."""
    cost, real_cost, counters = accounts.cost, accounts.real_cost, accounts.counters
    spent, real_spent = counters[MIXED_SPENT], counters[REAL_SPENT]
    gone = accounts.heap[len(accounts.heap) - counters[N_DELETED] :][::-1]  # in the order of their deletion
    spent_then = np.cumsum(cost[gone])
    before, after = np.full(len(cost), spent / mixture.mixed_total), (spent + cost) / mixture.mixed_total
    before[gone], after[gone] = (spent_then - cost[gone]) / mixture.mixed_total, spent_then / mixture.mixed_total
    real = (real_spent + real_cost) / mixture.real_total
    real[gone] = real_cost[gone] / mixture.real_total
    # An entry that was set aside may have become too dear since.
    is_guarded = (guard.blocked_by != NOT_BLOCKED) & (spent + cost <= limits[0]) & (real_spent + real_cost <= limits[1])
    return Spending(
        deleted=deleted,
        before=before,
        after=after,
        real=real,
        is_counted=is_counted,
        is_guarded=is_guarded,
        trial=guard.trial,
        twin=np.where(is_guarded & (guard.blocked_by != paths.rule), guard.blocked_by, -1),
        leaf_reliability=guard.leaf_reliability,
        counts=guard.counts,
    )


def _make_guard(paths: Paths, trained: Trained, tolerance: float) -> Guard:
    own = np.arange(paths.n_rules), paths.leaf_class
    return Guard(
        tolerance=float(tolerance),
        leaf_reliability=divide_or_nan(trained.leaf_counts[own], trained.leaf_counts.sum(axis=1)),
        counts=trained.counts.astype(np.float64),  # a copy
        blocked_by=np.full(len(paths.links), NOT_BLOCKED, dtype=np.int32),
        is_awaited=np.zeros(paths.n_rules, dtype=bool),
        trial=np.full(len(paths.links), np.nan),
    )


def _make_rows(tree: Tree, paths: Paths, mixture: MixedRows) -> Rows:
    coded, size = mixture.coded, mixture.last - mixture.first
    first_code = np.zeros(tree.n_features, dtype=np.int64)
    first_code[coded.features] = np.arange(len(coded.features)) * mixture.n_rows
    table_start, table = tree.category_table
    limit_code, missing_code = coded.find_limits(tree)
    maps, map_of, n_beyond = _make_maps(tree, mixture, limit_code)
    is_block = tree.is_leaf | (size <= BLOCK_ROWS)
    one_bit = np.append(np.uint64(1) << np.arange(64, dtype=np.uint64), np.uint64(0))
    class_ids = mixture.class_ids
    return Rows(
        codes=coded.codes.ravel(),
        first_code=first_code,
        limit_code=limit_code,
        missing_code=missing_code,
        first=mixture.first,
        last=mixture.last,
        table_start=table_start,
        table=table,
        is_block=is_block,
        sibling=paths.sibling,
        n_beyond=n_beyond,
        maps=maps.ravel(),
        map_of=map_of,
        is_flipped=~paths.is_left,
        foreign=np.concatenate([pack_bits(class_ids != class_id) for class_id in range(tree.n_classes)]),
        conflict=np.zeros(-(-mixture.n_rows // 64), dtype=np.uint64),
        near=np.zeros(int(size[is_block].max()) // 64 + 2, dtype=np.uint64),
        one_bit=one_bit,
        from_bit=~(one_bit - np.uint64(1))[:64],
        last_watch=np.full(mixture.n_rows, -1, dtype=np.int32),
        trained=pack_bits(mixture.is_trained),
        kind=mixture.kind,
        mixed=mixture.mixed_units,
        real=mixture.real_units,
        label=mixture.label,
        weight=mixture.weight,
    )


def _make_maps(
    tree: Tree, mixture: MixedRows, limit_code: NDArray[np.int32]
) -> tuple[Masks, NDArray[np.int32], NDArray[np.int32]]:
    """Map the rows up to some thresholds as bits; find for each link a map that holds all its rows, and about how many.

    Where memory does not suffice for all thresholds of a feature, evenly spaced ones get a map. Categories and features
    that may be missing get none: their rows are looked at one by one.
    """
    coded, n_rows = mixture.coded, mixture.n_rows
    mapped = _choose_maps(tree, coded, limit_code, max(MAP_BYTES * 8 // n_rows, COLUMN_MAPS * len(coded.features)))
    maps = np.zeros((sum(map(len, mapped.values())), -(-n_rows // 64)), dtype=np.uint64)
    map_of = np.full(tree.n_nodes, -1, dtype=np.int32)
    n_beyond = np.full(tree.n_nodes, n_rows, dtype=np.int32)
    filled = 0
    for column, chosen in mapped.items():
        codes = coded.codes[column]
        for place, code in enumerate(chosen.tolist(), start=filled):
            maps[place] = pack_bits(codes <= code)
        nodes = np.flatnonzero(tree.feature == coded.features[column])
        own = limit_code[nodes]
        left, right = tree.children_left[nodes], tree.children_right[nodes]
        above = np.searchsorted(chosen, own, side="left")
        below = np.searchsorted(chosen, own, side="right") - 1
        map_of[left] = np.where(above < len(chosen), filled + above, -1)
        map_of[right] = np.where(below >= 0, filled + below, -1)
        n_beyond[left] = np.cumsum(np.bincount(codes, minlength=int(own.max()) + 1))[own]
        n_beyond[right] = n_rows - n_beyond[left]
        filled += len(chosen)
    return maps, map_of, n_beyond


def _choose_maps(
    tree: Tree, coded: CodedColumns, limit_code: NDArray[np.int32], n_maps: int
) -> dict[int, NDArray[np.int64]]:
    """Choose the codes up to which rows are mapped, for each column: about as many conditions lie between any two."""
    first, last = tree.leaf_runs
    uses = {}
    for column, feature in enumerate(coded.features.tolist()):
        if tree.categories[feature] is None and not tree.accepts_missing[feature]:
            nodes = np.flatnonzero(tree.feature == feature)
            uses[column] = np.cumsum(np.bincount(limit_code[nodes], (last - first)[nodes]))
    n_uses = sum(used[-1] for used in uses.values())
    chosen = {}
    for column, used in uses.items():
        most = max(1, int(n_maps * used[-1] / n_uses))
        if most >= len(used):
            chosen[column] = np.arange(len(used))
        else:
            chosen[column] = np.unique(np.searchsorted(used, (np.arange(most) + 0.5) * (used[-1] / most)))
    return chosen


def _make_accounts(tree: Tree, width: int, is_candidate: NDArray[np.bool_], n_rows: int) -> Accounts:
    """Open all accounts at zero; every candidate is in the heap, in the order of entries."""
    n_entries, candidates = len(is_candidate), np.flatnonzero(is_candidate)
    heap = np.zeros(n_entries, dtype=np.int32)
    heap[: len(candidates)] = candidates
    place = np.full(n_entries, -1, dtype=np.int32)
    place[candidates] = np.arange(len(candidates))
    counters = np.zeros(N_COUNTERS, dtype=np.int64)
    counters[HEAP_SIZE] = len(candidates)
    levels = tree.depth + 2
    return Accounts(
        cost=np.zeros(n_entries, dtype=np.int64),
        real_cost=np.zeros(n_entries, dtype=np.int64),
        further=np.zeros(n_entries, dtype=np.int32),
        is_settled=np.zeros(n_entries, dtype=bool),
        is_ranked=np.zeros(n_entries, dtype=bool),
        heap=heap,
        place=place,
        first_watch=np.zeros(n_entries, dtype=np.int32),
        # Memory is taken as they are filled, so that there may be room for many; growing would copy them.
        watch_entry=np.zeros(min(WATCHES * n_rows, MOST_WATCHES), dtype=np.int32),
        watch_before=np.zeros(min(WATCHES * n_rows, MOST_WATCHES), dtype=np.int32),
        kept=np.zeros(levels, dtype=np.int64),
        test_link=np.zeros(levels, dtype=np.int64),
        test_code=np.zeros(levels, dtype=np.int64),
        test_limit=np.zeros(levels, dtype=np.int64),
        test_missing=np.zeros(levels, dtype=np.int64),
        test_table=np.zeros(levels, dtype=np.int64),
        newly=np.zeros(n_rows, dtype=np.int32),
        admitted=np.zeros(tree.n_classes),
        is_on_path=np.zeros(tree.n_nodes, dtype=bool),
        went_left=np.zeros(levels, dtype=bool),
        is_open=np.zeros(levels, dtype=bool),
        inner_low=np.zeros(levels),
        inner_high=np.zeros(levels),
        inner_missing=np.zeros(levels, dtype=bool),
        inner_words=np.zeros(levels * width, dtype=np.uint64),
        counters=counters,
    )


def _make_room(accounts: Accounts, n_rows: int) -> Accounts:
    """Make room for more watches: those of one walk, and half as many again as there are."""
    filled = int(accounts.counters[N_WATCHES])
    size = min(filled + filled // 2 + n_rows, MOST_WATCHES)
    if size < filled + n_rows:
        raise InputError(
            f"Spending this budget would note more than {MOST_WATCHES:,} pairs of a row and a condition: pass a sample "
            "of the rows."
        )
    for name in ("watch_entry", "watch_before"):  # one after another, so that only one of them is there twice
        larger = np.zeros(size, dtype=np.int32)  # takes no memory before it is filled
        larger[:filled] = getattr(accounts, name)[:filled]
        accounts = accounts._replace(**{name: larger})
    return accounts
