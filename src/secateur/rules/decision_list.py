"""List the rules by rank, as tests of plain columns that any program can run.

Every export (SQL, source code, a page) is written from this list, so that all of them decide alike. Columns are the
user's own: they hold numbers, labels or nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secateur.errors import ParameterError
from secateur.tree.pipeline_columns import find_cuts, is_closed, join_cells
from secateur.tree.regions import meet_regions, read_links
from secateur.tree.shares import none_if_nan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from secateur.rules.compact_rules import CompactRules
    from secateur.rules.rule import Rule
    from secateur.rules.rule_set import RuleSet
    from secateur.tree.readings import Reading
    from secateur.tree.regions import Region
    from secateur.tree.tree import Label, Tree

__all__ = [
    "Column",
    "ColumnTest",
    "DecisionList",
    "ListedRule",
    "double_limit",
    "list_tests",
    "make_column",
    "make_decision_list",
]


@dataclass(frozen=True)
class Column:
    """A column that some rule of the list tests."""

    feature: int  # index in the tree
    name: str
    labels: tuple[Label, ...] | None  # the categories that the tree knows; None for a column of numbers
    dtype: str  # numbers are rounded to it before they are compared
    takes_missing: bool  # else a row that holds nothing here is refused
    takes_unlisted: bool  # else a row with a category that is not listed is refused
    lowest: float  # rows with a number beyond these are refused; infinite where there is no such end
    highest: float
    reading: Reading | None = None  # which number its texts or dates mean; None where it holds numbers or labels

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest float64 that is accepted; numbers beyond may also be infinite in dtype."""
        end = double_limit(float(np.finfo(self.dtype).max), self.dtype)
        return max(self.lowest, -end), min(self.highest, end)


@dataclass(frozen=True)
class ColumnTest:
    """What a rule asks of one column; a value passes if any of the fields allows it.

    A number x passes if ``low < x <= high`` for one of the intervals. They are increasing and apart, their limits are
    numbers of the column's dtype or infinite, and x is rounded to that dtype first.
    """

    column: int  # index into DecisionList.columns
    intervals: tuple[tuple[float, float], ...]
    labels: tuple[Label, ...]  # the categories that pass, in the column's order
    unlisted: bool  # whether a category that is not listed passes
    missing: bool  # whether NULL, None and NaN pass


@dataclass(frozen=True)
class ListedRule:
    """A rule of the list: it predicts its label for rows that pass all its tests."""

    index: int  # in the rule set, from 0 on
    label: Label
    reliability: float | None  # None where not known
    tests: tuple[ColumnTest, ...]  # each of them refuses some row
    told: Rule | str  # the rule itself, whose words are only made if someone wants them; of "otherwise" the words

    @property
    def text(self) -> str:
        """The rule in words."""
        return self.told if isinstance(self.told, str) else self.told.text


@dataclass(frozen=True)
class DecisionList:
    """Rules by rank: the first whose tests a row passes decides.

    Every row that no column refuses passes one of them; the "otherwise" of compact rules is the last, has no tests, and
    is numbered after all rules. Rules that can never decide are left out: those that no row can pass, and those that
    ask the same as an earlier one.
    """

    columns: tuple[Column, ...]  # in the order of the tree's features
    rules: tuple[ListedRule, ...]


def make_decision_list(rules: RuleSet | CompactRules) -> DecisionList:
    """List the rules of a set by rank, or compact rules and "otherwise".

    The list predicts what :meth:`RuleSet.predict` does, and finds the rule that :meth:`RuleSet.apply` finds. Rules made
    without rows have no ranking: shorter ones come first then, and those that cover one row predict the same.

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
    whole, order, numbers, is_ordered, otherwise, decided = rules.decisions
    if not is_ordered:
        raise ParameterError(
            f"The rules of {whole.method!r} may overlap, and without training rows they have no ranking: "
            "pass X and y to simplify."
        )
    number_of = dict(zip(order.tolist(), numbers.tolist(), strict=True))
    known = whole.reliability[order] if decided is None else decided
    reliability_of = {index: none_if_nan(one) for index, one in zip(order.tolist(), known.tolist(), strict=True)}
    tree = whole.tree
    found: dict[frozenset[tuple[int, Region]], tuple[int, list[tuple[int, Region]]]] = {}
    for index, asked in _list_asked(whole, whole.deleted, order):
        found.setdefault(frozenset(asked), (index, asked))
    features = sorted({feature for asked in found for feature, _ in asked})
    place = {feature: number for number, feature in enumerate(features)}
    listed = []
    for index, asked in found.values():
        rule = whole[index]
        tests = tuple(_make_test(tree, place[feature], feature, region) for feature, region in asked)
        listed.append(ListedRule(number_of[index], rule.prediction, reliability_of[index], tests, rule))
    if otherwise is not None:
        label, reliability, words = otherwise
        listed.append(ListedRule(len(order), label, reliability, (), words))
    return DecisionList(tuple(make_column(tree, feature) for feature in features), tuple(listed))


def list_tests(
    rules: RuleSet, deleted: NDArray[np.bool_], features: Sequence[int], order: NDArray[np.int64] | None = None
) -> list[tuple[int, tuple[ColumnTest, ...]]]:
    """List the index and the tests of each rule by rank, or of some in an order, leaving out those no row can pass.

    Unlike :func:`make_decision_list`, this keeps rules that ask the same as an earlier one: they cover rows, too. The
    deleted conditions are those of the rule set, or none to list the leaves of its tree. Tests name a column by its
    place among the features.
    """
    place = {feature: number for number, feature in enumerate(features)}
    return [
        (index, tuple(_make_test(rules.tree, place[feature], feature, region) for feature, region in asked))
        for index, asked in _list_asked(rules, deleted, rules.ranking if order is None else order)
    ]


def double_limit(limit: float, dtype: str) -> float:
    """Find the largest float64 that, rounded to dtype, does not exceed a limit of dtype.

    For code that has no numbers of dtype: ``dtype(x) <= limit`` and ``x <= double_limit(limit, dtype)`` are the same
    test of a float64.

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
        reading=tree.reading(feature),
    )


def _list_asked(
    rules: RuleSet, deleted: NDArray[np.bool_], order: NDArray[np.int64]
) -> Iterator[tuple[int, list[tuple[int, Region]]]]:
    """List the rules that some row can pass, in an order: their index, and what they ask of features."""
    tree, paths = rules.tree, rules.paths
    read = read_links(tree, paths, paths.links[~deleted])
    ends = np.concatenate([[0], np.cumsum(~deleted)])[paths.offsets].tolist()  # where the kept links of each rule are
    for index in order.tolist():
        regions = meet_regions(read[ends[index] : ends[index + 1]])
        asked = [pair for pair in regions.items() if not _holds_all(tree, *pair)]
        if not any(_holds_none(tree, *pair) for pair in asked):
            yield index, asked


def _codes(tree: Tree, feature: int) -> range:
    """The codes that a row's category can have; the last one stands for any category that is not listed."""
    n_labels = len(tree.categories[feature] or ())
    return range(n_labels if is_closed(tree, feature) else n_labels + 1)


def _holds_all(tree: Tree, feature: int, region: Region) -> bool:
    if tree.accepts_missing[feature] and not region.missing:
        return False
    if region.codes is None:
        return (region.low, region.high) == (-math.inf, math.inf)
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
