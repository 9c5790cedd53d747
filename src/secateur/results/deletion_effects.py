"""What happens to a rule's reliability when some of its conditions go: D_c(Q; R), and how pairs of conditions interact.

The paper names an effect of one condition by its relevance and an effect of a set by its direction, because conditions
of a set may make up for one another: only the set as a whole raises, lowers or preserves. Rules that were widened may
share rows; those of different classes are told.
"""

from dataclasses import dataclass
from functools import cache, partial, reduce
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from secateur.counting.coverage import PairCounts, count_overlaps
from secateur.errors import InputError
from secateur.rows.checking import NO_WEIGHT
from secateur.rows.row_source import RowSource
from secateur.rows.rows import Rows
from secateur.rules.lines import without_facts
from secateur.rules.rule import ArrayTable, written_by
from secateur.rules.rules import Rules
from secateur.tree.paths import Paths
from secateur.tree.shares import none_if_nan
from secateur.tree.tree import Tree
from secateur.words.conditions import count_of, format_count, format_link, format_share

SHOWN_PAIRS = 10


# By the side of the tolerance on which a change lies, as compare_reliability tells it.
EFFECT_NAMES = {-1.0: "positive-relevance", 0.0: "probabilistic-irc", 1.0: "negative-relevance"}
SET_EFFECT_NAMES = {-1.0: "reliability-decreasing", 0.0: "reliability-preserving", 1.0: "reliability-increasing"}


def format_points(change: float) -> str:
    """Write a change of a share in percentage points; one that is not zero never reads as zero."""
    if change == 0:
        return "±0 points"
    return f"{100 * change:+.1f} points" if abs(change) >= 0.0005 else f"{100 * change:+.1g} points"


@dataclass(frozen=True)
class SetEffect:
    """What a rule's reliability does when a set of its conditions goes: D_c(Q; R).

    Attributes
    ----------
    leaf_id : int
        The leaf whose rule R is.
    link_ids : tuple of int
        The conditions Q, by their links (child node ids), root to leaf.
    support, support_without : float
        (Weighted) training rows that satisfy the rule, and the rule without Q.
    reliability, reliability_without : float or None
        Share of those rows in the rule's class; None where there are none.
    effect_size : float or None
        D, the change of the reliability; None where no row satisfies the rule.
    effect : str or None
        ``"reliability-preserving"`` if D lies within the tolerance, else ``"reliability-increasing"`` or
        ``"reliability-decreasing"``.
    """

    leaf_id: int
    link_ids: tuple[int, ...]
    support: float
    support_without: float
    reliability: float | None
    reliability_without: float | None
    effect_size: float | None
    effect: str | None

    def __str__(self) -> str:
        if self.effect_size is None:
            return "no training row satisfies the rule, so its reliability is unknown"
        return (
            f"reliability {format_share(self.reliability)} -> {format_share(self.reliability_without)} "
            f"(D = {format_points(self.effect_size)}, {self.effect}), "
            f"rows {format_count(self.support)} -> {format_count(self.support_without)}"
        )


@dataclass(frozen=True)
class PairEffect:
    """Two conditions of a rule: what happens when both go, against the sum of each alone.

    Attributes
    ----------
    leaf_id : int
        The leaf whose rule it is.
    link_ids : tuple of two int
        The two conditions, by their links, the one nearer to the root first.
    alone : tuple of two float, or None
        D of each alone; None where no row satisfies the rule.
    effect_size : float or None
        D of both together.
    effect : str or None
        Its name, as in :class:`SetEffect`.
    interaction : float or None
        D of both less the sum of D of each: 0 where they do not touch each other.
    """

    leaf_id: int
    link_ids: tuple[int, int]
    alone: tuple[float, float] | None
    effect_size: float | None
    effect: str | None
    interaction: float | None


