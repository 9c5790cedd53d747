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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import accumulate, pairwise, repeat
from operator import and_, or_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

FEW_BITS = 24  # that are listed one by one
MOST_ENTRIES = 1 << 20  # of paths that are looked at together
MANY_BYTES = 1 << 20  # of masks that are looked at together


class Span(NamedTuple):
    """What conditions allow one feature."""

    low: int  # atoms low to high of a column of numbers; both 0 where there are codes
    high: int
    codes: int  # a bit for each allowed code; -1 where there are numbers
    missing: bool

    def meet(self, other: Span) -> Span:
        """Intersect two spans of one feature."""
        low, high, codes, missing = other
        return Span(
            self.low if self.low > low else low,
            self.high if self.high < high else high,
            self.codes & codes,
            self.missing and missing,
        )

    @property
    def has_listed(self) -> bool:
        """Whether a number or a code is allowed."""
        return self.low <= self.high and self.codes != 0


@dataclass(frozen=True, eq=False, slots=True)
class Allowed:
    """What conditions allow a feature, and the leaves that this meets; of one tree there is one for each span."""

    feature: int
    span: Span
    met: int


class LeafMasks:
    """The leaves of a tree over possible rows, as far as conditions meet or contain them."""

    def __init__(self, tree: Tree, paths: Paths) -> None:
        self._tree, self._paths = tree, paths
        self._allowed: dict[tuple[int, Span], Allowed] = {}
        self._domains: dict[int, Span] = {}
        # What each edge allows, by its child node: atoms, or a set of codes, and whether a missing value passes.
        self._low, self._high = np.zeros((2, tree.n_nodes), dtype=np.int64)
        self._missing = np.zeros(tree.n_nodes, dtype=bool)
        self._codes: dict[int, int] = {}
        self._read_splits()
        self.every = (1 << paths.n_rules) - 1
        asked = ((held.feature, held) for held in self._meet())
        self._features = {one: _Feature(self._domains[one], held, paths.n_rules) for one, held in asked}
        self.possible = reduce(and_, (one.nonempty for one in self._features.values()), self.every)

    def _read_splits(self) -> None:
        """Number the atoms of each column, and find what each edge allows."""
        tree = self._tree
        for feature in np.unique(tree.feature[tree.feature >= 0]).tolist():
            nodes = np.flatnonzero(tree.feature == feature)
            left, right = tree.children_left[nodes], tree.children_right[nodes]
            accepts, levels = bool(tree.accepts_missing[feature]), tree.categories[feature]
            if levels is None:
                limits, place = np.unique(tree.upper[nodes], return_inverse=True)
                # An atom below -inf or above inf holds no number.
                low, high = int(limits[0] == -np.inf), len(limits) - int(limits[-1] == np.inf)
                self._low[left], self._high[left] = low, np.minimum(place, high)
                self._low[right], self._high[right] = np.maximum(place + 1, low), high
                self._domains[feature] = Span(low, high, -1, accepts)
            else:
                every = (1 << (len(levels) + 1)) - 1
                chosen = {node: make_mask(tree.left_codes(node).tolist()) for node in nodes.tolist()}
                self._codes |= {int(tree.children_left[node]): codes & every for node, codes in chosen.items()}
                self._codes |= {int(tree.children_right[node]): every & ~codes for node, codes in chosen.items()}
                self._domains[feature] = Span(0, 0, every, accepts)
            self._missing[left] = accepts & tree.missing_left[nodes]
            self._missing[right] = accepts & ~tree.missing_left[nodes]

    def _meet(self, kept: NDArray[np.bool_] | None = None) -> list[_Held]:
        """Find what the edges of paths, or those that are kept, allow each feature that they ask."""
        offsets, found = self._paths.offsets, dict[int, list[_Held]]()
        first = 0
        while first < self._paths.n_rules:  # a part of the paths at a time
            last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + MOST_ENTRIES, side="right")) - 1)
            entries = np.arange(offsets[first], offsets[last])
            for held in self._meet_some(entries if kept is None else entries[kept[offsets[first] : offsets[last]]]):
                found.setdefault(held.feature, []).append(held)
            first = last
        return [reduce(_Held.add, parts) for parts in found.values()]

    def _meet_some(self, entries: NDArray[np.int64]) -> Iterator[_Held]:
        links = self._paths.links[entries]
        features = self._tree.feature[self._paths.parent[links]]
        order = np.argsort(features, kind="stable")
        links, features, places = links[order], features[order], self._paths.rule[entries[order]].astype(np.int64)
        is_first = np.append(True, (features[1:] != features[:-1]) | (places[1:] != places[:-1]))
        starts = np.flatnonzero(is_first[: len(links)])
        if not len(starts):
            return
        low, high = np.maximum.reduceat(self._low[links], starts), np.minimum.reduceat(self._high[links], starts)
        missing = np.logical_and.reduceat(self._missing[links], starts)
        begin = np.flatnonzero(np.append(True, np.diff(features[starts]) != 0))
        ends = np.append(starts[1:], len(links))
        for first, last in pairwise([*begin.tolist(), len(starts)]):
            some, feature, codes = slice(first, last), int(features[starts[first]]), list[int]()
            if self._domains[feature].codes >= 0:
                runs = zip(starts[some].tolist(), ends[some].tolist(), strict=True)
                codes = [reduce(and_, map(self._codes.__getitem__, links[i:j].tolist())) for i, j in runs]
            yield _Held(feature, places[starts[some]], low[some], high[some], missing[some], codes)

    def edge(self, link: int) -> Allowed:
        """What an edge, named by its child node, allows."""
        span = Span(int(self._low[link]), int(self._high[link]), self._codes.get(link, -1), bool(self._missing[link]))
        return self._allow(int(self._tree.feature[self._paths.parent[link]]), span)

    def domain(self, feature: int) -> Allowed:
        """Everything that a possible row may hold in a feature."""
        return self._allow(feature, self._domains[feature])

    def meet(self, one: Allowed, other: Allowed) -> Allowed:
        """What conditions allow a feature together."""
        return self._allow(one.feature, one.span.meet(other.span))

    def _allow(self, feature: int, span: Span) -> Allowed:
        found = self._allowed.get((feature, span))
        if found is None:
            found = self._allowed[feature, span] = Allowed(feature, span, self._features[feature].meets(span))
        return found

    def _meet_all(self, edges: Iterable[Allowed]) -> Iterable[Allowed]:
        allowed: dict[int, Allowed] = {}
        for one in edges:
            before = allowed.get(one.feature)
            allowed[one.feature] = one if before is None else self.meet(before, one)
        return allowed.values()

    def met_by(self, edges: Iterable[Allowed]) -> int:
        """The possible leaves that a conjunction meets."""
        met = self.possible
        for one in self._meet_all(edges):
            met &= one.met
        return met

    def inside(self, edges: Iterable[Allowed]) -> int:
        """The possible leaves whose whole region satisfies a conjunction."""
        outside = 0
        for one in self._meet_all(edges):
            outside |= self._features[one.feature].beyond(one.span)
        return self.possible & ~outside

    def list_inside(self, kept: NDArray[np.bool_]) -> list[int]:
        """For each leaf, the possible leaves whose whole region satisfies the edges that its rule keeps."""
        outside = [0] * self._paths.n_rules
        for held in self._meet(kept):
            one = self._features[held.feature]
            spans = map(Span, held.low.tolist(), held.high.tolist(), held.codes or repeat(-1), held.missing.tolist())
            for place, span in zip(held.places.tolist(), spans, strict=True):
                outside[place] |= one.beyond(span)
        return [self.possible & ~leaves for leaves in outside]


