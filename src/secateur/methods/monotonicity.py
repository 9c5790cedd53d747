"""Decide whether a tree of two classes is monotone in stated signs, and what may be deleted because it is.

A tree is monotone if no possible row lies at or above a row of the second class and is given the first (see
:mod:`secateur.facts.possible_rows`). For each leaf of the second class, everything at or above one of its rows is a
box, and a walk looks for a leaf of the first class that meets it: every pair of leaves is decided.

Signs are tried for all rows first. Only where some rows are in the wrong order is it asked whether the facts rule those
out; the promise is then about the rows that satisfy the facts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.counting.training_evidence import RowEvidence
from secateur.errors import ParameterError, shorten
from secateur.facts.possible_rows import Ordering, find_feasible, find_ordering, find_ranks
from secateur.kernels.running import run_above
from secateur.methods.contract import Problem
from secateur.tree.columns import find_cuts
from secateur.tree.facts import NO_FACTS, Facts
from secateur.tree.paths import Paths
from secateur.tree.regions import Region, domain_of, pick_value, regions_of_links
from secateur.tree.tree import Label, Tree


class NotMonotoneError(ParameterError):
    """A tree is not monotone in the signs."""


Point = dict[str, "Label | None"]


class Violation(NamedTuple):
    """Two possible rows in the wrong order; values are by column name, None stands for missing."""

    lower_leaf: int  # predicts the second class
    upper_leaf: int  # predicts the first
    lower: Point
    upper: Point


@dataclass(frozen=True)
class Monotonicity:
    """Whether a tree is monotone in signs, over which rows."""

    tree: Tree
    paths: Paths
    ordering: Ordering  # which of two rows is the larger, and which rows are possible
    rests_on_facts: bool  # whether only rows that satisfy the facts are meant

    @property
    def holds(self) -> bool:
        """Whether no possible row lies above a row of the second class and is given the first."""
        return self._leaves is None

    @cached_property
    def _leaves(self) -> tuple[int, int] | None:
        """A leaf of the second class, and one of the first that a larger row reaches; None where there are none."""
        ordering = self.ordering
        met = run_above(ordering.feasible.tree, self.paths, ordering.signs, ordering.above)
        rule = int((met >= 0).argmax())
        return None if met[rule] < 0 else (int(self.paths.leaf_ids[rule]), int(met[rule]))

    def describe_rows(self) -> str:
        """Say which rows are meant."""
        if not self.rests_on_facts:
            return "all rows"
        facts = self.tree.facts
        words = [str(fact) for fact in (*facts.implications, *facts.claims, *facts.groups)]
        words += [self.tree.describe_decimals(feature) for feature in facts.decimals_of]
        return f"all rows that satisfy the facts {shorten(words)}"

    def refute(self, whose: str) -> None:
        """Raise :class:`NotMonotoneError` with two rows in the wrong order, unless it holds."""
        if self._leaves is None:
            return
        found = self.find_violation()
        labels = [self.tree.class_names[class_id] for class_id in (1, 0)]
        same = {name: value for name, value in found.lower.items() if found.upper[name] == value}
        rows = [
            ", ".join(self._word(name, value) for name, value in point.items() if name not in same)
            for point in (found.lower, found.upper)
        ]
        both = ", ".join(self._word(name, value) for name, value in same.items())
        raise NotMonotoneError(
            f"The tree is not monotone in {whose}: leaf {found.lower_leaf} predicts {labels[0]!r} for a row with "
            f"{rows[0]}, but leaf {found.upper_leaf} predicts {labels[1]!r} for one with {rows[1]}, which by the signs "
            f"favours {labels[0]!r} no less{f' (both with {both})' if both else ''}. Correct the signs, or pass a "
            "domain instead."
        )

    def find_violation(self) -> Violation:
        """Find two possible rows in the wrong order, with the columns that their leaves test."""
        if self._leaves is None:
            raise RuntimeError("a tree that is monotone has no rows in the wrong order")
        feasible, paths = self.ordering.feasible, self.paths
        boxes = [regions_of_links(feasible.tree, paths, self._path(leaf)) for leaf in self._leaves]
        asked = {int(self.tree.feature[paths.parent[link]]) for leaf in self._leaves for link in self._path(leaf)}
        points: tuple[Point, Point] = ({}, {})
        for feature in {**boxes[0], **boxes[1]}:
            whole = domain_of(feasible.tree, feature)
            picked = self._pick_pair(feature, *(box.get(feature, whole) for box in boxes))
            states = [feasible.read_state(feature, value) for value in picked]
            for column in states[0]:
                if column in asked or states[0][column] != states[1][column]:
                    for point, state in zip(points, states, strict=True):
                        point[self.tree.feature_name(column)] = state[column]
        return Violation(*self._leaves, *points)

    def find_refuting_link(self, rule: int, chosen: NDArray[np.int64]) -> int:
        """Find a link of the chosen entries of a rule that the signs do not cover; -1 when they cover all of them.

        They do if every possible row that satisfies the rest of the rule can be moved into the whole rule, to the side
        that favours its class less. A condition that the rest implies cuts nothing off.
        """
        tree, paths, own = self.ordering.feasible.tree, self.paths, self.tree.feature
        lost: list[int] = [*paths.links[chosen[self._cuts_wrongly[chosen]]].tolist(), *paths.links[chosen].tolist()]
        links: list[int] = paths.links[paths.entries(rule)].tolist()
        rest = [link for link in links if link not in lost]
        if len(lost) > len(chosen) and own[paths.parent[lost[0]]] not in own[paths.parent[rest]]:
            return lost[0]
        whole = regions_of_links(tree, paths, links)
        if any(region.is_empty for region in whole.values()):
            return lost[0]  # no row reaches this leaf, so there is no row to move to
        kept = regions_of_links(tree, paths, rest)
        narrow, wide = (regions_of_links(self.tree, paths, some) for some in (links, rest))
        for link in lost:
            column, feature = int(own[paths.parent[link]]), int(tree.feature[paths.parent[link]])
            if wide.get(column, domain_of(self.tree, column)) == narrow[column]:
                continue
            before = kept.get(feature, domain_of(tree, feature))
            if not self._can_move(feature, before, whole[feature], int(paths.leaf_class[rule])):
                return link
        return -1

    @cached_property
    def _cuts_wrongly(self) -> NDArray[np.bool_]:
        """Whether each entry asks a number and cuts off values that do not favour its rule's class, or NaN."""
        tree, paths = self.ordering.feasible.tree, self.paths
        nodes, to_left = paths.parent[paths.links], paths.is_left[paths.links]
        feature, limit = tree.feature[nodes], tree.upper[nodes]
        cuts = np.where(to_left, limit < np.inf, limit > -np.inf)
        favour = self.ordering.signs[feature] * np.where(paths.leaf_class_of_entry == 1, 1, -1)
        cuts_favoured = (favour != 0) & (to_left == (favour > 0))
        cuts_missing = tree.accepts_missing[feature] & (tree.missing_left[nodes] != to_left)
        is_number = ~np.isnan(tree.threshold[nodes])
        wrongly: NDArray[np.bool_] = is_number & (cuts_missing | (cuts & ~cuts_favoured))
        return wrongly

    def _can_move(self, feature: int, kept: Region, whole: Region, class_id: int) -> bool:
        """Whether every value that the rest of a rule allows can be moved, against the class, to one of the rule's."""
        if kept.missing and not whole.missing:
            return False  # NaN is not ordered
        if whole.codes is None:
            favour = self.ordering.signs[feature] * (1 if class_id == 1 else -1)
            cuts_large, cuts_small = whole.high < kept.high, kept.low < whole.low
            is_covered = (favour > 0 or not cuts_large) and (favour < 0 or not cuts_small)
            return not kept.has_listed_value or (whole.has_listed_value and is_covered)
        above = self.ordering.above.get(feature)
        if above is None:
            return False
        below = above.T if class_id == 1 else above  # [code, code that favours the class no more]
        return bool(below[np.ix_(sorted(kept.codes or ()), sorted(whole.codes or ()))].any(axis=1).all())

    def _pick_pair(self, feature: int, low: Region, high: Region) -> tuple[Label | None, Label | None]:
        """Pick two values in order, one from each region; the same one if possible."""
        tree, both = self.ordering.feasible.tree, low.meet(high)
        if both.has_listed_value:
            value = pick_value(tree, feature, both)
            return value, value
        if low.codes is None or high.codes is None:
            sign = self.ordering.signs[feature]
            is_ordered = low.has_listed_value and high.has_listed_value
            if is_ordered and ((sign > 0 and low.low < high.high) or (sign < 0 and high.low < low.high)):
                return pick_value(tree, feature, low), pick_value(tree, feature, high)
            return None, None
        if feature in self.ordering.above:
            above = self.ordering.above[feature]
            for one in sorted(low.codes):
                for other in sorted(high.codes):
                    if above[one, other]:
                        picked = (low._replace(codes=frozenset([one])), high._replace(codes=frozenset([other])))
                        return pick_value(tree, feature, picked[0]), pick_value(tree, feature, picked[1])
        return None, None

    def _path(self, leaf: int) -> list[int]:
        """List the links from the root to a leaf."""
        rule = int(np.flatnonzero(self.paths.leaf_ids == leaf)[0])
        links: list[int] = self.paths.links[self.paths.entries(rule)].tolist()
        return links

    def _word(self, name: str, value: Label | None) -> str:
        if value is None:
            return f"{name} missing"
        if isinstance(value, float):  # with the few digits that the tree's dtype needs
            return f"{name} = {np.format_float_positional(np.dtype(self.tree.dtype).type(value), trim='-')}"
        feature = next(f for f in range(self.tree.n_features) if self.tree.feature_name(f) == name)
        cuts, levels = find_cuts(self.tree, feature), self.tree.categories[feature]
        if cuts is not None and levels is not None and value not in levels:
            return f"{name} > {cuts[-1]:g}"  # the highest cell of a number that a pipeline asks by cell
        return f"{name} = {value}"


