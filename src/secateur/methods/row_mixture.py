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

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError
from secateur.rows.rows import CodedColumns, LabelledRows, apply_tree, code_columns, index_rows
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

POOL_ROWS = 4_000  # shuffled rows, at least
FINEST = 2**52
MOST_ROWS = 2**31 - 1  # rows are numbered by 32 bits
LARGEST = 2**53  # sums of units may be floats, which are exact up to here


@dataclass(frozen=True)
class MixedRows:
    """Rows in the order of the leaves that they reach, and what each is worth, in units."""

    coded: CodedColumns  # their values, as far as the tree tells them apart
    first: NDArray[np.int64]  # rows first[i] to last[i] - 1 pass node i
    last: NDArray[np.int64]
    paths: Paths
    kind: NDArray[Any]  # rows of a kind are alike in what follows
    n_trained: int  # kinds below this are of training rows, the others of copies
    label: NDArray[np.int64]  # the own class of a training row
    weight: NDArray[np.float64]  # its weight
    mixed_units: NDArray[np.int64]  # a row's share of training rows and copies together
    real_units: NDArray[np.int64]  # its share of the training rows alone, 0 for a copy
    mixed_total: int  # units that make a whole
    real_total: int

    @property
    def n_rows(self) -> int:
        """Number of rows, copies among them."""
        return len(self.kind)

    @property
    def is_trained(self) -> NDArray[np.bool_]:
        """Whether each row is a training row. Made anew each time, as what follows is."""
        return self.kind < self.n_trained

    @property
    def mixed(self) -> NDArray[np.int64]:
        """What each row is worth among training rows and copies."""
        return self.mixed_units.take(self.kind)

    @property
    def real(self) -> NDArray[np.int64]:
        """What each row is worth among the training rows alone."""
        return self.real_units.take(self.kind)

    def spread(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Give each row the number of its leaf; the numbers are in source order."""
        leaves = self.paths.leaf_ids
        return np.repeat(numbers, self.last[leaves] - self.first[leaves])

    def limits(self, budget: float) -> tuple[int, int]:
        """The most units of each kind that a budget allows, taken as the decimal number that was written."""
        share = Fraction(str(budget))
        return math.floor(share * self.mixed_total), math.floor(share * self.real_total)


class CodedSplits:
    """What the splits of a tree ask of coded columns."""

    def __init__(self, tree: Tree, coded: CodedColumns) -> None:
        self._tables = tree.category_table
        self.limit, self.missing = coded.find_limits(tree)
        self.column = np.searchsorted(coded.features, tree.feature)  # a leaf's is not asked for
        self.n_codes = np.diff(coded.start)

    def go_left(self, nodes: NDArray[np.int64], codes: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell which codes go left at each of some splits, shape (n_nodes, n_codes), as they lie in its column."""
        left: NDArray[np.bool_] = codes <= self.limit[nodes][:, None]
        start, table = self._tables
        for place in np.flatnonzero(start[nodes] >= 0).tolist():
            own = left[place]
            own[own] = table[start[nodes[place]] + codes[place][own].astype(np.int64)]
        left |= codes == self.missing[nodes][:, None]
        return left


def mix_rows(tree: Tree, paths: Paths, listed: LabelledRows, smoothing: float) -> MixedRows:
    """Shuffle the rows, route them through the tree, and sort them by leaf."""
    rows, class_ids, weights = listed[:3]
    counted = np.arange(rows.n_rows) if weights is None else np.flatnonzero(weights > 0)
    weight = np.ones(len(counted)) if weights is None else weights[counted]
    copies = math.ceil(POOL_ROWS / len(counted)) if smoothing > 0 else 0
    n_rows = (1 + copies) * len(counted)
    if n_rows > MOST_ROWS:
        raise InputError(
            f"Conflicts are priced on at most {MOST_ROWS:,} rows, shuffled copies among them, but here are {n_rows:,}: "
            "pass a sample of the rows."
        )
    coded = code_columns(tree, rows, counted, n_rows)  # only the tested columns are ever looked at
    predicted = tree.leaf_class[apply_tree(tree, rows)[counted]]
    groups = [np.flatnonzero(predicted == class_id) for class_id in range(tree.n_classes)]
    del predicted
    _shuffle(tree, coded, groups, weight, copies)
    mixed, real, copied, mixed_total, real_total = _price(weight, groups, copies, smoothing)
    own, label = np.arange(len(counted)), class_ids[counted]  # each training row is a kind of its own
    if len(mixed) == 1:  # rows that are worth the same differ in their own class only
        own, label, weight = label, np.arange(tree.n_classes), np.full(tree.n_classes, weight[0])
    # Copies differ in the class whose rows were shuffled. They have none of their own: it is never asked for.
    kinds = np.arange(len(label) + len(groups), dtype=np.min_scalar_type(len(label) + len(groups)))
    kind = np.empty(n_rows, dtype=kinds.dtype)
    kind[: len(counted)] = own
    kind[len(counted) :] = np.tile(np.repeat(kinds[len(label) :], list(map(len, groups))), copies)
    del counted, groups, own  # to have their memory for what comes
    index = index_rows(tree, paths, coded.as_rows(tree.n_features))
    coded.sort(index.order)
    none = np.zeros(tree.n_classes, dtype=np.int64)
    return MixedRows(
        coded=coded,
        first=index.first,
        last=index.last,
        paths=paths,
        kind=np.take(kind, index.order),
        n_trained=len(label),
        label=np.append(label, none),
        weight=np.append(weight, none),
        mixed_units=np.append(np.broadcast_to(mixed, label.shape), copied),
        real_units=np.append(np.broadcast_to(real, label.shape), none),
        mixed_total=mixed_total,
        real_total=real_total,
    )


def _shuffle(
    tree: Tree, coded: CodedColumns, groups: list[NDArray[np.int64]], weight: NDArray[np.float64], copies: int
) -> None:
    """Fill the columns with shuffled copies of the first rows."""
    rng = np.random.RandomState(0)
    bundles = _find_bundles(tree, coded.features)
    filled = len(weight)
    drawn = [_draw(members, weight) for members in groups]
    for _ in range(copies):
        for members, source in zip(groups, drawn, strict=True):
            for together in bundles if len(members) else ():
                shuffled = source[rng.permutation(len(members))]
                for column in together:
                    coded.codes[column, filled : filled + len(members)] = coded.codes[column, shuffled]
            filled += len(members)


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
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int, int]:
    """Price training rows in mixed and real units, one of them for all if they are alike, and the copies of each class.

    The units that make a whole of each kind come last.
    """
    n = len(weight)
    is_even = bool(weight.min() == weight.max())
    total = math.fsum(weight)  # the same on every machine
    copied = np.zeros(len(groups), dtype=np.int64)
    real = np.ones(1, dtype=np.int64) if is_even else _round(weight / total)
    real_total = n if is_even else int(real.sum())
    if copies == 0:
        return real, real, copied, real_total, real_total
    whole = (n + int(smoothing)) * copies * n
    if is_even and smoothing == int(smoothing) and whole < LARGEST:
        copied[:] = int(smoothing)
        return np.array([copies * n]), real, copied, whole, real_total
    mixed = _round((weight[: len(real)] / total) * (n / (n + smoothing)))
    for class_id, members in enumerate(groups):
        if len(members):
            share = (np.cumsum(weight[members])[-1] / total) / (copies * len(members))
            copied[class_id] = _round(share * (smoothing / (n + smoothing)))
    mixed_total = int(mixed.sum()) * (n // len(mixed)) + copies * sum(
        len(members) * int(units) for members, units in zip(groups, copied, strict=True)
    )
    return mixed, real, copied, mixed_total, real_total


def _round(shares: Any) -> Any:
    return np.rint(shares * FINEST).astype(np.int64)
