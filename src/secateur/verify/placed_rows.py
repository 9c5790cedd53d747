"""Put rows where they go in the tree, and find those that satisfy a rule."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from secateur.verify.boxes import left_codes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from secateur.tree.tree import Tree
    from secateur.verify.boxes import Boxes

MOST_KINDS = 1 << 22  # of rows that a test, or their class, tells apart
MERGED_ROWS = 1 << 16  # rows that are looked at together
FEW_LIMITS = 32  # with more, a value is searched for among them


class Kinds(NamedTuple):
    """Rows, one for all that no test of the tree tells apart and that have the same class."""

    matrix: NDArray[Any]
    class_ids: NDArray[np.int64]
    weights: NDArray[np.float64]  # of all rows of a kind
    first: NDArray[np.int64]  # the first of them


def merge_alike(
    tree: Tree,
    limit: NDArray[np.float64],
    matrix: NDArray[Any],
    class_ids: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
) -> Kinds:
    """Merge rows that no test tells apart; where there may be too many kinds, each row stays as it is.

    ``limit`` is the largest number that goes left at each node. A number's place is how many limits of its feature it
    exceeds, a code is its own place, and NaN has the last; the places of all features make the number of a kind.
    """
    asked = [(feature, tree.feature == feature) for feature in np.unique(tree.feature[tree.feature >= 0]).tolist()]
    codes = [tree.categories[feature] for feature, _ in asked]
    limits = [np.unique(limit[nodes]).astype(matrix.dtype) for _, nodes in asked]
    sizes = [2 + len(some if own is None else own) for own, some in zip(codes, limits, strict=True)]
    n_kinds = tree.n_classes * math.prod(sizes)
    if n_kinds > min(MOST_KINDS, 2 * len(matrix)):
        heavy = np.ones(len(matrix)) if weights is None else weights
        return Kinds(matrix, class_ids, heavy, np.arange(len(matrix)))
    kind = np.array(class_ids, dtype=np.int64)
    for begin in range(0, len(matrix), MERGED_ROWS):
        own = kind[begin : begin + MERGED_ROWS]
        for (feature, _), levels, some, size in zip(asked, codes, limits, sizes, strict=True):
            values = np.ascontiguousarray(matrix[begin : begin + MERGED_ROWS, feature])
            missing = np.isnan(values)
            if levels is not None:
                place = np.where(missing, 0, values).astype(np.int64)
            elif len(some) > FEW_LIMITS:
                place = np.searchsorted(some, values)
            else:
                place = np.zeros(len(values), dtype=np.int8)
                for one in some:
                    place += values > one
            place[missing] = size - 1
            own *= size
            own += place
    weight = np.bincount(kind, weights, n_kinds).astype(np.float64)
    first = np.full(n_kinds, -1, dtype=np.int64)
    first[kind[::-1]] = np.arange(len(kind))[::-1]  # of several, the last that is written stays
    found = np.flatnonzero(first >= 0)
    return Kinds(matrix[first[found]], class_ids[first[found]], weight[found], first[found])


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

        Of the rows that pass the node, those are looked up first that the box allows the feature that it narrows most.
        """
        low, high = boxes.low.astype(self.values.dtype), boxes.high.astype(self.values.dtype)
        n_allowed = np.full(low.shape, self.n_rows)
        for row, feature in enumerate(boxes.features.tolist()):
            if feature not in boxes.codes:
                ends = (np.searchsorted(self.sorted[row], end, side="right") for end in (high[row], low[row]))
                n_allowed[row] = np.subtract(*ends)
        n_allowed[~boxes.is_restricted] = self.n_rows + 1
        by_narrowness = n_allowed.argsort(axis=0).T.tolist()
        n_asked = boxes.is_restricted.sum(axis=0).tolist()
        for place, node in enumerate(top.tolist()):
            first, last = self.first[node], self.last[node]
            inside: NDArray[np.int64] | None = None
            for row in by_narrowness[place][: n_asked[place]]:
                column = self.arranged[row, first:last] if inside is None else self.arranged[row].take(inside)
                codes = boxes.codes.get(int(boxes.features[row]))
                if codes is None:
                    held = (column > low[row, place]) & (column <= high[row, place])
                else:
                    held = codes[place][np.nan_to_num(column).astype(np.int64)] & ~np.isnan(column)
                if self.n_missing[row] and boxes.missing[row, place]:
                    held |= np.isnan(column)
                inside = first + held.nonzero()[0] if inside is None else inside[held.nonzero()[0]]
            yield place, self.order[first:last] if inside is None else self.order[inside]

    @cached_property
    def arranged(self) -> NDArray[Any]:
        """The values of each tested feature, with the rows in the order of their leaves."""
        return np.ascontiguousarray(self.values[:, self.order])

    @cached_property
    def sorted(self) -> NDArray[Any]:
        """The values of each tested feature in their own order, NaN last."""
        return np.sort(self.values, axis=1)

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
