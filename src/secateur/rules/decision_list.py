"""List the rules by rank, as tests of plain columns that any program can run.

Every export (SQL, source code, a page) is written from this list, so that all of them decide alike. Columns are the
user's own: they hold numbers, labels or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.errors import ParameterError
from secateur.rules.rule import Rule
from secateur.tree.columns import find_cuts, is_closed, join_cells
from secateur.tree.shares import none_if_nan

if TYPE_CHECKING:
    from secateur.rules.rules import Rules
    from secateur.tree.columns import ColumnParser
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Label, Tree


@dataclass(frozen=True)
class Column:
    """A column that some rule of the list tests."""

    feature: int  # index in the tree
    name: str
    labels: tuple[Label, ...] | None  # the categories that the tree knows; None for a column of numbers
    dtype: str  # numbers are rounded to it before they are compared
    takes_missing: bool  # else a row that holds nothing here is rejected
    takes_unlisted: bool  # else a row with a category that is not listed is rejected
    lowest: float  # rows with a number beyond these are rejected; infinite where there is no such end
    highest: float
    reading: ColumnParser | None = None  # which number its texts or dates mean; None where it holds numbers or labels

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest float64 that is accepted; numbers beyond may also be infinite in dtype."""
        end = double_limit(float(np.finfo(self.dtype).max), self.dtype)
        return max(self.lowest, -end), min(self.highest, end)


class ColumnTest(NamedTuple):
    """What a rule asks of one column; a value passes if any of the fields allows it.

    A number x passes if ``low < x <= high`` for one of the intervals. They are increasing and apart, their limits are
    numbers of the column's dtype or infinite, and x is rounded to that dtype first.
    """

    column: int  # index into DecisionList.columns
    intervals: tuple[tuple[float, float], ...]
    labels: tuple[Label, ...]  # the categories that pass, in the column's order
    unlisted: bool  # whether a category that is not listed passes
    missing: bool  # whether NULL, None and NaN pass


@dataclass(frozen=True, slots=True)
class ListedRule:
    """A rule of the list: it predicts its label for rows that pass all its tests."""

    index: int  # of its line, from 0 on
    label: Label
    share: float | None  # of its class, as it states it to a row, else of its training rows; None where not known
    tests: tuple[ColumnTest, ...]  # each of them rejects some row
    rules: Rules  # whose line it is

    @property
    def text(self) -> str:
        """The line in words."""
        return Rule(self.rules, self.index).text


@dataclass(frozen=True)
class DecisionList:
    """Lines by rank: the first whose tests a row passes decides.

    Every row that no column rejects passes one of them; "otherwise" of a section asks for its heading, and the last
    line of a list for nothing. Lines that can never decide are left out: those that no row can pass, and those that ask
    the same as an earlier one.
    """

    columns: tuple[Column, ...]  # in the order of the tree's features
    rules: tuple[ListedRule, ...]


def make_decision_list(rules: Rules) -> DecisionList:
    """List the rules in the order in which they decide, and "otherwise".

    The list predicts what :meth:`Rules.predict` does, and finds the line that :meth:`Rules.apply` finds.
    """
    check_ordered(rules)
    asked = _Asked(rules.tree, rules.paths, *_list_links(rules))
    first_of: dict[bytes, int] = {}  # by what it asks, the first line that does
    for place in asked.passed:
        first_of.setdefault(asked.key_of(place), place)
    features = np.unique(asked.feature[asked.list_asks(first_of.values())]).tolist()
    tests_of = asked.make_tests(features)
    labels, shares = rules.answers.tolist(), rules.stated_shares.tolist()
    order = rules.order.tolist()
    answering = [(order[place], tests_of(place)) for place in first_of.values()]
    if rules.is_list:  # sections are all that there is, so the last "otherwise" need not ask for its heading
        answering[-1] = answering[-1][0], ()
    listed = [ListedRule(line, labels[line], none_if_nan(shares[line]), tests, rules) for line, tests in answering]
    return DecisionList(tuple(make_column(rules.tree, feature) for feature in features), tuple(listed))


