"""What moved in new rows beside the lines: columns on one side of all limits, and how many rows come to each line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secateur.rules.lines import without_facts
from secateur.words.conditions import count_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rows.row_source import RowSource
    from secateur.rows.rows import LabelledRows
    from secateur.rules.rules import Rules

__all__ = ["LARGE_PSI", "describe_psi", "find_psi", "find_shifts"]

LEAST_ROWS = 30  # with fewer, all may lie on one side by chance
SMALL_PSI, LARGE_PSI = 0.1, 0.25  # below, little moved; from the second on, much


@dataclass(frozen=True)
class _Spans:
    """The least and the largest number of each asked column, and how many rows have one."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    known: NDArray[np.int64]


@dataclass(frozen=True)
class _SpanCounter:
    """Finds the spans of columns."""

    rules: Rules
    features = None  # those that the tree tests

    def count(self, listed: LabelledRows) -> _Spans:
        """Find the spans of some rows."""
        matrix = np.asarray(listed.rows.matrix, dtype=np.float64)
        known = (~np.isnan(matrix)).sum(axis=0)
        low, high = (np.where(known > 0, side, np.nan) for side in _find_ends(matrix))
        return _Spans(low, high, known)

    def add(self, total: _Spans, part: _Spans) -> _Spans:
        """Join the spans of a further piece."""
        return _Spans(np.fmin(total.low, part.low), np.fmax(total.high, part.high), total.known + part.known)


def _find_ends(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    missing = np.isnan(matrix)
    low, high = np.where(missing, np.inf, matrix), np.where(missing, -np.inf, matrix)
    return low.min(axis=0, initial=np.inf), high.max(axis=0, initial=-np.inf)


def find_shifts(rules: Rules, rows: RowSource) -> list[str]:
    """Find the columns of numbers whose rows all lie on one side of every limit that the tree asks for.

    Such a limit told training rows apart, so the column may be written in another unit: percent as fractions, say.
    """
    tree, told = rules.tree, []
    spans: _Spans = rows.fold(without_facts(tree), _SpanCounter(rules))
    for feature in np.unique(tree.feature[tree.feature >= 0]).tolist():
        limits = tree.threshold[(tree.feature == feature) & ~tree.is_leaf]
        known, low, high = int(spans.known[feature]), float(spans.low[feature]), float(spans.high[feature])
        if tree.categories[feature] is not None or known < LEAST_ROWS or feature in tree.facts.group_of:
            continue
        least, most = float(limits.min()), float(limits.max())
        if not (high <= least or low > most) or {low, high} <= {0.0, 1.0}:
            continue
        side = f"at most {high:,.6g}, and the rules ask for limits from {least:,.6g} on"
        unit = "fractions instead of percent" if low >= 0 and high <= 1 < least <= 100 else None
        if low > most:
            side = f"above {most:,.6g}, the largest limit of the rules (from {low:,.6g} on)"
            unit = "percent instead of fractions" if least >= 0 and most <= 1 < high <= 100 else None
        parser = tree.column_parsers[feature] if tree.column_parsers else None
        if parser is not None and parser.kind == "date":
            when = "later" if low > most else "earlier"
            told.append(
                f"{tree.feature_name(feature)}: all {count_of(known, 'row')} are {when} than every limit asked."
            )
            continue
        asks = f" Is it written as {unit}?" if unit else " Is it written in another unit?"
        told.append(f"{tree.feature_name(feature)}: all {count_of(known, 'row')} are {side}.{asks}")
    return told


def find_psi(before: NDArray[np.float64], now: NDArray[np.float64]) -> float:
    """Find the population stability index of rows per line; NaN where they are not known.

    Examples
    --------
    >>> round(find_psi(np.array([100.0, 100.0]), np.array([100.0, 300.0])), 3)
    0.273
    """
    if np.isnan(before).any() or not before.sum() > 0 or not now.sum() > 0:
        return float("nan")
    old, new = ((rows + 0.5) / (rows + 0.5).sum() for rows in (before, now))  # half a row, so that none is 0
    return float(((new - old) * np.log(new / old)).sum())


def describe_psi(psi: float) -> str | None:
    """Say how far the shares of rows per line moved, with the usual reading; None where not known."""
    if psi != psi:
        return None
    read = "little moved" if psi < SMALL_PSI else "some moved" if psi < LARGE_PSI else "much moved"
    return (
        f"Rows per line, then and now: PSI {psi:.3f} ({read}; below {SMALL_PSI} is little, from {LARGE_PSI} on much)."
    )