class _Held(NamedTuple):
    """What the edges of some leaves allow a feature, an element for each of these leaves."""

    feature: int
    places: NDArray[np.int64]  # of the leaves
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    missing: NDArray[np.bool_]
    codes: list[int]  # empty where there are numbers

    def add(self, more: _Held) -> _Held:
        """Add further leaves."""
        places, missing = np.append(self.places, more.places), np.append(self.missing, more.missing)
        low, high = np.append(self.low, more.low), np.append(self.high, more.high)
        return _Held(self.feature, places, low, high, missing, self.codes + more.codes)


class _Feature:
    """The leaves by what they allow one feature."""

    def __init__(self, domain: Span, held: _Held, n_leaves: int) -> None:
        flags = np.zeros((3, n_leaves), dtype=bool)
        flags[0, held.places], flags[1, held.places[held.missing]] = True, True
        listed = np.array([codes != 0 for codes in held.codes]) if held.codes else held.low <= held.high
        flags[2, held.places[listed]] = True
        tested, self.missing, self.nonempty = map(pack_flags, flags)
        untested = ((1 << n_leaves) - 1) & ~tested
        self.missing |= untested if domain.missing else 0
        self.nonempty |= self.missing | (untested if domain.has_listed or domain.missing else 0)
        self._codes = domain.codes >= 0
        self._by_code, self._starts, self._ends = list[int](), list[int](), list[int]()
        if held.codes:
            self._by_code = [untested if domain.codes >> code & 1 else 0 for code in range(domain.codes.bit_length())]
            for place, codes in zip(held.places.tolist(), held.codes, strict=True):
                for code in _list_bits(codes):
                    self._by_code[code] |= 1 << place
            return
        # Leaves whose numbers begin at an atom or before it, and those whose numbers end there or later.
        places, size = held.places[listed], domain.high + 2
        everywhere = np.flatnonzero(~flags[0]) if domain.has_listed else np.zeros(0, dtype=np.int64)
        self._starts, ends = (
            _collect(np.append(places, everywhere), np.append(atoms[listed], np.full(len(everywhere), end)), size)
            for atoms, end in ((held.low, domain.low), (size - 1 - held.high, size - 1 - domain.high))
        )
        self._ends = ends[::-1]

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


