"""Counts of the few cells of a huge table that any row falls into; the counts of parts add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FEW_CELLS = 1 << 16


@dataclass(frozen=True, eq=False)
class CellCounts:
    """(Weighted) rows of the cells that are not empty.

    Cells are in increasing order, so that sums over them do not depend on the order of rows.

    Examples
    --------
    >>> one = CellCounts.of(np.array([7, 2, 7]), np.ones(3))
    >>> (one + one).counts.tolist()
    [2.0, 4.0]
    """

    cells: NDArray[np.int64]
    counts: NDArray[np.float64]

    @classmethod
    def of(cls, cells: NDArray[np.int64], weights: NDArray[np.float64], n_cells: int | None = None) -> CellCounts:
        """Count rows, or add up counts, by their cell; without sorting where there are fewer cells than rows."""
        if n_cells is not None and n_cells <= max(len(cells), FEW_CELLS):
            whole = np.bincount(cells, weights=weights, minlength=n_cells).astype(np.float64)
            found = np.flatnonzero(whole > 0)
            return cls(found, whole[found])
        found, place = np.unique(cells, return_inverse=True)
        counts = np.bincount(place, weights=weights, minlength=len(found)).astype(np.float64)
        kept = counts > 0
        return cls(found[kept], counts[kept])

    def __add__(self, other: CellCounts) -> CellCounts:
        return CellCounts.of(np.concatenate([self.cells, other.cells]), np.concatenate([self.counts, other.counts]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CellCounts):
            return NotImplemented
        return np.array_equal(self.cells, other.cells) and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content is arrays
