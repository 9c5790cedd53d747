"""A rule set as a list that anybody can run: rules in the order in which they win, asking for plain columns.

Whatever leaves Python (SQL, source code, a page) is written from this one reading of the rules, so that all of them
decide alike. Columns are those of the person who holds the rows: numbers, or labels, or nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secateur.errors import ParameterError
from secateur.methods import METHODS
from secateur.tree.regions import regions_of_links

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from secateur.rules.rule_set import RuleSet
    from secateur.tree.regions import Region
    from secateur.tree.tree import Label, Tree

__all__ = [
    "Column",
    "ColumnTest",
    "DecisionList",
    "ListedRule",
    "double_limit",
    "find_cuts",
    "join_cells",
    "list_tests",
    "make_column",
    "make_decision_list",
]


@dataclass(frozen=True)
class Column:
    """A column that some rule of the list asks for.

    Attributes
    ----------
    feature : int
        Its index in the tree.
    name : str
    labels : tuple of labels, or None
        The categories that the tree knows; None for a column of numbers.
    dtype : {"float32", "float64"}
        What a number is rounded to before it is compared.
    takes_missing : bool
        Whether a row may hold nothing here; else such a row is refused.
    takes_unlisted : bool
        Whether a row may hold a category that is not listed; else such a row is refused.
    lowest, highest : float
        Rows with a number beyond these are refused; infinite where there is no such end.
    """

    feature: int
    name: str
    labels: tuple[Label, ...] | None
    dtype: str
    takes_missing: bool
    takes_unlisted: bool
    lowest: float
    highest: float

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest float64 that is not refused; beyond, a number may also be infinite in dtype."""
        end = double_limit(float(np.finfo(self.dtype).max), self.dtype)
        return max(self.lowest, -end), min(self.highest, end)


@dataclass(frozen=True)
class ColumnTest:
    """What a rule asks of one column; a row passes if any part says so.

    Attributes
    ----------
    column : int
        Index into :attr:`DecisionList.columns`.
    intervals : tuple of (float, float)
        Of numbers: ``low < x <= high`` for one of these, x rounded to the column's dtype, as are the limits; infinite
        where there is no limit. Increasing and apart.
    labels : tuple of labels
        Of categories: those that pass, in the column's order.
    unlisted : bool
        Whether a category that is not listed passes.
    missing : bool
        Whether nothing passes: NULL, None, NaN.
    """

    column: int
    intervals: tuple[tuple[float, float], ...]
    labels: tuple[Label, ...]
    unlisted: bool
    missing: bool


@dataclass(frozen=True)
class ListedRule:
    """A rule of the list.

    Attributes
    ----------
    index : int
        Its index in the rule set; people count from 1.
    label : label
        What it predicts.
    reliability : float or None
        Share of its training rows in its class; None where not known.
    tests : tuple of ColumnTest
        All must be passed; no test is passed by every row.
    text : str
        The rule in words.
    """

    index: int
    label: Label
    reliability: float | None
    tests: tuple[ColumnTest, ...]
    text: str


@dataclass(frozen=True)
class DecisionList:
    """Rules in the order in which they win: the first whose tests a row passes decides.

    Every row that no column refuses passes one of them. Rules that can never decide are left out: those that no row can
    pass, and those that ask the same as an earlier one.

    Attributes
    ----------
    columns : tuple of Column
        In the order of the tree's features.
    rules : tuple of ListedRule
    """

    columns: tuple[Column, ...]
    rules: tuple[ListedRule, ...]


def make_decision_list(rules: RuleSet) -> DecisionList:
    """List the rules of a set in the order in which they win.

    The list predicts as :meth:`RuleSet.predict` does, and finds the rule that :meth:`RuleSet.apply` finds. A set made
    without rows has no ranking: the shorter of two rules comes first then, and both predict the same.

    Parameters
    ----------
    rules : RuleSet

    Examples
    --------
    >>> from secateur import TreeBuilder, simplify
    >>> builder = TreeBuilder(classes=["stay", "go"], feature_names=["rain"])
    >>> root = builder.split("rain", 0.5)
    >>> _ = builder.leaf([2, 8], parent=root, side="left")
    >>> _ = builder.leaf([9, 1], parent=root, side="right")
    >>> listed = make_decision_list(simplify(builder.build(), method="exact"))
    >>> [(rule.label, rule.tests[0].intervals) for rule in listed.rules]
    [('stay', ((0.5, inf),)), ('go', ((-inf, 0.5),))]
    """
    if not rules.is_ranked and not METHODS[rules.method].is_exact:
        raise ParameterError(
            f"The rules of {rules.method!r} may overlap, and without rows nothing says which of them wins: "
            "pass X and y to simplify."
        )
    tree, paths = rules.tree, rules.paths
    found: dict[frozenset[tuple[int, Region]], tuple[int, list[tuple[int, Region]]]] = {}
    for index, asked in _list_asked(rules, rules.deleted):
        found.setdefault(frozenset(asked), (index, asked))
    features = sorted({feature for asked in found for feature, _ in asked})
    place = {feature: number for number, feature in enumerate(features)}
    labels = tree.classes.tolist()
    listed = []
    for index, asked in found.values():
        rule = rules[index]
        listed.append(
            ListedRule(
                index=index,
                label=labels[paths.leaf_class[index]],
                reliability=rule.reliability,
                tests=tuple(_make_test(tree, place[feature], feature, region) for feature, region in asked),
                text=rule.text,
            )
        )
    return DecisionList(tuple(make_column(tree, feature) for feature in features), tuple(listed))