def list_deciding(rules: Rules, features: Sequence[int]) -> list[tuple[int, tuple[ColumnTest, ...]]]:
    """List the lines that some row can pass, in the order in which they decide, with their tests."""
    asked = _Asked(rules.tree, rules.paths, *_list_links(rules))
    tests_of, order = asked.make_tests(features), rules.order.tolist()
    return [(order[place], tests_of(place)) for place in asked.passed]


def list_sections(rules: Rules, listed: DecisionList) -> list[tuple[tuple[ColumnTest, ...], list[ListedRule]]]:
    """List what the heading of each section asks, and its lines that decide, with what each asks beside the heading."""
    lines = [Rule(rules, one.index) for one in listed.rules]
    firsts = [place for place, line in enumerate(lines) if not place or line._section != lines[place - 1]._section]
    links = [line._own_ids for line in lines] + [lines[place]._heading_ids for place in firsts]
    tests_of = dict(list_links(rules, links, [column.feature for column in listed.columns])).__getitem__
    sections = []
    for section, (start, end) in enumerate(pairwise([*firsts, len(lines)])):
        heading = tests_of(len(lines) + section)
        known = {test.column for test in heading if not test.missing}  # where the heading lets nothing be missing
        own = []
        for place, rule in enumerate(listed.rules[start:end], start):
            asked_of = (test._replace(missing=test.missing and test.column not in known) for test in tests_of(place))
            own.append(replace(rule, tests=tuple(asked_of)))
        sections.append((heading, own))
    return sections


def _list_links(rules: Rules) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """List the edges of the lines in the order in which they decide: how many there are, line and edge of each."""
    layout = rules.layout
    if layout is None:
        return len(rules), *_list_kept(rules.paths, rules.deleted, rules.ranking)
    rule, links = _list_kept(rules.paths, rules.deleted, rules.leaves)
    headings = [rules.paths.list_path(node) for node in layout.nodes.tolist()]
    line = np.concatenate([layout.rule_lines[rule], np.repeat(layout.rest_lines, list(map(len, headings)))])
    every = np.concatenate([links, np.array([link for some in headings for link in some], dtype=np.int64)])
    in_order = np.argsort(line, kind="stable")
    return rules.n_lines, line[in_order], every[in_order]


