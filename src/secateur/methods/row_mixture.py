"""Mix the training rows with shuffled copies that stand for unseen rows, to price conflicts on.

A shuffled copy permutes every feature that the tree tests independently within each class *predicted by the tree*;
columns that a group or an implication ties together are permuted as one.
``copies = ceil(4000 / n)`` of them are made of the ``n`` rows that count (those of positive weight). The generator is
``numpy.random.RandomState(0)``, whose stream numpy keeps for ever; permutations are drawn copy by copy, class by class
and feature by feature, in the tree's order of classes and columns.

With weights, the rows of a class are first drawn in proportion to them (systematic resampling to as many rows as the
class has), so that a column keeps its weighted distribution.

Shares are whole numbers of a fixed unit, so that sums do not depend on their order: with equal weights and a whole
``smoothing`` they are exact, else a row's share is rounded to a multiple of 2**-52.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from secateur.counting.rows_by_leaf import RowIndex, index_rows
from secateur.rows.leaves import apply_tree
from secateur.rows.rows import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.tree.paths import Paths
    from secateur.tree.tree import Tree

__all__ = ["MixedRows", "mix_rows"]

POOL_ROWS = 4_000  # shuffled rows, at least
FINEST = 2**52
LARGEST = 2**58  # a cost is multiplied by a small number, and must stay a 64-bit one


@dataclass(frozen=True)
class MixedRows:
    """Rows in the order of the leaves that they reach, and what each is worth, in units."""

    index: RowIndex
    source: NDArray[np.int64]  # place of a training row among those given; -1 for a copy
    class_ids: NDArray[np.int64]  # what the tree predicts
    mixed: NDArray[np.int64]  # a row's share of training rows and copies together
    real: NDArray[np.int64]  # its share of the training rows alone, 0 for a copy
    mixed_total: int  # units that make a whole
    real_total: int

    def limits(self, budget: float) -> tuple[int, int]:
        """The most units of each kind that a budget allows, taken as the decimal number that was written."""
        share = Fraction(str(budget))
        return math.floor(share * self.mixed_total), math.floor(share * self.real_total)


def mix_rows(tree: Tree, paths: Paths, rows: Rows, weights: NDArray[np.float64] | None, smoothing: float) -> MixedRows:
    """Shuffle the rows, route them through the tree, and sort them by leaf."""
    counted = np.arange(rows.n_rows) if weights is None else np.flatnonzero(weights > 0)
    weight = np.ones(len(counted)) if weights is None else weights[counted]
    columns = np.unique(tree.feature[~tree.is_leaf])
    copies = math.ceil(POOL_ROWS / len(counted)) if smoothing > 0 else 0
    # Only the tested columns are ever looked at.
    table = np.empty(((1 + copies) * len(counted), len(columns)), dtype=tree.dtype)
    table[: len(counted)] = rows.take(counted, columns)
    predicted = tree.leaf_class[apply_tree(tree, rows)[counted]]
    groups = [np.flatnonzero(predicted == class_id) for class_id in range(tree.n_classes)]
    rng = np.random.RandomState(0)
    bundles = _find_bundles(tree, columns)
    filled = len(counted)
    drawn = [_draw(members, weight) for members in groups]
    for _ in range(copies):
        for members, source in zip(groups, drawn, strict=True):
            for together in bundles if len(members) else ():
                shuffled = source[rng.permutation(len(members))]
                for column in together:
                    table[filled : filled + len(members), column] = table[shuffled, column]
            filled += len(members)
    index = index_rows(tree, paths, Rows.of_columns(table, columns, tree.n_features))
    mixed, real, mixed_total, real_total = _price(weight, groups, copies, smoothing)
    source = np.append(counted, np.full(copies * len(counted), -1))
    return MixedRows(
        index=index,
        source=source[index.order],
        class_ids=np.repeat(paths.leaf_class, (index.last - index.first)[paths.leaf_ids]),
        mixed=mixed[index.order],
        real=real[index.order],
        mixed_total=mixed_total,
        real_total=real_total,
    )


def _find_bundles(tree: Tree, columns: NDArray[np.int64]) -> list[list[int]]:
    """Find the places of columns to shuffle as one: those tied by a group or an implication; others alone."""
    place_of = {feature: place for place, feature in enumerate(columns.tolist())}
    bundle_of = {place: [place] for place in place_of.values()}
    for features in tree.facts.link_features(tree.n_features):
        tied = [place_of[feature] for feature in features if feature in place_of]
        bundle_of.update(dict.fromkeys(tied, tied))
    return [tied for place, tied in bundle_of.items() if place == tied[0]]


def _draw(members: NDArray[np.int64], weight: NDArray[np.float64]) -> NDArray[np.int64]:
    """Draw as many rows as there are members, each as often as its weight says."""
    share = weight[members]
    if len(members) == 0 or share.min() == share.max():
        return members
    reached = np.cumsum(share)
    middles = (np.arange(len(members)) + 0.5) * (reached[-1] / len(members))
    drawn: NDArray[np.int64] = members[np.minimum(np.searchsorted(reached, middles, side="right"), len(members) - 1)]
    return drawn


def _price(
    weight: NDArray[np.float64], groups: list[NDArray[np.int64]], copies: int, smoothing: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
    """Price training rows and copies in mixed and real units; give the units that make a whole of each too."""
    n = len(weight)
    is_even = bool(weight.min() == weight.max())
    no_part = np.zeros(copies * n, dtype=np.int64)
    if is_even:
        real, real_total = np.concatenate([np.ones(n, dtype=np.int64), no_part]), n
    else:
        real = np.concatenate([_round(weight / math.fsum(weight)), no_part])
        real_total = int(real.sum())
    if copies == 0:
        return real, real, real_total, real_total
    whole = (n + int(smoothing)) * copies * n
    if is_even and smoothing == int(smoothing) and whole < LARGEST:
        mixed = np.concatenate([np.full(n, copies * n), np.full(copies * n, int(smoothing))])
        return mixed, real, whole, real_total
    total = math.fsum(weight)  # the same on every machine
    trained = (weight / total) * (n / (n + smoothing))
    shares = [
        np.full(len(members), (np.cumsum(weight[members])[-1] / total) / (copies * len(members)))
        for members in groups
        if len(members)
    ]
    copied = np.tile(np.concatenate(shares) * (smoothing / (n + smoothing)), copies)
    mixed = _round(np.concatenate([trained, copied]))
    return mixed, real, int(mixed.sum()), real_total


def _round(shares: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(shares * FINEST).astype(np.int64)
