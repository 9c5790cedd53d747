"""What moved in new rows beside the lines: each asked column then and now, broken facts, and the rows of each line.

Then are the training rows, cut at their deciles and counted by category; a column whose new rows all lie on one side of
every limit that the tree asks for may be written in another unit. Of more than 100,000 rows, so many are counted, in
runs at even distances; the least and the largest value are those of all rows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.facts.checking import find_broken_facts
from secateur.rows.row_source import RowSource
from secateur.rows.rows import Rows
from secateur.rules.lines import without_facts
from secateur.rules.rules import Rules
from secateur.tree.columns import find_cuts
from secateur.words.conditions import count_of, format_share
from secateur.words.plain_words import format_amount, look_at_training

LEAST_ROWS = 30  # with fewer, all may lie on one side by chance
SMALL_PSI, LARGE_PSI = 0.1, 0.25  # below, little moved; from the second on, much
MOST_CHANCE = 0.05  # PSI that chance alone makes on average: with so few rows that it is more, nothing is said
LARGE_SHARE = 0.05  # of rows outside the range, with an unknown category, or against a fact: something moved
DECILES = np.arange(1, 10) / 10
RUN_ROWS, MOST_RUNS = 1_000, 100  # of more rows, so many runs are counted


class Spread(NamedTuple):
    """How the numbers or categories of a column are spread over some rows."""

    edges: NDArray[np.float64]  # of numbers: the deciles of the training rows, equal ones once; empty of categories
    counts: NDArray[np.float64]  # rows up to each edge and beyond the last, or by category and any other; missing last
    low: float  # the least number; NaN without one, and of categories
    high: float  # the largest


class ColumnShift(NamedTuple):
    """A column then and now."""

    name: str
    then: Spread  # of the training rows
    now: Spread  # of these
    outside: float  # share of these rows beyond the training range, or with a category that the tree does not know
    psi: float  # population stability index by decile or category: below 0.1 little moved, from 0.25 on much
    is_told: bool  # whether there are rows enough for the index to say something

    @property
    def moved(self) -> bool:
        """Whether the column moved much, or many rows lie outside of what training rows held."""
        return (self.is_told and self.psi >= LARGE_PSI) or self.outside >= LARGE_SHARE

    def __str__(self) -> str:
        told = [f"PSI {self.psi:.3f} ({_read_psi(self.psi)})" if self.is_told else "too few rows for a PSI"]
        if self.outside:
            span = f"the training range {format_amount(self.then.low)} to {format_amount(self.then.high)}"
            where = "with a category that the tree does not know" if np.isnan(self.then.low) else f"outside {span}"
            told.append(f"{format_share(self.outside)} of the rows {where}")
        gone, came = (one.counts[-1] / one.counts.sum() for one in (self.then, self.now))
        told += [f"missing: {format_share(came)}, in training {format_share(gone)}"] if gone or came else []
        return f"{self.name}: {', '.join(told)}"

    def to_dict(self) -> dict[str, Any]:
        """Give the same as plain values, for JSON."""
        then, now = (
            {"rows": one.counts.tolist(), "range": None if np.isnan(one.low) else [one.low, one.high]}
            for one in (self.then, self.now)
        )
        return {
            **{"name": self.name, "psi": self.psi if self.is_told else None, "outside": self.outside},
            **{"moved": self.moved, "deciles": self.then.edges.tolist(), "then": then, "now": now},
        }


@dataclass(frozen=True)
class TableShift:
    """What moved in the columns of new rows."""

    n_rows: int
    columns: tuple[ColumnShift, ...]  # each column that the tree asks for, if the training rows are at hand
    broken_facts: Mapping[str, int]  # stated facts that some of these rows violate, and how many do
    units: Mapping[str, str]  # columns whose rows all lie on one side of every limit asked, a sentence each

    @property
    def moved(self) -> bool:
        """Whether a column moved much or may be in another unit, or many rows violate a fact."""
        broken = any(rows >= LARGE_SHARE * self.n_rows for rows in self.broken_facts.values())
        return bool(self.units) or broken or any(one.moved for one in self.columns)

    def describe(self) -> list[str]:
        """Say what moved, a sentence each."""
        told = [*self.units.values(), *(f"{one}." for one in self.columns if one.moved and one.name not in self.units)]
        for fact, rows in self.broken_facts.items():
            of = f"{rows:,} of {count_of(self.n_rows, 'row')}"
            told.append(f"{of} {'violates' if rows == 1 else 'violate'} a stated fact: {fact}.")
        return told

    def to_dict(self) -> dict[str, Any]:
        """Give the same as plain values, for JSON."""
        columns = [one.to_dict() for one in self.columns]
        return {"moved": self.moved, "columns": columns, "broken_facts": {**self.broken_facts}, "units": {**self.units}}


def find_spreads(rules: Rules) -> dict[int, Spread]:
    """Find how the columns that the tree asks for are spread over the training rows in memory, by feature."""
    return look_at_training(rules, lambda rows: _spread_columns(rules, rows, {}))


def _spread_columns(rules: Rules, rows: Rows, then: Mapping[int, Spread]) -> dict[int, Spread]:
    """Count drawn rows of each asked column, by the edges of an earlier count or by their own deciles."""
    tree, found = rules.tree, {}
    features = np.unique(tree.feature[~tree.is_leaf])
    spans = [rows.select(*span, features) for span in _draw_spans(rows.n_rows)]
    drawn = np.concatenate(spans or [np.zeros((0, len(features)))]).astype(np.float64)
    lows, highs = np.full((2, len(features)), np.nan)
    for span in rows.spans():
        some = rows.select(*span, features)
        lows, highs = np.fmin(lows, np.fmin.reduce(some)), np.fmax(highs, np.fmax.reduce(some))
    for place, feature in enumerate(features.tolist()):
        values, low, high = drawn[:, place], float(lows[place]), float(highs[place])
        known = values[~np.isnan(values)]
        levels, edges = tree.categories[feature], np.zeros(0)
        if levels is not None:
            low = high = np.nan
            counts = np.bincount(known.astype(np.int64), minlength=len(levels) + 1)
        else:
            if feature in then:
                edges = then[feature].edges
            elif len(known):
                edges = np.unique(np.quantile(known, DECILES, method="inverted_cdf"))
            counts = np.bincount(np.searchsorted(edges, known), minlength=len(edges) + 1)
        found[feature] = Spread(edges, np.append(counts, len(values) - len(known)).astype(np.float64), low, high)
    return found


def _draw_spans(n_rows: int) -> list[tuple[int, int]]:
    """List the runs of rows that are counted: all of few rows."""
    if n_rows <= RUN_ROWS * MOST_RUNS:
        return [(0, n_rows)] if n_rows else []
    return [(first, first + RUN_ROWS) for first in np.linspace(0, n_rows - RUN_ROWS, MOST_RUNS).astype(int).tolist()]


def find_table_shift(rules: Rules, source: RowSource) -> TableShift:
    """Compare the columns of rows in memory with those of the training rows, and count broken facts."""
    tree, then = rules.tree, rules.spreads

    def look(rows: Rows, _: Any) -> TableShift:
        now, columns = _spread_columns(rules, rows, then), []
        for feature, before in then.items():
            one, share = now[feature], 0.0
            if tree.categories[feature] is not None:
                share = float(one.counts[-2]) / max(one.counts.sum(), 1) if find_cuts(tree, feature) is None else 0.0
            elif one.low < before.low or one.high > before.high:
                values = rows.select(0, rows.n_rows, np.array([feature]))[:, 0]
                share = float(((values < before.low) | (values > before.high)).mean())
            n_places = np.count_nonzero(before.counts + one.counts)
            chance = (n_places - 1) * sum(1 / max(side.counts.sum(), 1) for side in (before, one))
            psi = find_psi(before.counts, one.counts)
            columns.append(ColumnShift(tree.feature_name(feature), before, one, share, psi, chance <= MOST_CHANCE))
        units = dict(_find_units(rules, now, rows))
        return TableShift(rows.n_rows, tuple(columns), find_broken_facts(tree, rows), units)

    (found,) = source.map_unlabelled(without_facts(tree), look)
    return found


def _find_units(rules: Rules, now: Mapping[int, Spread], rows: Rows) -> Iterator[tuple[str, str]]:
    """Find the columns of numbers whose rows all lie on one side of every limit that the tree asks for."""
    tree = rules.tree
    for feature, spread in now.items():
        limits = tree.threshold[(tree.feature == feature) & ~tree.is_leaf]
        low, high = spread.low, spread.high
        n_known = spread.counts[:-1].sum()
        if tree.categories[feature] is not None or n_known < LEAST_ROWS or feature in tree.facts.group_of:
            continue
        least, most = float(limits.min()), float(limits.max())
        if not (high <= least or low > most) or {low, high} <= {0.0, 1.0}:
            continue
        name, parser = tree.feature_name(feature), tree.column_parser(feature)
        known = int(np.count_nonzero(~np.isnan(rows.select(0, rows.n_rows, np.array([feature])))))
        if parser is not None and parser.kind == "date":
            when = "later" if low > most else "earlier"
            yield name, f"{name}: all {count_of(known, 'row')} are {when} than every limit asked."
            continue
        # A limit told training rows apart, so the column may be written in another unit.
        side = f"at most {high:,.6g}, and the rules ask for limits from {least:,.6g} on"
        unit = "fractions instead of percent" if low >= 0 and high <= 1 < least <= 100 else "in another unit"
        if low > most:
            side = f"above {most:,.6g}, the largest limit of the rules (from {low:,.6g} on)"
            unit = "percent instead of fractions" if least >= 0 and most <= 1 < high <= 100 else "in another unit"
        how = unit if unit == "in another unit" else f"as {unit}"
        yield name, f"{name}: all {count_of(known, 'row')} are {side}. Is it written {how}?"


def _read_psi(psi: float) -> str:
    return "little moved" if psi < SMALL_PSI else "some moved" if psi < LARGE_PSI else "much moved"


def find_psi(before: NDArray[np.float64], now: NDArray[np.float64]) -> float:
    """Find the population stability index of rows per line; NaN where they are not known."""
    if np.isnan(before).any() or not before.sum() > 0 or not now.sum() > 0:
        return float("nan")
    old, new = ((rows + 0.5) / (rows + 0.5).sum() for rows in (before, now))  # half a row, so that none is 0
    return float(((new - old) * np.log(new / old)).sum())


def describe_psi(psi: float) -> str | None:
    """Say how far the shares of rows per line moved, with the usual reading; None where not known."""
    if psi != psi:
        return None
    read = f"{_read_psi(psi)}; below {SMALL_PSI} is little, from {LARGE_PSI} on much"
    return f"Rows per line, then and now: PSI {psi:.3f} ({read})."
