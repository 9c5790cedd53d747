"""Missing values of the columns before a pipeline: who takes them, and what they become."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secateur.adapters.pipelines.probe import find_refused
from secateur.adapters.pipelines.trace import Shape
from secateur.rows.encoding import is_missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from secateur.adapters.pipelines.decoded import Asked, Decoded
    from secateur.adapters.pipelines.probe import Encoder, Sample
    from secateur.adapters.pipelines.trace import Trace
    from secateur.tree.tree import Label

__all__ = ["settle_fills", "settle_missing"]


def settle_missing(columns: Sequence[int], asked: Asked, sample: Sample, encoder: Encoder, found: Decoded) -> None:
    """Find which columns take a missing value, and what it is encoded as."""
    places = sorted(found.source)
    markers = {column: sample.markers(column) for column in columns}
    answers: list[dict[int, dict[int, float]]] = []
    for turn in range(max((len(some) for some in markers.values()), default=0)):
        asked_now = [column for column in columns if len(markers[column]) > turn]

        def ask(some: Sequence[int], turn: int = turn) -> NDArray[np.float64]:
            return encoder(sample.build({column: [markers[column][turn]] for column in some}, 1), places)

        refused = set(find_refused(asked_now, ask))
        taken = [column for column in asked_now if column not in refused]
        values = dict(zip(places, ask(taken)[0].tolist(), strict=True)) if taken else {}
        by_column = {column: {place: values[place] for place in found.places_of(column)} for column in taken}
        answers.append({c: own for c, own in by_column.items() if _fit(own, asked)})
    for column in columns:
        given = [answer[column] for answer in answers if column in answer]
        if given:
            found.accepts.add(column)
            found.missing |= given[0]
            if any(not _same_values(given[0], other) for other in given[1:]):
                found.mixed_markers.append(column)


def settle_fills(traces: Sequence[Trace], sample: Sample, encoder: Encoder, found: Decoded) -> None:
    """Which values a missing one is encoded like; an imputer of NaN, say, leaves None as it is."""
    told: dict[int, set[Label]] = {}
    for place, column in found.source.items():
        if column in found.accepts and (fill := traces[place].fill) is not None:
            told.setdefault(column, set()).add(fill)
    fills = {column: [fill] for column, some in told.items() if len(some) == 1 for fill in some}
    if not fills:
        return
    places = sorted(found.source)
    refused = find_refused(list(fills), lambda some: encoder(sample.build({c: fills[c] for c in some}, 1), places))
    taken = {column: fill for column, fill in fills.items() if column not in refused}
    if not taken:
        return
    values = dict(zip(places, encoder(sample.build(taken, 1), places)[0].tolist(), strict=True))
    for column, (fill,) in taken.items():
        own = [place for place in found.places_of(column) if traces[place].shape is not Shape.BLANK]
        if _same_values({place: values[place] for place in own}, found.missing):
            found.fills[column] = fill


def _fit(values: Mapping[int, float], asked: Asked) -> bool:
    """Whether the trees take these values of encoded columns."""
    return all(asked.accepts[place] or not np.isnan(value) for place, value in values.items())


def _same_values(one: Mapping[int, float], other: Mapping[int, float]) -> bool:
    return all(
        value == other[place] or (is_missing(value) and is_missing(other[place])) for place, value in one.items()
    )
