"""Missing values of the columns before a pipeline: where they are taken, and what they become."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secateur.adapters.pipelines.trace import Shape
from secateur.rows.encoding import is_missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secateur.adapters.pipelines.decoded import Decoded
    from secateur.tree.tree import Label

__all__ = ["settle_fills", "settle_missing"]


def settle_missing(columns: Sequence[int], found: Decoded) -> None:
    """Find which columns take a missing value, and what it is encoded as."""
    places = sorted(found.source)
    markers = {column: found.probe.sample.markers(column) for column in columns}
    answers: dict[int, list[dict[int, float]]] = {column: [] for column in columns}
    for turn in range(max((len(some) for some in markers.values()), default=0)):
        asked = {column: some[turn] for column, some in markers.items() if len(some) > turn}
        taken, values = found.probe.try_values(asked, places)
        for column in taken:
            own = {place: values[place] for place in found.places_of(column)}
            if all(found.asked.accepts[place] or not np.isnan(value) for place, value in own.items()):
                answers[column].append(own)
    for column, given in answers.items():
        if given:
            found.accepts.add(column)
            found.missing |= given[0]
            if any(not _same_values(given[0], other) for other in given[1:]):
                found.mixed_markers.append(column)


def settle_fills(found: Decoded) -> None:
    """Find the value that a missing one is encoded like; an imputer of NaN, say, leaves None as it is."""
    told: dict[int, set[Label]] = {}
    for place, column in found.source.items():
        if column in found.accepts and (fill := found.traces[place].fill) is not None:
            told.setdefault(column, set()).add(fill)
    fills = {column: fill for column, some in told.items() if len(some) == 1 for fill in some}
    if not fills:
        return
    taken, values = found.probe.try_values(fills, sorted(found.source))
    for column in taken:
        own = [place for place in found.places_of(column) if found.traces[place].shape is not Shape.BLANK]
        if _same_values({place: values[place] for place in own}, found.missing):
            found.fills[column] = fills[column]


def _same_values(one: Mapping[int, float], other: Mapping[int, float]) -> bool:
    return all(
        value == other[place] or (is_missing(value) and is_missing(other[place])) for place, value in one.items()
    )
