"""Decide anew whether a tree is monotone in stated signs, and whether the signs cover what was deleted.

All boxes of leaves of the second class are raised to what lies at or above one of their rows, and go down the tree
together; the tree is monotone if none of them meets a leaf of the first class. Columns that a group or an implication
ties together are raised without a limit on the way down. Where a box arrives at a leaf, their states decide: all that
the facts allow are listed, and every two are compared.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.tree.tree import Tree
from secateur.verify.boxes import Allowed, Boxes, Paths, Possible, find_foreign_leaves

# Every combination of what columns hold together is tried, and every two that are possible are compared.
MOST_COMBINATIONS = 1 << 16
MOST_STATES = 1 << 13


def check_signs(tree: Tree, signs: Any) -> str | None:
    """Say in a sentence why signs cannot certify anything; None if they can."""
    if tree.n_classes != 2:
        return f"Monotone signs order two classes, but the tree has {tree.n_classes}."
    fits = isinstance(signs, (list, tuple, np.ndarray)) and len(signs) == tree.n_features
    if not fits or any(isinstance(sign, bool) or sign not in (-1, 0, 1) for sign in signs):
        return f"The monotone signs are not one of -1, 0 and +1 for each of the {tree.n_features} columns."
    return None


class Monotone:
    """A tree of two classes, signs, and the rows that are possible."""

    def __init__(
        self,
        tree: Tree,
        paths: Paths,
        signs: Sequence[int],
        possible: Possible,
        make_boxes: Callable[[NDArray[np.bool_], NDArray[np.int64]], Iterable[Boxes]],
    ) -> None:
        self.tree, self.paths, self.possible, self._make_boxes = tree, paths, possible, make_boxes
        self.classes: NDArray[np.int64] = tree.leaf_class[paths.leaves]
        self.ranks = {
            feature: ranks for feature in range(tree.n_features) if (ranks := self._rank(feature)) is not None
        }
        # A sign says nothing of categories without an order.
        self.unordered = [
            feature
            for feature, sign in enumerate(signs)
            if sign and tree.categories[feature] is not None and feature not in self.ranks
        ]
        self.signs = [0 if feature in self.unordered else int(sign) for feature, sign in enumerate(signs)]
        self.every = np.ones(len(paths.links), dtype=bool)

    @cached_property
    def ties(self) -> list[_Tie]:
        """The columns that belong together, some of them with a sign."""
        return [_Tie(self, sorted(columns)) for columns in self.bundles if any(self.signs[one] for one in columns)]

    @cached_property
    def bundles(self) -> list[set[int]]:
        """The columns that belong together, signed or not."""
        found = [set(group.features) for group in self.possible.groups]
        for known in self.possible.implications:
            found.append({*self.members(known.premise), *self.members(known.conclusion)})
        joined: list[set[int]] = []
        for together in found:
            apart = [other for other in joined if not other & together]
            joined = [*apart, together.union(*(other for other in joined if other & together))]
        return joined

    @cached_property
    def tied(self) -> set[int]:
        """Every column that belongs to others."""
        return set[int]().union(*self.bundles)

    @cached_property
    def too_many(self) -> str | None:
        """A sentence that says which columns have too many states to compare, if some have."""
        for tie in self.ties:
            if tie.n_combinations > MOST_COMBINATIONS or len(tie.states) > MOST_STATES:
                names = ", ".join(self.tree.feature_name(column) for column in tie.columns)
                return f"{names} have too many states together, so their order was not re-checked."
        return None

    def find_wrong_order(self) -> tuple[int, int] | None:
        """Find a leaf of the second class, and one of the first that a larger row reaches; None if there are none."""
        tree, paths, leaves = self.tree, self.paths, self.paths.leaves
        for boxes in self._make_boxes(self.every, np.flatnonzero(self.classes == 1)):
            raised = Boxes(tree, paths, self.every, boxes.rules[self.possible.find_reached(boxes)])
            self._raise(raised)
            second = np.ones(len(raised.rules), dtype=np.int64)
            for leaf, rules in find_foreign_leaves(tree, paths, raised, second, self.possible):
                for lower in leaves[rules].tolist():
                    if all(tie.is_below(lower, leaf) for tie in self.ties):
                        return lower, leaf
        return None

    def find_uncovered(self, deleted: NDArray[np.bool_]) -> tuple[list[int], list[int]]:
        """List the rules that no row reaches, and those whose rows cannot all be moved into their leaf."""
        paths = self.paths
        widened = np.unique(paths.rule[deleted]).astype(np.int64)
        reached: set[int] = set()
        for boxes in self._make_boxes(self.every, widened):
            reached |= set(boxes.rules[self.possible.find_reached(boxes)].tolist())
        unreached = [rule for rule in widened.tolist() if rule not in reached]
        uncovered = [rule for rule in widened.tolist() if rule in reached and not self._is_covered(rule, deleted)]
        return unreached, uncovered

    def _raise(self, boxes: Boxes) -> None:
        """Add to boxes whatever lies above one of their rows; tied columns may then hold anything."""
        loose = {column for tie in self.ties for column in tie.columns}
        for row, feature in enumerate(boxes.features.tolist()):
            if feature in loose:
                boxes.low[row], boxes.high[row] = -np.inf, np.inf
                boxes.missing[row] = self.tree.accepts_missing[feature]
                if feature in boxes.codes:
                    boxes.codes[feature][:] = True
                continue
            sign = 0 if feature in self.tied else self.signs[feature]
            if sign == 0:
                continue
            low, high, codes, _ = self.possible.domain(feature)
            if codes is not None:
                held = boxes.codes[feature] & codes
                boxes.codes[feature] |= held @ self._is_above(feature)
                continue
            numbers = self.possible.has_number(
                feature, np.maximum(boxes.low[row], low), np.minimum(boxes.high[row], high)
            )
            end, limit = (boxes.high, np.inf) if sign > 0 else (boxes.low, -np.inf)
            end[row, numbers] = limit

    def _is_covered(self, rule: int, deleted: NDArray[np.bool_]) -> bool:
        """Whether every row of the shortened rule can be moved into the whole rule, against the rule's class."""
        span = slice(int(self.paths.offsets[rule]), int(self.paths.offsets[rule + 1]))
        links, gone = self.paths.links[span].tolist(), deleted[span].tolist()
        whole = self.possible.cut(self.paths, links)
        kept = self.possible.cut(self.paths, [link for link, is_gone in zip(links, gone, strict=True) if not is_gone])
        class_id = int(self.classes[rule])
        lost = [link for link, is_gone in zip(links, gone, strict=True) if is_gone]
        touched = {int(self.tree.feature[self.paths.parent[link]]) for link in lost}
        touched = {feature for feature in touched if self._differs(feature, kept, whole)}
        for tie in self.ties:
            if touched & set(tie.columns):
                touched -= set(tie.columns)
                if not tie.can_move(kept, whole, class_id):
                    return False
        if touched & self.tied:
            return False  # columns that belong together and have no sign
        for feature in touched:
            before, after = (held.get(feature) or self.possible.domain(feature) for held in (kept, whole))
            if before[3] and not after[3]:
                return False  # NaN cannot be moved
            if before[2] is not None and after[2] is not None:
                above = self._is_above(feature)
                below = above.T if class_id == 1 else above
                if not below[np.ix_(before[2], after[2])].any(axis=1).all():
                    return False
            elif not self._can_move(feature, before, after, self.signs[feature] * (1 if class_id == 1 else -1)):
                return False
        return True

    def _differs(self, feature: int, kept: Mapping[int, Allowed], whole: Mapping[int, Allowed]) -> bool:
        """Whether the shortened rule leaves a column more than the whole rule: what the rest implies cuts nothing."""
        before, after = kept.get(feature) or self.possible.domain(feature), whole[feature]
        if before[2] is not None and after[2] is not None and (before[2] != after[2]).any():
            return True
        return (before[:2], before[3]) != (after[:2], after[3])

    def _can_move(self, feature: int, before: Allowed, after: Allowed, favour: int) -> bool:
        """Whether every number of one interval can fall (if larger ones favour the class) into a part of it."""
        has_number = self.possible.has_number
        if not has_number(feature, *before[:2]):
            return True
        if not has_number(feature, *after[:2]):
            return False
        loses_small = bool(has_number(feature, before[0], after[0]))
        loses_large = bool(has_number(feature, after[1], before[1]))
        return not (loses_small and favour >= 0) and not (loses_large and favour <= 0)

    def hold_leaf(self, leaf: int) -> dict[int, Allowed]:
        """Find what its path leaves each column that leads to a leaf."""
        links = []
        while leaf > 0:
            links.append(leaf)
            leaf = int(self.paths.parent[leaf])
        return self.possible.cut(self.paths, links)

    def _rank(self, feature: int) -> NDArray[np.float64] | None:
        """Rank the codes of ordered categories, or of the cells of a number; None elsewhere."""
        columns, levels = self.tree.columns, self.tree.categories[feature]
        if levels is None:
            return None
        if columns is not None and columns.cuts[feature] is not None:
            return np.arange(len(levels) + 1.0)
        ranks = np.full(len(levels) + 1, np.nan)
        for order in self.possible.orders:
            if order.feature == feature:
                ranks[list(order.codes)] = range(len(order.codes))
        return None if np.isnan(ranks).all() else ranks

    def _is_above(self, feature: int) -> NDArray[np.bool_]:
        """Whether code b lies at or above code a, at [a, b]."""
        size = len(self.tree.categories[feature] or ()) + 1
        above = np.eye(size, dtype=bool)
        if self.signs[feature]:
            ranks = self.signs[feature] * self.ranks[feature]
            above |= ranks[:, None] <= ranks
        return above

    def members(self, claim: Any) -> tuple[int, ...]:
        """The columns that a claim is about."""
        place = claim.subject - self.tree.n_features
        return (claim.subject,) if place < 0 else self.possible.groups[place].features


