"""Spend a budget of conflicting rows on deletions: set up the arrays of the kernels, and grow them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from secateur.counting.bit_masks import pack_bits
from secateur.kernels import budget as budget_kernels
from secateur.kernels.budget import HEAP_SIZE, MIXED_SPENT, REAL_SPENT, Accounts, Rows
from secateur.kernels.budget_guard import NOT_BLOCKED, Guard
from secateur.kernels.compiling import compile_module, is_compiled
from secateur.kernels.run_walks import make_box, make_indexed_rows, make_walkable
from secateur.methods.budget_by_masks import MOST_CELLS, spend_by_masks
from secateur.tree.shares import divide_or_nan

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

    from secateur.counting.bit_masks import Masks
    from secateur.methods.row_mixture import MixedRows
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Tree

__all__ = ["Spending", "Trained", "spend_budget"]

MAP_BYTES = 1 << 24  # of the bit maps of rows
BLOCK_ROWS = 1 << 11  # the rows of smaller subtrees are looked at together
COUNTED_PAIRS = 10**9  # pairs of a kept entry and a row up to which every kept entry is counted in full


@dataclass(frozen=True)
class Trained:
    """The training rows' own classes, and how many rows of each the rules cover before the budget is spent."""

    class_ids: NDArray[np.int64]  # of the rows that were given
    weights: NDArray[np.float64] | None
    counts: NDArray[np.float64]  # shape (n_rules, n_classes)
    leaf_counts: NDArray[np.float64]  # of the rules' leaves


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
    twin: NDArray[np.int64]  # the rule of another class that would have the same conditions; -1 if there is none
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
    candidates = np.flatnonzero(~deleted & is_open[paths.rule])
    tree_arrays = make_walkable(tree, paths), make_box(tree)
    rows = _make_rows(tree, paths, mixture, trained)
    guard = _make_guard(paths, trained, tolerance)
    accounts = _make_accounts(tree, tree_arrays[1].width, candidates, len(paths.links), len(mixture.mixed))
    path_arrays = paths.offsets, paths.links, paths.rule, paths.leaf_class
    paid, paid_real, after = (np.zeros(len(paths.links), dtype=np.int64) for _ in range(3))
    limits = np.array(mixture.limits(budget))
    is_counted = True
    # Sums of weights depend on their order, which is that of the walks.
    is_small = trained.weights is None and len(candidates) * len(mixture.mixed) <= MOST_CELLS
    if kernels is None and is_small and not is_compiled(budget_kernels):
        kept = paid, paid_real, after
        given = tree_arrays, rows, accounts, guard, candidates, deleted, limits, kept
        spend_by_masks(tree, paths, mixture, *given)
    else:
        module = compile_module(budget_kernels) if kernels is None else kernels
        spend = partial(module.spend, *tree_arrays, rows)
        while not spend(accounts, guard, *path_arrays, deleted, limits, paid, paid_real, after):
            accounts = _make_room(accounts)
        is_counted = int(np.count_nonzero(~deleted)) * len(mixture.mixed) <= COUNTED_PAIRS
        if is_counted:
            module.count_kept(*tree_arrays, rows, accounts, *path_arrays, deleted, is_open, mixture.mixed_total)
    spent, real_spent = accounts.counters[MIXED_SPENT], accounts.counters[REAL_SPENT]
    # An entry that was set aside may have become too dear since.
    is_guarded = (guard.blocked_by != NOT_BLOCKED) & (spent + accounts.cost <= limits[0])
    is_guarded &= real_spent + accounts.real_cost <= limits[1]
    return Spending(
        deleted=deleted,
        before=np.where(deleted, after - paid, spent) / mixture.mixed_total,
        after=np.where(deleted, after, spent + accounts.cost) / mixture.mixed_total,
        real=np.where(deleted, paid_real, real_spent + accounts.real_cost) / mixture.real_total,
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
        blocked_by=np.full(len(paths.links), NOT_BLOCKED, dtype=np.int64),
        is_awaited=np.zeros(paths.n_rules, dtype=bool),
        trial=np.full(len(paths.links), np.nan),
    )


