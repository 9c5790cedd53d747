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
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.counting.coverage import pack_links
from secateur.methods.row_mixture import MixedRows
from secateur.tree.tree import Tree

__all__ = ["Budgeted", "JointDeletion", "JointRows", "Spent", "Written"]


class Written(NamedTuple):
    """A line before the budget is spent."""

    section: int  # number of its section
    links: NDArray[np.int32]  # the edges of its conditions, without those of the heading
    is_off: NDArray[np.bool_]  # of each leaf, by place: whether the line would be off for its rows


class Spent(NamedTuple):
    """What a move cost: shares of all mixed rows off before and after it, and of training rows that it added."""

    before: float
    after: float
    real: float


@dataclass(frozen=True)
class Budgeted:
    """The lines after a budget was spent."""

    stays: NDArray[np.bool_]  # of each line
    deleted: tuple[dict[int, Spent], ...]  # of each line: conditions that went, by place among its links
    dropped: dict[int, Spent]  # lines that went
    kept: tuple[dict[int, Spent], ...]  # of each line that stays: what deleting a further condition would cost


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
        lengths = [len(line.links) for line in lines]
        self._line_of = np.repeat(np.arange(len(lines)), lengths)  # of each condition
        self._begin = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self._price = np.zeros((2, rows.n_groups, len(self._line_of)))  # by kind of rows and class
        self._drop_price = np.zeros((2, rows.n_groups, len(lines)))
        self._kept, self._stays = np.ones(len(self._line_of), dtype=bool), np.ones(len(lines), dtype=bool)
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
        self._deleted: list[dict[int, Spent]] = [{} for _ in lines]
        self._dropped: dict[int, Spent] = {}

    def copy(self) -> JointDeletion:
        """Copy what moves change, so that a budget can be spent twice."""
        rows, lines = self._rows, [section.lines for _, section in self._sections]
        shared = {id(one): one for one in (rows, *lines, *(section.unchanging for _, section in self._sections))}
        return deepcopy(self, shared)

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
            if entry is None:
                self._spent = before + self._drop_price[:, :, index]
                self._dropped[index] = self._cost(before, self._spent)
            else:
                self._spent = before + self._price[:, :, entry]
                self._deleted[index][int(entry - self._begin[index])] = self._cost(before, self._spent)
            self._take(index, entry)
        kept: list[dict[int, Spent]] = [{} for _ in self._stays]
        entries = np.flatnonzero(self._kept & self._stays[self._line_of])
        lines = self._line_of[entries]
        costs = self._list_costs(entries)
        for index, place, cost in zip(lines.tolist(), (entries - self._begin[lines]).tolist(), costs, strict=True):
            kept[index][place] = cost
        deleted = tuple(dict(some) for some in self._deleted)
        return Budgeted(self._stays.copy(), deleted, dict(self._dropped), tuple(kept))

    def _find_cheapest(self, room: NDArray[np.float64], total: NDArray[np.float64]) -> tuple[int, int | None] | None:
        """Find the cheapest move that there is room for: a line, and a condition of it or None to drop it."""
        found = []
        for price, alive in (self._price, self._kept & self._stays[self._line_of]), (self._drop_price, self._stays):
            sums = price.sum(axis=1)
            fits = alive & (price <= room[:, :, None]).all(axis=(0, 1)) & (sums <= total[:, None]).all(axis=0)
            found.append(np.where(fits, sums[0], np.inf))
        lengths = np.bincount(self._line_of[self._kept], minlength=len(self._stays))
        found[1] = found[1] / (lengths + 1)
        least = [float(prices.min(initial=np.inf)) for prices in found]
        if min(least) == np.inf:
            return None
        if least[0] <= least[1]:
            entry = int(found[0].argmin())
            return int(self._line_of[entry]), entry
        return int(found[1].argmin()), None

    def _take(self, index: int, entry: int | None) -> None:
        """Delete a condition, or drop a line."""
        first, section = self._sections[self._section_of[index]]
        if entry is None:
            self._stays[index] = False
            change = section.drop(index - first)
        else:
            self._kept[entry] = False
            change = section.delete(index - first, int(entry - self._begin[index]))
            self._note(index)
        if change is not None:
            price, drop_price = change
            begin, end = self._begin[first], self._begin[first + len(section.lines)]
            self._price[:, :, begin:end] += price
            self._drop_price[:, :, first : first + len(section.lines)] += drop_price

    def _note(self, index: int) -> None:
        """Price the moves of one line anew."""
        first, section = self._sections[self._section_of[index]]
        own = slice(self._begin[index], self._begin[index + 1])
        self._price[:, :, own], self._drop_price[:, :, index] = section.price(index - first)

    def _list_costs(self, entries: NDArray[np.int64]) -> Iterator[Spent]:
        """List what deleting each of some conditions would cost."""
        mixed, real = self._rows.totals
        spent, (added, added_real) = self._spent[0].sum(), self._price[:, :, entries].sum(axis=1)
        after, of_real = (spent + added) / mixed, added_real / real
        return map(Spent, repeat(float(spent / mixed)), after.tolist(), of_real.tolist())

    def _cost(self, before: NDArray[np.float64], after: NDArray[np.float64]) -> Spent:
        mixed, real = self._rows.totals
        added = after[1].sum() - before[1].sum()
        return Spent(float(before[0].sum() / mixed), float(after[0].sum() / mixed), float(added / real))


