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
from itertools import accumulate, pairwise
from operator import and_, or_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

FEW_BITS = 24  # that are listed one by one
MOST_ENTRIES = 1 << 20  # of paths that are looked at together


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
        self.forget()
        self._domains: dict[int, Span] = {}
        # What each edge allows, by its child node: atoms, or a set of codes, and whether a missing value passes.
        self._low, self._high = np.zeros((2, tree.n_nodes), dtype=np.int64)
        self._missing = np.zeros(tree.n_nodes, dtype=bool)
        self._codes: dict[int, int] = {}
        self._read_splits()
        self._held = {held.feature: held for held in self._meet()}
        self._features: dict[int, _Feature] = {}
        flags = np.ones(paths.n_rules, dtype=bool)
        for own in map(self._spread, self._held):
            flags &= own.missing | own.is_listed
        self.possible = pack_flags(flags)

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

    def forget(self) -> None:
        """Forget what was asked so far, to have its memory."""
        self._allowed: dict[tuple[int, Span], Allowed] = {}
        self._together: dict[tuple[Allowed, Allowed], Allowed] = {}
        self._edges: dict[int, Allowed] = {}

    def edge(self, link: int) -> Allowed:
        """What an edge, named by its child node, allows."""
        if link not in self._edges:
            low, high, missing = (some[link].item() for some in (self._low, self._high, self._missing))
            feature = int(self._tree.feature[self._paths.parent[link]])
            self._edges[link] = self._allow(feature, Span(low, high, self._codes.get(link, -1), missing))
        return self._edges[link]

    def domain(self, feature: int) -> Allowed:
        """Everything that a possible row may hold in a feature."""
        return self._allow(feature, self._domains[feature])

    def meet(self, one: Allowed, other: Allowed) -> Allowed:
        """What conditions allow a feature together."""
        found = self._together.get((one, other))
        if found is None:
            found = self._together[one, other] = self._allow(one.feature, one.span.meet(other.span))
        return found

    def _allow(self, feature: int, span: Span) -> Allowed:
        found = self._allowed.get((feature, span))
        if found is None:
            found = self._allowed[feature, span] = Allowed(feature, span, self._feature(feature).meets(span))
        return found

    def _feature(self, feature: int) -> _Feature:
        """The leaves by what they allow a feature, made when it is first asked for."""
        if feature not in self._features:
            self._features[feature] = _Feature(self._domains[feature], self._spread(feature))
        return self._features[feature]

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

    def met_without_each(self, edges: Sequence[Allowed]) -> Iterator[int]:
        """The possible leaves that a conjunction meets without each of its edges."""
        together = {one.feature: one.met for one in self._meet_all(edges)}
        for place, edge in enumerate(edges):
            met = self.met_by(one for other, one in enumerate(edges) if one.feature == edge.feature and other != place)
            for feature, others in together.items():
                if feature != edge.feature:
                    met &= others
            yield met

    def inside(self, edges: Iterable[Allowed]) -> int:
        """The possible leaves whose whole region satisfies a conjunction."""
        outside = 0
        for one in self._meet_all(edges):
            outside |= self._feature(one.feature).beyond(one.span)
        return self.possible & ~outside

    def find_inside(self, kept: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find the possible leaves whose whole region satisfies the edges that the rules of leaves keep.

        They are listed rule after rule: the place of the rule's own leaf, and theirs. Many rules walk down the tree
        together, to each side of a split that their edges on its feature meet.
        """
        tree, n_rules, is_leaf, is_set = self._tree, self._paths.n_rules, self._tree.is_leaf, self._tree.is_categorical
        asked = sorted(self._meet(kept), key=lambda held: held.feature)
        never = tree.n_features * n_rules  # where an edge asks nothing of a feature
        keys = np.concatenate([*(held.feature * n_rules + held.places for held in asked), [never]])
        low, high, missing = (
            np.concatenate([*(held[place] for held in asked), [end]]) for place, end in ((2, 0), (3, never), (4, True))
        )
        listed = (zip(held.feature * n_rules + held.places, held.codes, strict=False) for held in asked)
        codes = {int(key): allowed for some in listed for key, allowed in some}
        waiting, ended, found = [np.stack([np.arange(n_rules), np.zeros(n_rules, np.int64)])], [], []
        while waiting:
            pairs = waiting.pop()
            ended.append(pairs[:, is_leaf[pairs[1]]])
            rules, nodes = pairs[:, ~is_leaf[pairs[1]]]
            key, sides, by_code = tree.feature[nodes] * n_rules + rules, [], np.flatnonzero(is_set[nodes])
            at = np.searchsorted(keys, key)
            at[keys[at] != key] = len(keys) - 1
            for child in (tree.children_left[nodes], tree.children_right[nodes]):
                meets = np.maximum(low[at], self._low[child]) <= np.minimum(high[at], self._high[child])
                asks = zip(key[by_code].tolist(), child[by_code].tolist(), strict=True)
                meets[by_code] = [codes.get(one, -1) & self._codes[link] != 0 for one, link in asks]
                meets |= missing[at] & self._missing[child]
                sides.append(np.stack([rules[meets], child[meets]]))
            pairs = np.concatenate(sides, axis=1)
            waiting += [pairs[:, i : i + MOST_ENTRIES] for i in range(0, pairs.shape[1], MOST_ENTRIES)]
            if not waiting or sum(some.size for some in ended) > MOST_ENTRIES:
                rules, nodes = np.concatenate(ended, axis=1)
                found.append(self._keep_inside(asked, rules, tree.leaf_runs[0][nodes]))
                ended = []
        rules, places = np.concatenate(found, axis=1)
        order = np.lexsort((places, rules))
        return rules[order], places[order]

    def _keep_inside(
        self, asked: Sequence[_Held], rules: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Keep the pairs of a rule and a leaf that lies inside it, if that is possible."""
        pairs = np.stack([rules, places])[:, np.argsort(rules, kind="stable")]
        is_inside = flag_places(self.possible, self._paths.n_rules)[pairs[1]]
        for held in asked:
            first, last = np.searchsorted(pairs[0], (held.places, held.places + 1))
            which = np.repeat(np.arange(len(first)), last - first)
            at = np.arange(len(which)) + np.repeat(last - np.cumsum(last - first), last - first)
            own, leaf = self._spread(held.feature), pairs[1, at]
            outside = (own.low[leaf] < held.low[which]) | (own.high[leaf] > held.high[which])
            if held.codes:
                listed = zip(leaf.tolist(), which.tolist(), strict=True)
                outside[:] = [own.codes[place] & ~held.codes[rule] != 0 for place, rule in listed]
            outside &= own.is_listed[leaf]
            is_inside[at[outside | (own.missing[leaf] & ~held.missing[which])]] = False
        return pairs[:, is_inside]

    def _spread(self, feature: int) -> _Held:
        """What all leaves allow a feature, those too whose paths do not ask it."""
        held, domain, size = self._held[feature], self._domains[feature], self._paths.n_rules
        low, high, missing = (np.full(size, one) for one in (domain.low, domain.high, domain.missing))
        low[held.places], high[held.places], missing[held.places] = held.low, held.high, held.missing
        codes = dict(zip(held.places.tolist(), held.codes, strict=False))
        listed = [codes.get(place, domain.codes) for place in range(size)] if codes else []
        return _Held(feature, np.arange(size), low, high, missing, listed)


class _Held(NamedTuple):
    """What the edges of some leaves allow a feature, an element for each of these leaves."""

    feature: int
    places: NDArray[np.int64]  # of the leaves
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    missing: NDArray[np.bool_]
    codes: list[int]  # empty where there are numbers

    @property
    def is_listed(self) -> NDArray[np.bool_]:
        """Whether each leaf allows a number or a code."""
        return np.array([codes != 0 for codes in self.codes]) if self.codes else self.low <= self.high

    def add(self, more: _Held) -> _Held:
        """Add further leaves."""
        places, missing = np.append(self.places, more.places), np.append(self.missing, more.missing)
        low, high = np.append(self.low, more.low), np.append(self.high, more.high)
        return _Held(self.feature, places, low, high, missing, self.codes + more.codes)


class _Feature:
    """The leaves by what they allow one feature."""

    def __init__(self, domain: Span, held: _Held) -> None:
        self.missing, self._codes, size = pack_flags(held.missing), domain.codes >= 0, domain.high + 2
        self._by_code = [0] * domain.codes.bit_length()
        for codes in set(held.codes):
            same = make_mask([place for place, own in enumerate(held.codes) if own == codes])
            for code in _list_bits(codes):
                self._by_code[code] |= same
        # Leaves whose numbers begin at an atom or before it, and those whose numbers end there or later.
        places = np.flatnonzero(held.is_listed)
        self._starts = _collect(places, held.low[places], size)
        self._ends = _collect(places, size - 1 - held.high[places], size)[::-1]

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
    return np.flatnonzero(flag_places(mask, mask.bit_length())).tolist()


def flag_places(mask: int, n_places: int) -> NDArray[np.bool_]:
    """Flag the places of the bits that are set."""
    packed = np.frombuffer(mask.to_bytes(n_places // 8 + 1, "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=n_places, bitorder="little").view(bool)


def _list_bits(mask: int) -> Iterable[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


CLASSES_ONLY = 1.0  # the tolerance of a list that keeps classes, and not their shares
SLACK = 1e-12
NEAR = 1e-9  # so close to a tie, floats do not decide
EVERY = slice(None)


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
        # What leaves say, and the tolerance, in units: values of a regression tree are whole numbers of these.
        self._unit, self._width = 1, self.tolerance
        self._numbers: list[Any] = [0] * len(self.class_ids)
        if values is not None:
            ratios = [value.as_integer_ratio() for value in values.tolist()]
            self._unit = (
                max(below for _, below in ratios) * Fraction(self.tolerance).denominator
            )  # the others are powers of 2
            self._floats, self._width = values, int(self.tolerance * self._unit)
            self._numbers = [above * (self._unit // below) for above, below in ratios]
        elif self.has_shares and is_whole:
            pairs = list(zip(own.tolist(), total.tolist(), strict=True))
            # Leaves of a large tree have few shares, and making a fraction takes long.
            found = {pair: Fraction(int(pair[0]), int(pair[1])) if pair[1] else Fraction(0) for pair in set(pairs)}
            self._numbers = [found[pair] for pair in pairs]
        elif self.has_shares:
            self._numbers = self._floats.tolist()
        self._rows: list[Any] = self.weights
        self._products: list[Any] = (weights * self._floats).tolist()
        if self.has_shares and is_whole:  # exact, and whole numbers where they are, which are added up faster
            self._rows = [int(row) if row.is_integer() else Fraction(row) for row in self.weights]
            known = zip(self._rows, own.tolist(), total.tolist(), self._numbers, strict=True)
            self._products = [int(mine) if row == whole else row and row * value for row, mine, whole, value in known]
        self._class_ids = class_ids
        self._stated: dict[int, Stated] = {}  # lines of a large tree meet the same leaves

    @cached_property
    def values(self) -> list[Any]:
        """What the leaves say, as fractions where these are known."""
        return [Fraction(one, self._unit) for one in self._numbers] if self.is_regression else self._numbers

    @cached_property
    def _ranks(self) -> tuple[list[int], list[int]]:
        """The rank of each leaf's value, and for each rank the last that lies in one window with it."""
        values = sorted(set(self._numbers))
        rank = {value: number for number, value in enumerate(values)}
        width = 2 * self._width + self._slack
        return [rank[value] for value in self._numbers], [bisect_right(values, value + width) - 1 for value in values]

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
        floats, values, class_ids = self._floats.tolist(), self._numbers, self.class_ids
        most: Any = None
        # Fractions are compared where floats are equal.
        for place in sorted(places, key=lambda place: (class_ids[place], floats[place], values[place])):
            value, last = values[place], levels[-1][-1] if levels else -1
            is_same = last >= 0 and class_ids[place] == class_ids[last]
            if not is_same or (value is not values[last] and value > most):
                levels.append([])
                most = value + width * self._width + self._slack
            levels[-1].append(place)
        return [Window(class_ids[own[0]], make_mask(own)) for own in levels]

    def state(self, leaves: int) -> Stated | None:
        """Find the share to state for some leaves of one window: their mean, moved as far as the tolerance asks."""
        if not self.has_shares or not leaves:
            return None
        stated = self._stated.get(leaves)
        if stated is None:
            stated = self._stated[leaves] = self._state(list_places(leaves))
        return stated

    def _state(self, places: list[int]) -> Stated:
        rows, total = (sum(some[place] for place in places) for some in (self._rows, self._products))
        if not rows:
            rows, total = len(places), sum(self._numbers[place] for place in places)
        mean = Fraction(total) / rows if isinstance(self.tolerance, Fraction) else total / rows
        low, high = (self._find_end(places, end) for end in (min, max))
        stated = min(max(mean, high - self._width), low + self._width), low, high
        return Stated(*(Fraction(one) / self._unit if self.is_regression else one for one in stated))

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
        same = {id(value): value for value in (self._numbers[places[one]] for one in np.flatnonzero(floats == at))}
        return end(same.values())

    def find_off(self, class_id: int, stated: Stated | None, leaves: slice = EVERY) -> NDArray[np.bool_]:
        """Mark the leaves that a line is off for: of another class, or with a share beyond the tolerance of its own."""
        off: NDArray[np.bool_] = self._class_ids[leaves] != class_id
        if stated is None:
            return off
        share, tolerance = float(stated.share), float(self.tolerance)
        distance = np.abs(self._floats[leaves] - share) - tolerance
        values = self.values[leaves]
        scale = max(abs(share), tolerance) if self.is_regression else 1.0  # values may be of any size
        off |= distance > NEAR * scale
        for place in np.flatnonzero(np.abs(distance) <= NEAR * scale).tolist():
            # A share that was read back is rounded.
            slack = SLACK * scale if isinstance(stated.share, float) else self._slack
            off[place] |= abs(values[place] - stated.share) > self.tolerance + slack
        return off
