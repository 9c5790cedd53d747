"""Make boxes of what rules allow, and find the leaves that they meet.

All rules go down the tree together. With a node come those whose boxes meet its cell, which is what its path allows; a
rule is dropped where its box and the cell have no value of a feature in common, or where all leaves below have its
class. Boxes and cells are products of one set a feature, so a rule that is dropped for its box meets no leaf below, and
one that arrives at a leaf meets it: every pair is decided.

Facts about single columns narrow these sets. Groups and implications tie columns together: whether a box that meets a
leaf's cell holds a row that satisfies them is decided by trying. For a group, every state is tried. For a column in an
implication only the truth of each claim about it matters, so one value is tried for each combination that the box
leaves open.
"""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.tree.facts import Facts
from secateur.tree.tree import Tree


class Paths(NamedTuple):
    """Every leaf, left to right, with the links of its path, root to leaf, path after path."""

    leaves: NDArray[np.int64]
    offsets: NDArray[np.int64]  # links[offsets[i]:offsets[i + 1]] lead to leaves[i]
    links: NDArray[np.int32]
    rule: NDArray[np.int32]  # the i of each link
    parent: NDArray[np.int64]  # by node
    is_left: NDArray[np.bool_]
    limit: NDArray[np.float64]  # by node: the largest number of the tree's dtype that goes left


def walk_paths(tree: Tree) -> Paths:
    """Walk the tree once, from left to right."""
    lefts, rights = tree.children_left.tolist(), tree.children_right.tolist()
    leaves, offsets, path = [], [0], [0]
    links = array("i")  # the longest of all, four bytes each
    stack = [(0, 0)]
    while stack:
        node, depth = stack.pop()
        path[depth:] = [node]
        if lefts[node] < 0:
            leaves.append(node)
            links.extend(path[1:])
            offsets.append(len(links))
        else:
            stack += [(rights[node], depth + 1), (lefts[node], depth + 1)]
    inner = np.flatnonzero(tree.children_left >= 0)
    parent, is_left = np.full(tree.n_nodes, -1, dtype=np.int64), np.zeros(tree.n_nodes, dtype=bool)
    parent[tree.children_left[inner]] = parent[tree.children_right[inner]] = inner
    is_left[tree.children_left[inner]] = True
    return Paths(
        leaves=np.array(leaves),
        offsets=np.array(offsets),
        links=np.asarray(links),
        rule=np.repeat(np.arange(len(leaves), dtype=np.int32), np.diff(offsets)),
        parent=parent,
        is_left=is_left,
        limit=largest_not_above(tree.threshold, tree.dtype),
    )


def left_codes_of(tree: Tree, node: int | np.integer[Any]) -> NDArray[np.bool_]:
    """Mark the codes of a categorical split's feature that go left."""
    marked = np.zeros(len(tree.categories[tree.feature[node]] or ()) + 1, dtype=bool)
    marked[tree.left_codes(node)] = True
    return marked


