"""Which leaves some conditions meet or contain, as bit masks: bit ``i`` stands for the leaf at place ``i``.

What conditions allow a feature is a *span*: atoms ``low`` to ``high`` of a column of numbers, which its thresholds cut
into atoms, or a set of codes as a bit mask, and whether a missing value passes. A conjunction meets a leaf where it
does so on every feature; so the leaves that it meets are an intersection of one mask for each feature. The tree is one
over possible rows (:func:`secateur.facts.possible_rows.find_feasible`), in which facts are spans, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

__all__ = ["Edge", "LeafMasks", "Span", "list_places", "make_mask", "meet_edges", "pack_flags"]

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
        offsets, links = paths.offsets.tolist(), paths.links.tolist()
        for place in range(paths.n_rules):
            for link in links[offsets[place] : offsets[place + 1]]:
                feature, span = self.edge(link)
                held = by_feature[feature]
                held[place] = held[place].meet(span) if place in held else self._domains[feature].meet(span)
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

    def inside(self, edges: Iterable[Edge]) -> int:
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


def meet_edges(edges: Iterable[Edge]) -> dict[int, Span]:
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
