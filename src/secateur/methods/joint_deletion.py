"""Shorten the lines of a list under a budget of rows that are then *off*.

A row is off if a line that holds says another class than the tree, or a share that is further from its leaf's than the
tolerance; or if no line holds and "otherwise" is off. A row on which several lines hold is off if one of them is: so
the budget holds in whatever order lines are read.

Moves are deleting a condition, at the price of the rows then off, and dropping a line, at that price divided by its
conditions and one. The cheapest move that keeps to the budget is taken: of all rows, and of the rows of each class that
the tree predicts; on the training rows, and on their mixture with shuffled copies from
:mod:`secateur.methods.row_mixture`. Ties go to conditions before lines, then to the order of lines. A larger budget
goes on where a smaller one ended; so one run gives the lists of all budgets.

Rows that reach one leaf and pass the same conditions are one *cell*. A move changes few cells, and only the prices of
lines that look at them are made again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.counting.coverage import pack_links
from secateur.methods.row_mixture import MixedRows
from secateur.tree.tree import Tree

__all__ = ["Budgeted", "JointDeletion", "JointRows", "Written"]

MANY_CELLS = 0.5  # cells that there are for each row where rows are taken one by one


class Written(NamedTuple):
    """A line before the budget is spent."""

    section: int  # number of its section
    links: NDArray[np.int32]  # the edges of its conditions, without those of the heading
    is_off: NDArray[np.bool_]  # of each leaf, by place: whether the line would be off for its rows


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
        paths = mixture.paths
        self._masks = pack_links(tree, mixture.coded.read(), mixture.coded.features)
        self.n_rows, self.first, self.last = mixture.n_rows, mixture.first, mixture.last
        place_of = np.zeros(tree.n_nodes, dtype=np.int64)
        place_of[paths.leaf_ids] = np.arange(paths.n_rules)
        self.leaf = place_of[mixture.leaf_ids]
        classes = np.unique(paths.leaf_class)
        self.group, self.n_groups = np.searchsorted(classes, paths.leaf_class)[self.leaf], len(classes)
        self.units = np.stack([mixture.mixed, mixture.real]).astype(np.float64)  # whole numbers: sums are exact
        self.whole = _add_up(self.group, self.units, self.n_groups)  # units of each class
        self.totals = mixture.mixed_total, mixture.real_total

    def pass_link(self, link: int, span: slice) -> NDArray[np.bool_]:
        """Whether some rows satisfy an edge."""
        first = span.start // 8
        mask = self._masks[link].view(np.uint8)[first : -(-span.stop // 8)]
        return np.unpackbits(mask, bitorder="little").view(bool)[span.start - 8 * first :][: span.stop - span.start]

    def find_cells(self, links: NDArray[np.int32], span: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find a row of each cell, and the cell of each row, among rows that follow each other."""
        _, chosen, kind = np.unique(self.leaf[span], return_index=True, return_inverse=True)
        first = 0
        while first < len(links):
            if len(chosen) > MANY_CELLS * len(kind):  # few rows would still be put together
                return np.arange(len(kind)), np.arange(len(kind))
            some = links[first : first + 62 - int(kind.max(initial=0)).bit_length()]  # as many as fit into a number
            for link in some.tolist():
                kind = (kind << 1) | self.pass_link(link, span)
            _, chosen, kind = np.unique(kind, return_index=True, return_inverse=True)
            first += len(some)
        return chosen, kind


