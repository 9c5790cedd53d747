"""Columns as small whole numbers: where each value lies among the thresholds that the tree compares it with.

No test of the tree tells values with the same code apart. A code takes two bytes (four in trees that compare one column
with more than 65,534 thresholds), so that many rows can be held at once.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.kernels.threads import map_in_threads
from secateur.rows.rows import Rows
from secateur.tree.tree import Tree

MOST_SHORT = 1 << 16  # codes of two bytes
BEYOND, MISSING = np.inf, np.nan  # the last two values of each column


@dataclass(frozen=True)
class CodedColumns:
    """The tested columns of rows, one after another, shape (n_columns, n_rows).

    Code ``k`` is for what lies above a column's value ``k - 1``, up to its value ``k``. The values of a column are the
    thresholds and all category codes, increasing, infinity, and NaN.
    """

    features: NDArray[np.int64]  # those that the tree tests
    codes: NDArray[Any]  # of uint16 or uint32
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
        """Find the largest code that each split of a tree may send left, and that of NaN, -1 if NaN goes right.

        A category's code is the code of its category, so a set of them can be asked for it.
        """
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


def code_columns(tree: Tree, rows: Rows, chosen: NDArray[np.int64], n_rows: int) -> CodedColumns:
    """Code the tested columns of some rows, increasing, a block at a time; there is room for ``n_rows`` in the end."""
    features = np.unique(tree.feature[~tree.is_leaf])
    limits = [_find_limits(tree, feature) for feature in features.tolist()]
    start = np.cumsum([0, *(len(some) + 2 for some in limits)])
    ends = np.array([BEYOND, MISSING], dtype=tree.dtype)
    values = np.concatenate([np.zeros(0, dtype=tree.dtype), *(part for some in limits for part in (some, ends))])
    is_short = max(map(len, limits), default=0) + len(ends) <= MOST_SHORT
    codes = np.empty((len(features), n_rows), dtype=np.uint16 if is_short else np.uint32)

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
    limits: NDArray[Any] = np.unique(np.append(upper[~np.isnan(upper)], codes)).astype(tree.dtype)
    return limits
