"""Columns that are asked as numbers: the limits of their splits, or the cells that splits divide them into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from secateur.adapters.pipelines.numbers import NumberSource, Question, View, find_limits, look_beside_limits
from secateur.adapters.pipelines.trace import Shape

if TYPE_CHECKING:
    from secateur.adapters.pipelines.columns import Decoded

# A split lists the cells on its left, so many splits of many cells make lists too long to read.
MOST_CODES = 2_000_000


def settle_numbers(sources: Sequence[NumberSource], found: Decoded) -> None:
    """Find the limits of the columns that are asked as numbers; where limits do not tell, their cells."""
    traces, asked, probe = found.traces, found.asked, found.probe
    questions = [_questions(source, found) for source in sources]
    limits = find_limits(sources, questions, probe)
    tried = list(zip(sources, questions, limits, strict=True))
    found.distance = look_beside_limits(
        [one for one in tried if not all(traces[place].is_exact for place in one[0].used)], probe
    )
    by_cell: dict[int, NDArray[np.float64]] = {}
    n_asked = {source.column: sum(asked.n_nodes[place] for place in source.used) for source in sources}
    for source, listed, limit in tried:
        of_view: dict[View, list[float]] = {}
        for question, value in zip(listed, limit.tolist(), strict=True):
            of_view.setdefault(question.view, []).append(value)
        for view, values in of_view.items():
            if view.kind in ("before", "after") and np.isfinite(values[0]):
                end = values[0] if view.kind == "after" else source.scale.after(values[0])
                found.gaps.append((source.column, end, view.kind == "after"))
                low, high = found.ranges.get(source.column, (-np.inf, np.inf))
                ends = (low, min(high, end)) if view.kind == "after" else (max(low, end), high)
                found.ranges[source.column] = float(ends[0]), float(ends[1])
        plain = {
            place: np.array(of_view[View((place,), "rising")])
            for place in source.used
            if source.rises.get(place, False)
        }
        gaps_matter = any(any(source.gaps.get(place, ())) and asked.accepts[place] for place in source.used)
        if gaps_matter:  # the tree takes the NaN that is made there
            found.ranges.pop(source.column, None)
        if len(plain) == len(source.used) and not gaps_matter and not any(np.isneginf(v).any() for v in plain.values()):
            found.limits |= plain
        else:
            wanted = [values for view, values in of_view.items() if gaps_matter or view.kind not in ("before", "after")]
            cuts = np.unique(np.concatenate([np.zeros(0), *wanted]))
            by_cell[source.column] = cuts[np.isfinite(cuts)]
            if not len(by_cell[source.column]):
                by_cell[source.column] = np.array([source.anchor])
            if n_asked[source.column] * len(by_cell[source.column]) > MOST_CODES:
                del by_cell[source.column]
                for place in source.used:
                    found.give_up(place, "whose numbers the tree divides into too many cells")
    if by_cell:
        _settle_cells([source for source in sources if source.column in by_cell], by_cell, found)


def _questions(source: NumberSource, found: Decoded) -> list[Question]:
    traces, asked = found.traces, found.asked
    kind = np.dtype(asked.dtype).type
    questions: list[Question] = []
    for number, block in source.bins.items():
        if any(traces[place].bin is not None and traces[place].bin[0] == number for place in source.used):  # type: ignore[index]
            questions += [Question(View(block, "bins"), rank + 0.5) for rank in range(len(block) - 1)]
    for place in source.used:
        if traces[place].shape is Shape.BINNED:
            continue
        limits = asked.limits[place]
        if source.rises[place]:
            is_same = traces[place].shape is Shape.SAME
            questions += [
                Question(
                    View((place,), "rising"),
                    limit,
                    source.scale.highest_rounding_to(limit, asked.dtype) if is_same else None,
                )
                for limit in limits.tolist()
            ]
        else:  # z > limit holds where -z is at most the number below -limit
            with np.errstate(over="ignore"):
                finite = limits[np.isfinite(limits)].astype(kind)  # a limit of inf has no number above it
                turned = -np.nextafter(finite, kind(np.inf)).astype(np.float64)
            questions += [Question(View((place,), "falling"), limit) for limit in turned.tolist()]
        below, above = source.gaps.get(place, (False, False))
        questions += [Question(View((place,), "before"), 0.5)] * below
        questions += [Question(View((place,), "after"), 0.5)] * above
    return questions


def _settle_cells(sources: Sequence[NumberSource], cuts: Mapping[int, NDArray[np.float64]], found: Decoded) -> None:
    """Make a category of each stretch of numbers that no split divides."""
    varied = {}
    for source in sources:
        limits = cuts[source.column].astype(source.scale.kind)
        above = np.array([source.scale.after(limits[-1])]).astype(source.scale.kind)
        varied[source.column] = np.concatenate([limits, above])
    places = sorted({place for source in sources for place in source.used})
    encoded = found.probe.ask_rows(varied, places)
    for source in sources:
        n_cells = len(varied[source.column])
        seen = {place: encoded[place][:n_cells] for place in source.used}
        sides = [
            np.where(np.isnan(values), -1, np.searchsorted(found.asked.limits[place], values))
            for place, values in seen.items()
        ]
        differs: NDArray[np.bool_] = np.any([np.diff(side) != 0 for side in sides], axis=0)
        if not differs.any():
            differs[0] = True
        keep = np.append(differs, True)
        limits = cuts[source.column][differs]
        found.cuts[source.column] = tuple(limits.tolist())
        found.categories[source.column] = name_cells(limits.tolist())
        found.codes |= {place: values[keep] for place, values in seen.items()}


def name_cells(cuts: list[float]) -> tuple[str, ...]:
    """Name the cells up to each of some cuts."""
    texts = [repr(cut).removesuffix(".0") for cut in cuts]
    return (f"<= {texts[0]}", *(f"{low} < x <= {high}" for low, high in pairwise(texts)))
