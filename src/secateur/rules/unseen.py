"""Rows that had no part in making rules, counted line by line and leaf by leaf."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rows.row_source import GivenRows

__all__ = ["Split", "Unseen"]


class Split(NamedTuple):
    """How rows of a table were set aside, so that the same can be set aside again.

    Attributes
    ----------
    share : float
        Share of the rows.
    seed : int
        Of the draw.
    by : str or None
        Column by which the last rows were set aside.
    group : str or None
        Column whose values were set aside together.
    """

    share: float
    seed: int
    by: str | None = None
    group: str | None = None


@dataclass(frozen=True, eq=False)
class Unseen:
    """Counts of rows that had no part in making rules.

    Attributes
    ----------
    counts : ndarray of float64, shape (n_lines, n_classes)
        (Weighted) rows of each class beside each line: in a list those that it decides, else those that satisfy it.
    leaf_counts : ndarray of float64, shape (n_leaves, n_classes)
        (Weighted) rows of each class that reach each leaf of the tree.
    squares : ndarray of float64, shape (n_lines,), or None
        Sums of the squared weights of each line's rows; None for rows without weights.
    moments : ndarray of float64, shape (n_lines, 2), or None
        Of a list of a regression tree: mean and standard deviation of the targets of each line's rows; NaN without
        rows.
    split : Split or None
        How they were set aside; None if nobody said.
    rows : GivenRows or None
        The rows themselves, for :meth:`Rules.verify`; a file does not keep them.
    """

    counts: NDArray[np.float64]
    leaf_counts: NDArray[np.float64]
    squares: NDArray[np.float64] | None = None
    split: Split | None = None
    rows: GivenRows | None = field(default=None, repr=False)
    moments: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        for array in (self.counts, self.leaf_counts, self.squares, self.moments):
            if array is not None:
                array.flags.writeable = False

    @cached_property
    def support(self) -> NDArray[np.float64]:
        """(Weighted) rows of each line."""
        return self.counts.sum(axis=1)  # type: ignore[no-any-return]

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """(Weighted) rows of each class."""
        return self.leaf_counts.sum(axis=0)  # type: ignore[no-any-return]

    @property
    def is_weighted(self) -> bool:
        """Whether the counts are sums of weights, not numbers of rows."""
        return self.squares is not None

    def without_rows(self) -> Unseen:
        """Give the same counts without the rows."""
        return replace(self, rows=None)
