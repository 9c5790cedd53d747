"""The leaves of a tree: which of them conditions meet or contain, what they say, and which one line may answer for.

Sets of leaves are bit masks: bit ``i`` stands for the leaf at place ``i``.

What conditions allow a feature is a *span*: atoms ``low`` to ``high`` of a column of numbers, which its thresholds cut
into atoms, or a set of codes as a bit mask, and whether a missing value passes. A conjunction meets a leaf where it
does so on every feature; so the leaves that it meets are an intersection of one mask for each feature. The tree is one
over possible rows (:func:`secateur.facts.possible_rows.find_feasible`), in which facts are spans, too.

A leaf says a class and the share of it, or a value. Shares are fractions of counts, and the tolerance is the decimal
number that was written, so that ties are decided exactly; sums of weights are compared as floats with a slack of
1e-12. The values of a regression tree are compared as the fractions that the floats are.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

FEW_BITS = 24  # that are listed one by one


class Span(NamedTuple):
    """What conditions allow one feature."""

    low: int  # atoms low to high of a column of numbers; both 0 where there are codes
    high: int
    codes: int  # a bit for each allowed code; -1 where there are numbers
    missing: bool

    def meet(self, other: Span) -> Span:
        """Intersect two spans of one feature."""
        return Span(
            max(self.low, other.low),
            min(self.high, other.high),
            self.codes & other.codes,
            self.missing and other.missing,
        )

    @property
    def has_listed(self) -> bool:
        """Whether a number or a code is allowed."""
        return self.low <= self.high and self.codes != 0


class Edge(NamedTuple):
    """A condition on a path: the feature that it asks, and what it allows."""

    feature: int
    span: Span


class LeafMasks:
    """The leaves of a tree over possible rows, as far as conditions meet or contain them."""

    def __init__(self, tree: Tree, paths: Paths) -> None:
        self._tree, self._paths = tree, paths
        self._edges: list[Edge | None] = [None] * tree.n_nodes
        self._domains: dict[int, Span] = {}
        self._read_splits()
        self.every = (1 << paths.n_rules) - 1
        by_feature: dict[int, dict[int, Span]] = {feature: {} for feature in self._domains}
        place_of = {leaf: place for place, leaf in enumerate(paths.leaf_ids.tolist())}
        sides = tree.children_right.tolist(), tree.children_left.tolist()
        stack: list[tuple[int, dict[int, Span]]] = [(0, {})]
        while stack:  # what leaves have in common is met once
            node, spans = stack.pop()
            if node in place_of:
                for feature, span in spans.items():
                    by_feature[feature][place_of[node]] = span
                continue
            for side in sides:
                feature, span = self.edge(side[node])
                stack.append((side[node], {**spans, feature: spans[feature].meet(span) if feature in spans else span}))
        self._features = {
            feature: _Feature(domain, by_feature[feature], self.every) for feature, domain in self._domains.items()
        }
        self.possible = self.every
        for one in self._features.values():
            self.possible &= one.nonempty

    def _read_splits(self) -> None:
        """Number the atoms of each column, and find what each edge allows."""
        tree = self._tree
        for feature in np.unique(tree.feature[tree.feature >= 0]).tolist():
            nodes = np.flatnonzero(tree.feature == feature)
            accepts, levels = bool(tree.accepts_missing[feature]), tree.categories[feature]
            if levels is None:
                limits, place = np.unique(tree.upper[nodes], return_inverse=True)
                # An atom below -inf or above inf holds no number.
                low, high = int(limits[0] == -np.inf), len(limits) - int(limits[-1] == np.inf)
                sides = [(Span(0, k, -1, True), Span(k + 1, high, -1, True)) for k in place.tolist()]
                self._domains[feature] = Span(low, high, -1, accepts)
            else:
                every = (1 << (len(levels) + 1)) - 1
                chosen = [make_mask(tree.left_codes(node).tolist()) for node in nodes.tolist()]
                sides = [(Span(0, 0, codes, True), Span(0, 0, every & ~codes, True)) for codes in chosen]
                self._domains[feature] = Span(0, 0, every, accepts)
            for node, (left, right) in zip(nodes.tolist(), sides, strict=True):
                goes_left = bool(tree.missing_left[node])
                for child, span, takes in (
                    (tree.children_left[node], left, goes_left),
                    (tree.children_right[node], right, not goes_left),
                ):
                    allowed = self._domains[feature].meet(span)
                    self._edges[child] = Edge(feature, allowed._replace(missing=accepts and takes))

    def edge(self, link: int) -> Edge:
        """What an edge, named by its child node, asks."""
        found = self._edges[link]
        assert found is not None  # the root is no edge
        return found

    def domain(self, feature: int) -> Span:
        """Everything that a possible row may hold in a feature."""
        return self._domains[feature]

    def meets(self, feature: int, span: Span) -> int:
        """The leaves that allow a value of a feature that a span allows, too."""
        return self._features[feature].meets(span)

    def met_by(self, edges: Iterable[Edge]) -> int:
        """The possible leaves that a conjunction meets."""
        met = self.possible
        for feature, span in meet_edges(edges).items():
            met &= self.meets(feature, span)
        return met

    def inside(self, edges: Iterable[tuple[int, Span]]) -> int:
        """The possible leaves whose whole region satisfies a conjunction."""
        outside = 0
        for feature, span in meet_edges(edges).items():
            outside |= self._features[feature].beyond(span)
        return self.possible & ~outside


class _Feature:
    """The leaves by what they allow one feature."""

    def __init__(self, domain: Span, held: dict[int, Span], every: int) -> None:
        untested = every & ~make_mask(held)
        self.missing = make_mask(place for place, span in held.items() if span.missing)
        self.missing |= untested if domain.missing else 0
        listed = {place: span for place, span in held.items() if span.has_listed}
        self.nonempty = make_mask(listed) | self.missing | (untested if domain.has_listed or domain.missing else 0)
        self._codes = domain.codes >= 0
        self._by_code: list[int] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        if self._codes:
            self._by_code = [untested if domain.codes >> code & 1 else 0 for code in range(domain.codes.bit_length())]
            for place, span in listed.items():
                for code in _list_bits(span.codes):
                    self._by_code[code] |= 1 << place
            return
        size = domain.high + 2
        starts, ends = [0] * size, [0] * size
        for place, span in listed.items():
            starts[span.low] |= 1 << place
            ends[span.high] |= 1 << place
        if domain.has_listed:
            starts[domain.low] |= untested
            ends[domain.high] |= untested
        # Leaves whose numbers begin at an atom or before it, and those whose numbers end there or later.
        for atom in range(1, size):
            starts[atom] |= starts[atom - 1]
        for atom in range(size - 2, -1, -1):
            ends[atom] |= ends[atom + 1]
        self._starts, self._ends = starts, ends

    def meets(self, span: Span) -> int:
        found = self.missing if span.missing else 0
        if self._codes:
            for code in _list_bits(span.codes):
                found |= self._by_code[code]
        elif span.low <= span.high:
            found |= self._starts[span.high] & self._ends[span.low]
        return found

    def beyond(self, span: Span) -> int:
        """The leaves that allow a value that the span does not."""
        found = 0 if span.missing else self.missing
        if self._codes:
            for code, leaves in enumerate(self._by_code):
                found |= 0 if span.codes >> code & 1 else leaves
        elif span.low > span.high:
            found |= self._starts[-1]
        else:
            found |= (self._starts[span.low - 1] if span.low else 0) | self._ends[span.high + 1]
        return found


def meet_edges(edges: Iterable[tuple[int, Span]]) -> dict[int, Span]:
    """What edges allow each feature together, in order of first appearance."""
    spans: dict[int, Span] = {}
    for feature, span in edges:
        spans[feature] = spans[feature].meet(span) if feature in spans else span
    return spans


def make_mask(places: Iterable[int]) -> int:
    """Set a bit for each place.

    Examples
    --------
    >>> make_mask([0, 3])
    9
    """
    listed = places if isinstance(places, Sequence) else list(places)
    if len(listed) < 64:
        mask = 0
        for place in listed:
            mask |= 1 << place
        return mask
    flags = np.zeros(max(listed) + 1, dtype=bool)
    flags[listed] = True
    return pack_flags(flags)


def pack_flags(flags: NDArray[np.bool_]) -> int:
    """Set a bit for each flag that is true."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def list_places(mask: int) -> list[int]:
    """List the places of the bits that are set, increasing.

    Examples
    --------
    >>> list_places(9)
    [0, 3]
    """
    if mask.bit_count() < FEW_BITS:
        return list(_list_bits(mask))
    flags = np.frombuffer(mask.to_bytes(mask.bit_length() // 8 + 1, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(flags, bitorder="little")).tolist()


def _list_bits(mask: int) -> Iterable[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


CLASSES_ONLY = 1.0  # the tolerance of a list that keeps classes, and not their shares
SLACK = 1e-12
NEAR = 1e-9  # so close to a tie, floats do not decide


class Window(NamedTuple):
    """Leaves of one class whose values lie close together."""

    class_id: int
    leaves: int  # a bit for each


class Stated(NamedTuple):
    """The share that a line states, and the least and the largest share of the leaves that it may answer for."""

    share: Any
    low: Any
    high: Any


class LeafValues:
    """The class, the share and the rows of each leaf, by place in source order.

    The weights are training rows. A line's share may lie so far from that of a leaf as the tolerance says; 1 looks at
    classes only. The values of a regression tree take the place of the shares.
    """

    def __init__(
        self,
        class_ids: NDArray[np.int64],
        counts: NDArray[np.float64],
        weights: NDArray[np.float64],
        tolerance: float,
        values: NDArray[np.float64] | None = None,
    ) -> None:
        self.class_ids: list[int] = class_ids.tolist()
        self.weights: list[float] = weights.tolist()
        self.is_regression = values is not None
        self.has_shares = tolerance < CLASSES_ONLY or self.is_regression
        own, total = counts[np.arange(len(counts)), class_ids], counts.sum(axis=1)
        is_whole = values is not None or bool((counts == np.rint(counts)).all())
        self.tolerance: Any = Fraction(str(tolerance)) if is_whole else tolerance
        self._slack: Any = 0 if is_whole else SLACK  # sums of weights are rounded
        self._floats = np.divide(own, total, out=np.zeros(len(own)), where=total > 0)  # the nearest to the fractions
        self.values: list[Any] = [0] * len(self.class_ids)
        if values is not None:
            self._floats, self.values = values, list(map(Fraction, values.tolist()))
        elif self.has_shares and is_whole:
            pairs = list(zip(own.tolist(), total.tolist(), strict=True))
            # Leaves of a large tree have few shares, and making a fraction takes long.
            found = {pair: Fraction(int(pair[0]), int(pair[1])) if pair[1] else Fraction(0) for pair in set(pairs)}
            self.values = [found[pair] for pair in pairs]
        elif self.has_shares:
            self.values = self._floats.tolist()
        self._rows: list[Any] = self.weights
        self._products: list[Any] = (weights * self._floats).tolist()
        if self.has_shares and is_whole:  # exact, and whole numbers where they are, which are added up faster
            self._rows = [int(row) if row.is_integer() else Fraction(row) for row in self.weights]
            known = zip(self._rows, own.tolist(), total.tolist(), self.values, strict=True)
            self._products = [int(mine) if row == whole else row and row * value for row, mine, whole, value in known]
        self._class_ids = class_ids
        self._stated: dict[int, Stated] = {}  # lines of a large tree meet the same leaves

    @cached_property
    def _ranks(self) -> tuple[list[int], list[int]]:
        """The rank of each leaf's value, and for each rank the last that lies in one window with it."""
        values = sorted(set(self.values))
        rank = {value: number for number, value in enumerate(values)}
        width = 2 * self.tolerance + self._slack
        return [rank[value] for value in self.values], [bisect_right(values, value + width) - 1 for value in values]

    def list_windows(self, places: Iterable[int]) -> list[Window]:
        """List the windows of some leaves, class by class; one that lies in another is left out."""
        by_class: dict[int, list[int]] = {}
        for place in places:
            by_class.setdefault(self.class_ids[place], []).append(place)
        found = []
        rank, reach = self._ranks
        for class_id in sorted(by_class):
            listed = sorted(by_class[class_id], key=rank.__getitem__)
            ranks = [rank[place] for place in listed]
            last = 0
            for first, own in enumerate(ranks):
                end = bisect_right(ranks, reach[own])
                if end > last:  # else it lies in the window before it
                    found.append(Window(class_id, make_mask(listed[first:end])))
                    last = end
                if end == len(ranks):
                    break
        return found

    def list_levels(self, places: Iterable[int], width: int = 2) -> list[Window]:
        """List windows that do not overlap, class by class, so many tolerances wide, from the lowest value up."""
        found: list[Window] = []
        floats, values = self._floats.tolist(), self.values
        # Fractions are compared where floats are equal.
        listed = sorted(places, key=lambda place: (self.class_ids[place], floats[place], values[place]))
        begin, most = 0, values[listed[0]] + width * self.tolerance + self._slack
        for place in range(1, len(listed) + 1):
            first, is_same = listed[begin], False
            if place < len(listed) and self.class_ids[listed[place]] == self.class_ids[first]:
                last = values[listed[place]]
                is_same = last is values[listed[place - 1]] or last <= most
            if not is_same:
                found.append(Window(self.class_ids[first], make_mask(listed[begin:place])))
                if place < len(listed):
                    begin, most = place, values[listed[place]] + width * self.tolerance + self._slack
        return found

    def state(self, leaves: int) -> Stated | None:
        """Find the share to state for some leaves of one window: their mean, moved as far as the tolerance asks."""
        if not self.has_shares or not leaves:
            return None
        if leaves not in self._stated:
            self._stated[leaves] = self._state(list_places(leaves))
        return self._stated[leaves]

    def _state(self, places: list[int]) -> Stated:
        rows, total = (sum(some[place] for place in places) for some in (self._rows, self._products))
        if not rows:
            rows, total = len(places), sum(self.values[place] for place in places)
        mean = Fraction(total) / rows if isinstance(self.tolerance, Fraction) else total / rows
        low, high = (self._find_end(places, end) for end in (min, max))
        return Stated(min(max(mean, high - self.tolerance), low + self.tolerance), low, high)

    def to_float(self, stated: Stated | None) -> float:
        """Round what a line states to a float; a value stays within the tolerance where a float does."""
        if stated is None:
            return math.nan
        near = float(stated.share)
        if self.is_regression:
            least, most = stated.high - self.tolerance, stated.low + self.tolerance
            for one in (near, math.nextafter(near, -math.inf), math.nextafter(near, math.inf)):
                if least <= Fraction(one) <= most:
                    return one
        return near

    def _find_end(self, places: list[int], end: Callable[..., Any]) -> Any:
        """Find the least or the largest value; those that floats do not tell apart are compared as they are."""
        floats = self._floats[places]
        at = end(floats)
        same = {id(value): value for value in (self.values[places[one]] for one in np.flatnonzero(floats == at))}
        return end(same.values())

    def find_off(self, class_id: int, stated: Stated | None) -> NDArray[np.bool_]:
        """Mark the leaves that a line is off for: of another class, or with a share beyond the tolerance of its own."""
        off: NDArray[np.bool_] = self._class_ids != class_id
        if stated is None:
            return off
        share, tolerance = float(stated.share), float(self.tolerance)
        distance = np.abs(self._floats - share) - tolerance
        scale = max(abs(share), tolerance) if self.is_regression else 1.0  # values may be of any size
        off |= distance > NEAR * scale
        for place in np.flatnonzero(np.abs(distance) <= NEAR * scale).tolist():
            # A share that was read back is rounded.
            slack = SLACK * scale if isinstance(stated.share, float) else self._slack
            off[place] |= abs(self.values[place] - stated.share) > self.tolerance + slack
        return off
