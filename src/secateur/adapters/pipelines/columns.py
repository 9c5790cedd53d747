"""What a tree behind a preprocessor asks of the columns before it: numbers, categories, cells or derived columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.adapters.pipelines.decoded import Asked, Decoded
from secateur.adapters.pipelines.labels import list_labels, settle_labels
from secateur.adapters.pipelines.limits import settle_numbers
from secateur.adapters.pipelines.missing import settle_fills, settle_missing
from secateur.adapters.pipelines.numbers import NumberSource, Scale, look_at_columns
from secateur.adapters.pipelines.trace import Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secateur.adapters.pipelines.probe import Probe
    from secateur.adapters.pipelines.trace import Trace
    from secateur.tree.tree import Tree

__all__ = ["decode_columns", "find_sides"]

NUMERIC = (Shape.SAME, Shape.ORDERED, Shape.BINNED)
CANNOT = "which cannot be inverted"


def decode_columns(traces: Sequence[Trace], trees: Sequence[Tree], probe: Probe) -> Decoded:
    """Find what the tested encoded columns ask of the columns before the preprocessor."""
    found = Decoded(Asked.of(trees), traces, probe)
    numbers, labelled = _sort_columns(found)
    tried = {column: (list_labels(column, places, found), places) for column, places in labelled.items()}
    strange, found.limited = look_at_columns(numbers, tried, traces, probe)
    for place, reason in strange.items():
        if place in found.asked.limits:
            found.give_up(place, f"which {reason}")
    for source in numbers:
        source.bins = {number: block for number, block in source.bins.items() if not strange.keys() & set(block)}
        source.used = [place for place in source.used if place not in strange]
    numbers = [source for source in numbers if source.used]
    labelled = {c: kept for c, places in labelled.items() if (kept := [p for p in places if p not in strange])}
    found.source |= {place: source.column for source in numbers for place in source.used}
    found.source |= {place: column for column, places in labelled.items() for place in places}
    settle_missing([*(source.column for source in numbers), *labelled], found)
    settle_fills(found)
    settle_numbers(numbers, found)
    settle_labels(labelled, found)
    for column in found.categories.keys() - set(found.source.values()):  # all its splits were given up
        del found.categories[column]
        found.cuts.pop(column, None)
        found.closed.discard(column)
    return found


def _sort_columns(found: Decoded) -> tuple[list[NumberSource], dict[int, list[int]]]:
    """List the columns that are asked as numbers, and those that are asked as categories; give up the rest."""
    traces = found.traces
    by_source: dict[int, list[int]] = {}
    for place in found.asked.limits:
        trace = traces[place]
        if trace.shape in (Shape.DERIVED, Shape.RELABELLED):
            found.give_up(place, CANNOT)
        else:
            by_source.setdefault(trace.source, []).append(place)
    numbers: list[NumberSource] = []
    labelled: dict[int, list[int]] = {}
    for column, places in by_source.items():
        numeric = [place for place in places if traces[place].shape in NUMERIC]
        coded = [place for place in places if traces[place].shape is Shape.CODED]
        blank = [place for place in places if traces[place].shape is Shape.BLANK]
        kind = found.probe.sample.kind(column)
        if numeric and kind is None:
            for place in numeric:
                found.give_up(place, "which reads numbers from a column of something else")
            numeric = []
        if numeric or (blank and not coded and kind is not None):
            for place in coded:
                found.give_up(place, "whose column is used as a number, too")
            source = _as_number_source(column, kind, numeric + blank, found)
            if source.used:
                numbers.append(source)
        elif coded or blank:
            labelled[column] = coded + blank
    return numbers, labelled


def _as_number_source(column: int, kind: np.dtype[Any] | None, places: list[int], found: Decoded) -> NumberSource:
    used, bins = [], {}
    for place in places:
        trace = found.traces[place]
        if trace.bin is not None and trace.shape is Shape.BINNED:
            number = trace.bin[0]
            binned = ((at, one.bin) for at, one in enumerate(found.traces) if one.bin is not None)
            block = {own: at for at, own in binned if own[0] == number}
            if len(block) < trace.n_bins:
                found.give_up(place, "some bins of which were left out")
                continue
            bins[number] = tuple(block[number, rank] for rank in range(trace.n_bins))
        used.append(place)
    # Whole numbers become doubles before anything is computed, so limits hold for fractions, too. Short ones stay with
    # floats of their own length, and are asked as they are.
    if kind is None or (kind.kind in "iu" and kind.itemsize >= 4):
        kind = np.dtype(np.float64)
    return NumberSource(column, Scale(kind), used, bins)


def find_sides(
    tree: Tree, nodes: NDArray[np.int64], place: int, found: Decoded
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Find where the splits of one encoded column send codes, shape (n_nodes, n_codes), and a missing value.

    There are no codes where the column asks for a number.
    """
    upper, nan_left = tree.upper[nodes], tree.missing_left[nodes]
    missing = found.missing.get(place, np.nan)
    missing_left = nan_left if np.isnan(missing) else missing <= upper
    if found.source[place] not in found.accepts:
        missing_left = np.zeros(len(nodes), dtype=bool)
    values = found.codes.get(place, np.zeros(0))
    left = np.where(np.isnan(values), nan_left[:, None], values <= upper[:, None])
    if found.source[place] in found.closed and place in found.codes:
        left[:, -1] = False  # values that are refused have no side, and their code has to stand somewhere
    return left, missing_left