class JointDeletion:
    """Lines and rows, ready to spend one budget after another, each no smaller than the last.

    ``nodes`` are those of the sections, and ``rest_is_off`` says of each for which leaves "otherwise" is off. Lines
    come section after section.
    """

    def __init__(
        self,
        rows: JointRows,
        nodes: Sequence[int],
        lines: Sequence[Written],
        rest_is_off: Sequence[NDArray[np.bool_]],
    ) -> None:
        self._rows = rows
        self._lengths = np.array([len(line.links) for line in lines], dtype=np.int64)  # conditions that are left
        self._line_of = np.repeat(np.arange(len(lines)), self._lengths)  # of each condition
        self._begin = np.concatenate([[0], np.cumsum(self._lengths)])
        self._price = np.zeros((2, rows.n_groups, len(self._line_of)))  # by kind of rows and class
        self._drop_price = np.zeros((2, rows.n_groups, len(lines)))
        # What conditions cost, and lines for each condition and one; infinite of those that went.
        self._rated, self._drop_rated = np.zeros(len(self._line_of)), np.zeros(len(lines))
        self._sections, self._section_of, self._spent = [], [], np.zeros_like(rows.whole)
        for number, node in enumerate(nodes):
            own = [index for index, line in enumerate(lines) if line.section == number]
            first = own[0] if own else 0
            span = slice(int(rows.first[node]), int(rows.last[node]))
            section = _Section(rows, span, [lines[index] for index in own], rest_is_off[number])
            self._sections.append((first, section))
            self._section_of += [number] * len(own)
            self._spent += section.spent
            for index in own:
                self._note(index)
            self._rate(number)
        self._is_deleted, self._cost = np.zeros(len(self._line_of), dtype=bool), np.zeros((len(self._line_of), 3))

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
        while (move := self._find_cheapest(limits - self._spent, totals - self._spent.sum(axis=1))) is not None:
            index, entry = move
            before = self._spent
            self._spent = before + (self._drop_price[:, :, index] if entry is None else self._price[:, :, entry])
            if entry is not None:
                self._is_deleted[entry], self._cost[entry] = True, self._find_costs(before, self._price[:, :, [entry]])
            self._take(index, entry)
        cost, kept = self._cost.copy(), np.flatnonzero(self._rated < np.inf)
        cost[kept] = self._find_costs(self._spent, self._price[:, :, kept])
        return Budgeted(self._drop_rated < np.inf, self._begin, self._is_deleted.copy(), cost)

    def _find_cheapest(self, room: NDArray[np.float64], total: NDArray[np.float64]) -> tuple[int, int | None] | None:
        """Find the cheapest move that there is room for: a line, and a condition of it or None to drop it."""
        moves = [(self._rated, self._price), (self._drop_rated, self._drop_price)]
        for is_last in (False, True):
            found = [int(rated.argmin()) if len(rated) else -1 for rated, _ in moves]
            least = [float(rated[at]) if at >= 0 else np.inf for (rated, _), at in zip(moves, found, strict=True)]
            kind = int(least[0] > least[1])
            if min(least) == np.inf:
                return None
            price = moves[kind][1][:, :, found[kind]]
            if is_last or ((price <= room).all() and (price.sum(axis=1) <= total).all()):
                break
            # There is no room for the cheapest of all: look for those that there is room for.
            for place, (rated, prices) in enumerate(moves):
                fits = (prices <= room[:, :, None]).all(axis=(0, 1))
                fits &= (prices.sum(axis=1) <= total[:, None]).all(axis=0)
                moves[place] = np.where(fits, rated, np.inf), prices
        return (found[1], None) if kind else (int(self._line_of[found[0]]), found[0])

    def _take(self, index: int, entry: int | None) -> None:
        """Delete a condition, or drop a line."""
        number = self._section_of[index]
        first, section = self._sections[number]
        if entry is None:
            self._drop_rated[index] = self._rated[self._begin[index] : self._begin[index + 1]] = np.inf
            change = section.drop(index - first)
        else:
            self._rated[entry] = np.inf
            self._lengths[index] -= 1
            change = section.delete(index - first, int(entry - self._begin[index]))
            self._note(index)
        if change is not None:
            price, drop_price = change
            begin, end = self._begin[first], self._begin[first + len(section.lines)]
            self._price[:, :, begin:end] += price
            self._drop_price[:, :, first : first + len(section.lines)] += drop_price
        self._rate(number)

    def _rate(self, number: int) -> None:
        """Rate the moves of a section by their prices."""
        first, section = self._sections[number]
        lines = slice(first, first + len(section.lines))
        own = slice(self._begin[lines.start], self._begin[lines.stop])
        for rated, price, parts in (
            (self._rated[own], self._price[0, :, own], 1),
            (self._drop_rated[lines], self._drop_price[0, :, lines], self._lengths[lines] + 1),
        ):
            np.copyto(rated, price.sum(axis=0) / parts, where=rated < np.inf)

    def _note(self, index: int) -> None:
        """Price the moves of one line anew."""
        first, section = self._sections[self._section_of[index]]
        own = slice(self._begin[index], self._begin[index + 1])
        self._price[:, :, own], self._drop_price[:, :, index] = section.price(index - first)

    def _find_costs(self, spent: NDArray[np.float64], prices: NDArray[np.float64]) -> NDArray[np.float64]:
        """Find what deleting conditions costs, in shares: off before and after, and training rows off that it adds."""
        (mixed, real), before = self._rows.totals, spent[0].sum()
        added, added_real = prices.sum(axis=1)
        return np.stack([np.full(len(added), before / mixed), (before + added) / mixed, added_real / real], axis=1)