def decide_monotonicity(problem: Problem, signs: Sequence[int]) -> Monotonicity:
    """Decide whether a tree of two classes is monotone in signs; facts are used where they are needed and allowed."""
    tree, may_use_facts = problem.tree, problem.walked is None
    # An order of categories rules out no row: it is part of what the signs say.
    untold = replace(tree, facts=Facts(orders=tree.facts.orders) if may_use_facts else NO_FACTS)
    found = _decide(problem, untold, signs, rests_on_facts=False)
    if found.holds or not may_use_facts or not tree.facts.limits_rows:
        return found
    return _decide(problem, tree, signs, rests_on_facts=True)


def _decide(problem: Problem, tree: Tree, signs: Sequence[int], *, rests_on_facts: bool) -> Monotonicity:
    ordering = find_ordering(tree, signs, find_feasible(tree))
    return Monotonicity(problem.tree, problem.paths, ordering, rests_on_facts)


# Rows are compared pair by pair, so only so many of them, the first ones.
MOST_ROWS = 10_000
BLOCK_PAIRS = 1 << 22


class Contradiction(NamedTuple):
    """Two rows: by the signs the upper one favours the second class no less, but only the lower one has it."""

    lower: int
    upper: int


def find_contradiction(tree: Tree, signs: Sequence[int], listed: RowEvidence) -> Contradiction | None:
    """Find two of the first rows that contradict the signs; rows that are equal do not.

    Rows with columns that are not read, as behind a pipeline, cannot be compared.
    """
    if tree.columns is not None or (listed.rows.column_of < 0).any() or not any(signs):
        return None
    n_rows = min(listed.n_rows, MOST_ROWS)
    matrix = listed.rows.select(0, n_rows, np.arange(tree.n_features)).astype(np.float64)
    labels = listed.class_ids[:n_rows]
    same, rising = _split_columns(tree, signs, matrix)
    if not rising.shape[1]:
        return None
    sizes = np.array([np.inf if levels is None else len(levels) for levels in tree.categories])
    # Unlisted categories share one code but need not be equal, so rows that hold one are not compared.
    known = np.asarray(~(matrix >= sizes).any(axis=1))
    _, group = np.unique(np.nan_to_num(same, nan=np.inf), axis=0, return_inverse=True)
    found = (_find_pair(rising, *both) for both in _pairs_of_groups(group.ravel(), labels, known))
    return min((pair for pair in found if pair is not None), default=None)