class PairEffects(ArrayTable[PairEffect]):
    """A sequence of :class:`PairEffect`, rule after rule, made on demand from arrays.

    Parameters
    ----------
    tree : Tree
    paths : Paths
    first, second : ndarray of int64, shape (n_pairs,)
        The two entries of each pair.
    alone : ndarray of float64, shape (n_entries,)
        D of each entry alone; NaN where not known.
    effect_size : ndarray of float64, shape (n_pairs,)
        D of both together; NaN where not known.
    sides : ndarray of float64, shape (n_pairs,)
        Whether D lies within the tolerance (0), below or above it (-1, +1); NaN where not known.

    Attributes
    ----------
    leaf_ids : ndarray of int64, shape (n_pairs,)
    link_ids : ndarray of int64, shape (n_pairs, 2)
    effect_size, interaction : ndarray of float64, shape (n_pairs,)
    """

    nouns = "pairs"

    def __init__(
        self,
        tree: Tree,
        paths: Paths,
        first: NDArray[np.int64],
        second: NDArray[np.int64],
        alone: NDArray[np.float64],
        effect_size: NDArray[np.float64],
        sides: NDArray[np.float64],
    ) -> None:
        self._tree, self._paths, self._sides = tree, paths, sides
        self._first, self._second, self._each = first, second, alone
        self._alone = np.stack([alone[first], alone[second]], axis=1)
        self.leaf_ids: NDArray[np.int64] = paths.leaf_ids[paths.rule[first]]
        self.link_ids: NDArray[np.int64] = np.stack([paths.links[first], paths.links[second]], axis=1).astype(np.int64)
        self.effect_size = effect_size
        self.interaction: NDArray[np.float64] = effect_size - self._alone.sum(axis=1)

    def __len__(self) -> int:
        return len(self.leaf_ids)

    def _make(self, place: int) -> PairEffect:
        size, links = none_if_nan(self.effect_size[place]), self.link_ids[place].tolist()
        return PairEffect(
            leaf_id=int(self.leaf_ids[place]),
            link_ids=(links[0], links[1]),
            alone=None if size is None else tuple(self._alone[place].tolist()),
            effect_size=size,
            effect=SET_EFFECT_NAMES.get(float(self._sides[place])),
            interaction=none_if_nan(self.interaction[place]),
        )

    def of_leaf(self, leaf_id: int) -> Self:
        """Take the pairs of one leaf's rule.

        Parameters
        ----------
        leaf_id : int
        """
        own = self.leaf_ids == leaf_id
        parts = self._first[own], self._second[own], self._each, self.effect_size[own], self._sides[own]
        return type(self)(self._tree, self._paths, *parts)

    def strongest(self, n_pairs: int = SHOWN_PAIRS) -> list[PairEffect]:
        """List the pairs that interact most, strongest first; those that do not interact are left out.

        Parameters
        ----------
        n_pairs : int, default=10
        """
        size = np.nan_to_num(np.abs(self.interaction))
        order = np.argsort(-size, kind="stable")[:n_pairs]
        # Sums of three shares are not exact: what rounding explains is no interaction.
        return [self[place] for place in order.tolist() if size[place] > 1e-12]

    def _list_columns(self) -> dict[str, list[Any]]:
        read = cache(partial(format_link, self._tree, self._paths))
        alone, links = [[*map(none_if_nan, column.tolist())] for column in self._alone.T], self.link_ids.T.tolist()
        return {
            "leaf_id": self.leaf_ids.tolist(),
            **dict(zip(("first_id", "second_id"), links, strict=True)),
            **dict(zip(("first", "second"), ([*map(read, side)] for side in links), strict=True)),
            **dict(zip(("first_alone", "second_alone"), alone, strict=True)),
            "effect_size": [none_if_nan(size) for size in self.effect_size.tolist()],
            "effect": list(map(SET_EFFECT_NAMES.get, self._sides.tolist())),
            "interaction": [none_if_nan(size) for size in self.interaction.tolist()],
        }

    def __repr__(self) -> str:
        return f"<PairEffects of {len(self):,} pairs of conditions>"


@dataclass(frozen=True)
class Overlap:
    """Two rules of different classes, and the rows that both cover.

    Attributes
    ----------
    first, second : int
        The two rules, by their places in the rule set: ``rules[first]``. Texts and :meth:`Overlaps.to_frame` number
        rules from 1.
    first_prediction, second_prediction : label
        The classes that they predict.
    rows : float
        (Weighted) rows that both cover.
    share : float
        Share of all rows.
    """

    first: int
    second: int
    first_prediction: Any
    second_prediction: Any
    rows: float
    share: float


