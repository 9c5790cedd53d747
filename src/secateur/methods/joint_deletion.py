"""Delete conditions and drop rules together, under a budget of rows that are then decided otherwise than by the tree.

The rules of one class D are not written: what no rule covers is D. A row is decided rightly when a rule of its own
class covers it (none for D) and no rule of another does; its own class is what the tree predicts. A row that rules of
two classes cover counts as decided otherwise, although the ranking may give it its own class: so the budget holds
whoever wins.

Moves are deleting a condition, at the price of the rows then decided otherwise, and dropping a rule, at that price
divided by its conditions and one. The cheapest move that keeps to the budget is taken, both on the training rows and on
their mixture with shuffled copies from :mod:`secateur.methods.row_mixture`. A condition goes only if the rule's
training reliability stays no more than the tolerance below its leaf's, and its class the commonest of its rows. Rules
whose dropping costs nothing go at once, the longest first. Ties go to conditions before rules, then to source order.

Rows that pass the same conditions and get the same class from the tree are one *cell*. Prices are kept up to date: a
move changes what few cells are worth to a rule that newly covers them or no longer does, and only their parts of the
prices are made again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secateur.counting.bit_masks import pack_links, unpack_bits
from secateur.errors import InputError
from secateur.tree.shares import compare_reliability, divide_or_nan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.counting.bit_masks import Masks
    from secateur.methods.row_mixture import MixedRows
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Tree

__all__ = ["Cells", "JointResult", "delete_jointly", "make_cells"]

# Pairs of a condition and a cell that are looked at, a byte each.
MOST_PAIRS = 1 << 30


@dataclass(frozen=True)
class Cells:
    """Rows that no kept condition tells apart, and what they are worth together."""

    fails: NDArray[np.bool_]  # whether a cell fails each link of ``links``, shape (n_links, n_cells)
    links: NDArray[np.int32]  # the links of kept conditions, increasing
    class_ids: NDArray[np.int64]  # what the tree predicts
    weights: NDArray[np.float64]  # mixed and real units: whole numbers, so sums below 2**53 are exact in any order
    totals: tuple[int, int]  # units that make a whole
    class_counts: NDArray[np.float64]  # training rows by their own class, shape (n_cells, n_classes)
    leaf_counts: NDArray[np.float64]  # training rows of each leaf by their own class, shape (n_leaves, n_classes)


@dataclass(frozen=True)
class JointResult:
    """What was deleted and dropped, and what it cost, as shares of all rows; entries and rules are those of the tree.

    Costs are shares of the mixed rows decided otherwise before and after a move, and the share of training rows that it
    added. For a kept condition, they are what its deletion would cost in the end; ``is_guarded`` says that it would
    also cost too much reliability, and ``trial`` what it would be.
    """

    chosen: NDArray[np.int64]  # rules that stay
    deleted: NDArray[np.bool_]  # by entry: before, and by the budget
    paid: NDArray[np.bool_]  # by entry: deleted under the budget, in rules that stay
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    real: NDArray[np.float64]
    is_guarded: NDArray[np.bool_]
    trial: NDArray[np.float64]  # by entry: the rule's reliability without it
    drop_before: NDArray[np.float64]  # by rule; NaN for rules that stay or are not written
    drop_after: NDArray[np.float64]
    drop_real: NDArray[np.float64]
    rest_counts: NDArray[np.float64]  # training rows that no rule covers, by class
    disagreement: float  # share of training rows decided otherwise in the end
    mixed_disagreement: float


def make_cells(tree: Tree, paths: Paths, deleted: NDArray[np.bool_], mixture: MixedRows) -> Cells:
    """Put rows together that no condition tells apart which is kept so far."""
    links = np.unique(paths.links[~deleted])
    masks = pack_links(tree, mixture.coded.read(), mixture.coded.features)[links]
    one_of_both = np.unique(paths.parent[links], return_index=True)[1]  # who fails one link of a split passes the other
    class_ids = mixture.class_ids
    chosen, cell = _find_equal(masks[one_of_both], class_ids)
    n_cells = len(chosen)
    if int(np.count_nonzero(~deleted)) * n_cells > MOST_PAIRS:
        raise InputError(
            f"A budget weighs {int(np.count_nonzero(~deleted)):,} conditions on {n_cells:,} kinds of rows one by one, "
            "which is too much: leave budget out, prune the tree, or pass a sample of its training rows."
        )
    trained = np.flatnonzero(mixture.is_trained)
    kinds = mixture.kind[trained]
    labels, label_weights = mixture.label[kinds], mixture.weight[kinds]
    counts = np.bincount(cell[trained] * tree.n_classes + labels, label_weights, n_cells * tree.n_classes)
    reached = mixture.leaf_ids[trained]
    by_node = np.bincount(reached * tree.n_classes + labels, label_weights, tree.n_nodes * tree.n_classes)
    return Cells(
        fails=_unpack_some(masks, chosen, mixture.n_rows),
        links=links,
        class_ids=class_ids[chosen],
        weights=np.stack([np.bincount(cell, units, n_cells) for units in (mixture.mixed, mixture.real)]),
        totals=(mixture.mixed_total, mixture.real_total),
        class_counts=counts.astype(np.float64).reshape(n_cells, tree.n_classes),
        leaf_counts=by_node.astype(np.float64).reshape(tree.n_nodes, tree.n_classes)[paths.leaf_ids],
    )


def _unpack_some(masks: Masks, chosen: NDArray[np.int64], n_rows: int) -> NDArray[np.bool_]:
    """Unpack whether some rows fail each link."""
    fails = np.empty((len(masks), len(chosen)), dtype=bool)
    for link, mask in enumerate(masks):
        fails[link] = ~unpack_bits(mask, n_rows)[chosen]
    return fails


def _find_equal(masks: Masks, class_ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find a row of each kind, and the kind of each row; masks are unpacked one at a time, as there may be many."""
    kind, first = class_ids, 0
    chosen = np.zeros(0, dtype=np.int64)
    while first < len(masks) or not len(chosen):
        bits = masks[first : first + 62 - int(kind.max(initial=0)).bit_length()]  # as many as fit into a number
        for bit in bits:
            kind = (kind << 1) | unpack_bits(bit, len(class_ids))
        _, chosen, kind = np.unique(kind, return_index=True, return_inverse=True)
        first += len(bits)
    return chosen, kind


