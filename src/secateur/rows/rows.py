"""Checked rows, read a block at a time, so that a large table need not be copied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Large enough to be worth a thread, small enough that a converted block stays in the processor's cache and that threads
# end at about the same time. A multiple of 64 keeps blocks on the boundaries of mask words.
BLOCK_ROWS = 1 << 14


class Block(NamedTuple):
    """Rows as kernels read them: the value of row ``i`` in column ``k`` is at ``origin + i * step + columns[k]``."""

    values: NDArray[Any]
    n_rows: int
    origin: int
    step: int
    columns: NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Rows in a tree's own terms: numbers of its dtype, codes in categorical columns.

    ``read(first, last, features)`` converts some rows and columns to a matrix.
    """

    n_rows: int
    n_features: int
    source: NDArray[Any] | None  # the matrix itself, if it needs no conversion and lies in one piece
    column_of: NDArray[np.int64]  # the column of each feature in source; -1 if it is not there and must not be read
    read: Callable[[int, int, NDArray[np.int64]], NDArray[Any]] = field(repr=False)

    @classmethod
    def of(cls, matrix: NDArray[Any]) -> Rows:
        """Wrap a matrix that is in a tree's own terms already."""
        whole = matrix.flags.c_contiguous or matrix.flags.f_contiguous

        def read(first: int, last: int, some: NDArray[np.int64]) -> NDArray[Any]:
            return matrix[first:last, some]

        return cls(len(matrix), matrix.shape[1], matrix if whole else None, np.arange(matrix.shape[1]), read)

    @classmethod
    def of_columns(cls, table: NDArray[Any], features: NDArray[np.int64], n_features: int) -> Rows:
        """Wrap a table, in one piece, that holds only some features."""
        column_of = np.full(n_features, -1, dtype=np.int64)
        column_of[features] = np.arange(len(features))
        return cls(
            len(table), n_features, table, column_of, lambda first, last, some: table[first:last, column_of[some]]
        )

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
    """Rows with their classes and, if they have any, their weights."""

    rows: Rows
    class_ids: NDArray[np.int64]
    weights: NDArray[np.float64] | None
