"""`budgeted`: as many conditions as possible under a ceiling of conflicting rows.

Starts from the exact deletions. Then it repeatedly deletes the condition that brings the smallest further share of rows
into conflict (covered by rules of different classes), as long as the ceiling holds, both on the training rows and on
their mixture with shuffled copies from :mod:`secateur.methods.row_mixture`. Every row stays covered by its own leaf's
rule, so the rules can differ from the tree only on conflicting rows. Exact deletions come without the guard
(:class:`_Guard`): they may move a reliability, by admitting less pure leaves of the class. Ties go to the condition
whose deletion meets the fewest further leaves of another class, then to source order, then to the one nearest the root.

What an entry costs is the units of the rows that its deletion would bring into conflict: rows of another class, not in
conflict yet, that violate this one of the rule's kept conditions and no other. The rows that violate a condition are
masks of bits, costs are counted from these, and rows that come into conflict are compared with all rules.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.counting.masks import Masks, pack_bits, unpack_bits
from secateur.errors import ParameterError
from secateur.kernels import walks
from secateur.kernels.running import PLAIN_ENTRIES, as_lists, compile_module, is_soon_done, make_box, make_walkable
from secateur.methods.contract import Asks, Deletions, Method, Problem, Tunable, Why, amount, share
from secateur.methods.row_mixture import CodedSplits, MixedRows, mix_rows
from secateur.tree.paths import Paths
from secateur.tree.shares import compare_reliability, divide_or_nan
from secateur.tree.tree import Tree

NOT_BLOCKED = -1
SUM_TOLERANCE = 1e-9  # sums of weights that were taken in different orders differ by less than this share
MOST_RULES = 5_000  # time grows with the square of the leaves: 3,676 leaves and 30,000 rows take 17 s
MASK_BYTES = 1 << 28  # of the masks that are kept
MOST_VALUES = 8  # up to so many different prices of a row, masks are counted; else rows are added up one by one
MOST_CELLS = 1 << 24  # rows are compared with all conditions for so many pairs at a time

plain: Any = walks  # its functions have no types


def spend_budget(
    tree: Tree,
    paths: Paths,
    mixture: MixedRows,
    counted: tuple[NDArray[np.float64], NDArray[np.float64]],
    implied: NDArray[np.bool_],
    is_open: NDArray[np.bool_],
    budget: float,
    tolerance: float,
) -> tuple[Deletions, NDArray[np.float64]]:
    """Delete further entries of the open rules, cheapest first, while the budget holds and the guard allows it.

    An entry that does not fit never will: rows in conflict stay there, and a rule only grows. An entry that the guard
    rejects waits until its own rule has changed, or the one that would contradict it. Given are the training rows that
    rules and their leaves cover by class, after the implied deletions; those of the rules in the end come back, too.
    """
    if paths.n_rules > MOST_RULES:
        raise ParameterError(
            f"'budgeted' takes trees of at most {MOST_RULES:,} leaves, and this one has {paths.n_rules:,}: fit it with "
            "max_leaf_nodes, or use 'mismatch'."
        )
    deleted = implied.copy()
    candidates = np.flatnonzero(~deleted & is_open[paths.rule])
    prices = _Prices(tree, paths, mixture, deleted, candidates)
    guard = _Guard(tree, paths, *counted, deleted, tolerance)
    limits = mixture.limits(budget)
    cost, real_cost = prices.cost, prices.real_cost
    waits = np.zeros(len(deleted), dtype=bool)
    waits[candidates] = True
    heap = [(price, 0, entry) for price, entry in zip(cost[candidates].tolist(), candidates.tolist(), strict=True)]
    heapq.heapify(heap)
    spent, gone = [0, 0], []
    while heap:
        price, further, entry = heapq.heappop(heap)
        if not waits[entry] or price > cost[entry]:  # it is in the heap with what it costs now, too
            continue
        is_tied = bool(heap) and heap[0][0] == price
        now = int(cost[entry]), guard.count_further(entry) if is_tied or further else 0
        if now != (price, further):
            heapq.heappush(heap, (*now, entry))
            continue
        if spent[0] + price > limits[0]:
            break
        rule = int(paths.rule[entry])
        waits[entry] = False
        if spent[1] + real_cost[entry] > limits[1]:
            continue
        found = prices.look(entry, deleted)
        if not guard.allows(entry, found.admitted):
            continue
        spent[0], spent[1] = spent[0] + price, spent[1] + int(real_cost[entry])
        gone.append(entry)
        deleted[entry] = True
        again = guard.admit(rule, found.admitted)
        waits[again] = True
        own = np.arange(paths.offsets[rule], paths.offsets[rule + 1])
        for other in {*prices.delete(entry, found, deleted), *again.tolist(), *own.tolist()}:
            if waits[other]:
                heapq.heappush(heap, (int(cost[other]), 0, other))
    result = _explain(paths, mixture, prices, guard, np.array(gone, dtype=np.int64), limits)
    unsupported = ~implied & ~is_open[paths.rule]
    result.keep(unsupported, Why.NO_ROWS)
    result.delete(implied, Why.NO_FOREIGN_LEAF)
    result.forget(implied | unsupported)
    return result, guard.counts


def _explain(
    paths: Paths, mixture: MixedRows, prices: _Prices, guard: _Guard, gone: NDArray[np.int64], limits: tuple[int, int]
) -> Deletions:
    """Say what deletions cost, as shares; of a kept entry, what is in conflict in the end, and if it went, too."""
    cost, real_cost = prices.cost, prices.real_cost
    spent_then = np.cumsum(cost[gone])
    spent, real_spent = cost[gone].sum(), real_cost[gone].sum()
    result = Deletions.keep_all(paths, Why.OVER_BUDGET)
    result.before[:], result.after[:] = spent / mixture.mixed_total, (spent + cost) / mixture.mixed_total
    result.number[:] = (real_spent + real_cost) / mixture.real_total
    result.delete(gone, Why.WITHIN_BUDGET)
    result.before[gone] = (spent_then - cost[gone]) / mixture.mixed_total
    result.after[gone], result.number[gone] = spent_then / mixture.mixed_total, real_cost[gone] / mixture.real_total
    # An entry that was set aside may have become too dear since.
    guarded = (guard.blocked_by != NOT_BLOCKED) & (spent + cost <= limits[0]) & (real_spent + real_cost <= limits[1])
    result.keep(guarded, Why.TOO_UNRELIABLE)
    result.before[guarded], result.after[guarded] = guard.leaf_reliability[paths.rule[guarded]], guard.trial[guarded]
    result.number[guarded] = np.nan
    twinned = guarded & (guard.blocked_by != paths.rule)
    result.keep(twinned, Why.CONTRADICTED)
    result.node[twinned] = paths.leaf_ids[guard.blocked_by[twinned]]
    return result


class _Found(NamedTuple):
    """What deleting an entry would do."""

    newly: Masks  # rows that come into conflict
    admitted: NDArray[np.float64]  # training rows that are let in, by their own class


class _Prices:
    """What deleting each candidate costs, in units, by masks of the rows that violate each condition.

    Of a deleted one: what was paid for it.
    """

    def __init__(
        self, tree: Tree, paths: Paths, mixture: MixedRows, deleted: NDArray[np.bool_], candidates: NDArray[np.int64]
    ) -> None:
        self._tree, self._paths, self._mixture, self._candidates = tree, paths, mixture, candidates
        self._splits = CodedSplits(tree, mixture.coded)
        self._class_ids = mixture.spread(paths.leaf_class)
        self.cost, self.real_cost = np.zeros((2, len(paths.links)), dtype=np.int64)
        self._rows = pack_bits(np.ones(mixture.n_rows, dtype=bool))
        self._foreign = [pack_bits(self._class_ids != class_id) for class_id in range(tree.n_classes)]
        self._trained = pack_bits(mixture.is_trained)
        units = np.stack([mixture.mixed_units, mixture.real_units])
        self._values, value_of_kind = np.unique(units, axis=1, return_inverse=True)
        is_short = self._values.shape[1] <= MOST_VALUES
        numbers = value_of_kind.ravel()[mixture.kind] if is_short else np.zeros(0)
        self._of_value = [pack_bits(numbers == value) for value in range(self._values.shape[1] if is_short else 0)]
        self._conflict = np.zeros_like(self._rows)
        self._kept_masks: dict[int, Masks] = {}
        self._count_all(deleted)

    def look(self, entry: int, deleted: NDArray[np.bool_]) -> _Found:
        """Mask the rows that a deletion brings into conflict, and add up the training rows that it lets in by class."""
        kept, fails, alone = self._look(int(self._paths.rule[entry]), deleted)
        let_in = alone & fails[kept.tolist().index(entry)]
        newly = let_in & self._foreign[self._paths.leaf_class[self._paths.rule[entry]]] & ~self._conflict
        kind = self._mixture.kind[np.flatnonzero(unpack_bits(let_in & self._trained, self._mixture.n_rows))]
        label, weight = self._mixture.label[kind], self._mixture.weight[kind]
        return _Found(newly, np.bincount(label, weight, minlength=self._tree.n_classes).astype(np.float64))

    def delete(self, entry: int, found: _Found, deleted: NDArray[np.bool_]) -> list[int]:
        """Bring rows into conflict, which makes other deletions cheaper; tell which ones."""
        newly, before, paid = found.newly, self.cost.copy(), (self.cost[entry], self.real_cost[entry])
        rows = np.flatnonzero(unpack_bits(newly, self._mixture.n_rows))
        self._conflict |= newly
        if len(rows) > len(self._conflict):
            self._count_all(deleted)
        else:
            step = max(1, MOST_CELLS // len(deleted))
            for first in range(0, len(rows), step):
                self._take_off(rows[first : first + step], deleted, entry)
            self._count(int(self._paths.rule[entry]), deleted)
        self.cost[entry], self.real_cost[entry] = paid
        return np.flatnonzero(self.cost < before).tolist()

    def _look(self, rule: int, deleted: NDArray[np.bool_]) -> tuple[NDArray[np.int64], Masks, Masks]:
        """List the kept entries of a rule, and mask the rows that violate each, and those that violate one alone."""
        span = self._paths.entries(rule)
        kept = span.start + np.flatnonzero(~deleted[span])
        fails = np.stack([self._fail(link) for link in self._paths.links[kept].tolist()])
        once, twice = fails[0].copy(), np.zeros_like(fails[0])
        for mask in fails[1:]:
            twice |= once & mask
            once |= mask
        return kept, fails, once & ~twice

    def _fail(self, link: int) -> Masks:
        """Mask the rows that do not go along a link."""
        if link not in self._kept_masks:
            if len(self._kept_masks) * self._rows.nbytes > MASK_BYTES:
                self._kept_masks.clear()
            node = int(self._paths.parent[link])
            nodes = np.array([node])
            left = pack_bits(self._splits.go_left(nodes, self._mixture.coded.codes[self._splits.column[nodes]])[0])
            self._kept_masks[int(self._tree.children_right[node])] = left
            self._kept_masks[int(self._tree.children_left[node])] = self._rows & ~left
        return self._kept_masks[link]

    def _count_all(self, deleted: NDArray[np.bool_]) -> None:
        for rule in np.unique(self._paths.rule[self._candidates[~deleted[self._candidates]]]).tolist():
            self._count(rule, deleted)

    def _count(self, rule: int, deleted: NDArray[np.bool_]) -> None:
        """Find what each condition of a rule costs."""
        if deleted[self._paths.entries(rule)].all():
            return
        kept, fails, alone = self._look(rule, deleted)
        newly = fails & (alone & self._foreign[self._paths.leaf_class[rule]] & ~self._conflict)
        if self._of_value:
            n_rows = np.stack([np.bitwise_count(newly & mask).sum(axis=1, dtype=np.int64) for mask in self._of_value])
            self.cost[kept], self.real_cost[kept] = self._values @ n_rows
            return
        for entry, mask in zip(kept.tolist(), newly, strict=True):
            kind = self._mixture.kind[np.flatnonzero(unpack_bits(mask, self._mixture.n_rows))]
            self.cost[entry] = self._mixture.mixed_units[kind].sum()
            self.real_cost[entry] = self._mixture.real_units[kind].sum()

    def _take_off(self, rows: NDArray[np.int64], deleted: NDArray[np.bool_], gone: int) -> None:
        """Take the price of some rows off every entry that alone kept them out; the rule of one entry is passed by."""
        paths, tree = self._paths, self._tree
        codes, kind = self._mixture.coded.codes[:, rows], self._mixture.kind[rows]
        left = self._splits.go_left(np.arange(tree.n_nodes), codes[self._splits.column])
        kept = self._candidates[~deleted[self._candidates]]
        kept = kept[paths.rule[kept] != paths.rule[gone]]
        if not len(kept):
            return
        is_first = np.diff(paths.rule[kept], prepend=-1) > 0
        begin, number = np.flatnonzero(is_first), np.cumsum(is_first) - 1
        fails = left[paths.parent[paths.links[kept]]] != paths.is_left[paths.links[kept]][:, None]
        matters = np.add.reduceat(fails, begin, axis=0, dtype=np.int32) == 1
        matters &= self._class_ids[rows] != paths.leaf_class[paths.rule[kept[begin]]][:, None]
        alone = fails & matters[number]
        self.cost[kept] -= alone @ self._mixture.mixed_units[kind]
        self.real_cost[kept] -= alone @ self._mixture.real_units[kind]


@dataclass
class _Guard:
    """What keeps rules honest while a budget is spent.

    It rejects a deletion that would leave a rule too unreliable on the training rows, or that would let it say the
    opposite of a rule with the same conditions. Ties go to the entry whose deletion meets the fewest further leaves.
    """

    tree: Tree
    paths: Paths
    counts: NDArray[np.float64]  # training rows that each rule covers, by their own class
    leaf_counts: NDArray[np.float64]  # of the rules' leaves
    deleted: NDArray[np.bool_]  # follows the deletions
    tolerance: float

    def __post_init__(self) -> None:
        paths, n_entries = self.paths, len(self.paths.links)
        own = np.arange(paths.n_rules), paths.leaf_class
        self.leaf_reliability = divide_or_nan(self.leaf_counts[own], self.leaf_counts.sum(axis=1))
        self.counts = self.counts.astype(np.float64)  # a copy
        self.blocked_by = np.full(n_entries, NOT_BLOCKED, dtype=np.int32)  # the rule whose change an entry waits for
        self.trial = np.full(n_entries, np.nan)  # the rule's reliability without an entry, when it was last tried
        self._further = np.full(n_entries, -1, dtype=np.int64)  # -1 for not counted
        self._met = np.full(paths.n_rules, -1, dtype=np.int64)  # leaves of another class that a rule meets
        self._awaiting: dict[int, set[int]] = {}  # entries that another rule blocked once
        self._arrays = make_walkable(self.tree, paths), make_box(self.tree)
        self._lists = [as_lists(one) for one in (*self._arrays, paths.links)]

    def count_further(self, entry: int) -> int:
        """Count the further leaves of another class that a rule would meet without an entry."""
        if self._further[entry] < 0:
            rule = int(self.paths.rule[entry])
            if self._met[rule] < 0:
                self._met[rule] = self._count_met(rule, -1)
            self._further[entry] = self._count_met(rule, entry) - self._met[rule]
        return int(self._further[entry])

    def _count_met(self, rule: int, entry: int) -> int:
        span = self.paths.entries(rule)
        place = span.start, span.stop, self.deleted, entry, int(self.paths.leaf_class[rule])
        if is_soon_done("count_foreign", span.stop - span.start, 8 * PLAIN_ENTRIES):
            return int(plain.count_foreign(*self._lists, *place))
        return int(compile_module(walks).count_foreign(*self._arrays, self.paths.links, *place))

    def allows(self, entry: int, admitted: NDArray[np.float64]) -> bool:
        """Whether a rule that loses an entry, and lets rows in, is reliable and contradicted by no other."""
        rule = int(self.paths.rule[entry])
        own, counts = int(self.paths.leaf_class[rule]), (self.counts[rule] + admitted).tolist()
        self.trial[entry] = counts[own] / sum(counts)
        self.blocked_by[entry] = rule
        above = self.trial[entry] - self.leaf_reliability[rule] + self.tolerance
        if abs(above) <= SUM_TOLERANCE:  # fractions decide
            above = compare_reliability(np.array([counts]), self.leaf_counts[[rule]], [own], self.tolerance)[0]
        is_reliable = above >= 0  # not if one of both has no rows
        if counts[own] < max(counts) or not is_reliable:
            return False
        self.deleted[entry] = True  # for this question
        self.blocked_by[entry] = self._find_twin(rule, counts)
        self.deleted[entry] = False
        if self.blocked_by[entry] == NOT_BLOCKED:
            return True
        self._awaiting.setdefault(int(self.blocked_by[entry]), set()).add(entry)
        return False

    def admit(self, rule: int, admitted: NDArray[np.float64]) -> NDArray[np.int64]:
        """Let rows into a rule that lost an entry; return the entries that waited for it to change."""
        own = np.arange(self.paths.offsets[rule], self.paths.offsets[rule + 1])
        self.counts[rule] += admitted
        self._further[own] = self._met[rule] = -1
        waiting = [entry for entry in self._awaiting.pop(rule, ()) if self.blocked_by[entry] == rule]
        again = np.unique(np.append(own[self.blocked_by[own] != NOT_BLOCKED], np.array(waiting, dtype=np.int64)))
        self.blocked_by[again] = NOT_BLOCKED
        return again

    def _find_twin(self, rule: int, counts: list[float]) -> int:
        """Find a rule of another class with the same conditions as a rule that lets rows in, else NOT_BLOCKED.

        Both would cover the same rows, and both classes would be the commonest of them: so only ties are looked into.
        """
        own = int(self.paths.leaf_class[rule])
        slack = SUM_TOLERANCE * counts[own]
        if all(k == own or count < counts[own] - slack for k, count in enumerate(counts)):
            return NOT_BLOCKED
        is_equal = (np.abs(self.counts - counts) <= slack).all(axis=1) & (self.paths.leaf_class != own)
        for twin in np.flatnonzero(is_equal).tolist():
            if self._implies(rule, twin) and self._implies(twin, rule):
                return int(twin)
        return NOT_BLOCKED

    def _implies(self, rule: int, other: int) -> bool:
        """Whether all kept conditions of another rule follow from those of a rule."""
        walk, box, links = self._lists
        span, others = self.paths.entries(rule), self.paths.entries(other)
        for entry in np.flatnonzero(~self.deleted[others]).tolist():
            link = links[others.start + entry]
            node, tested = walk.parent[link], walk.feature[walk.parent[link]]
            plain.meet_feature(walk, box, links, span.start, span.stop, self.deleted, tested)
            plain.narrow(walk, box, node, not walk.is_left[link])
            is_outside = plain.has_value(walk, box, tested)  # some values that the rule allows are on the other side
            plain.open_feature(walk, box, tested)
            if is_outside:
                return False
        return True


# The values of δ that a slider has and a selection tries.
CONFLICTS = (0.0, 0.0025, 0.005, 0.0075, 0.01, 0.0125, 0.015, 0.0175, 0.02, 0.025, 0.03, 0.04, 0.05)

WITHIN_CONFLICT = (
    "Every row stays covered, and rules that cover a row and agree give the tree's answer. On the training rows they "
    "disagree on at most {max_conflict:.4g} of all (by weight), so the rest is predicted as the tree does. On other "
    "rows that share is an estimate, not a bound."
)
GUARD = (
    "No deletion that brings rows into conflict leaves a rule's training reliability more than {tolerance:g} below its "
    "leaf's, or another class more common among its training rows."
)


@dataclass(frozen=True)
class Budgeted(Method):
    """The exact layer, then as many deletions as the ceiling of conflict allows."""

    max_conflict: float = share(0.015)
    smoothing: float = amount(1000)
    tolerance: float = share(0.05)

    name = "budgeted"
    summary = "exact deletion, then whatever brings the fewest rows into conflict, up to max_conflict"
    preserves = "the class on all but a share of rows, max_conflict"
    guarantee = f"{WITHIN_CONFLICT} {GUARD}"
    tolerance_of = "of deletions that bring rows into conflict; the method does not hold its exact ones to it"
    asks = Asks.ROWS
    strictness = 80
    gives = frozenset(
        {Why.NO_FOREIGN_LEAF, Why.WITHIN_BUDGET, Why.OVER_BUDGET, Why.TOO_UNRELIABLE, Why.CONTRADICTED, Why.NO_ROWS}
    )
    tunable = Tunable("max_conflict", CONFLICTS)

    def delete(self, problem: Problem) -> Deletions:
        """Run the exact layer, then delete up to the ceiling."""
        tree, paths, rows = problem.tree, problem.paths, problem.listed_rows
        if not len(paths.links):
            return Deletions.keep_all(paths, Why.NOT_CERTIFIED, has_numbers=False)
        implied = problem.find_exact()
        counted = rows.count(paths, implied)
        mixture = mix_rows(tree, paths, rows.listed, self.smoothing)
        reached = np.append(0, np.cumsum(mixture.real))
        is_open = reached[mixture.last[paths.leaf_ids]] > reached[mixture.first[paths.leaf_ids]]
        del reached
        limits = self.max_conflict, self.tolerance
        result, counts = spend_budget(tree, paths, mixture, counted, implied, is_open, *limits)
        rows.remember(result.deleted, counts, counted[1])
        return result


METHODS = (Budgeted(),)