class _Tie:
    """Columns that belong together, with every state that they can be in."""

    def __init__(self, owner: Monotone, columns: list[int]) -> None:
        self.owner, self.columns = owner, columns
        possible = owner.possible
        self.groups = [
            (place, group) for place, group in enumerate(possible.groups) if set(group.features) <= set(columns)
        ]
        grouped = {feature for _, group in self.groups for feature in group.features}
        self.alone = {column: list(self._cells(column)) for column in columns if column not in grouped}
        sizes = [len(group.features) + 1 for _, group in self.groups] + [len(cells) for cells in self.alone.values()]
        self.n_combinations = math.prod(sizes)
        self._raised: dict[int, NDArray[np.bool_]] = {}

    @cached_property
    def states(self) -> list[dict[int, Allowed]]:
        """The states that satisfy the facts, each with what every column holds in it."""
        return [state for state in self._combine() if self._is_possible(state)]

    @cached_property
    def above(self) -> NDArray[np.bool_]:
        """Whether state b lies at or above state a, at [a, b]."""
        found = np.ones((len(self.states),) * 2, dtype=bool)
        for column in self.columns:
            held = [state[column] for state in self.states]
            names: dict[Any, int] = {}
            keys = [
                (low, high, missing, None if codes is None else codes.tobytes()) for low, high, codes, missing in held
            ]
            same = np.array([names.setdefault(key, len(names)) for key in keys])
            related = same[:, None] == same
            sign = self.owner.signs[column]
            if sign:
                place = sign * np.array([self._place(column, one) for one in held])
                related |= place[:, None] <= place
            found &= related
        return found

    def is_below(self, lower: int, upper: int) -> bool:
        """Whether some state of one leaf lies at or below some state of another."""
        if lower not in self._raised:
            self._raised[lower] = np.asarray(self.above[self._within(self.owner.hold_leaf(lower))].any(axis=0))
        return bool((self._raised[lower] & self._within(self.owner.hold_leaf(upper))).any())

    def can_move(self, kept: Mapping[int, Allowed], whole: Mapping[int, Allowed], class_id: int) -> bool:
        """Whether every state of a shortened rule can be moved into the whole rule, against its class."""
        below = self.above.T if class_id == 1 else self.above
        return bool(below[np.ix_(self._within(kept), self._within(whole))].any(axis=1).all())

    def _within(self, held: Mapping[int, Allowed]) -> NDArray[np.bool_]:
        """Mark the states that lie in a box; no side of a box runs through what a column holds in a state."""
        return np.array(
            [
                all(_is_part(state[column], held[column]) for column in self.columns if column in held)
                for state in self.states
            ],
            dtype=bool,
        )

    def _cells(self, column: int) -> Iterator[Allowed]:
        """Cut what a column may hold where a split or a fact does."""
        tree, possible = self.owner.tree, self.owner.possible
        low, high, codes, missing = possible.domain(column)
        if missing:
            yield Allowed(math.inf, math.inf, None if codes is None else np.zeros_like(codes), True)
        if codes is not None:
            for code in np.flatnonzero(codes).tolist():
                yield Allowed(-math.inf, math.inf, np.arange(len(codes)) == code, False)
            return
        claims = [c for known in possible.implications for c in (known.premise, known.conclusion)]
        ends = {end for claim in claims if claim.subject == column for end in claim.region[:2]}
        ends |= set(self.owner.paths.limit[tree.feature == column].tolist())
        for first, last in itertools.pairwise([low, *sorted(end for end in ends if low < end < high), high]):
            if possible.has_number(column, first, last):
                yield Allowed(first, last, None, False)

    def _combine(self) -> Iterator[dict[int, Allowed]]:
        """List every combination of the groups' states and the other columns' cells."""
        points = [Allowed(math.nextafter(value, -math.inf), value, None, False) for value in (0.0, 1.0)]
        options: list[list[dict[int, Allowed]]] = [
            [
                {feature: points[place == one] for place, feature in enumerate(group.features)}
                for one in range(len(group.features) + 1)
            ]
            for _, group in self.groups
        ]
        options += [[{column: cell} for cell in cells] for column, cells in self.alone.items()]
        for chosen in itertools.product(*options):
            yield {column: held for part in chosen for column, held in part.items()}

    def _is_possible(self, state: Mapping[int, Allowed]) -> bool:
        """Whether a state satisfies the facts about its columns."""
        possible, n_features = self.owner.possible, self.owner.tree.n_features

        def holds(claim: Any) -> bool:
            if claim.subject < n_features:
                low, high, listed, missing = claim.region
                own = state[claim.subject]
                codes = None if own.codes is None else np.isin(np.arange(len(own.codes)), list(listed))
                return _is_part(own, Allowed(low, high, codes, missing))
            features = possible.groups[claim.subject - n_features].features
            ones = [place for place, feature in enumerate(features) if state[feature][1] == 1.0]
            return (ones[0] if ones else len(features)) in claim.region.codes

        places = {n_features + place for place, _ in self.groups}
        own = [claim for claim in possible.claims if claim.subject in places or claim.subject in state]
        implied = [k for k in possible.implications if self.owner.members(k.premise)[0] in state]
        return all(map(holds, own)) and all(not holds(k.premise) or holds(k.conclusion) for k in implied)

    def _place(self, column: int, held: Allowed) -> float:
        """Where a column's value lies among others; NaN if it compares with itself alone."""
        _, high, codes, missing = held
        if missing:
            return math.nan
        return high if codes is None else float(self.owner.ranks[column][codes.argmax()])


def _is_part(part: Allowed, whole: Allowed) -> bool:
    """Whether what a column holds in a state lies in a set that runs through no state."""
    low, high, codes, missing = part
    if missing:
        return whole[3]
    if codes is not None:
        return whole[2] is not None and not (codes & ~whole[2]).any()
    return whole[0] <= low and high <= whole[1]