def delete_jointly(
    paths: Paths,
    deleted: NDArray[np.bool_],
    cells: Cells,
    class_id: int,
    *,
    limits: tuple[int, int],
    tolerance: float,
) -> JointResult:
    """Shorten the rules of all classes but one, which is what no rule covers, while the units spent keep to limits."""
    return _Joint(paths, deleted, cells, class_id, limits, tolerance).run()


class _Joint:
    """The state of a run: rules and their entries are numbered among those of the written classes."""

    def __init__(
        self,
        paths: Paths,
        deleted: NDArray[np.bool_],
        cells: Cells,
        class_id: int,
        limits: tuple[int, int],
        tolerance: float,
    ) -> None:
        self.paths, self.gone, self.cells, self.tolerance = paths, deleted, cells, tolerance
        self.rules = np.flatnonzero(paths.leaf_class != class_id)
        self.classes = paths.leaf_class[self.rules]
        self.entries = np.flatnonzero(~deleted & (paths.leaf_class_of_entry != class_id))
        self.rule_of = np.searchsorted(self.rules, paths.rule[self.entries])
        self.offsets = np.searchsorted(self.rule_of, np.arange(len(self.rules) + 1))
        self.is_default = cells.class_ids == class_id
        self.is_own = self.classes[:, None] == cells.class_ids
        self.weights, self.limits = cells.weights, np.array(limits, dtype=np.float64)
        self.leaf_counts = cells.leaf_counts[self.rules]
        self.fails = cells.fails[np.searchsorted(cells.links, paths.links[self.entries])]
        self.kept = np.ones(len(self.entries), dtype=bool)
        self.stays = np.ones(len(self.rules), dtype=bool)
        n_rules, n_cells = self.is_own.shape
        self.covers = np.zeros((n_rules, n_cells), dtype=bool)
        self.only = np.full((n_rules, n_cells), -1, dtype=np.int32)  # the one kept entry that a cell fails
        self.price, self.drop = np.zeros((2, len(self.entries))), np.zeros((2, n_rules))
        self.trial, self.is_free = np.full(len(self.entries), np.nan), np.zeros(len(self.entries), dtype=bool)
        self.own, self.other = np.zeros((2, n_cells), dtype=np.int64)
        self.costs = np.full((3, len(self.entries)), np.nan)
        self.drop_costs = np.full((3, n_rules), np.nan)

    def run(self) -> JointResult:
        for rule in range(len(self.rules)):
            self._look_at(rule)
        self.own, self.other = (self.covers & self.is_own).sum(axis=0), (self.covers & ~self.is_own).sum(axis=0)
        for rule in range(len(self.rules)):
            self._price(rule)
        while True:
            spent = self._spent
            rest = (self.limits - spent)[:, None]
            free = np.flatnonzero(self.stays & (self.drop <= 0).all(axis=0))
            if len(free):
                self._drop_rule(int(free[np.argmax(self._lengths()[free])]))
                continue
            may_go = self.kept & self.stays[self.rule_of] & self.is_free & (self.price <= rest).all(axis=0)
            may_drop = self.stays & (self.drop <= rest).all(axis=0)
            price = np.where(may_go, self.price[0], np.inf)
            drop_price = np.where(may_drop, self.drop[0] / (self._lengths() + 1), np.inf)
            entry = int(price.argmin()) if len(price) else -1
            rule = int(drop_price.argmin()) if len(drop_price) else -1
            least, least_drop = price.min(initial=np.inf), drop_price.min(initial=np.inf)
            if least == least_drop == np.inf:
                return self._finish()
            if least <= least_drop:
                self._delete(entry)
            else:
                self._drop_rule(rule)

    @property
    def _spent(self) -> NDArray[np.float64]:
        """Weight of the rows decided otherwise, mixed and real."""
        wrong = (self.other > 0) | ((self.own == 0) & ~self.is_default)
        spent: NDArray[np.float64] = self.weights @ wrong
        return spent

    def _lengths(self) -> NDArray[np.int64]:
        return np.bincount(self.rule_of[self.kept], minlength=len(self.rules))

    def _delete(self, entry: int) -> None:
        rule = int(self.rule_of[entry])
        before = self._spent
        self.kept[entry] = False
        self._change_cover(rule, np.flatnonzero(self.only[rule] == entry), 1)
        self._look_at(rule)
        self._price(rule)
        after = self._spent
        self.costs[:, entry] = before[0], after[0], after[1] - before[1]

    def _drop_rule(self, rule: int) -> None:
        before = self._spent
        self.stays[rule] = False
        self._change_cover(rule, np.flatnonzero(self.covers[rule]), -1)
        after = self._spent
        self.drop_costs[:, rule] = before[0], after[0], after[1] - before[1]

    def _look_at(self, rule: int) -> None:
        """Find the rows that a rule covers, those that one condition keeps out, and what each deletion would admit."""
        own = np.arange(self.offsets[rule], self.offsets[rule + 1])
        own = own[self.kept[own]]
        fails = self.fails[own]
        n_failed = fails.sum(axis=0, dtype=np.int16)
        self.covers[rule] = n_failed == 0
        once = np.flatnonzero(n_failed == 1)
        self.only[rule] = -1
        if len(own):
            self.only[rule, once] = own[fails[:, once].argmax(axis=0)]
        # Training rows by class, of the rule and of what each condition keeps out.
        place = np.searchsorted(own, self.only[rule, once])
        counts = self.cells.class_counts
        admitted = [np.bincount(place, column[once], len(own)) + column[self.covers[rule]].sum() for column in counts.T]
        widened = np.stack(admitted, axis=1)
        hits = widened[:, self.classes[rule]]
        self.trial[own] = divide_or_nan(hits, widened.sum(axis=1))
        before = np.broadcast_to(self.leaf_counts[rule], widened.shape)
        is_reliable = compare_reliability(widened, before, self.classes[rule], self.tolerance) >= 0
        self.is_free[own] = is_reliable & (hits >= widened.max(axis=1))

    def _worth(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
        """What rows add to the wrong ones when a rule of their own or another class newly covers or no longer does."""
        own, other, is_default = self.own[rows], self.other[rows], self.is_default[rows]
        is_claimed = (own > 0) | is_default
        covered_by_own = -1.0 * ((own == 0) & (other == 0) & ~is_default)
        covered_by_other = 1.0 * (is_claimed & (other == 0))
        left_by_own = 1.0 * ((own == 1) & (other == 0) & ~is_default)
        left_by_other = -1.0 * (is_claimed & (other == 1))
        return covered_by_own, covered_by_other, left_by_own, left_by_other

    def _price(self, rule: int) -> None:
        """Price the moves of one rule anew."""
        span = slice(self.offsets[rule], self.offsets[rule + 1])
        rows = np.flatnonzero(self.covers[rule] | (self.only[rule] >= 0))
        by_own, by_other, left_by_own, left_by_other = self._worth(rows)
        is_own, only, covers = self.is_own[rule, rows], self.only[rule, rows], self.covers[rule, rows]
        gain = np.where(is_own, by_own, by_other)[~covers]
        loss = np.where(is_own, left_by_own, left_by_other)[covers]
        place, size = only[~covers] - span.start, span.stop - span.start
        for kind, weight in enumerate(self.weights[:, rows]):
            self.price[kind, span] = np.bincount(place, gain * weight[~covers], size)
            self.drop[kind, rule] = loss @ weight[covers]

    def _change_cover(self, rule: int, rows: NDArray[np.int64], change: int) -> None:
        """Let a rule newly cover rows, or no longer do, and mend the prices of the others' moves."""
        before = self._worth(rows)
        is_own = self.is_own[rule, rows]
        self.own[rows[is_own]] += change
        self.other[rows[~is_own]] += change
        by_own, by_other, left_by_own, left_by_other = (
            now - then for now, then in zip(self._worth(rows), before, strict=True)
        )
        changed = np.flatnonzero((by_own != 0) | (by_other != 0) | (left_by_own != 0) | (left_by_other != 0))
        if not len(changed):
            return
        rows, others = rows[changed], np.flatnonzero(self.stays)
        place = np.ix_(others, rows)
        is_own, only, covers = self.is_own[place], self.only[place], self.covers[place]
        gain = np.where(is_own, by_own[changed], by_other[changed])
        loss = np.where(is_own, left_by_own[changed], left_by_other[changed])
        kept_out = only >= 0
        for kind, weight in enumerate(self.weights[:, rows]):
            self.price[kind] += np.bincount(
                only[kept_out], weights=(gain * weight)[kept_out], minlength=len(self.entries)
            )
            self.drop[kind, others] += (loss * weight * covers).sum(axis=1)

    def _finish(self) -> JointResult:
        """Tell the result in the terms of the tree."""
        n_entries, n_rules = len(self.gone), self.paths.n_rules
        spent, totals = self._spent, np.array(self.cells.totals, dtype=np.float64)
        in_chosen = self.stays[self.rule_of]
        costs = self.costs
        judged = self.kept & in_chosen
        costs[0, judged], costs[1, judged] = spent[0], (spent[0] + self.price[0])[judged]
        costs[2, judged] = (spent[1] + self.price[1])[judged]
        costs[:, ~in_chosen] = np.nan
        deleted = self.gone.copy()
        paid = np.zeros(n_entries, dtype=bool)
        paid[self.entries[~self.kept & in_chosen]] = True
        is_guarded = np.zeros(n_entries, dtype=bool)
        is_guarded[self.entries[judged & ~self.is_free]] = True
        units = totals[[0, 0, 1]][:, None]
        by_entry, by_rule = np.full((4, n_entries), np.nan), np.full((3, n_rules), np.nan)
        by_entry[:3, self.entries] = costs / units
        by_entry[3, self.entries[judged]] = self.trial[judged]
        by_rule[:, self.rules] = self.drop_costs / units
        before, after, real, trial = by_entry
        drop_before, drop_after, drop_real = by_rule
        return JointResult(
            chosen=self.rules[self.stays],
            deleted=deleted | paid,
            paid=paid,
            before=before,
            after=after,
            real=real,
            is_guarded=is_guarded,
            trial=trial,
            drop_before=drop_before,
            drop_after=drop_after,
            drop_real=drop_real,
            rest_counts=self.cells.class_counts[(self.own == 0) & (self.other == 0)].sum(axis=0),
            disagreement=float(spent[1] / totals[1]),
            mixed_disagreement=float(spent[0] / totals[0]),
        )
