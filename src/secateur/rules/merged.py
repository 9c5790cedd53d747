"""Merge the rules of many trees: rules that ask and predict the same become one, with votes.

Two rules ask the same when their kept conditions allow every feature the same values. Bounds are merged feature by
feature, so the number and order of the links do not matter. Bounds with no possible value between them, as in a column
of whole numbers, are equal. A condition that allows everything does not count.

Forests have millions of rules, so nothing here loops over rules. What a rule allows each feature is a row of numbers;
each row is mixed to 128 bits, the rows of a rule are added up, and rules with equal sums are merged. The chance that
two different rules among a million have equal sums is about 10⁻²⁷. Only rules that are shown are put into words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import ParameterError
from secateur.facts.possible_rows import find_feasible
from secateur.frames import make_frame
from secateur.kernels.running import map_in_threads
from secateur.rules.rule import ArraySequence
from secateur.tree.paths import trace_paths
from secateur.tree.shares import divide_or_nan, none_if_nan
from secateur.words.conditions import count_of, join_conditions, read_count, read_share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rules.rule import Rule
    from secateur.rules.rules import Rules
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Label, Tree
    from secateur.words.conditions import Condition

__all__ = ["MergedRule", "MergedRules", "merge_rules", "read_votes"]

SHOWN_RULES = 20
# Odd numbers without a pattern: the seeds of two independent mixes, and the factors of splitmix64.
SEEDS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)
FACTORS = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)


class MergedRule:
    """One rule of a :class:`MergedRules`, as a view that is made on demand.

    Parameters
    ----------
    merged : MergedRules
    index : int
        Place in the merged rules.
    """

    __slots__ = ("_merged", "index")

    def __init__(self, merged: MergedRules, index: int) -> None:
        self._merged = merged
        self.index = index

    @property
    def members(self) -> tuple[tuple[int, int], ...]:
        """Every place of the rule: index of the tree, and of the rule in it; a tree may have it more than once."""
        merged, span = self._merged, slice(*self._merged.offsets[self.index : self.index + 2].tolist())
        return tuple(zip(merged.member_trees[span].tolist(), merged.member_rules[span].tolist(), strict=True))

    @property
    def _first(self) -> Rule:
        tree, rule = self.members[0]
        return self._merged.rules_of[tree][rule]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What the rule asks, as its first member words it; the links are those of that member's tree."""
        return self._first.conditions

    @property
    def prediction(self) -> Label:
        """The class that the rule predicts, as the forest labels it."""
        return self._first.prediction

    @property
    def class_name(self) -> str:
        """The name of the predicted class."""
        return self._first.class_name

    @property
    def votes(self) -> int:
        """Number of trees that have the rule."""
        return int(self._merged.votes[self.index])

    @property
    def support(self) -> float | None:
        """(Weighted) training rows that satisfy the rule; None where not known."""
        return none_if_nan(self._merged.support[self.index])

    @property
    def reliability(self) -> float | None:
        """Share of those rows in the rule's class; None where not known."""
        return none_if_nan(self._merged.reliability[self.index])

    @property
    def text(self) -> str:
        """The rule in a line with exact numbers, such as ``age <= 30 and income > 1000 => yes``."""
        return self._first.text

    @property
    def asks(self) -> tuple[str, ...]:
        """What the rule asks, a condition each, as people say it: ``income > 1,000``, ``city is not Oslo``."""
        return self._first.asks

    @property
    def words(self) -> str:
        """The rule as people say it, such as ``yes if age ≤ 30 and income > 1,000``, also its ``str()``."""
        return self._first.words

    def __str__(self) -> str:
        return self.words

    def __repr__(self) -> str:
        return f"<merged[{self.index}] of {count_of(self.votes, 'tree')}: {self.text}>"