def _collect(places: NDArray[np.int64], atoms: NDArray[np.int64], size: int) -> list[int]:
    """Collect leaves by atoms: those of each and of all before it, as bits."""
    flags = np.zeros((size, int(places.max(initial=0)) // 8 + 1), dtype=np.uint8)
    bits = np.left_shift(1, places & 7).astype(np.uint8)
    np.bitwise_or.at(flags.reshape(-1), atoms * flags.shape[1] + (places >> 3), bits)
    return list(accumulate((int.from_bytes(row, "little") for row in flags), or_))


def make_mask(places: Iterable[int]) -> int:
    """Set a bit for each place.

    Examples
    --------
    >>> make_mask([0, 3])
    9
    """
    listed = places if isinstance(places, Sequence) else list(places)
    if len(listed) < 64:
        return reduce(or_, [1 << place for place in listed], 0)
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


def list_all_places(masks: Sequence[int], n_leaves: int) -> list[list[int]]:
    """List the places of the bits of many masks, of so many leaves."""
    n_bytes = n_leaves // 8 + 1
    size, found = max(1, MANY_BYTES // n_bytes), []
    for first in range(0, len(masks), size):
        some = [mask.to_bytes(n_bytes, "little") for mask in masks[first : first + size]]
        flags = np.frombuffer(b"".join(some), dtype=np.uint8)
        held = np.flatnonzero(flags)
        at = np.flatnonzero(np.unpackbits(flags[held], bitorder="little"))
        which, byte = np.divmod(held[at >> 3], n_bytes)
        places, ends = (8 * byte + (at & 7)).tolist(), np.searchsorted(which, np.arange(len(some) + 1)).tolist()
        found += [places[begin:end] for begin, end in pairwise(ends)]
    return found


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
        levels: list[list[int]] = []
        floats, values, class_ids = self._floats.tolist(), self.values, self.class_ids
        most: Any = None
        # Fractions are compared where floats are equal.
        for place in sorted(places, key=lambda place: (class_ids[place], floats[place], values[place])):
            value, last = values[place], levels[-1][-1] if levels else -1
            is_same = last >= 0 and class_ids[place] == class_ids[last]
            if not is_same or (value is not values[last] and value > most):
                levels.append([])
                most = value + width * self.tolerance + self._slack
            levels[-1].append(place)
        return [Window(class_ids[own[0]], make_mask(own)) for own in levels]

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