class _Section:
    """The cells of a section, and for each of its lines which of them it covers, or one condition keeps out."""

    def __init__(self, rows: JointRows, span: slice, lines: Sequence[Written], rest_is_off: NDArray[np.bool_]) -> None:
        links = np.unique(np.concatenate([np.zeros(0, dtype=np.int32), *(line.links for line in lines)]))
        chosen, cell = rows.find_cells(links, span)
        n_cells = len(chosen)
        self._fails = np.zeros((len(links), n_cells), dtype=bool)
        for place, link in enumerate(links.tolist()):
            self._fails[place] = ~rows.pass_link(link, span)[chosen]
        self.lines = [np.searchsorted(links, line.links) for line in lines]  # the conditions of each, kept or not
        self._kept = [np.ones(len(line), dtype=bool) for line in self.lines]
        self._begin = np.concatenate([[0], np.cumsum([len(line) for line in self.lines], dtype=np.int64)])
        self._units = _add_up(cell, rows.units[:, span], n_cells)
        leaf, self._group, self._n_groups = rows.leaf[span][chosen], rows.group[span][chosen], rows.n_groups
        self._rest_is_off = rest_is_off[leaf]
        off = {id(line.is_off): line.is_off for line in lines}  # lines that state the same are off for the same
        self._kind = np.array([list(off).index(id(line.is_off)) for line in lines], dtype=np.int64)
        self._off = np.stack([np.zeros(n_cells, dtype=bool), *(is_off[leaf] for is_off in off.values())])[1:]
        longest = max(map(len, self.lines), default=0)
        self._n_failed = np.zeros((len(lines), n_cells), dtype=np.uint8 if longest < 255 else np.uint16)
        self._near = np.zeros((len(lines), n_cells), dtype=np.int16)  # where one condition fails: which of the line's
        self._n_covering, self._n_off = np.zeros((2, n_cells), dtype=np.int64)
        for line, own in enumerate(self.lines):
            self._fails[own].sum(axis=0, out=self._n_failed[line], dtype=self._n_failed.dtype)
            self._find_near(line, np.flatnonzero(self._n_failed[line] == 1))
            covered = self._n_failed[line] == 0
            self._n_covering += covered
            self._n_off += covered & self._off[self._kind[line]]

    @property
    def spent(self) -> NDArray[np.float64]:
        """Units that are off, by kind of rows and class."""
        off = (self._n_off > 0) | ((self._n_covering == 0) & self._rest_is_off)
        return self._sum(np.arange(len(off)), 1.0 * off)

    def price(self, line: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Price the moves of a line: units off then, less units off now."""
        n_entries = len(self.lines[line])
        near, covered = ((self._n_failed[line] == number).nonzero()[0] for number in (1, 0))
        is_off = self._off[self._kind[line]]
        place = self._group[near] * n_entries + self._near[line, near]
        (other, own), (other_left, own_left) = self._join(near), self._leave(covered)
        change = np.where(is_off[near], own, other)
        prices = _add_up(place, self._units[:, near] * change, self._n_groups * n_entries)
        drop_price = self._sum(covered, np.where(is_off[covered], own_left, other_left))
        return prices.reshape(2, self._n_groups, n_entries), drop_price

    def delete(self, line: int, entry: int) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Delete a condition of a line; tell how the prices of the other lines change."""
        n_failed, fails = self._n_failed[line], self._fails[self.lines[line][entry]]
        change = self._change_cover(line, (fails & (n_failed == 1)).nonzero()[0], 1)
        n_failed -= fails
        self._kept[line][entry] = False
        self._find_near(line, (fails & (n_failed == 1)).nonzero()[0])
        return change

    def drop(self, line: int) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Drop a line; tell how the prices of the other lines change."""
        cells = np.flatnonzero(self._n_failed[line] == 0)
        self._n_failed[line] = np.iinfo(self._n_failed.dtype).max
        return self._change_cover(line, cells, -1)

    def _find_near(self, line: int, cells: NDArray[np.int64]) -> None:
        """Find the one condition of a line that each of some cells fails."""
        own = np.flatnonzero(self._kept[line])
        if len(cells):
            self._near[line, cells] = own[self._fails[self.lines[line][own][:, None], cells].argmax(axis=0)]

    def _join(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """What cells add to those off when a line comes to cover them, that is not off there, or is."""
        is_left = (self._n_covering[cells] == 0) & self._rest_is_off[cells]
        return np.array([-1.0 * is_left, 1.0 * ((self._n_off[cells] == 0) & ~is_left)])

    def _leave(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """What cells add to those off when a line leaves them that was not off there, or was."""
        off, will_be_left = self._n_off[cells], (self._n_covering[cells] == 1) & self._rest_is_off[cells]
        return np.array([1.0 * (will_be_left & (off == 0)), -1.0 * ((off == 1) & ~will_be_left)])

    def _change_cover(
        self, line: int, cells: NDArray[np.int64], change: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Let a line newly cover cells, or no longer; tell how the prices of all lines change, but its own."""
        if not len(cells):
            return None
        joined, left = self._join(cells), self._leave(cells)
        self._n_covering[cells] += change
        self._n_off[cells] += change * self._off[self._kind[line], cells]
        joined, left = self._join(cells) - joined, self._leave(cells) - left
        changed = np.flatnonzero(np.concatenate([joined, left]).any(axis=0))
        if not len(changed):
            return None
        cells, joined, left = cells[changed], joined[:, changed], left[:, changed]
        n_lines, n_entries = len(self.lines), int(self._begin[-1])
        n_failed, is_off = self._n_failed[:, cells], self._off[:, cells]
        lines, places = (n_failed == 1).nonzero()
        entries = self._begin[lines] + self._near[lines, cells[places]]
        gain = joined[is_off[self._kind[lines], places].view(np.int8), places]
        at = self._group[cells[places]] * n_entries + entries
        price = _add_up(at, self._units[:, cells[places]] * gain, self._n_groups * n_entries)
        lines, places = (n_failed == 0).nonzero()
        loss = left[is_off[self._kind[lines], places].view(np.int8), places]
        at = self._group[cells[places]] * n_lines + lines
        drop = _add_up(at, self._units[:, cells[places]] * loss, self._n_groups * n_lines)
        return price.reshape(2, self._n_groups, n_entries), drop.reshape(2, self._n_groups, n_lines)

    def _sum(self, cells: NDArray[np.int64], factor: NDArray[np.float64]) -> NDArray[np.float64]:
        return _add_up(self._group[cells], self._units[:, cells] * factor, self._n_groups)


def _add_up(place: NDArray[np.int64], units: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Add up units of both kinds by place."""
    found = np.empty((2, size))
    found[0], found[1] = np.bincount(place, units[0], size), np.bincount(place, units[1], size)
    return found
