"""Find the rules of different classes that share rows, and how many."""

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.counting.overlap_pairs import PairCounts, count_overlaps
from secateur.errors import InputError
from secateur.rows.checking import NO_WEIGHT
from secateur.rows.row_source import RowSource
from secateur.rows.rows import Rows
from secateur.rules.lines import without_facts
from secateur.rules.rule import ArrayTable
from secateur.rules.rules import Rules
from secateur.words.conditions import count_of, read_count, read_share

SHOWN_PAIRS = 10


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
        first, second = int(self.first[place]), int(self.second[place])
        rows = float(self.rows[place])
        classes = self._rules[first].prediction, self._rules[second].prediction
        return Overlap(first, second, *classes, rows, rows / self.total)

    def _list_columns(self) -> dict[str, list[Any]]:
        tree = self._rules.tree
        first, second = (self._rules.class_ids[place] for place in (self.first, self.second))
        return {
            "first": (self.first + 1).tolist(),
            "second": (self.second + 1).tolist(),
            "first_prediction": tree.classes[first].tolist(),
            "second_prediction": tree.classes[second].tolist(),
            "first_class_name": [tree.class_names[class_id] for class_id in first.tolist()],
            "second_class_name": [tree.class_names[class_id] for class_id in second.tolist()],
            "rows": self.rows.tolist(),
            "share": (self.rows / self.total).tolist(),
        }

    def to_text(self, n_pairs: int = SHOWN_PAIRS) -> str:
        """Write the pairs that share most rows, in words; rules are numbered from 1, as in ``rules.to_text()``.

        Parameters
        ----------
        n_pairs : int, default=10

        Returns
        -------
        str
        """
        if not len(self):
            return "No two rules of different classes share a row."
        lines = [f"{count_of(len(self), 'pair')} of rules of different classes with rows in common:"]
        for one in self[:n_pairs]:
            names = (self._rules[place].class_name for place in (one.first, one.second))
            told = (f"rule {place + 1} ({name})" for place, name in zip((one.first, one.second), names, strict=True))
            rows = f"weight {read_count(one.rows)}" if self._is_weighted else count_of(one.rows, "row")
            lines.append(f"  {' and '.join(told)}: {rows}, {read_share(one.share)} of all")
        if len(self) > n_pairs:
            lines.append(f"  … and {len(self) - n_pairs:,} more")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from secateur.export.notebook_tables import overlaps_to_html

        return overlaps_to_html(self)

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
