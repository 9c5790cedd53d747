"""Training rows as evidence: how many rows, and of which class, any rule covers."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.masks import MASK_BYTES, Masks, count_bits, pack_bits, pack_links, rows_in, unpack_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.tree import Tree

__all__ = ["Evidence"]


class Evidence:
    """Labelled, possibly weighted rows, packed for counting.

    Parameters
    ----------
    tree : Tree
    matrix : ndarray of shape (n_rows, n_features)
        Checked rows.
    class_ids : ndarray of int64, shape (n_rows,)
    weights : ndarray of float64, shape (n_rows,), or None
    """

    def __init__(
        self, tree: Tree, matrix: NDArray[Any], class_ids: NDArray[np.int64], weights: NDArray[np.float64] | None
    ) -> None:
        self.n_rows = len(matrix)
        self.matrix = matrix
        self.n_classes = tree.n_classes
        self.class_ids = class_ids
        self.weights = weights
        self._tree = tree

    @cached_property
    def links(self) -> Masks:
        """One mask a link, packed when a method first asks for it."""
        return pack_links(self._tree, self.matrix)

    @property
    def masks_are_small(self) -> bool:
        """Whether the masks of all links are packed already, or would fit into one block."""
        return "links" in self.__dict__ or self._tree.n_nodes * self.n_rows <= MASK_BYTES * 8

    @cached_property
    def _members(self) -> Masks:
        return pack_bits(self.class_ids == np.arange(self.n_classes)[:, None])

    def rows(self, links: NDArray[np.int64]) -> Masks:
        """Mask of the rows that satisfy all the links."""
        return rows_in(self.links, links)

    def count(self, mask: Masks, class_id: int) -> tuple[float, float]:
        """(Weighted) number of the mask's rows that have the class, and of all its rows."""
        if self.weights is None:
            return float(count_bits(mask & self._members[class_id])), float(count_bits(mask))
        counts = self.class_counts(mask)
        return float(counts[class_id]), float(counts.sum())

    def reliability(self, mask: Masks, class_id: int) -> float:
        """Share of the mask's rows that have the class; NaN when the mask holds no (weighted) row."""
        right, total = self.count(mask, class_id)
        return right / total if total > 0 else float("nan")

    def class_counts(self, mask: Masks) -> NDArray[np.float64]:
        """(Weighted) number of the mask's rows in each class, shape (n_classes,)."""
        if self.weights is None:
            counts: NDArray[np.float64] = np.bitwise_count(self._members & mask).sum(axis=1).astype(np.float64)
            return counts
        rows = unpack_bits(mask, self.n_rows)
        return np.bincount(self.class_ids[rows], weights=self.weights[rows], minlength=self.n_classes).astype(
            np.float64
        )