def _list_kept(
    paths: Paths, deleted: NDArray[np.bool_], leaves: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the kept edges of the rules of some leaves: which of the leaves, and the edge."""
    n_links = np.diff(paths.offsets)[leaves]
    rule = np.repeat(np.arange(len(leaves)), n_links)
    entry = np.arange(len(rule)) + (paths.offsets[leaves] + n_links - np.cumsum(n_links))[rule]
    is_kept = ~deleted[entry]
    return rule[is_kept], paths.links[entry[is_kept]].astype(np.int64)


def check_ordered(rules: Rules) -> None:
    """Reject rules without an order that decides."""
    if not rules.is_ordered:
        raise ParameterError(
            f"The rules of {rules.method!r} may overlap, and without training rows they have no ranking: "
            "pass X and y to simplify."
        )


def list_tests(
    rules: Rules, deleted: NDArray[np.bool_], features: Sequence[int], leaves: NDArray[np.int64]
) -> list[tuple[int, tuple[ColumnTest, ...]]]:
    """List the rules of some leaves by place, with their tests, leaving out those that no row can pass.

    Unlike :func:`make_decision_list`, this keeps rules that ask the same as an earlier one: they cover rows, too. The
    deleted conditions are those of the rules, or none to list the leaves of their tree. Tests name a column by its
    place among the features.
    """
    paths, places = rules.paths, leaves.tolist()
    asked = _Asked(rules.tree, paths, len(leaves), *_list_kept(paths, deleted, leaves))
    tests_of = asked.make_tests(features)
    return [(places[place], tests_of(place)) for place in asked.passed]


def list_links(
    rules: Rules, listed: Sequence[Sequence[int]], features: Sequence[int]
) -> list[tuple[int, tuple[ColumnTest, ...]]]:
    """List by number what some edges together ask, leaving out those that no row can pass."""
    number = np.repeat(np.arange(len(listed)), list(map(len, listed)))
    links = np.array([link for some in listed for link in some], dtype=np.int64)
    asked = _Asked(rules.tree, rules.paths, len(listed), number, links)
    tests_of = asked.make_tests(features)
    return [(place, tests_of(place)) for place in asked.passed]


def double_limit(limit: float, dtype: str) -> float:
    """Find the largest float64 that, rounded to dtype, does not exceed a limit of dtype.

    For code that has no numbers of dtype: ``dtype(x) <= limit`` and ``x <= double_limit(limit, dtype)`` are the same
    test of a float64.
    """
    if dtype == "float64" or not math.isfinite(limit):
        return limit
    own = np.float32(limit)
    with np.errstate(over="ignore"):
        beyond = float(np.nextafter(own, np.float32(np.inf)))
    if math.isinf(beyond):  # as if there were one more float32
        beyond = 2.0**128
    middle = limit / 2 + beyond / 2
    with np.errstate(over="ignore"):
        return middle if float(np.float32(middle)) == limit else math.nextafter(middle, -math.inf)


def make_column(tree: Tree, feature: int) -> Column:
    """Describe what rows hold in a feature's column."""
    columns, cuts = tree.columns, find_cuts(tree, feature)
    ends = columns.ranges[feature] if columns is not None and columns.ranges else None
    return Column(
        feature=feature,
        name=tree.feature_name(feature),
        labels=None if cuts is not None else tree.categories[feature],
        dtype=tree.dtype if cuts is None else "float64",
        takes_missing=bool(tree.accepts_missing[feature]),
        takes_unlisted=cuts is None and tree.categories[feature] is not None and not is_closed(tree, feature),
        lowest=-math.inf if ends is None else ends[0],
        highest=math.inf if ends is None else ends[1],
        reading=tree.column_parser(feature),
    )


class _Asked:
    """What rules ask of single features, each different ask once; a large tree's rules share most of what they ask.

    Each edge is given with the number of its rule, rule after rule. An ask has a ``feature``, numbers ``low`` to
    ``high`` or ``codes`` of categories that pass, and whether a ``missing`` value does. ``asks[offsets[i]:offsets[i +
    1]]`` are those of rule ``i``, without those that every row passes; ``passed`` are the rules that some row can pass.
    """

    def __init__(self, tree: Tree, paths: Paths, n_rules: int, rule: NDArray[np.int64], links: NDArray[Any]) -> None:
        self._tree, self._n_rules = tree, n_rules
        nodes, left = paths.parent[links], paths.is_left[links]
        feature, limit = tree.feature[nodes], tree.upper[nodes]
        # The links of a rule that test one feature are one ask.
        ask, first = _number_apart(rule, feature)
        low, high, missing = np.full(len(first), -np.inf), np.full(len(first), np.inf), np.ones(len(first), dtype=bool)
        is_number = np.array([levels is None for levels in tree.categories], dtype=bool)[feature]
        below, above = is_number & left, is_number & ~left
        np.minimum.at(high, ask[below], limit[below])
        np.maximum.at(low, ask[above], limit[above])
        missing[ask[(tree.missing_left[nodes] != left) | ~tree.accepts_missing[feature]]] = False
        sets = self._meet_sets(ask[~is_number], nodes[~is_number], left[~is_number])
        number_of_set = {codes: number for number, codes in enumerate(dict.fromkeys(sets.values()))}
        set_number = np.zeros(len(first), dtype=np.int64)
        set_number[list(sets)] = [number_of_set[codes] for codes in sets.values()]
        # Asks of different rules that say the same are one.
        rule, feature = rule[first], feature[first]
        ask, first = _number_apart(feature, low, high, missing, set_number)
        self.feature, self.low, self.high, self.missing = feature[first], low[first], high[first], missing[first]
        self.codes = [sets.get(one) for one in first.tolist()]
        is_passed_by_all, is_passed_by_none = self._find_extremes()
        self.passed = np.flatnonzero(np.bincount(rule[is_passed_by_none[ask]], minlength=n_rules) == 0).tolist()
        rule, self.asks = rule[~is_passed_by_all[ask]], ask[~is_passed_by_all[ask]]
        self.offsets = np.searchsorted(rule, np.arange(n_rules + 1)).tolist()
        self._keys = self.asks[np.lexsort((self.asks, rule))].tobytes()

    def key_of(self, rule: int) -> bytes:
        """What a rule asks, in whatever order."""
        size = self.asks.itemsize
        return self._keys[size * self.offsets[rule] : size * self.offsets[rule + 1]]

    def list_asks(self, rules: Iterable[int]) -> NDArray[np.int64]:
        """List the asks of some rules."""
        is_one = np.zeros(self._n_rules, dtype=bool)
        is_one[list(rules)] = True
        return np.unique(self.asks[np.repeat(is_one, np.diff(self.offsets))])

    def make_tests(self, features: Sequence[int]) -> Callable[[int], tuple[ColumnTest, ...]]:
        """Make the tests of any rule; they name a column by its place among the features."""
        place = {feature: number for number, feature in enumerate(features)}
        columns = [place.get(feature, -1) for feature in self.feature.tolist()]
        lows, highs, missing = self.low.tolist(), self.high.tolist(), self.missing.tolist()
        tests = [
            ColumnTest(column, ((low, high),) if low < high else (), (), False, is_passed)
            if codes is None
            else self._make_set_test(column, feature, codes, is_passed)
            for column, feature, low, high, codes, is_passed in zip(
                columns, self.feature.tolist(), lows, highs, self.codes, missing, strict=True
            )
        ]
        asks, offsets = self.asks.tolist(), self.offsets
        return lambda rule: tuple([tests[ask] for ask in asks[offsets[rule] : offsets[rule + 1]]])

    def _make_set_test(self, column: int, feature: int, codes: frozenset[int], missing: bool) -> ColumnTest:
        tree, levels = self._tree, self._tree.categories[feature] or ()
        known = sorted(codes.intersection(_codes(tree, feature)))
        cuts = find_cuts(tree, feature)
        if cuts is not None:
            return ColumnTest(column, join_cells(cuts, known), (), False, missing)
        named = tuple(levels[code] for code in known if code < len(levels))
        return ColumnTest(column, (), named, len(levels) in known, missing)

    def _meet_sets(
        self, asks: NDArray[np.int64], nodes: NDArray[np.int64], left: NDArray[np.bool_]
    ) -> dict[int, frozenset[int]]:
        """Find the codes that the links of each ask for categories allow together."""
        tree = self._tree
        sides: dict[tuple[int, bool], frozenset[int]] = {}
        for node in np.unique(nodes).tolist():
            listed = frozenset(tree.left_codes(node).tolist())
            every = frozenset(range(len(tree.categories[tree.feature[node]] or ()) + 1))
            sides[node, True], sides[node, False] = listed, every - listed
        sets: dict[int, frozenset[int]] = {}
        for ask, *side in zip(asks.tolist(), nodes.tolist(), left.tolist(), strict=True):
            codes = sides[tuple(side)]
            sets[ask] = sets[ask] & codes if ask in sets else codes
        return sets

    def _find_extremes(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Mark the asks that every row passes, and those that none does."""
        every, none = (self.low == -np.inf) & (self.high == np.inf), ~(self.low < self.high)
        for ask, codes in enumerate(self.codes):
            if codes is not None:
                possible = _codes(self._tree, int(self.feature[ask]))
                every[ask], none[ask] = codes.issuperset(possible), codes.isdisjoint(possible)
        return every & (self.missing | ~self._tree.accepts_missing[self.feature]), none & ~self.missing


def _number_apart(*columns: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the different rows of some columns by their first appearance, and tell where each appears first."""
    number = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, inverse = np.unique(column, return_inverse=True)
        number = np.unique(number * len(values) + inverse, return_inverse=True)[1]
    _, first, number = np.unique(number, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place[number], first[order]


def _codes(tree: Tree, feature: int) -> range:
    """The codes that a row's category can have; the last one stands for any category that is not listed."""
    n_labels = len(tree.categories[feature] or ())
    return range(n_labels if is_closed(tree, feature) else n_labels + 1)