def largest_not_above(thresholds: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """Find the largest number of the dtype that does not exceed each threshold."""
    kind = np.dtype(dtype).type
    with np.errstate(over="ignore"):
        nearest = thresholds.astype(kind)
        below = np.nextafter(nearest, kind(-np.inf))
    return np.where(nearest.astype(np.float64) > thresholds, below, nearest).astype(np.float64)


class Boxes:
    """What the kept links of some rules allow each feature that the tree tests.

    Rules are meant by their place among these. ``low``, ``high``, ``missing`` and ``is_restricted`` have a row for each
    tested feature and a column for each rule; a categorical feature's numbers are unbounded and its codes are marked in
    ``codes``, a row for each rule.
    """

    def __init__(self, tree: Tree, paths: Paths, kept: NDArray[np.bool_], rules: NDArray[np.int64]) -> None:
        self.rules = rules
        self.place_of = np.full(len(paths.leaves), -1, dtype=np.int64)
        self.place_of[rules] = np.arange(len(rules))
        self.features = np.unique(tree.feature[tree.feature >= 0])
        self.row_of = np.full(tree.n_features, -1, dtype=np.int64)
        self.row_of[self.features] = np.arange(len(self.features))
        own = kept & (self.place_of >= 0)[paths.rule]
        links, place = paths.links[own], self.place_of[paths.rule[own]]
        nodes, to_left = paths.parent[links], paths.is_left[links]
        row, limit = self.row_of[tree.feature[nodes]], paths.limit[nodes]
        shape = len(self.features), len(rules)
        self.low, self.high = np.full(shape, -np.inf), np.full(shape, np.inf)
        numeric = ~np.isnan(limit)
        left, right = numeric & to_left, numeric & ~to_left
        np.minimum.at(self.high, (row[left], place[left]), limit[left])
        np.maximum.at(self.low, (row[right], place[right]), limit[right])
        self.missing = np.repeat(tree.accepts_missing[self.features][:, None], len(rules), axis=1)
        rejects = tree.missing_left[nodes] != to_left
        self.missing[row[rejects], place[rejects]] = False
        self.codes: dict[int, NDArray[np.bool_]] = {}
        has_value = self.missing | (self.low < self.high)
        self.is_restricted = (self.low > -np.inf) | (self.high < np.inf)
        for feature in self.features.tolist():
            if tree.categories[feature] is None:
                continue
            codes = self.codes[feature] = np.ones((len(rules), len(tree.categories[feature] or ()) + 1), dtype=bool)
            tested = np.flatnonzero(tree.feature[nodes] == feature)
            tested = tested[np.argsort(nodes[tested])]
            # A path passes a node once, so the links of one node belong to different rules.
            for same in np.split(tested, np.flatnonzero(np.diff(nodes[tested])) + 1) if len(tested) else ():
                codes[place[same]] &= left_codes_of(tree, nodes[same[0]]) == to_left[same][:, None]
            has_value[self.row_of[feature]] = self.missing[self.row_of[feature]] | codes.any(axis=1)
            self.is_restricted[self.row_of[feature]] = ~codes.all(axis=1)
        self.is_restricted |= ~self.missing & tree.accepts_missing[self.features][:, None]
        self.is_possible = np.asarray(has_value.all(axis=0))

    def meet(self, feature: int, places: NDArray[np.int64], cell: Allowed, possible: Possible) -> NDArray[np.bool_]:
        """Mark the boxes that share a possible value of the feature with the cell."""
        row = self.row_of[feature]
        if cell.codes is None:
            low = np.maximum(self.low[row].take(places), cell.low)
            high = np.minimum(self.high[row].take(places), cell.high)
            some = possible.has_number(feature, low, high)
        else:
            some = (self.codes[feature][places] & cell.codes).any(axis=1)
        return np.asarray(some | self.missing[row, places] if cell.missing else some)


class Allowed(NamedTuple):
    """What a cell allows one feature: numbers ``low < x <= high`` or marked category codes, and NaN or not."""

    low: float
    high: float
    codes: NDArray[np.bool_] | None
    missing: bool


def find_foreign_leaves(
    tree: Tree, paths: Paths, boxes: Boxes, classes: NDArray[np.int64], possible: Possible
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """List leaves, each with the rules of another class whose boxes meet its cell in a possible row."""
    only = _only_class_below(tree)
    lefts, rights, features = tree.children_left.tolist(), tree.children_right.tolist(), tree.feature.tolist()
    start = np.flatnonzero(classes != only[0])
    start = start[possible.meet_domains(boxes, start)]
    todo: list[tuple[int, dict[int, Allowed], NDArray[np.int64]]] = [(0, {}, start)]
    while todo:
        node, cell, places = todo.pop()
        if lefts[node] < 0:
            met = places[possible.find_rows(boxes, places, cell)]
            if len(met):
                yield node, boxes.rules[met]
            continue
        feature = features[node]
        whole = cell.get(feature) or possible.domain(feature)
        own = classes[places]
        sides = [(lefts[node], True), (rights[node], False)]
        # A leaf is done next, so that it does not wait, with its rules, for all that lies below its sibling.
        for child, to_left in sides if lefts[lefts[node]] >= 0 else sides[::-1]:
            others = places[own != only[child]]
            if not len(others):
                continue
            part = cut_cell(tree, paths, node, to_left, whole)
            met = others[boxes.meet(feature, others, part, possible)]
            if not len(met):
                continue
            narrowed = {**cell, feature: part}
            if possible.groups:
                met = met[possible.find_states(boxes, met, narrowed, feature)]
            if len(met):
                todo.append((child, narrowed, met))


def _only_class_below(tree: Tree) -> list[int]:
    """Find the class of all leaves below each node; -1 where they differ."""
    only: list[int] = tree.leaf_class.tolist()
    lefts, rights = tree.children_left.tolist(), tree.children_right.tolist()
    for node in range(tree.n_nodes - 1, -1, -1):  # a child's id is larger than its parent's
        if lefts[node] >= 0:
            only[node] = only[lefts[node]] if only[lefts[node]] == only[rights[node]] else -1
    return only


def cut_cell(tree: Tree, paths: Paths, node: int, to_left: bool, whole: Allowed) -> Allowed:
    """Cut what a cell allows the feature of a split down to one side of the split."""
    missing = whole.missing and bool(tree.missing_left[node]) == to_left
    if whole.codes is not None:
        return Allowed(whole.low, whole.high, whole.codes & (left_codes_of(tree, node) == to_left), missing)
    limit = float(paths.limit[node])
    low, high = (whole.low, min(whole.high, limit)) if to_left else (max(whole.low, limit), whole.high)
    return Allowed(low, high, None, missing)


class Possible:
    """The facts of a tree that count."""

    def __init__(self, tree: Tree, facts: Facts) -> None:
        self.tree, self.orders = tree, facts.orders
        self.decimals = {**dict(facts.decimals), **dict.fromkeys(facts.integers, 0)}
        self.claims, self.groups, self.implications = facts.claims, facts.groups, facts.implications
        self.words = [str(known) for known in (*self.implications, *self.claims, *self.groups)]
        self.words += [tree.describe_decimals(feature) for feature in self.decimals]
        self._places: dict[tuple[int, float], int | float] = {}
        self._risen: dict[int, tuple[NDArray[np.float64], NDArray[np.int64]]] = {}  # limits, and where places rise

    def domain(self, feature: int) -> Allowed:
        """Find what a column may hold."""
        low, high, missing = -math.inf, math.inf, bool(self.tree.accepts_missing[feature])
        levels = self.tree.categories[feature]
        codes = None if levels is None else np.ones(len(levels) + 1, dtype=bool)
        if codes is not None and self.tree.columns is not None and self.tree.columns.closed[feature]:
            codes[-1] = False
        for claim in self.claims:
            if claim.subject == feature:
                low, high = max(low, claim.region.low), min(high, claim.region.high)
                missing = missing and claim.region.missing
                if codes is not None:
                    codes &= np.isin(np.arange(len(codes)), list(claim.region.codes or ()))
        if any(feature in group.features for group in self.groups):
            missing = False
        return Allowed(low, high, codes, missing)

    def has_number(self, feature: int, low: Any, high: Any) -> Any:
        """Whether there is a number above ``low`` and up to ``high`` that the column may hold, element by element."""
        if feature not in self.decimals:
            return np.less(low, high)
        if feature not in self._risen:
            own = largest_not_above(self.tree.threshold[self.tree.feature == feature], self.tree.dtype)
            self._count_rises(feature, [own, [-np.inf, np.inf]])
        ends, risen = self._risen[feature]
        first, last = np.searchsorted(ends, low), np.searchsorted(ends, high)
        if np.any(ends[first] != low) or np.any(ends[last] != high):
            self._count_rises(feature, [ends, np.ravel(low), np.ravel(high)])
            return self.has_number(feature, low, high)
        return risen[first] < risen[last]

    def find_states(
        self, boxes: Boxes, places: NDArray[np.int64], cell: Mapping[int, Allowed], feature: int | None = None
    ) -> NDArray[np.bool_]:
        """Whether some state of the groups of a feature, else of every group, is in both box and cell, box by box."""
        found = np.ones(len(places), dtype=bool)
        for place, group in enumerate(self.groups):
            if feature is None or feature in group.features:
                found &= self._states(boxes, places, cell, place).any(axis=0)
        return found

    def find_rows(self, boxes: Boxes, places: NDArray[np.int64], cell: Mapping[int, Allowed]) -> NDArray[np.bool_]:
        """Whether a row that satisfies all implications is in both box and cell, box by box."""
        if not self.implications:
            return np.ones(len(places), dtype=bool)
        return np.array([self._has_row(boxes, place, cell) for place in places.tolist()], dtype=bool)

    def meet_domains(self, boxes: Boxes, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark the boxes that hold a possible value of every feature; a leaf's cell need not ask all of them."""
        met = boxes.is_possible[places] & self.find_states(boxes, places, {})
        for feature in boxes.features.tolist():
            met &= boxes.meet(feature, places, self.domain(feature), self)
        return met

    def find_reached(self, boxes: Boxes) -> NDArray[np.bool_]:
        """Mark the boxes that hold a possible row."""
        places = np.arange(len(boxes.rules))
        reached = self.meet_domains(boxes, places)
        reached[reached] = self.find_rows(boxes, places[reached], {})
        return reached

    def cut(self, paths: Paths, links: Iterable[int]) -> dict[int, Allowed]:
        """Find what links leave each column that they test, of what it may hold."""
        cell: dict[int, Allowed] = {}
        for link in links:
            node = int(paths.parent[link])
            feature = int(self.tree.feature[node])
            whole = cell.get(feature) or self.domain(feature)
            cell[feature] = cut_cell(self.tree, paths, node, bool(paths.is_left[link]), whole)
        return cell

    def check_rows(self, matrix: NDArray[Any], first: int = 0) -> list[str]:
        """Write a sentence for each fact that some row contradicts; ``first`` is the number of the first row."""
        n_features = self.tree.n_features

        def column(feature: int) -> NDArray[np.float64]:
            return np.asarray(matrix[:, feature], dtype=np.float64)

        def holds(claim: Any) -> NDArray[np.bool_]:
            if claim.subject >= n_features:
                members = self.groups[claim.subject - n_features].features
                ones = np.column_stack([column(feature) == 1 for feature in members])
                codes = np.where(ones.any(axis=1), ones.argmax(axis=1), len(members)).astype(np.float64)
            else:
                codes = column(claim.subject)
            if claim.region.codes is None:
                kept = (codes > claim.region.low) & (codes <= claim.region.high)
            else:
                kept = np.isin(codes, list(claim.region.codes))
            return np.asarray(np.where(np.isnan(codes), claim.region.missing, kept))

        against: list[tuple[str, NDArray[np.bool_]]] = [(str(claim), ~holds(claim)) for claim in self.claims]
        against += [(str(known), holds(known.premise) & ~holds(known.conclusion)) for known in self.implications]
        for feature in self.decimals:
            numbers = matrix[:, feature]
            n, own = self.decimals[feature], column(feature)
            # numpy rounds by way of a product, which may miss the nearest decimal, but not the nearest whole number.
            nearest = np.rint(own)
            if n:
                distinct, places = np.unique(own, return_inverse=True)  # of few decimals there are few
                nearest = np.array([round(number, n) for number in distinct.tolist()])[places]
            broken = (nearest.astype(matrix.dtype) != numbers) & ~np.isnan(numbers)
            against.append((self.tree.describe_decimals(feature), broken))
        for group in self.groups:
            values = np.column_stack([column(feature) for feature in group.features])
            against.append((str(group), ~np.isin(values, (0, 1)).all(axis=1) | (values.sum(axis=1) > 1)))
        said = "violates a stated fact"
        return [f"Row {first + rows.argmax()} {said}: {words}." for words, rows in against if rows.any()]

    def _count_rises(self, feature: int, ends: list[Any]) -> None:
        """Number the limits of a column anew: places never fall, so it is enough to count where they rise."""
        listed = np.unique(np.concatenate(ends))
        places = [self._count_up_to(feature, end) for end in listed.tolist()]
        rises = (one < other for one, other in itertools.pairwise(places))
        self._risen[feature] = listed, np.cumsum([False, *rises])

    def _count_up_to(self, feature: int, limit: float) -> int | float:
        """The place, in the order of the numbers that a column may hold, of the last that does not exceed a limit."""
        if (feature, limit) not in self._places:
            self._places[feature, limit] = limit if math.isinf(limit) else self._find_place(feature, limit)
        return self._places[feature, limit]

    def _find_place(self, feature: int, limit: float) -> int:
        scale, kind = 10 ** self.decimals[feature], np.dtype(self.tree.dtype).type
        place: int = math.floor(Fraction(limit) * scale)
        step = 1
        # Rounded to the tree's dtype, numbers beyond the limit may fall on it: go on to the last of them, by doubling.
        while float(kind(float(Fraction(place + step, scale)))) <= limit:
            place, step = place + step, 2 * step
        while step > 1:
            step //= 2
            place += step if float(kind(float(Fraction(place + step, scale)))) <= limit else 0
        return place

    def _states(
        self, boxes: Boxes, places: NDArray[np.int64], cell: Mapping[int, Allowed], group: int
    ) -> NDArray[np.bool_]:
        """Mark the states of a group that are in both box and cell: a row for each label and one for none."""
        features = self.groups[group].features
        zero, one = np.ones((2, len(features), len(places)), dtype=bool)
        for row, feature in enumerate(features):
            low, high, _, _ = self.domain(feature)
            within = cell.get(feature)
            if within is not None:
                low, high = max(low, within.low), min(high, within.high)
            lows, highs = np.full(len(places), low), np.full(len(places), high)
            if boxes.row_of[feature] >= 0:
                lows = np.maximum(lows, boxes.low[boxes.row_of[feature], places])
                highs = np.minimum(highs, boxes.high[boxes.row_of[feature], places])
            zero[row], one[row] = (lows < 0) & (highs >= 0), (lows < 1) & (highs >= 1)
        n_rejected = (~zero).sum(axis=0)
        alone = one & (n_rejected - ~zero == 0)  # this one is 1 and every other may be 0
        states = np.vstack([alone, n_rejected == 0])
        for claim in self.claims:
            if claim.subject == self.tree.n_features + group:
                states &= np.isin(np.arange(len(states)), list(claim.region.codes or ()))[:, None]
        return states

    def _has_row(self, boxes: Boxes, place: int, cell: Mapping[int, Allowed]) -> bool:
        """Whether some choice of a value for every column that an implication speaks of satisfies all of them."""
        claims = list(dict.fromkeys(c for known in self.implications for c in (known.premise, known.conclusion)))
        group_of = {feature: k for k, group in enumerate(self.groups) for feature in group.features}
        owners: dict[int, list[Any]] = {}
        for claim in claims:
            owner = claim.subject
            if owner in group_of:
                owner = self.tree.n_features + group_of[owner]
            owners.setdefault(owner, []).append(claim)
        options = [set(self._truths(boxes, place, cell, owner, about)) for owner, about in owners.items()]
        listed = [claim for about in owners.values() for claim in about]
        for chosen in itertools.product(*options):
            truth = dict(zip(listed, (value for part in chosen for value in part), strict=True))
            if all(not truth[known.premise] or truth[known.conclusion] for known in self.implications):
                return True
        return False

    def _truths(
        self, boxes: Boxes, place: int, cell: Mapping[int, Allowed], owner: int, about: list[Any]
    ) -> Iterator[tuple[bool, ...]]:
        """Tell which claims about a column or group hold, for each value that box and cell leave it."""
        n_features = self.tree.n_features
        if owner >= n_features:
            features = self.groups[owner - n_features].features
            states = self._states(boxes, np.array([place]), cell, owner - n_features)[:, 0]
            for state in np.flatnonzero(states).tolist():
                yield tuple(
                    state in claim.region.codes
                    if claim.subject == owner
                    else claim.region.low < float(state == features.index(claim.subject)) <= claim.region.high
                    for claim in about
                )
            return
        low, high, codes, missing = self.domain(owner)
        within, row = cell.get(owner), boxes.row_of[owner]
        if within is not None:
            low, high, missing = max(low, within.low), min(high, within.high), missing and within.missing
            codes = codes if codes is None or within.codes is None else codes & within.codes
        if row >= 0:
            low, high = max(low, float(boxes.low[row, place])), min(high, float(boxes.high[row, place]))
            missing = missing and bool(boxes.missing[row, place])
            codes = codes if codes is None else codes & boxes.codes[owner][place]
        if missing:
            yield tuple(bool(claim.region.missing) for claim in about)
        if codes is not None:
            for code in np.flatnonzero(codes).tolist():
                yield tuple(code in claim.region.codes for claim in about)
            return
        ends = sorted({end for claim in about for end in claim.region[:2] if low < end < high})
        for first, last in itertools.pairwise([low, *ends, high]):
            if self.has_number(owner, first, last):
                yield tuple(claim.region.low <= first and last <= claim.region.high for claim in about)
