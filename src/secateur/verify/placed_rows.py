"""Put rows where they go in the tree, and find those that satisfy a rule."""

from __future__ import annotations

from functools import cached_property
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

    def satisfying(self, boxes: Boxes, top: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Find the rows in each box, all of which are known to pass its top node.

        The search looks at the fewest rows that are known to hold them all: those that pass the node, or those that the
        box allows one of its features.
        """
        begin, end = self._intervals(boxes)
        n_allowed = end - begin
        for row, feature in enumerate(boxes.features.tolist()):
            n_allowed[row] += boxes.missing[row] * len(self.missing[feature])
            if feature in boxes.codes:  # a set of codes is no interval: such a feature is never the narrowest
                n_allowed[row] = self.n_rows
        by_number = np.argsort(n_allowed, axis=0)
        for place, node in enumerate(top.tolist()):
            rows = self.rows_at(node)
            tested = [row for row in by_number[:, place].tolist() if boxes.is_restricted[row, place]]
            if tested and n_allowed[tested[0], place] < len(rows):
                narrowest = tested.pop(0)
                feature = int(boxes.features[narrowest])
                rows = self._sorted[feature][begin[narrowest, place] : end[narrowest, place]]
                if boxes.missing[narrowest, place]:
                    rows = np.concatenate([rows, self.missing[feature]])
            for row in tested:
                if not len(rows):
                    break
                rows = rows[boxes.hold(row, place, self.columns[int(boxes.features[row])][rows])]
            yield rows

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