@dataclass(frozen=True, eq=False)
class MergedRules(ArraySequence[MergedRule]):
    """The rules of all trees of a forest, with equal ones merged; ordered by votes, then by support.

    Made by :meth:`secateur.ForestRules.merged`. A sequence of :class:`MergedRule`.

    Parameters
    ----------
    rules_of : tuple of Rules
        The rules of each tree.
    member_trees, member_rules : ndarray of int32, shape (n_members,)
        Index of the tree, and of the rule in it, of every rule; the members of one merged rule are neighbours.
    offsets : ndarray of int64, shape (n_merged + 1,)
        ``offsets[i]:offsets[i + 1]`` are the members of merged rule ``i``.
    votes : ndarray of int64, shape (n_merged,)
        Number of trees that have the rule.
    support, reliability : ndarray of float64, shape (n_merged,)
        (Weighted) training rows that satisfy the rule, and the share of them in its class. For rules made without
        rows, the mean of what the trees counted in their own samples. NaN where not known.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import secateur
    >>> X, y = load_iris(return_X_y=True)
    >>> stumps = RandomForestClassifier(20, max_depth=1, random_state=0).fit(X, y)
    >>> merged = secateur.simplify(stumps, X, y, each_leaf=True).merged()
    >>> merged[0].votes >= merged[1].votes, sum(len(rule.members) for rule in merged)
    (True, 40)
    """

    rules_of: tuple[Rules, ...] = field(repr=False)
    member_trees: NDArray[np.int32]
    member_rules: NDArray[np.int32]
    offsets: NDArray[np.int64]
    votes: NDArray[np.int64]
    support: NDArray[np.float64]
    reliability: NDArray[np.float64]

    nouns = "merged rules"

    def __post_init__(self) -> None:
        for array in (self.member_trees, self.member_rules, self.offsets, self.votes, self.support, self.reliability):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.votes)

    def _make(self, place: int) -> MergedRule:
        return MergedRule(self, place)

    def to_frame(self, library: str | None = None, *, n: int | None = SHOWN_RULES) -> Any:
        """Put the first rules into a data frame, one row per rule.

        Parameters
        ----------
        library : {"pandas", "polars"}, default=None
            By default the one that is already imported, else the one that is installed.
        n : int, default=20
            How many; None for all, which is slow for a million.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
        """
        shown = self._first(n)
        columns: dict[str, list[Any]] = {
            "rule": [join_conditions(rule.conditions) for rule in shown],
            "prediction": [rule.prediction for rule in shown],
            "class_name": [rule.class_name for rule in shown],
            "votes": [rule.votes for rule in shown],
            "support": [rule.support for rule in shown],
            "reliability": [rule.reliability for rule in shown],
            "n_conditions": [len(rule.conditions) for rule in shown],
        }
        return make_frame(columns, library)

    def to_text(self, n: int | None = SHOWN_RULES) -> str:
        """Write the first rules as plain text, one line per rule.

        Parameters
        ----------
        n : int, default=20
            How many; None for all.
        """
        shown = self._first(n)
        lines = [f"{rule.index + 1}. {rule.words}   ({read_votes(rule)})" for rule in shown]
        rest = len(self) - len(shown)
        return "\n".join([*lines, f"… and {rest:,} more"] if rest else lines)

    def _first(self, n: int | None) -> list[MergedRule]:
        if n is not None and (not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 0):
            raise ParameterError(f"Expected n as a number of rules, or None for all, found {n!r}.")
        return self[:n]

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        n_members, n_trees = len(self.member_trees), len(self.rules_of)
        return f"<MergedRules: {len(self):,} of {count_of(n_members, 'rule')} of {count_of(n_trees, 'tree')}>"

    def _repr_html_(self) -> str:
        from secateur.export.html import merged_to_html

        return merged_to_html(self, self._first(SHOWN_RULES))


def read_votes(rule: MergedRule) -> str:
    """Word how many trees have a rule, its support and its reliability."""
    told = "rows unknown" if rule.support is None else "no row"
    if rule.support is not None and rule.reliability is not None:
        told = f"support {read_count(rule.support)}, {read_share(rule.reliability)} {rule.class_name}"
    return f"{count_of(rule.votes, 'tree')}, {told}"


