"""Shorten the lines of a list under a budget of rows that are then *off*.

A row is off if a line that holds says another class than the tree, or a share that is further from its leaf's than the
tolerance; or if no line holds and "otherwise" is off. A row on which several lines hold is off if one of them is: so
the budget holds in whatever order lines are read.

Moves are deleting a condition, at the price of the rows then off, and dropping a line, at that price divided by its
conditions and one; a condition on a column that costs more counts for as many. The cheapest move that keeps to the
budget is taken: of all rows, and of the rows of each class that the tree predicts; on the training rows, and on their
mixture with shuffled copies from :mod:`secateur.methods.row_mixture`. Ties go to conditions before lines, then to the
order of lines. A larger budget goes on where a smaller one ended; so one run gives the lists of all budgets.

Rows that reach one leaf and pass the same conditions are one *cell*. A move changes few cells, and only the prices of
lines that look at them are made again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.counting.masks import list_rows, pack_bits
from secateur.methods.row_mixture import CodedSplits, MixedRows
from secateur.tree.tree import Tree

MANY_CELLS = 0.5  # cells that there are for each row where rows are taken one by one
MOST_KINDS = 1 << 62
BITS = np.left_shift(1, np.arange(8)).astype(np.uint8)  # of cells in their byte
NO_BITS, ALL_BITS = np.uint8(0), np.uint8(255)
MOST_PAIRS = 1 << 15  # of a line and a cell that are looked at together
MANY_ROWS = 1 << 17  # so many are put together at a time


Units = NDArray[np.float64]  # of both kinds, shape (2, n)


class Written(NamedTuple):
    """A line before the budget is spent."""

    section: int  # number of its section
    links: NDArray[np.int32]  # the edges of its conditions, without those of the heading
    is_off: NDArray[np.bool_]  # of each leaf of its section: whether the line would be off for its rows
    costs: NDArray[np.float64]  # of each condition: as many conditions it counts for


@dataclass(frozen=True)
class Budgeted:
    """The lines after a budget was spent; those of line ``i`` are conditions ``begin[i]`` to ``begin[i + 1] - 1``."""

    stays: NDArray[np.bool_]  # of each line
    begin: NDArray[np.int64]
    is_deleted: NDArray[np.bool_]  # of each condition: whether it was deleted before its line went, if that did
    # What deleting a condition cost, or would cost if it was kept: shares of all mixed rows off before and after, and
    # of training rows that it added. Shape (n_conditions, 3).
    cost: NDArray[np.float64]


class JointRows:
    """Training rows and shuffled copies in the order of their leaves: what they pass, and what they are worth."""

    def __init__(self, tree: Tree, mixture: MixedRows) -> None:
        self.tree, self._codes, self._splits = tree, mixture.coded.codes, CodedSplits(tree, mixture.coded)
        paths = self.paths = mixture.paths
        self.first, self.last = mixture.first, mixture.last
        self.leaf = mixture.spread(np.arange(paths.n_rules, dtype=np.min_scalar_type(paths.n_rules)))
        classes = np.unique(paths.leaf_class)
        self.group_of_leaf, self.n_groups = np.searchsorted(classes, paths.leaf_class), len(classes)
        # Whole numbers: sums are exact. By the kind of a row.
        self._units = np.stack([mixture.mixed_units, mixture.real_units]).astype(np.float64)
        self._kind = mixture.kind
        worth: Units = np.zeros((2, paths.n_rules))
        for some in _cut(0, mixture.n_rows):
            worth += _add_up(self.leaf[some], self._count(some), paths.n_rules)
        self.whole = _add_up(self.group_of_leaf, worth, self.n_groups)  # of each class
        self.totals = mixture.mixed_total, mixture.real_total

    def _count(self, some: slice) -> NDArray[np.float64]:
        """What some rows are worth, in units of both kinds."""
        return self._units[:, self._kind[some]]

    def go_left(self, node: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether some rows go left at a split."""
        codes = self._codes[self._splits.column[node], rows]
        left: NDArray[np.bool_] = self._splits.go_left(np.array([node]), codes[None])[0]
        return left

    def find_cells(self, nodes: NDArray[np.int64], first: int, last: int) -> tuple[NDArray[np.int64], Units]:
        """Find a row of each cell, and what its rows are worth, among rows that follow each other.

        ``nodes`` are the splits that are asked.
        """
        chosen, units = [np.zeros(0, dtype=np.int64)], [np.zeros((2, 0))]
        for some in _cut(first, last):
            own, cell = self._find_cells(nodes, some)
            chosen.append(some.start + own)
            units.append(_add_up(cell, self._count(some), len(own)))
        found, worth = np.concatenate(chosen), np.concatenate(units, axis=1)
        if len(chosen) <= 2:
            return found, worth
        own, cell = self._find_cells(nodes, found)  # those that are in several pieces
        return found[own], _add_up(cell, worth, len(own))

    def _find_cells(
        self, nodes: NDArray[np.int64], rows: slice | NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find one of each cell of some rows, and the cell of each."""
        kind = self.leaf[rows].astype(np.int64)
        n_kinds, columns = int(kind.max(initial=0)) + 1, self._splits.column[nodes]
        for column in np.unique(columns).tolist():
            own, codes = nodes[columns == column], np.arange(self._splits.n_codes[column])
            # Codes that go the same way everywhere are alike.
            left = self._splits.go_left(own, np.broadcast_to(codes, (len(own), len(codes))))
            _, alike = np.unique(np.packbits(left, axis=0), axis=1, return_inverse=True)
            n_alike = int(alike.max()) + 1
            if n_kinds * n_alike >= MOST_KINDS:
                _, chosen, kind = np.unique(kind, return_index=True, return_inverse=True)
                n_kinds = len(chosen)
                if n_kinds > MANY_CELLS * len(kind):  # few rows would still be put together
                    return np.arange(len(kind)), np.arange(len(kind))
            kind = kind * n_alike + alike.ravel()[self._codes[column, rows]]
            n_kinds *= n_alike
        return np.unique(kind, return_index=True, return_inverse=True)[1:]


class JointDeletion:
    """Lines and rows, ready to spend one budget after another, each no smaller than the last.

    ``nodes`` are those of the sections, and ``rest_is_off`` says of each for which of its leaves "otherwise" is off.
    Lines come section after section.
    """

    def __init__(
        self, rows: JointRows, nodes: Sequence[int], lines: Sequence[Written], rest_is_off: Sequence[NDArray[np.bool_]]
    ) -> None:
        self._rows = rows
        self._begin = np.cumsum([0, *(len(line.links) for line in lines)])
        self._sections, self._spent = [], np.zeros_like(rows.whole)
        for number, node in enumerate(nodes):
            own = [line for line in lines if line.section == number]
            self._sections.append(_Section(rows, node, number, own, rest_is_off[number]))
            self._spent += self._sections[-1].find_spent()

    @property
    def off(self) -> float:
        """The largest share of rows off, of all or of one class, mixed or real."""
        shares = [spent.sum() / total for spent, total in zip(self._spent, self._rows.totals, strict=True)]
        some = self._rows.whole > 0
        return float(max(*shares, np.max(self._spent[some] / self._rows.whole[some], initial=0.0)))

    def spend(self, budget: float) -> Budgeted:
        """Take moves while the rows off keep to a budget, taken as the decimal number that was written."""
        share = Fraction(str(budget))
        limits = np.array([[math.floor(share * int(units)) for units in row] for row in self._rows.whole], np.float64)
        totals = np.array([math.floor(share * units) for units in self._rows.totals], np.float64)
        while (move := self._find_cheapest(limits, totals)).rated < np.inf:
            section = self._sections[move.section]
            price = section.price[:, :, move.place].copy()
            section.take(move.place, self._spent)
            self._spent = self._spent + price
        stays, is_deleted, paid = zip(*(section.find_paid(self._spent) for section in self._sections), strict=True)
        before, added, added_real = np.concatenate(paid, axis=1)
        mixed, real = self._rows.totals
        cost = np.stack([before / mixed, (before + added) / mixed, added_real / real], axis=1)
        return Budgeted(np.concatenate(stays), self._begin, np.concatenate(is_deleted), cost)

    def _find_cheapest(self, limits: NDArray[np.float64], totals: NDArray[np.float64]) -> _Move:
        """Find the cheapest move that keeps to the limits, by class and of all."""
        room, total, found = limits - self._spent, totals - self._spent.sum(axis=1), NO_MOVE
        for least in sorted(section.cheapest for section in self._sections):
            if least >= found:
                break
            found = min(found, self._sections[least.section].find_cheapest(room, total))
        return found


class _Move(NamedTuple):
    """To delete a condition of a section, or drop a line; those that are taken first come first."""

    rated: float  # its price for each condition, or line, that goes
    is_drop: bool
    section: int
    place: int


NO_MOVE = _Move(math.inf, True, -1, -1)


def _list_gains() -> NDArray[np.float64]:
    """List what a cell adds to those off by its state: lines that cover it, lines that are off there, and "otherwise".

    A line comes to cover it that is not off there, or is; or a line leaves it that was not off there, or was.
    """
    covering, off, rest = np.indices((3, 3, 2)).reshape(3, -1)
    is_left, will_be_left = (covering == 0) & (rest == 1), (covering == 1) & (rest == 1)
    joins = [-1 * is_left, (off == 0) & ~is_left]
    leaves = [will_be_left & (off == 0), -1 * ((off == 1) & ~will_be_left)]
    return np.stack([*joins, *leaves], axis=1).astype(np.float64)


GAINS = _list_gains()  # where more than two lines cover a cell, or are off there, it is as with two
CHANGES = GAINS[:, None] - GAINS  # by the states after and before
IS_CHANGED = CHANGES.any(axis=2)


class _Section:
    """The cells of a section, and for each of its lines which of them it covers, or one condition keeps out.

    Flags of cells are bits, eight to a byte. Moves are numbered: to delete each condition, then to drop each line.
    """

    def __init__(
        self, rows: JointRows, node: int, section: int, lines: Sequence[Written], rest_is_off: NDArray[np.bool_]
    ) -> None:
        links = np.unique(np.concatenate([np.zeros(0, dtype=np.int32), *(line.links for line in lines)]))
        nodes, self._node_of = np.unique(rows.paths.parent[links], return_inverse=True)
        chosen, self._units = rows.find_cells(nodes, int(rows.first[node]), int(rows.last[node]))
        self._n_cells, self._number = len(chosen), section
        leaf = rows.leaf[chosen]
        self._group, n_groups = rows.group_of_leaf[leaf].astype(np.int32), rows.n_groups
        self._leaf = leaf - np.int32(rows.tree.leaf_runs[0][node])
        self._rest_is_off = rest_is_off[self._leaf]
        self._every = pack_bits(np.ones(self._n_cells, dtype=bool)).view(np.uint8)  # bits of whole words
        # Which cells go left at each split, and how that is turned round for those that fail a link. Last comes a link
        # that none fails.
        self._left = np.zeros((len(nodes) + 1, len(self._every)), dtype=np.uint8)
        for place, split in enumerate(nodes.tolist()):
            self._left[place] = pack_bits(rows.go_left(split, chosen)).view(np.uint8)
        self._node_of = np.append(self._node_of, len(nodes))
        self._turned = np.append(np.where(rows.paths.is_left[links], ALL_BITS, NO_BITS), NO_BITS)
        lengths = [len(line.links) for line in lines]
        self._begin = np.cumsum([0, *lengths])
        self._n_entries = int(self._begin[-1])
        self._links = np.full((len(lines), max(lengths, default=0)), len(links), dtype=np.int32)
        for own, line in zip(self._links, lines, strict=True):
            own[: len(line.links)] = np.searchsorted(links, line.links)
        off = {id(line.is_off): line.is_off for line in lines}  # lines that state the same are off for the same
        self._off = np.concatenate([rest_is_off[:0], *off.values()])  # by leaf
        row_of = {one: row * len(rest_is_off) for row, one in enumerate(off)}
        self._first_off = np.array([row_of[id(line.is_off)] for line in lines], dtype=np.int64)
        # Which cells fail exactly one condition of a line, and which none.
        self._flags = np.zeros((2, len(lines), len(self._every)), dtype=np.uint8)
        self._n_covering, self._n_off = np.zeros((2, self._n_cells), dtype=np.int16)  # of at most MANY_LEAVES lines
        for number in range(len(lines)):
            self._pass(number)
            covered = self._list(self._flags[1, number])
            self._n_covering[covered] += 1
            self._n_off[covered] += self._is_off(number, covered)
        self._state = self._find_state(slice(None))
        # Units off then, less units off now, by kind of rows, class and move.
        self.price = np.zeros((2, n_groups, self._n_entries + len(lines)))
        for number in range(len(lines)):
            self._price_cells(
                number, *self._find_fails(number), self._flags[0, number], self._list(self._flags[1, number])
            )
        line_of = np.repeat(np.arange(len(lines)), lengths)
        costs = np.concatenate([np.zeros(0), *(line.costs for line in lines)])
        # Of conditions that go, or that a line has.
        self._costs = np.append(costs, np.bincount(line_of, costs, len(lines)))
        self._line_of = np.append(line_of, np.arange(len(lines)))  # of each move
        self._went = np.zeros(len(self._costs), dtype=bool)
        self._is_deleted = np.zeros(self._n_entries, dtype=bool)
        self._paid = np.zeros((3, self._n_entries))  # by deletions: units off before, and what was added of both kinds
        self._rate()

    def find_spent(self) -> NDArray[np.float64]:
        """Find the units that are off, by kind of rows and class."""
        off = (self._n_off > 0) | ((self._n_covering == 0) & self._rest_is_off)
        return _add_up(self._group, self._units * off, self.price.shape[1])

    def find_paid(self, spent: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64]]:
        """Find which lines stay, which conditions were deleted, and what deleting each took or would take."""
        paid, is_kept = self._paid.copy(), ~self._went[: self._n_entries]
        paid[0, is_kept] = spent[0].sum()
        paid[1:, is_kept] = self.price.sum(axis=1)[:, : self._n_entries][:, is_kept]
        return ~self._went[self._n_entries :], self._is_deleted.copy(), paid

    def find_cheapest(self, room: NDArray[np.float64], total: NDArray[np.float64]) -> _Move:
        """Find the cheapest move that there is room for, by class and in all."""
        price = self.price[:, :, self.cheapest.place]
        if (price <= room).all() and (price.sum(axis=1) <= total).all():
            return self.cheapest
        fits = (self.price <= room[:, :, None]).all(axis=(0, 1))
        fits &= (self.price.sum(axis=1) <= total[:, None]).all(axis=0)
        return self._choose(np.where(fits, self._rated, np.inf))

    def _choose(self, rated: NDArray[np.float64]) -> _Move:
        """Choose the first of the moves that are rated lowest."""
        index = int(rated.argmin()) if len(rated) else -1
        if index < 0 or rated[index] == np.inf:
            return NO_MOVE
        return _Move(float(rated[index]), index >= self._n_entries, self._number, index)

    def _rate(self) -> None:
        """Rate all moves by their prices."""
        rated = self.price[0].sum(axis=0)
        rated[: self._n_entries] /= self._costs[: self._n_entries]
        rated[self._n_entries :] /= self._costs[self._n_entries :] + 1
        rated[self._went] = np.inf
        self._rated, self.cheapest = rated, self._choose(rated)

    def take(self, move: int, spent: NDArray[np.float64]) -> None:
        """Delete a condition, or drop a line, when so many units are off."""
        line, near = int(self._line_of[move]), self._flags[0, self._line_of[move]].copy()
        begin, end = self._begin[line : line + 2].tolist()
        self._went[move] = True
        if move < self._n_entries:
            self._is_deleted[move] = True
            self._paid[:, move] = spent[0].sum(), *self.price[:, :, move].sum(axis=1)
            self._costs[self._n_entries + line] -= self._costs[move]
            covered = self._list(near & self._fail(self._links[line, move - begin]))
            self._change_cover(line, covered, 1)
            self._links[line, move - begin] = len(self._turned) - 1
            entries, fails = self._pass(line)
            self._price_cells(line, entries, fails, self._flags[0, line] & ~near, covered)
        else:
            self._went[begin:end] = True
            covered = self._list(self._flags[1, line])
            self._flags[:, line] = 0
            self._change_cover(line, covered, -1)
        self._rate()

    def _fail(self, links: Any) -> NDArray[np.uint8]:
        """Flag the cells that fail links; bits beyond the last cell may be set."""
        failed: NDArray[np.uint8] = self._left[self._node_of[links]] ^ self._turned[links][..., None]
        return failed

    def _find_fails(self, line: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Find which conditions of a line are kept, and flag the cells that fail each."""
        kept = (self._links[line] < len(self._turned) - 1).nonzero()[0]
        return self._begin[line] + kept, self._fail(self._links[line, kept])

    def _pass(self, line: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Find the cells that fail one of a line's kept conditions, or none; also those that fail each of these."""
        some, several = np.zeros((2, len(self._every)), dtype=np.uint8)
        found = self._find_fails(line)
        for fails in found[1]:
            several |= some & fails
            some |= fails
        self._flags[0, line], self._flags[1, line] = some & ~several & self._every, self._every & ~some
        return found

    def _list(self, flags: NDArray[np.uint8]) -> NDArray[np.int64]:
        """List the cells that are flagged, those of several rows of flags one after another."""
        return list_rows(flags.reshape(-1).view(np.uint64))

    def _is_off(self, lines: Any, cells: NDArray[np.int64]) -> NDArray[np.bool_]:
        off: NDArray[np.bool_] = self._off.take(self._first_off[lines] + self._leaf[cells])
        return off

    def _find_state(self, cells: Any) -> NDArray[np.uint8]:
        """Find the states of some cells: their rows of GAINS."""
        covering, off = np.minimum(self._n_covering[cells], 2), np.minimum(self._n_off[cells], 2)
        return np.asarray(6 * covering + 2 * off + self._rest_is_off[cells], dtype=np.uint8)

    def _change_cover(self, line: int, cells: NDArray[np.int64], change: int) -> None:
        """Let a line newly cover cells, or no longer; change the prices of all lines, but its own."""
        before = self._state[cells]
        self._n_covering[cells] += change
        self._n_off[cells] += change * self._is_off(line, cells)
        self._state[cells] = after = self._find_state(cells)
        place = len(GAINS) * after.astype(np.int64) + before  # in both tables
        changed = IS_CHANGED.take(place).nonzero()[0]
        size = max(1, MOST_PAIRS // len(self._links))
        for some in (changed[first : first + size] for first in range(0, len(changed), size)):
            own = cells[some]
            flags = self._flags.take(own >> 3, axis=2) & BITS.take(own & 7)
            kinds, lines, places = flags.nonzero()
            gain = CHANGES.take(4 * place[some[places]] + 2 * kinds + self._is_off(lines, own[places]))
            some = gain.nonzero()[0]
            kinds, lines, own, gain = kinds[some], lines[some], own[places[some]], gain[some]
            move, near = self._n_entries + lines, (kinds == 0).nonzero()[0]
            if len(near):  # the only condition that keeps a cell out
                links, at = self._links[lines[near]], own[near, None]
                fails = (self._left[self._node_of[links], at >> 3] ^ self._turned[links]) & BITS.take(at & 7)
                move[near] = self._begin[lines[near]] + fails.astype(bool).argmax(axis=1)
            self._add(move, own, gain)

    def _price_cells(
        self,
        line: int,
        entries: NDArray[np.int64],
        fails: NDArray[np.uint8],
        near: NDArray[np.uint8],
        covered: NDArray[np.int64],
    ) -> None:
        """Add the prices of cells that are flagged, which one condition of a line keeps out, and of some it covers."""
        places, cells = np.divmod(self._list(fails & near), 8 * len(near))
        move = np.concatenate([entries[places], np.full(len(covered), self._n_entries + line)])
        cells = np.concatenate([cells, covered])
        gain = 4 * self._state[cells].astype(np.int64) + self._is_off(line, cells)
        gain[len(places) :] += 2
        self._add(move, cells, GAINS.take(gain))

    def _add(self, move: NDArray[np.int64], cells: NDArray[np.int64], gain: NDArray[np.float64]) -> None:
        """Add what cells gain to the price of the move that they gain it from."""
        some = gain.nonzero()[0]
        if len(some):
            cells, gain = cells[some], gain[some]
            place = move[some] + self._group[cells] * self.price.shape[2]
            for price, units in zip(self.price, self._units, strict=True):
                np.add.at(price.reshape(-1), place, units[cells] * gain)


def _add_up(place: NDArray[np.integer[Any]], units: Units, size: int) -> Units:
    """Add up units of both kinds by place."""
    return np.array([np.bincount(place, one, size) for one in units])


def _cut(first: int, last: int) -> list[slice]:
    """Cut rows that follow each other into pieces."""
    return [slice(start, min(start + MANY_ROWS, last)) for start in range(first, last, MANY_ROWS)]