def list_tests(
    rules: RuleSet, deleted: NDArray[np.bool_], features: Sequence[int]
) -> list[tuple[int, tuple[ColumnTest, ...]]]:
    """What each rule asks, in the order in which they win; all but rules that no row can pass.

    Unlike :func:`make_decision_list`, rules stay that ask the same as an earlier one: they cover rows, too.

    Parameters
    ----------
    rules : RuleSet
    deleted : ndarray of bool, shape (n_entries,)
        The conditions that are not asked: those of the rule set, or none for the leaves of its tree.
    features : sequence of int
        The columns, which tests name by their place among them.

    Returns
    -------
    list of (int, tuple of ColumnTest)
        The index of each rule, and its tests.
    """
    place = {feature: number for number, feature in enumerate(features)}
    return [
        (index, tuple(_make_test(rules.tree, place[feature], feature, region) for feature, region in asked))
        for index, asked in _list_asked(rules, deleted)
    ]


def double_limit(limit: float, dtype: str) -> float:
    """The largest float64 that, rounded to dtype, does not exceed a limit of dtype.

    For code that has no numbers of dtype: ``dtype(x) <= limit`` and ``x <= double_limit(limit, dtype)`` are the same
    test of a float64.

    Parameters
    ----------
    limit : float
    dtype : {"float32", "float64"}

    Examples
    --------
    >>> double_limit(0.5, "float64")
    0.5
    >>> double_limit(0.5, "float32")
    0.5000000298023224
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


def find_cuts(tree: Tree, feature: int) -> tuple[float, ...] | None:
    """The limits of a number that the tree asks by cell; None for every other column."""
    return None if tree.columns is None else tree.columns.cuts[feature]


def make_column(tree: Tree, feature: int) -> Column:
    """What rows hold in a feature's column, in the terms of the person who holds them."""
    columns, cuts = tree.columns, find_cuts(tree, feature)
    ends = columns.ranges[feature] if columns is not None and columns.ranges else None
    return Column(
        feature=feature,
        name=tree.feature_name(feature),
        labels=None if cuts is not None else tree.categories[feature],
        dtype=tree.dtype if cuts is None else "float64",
        takes_missing=bool(tree.accepts_missing[feature]),
        takes_unlisted=cuts is None and tree.categories[feature] is not None and not _is_closed(tree, feature),
        lowest=-math.inf if ends is None else ends[0],
        highest=math.inf if ends is None else ends[1],
    )


def _list_asked(rules: RuleSet, deleted: NDArray[np.bool_]) -> Iterator[tuple[int, list[tuple[int, Region]]]]:
    """The index of each rule that some row can pass, in the order in which they win, and what it asks of features."""
    tree, paths = rules.tree, rules.paths
    for index in rules.ranking.tolist():
        span = paths.entries(index)
        kept = paths.links[span][~deleted[span]]
        asked = [pair for pair in regions_of_links(tree, paths, kept).items() if not _holds_all(tree, *pair)]
        if not any(_holds_none(tree, *pair) for pair in asked):
            yield index, asked


def _is_closed(tree: Tree, feature: int) -> bool:
    return tree.columns is not None and tree.columns.closed[feature] and find_cuts(tree, feature) is None


def _codes(tree: Tree, feature: int) -> range:
    """The codes that a row's category can have; the one after the last stands for what is not listed."""
    n_labels = len(tree.categories[feature] or ())
    return range(n_labels if _is_closed(tree, feature) else n_labels + 1)


def _holds_all(tree: Tree, feature: int, region: Region) -> bool:
    if tree.accepts_missing[feature] and not region.missing:
        return False
    if region.codes is None:
        return math.isinf(region.low) and region.low < 0 and math.isinf(region.high) and region.high > 0
    return region.codes.issuperset(_codes(tree, feature))


def _holds_none(tree: Tree, feature: int, region: Region) -> bool:
    if region.missing and tree.accepts_missing[feature]:
        return False
    if region.codes is None:
        return not region.low < region.high
    return region.codes.isdisjoint(_codes(tree, feature))


def _make_test(tree: Tree, column: int, feature: int, region: Region) -> ColumnTest:
    missing = region.missing and bool(tree.accepts_missing[feature])
    if region.codes is None:
        intervals = ((region.low, region.high),) if region.low < region.high else ()
        return ColumnTest(column, intervals, (), False, missing)
    codes = sorted(region.codes.intersection(_codes(tree, feature)))
    cuts = find_cuts(tree, feature)
    if cuts is not None:
        return ColumnTest(column, join_cells(cuts, codes), (), False, missing)
    levels = tree.categories[feature] or ()
    named = tuple(levels[code] for code in codes if code < len(levels))
    return ColumnTest(column, (), named, len(levels) in codes, missing)


def join_cells(cuts: tuple[float, ...], codes: list[int]) -> tuple[tuple[float, float], ...]:
    """The intervals of some cells, given by increasing codes; neighbours are joined."""
    ends = (-math.inf, *cuts, math.inf)
    joined: list[tuple[float, float]] = []
    for code in codes:
        if joined and joined[-1][1] == ends[code]:
            joined[-1] = joined[-1][0], ends[code + 1]
        else:
            joined.append((ends[code], ends[code + 1]))
    return tuple(joined)
