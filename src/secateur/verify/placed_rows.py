"""Put rows where they go in the tree, and find those that satisfy a rule.

Where a box allows the numbers of a feature, only their places among the limits of all boxes matter: columns of such
places are small integers, and a condition is a comparison of these.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.verify.boxes import left_codes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from secateur.tree.tree import Tree
    from secateur.verify.boxes import Boxes

UNBOUNDED = -1  # the end of places that have none


class PlacedRows:
    """Rows, where they go in the tree, and which of them satisfy a rule."""

    def __init__(self, tree: Tree, matrix: NDArray[Any]) -> None:
        self.n_rows = len(matrix)
        self.features = np.unique(tree.feature[tree.feature >= 0])
        self.values = np.ascontiguousarray(matrix[:, self.features].T)  # a row for each tested feature
        self.n_missing = np.isnan(self.values).sum(axis=1)
        leaf_of = self._walk(tree)
        # Rows in the order of the leaves that they reach: those that pass a node are the run from first to last.
        lefts, rights = tree.children_left.tolist(), tree.children_right.tolist()
        passing = np.bincount(leaf_of, minlength=tree.n_nodes).tolist()
        inner = np.flatnonzero(tree.children_left >= 0).tolist()
        for node in reversed(inner):  # a child's id is larger than its parent's
            passing[node] = passing[lefts[node]] + passing[rights[node]]
        first = [0] * tree.n_nodes
        for node in inner:
            first[lefts[node]] = first[node]
            first[rights[node]] = first[node] + passing[lefts[node]]
        self.first = np.array(first)
        self.last = self.first + passing
        self.order = np.argsort(self.first[leaf_of], kind="stable")

    def leaf_place(self, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """Find the place, among the leaves from left to right, of the leaf that each row reaches."""
        place = np.empty(self.n_rows, dtype=np.int64)
        place[self.order] = np.repeat(np.arange(len(leaves)), self.last[leaves] - self.first[leaves])
        return place

    def satisfying(self, boxes: Boxes, top: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """List boxes, by their place among these, with the rows in each; all of them are known to pass its top node.

        The search looks at the fewest rows that are known to hold them all: those that pass the node, or those that the
        box allows one of its features. Either lie side by side in an order of the rows, and so do their values if the
        columns are put in that order: boxes that look at the same order are done together.
        """
        ranked = _Ranked(self, boxes)
        n_allowed = ranked.last - ranked.first + boxes.missing * self.n_missing[:, None]
        n_allowed[~boxes.is_restricted] = self.n_rows
        n_passing = self.last[top] - self.first[top]
        narrowest = n_allowed.argmin(axis=0) if len(n_allowed) else np.full(len(top), -1)
        looked_at = np.where(n_allowed.min(axis=0, initial=self.n_rows) < n_passing, narrowest, -1)
        for narrow in np.unique(looked_at).tolist():
            places = np.flatnonzero(looked_at == narrow)
            first, last, order = self.first[top[places]], self.last[top[places]], self.order
            tested = boxes.is_restricted[:, places].T.copy()
            is_missing_in = np.zeros(len(places), dtype=bool)
            if narrow >= 0:
                first, last, order = ranked.first[narrow, places], ranked.last[narrow, places], self.sorted[narrow]
                tested[:, narrow] = False
                is_missing_in = boxes.missing[narrow, places] & (self.n_missing[narrow] > 0)
            columns = _Arranged(ranked.columns, order, keep=int((last - first).sum()) > self.n_rows)
            tests = ranked.list_tests(places, tested)
            spans = zip(places.tolist(), tests, first.tolist(), last.tolist(), is_missing_in.tolist(), strict=True)
            for place, asked, begin, end, also_missing in spans:
                inside = columns.find_rows(asked, begin, end)
                if also_missing:  # NaN is sorted behind all numbers
                    unknown = columns.find_rows(asked, self.n_rows - int(self.n_missing[narrow]), self.n_rows)
                    inside = np.concatenate([inside, unknown])
                yield place, inside

    @cached_property
    def sorted(self) -> list[NDArray[np.int64]]:
        """The rows in the order of each tested feature, NaN last."""
        return [order_by_value(column) for column in self.values]

    def _walk(self, tree: Tree) -> NDArray[np.int64]:
        """Find the leaf that each row reaches; all rows go down together, a level at a time."""
        is_inner = tree.children_left >= 0
        in_sets = [
            node for node in np.flatnonzero(is_inner).tolist() if tree.categories[tree.feature[node]] is not None
        ]
        marks = [left_codes_of(tree, node) for node in in_sets]
        start = np.full(tree.n_nodes, -1)  # where the marks of a node's codes start; -1 where it asks for a number
        start[in_sets] = np.cumsum([0, *map(len, marks)])[:-1]
        to_left = np.concatenate([np.zeros(0, dtype=bool), *marks])
        row_of = np.searchsorted(self.features, tree.feature)
        at = np.zeros(self.n_rows, dtype=np.int64)
        going = np.arange(self.n_rows if is_inner[0] else 0)
        while len(going):
            nodes = at[going]
            values = self.values[row_of[nodes], going].astype(np.float64)
            left = values <= tree.threshold[nodes]
            if in_sets:
                asks = start[nodes] >= 0
                left[asks] = to_left[start[nodes[asks]] + np.nan_to_num(values[asks]).astype(np.int64)]
            if self.n_missing.any():
                left = np.where(np.isnan(values), tree.missing_left[nodes], left)
            at[going] = nodes = np.where(left, tree.children_left[nodes], tree.children_right[nodes])
            going = going[is_inner[nodes]]
        return at


class _Ranked:
    """Columns of the places that values have among the limits of some boxes, and the places that each box allows.

    The place of a number is how many of the limits it exceeds; infinity is the last of them. A code is its own place.
    NaN has a place behind all others. A box allows the places from ``begin`` up to, but not including, ``end``, and the
    rows with such numbers lie from ``first`` to ``last`` among the sorted ones.
    """

    def __init__(self, rows: PlacedRows, boxes: Boxes) -> None:
        self.boxes, self.has_missing = boxes, rows.n_missing > 0
        self.columns: list[NDArray[Any]] = []
        self.n_places = np.zeros(len(boxes.features), dtype=np.int64)  # without that of NaN
        self.begin, self.end, self.first, self.last = np.zeros((4, *boxes.low.shape), dtype=np.int64)
        for row, feature in enumerate(boxes.features.tolist()):
            values = rows.values[row]
            if feature in boxes.codes:
                n_places = boxes.codes[feature].shape[1]
                places = np.where(np.isnan(values), n_places, values)
                self.last[row] = rows.n_rows  # a set of codes is no interval: such a feature is never the narrowest
            else:
                low, high, order = boxes.low[row], boxes.high[row], rows.sorted[row]
                limits = np.unique(np.concatenate([low[low > -np.inf], high, [np.inf]]))
                n_places = len(limits)
                begin = self.begin[row] = np.searchsorted(limits, low, side="right")
                end = self.end[row] = np.maximum(begin, np.searchsorted(limits, high, side="right"))
                n_up_to = np.searchsorted(values[order], limits, side="right")
                bounds = np.concatenate([[0], n_up_to, [rows.n_rows]])
                self.first[row], self.last[row] = bounds[begin], bounds[end]
                places = np.empty(rows.n_rows, dtype=np.min_scalar_type(n_places))
                places[order] = np.repeat(np.arange(n_places + 1, dtype=places.dtype), np.diff(bounds))
            self.columns.append(places.astype(np.min_scalar_type(n_places)))
            self.n_places[row] = n_places

    def list_tests(
        self, places: NDArray[np.int64], tested: NDArray[np.bool_]
    ) -> Iterator[list[tuple[int, int, int, NDArray[np.bool_] | None]]]:
        """List, box by box, what is to be asked of the marked features: the range of places, or marks of them."""
        which, row = tested.nonzero()
        place = places[which]
        begin, end = self.begin[row, place], self.end[row, place]
        missing = self.boxes.missing[row, place] & self.has_missing[row]
        in_set = np.isin(row, [self.boxes.row_of[feature] for feature in self.boxes.codes])
        in_set |= missing & (end < self.n_places[row])
        end[(end == self.n_places[row]) & (missing | ~self.has_missing[row])] = UNBOUNDED
        marks: list[NDArray[np.bool_] | None] = [None] * len(row)
        for entry in np.flatnonzero(in_set).tolist():
            marks[entry] = self._mark(int(row[entry]), int(place[entry]))
        asked = list(zip(row.tolist(), begin.tolist(), end.tolist(), marks, strict=True))
        for first, last in pairwise([0, *tested.sum(axis=1).cumsum().tolist()]):
            yield asked[first:last]

    def _mark(self, row: int, place: int) -> NDArray[np.bool_]:
        """Mark the places that a box allows."""
        codes = self.boxes.codes.get(int(self.boxes.features[row]))
        marked = np.zeros(self.n_places[row] + 1, dtype=bool)
        marked[-1] = self.boxes.missing[row, place]
        if codes is None:
            marked[self.begin[row, place] : self.end[row, place]] = True
        else:
            marked[:-1] = codes[place]
        return marked


class _Arranged:
    """Columns in an order of the rows; if the whole order is looked at again and again, they are kept in it."""

    def __init__(self, columns: list[NDArray[Any]], order: NDArray[np.int64], *, keep: bool) -> None:
        self.columns, self.order, self.keep = columns, order, keep
        self.kept: list[NDArray[Any] | None] = [None] * len(columns)

    def find_rows(
        self, asked: list[tuple[int, int, int, NDArray[np.bool_] | None]], first: int, last: int
    ) -> NDArray[np.int64]:
        """Find the rows that are allowed all that is asked, among some that lie side by side."""
        held: NDArray[np.bool_] | None = None
        for row, begin, end, marks in asked:
            column = self.between(row, first, last)
            if marks is not None:
                found = marks[column]
            elif end == UNBOUNDED:
                found = column >= begin
            elif not begin:
                found = column < end
            else:
                found = column - begin < end - begin  # unsigned: what lies below wraps around to far above
            held = found if held is None else np.logical_and(held, found, out=held)
        rows: NDArray[np.int64] = self.order[first:last]
        return rows if held is None else rows[held.nonzero()[0]]  # faster than by the marks themselves

    def between(self, row: int, first: int, last: int) -> NDArray[Any]:
        """The places of a feature's values, for rows that lie side by side."""
        if not self.keep:
            return self.columns[row][self.order[first:last]]
        kept = self.kept[row]
        if kept is None:
            kept = self.kept[row] = self.columns[row].take(self.order)
        return kept[first:last]


def order_by_value(values: NDArray[Any]) -> NDArray[np.int64]:
    """Order rows by a column of floats, NaN last: as argsort does, but in time that grows with the rows alone.

    Floats without sign are in the order of their bits. numpy sorts integers of 16 bits, and only these, by counting
    them; a stable order by each 16 bits in turn, the highest last, is the order by all of them.
    """
    kind = {4: np.uint32, 8: np.uint64}[values.itemsize]
    plain = np.where(np.isnan(values), np.nan, values)  # NaN may have a sign
    bits = plain.view(kind)
    sign = kind(1 << (8 * values.itemsize - 1))
    bits = np.where(bits & sign, ~bits, bits | sign)
    order = np.arange(len(values))
    for shift in range(0, 8 * values.itemsize, 16):
        digits = (bits >> kind(shift)).astype(np.uint16)
        order = order[np.argsort(digits[order], kind="stable")]
    return order