def merge_rules(rules_of: Sequence[Rules]) -> MergedRules:
    """Merge the equal rules of trees that have the same columns and classes."""
    digested = list(map_in_threads(_digest_rules, rules_of))
    digests, classes = (np.concatenate(parts) for parts in zip(*digested, strict=True))
    sizes = [len(rules.covered_counts) for rules in rules_of]
    trees = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    rules = np.concatenate([np.arange(size, dtype=np.int32) for size in sizes])
    order = np.lexsort((digests[:, 1], digests[:, 0]))  # stable: members stay in the order of trees and rules
    ordered = digests[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    group = np.cumsum(is_first) - 1
    # A tree that has a rule several times votes once.
    is_vote = is_first.copy()
    is_vote[1:] |= np.diff(trees[order]) != 0
    votes = np.bincount(group[is_vote])
    support, reliability = _weigh(rules_of, classes, order[is_vote], group[is_vote])
    n_members = np.bincount(group)
    first = order[is_first]
    places = np.lexsort((first, -np.nan_to_num(support, nan=-1.0), -votes))
    offsets = np.concatenate([[0], np.cumsum(n_members[places])])
    begin = np.flatnonzero(is_first)[places]
    members = order[np.arange(len(order)) + np.repeat(begin - offsets[:-1], n_members[places])]
    return MergedRules(
        rules_of=tuple(rules_of),
        member_trees=trees[members],
        member_rules=rules[members],
        offsets=offsets,
        votes=votes[places],
        support=support[places],
        reliability=reliability[places],
    )


def _weigh(
    rules_of: Sequence[Rules],
    classes: NDArray[np.int64],
    voters: NDArray[np.int64],
    group: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Find support and reliability of each group of voting rules; the voters are sorted by group.

    Equal rules cover equal rows, so for rules made from rows the first of a group is as good as any. What trees counted
    in their own samples differs: there the known counts are averaged.
    """
    counts = np.concatenate([rules.covered_counts for rules in rules_of])
    total = counts.sum(axis=1)[voters]
    hits = counts[np.arange(len(counts)), classes][voters]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    if not all(rules.is_ranked for rules in rules_of):
        known = ~np.isnan(total)
        n_known = np.bincount(group, weights=known)
        sums = (np.bincount(group, weights=np.where(known, values, 0.0)) for values in (total, hits))
        total, hits = (divide_or_nan(values, n_known) for values in sums)
        first = np.arange(len(n_known))
    return total[first], divide_or_nan(hits[first], total[first])


def _digest_rules(rules: Rules) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Digest what each rule asks and predicts to 128 bits, shape (n_rules, 2); also give the predicted class."""
    paths = trace_paths(rules.tree)  # not kept: the paths of all trees together would be larger than everything else
    # Over possible values, bounds with no number between them are equal, and the columns of a group are one set.
    # Implications are left out: each tree would cut the columns that they link in its own way.
    possible = find_feasible(rules.tree, linked=False).tree
    rule, regions = _meet_conditions(possible, paths, ~rules.deleted)
    mixed = _mix_rows(regions)
    digests = np.zeros((paths.n_rules, 2), dtype=np.uint64)
    if len(rule):
        first = np.flatnonzero(np.diff(rule, prepend=-1))
        # A rule has each feature at most once, so a sum, whatever its order, tells rules apart.
        digests[rule[first]] = np.add.reduceat(mixed, first, axis=0)
    digests ^= paths.leaf_class.astype(np.uint64)[:, None]
    return _mix(digests), paths.leaf_class


def _meet_conditions(tree: Tree, paths: Paths, kept: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """List each rule with each feature that it restricts, and encode feature and region as a row of words.

    Equal rows mean equal regions. The rows of a rule are neighbours, features in order.
    """
    links = paths.links[kept]
    nodes = paths.parent[links]
    order = np.lexsort((tree.feature[nodes], paths.rule[kept]))
    rule, feature = paths.rule[kept][order], tree.feature[nodes][order]
    node, to_left = nodes[order], paths.is_left[links][order]
    if not len(rule):
        return rule, np.zeros((0, 3), dtype=np.uint64)
    first = np.flatnonzero((np.diff(rule, prepend=-1) != 0) | (np.diff(feature, prepend=-1) != 0))
    limit = tree.upper[node] + 0.0  # -0.0 and 0.0 are one bound
    low = np.maximum.reduceat(np.where(to_left, -np.inf, limit), first)
    high = np.minimum.reduceat(np.where(to_left, limit, np.inf), first)
    missing = np.logical_and.reduceat(tree.accepts_missing[feature] & (tree.missing_left[node] == to_left), first)
    rule, feature = rule[first], feature[first]
    is_set = np.array([levels is not None for levels in tree.categories])[feature]
    low[is_set], high[is_set] = -np.inf, np.inf
    is_empty = ~is_set & ~(low < high)
    low[is_empty], high[is_empty] = np.inf, -np.inf
    is_whole = np.isneginf(low) & np.isposinf(high)
    words = np.zeros((len(first), 0), dtype=np.uint64)
    if any(levels is not None for levels in tree.categories):  # so that rows are equally wide in every tree
        words, is_whole_set = _meet_sets(tree, node, to_left, first, feature)
        is_whole &= ~is_set | is_whole_set
    restricts = ~is_whole | (tree.accepts_missing[feature] & ~missing)
    named = 2 * feature.astype(np.uint64) + missing
    regions = np.column_stack([named, low.view(np.uint64), high.view(np.uint64), words])
    return rule[restricts], regions[restricts]


def _meet_sets(
    tree: Tree,
    node: NDArray[np.int64],
    to_left: NDArray[np.bool_],
    first: NDArray[np.int64],
    feature: NDArray[np.int64],
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Pack the codes that runs of conditions allow, 64 to a word, and tell whether all are; numbers have no codes."""
    sizes = np.array([0 if levels is None else len(levels) + 1 for levels in tree.categories])
    width = -(-int(sizes.max()) // 64) * 64
    domains = _pack(np.arange(width) < sizes[:, None])
    table = np.zeros((tree.n_nodes, width), dtype=bool)
    table[np.repeat(np.arange(tree.n_nodes), np.diff(tree.category_offsets)), tree.category_codes] = True
    on_left = _pack(table)[node]
    allowed = np.where(to_left[:, None], on_left, ~on_left & domains[tree.feature[node]])
    met = np.bitwise_and.reduceat(allowed, first, axis=0)
    met[sizes[feature] == 0] = 0
    return met, (met == domains[feature]).all(axis=1)


def _pack(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)


def _mix_rows(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix each row of words to 128 bits, shape (n_rows, 2)."""
    mixed = np.tile(SEEDS, (len(words), 1))
    for column in words.T:
        mixed ^= column[:, None]
        mixed = _mix(mixed)
    return mixed


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix words by splitmix64: every bit depends on every bit, and different words stay different."""
    values = (values ^ (values >> np.uint64(30))) * FACTORS[0]
    values = (values ^ (values >> np.uint64(27))) * FACTORS[1]
    return values ^ (values >> np.uint64(31))