class _Section:
    """The cells of a section, and for each of its lines which of them it covers, or one condition keeps out."""

    def __init__(self, rows: JointRows, span: slice, lines: Sequence[Written], rest_is_off: NDArray[np.bool_]) -> None:
        links = np.unique(np.concatenate([np.zeros(0, dtype=np.int32), *(line.links for line in lines)]))
        chosen, cell = rows.find_cells(links, span)
        n_cells = len(chosen)
        self.unchanging = self._fails = np.zeros((len(links), n_cells), dtype=bool)
        for place, link in enumerate(links.tolist()):
            self._fails[place] = ~rows.pass_link(link, span)[chosen]
        self.lines = [np.searchsorted(links, line.links) for line in lines]  # the conditions of each, kept or not
        self._kept = [np.ones(len(line), dtype=bool) for line in self.lines]
        self._begin = np.concatenate([[0], np.cumsum([len(line) for line in self.lines], dtype=np.int64)])
        self._units = _add_up(cell, rows.units[:, span], n_cells)
        leaf, self._group, self._n_groups = rows.leaf[span][chosen], rows.group[span][chosen], rows.n_groups
        self._rest_is_off = rest_is_off[leaf]
        shape = len(lines), n_cells
        self._is_off = np.stack([np.zeros(n_cells, dtype=bool), *(line.is_off[leaf] for line in lines)])[1:]
        self._covers = np.zeros(shape, dtype=bool)
        self._near = np.full(shape, -1, dtype=np.int32)  # the one condition that keeps a cell out, of the section's
        for line in range(len(lines)):
            self._look_at(line)
        self._n_covering = self._covers.sum(axis=0)
        self._n_off = (self._covers & self._is_off).sum(axis=0)

    @property
    def spent(self) -> NDArray[np.float64]:
        """Units that are off, by kind of rows and class."""
        off = (self._n_off > 0) | ((self._n_covering == 0) & self._rest_is_off)
        return self._sum(np.arange(len(off)), 1.0 * off)

    def price(self, line: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Price the moves of a line: units off then, less units off now."""
        begin, n_entries = int(self._begin[line]), len(self.lines[line])
        near = np.flatnonzero(self._near[line] >= 0)
        by_off, by_other, _, _ = self._worth(near)
        place = self._group[near] * n_entries + self._near[line, near] - begin
        change = np.where(self._is_off[line, near], by_off, by_other)
        prices = _add_up(place, self._units[:, near] * change, self._n_groups * n_entries)
        covered = np.flatnonzero(self._covers[line])
        _, _, off_left, other_left = self._worth(covered)
        drop_price = self._sum(covered, np.where(self._is_off[line, covered], off_left, other_left))
        return prices.reshape(2, self._n_groups, n_entries), drop_price

    def delete(self, line: int, entry: int) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Delete a condition of a line; tell how the prices of the other lines change."""
        cells = np.flatnonzero(self._near[line] == self._begin[line] + entry)
        self._kept[line][entry] = False
        change = self._change_cover(line, cells, 1)
        self._look_at(line)
        return change

    def drop(self, line: int) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Drop a line; tell how the prices of the other lines change."""
        cells = np.flatnonzero(self._covers[line])
        self._covers[line], self._near[line] = False, -1
        return self._change_cover(line, cells, -1)

    def _look_at(self, line: int) -> None:
        """Find the cells that a line covers, and those that one of its conditions keeps out alone."""
        own = np.flatnonzero(self._kept[line])
        failed = self._fails[self.lines[line][own]]
        n_failed = failed.sum(axis=0, dtype=np.int16)
        self._covers[line] = n_failed == 0
        self._near[line] = -1
        near = np.flatnonzero(n_failed == 1)
        if len(near):
            self._near[line, near] = self._begin[line] + own[failed[:, near].argmax(axis=0)]

    def _worth(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
        """What cells add to those off when a line that is off there, or another, comes to cover them or leaves them."""
        covering, off, rest_is_off = self._n_covering[cells], self._n_off[cells], self._rest_is_off[cells]
        is_left = (covering == 0) & rest_is_off
        will_be_left = (covering == 1) & rest_is_off
        return (
            1.0 * ((off == 0) & ~is_left),
            -1.0 * is_left,
            -1.0 * ((off == 1) & ~will_be_left),
            1.0 * (will_be_left & (off == 0)),
        )

    def _change_cover(
        self, line: int, cells: NDArray[np.int64], change: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Let a line newly cover cells, or no longer; tell how the prices of all lines change, but its own."""
        before = self._worth(cells)
        self._n_covering[cells] += change
        self._n_off[cells] += change * self._is_off[line, cells]
        moved = [now - then for now, then in zip(self._worth(cells), before, strict=True)]
        changed = np.flatnonzero(np.any(moved, axis=0))
        if not len(changed):
            return None
        cells, moved = cells[changed], [one[changed] for one in moved]
        by_off, by_other, off_left, other_left = moved
        n_lines, n_entries = len(self.lines), int(self._begin[-1])
        is_off, near = self._is_off[:, cells], self._near[:, cells]
        lines, places = np.nonzero(near >= 0)
        entries = near[lines, places]
        gain = np.where(is_off[lines, places], by_off[places], by_other[places])
        at = self._group[cells[places]] * n_entries + entries
        price = _add_up(at, self._units[:, cells[places]] * gain, self._n_groups * n_entries)
        lines, places = np.nonzero(self._covers[:, cells])
        loss = np.where(is_off[lines, places], off_left[places], other_left[places])
        at = self._group[cells[places]] * n_lines + lines
        drop = _add_up(at, self._units[:, cells[places]] * loss, self._n_groups * n_lines)
        return price.reshape(2, self._n_groups, n_entries), drop.reshape(2, self._n_groups, n_lines)

    def _sum(self, cells: NDArray[np.int64], factor: NDArray[np.float64]) -> NDArray[np.float64]:
        return _add_up(self._group[cells], self._units[:, cells] * factor, self._n_groups)


def _add_up(place: NDArray[np.int64], units: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Add up units of both kinds by place."""
    return np.stack([np.bincount(place, row, size) for row in units]).astype(np.float64)
