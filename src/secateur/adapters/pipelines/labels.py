"""Columns that are asked as categories: their labels, an unknown value, and what each is encoded as."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.adapters.pipelines.numbers import ask_rows
from secateur.adapters.pipelines.probe import find_refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from secateur.adapters.pipelines.decoded import Asked, Decoded
    from secateur.adapters.pipelines.probe import Encoder, Sample
    from secateur.adapters.pipelines.trace import Trace
    from secateur.tree.tree import Label

__all__ = ["all_labels", "settle_labels"]


def all_labels(traces: Sequence[Trace], places: Sequence[int]) -> tuple[Label, ...]:
    """Categories that encoders know first, values that were replaced after them."""
    known = [label for place in places for label in traces[place].labels]
    replaced = [label for place in places for label in traces[place].replaced]
    return tuple(dict.fromkeys([*known, *replaced]))


def settle_labels(
    labelled: Mapping[int, list[int]],
    traces: Sequence[Trace],
    asked: Asked,
    sample: Sample,
    encoder: Encoder,
    found: Decoded,
) -> None:
    """Find the labels of the columns that are asked as categories, and what each is encoded as."""
    if not labelled:
        return
    places = sorted({place for some in labelled.values() for place in some})
    labels = {column: all_labels(traces, some) or (sample.label(column),) for column, some in labelled.items()}
    listed = {column: np.array([*known, None], dtype=object)[:-1] for column, known in labels.items()}
    encoded = ask_rows(sample, encoder, listed, places)
    strangers = {column: _pick_stranger(known, sample.kind(column)) for column, known in labels.items()}
    possible = [column for column, stranger in strangers.items() if stranger is not None]

    def ask(columns: Sequence[int]) -> NDArray[np.float64]:
        return encoder(sample.build({column: [strangers[column]] for column in columns}, 1), places)

    refused = set(find_refused(possible, ask))
    taken = [column for column in possible if column not in refused]
    strange = dict(zip(places, ask(taken)[0].tolist(), strict=True)) if taken else {}
    for column, some in labelled.items():
        seen = {place: encoded[place][: len(labels[column])] for place in some}
        last = {place: strange[place] if column in taken else np.nan for place in some}
        if column not in taken or any(np.isnan(last[place]) and not asked.accepts[place] for place in some):
            found.closed.add(column)
        known = {label for place in some for label in traces[place].labels}
        keep = np.array(
            [
                label in known
                or column in found.closed
                or any(seen[place][code] != last[place] for place in some)
                or not known
                for code, label in enumerate(labels[column])
            ]
        )
        for place, values in seen.items():
            if np.isnan(values[keep]).any() and not asked.accepts[place]:
                found.give_up(place, "which has no value for some categories")
            else:
                found.codes[place] = np.append(values[keep], last[place])
        found.categories[column] = tuple(np.array([*labels[column], None], dtype=object)[:-1][keep].tolist())


def _pick_stranger(labels: Sequence[Any], kind: np.dtype[Any] | None) -> Any:
    """A value that is not among the categories; None where the column can hold no other."""
    if all(isinstance(label, bool) for label in labels):
        return None if len(labels) == 2 else not labels[0]
    if any(isinstance(label, str) for label in labels):
        stranger = "unlisted"
        while stranger in labels:
            stranger += "_"
        return stranger
    known = set(labels)
    if kind is not None and kind.kind in "iu":
        bounds = np.iinfo(kind)
        near = (value for label in sorted(known) for value in (int(label) + 1, int(label) - 1))
        return next((value for value in near if value not in known and bounds.min <= value <= bounds.max), None)
    if kind is not None and kind.kind == "b":
        return next((value for value in (False, True) if value not in known), None)
    return max(known) + 1.0
