"""Spend a budget of conflicting rows with numpy, for problems that are done before the kernels would be compiled.

Every open condition has a mask of the rows that its deletion would bring into conflict, so that its cost is always
known in full. What is deleted, in which order, and every number is as :mod:`secateur.kernels.budget` has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.counting.bit_masks import pack_links, unpack_bits
from secateur.kernels import budget, budget_guard
from secateur.kernels.budget import HEAP_SIZE, LEAVES, MIXED_SPENT, MODE, N_DELETED, REAL_SPENT
from secateur.kernels.budget_guard import NOT_BLOCKED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.kernels.budget import Accounts, Rows
    from secateur.kernels.budget_guard import Guard
    from secateur.kernels.walks import Box, Walkable
    from secateur.methods.row_mixture import MixedRows
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Tree

__all__ = ["MOST_CELLS", "spend_by_masks"]

# Pairs of a condition and a row; each takes three bytes.
MOST_CELLS = 1 << 25

plain: Any = budget  # its functions have no types, as they are compiled elsewhere
plain_guard: Any = budget_guard


class _Masks:
    """For each candidate, the rows that it alone keeps out of its rule, and those of them that would be in conflict."""

    def __init__(
        self, tree: Tree, paths: Paths, mixture: MixedRows, deleted: NDArray[np.bool_], candidates: NDArray[np.int32]
    ) -> None:
        self.paths, self.candidates = paths, candidates
        self.class_ids, self.mixed, self.real = mixture.class_ids, mixture.mixed, mixture.real
        self.is_trained = mixture.is_trained
        self.place = np.full(len(paths.links), -1, dtype=np.int64)
        self.place[candidates] = np.arange(len(candidates))
        n_rows = mixture.n_rows
        links, which = np.unique(paths.links[candidates], return_inverse=True)
        masks = pack_links(tree, mixture.coded.read(), mixture.coded.features)[links]
        self.fails = ~unpack_bits(masks, n_rows)[which]
        self.in_conflict = np.zeros(n_rows, dtype=bool)
        self.n_failed = np.zeros((paths.n_rules, n_rows), dtype=np.int16)
        for place, entry in enumerate(candidates.tolist()):
            self.n_failed[paths.rule[entry]] += self.fails[place]
        self.alone = np.zeros_like(self.fails)
        self.newly = np.zeros_like(self.fails)
        self.cost, self.real_cost = (np.zeros(len(candidates), dtype=np.int64) for _ in range(2))
        for rule in np.unique(paths.rule[candidates]).tolist():
            self.count(rule, deleted)

    def count(self, rule: int, deleted: NDArray[np.bool_]) -> None:
        """Find anew what each condition of a rule would cost."""
        is_near = self.n_failed[rule] == 1
        is_foreign = (self.class_ids != self.paths.leaf_class[rule]) & ~self.in_conflict
        entries = np.arange(self.paths.offsets[rule], self.paths.offsets[rule + 1])
        places = self.place[entries[~deleted[entries]]]
        for place in places[places >= 0].tolist():
            np.logical_and(is_near, self.fails[place], out=self.alone[place])
            np.logical_and(self.alone[place], is_foreign, out=self.newly[place])
            self.cost[place] = self.mixed[self.newly[place]].sum()
            self.real_cost[place] = self.real[self.newly[place]].sum()

    def delete(self, entry: int, deleted: NDArray[np.bool_]) -> None:
        """Bring rows into conflict, which makes other deletions cheaper, and let them into the rule."""
        place, rule = self.place[entry], self.paths.rule[entry]
        rows = np.flatnonzero(self.newly[place])
        self.in_conflict[rows] = True
        shared = self.newly[:, rows]
        self.cost -= shared @ self.mixed[rows]
        self.real_cost -= shared @ self.real[rows]
        self.newly[:, rows] = False
        self.n_failed[rule] -= self.fails[place]
        self.count(rule, deleted)


def spend_by_masks(
    tree: Tree,
    paths: Paths,
    mixture: MixedRows,
    tree_arrays: tuple[Walkable, Box],
    rows: Rows,
    accounts: Accounts,
    guard: Guard,
    deleted: NDArray[np.bool_],
    limits: NDArray[np.int64],
) -> None:
    """Delete the cheapest entry that fits until none does; the arrays are those of the kernels and are filled alike.

    In the end, the accounts hold what deleting each candidate cost, or would cost if it was kept.
    """
    candidates = accounts.heap[: accounts.counters[HEAP_SIZE]].copy()
    masks = _Masks(tree, paths, mixture, deleted, candidates)
    arrays = *tree_arrays, rows, accounts, paths.links
    counters, blocked_by = accounts.counters, guard.blocked_by
    path_arrays = paths.offsets, paths.links, paths.leaf_class
    waits = np.ones(len(candidates), dtype=bool)
    further = np.full(len(candidates), -1, dtype=np.int64)  # -1 for not counted

    def count_further(place: int) -> int:
        if further[place] < 0:
            entry = int(candidates[place])
            rule = int(paths.rule[entry])
            span = int(paths.offsets[rule]), int(paths.offsets[rule + 1])
            counters[MODE] = LEAVES
            further[place] = plain.find_cost(*arrays, *span, deleted, entry, paths.leaf_class[rule], len(paths.links))[
                0
            ]
        return int(further[place])

    while waits.any():
        waiting = np.flatnonzero(waits)
        least = masks.cost[waiting].min()
        if counters[MIXED_SPENT] + least > limits[0]:
            break
        tied = waiting[masks.cost[waiting] == least].tolist()
        place = tied[0] if len(tied) == 1 else min(tied, key=lambda one: (count_further(one), one))
        waits[place] = False
        entry = int(candidates[place])
        rule = int(paths.rule[entry])
        if counters[REAL_SPENT] + masks.real_cost[place] > limits[1]:
            continue
        blocked_by[entry] = rule
        is_let_in = masks.alone[place] & masks.is_trained
        accounts.admitted[:] = np.bincount(rows.label[rows.kind[is_let_in]], minlength=tree.n_classes)
        if not plain_guard.stays_reliable(accounts, guard, rule, paths.leaf_class[rule], entry):
            continue
        deleted[entry] = True  # for this question
        twin = plain_guard.find_twin(*tree_arrays, accounts, guard, *path_arrays, deleted, rule)
        if twin >= 0:
            deleted[entry] = False
            blocked_by[entry] = twin
            continue
        blocked_by[entry] = NOT_BLOCKED
        counters[MIXED_SPENT] += masks.cost[place]
        counters[REAL_SPENT] += masks.real_cost[place]
        counters[N_DELETED] += 1
        accounts.heap[-counters[N_DELETED]] = entry
        accounts.cost[entry], accounts.real_cost[entry] = masks.cost[place], masks.real_cost[place]
        guard.counts[rule] += accounts.admitted
        masks.delete(entry, deleted)
        own = np.arange(paths.offsets[rule], paths.offsets[rule + 1])
        again = np.unique(np.append(own[blocked_by[own] != NOT_BLOCKED], np.flatnonzero(blocked_by == rule)))
        blocked_by[again] = NOT_BLOCKED
        waits[masks.place[again]] = True
        further[masks.place[own[masks.place[own] >= 0]]] = -1
    kept = ~deleted[candidates]
    accounts.cost[candidates[kept]], accounts.real_cost[candidates[kept]] = masks.cost[kept], masks.real_cost[kept]
