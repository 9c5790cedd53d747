"""Rows counted by what they violate: one pass over the rows answers many trials of every rule.

Some conditions of a rule are *firm*: only rows that satisfy them all are counted. Others are *open*: the rows are told
apart by which of these they violate. What the rule gains when it loses an open condition, with or without others, is
then a sum of counts, so a method can try deletions without another look at the rows.

Rules with few open conditions have a cell for each pattern of violated ones, which answers every question. Where that
would be too many cells, rows that violate more than two conditions share one; the others answer as long as no more than
one open condition of a rule has been deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.annotation import find_runs
from secateur.compiled import compile_module
from secateur.masks import pack_links, rows_in, unpack_bits
from secateur.routing import apply_tree, count_classes
from secateur.threads import map_in_threads, n_threads
from secateur.tile_kernels import Preorder, RuleLiterals, Tests, make_room

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.annotation import Annotation
    from secateur.row_blocks import Rows
    from secateur.tree import Tree

__all__ = [
    "Conditions",
    "Tally",
    "find_reliability",
    "make_literals",
    "make_tests",
    "split_rules",
    "tally_patterns",
]

# Up to this many rows times rules, numpy is done before numba would be imported. It looks at all rows at once, so there
# must not be too many of them.
SMALL_TALLY = 1 << 22
SMALL_TALLY_ROWS = 1 << 17
# Numbers that a pass counts, on each thread: a cell has one for each class.
MOST_NUMBERS = 1 << 21


@dataclass(frozen=True)
class Conditions:
    """What becomes of the conditions of rules in a tally; what is neither deleted nor open is firm.

    Attributes
    ----------
    deleted, opened : ndarray of bool, shape (n_entries,)
    among : ndarray of bool, shape (n_rules,)
        The rules that are counted at all.
    """

    deleted: NDArray[np.bool_]
    opened: NDArray[np.bool_]
    among: NDArray[np.bool_]


@dataclass(frozen=True)
class Tally:
    """(Weighted) rows of each class, by rule and by violated open conditions.

    Attributes
    ----------
    notes : Annotation
    opened : ndarray of bool, shape (n_entries,)
        The open conditions.
    is_paired : bool
        Whether only rows that violate up to two open conditions are told apart.
    leaf_counts : ndarray of float64, shape (n_rules, n_classes)
        Rows that satisfy all conditions of a rule's path.
    rules : ndarray of int64, shape (n_tallied,)
        The rules that were counted; the others cover what their leaf covers.
    offsets : ndarray of int64, shape (n_tallied + 1,)
        First cell of each of them.
    cells : ndarray of float64 or uint32, shape (n_cells, n_classes)
        Cell ``offsets[i] + p`` counts the rows whose violated open conditions are pattern ``p``, a bit each from the
        root on. If paired: first the rows that violate none, then those that violate the k-th alone, then those that
        violate the j-th and the k-th alone for j < k at ``k (k - 1) / 2 + j``, and last all others.
    """

    notes: Annotation
    opened: NDArray[np.bool_]
    is_paired: bool
    leaf_counts: NDArray[np.float64]
    rules: NDArray[np.int64]
    offsets: NDArray[np.int64]
    cells: NDArray[Any]

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """Rows of each class that each rule covers, shape (n_rules, n_classes)."""
        counts = self.leaf_counts.copy()
        counts[self.rules] = self.cells[self.offsets[:-1]]
        return counts

    @cached_property
    def counts_without_open(self) -> NDArray[np.float64]:
        """Rows of each class that each rule covers without any of its open conditions."""
        counts = self.leaf_counts.copy()
        if len(self.rules):
            counts[self.rules] = np.add.reduceat(self.cells, self.offsets[:-1], dtype=np.float64)
        return counts

    def gain(self, entries: NDArray[np.int64], deleted: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Rows of each class that a rule gains when it loses one more open entry, shape (n_entries, n_classes).

        ``deleted`` says which open entries are gone by now; if the tally is paired, at most one of a rule.
        """
        return self._gain_by_pairs(entries, deleted) if self.is_paired else self._gain_by_patterns(entries, deleted)

    def _gain_by_pairs(self, entries: NDArray[np.int64], deleted: NDArray[np.bool_]) -> NDArray[np.float64]:
        notes = self.notes
        other = np.full(notes.n_rules, -1, dtype=np.int64)
        gone = self._open_entries[deleted[self._open_entries]]
        other[notes.rule[gone]] = self._place(gone)
        first, size = np.zeros((2, notes.n_rules), dtype=np.int64)
        first[self.rules] = self.offsets[:-1]
        size[self.rules] = np.bincount(self._open_rule, minlength=notes.n_rules)[self.rules]
        rule, one = notes.rule[entries], self._place(entries)
        two = other[rule]
        gained: NDArray[np.float64] = self.cells[first[rule] + 1 + one].astype(np.float64)
        low, high = np.minimum(one, two), np.maximum(one, two)
        paired = low >= 0
        gained[paired] += self.cells[(first[rule] + 1 + size[rule] + high * (high - 1) // 2 + low)[paired]]
        return gained

    def _gain_by_patterns(self, entries: NDArray[np.int64], deleted: NDArray[np.bool_]) -> NDArray[np.float64]:
        gone = self._open_entries[deleted[self._open_entries]]
        allowed = np.zeros(self.notes.n_rules, dtype=np.int64)
        np.bitwise_or.at(allowed, self.notes.rule[gone], np.int64(1) << self._place(gone))
        beyond = self._pattern & ~allowed[self._owner]
        single = np.flatnonzero(np.bitwise_count(beyond) == 1)
        place = np.bitwise_count(beyond[single] - 1)
        asked = np.full(len(self._open_entries), -1, dtype=np.int64)
        asked[np.searchsorted(self._open_entries, entries)] = np.arange(len(entries))
        target = asked[np.searchsorted(self._open_rule, self._owner[single]) + place]
        gained = np.zeros((len(entries), self.cells.shape[1]))
        np.add.at(gained, target[target >= 0], self.cells[single[target >= 0]])
        return gained

    @cached_property
    def _open_entries(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.opened)

    @cached_property
    def _open_rule(self) -> NDArray[np.int32]:
        return self.notes.rule[self._open_entries]

    def _place(self, entries: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many open entries of its rule come before each of some open entries."""
        place = np.searchsorted(self._open_entries, entries)
        return place - np.searchsorted(self._open_rule, self.notes.rule[entries])

    @cached_property
    def _owner(self) -> NDArray[np.int64]:
        return np.repeat(self.rules, np.diff(self.offsets))

    @cached_property
    def _pattern(self) -> NDArray[np.int64]:
        return np.arange(len(self.cells)) - np.repeat(self.offsets[:-1], np.diff(self.offsets))


def find_reliability(
    notes: Annotation, counts: NDArray[np.float64], rules: NDArray[np.int32] | None = None
) -> NDArray[np.float64]:
    """Share of each rule's (weighted) rows in its class, by default of all rules; NaN where it has none."""
    wanted = notes.leaf_class if rules is None else notes.leaf_class[rules]
    total = counts.sum(axis=1)
    share = np.full(len(counts), np.nan)
    np.divide(counts[np.arange(len(counts)), wanted], total, out=share, where=total > 0)
    return share


def _count_pairs(n_open: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cells of rules with so many open conditions in a tally that is paired."""
    return 2 + n_open + n_open * (n_open - 1) // 2


def split_rules(notes: Annotation, opened: NDArray[np.bool_], n_classes: int) -> list[NDArray[np.bool_]]:
    """Groups of rules that one pass can count, as masks of the rules; almost always one group."""
    n_open = np.bincount(notes.rule[opened], minlength=notes.n_rules)
    cells = np.minimum(np.exp2(n_open.astype(np.float64)), _count_pairs(n_open))
    group = np.cumsum(cells * n_classes) // max(1, MOST_NUMBERS)
    return [group == number for number in np.unique(group)]


def tally_patterns(
    tree: Tree,
    notes: Annotation,
    conditions: Conditions,
    rows: Rows,
    class_ids: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
    leaf_counts: NDArray[np.float64] | None = None,
) -> Tally:
    """Count the rows of every rule by the open conditions that they violate; of the leaves, if that is not known."""
    n_open = np.bincount(notes.rule[conditions.opened], minlength=notes.n_rules)
    is_widened = np.bincount(notes.rule[conditions.deleted], minlength=notes.n_rules) > 0
    rules = np.flatnonzero(conditions.among & (is_widened | (n_open > 0)))
    size = n_open[rules]
    is_paired = bool(np.exp2(size.astype(np.float64)).sum() * tree.n_classes > MOST_NUMBERS)
    sizes = _count_pairs(size) if is_paired else np.int64(1) << size
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    is_small = rows.n_rows <= SMALL_TALLY_ROWS and rows.n_rows * notes.n_rules <= SMALL_TALLY
    count = _count_by_numpy if is_small else _count_by_tiles
    counted, cells = count(tree, notes, conditions, rules, offsets, is_paired, rows, class_ids, weights, leaf_counts)
    return Tally(notes, conditions.opened, is_paired, counted, rules, offsets, cells)


def _count_by_numpy(
    tree: Tree,
    notes: Annotation,
    conditions: Conditions,
    rules: NDArray[np.int64],
    offsets: NDArray[np.int64],
    is_paired: bool,
    rows: Rows,
    class_ids: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
    leaf_counts: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A mask a link over all rows, and a bincount a rule."""
    if leaf_counts is None:
        leaf_counts = count_classes(tree, apply_tree(tree, rows), class_ids, weights)[notes.leaf_ids]
    cells = np.zeros((offsets[-1], tree.n_classes))
    masks = pack_links(tree, rows.matrix)
    for rule, first, last in zip(rules.tolist(), offsets.tolist(), offsets[1:].tolist(), strict=False):
        span = notes.entries(rule)
        links, opened = notes.links[span], conditions.opened[span]
        inside = np.flatnonzero(unpack_bits(rows_in(masks, links[~conditions.deleted[span] & ~opened]), rows.n_rows))
        violated = ~unpack_bits(masks[links[opened]], rows.n_rows)[:, inside]
        counted = np.bincount(
            _find_cells(violated, is_paired=is_paired) * tree.n_classes + class_ids[inside],
            weights=None if weights is None else weights[inside],
            minlength=(last - first) * tree.n_classes,
        )
        cells[first:last] = counted.reshape(last - first, tree.n_classes)
    return leaf_counts, cells


def _find_cells(violated: NDArray[np.bool_], *, is_paired: bool) -> NDArray[np.int64]:
    """The cell of each row, from which of the open conditions it violates, shape (n_open, n_rows)."""
    place = np.arange(len(violated))
    if not is_paired:
        return (np.int64(1) << place) @ violated
    n_violated = violated.sum(axis=0)
    low = np.where(violated, place[:, None], len(violated)).min(axis=0, initial=len(violated))
    high = np.where(violated, place[:, None], -1).max(axis=0, initial=-1)
    pair = 1 + len(violated) + high * (high - 1) // 2 + low
    many = 1 + len(violated) + len(violated) * (len(violated) - 1) // 2
    return np.select([n_violated == 0, n_violated == 1, n_violated == 2], [np.zeros_like(low), 1 + low, pair], many)


def _count_by_tiles(
    tree: Tree,
    notes: Annotation,
    conditions: Conditions,
    rules: NDArray[np.int64],
    offsets: NDArray[np.int64],
    is_paired: bool,
    rows: Rows,
    class_ids: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
    leaf_counts: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Tiles of rows in compiled code, blocks of them on several threads.

    Numbers of rows are whole and may be added in any order. Weights are added row after row on one thread, so that
    their sums do not depend on the machine.
    """
    tally_rows = compile_module("secateur.tile_kernels").tally_rows
    features, tests, literal = make_tests(tree)
    literals = make_literals(notes, literal, conditions, rules, offsets, is_paired=is_paired)
    nodes = _preorder(tree, notes, literal)
    if leaf_counts is not None:
        nodes = nodes._replace(depth=nodes.depth[:0])
    weight = np.zeros(0) if weights is None else weights

    spans = rows.spans()
    waiting: SimpleQueue[tuple[int, int] | None] = SimpleQueue()
    n_parts = min(n_threads(), len(spans)) if weights is None else 1
    for item in [*spans, *[None] * n_parts]:
        waiting.put(item)

    def count(_: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Count whatever block is next, so that threads end at about the same time."""
        counted = np.zeros((notes.n_rules, tree.n_classes))
        cells = np.zeros((offsets[-1], tree.n_classes), dtype=np.uint32 if weights is None else np.float64)
        room = make_room(tests, literals.longest, tree.depth, tree.n_classes)
        while (span := waiting.get()) is not None:
            block = rows.block(*span, features)
            tally_rows(
                *(block.values, block.origin, block.step, block.columns, *span, class_ids, weight),
                *(tests, nodes, literals, room, counted, cells),
            )
        return counted, cells

    results = map_in_threads(count, range(n_parts))
    counted, cells = next(results)
    for other_counted, other_cells in results:
        counted += other_counted
        cells += other_cells
    return counted if leaf_counts is None else leaf_counts, cells


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
    notes: Annotation,
    literal: NDArray[np.int64],
    conditions: Conditions,
    rules: NDArray[np.int64],
    cells: NDArray[np.int64],
    *,
    is_paired: bool = False,
) -> RuleLiterals:
    """The firm and open literals of some rules."""
    listed = np.zeros(notes.n_rules, dtype=bool)
    listed[rules] = True
    among = listed[notes.rule] & ~conditions.deleted
    firm_offsets, firm = _gather(notes, literal, rules, among & ~conditions.opened)
    return RuleLiterals(
        firm_offsets,
        firm,
        int(np.diff(firm_offsets).max(initial=0)),
        _shared_prefixes(firm_offsets, firm),
        *_gather(notes, literal, rules, among & conditions.opened),
        cells,
        is_paired,
    )


def _gather(
    notes: Annotation, literal: NDArray[np.int64], rules: NDArray[np.int64], chosen: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The literals of chosen entries, and where those of each rule begin."""
    sizes = np.bincount(notes.rule[chosen], minlength=notes.n_rules)[rules]
    return np.concatenate([[0], np.cumsum(sizes)]), literal[notes.links[chosen]]


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


def _preorder(tree: Tree, notes: Annotation, literal: NDArray[np.int64]) -> Preorder:
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
    rule[notes.leaf_ids] = np.arange(notes.n_rules)
    return Preorder(
        depth=tree.node_depth[node],
        literal=literal[node],
        beyond=np.arange(tree.n_nodes) + size[node],
        rule=rule[node],
    )
