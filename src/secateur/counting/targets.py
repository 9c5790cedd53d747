"""Sums over the targets of regression rows, which add up from any pieces: rows, means and spreads follow from them."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secateur.rows.rows import LabelledRows
from secateur.tree.tree import Tree


def sum_targets(place: NDArray[np.int64], pivots: NDArray[np.float64], listed: LabelledRows) -> NDArray[np.float64]:
    """Add up weights, and first and second powers of what targets lie above a pivot, by place, shape (n_places, 3).

    A pivot near the mean keeps the digits that a large mean beside a small spread would cost.
    """
    assert listed.targets is not None
    weight = np.ones(len(place)) if listed.weights is None else listed.weights
    above = listed.targets - pivots[place]
    powers = weight, weight * above, weight * above**2
    return np.stack([np.bincount(place, one, len(pivots)) for one in powers], axis=1).astype(np.float64)


def find_moments(sums: NDArray[np.float64], pivots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find mean and standard deviation of each of some sums, shape (n, 2); NaN without rows.

    Examples
    --------
    >>> find_moments(np.array([[2.0, 2.0, 4.0]]), np.array([10.0])).tolist()
    [[11.0, 1.0]]
    """
    weight = np.where(sums[:, 0] > 0, sums[:, 0], np.nan)
    above = sums[:, 1] / weight
    spread = np.sqrt(np.maximum(sums[:, 2] / weight - above**2, 0.0))
    return np.stack([pivots + above, spread], axis=1)


@dataclass(frozen=True)
class TargetCounter:
    """Adds up the targets of all rows, for their spread."""

    tree: Tree
    features = ()  # no column is read

    @property
    def pivot(self) -> float:
        """The mean of what the leaves say, by the tree's own rows where it knows them."""
        tree, leaf = self.tree, self.tree.is_leaf
        assert tree.values is not None
        rows = np.ones(tree.n_leaves) if tree.counts is None else tree.counts[leaf, 0]
        return float(np.average(tree.values[leaf], weights=rows if rows.sum() > 0 else None))

    def count(self, listed: LabelledRows) -> NDArray[np.float64]:
        """Add up some rows."""
        return sum_targets(np.zeros(listed.rows.n_rows, dtype=np.int64), np.array([self.pivot]), listed)

    def add(self, total: NDArray[np.float64], part: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add the sums of a further piece."""
        return total + part

    def find_spread(self, total: NDArray[np.float64]) -> float:
        """Find the standard deviation of all targets."""
        spread = float(find_moments(total, np.array([self.pivot]))[0, 1])
        return 0.0 if math.isnan(spread) else spread
