"""Work out anew, from the facts of a tree, which rows are possible.

A box is a product of one set per column. Facts about single columns narrow these sets. Groups and implications tie
columns together: whether a box that meets a leaf's cell holds a row that satisfies them is decided by trying. For a
group, every state is tried. For a column in an implication only the truth of each claim about it matters, so one value
is tried for each combination that the box leaves open.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.verify.boxes import largest_not_above

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from secateur.tree.facts import Facts
    from secateur.tree.tree import Tree
    from secateur.verify.boxes import Allowed, Boxes


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

    def domain(self, feature: int) -> tuple[float, float, NDArray[np.bool_] | None, bool]:
        """Find what a column may hold: numbers above the first and up to the second, marked codes, and NaN or not."""
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
        return low, high, codes, missing

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
            held: NDArray[np.bool_] = np.where(np.isnan(codes), claim.region.missing, kept)
            return held

        against: list[tuple[str, NDArray[np.bool_]]] = [(str(claim), ~holds(claim)) for claim in self.claims]
        against += [(str(known), holds(known.premise) & ~holds(known.conclusion)) for known in self.implications]
        for feature in self.decimals:
            numbers = matrix[:, feature]
            n, own = self.decimals[feature], column(feature)
            # numpy rounds by way of a product, which may miss the nearest decimal, but not the nearest whole number.
            nearest = np.array([round(number, n) for number in own.tolist()]) if n else np.rint(own)
            broken = (nearest.astype(matrix.dtype) != numbers) & ~np.isnan(numbers)
            against.append((self.tree.describe_decimals(feature), broken))
        for group in self.groups:
            values = np.column_stack([column(feature) for feature in group.features])
            against.append((str(group), ~np.isin(values, (0, 1)).all(axis=1) | (values.sum(axis=1) > 1)))
        said = "contradicts a fact that was given"
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
        n_refused = (~zero).sum(axis=0)
        alone = one & (n_refused - ~zero == 0)  # this one is 1 and every other may be 0
        states = np.vstack([alone, n_refused == 0])
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