def describe_contradiction(tree: Tree, found: Contradiction, rows: str, n_rows: int) -> str:
    """Say which rows contradict the signs."""
    first, second = tree.class_names
    among = f" (the first {MOST_ROWS:,} rows were compared)" if n_rows > MOST_ROWS else ""
    return (
        f"{rows} {found.lower} and {found.upper} contradict the signs: by them row {found.upper} favours {second!r} no "
        f"less, but it is labelled {first!r} and row {found.lower} {second!r}{among}. What is certified is what the "
        "tree predicts, not the labels."
    )


def _split_columns(
    tree: Tree, signs: Sequence[int], matrix: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Split rows into what must be equal to compare two of them, and numbers that count as larger where they are."""
    same, rising = [], []
    for feature, sign in enumerate(signs):
        values, ranks = matrix[:, feature], find_ranks(tree, feature)
        if sign == 0 or (tree.categories[feature] is not None and ranks is None):
            same.append(values)
            continue
        place = values
        if ranks is not None:
            place = np.where(np.isnan(values), np.nan, ranks[np.nan_to_num(values).astype(np.int64)])
        is_ranked = ~np.isnan(place)
        same.append(np.where(is_ranked, -1.0, np.nan_to_num(values, nan=np.inf)))
        rising.append(np.where(is_ranked, sign * place, 0.0))
    none = np.zeros((len(matrix), 0))
    return np.column_stack([none, *same]), np.column_stack([none, *rising])


def _pairs_of_groups(
    group: NDArray[np.int64], labels: NDArray[np.int64], known: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """List, for groups that hold both classes, the rows of the second class and those of the first."""
    order = np.lexsort((labels, group))
    order = order[known[order]]
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        if len(rows) and labels[rows[0]] != labels[rows[-1]]:
            yield np.sort(rows[labels[rows] == 1]), np.sort(rows[labels[rows] == 0])


def _find_pair(rising: NDArray[np.float64], lower: NDArray[np.int64], upper: NDArray[np.int64]) -> Contradiction | None:
    """Find the first row of some that lies below one of others, and the first such one."""
    size = max(1, BLOCK_PAIRS // len(upper))
    for begin in range(0, len(lower), size):
        one, other = (places.ravel() for places in np.meshgrid(lower[begin : begin + size], upper, indexing="ij"))
        differs = np.zeros(len(one), dtype=bool)
        for column in rising.T:
            small, large = column[one], column[other]
            kept = small <= large
            one, other, differs = one[kept], other[kept], (differs | (small < large))[kept]
        if differs.any():
            place = int(differs.argmax())
            return Contradiction(int(one[place]), int(other[place]))
    return None
