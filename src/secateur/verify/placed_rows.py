"""Put rows where they go in the tree, and find those that satisfy a rule."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.verify.paths import goes_left

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from secateur.tree.tree import Tree
    from secateur.verify.boxes import Boxes

__all__ = ["PlacedRows"]


class PlacedRows:
    """Rows, where they go in the tree, and which of them satisfy a rule."""

    def __init__(self, tree: Tree, matrix: NDArray[Any]) -> None:
        self.n_rows = len(matrix)
        self.columns = {int(f): np.ascontiguousarray(matrix[:, f]) for f in np.unique(tree.feature[tree.feature >= 0])}
        self.missing = {feature: np.flatnonzero(np.isnan(column)) for feature, column in self.columns.items()}
        # Rows in the order of the leaves that they reach: those that pass a node are the run from first to last.
        self.order = np.arange(len(matrix))
        self.first, self.last = np.zeros((2, tree.n_nodes), dtype=np.int64)
        self.last[0] = len(matrix)
        # A child's id is larger than its parent's: when a node's turn comes, its run is known.
        for node in np.flatnonzero(tree.children_left >= 0).tolist():
            rows = self.rows_at(node)
            left = goes_left(tree, node, self.columns[int(tree.feature[node])][rows].astype(np.float64))
            middle = self.first[node] + np.count_nonzero(left)
            self.order[self.first[node] : self.last[node]] = np.concatenate([rows[left], rows[~left]])
            left_child, right_child = tree.children_left[node], tree.children_right[node]
            self.first[left_child], self.last[left_child] = self.first[node], middle
            self.first[right_child], self.last[right_child] = middle, self.last[node]

    def rows_at(self, node: int) -> NDArray[np.int64]:
        """The rows that pass a node."""
        return self.order[self.first[node] : self.last[node]]

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
        begin, end = self._intervals(boxes)
        n_allowed = end - begin
        for row, feature in enumerate(boxes.features.tolist()):
            n_allowed[row] += boxes.missing[row] * len(self.missing[feature])
            if feature in boxes.codes:  # a set of codes is no interval: such a feature is never the narrowest
                n_allowed[row] = self.n_rows
        n_allowed[~boxes.is_restricted] = self.n_rows
        n_passing = self.last[top] - self.first[top]
        narrowest = n_allowed.argmin(axis=0) if len(n_allowed) else np.full(len(top), -1)
        looked_at = np.where(n_allowed.min(axis=0, initial=self.n_rows) < n_passing, narrowest, -1)
        for narrow in np.unique(looked_at).tolist():
            places = np.flatnonzero(looked_at == narrow)
            first, last, order = self.first[top[places]], self.last[top[places]], self.order
            n_missing = 0
            if narrow >= 0:
                first, last = begin[narrow, places], end[narrow, places]
                order = self._sorted[int(boxes.features[narrow])]
                n_missing = len(self.missing[int(boxes.features[narrow])])
            values = _Arranged(self.columns, order, keep=int((last - first).sum()) > self.n_rows)
            tested = boxes.is_restricted[:, places].T.copy()
            if narrow >= 0:
                tested[:, narrow] = False
            for place, asked, *span in zip(places.tolist(), tested, first.tolist(), last.tolist(), strict=True):
                rows_of = partial(_find_in, boxes, place, asked.nonzero()[0].tolist(), values)
                inside = rows_of(*span)
                if n_missing and boxes.missing[narrow, place]:  # NaN is sorted behind all numbers
                    inside = np.concatenate([inside, rows_of(self.n_rows - n_missing, self.n_rows)])
                yield place, inside

    def _intervals(self, boxes: Boxes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find where the numbers that a box allows a feature begin and end in the feature's sorted rows."""
        begin, end = np.zeros((2, *boxes.low.shape), dtype=np.int64)
        for row, feature in enumerate(boxes.features.tolist()):
            values = self.columns[feature][self._sorted[feature]]
            begin[row] = np.searchsorted(values, boxes.low[row], side="right")
            # NaN is sorted behind all numbers.
            end[row] = np.maximum(begin[row], np.searchsorted(values, boxes.high[row], side="right"))
        return begin, end

    @cached_property
    def _sorted(self) -> dict[int, NDArray[np.int64]]:
        """The rows in the order of each feature."""
        return {feature: np.argsort(column) for feature, column in self.columns.items()}


class _Arranged:
    """Columns in an order of the rows; if the whole order is looked at again and again, they are kept in it."""

    def __init__(self, columns: dict[int, NDArray[Any]], order: NDArray[np.int64], *, keep: bool) -> None:
        self.columns, self.order, self.keep = columns, order, keep
        self.kept: dict[int, NDArray[Any]] = {}

    def between(self, feature: int, first: int, last: int) -> NDArray[Any]:
        """The values of rows that lie side by side."""
        if not self.keep:
            return self.columns[feature][self.order[first:last]]
        if feature not in self.kept:
            self.kept[feature] = self.columns[feature][self.order]
        return self.kept[feature][first:last]


def _find_in(
    boxes: Boxes, place: int, tested: list[int], values: _Arranged, first: int, last: int
) -> NDArray[np.int64]:
    """Find the rows in a box among some that lie side by side, by the features that are not tested yet."""
    held = np.ones(last - first, dtype=bool)
    for row in tested:
        boxes.narrow(held, row, place, values.between(int(boxes.features[row]), first, last))
    rows: NDArray[np.int64] = values.order[first:last][held.nonzero()[0]]  # faster than by the marks themselves
    return rows