def _make_rows(tree: Tree, paths: Paths, mixture: MixedRows, trained: Trained) -> Rows:
    indexed = make_indexed_rows(tree, mixture.index, mixture.class_ids, mixture.mixed)
    size = indexed.last - indexed.first
    maps, map_of, is_flipped, n_beyond = _make_maps(tree, paths, mixture)
    is_block = tree.is_leaf | (size <= BLOCK_ROWS)
    one_bit = np.append(np.uint64(1) << np.arange(64, dtype=np.uint64), np.uint64(0))
    return Rows(
        indexed=indexed,
        is_block=is_block,
        mixed=mixture.mixed,
        real=mixture.real,
        sibling=paths.sibling,
        n_beyond=n_beyond,
        maps=maps.ravel(),
        map_of=map_of,
        is_flipped=is_flipped,
        foreign=pack_bits(mixture.class_ids != np.arange(tree.n_classes)[:, None]).ravel(),
        conflict=np.zeros(-(-len(mixture.mixed) // 64), dtype=np.uint64),
        near=np.zeros(int(size[is_block].max()) // 64 + 2, dtype=np.uint64),
        one_bit=one_bit,
        from_bit=~(one_bit - np.uint64(1))[:64],
        last_watch=np.full(len(mixture.mixed), -1, dtype=np.int64),
        trained=pack_bits((mixture.source >= 0)[None]).ravel(),
        labels=trained.class_ids[mixture.source],  # a copy has none: it is never asked for
        weights=np.ones(len(mixture.source)) if trained.weights is None else trained.weights[mixture.source],
    )


def _make_maps(
    tree: Tree, paths: Paths, mixture: MixedRows
) -> tuple[Masks, NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Map the rows up to some thresholds as bits; find for each link a map that holds all its rows, and about how many.

    Where memory does not suffice for all thresholds of a feature, evenly spaced ones get a map. Categories and features
    that may be missing get none: their rows are looked at one by one.
    """
    most = max(1, MAP_BYTES * 8 // (len(mixture.mixed) * len(mixture.index.columns)))
    maps = [np.zeros((0, -(-len(mixture.mixed) // 64)), dtype=np.uint64)]
    map_of = np.full(tree.n_nodes, -1, dtype=np.int64)
    n_beyond = np.full(tree.n_nodes, len(mixture.mixed), dtype=np.int64)
    filled = 0
    for column, feature in enumerate(mixture.index.columns):
        if tree.categories[feature] is not None or tree.accepts_missing[feature]:
            continue
        values = mixture.index.values[:, column].copy()  # side by side
        nodes = np.flatnonzero(tree.feature == feature)
        limits = np.unique(tree.upper[nodes])
        mapped = limits[np.unique(np.linspace(0, len(limits) - 1, min(most, len(limits))).round().astype(np.int64))]
        maps += [pack_bits(values <= limit)[None] for limit in mapped.astype(values.dtype)]
        left, right = tree.children_left[nodes], tree.children_right[nodes]
        above = np.searchsorted(mapped, tree.upper[nodes], side="left")
        below = np.searchsorted(mapped, tree.upper[nodes], side="right") - 1
        map_of[left] = np.where(above < len(mapped), filled + above, -1)
        map_of[right] = np.where(below >= 0, filled + below, -1)
        n_beyond[left] = np.searchsorted(np.sort(values), tree.upper[nodes], side="right")
        n_beyond[right] = len(values) - n_beyond[left]
        filled += len(mapped)
    return np.concatenate(maps), map_of, ~paths.is_left, n_beyond


def _make_accounts(tree: Tree, width: int, candidates: NDArray[np.int64], n_entries: int, n_rows: int) -> Accounts:
    """Open all accounts at zero; every candidate is in the heap, in the order of entries."""
    heap = np.zeros(n_entries, dtype=np.int64)
    heap[: len(candidates)] = candidates
    place = np.full(n_entries, -1, dtype=np.int64)
    place[candidates] = np.arange(len(candidates))
    counters = np.zeros(5, dtype=np.int64)
    counters[HEAP_SIZE] = len(candidates)
    levels = tree.depth + 2
    return Accounts(
        cost=np.zeros(n_entries, dtype=np.int64),
        real_cost=np.zeros(n_entries, dtype=np.int64),
        further=np.zeros(n_entries, dtype=np.int64),
        is_settled=np.zeros(n_entries, dtype=bool),
        is_ranked=np.zeros(n_entries, dtype=bool),
        version=np.zeros(n_entries, dtype=np.int32),
        heap=heap,
        place=place,
        watch_entry=np.zeros(2 * n_rows, dtype=np.int32),
        watch_version=np.zeros(2 * n_rows, dtype=np.int32),
        watch_before=np.zeros(2 * n_rows, dtype=np.int32),
        kept=np.zeros(levels, dtype=np.int64),
        newly=np.zeros(n_rows, dtype=np.int64),
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


def _make_room(accounts: Accounts) -> Accounts:
    """Make room for twice as many watches."""
    size = 2 * len(accounts.watch_entry)
    watches = ("watch_entry", "watch_version", "watch_before")
    for name in watches:  # one after another, so that only one of them is there twice
        larger = np.zeros(size, dtype=np.int32)
        larger[: size // 2] = getattr(accounts, name)
        accounts = accounts._replace(**{name: larger})
    return accounts
