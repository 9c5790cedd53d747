"""Checked rows, read a block at a time, where they end in a tree, and their columns as small numbers.

No test of the tree tells values with the same code apart. A code takes one byte, two in trees that compare one column
with more than 254 thresholds, four with more than 65,534; so many rows can be held at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.kernels import routes as kernel
from secateur.kernels.running import compile_module, is_soon_done, map_in_threads
from secateur.tree.paths import Paths, find_runs
from secateur.tree.tree import Tree

# Large enough to be worth a thread, small enough that a converted block stays in the processor's cache and that threads
# end at about the same time. A multiple of 64 keeps blocks on the boundaries of mask words.
BLOCK_ROWS = 1 << 14
MANY_ROWS = 1 << 18  # rows that are routed at a time


class Block(NamedTuple):
    """Rows as kernels read them: the value of row ``i`` in column ``k`` is at ``origin + i * step + columns[k]``."""

    values: NDArray[Any]
    n_rows: int
    origin: int
    step: int
    columns: NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Rows in a tree's own terms; ``read(first, last, features)`` converts some rows and columns to a matrix."""

    n_rows: int
    n_features: int
    source: NDArray[Any] | None  # the matrix itself, if it needs no conversion and lies in one piece
    column_of: NDArray[np.int64]  # the column of each feature in source; -1 if it is not there and must not be read
    read: Callable[[int, int, NDArray[np.int64]], NDArray[Any]] = field(repr=False)
    packed: dict[str, Any] = field(default_factory=dict, repr=False)  # masks of rows by the tests of one tree

    @classmethod
    def of(cls, matrix: NDArray[Any]) -> Rows:
        """Wrap a matrix that is in a tree's own terms already."""
        whole = matrix.flags.c_contiguous or matrix.flags.f_contiguous
        n_rows, n_features = matrix.shape
        source = matrix if whole else None
        return cls(n_rows, n_features, source, np.arange(n_features), lambda first, end, some: matrix[first:end, some])

    @classmethod
    def of_columns(cls, table: NDArray[Any], features: NDArray[np.int64], n_features: int) -> Rows:
        """Wrap a table, in one piece, that holds only some features."""
        column_of = np.full(n_features, -1, dtype=np.int64)
        column_of[features] = np.arange(len(features))
        return cls(len(table), n_features, table, column_of, lambda first, end, some: table[first:end, column_of[some]])

    def __len__(self) -> int:
        return self.n_rows

    @cached_property
    def matrix(self) -> NDArray[Any]:
        """All rows, each feature in its column of ``column_of``; converted ones are a copy."""
        return self.source if self.source is not None else self.read(0, self.n_rows, np.arange(self.n_features))

    def convert(self) -> Rows:
        """Convert the rows once, to be read often."""
        return self if self.source is not None else Rows.of(np.ascontiguousarray(self.matrix))

    def spans(self) -> list[tuple[int, int]]:
        """List the first row of each block, and the row after its last."""
        return [(first, min(first + BLOCK_ROWS, self.n_rows)) for first in range(0, self.n_rows, BLOCK_ROWS)]

    def block(self, first: int, last: int, features: NDArray[np.int64]) -> Block:
        """Take some columns of the rows from ``first`` to before ``last``, as a view where possible."""
        if self.source is not None:
            row_step, column_step = (step // self.source.itemsize for step in self.source.strides)
            values = self.source.ravel(order="K")
            columns = self.column_of[features] * column_step
            return Block(values, last - first, first * row_step, row_step, columns)
        values = self.read(first, last, features)
        ordered = values if values.flags.c_contiguous else np.asfortranarray(values)
        row_step, column_step = (step // values.itemsize for step in ordered.strides)
        return Block(ordered.ravel(order="K"), last - first, 0, row_step, np.arange(len(features)) * column_step)

    def select(self, first: int, last: int, features: NDArray[np.int64]) -> NDArray[Any]:
        """Take some rows and columns as a matrix."""
        return self.read(first, last, features)

    def part(self, first: int, last: int) -> Rows:
        """Take the rows from ``first`` to before ``last``, as a view where possible."""
        source = None if self.source is None or self.source.flags.f_contiguous else self.source[first:last]

        def read(begin: int, end: int, some: NDArray[np.int64]) -> NDArray[Any]:
            return self.read(first + begin, first + end, some)

        is_aligned = first % 64 == 0 and (last % 64 == 0 or last == self.n_rows)
        packed = dict(self.packed) if is_aligned else {}
        if "masks" in packed:
            packed["masks"] = packed["masks"][:, first // 64 : -(-last // 64)]
        return Rows(last - first, self.n_features, source, self.column_of, read, packed)

    def take(self, order: NDArray[np.int64], features: NDArray[np.int64]) -> NDArray[Any]:
        """Take some rows in the given order, and some columns, as a matrix in row order."""
        if self.source is not None:
            columns = self.column_of[features]
            if 2 * len(columns) < self.source.shape[1]:
                return self.source[order[:, None], columns]
            whole: NDArray[Any] = self.source.take(order, axis=0)  # whole rows: several times faster than cell by cell
            return whole if np.array_equal(columns, np.arange(whole.shape[1])) else whole[:, columns]
        taken = [self.read(0, self.n_rows, features[k : k + 1])[order, 0] for k in range(len(features))]
        return np.column_stack(taken) if taken else np.empty((len(order), 0))


class LabelledRows(NamedTuple):
    """Rows with their classes and, if they have any, their weights; for a regression tree, with their targets."""

    rows: Rows
    class_ids: NDArray[np.int64]  # all 0 for a regression tree
    weights: NDArray[np.float64] | None
    targets: NDArray[np.float64] | None = None

    def split(self, size: int) -> list[LabelledRows]:
        """Split the rows into parts of up to so many."""
        parts = []
        for first in range(0, max(self.rows.n_rows, 1), size):
            last = min(first + size, self.rows.n_rows)
            beside = (one if one is None else one[first:last] for one in self[1:])
            parts.append(LabelledRows(self.rows.part(first, last), *beside))  # type: ignore[arg-type]
        return parts


PLAIN_ROWS = 1 << 21  # numpy routes so many rows in about as long as it takes to load compiled code


class Routes(NamedTuple):
    """Tests that send a row from node 0 on to a node without a test: a tree, or one whose branches meet again.

    Each has an element per node; ``feature`` is -1 where a row ends. A row goes left where its value is at most
    ``upper``; of a code, where ``table[start + code]`` is true (``start`` is -1 for numbers); of a missing value, where
    ``missing_left`` is.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    feature: NDArray[np.int64]
    upper: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    start: NDArray[np.int64]
    table: NDArray[np.bool_]

    @classmethod
    def of(cls, tree: Tree) -> Routes:
        """Take the tests of a tree; rows end at the ids of its leaves."""
        tests = tree.feature, tree.upper, tree.missing_left, *tree.category_table
        return cls(tree.children_left, tree.children_right, *tests)


def apply_tree(tree: Tree, rows: Rows) -> NDArray[np.int64]:
    """Find the leaf id of each row, shape (n_rows,)."""
    return follow(Routes.of(tree), rows)


def follow(routes: Routes, rows: Rows) -> NDArray[np.int64]:
    """Find the node at which each row ends, shape (n_rows,)."""
    features = np.unique(routes.feature[routes.feature >= 0])
    reached = np.empty(rows.n_rows, dtype=np.int64)
    columns = np.zeros(rows.n_features, dtype=np.int64)
    if is_soon_done("route_rows", rows.n_rows, PLAIN_ROWS):
        columns[features] = np.arange(len(features))
        for span in rows.spans():
            reached[slice(*span)] = _descend(routes, rows.read(*span, features), columns)
        return reached
    route_rows = compile_module(kernel).route_rows

    def route(span: tuple[int, int]) -> None:
        block = rows.block(*span, features)
        own = np.zeros_like(columns)
        own[features] = block.columns
        route_rows(block.values, block.origin, block.step, own, block.n_rows, *routes, reached[slice(*span)])

    for _ in map_in_threads(route, rows.spans()):
        pass
    return reached


def _descend(routes: Routes, matrix: NDArray[Any], column_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Send all rows on together, one test at a time; rows that have arrived drop out."""
    nodes = np.zeros(len(matrix), dtype=np.int64)
    moving = np.arange(len(matrix)) if routes.feature[0] >= 0 else np.zeros(0, dtype=np.int64)
    while len(moving):
        at = nodes[moving]
        values = matrix[moving, column_of[routes.feature[at]]]
        left = values <= routes.upper[at]
        missing = np.isnan(values)
        sets = (routes.start[at] >= 0) & ~missing
        left[sets] = routes.table[routes.start[at[sets]] + values[sets].astype(np.int64)]
        left[missing] = routes.missing_left[at[missing]]
        nodes[moving] = np.where(left, routes.left[at], routes.right[at])
        moving = moving[routes.feature[nodes[moving]] >= 0]
    return nodes


def count_classes(
    tree: Tree, reached: NDArray[np.int64], class_ids: NDArray[np.int64], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Count the (weighted) rows of each class that pass each node, from the leaves reached; (n_nodes, n_classes)."""
    cells = reached * tree.n_classes + class_ids
    counts = np.bincount(cells, weights=weights, minlength=tree.n_nodes * tree.n_classes).astype(np.float64)
    return sum_up(tree, counts.reshape(tree.n_nodes, tree.n_classes))


def sum_up(tree: Tree, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add the counts of the leaves up to the root, in place."""
    for inner in reversed(tree.inner_levels):
        counts[inner] = counts[tree.children_left[inner]] + counts[tree.children_right[inner]]
    return counts


class RowIndex(NamedTuple):
    """Rows in the order of their leaves, in which every node has a run of them."""

    order: NDArray[np.int64]  # the rows from the leftmost leaf to the rightmost
    first: NDArray[np.int64]  # the rows order[first[i]:last[i]] pass node i
    last: NDArray[np.int64]
    place: NDArray[Any]  # the place of the leaf that each row reaches, in the rows' own order


def index_rows(tree: Tree, paths: Paths, rows: Rows) -> RowIndex:
    """Route the rows, and put them in the order of their leaves; rows of one leaf keep theirs."""
    # numpy sorts small numbers by their digits, several times faster
    place_of = np.zeros(tree.n_nodes, dtype=np.uint16 if paths.n_rules <= np.iinfo(np.uint16).max else np.int64)
    place_of[paths.leaf_ids] = np.arange(paths.n_rules)
    place = np.empty(rows.n_rows, dtype=place_of.dtype)
    for begin in range(0, rows.n_rows, MANY_ROWS):  # node ids of all rows would take four times the memory
        end = min(begin + MANY_ROWS, rows.n_rows)
        some = rows if end - begin == rows.n_rows else rows.part(begin, end)
        place[begin:end] = place_of[apply_tree(tree, some)]
    n_rows = np.zeros(tree.n_nodes, dtype=np.int64)
    n_rows[paths.leaf_ids] = np.bincount(place, minlength=paths.n_rules)
    first, last = find_runs(tree, n_rows)
    return RowIndex(np.argsort(place, kind="stable"), first, last, place)


MOST_BYTE, MOST_SHORT = 1 << 8, 1 << 16  # codes of one byte, and of two
BEYOND, MISSING = np.inf, np.nan  # the last two values of each column


@dataclass(frozen=True)
class CodedColumns:
    """The tested columns of rows, one after another, shape (n_columns, n_rows).

    Code ``k`` is for what lies above a column's value ``k - 1``, up to its value ``k``. The values of a column are the
    thresholds and all category codes, increasing, infinity, and NaN.
    """

    features: NDArray[np.int64]  # those that the tree tests
    codes: NDArray[Any]  # of uint8, uint16 or uint32
    values: NDArray[Any]  # a value for each code, in the tree's dtype, column after column
    start: NDArray[np.int64]  # values[start[k]:start[k + 1]] are those of column k

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])

    def limits(self, column: int) -> NDArray[Any]:
        """Take the thresholds and category codes of a column."""
        return self.values[self.start[column] : self.start[column + 1] - 2]

    def find_limits(self, tree: Tree) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Find the largest code that each split of a tree may send left, and that of NaN, -1 if NaN goes right."""
        limit, missing = np.full((2, tree.n_nodes), -1, dtype=np.int32)
        for column, feature in enumerate(self.features.tolist()):
            nodes, limits = np.flatnonzero(tree.feature == feature), self.limits(column)
            limit[nodes] = np.where(
                tree.is_categorical[nodes],
                len(limits) - 1,
                np.searchsorted(limits, tree.upper[nodes].astype(limits.dtype)),
            )
            missing[nodes] = np.where(tree.missing_left[nodes], len(limits) + 1, -1)
        return limit, missing

    def read(self, first: int = 0, last: int | None = None) -> NDArray[Any]:
        """Give each cell of some rows the value of its code, shape (n_rows, n_columns)."""
        some = self.codes[:, first:last]
        table = np.empty(some.shape, dtype=self.values.dtype)
        for column, codes in enumerate(some):
            table[column] = self.values[self.start[column] : self.start[column + 1]][codes]
        return table.T

    def as_rows(self, n_features: int) -> Rows:
        """Wrap them as rows that have the tested features only."""
        column_of = np.full(n_features, -1, dtype=np.int64)
        column_of[self.features] = np.arange(len(self.features))

        def read(first: int, last: int, some: NDArray[np.int64]) -> NDArray[Any]:
            table, columns = self.read(first, last), column_of[some]
            return table if np.array_equal(columns, np.arange(table.shape[1])) else table[:, columns]

        return Rows(self.n_rows, n_features, None, column_of, read)

    def sort(self, order: NDArray[np.int64]) -> None:
        """Put the rows in another order, in place, a column at a time."""
        for codes in self.codes:
            codes[:] = codes[order]


def code_columns(
    tree: Tree, rows: Rows, chosen: NDArray[np.int64], n_rows: int, *, takes_bytes: bool = True
) -> CodedColumns:
    """Code the tested columns of some rows, increasing, a block at a time; there is room for ``n_rows`` in the end.

    Compiled code does without codes of one byte (``takes_bytes``), or it would be compiled once more.
    """
    features = np.unique(tree.feature[~tree.is_leaf])
    limits = [_find_limits(tree, feature) for feature in features.tolist()]
    start = np.cumsum([0, *(len(some) + 2 for some in limits)])
    ends = np.array([BEYOND, MISSING], dtype=tree.dtype)
    values = np.concatenate([np.zeros(0, dtype=tree.dtype), *(part for some in limits for part in (some, ends))])
    most = max(map(len, limits), default=0) + len(ends)
    dtype = np.uint8 if takes_bytes and most <= MOST_BYTE else np.uint16 if most <= MOST_SHORT else np.uint32
    codes = np.empty((len(features), n_rows), dtype=dtype)

    def fill(span: tuple[int, int]) -> None:
        begin, end = np.searchsorted(chosen, span)
        block = rows.select(*span, features)[chosen[begin:end] - span[0]]
        for column, some in enumerate(limits):
            found = np.searchsorted(some, block[:, column])
            found[np.isnan(block[:, column])] = len(some) + 1
            codes[column, begin:end] = found

    for _ in map_in_threads(fill, rows.spans()):
        pass
    return CodedColumns(features, codes, values, start)


def _find_limits(tree: Tree, feature: int) -> NDArray[Any]:
    """List what values of a feature are compared with, increasing, as numbers of the tree's dtype."""
    upper = tree.upper[tree.feature == feature]
    levels = tree.categories[feature]
    codes = np.arange(0 if levels is None else len(levels) + 1)  # the last one for categories that are not listed
    return np.unique(np.append(upper[~np.isnan(upper)], codes)).astype(tree.dtype)