class Overlaps(ArrayTable[Overlap]):
    """A sequence of :class:`Overlap`, the pair that shares most rows first, made on demand from arrays.

    Made by :meth:`Rules.overlaps`. Pairs that share no row are not in it; an exact rule set has none.

    Parameters
    ----------
    rules : Rules
    counts : PairCounts
        The rows that each pair shares.
    is_weighted : bool
        Whether the counts are sums of weights.

    Attributes
    ----------
    first, second : ndarray of int64, shape (n_pairs,)
        The two rules of each pair.
    rows : ndarray of float64, shape (n_pairs,)
        (Weighted) rows that both cover.
    total : float
        All rows.
    """

    nouns = "pairs of rules"

    def __init__(self, rules: Rules, counts: PairCounts, is_weighted: bool) -> None:
        order = np.argsort(-counts.rows, kind="stable")
        self._rules, self._is_weighted = rules, is_weighted
        self.first: NDArray[np.int64] = counts.first[order]
        self.second: NDArray[np.int64] = counts.second[order]
        self.rows: NDArray[np.float64] = counts.rows[order]
        self.total = counts.total

    def __len__(self) -> int:
        return len(self.rows)

    def _make(self, place: int) -> Overlap:
        first, second, rows = int(self.first[place]), int(self.second[place]), float(self.rows[place])
        classes = [self._rules.lines[line].prediction for line in (first, second)]
        return Overlap(first, second, classes[0], classes[1], rows, rows / self.total)

    def _list_columns(self) -> dict[str, list[Any]]:
        tree = self._rules.tree
        sides = {"first": self.first, "second": self.second}
        classes = {name: self._rules.class_ids[place] for name, place in sides.items()}
        return {
            **{name: (place + 1).tolist() for name, place in sides.items()},
            **{f"{name}_prediction": tree.classes[own].tolist() for name, own in classes.items()},
            **{f"{name}_class_name": [tree.class_names[one] for one in own] for name, own in classes.items()},
            "rows": self.rows.tolist(),
            "share": (self.rows / self.total).tolist(),
        }

    def to_text(self, n_pairs: int = SHOWN_PAIRS) -> str:
        """Write the pairs that share most rows, in words; rules are numbered from 1, as in ``rules.to_text()``.

        Parameters
        ----------
        n_pairs : int, default=10
        """
        if not len(self):
            return "No two rules of different classes share a row."
        lines = [f"{count_of(len(self), 'pair')} of rules of different classes with rows in common:"]
        for one in self[:n_pairs]:
            sides = (self._rules.lines[place] for place in (one.first, one.second))
            told = (f"{self._rules.line_word} {line.index + 1} ({line.class_name})" for line in sides)
            rows = f"weight {format_count(one.rows)}" if self._is_weighted else count_of(one.rows, "row")
            lines.append(f"  {' and '.join(told)}: {rows}, {format_share(one.share)} of all")
        if len(self) > n_pairs:
            lines.append(f"  … and {len(self) - n_pairs:,} more")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    _repr_html_ = written_by("html:overlaps_to_html")

    def __repr__(self) -> str:
        return f"<Overlaps: {count_of(len(self), 'pair')} of rules of different classes with rows in common>"


def find_overlaps(rules: Rules, source: RowSource) -> Overlaps:
    """Find the overlaps of a rule set on rows of any kind."""

    def count(rows: Rows, weights: NDArray[np.float64] | None) -> PairCounts:
        return count_overlaps(rules.tree, rules.paths, rules.deleted, rows, weights)

    counts = reduce(add, source.map_unlabelled(without_facts(rules.tree), count))
    if not counts.total:
        raise InputError(NO_WEIGHT)
    first, second = (rules.line_of_place[place] for place in (counts.first, counts.second))
    shown = (first >= 0) & (second >= 0)  # of a list, only the rules that are written
    first, second = np.minimum(first, second)[shown], np.maximum(first, second)[shown]
    return Overlaps(rules, PairCounts(counts.total, first, second, counts.rows[shown]), source.is_weighted)
