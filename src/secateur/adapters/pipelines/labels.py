"""Columns that are asked as categories: their labels, an unknown value, and what each is encoded as."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secateur.adapters.pipelines.decoded import Decoded

__all__ = ["list_labels", "settle_labels"]


def list_labels(column: int, places: Sequence[int], found: Decoded) -> list[Any]:
    """List the categories that encoders know, then values that were replaced; without any, one that the rows hold."""
    traces = [found.traces[place] for place in places]
    known = [label for trace in traces for label in trace.labels]
    replaced = [label for trace in traces for label in trace.replaced]
    return list(dict.fromkeys([*known, *replaced])) or [found.probe.sample.label(column)]


def settle_labels(labelled: Mapping[int, list[int]], found: Decoded) -> None:
    """Find the labels of the columns that are asked as categories, and what each is encoded as."""
    if not labelled:
        return
    traces, probe, accepts = found.traces, found.probe, found.asked.accepts
    places = sorted({place for some in labelled.values() for place in some})
    labels = {column: list_labels(column, some, found) for column, some in labelled.items()}
    listed = {column: np.array([*known, None], dtype=object)[:-1] for column, known in labels.items()}
    encoded = probe.ask_rows(listed, places)
    strangers = {column: _pick_stranger(known, probe.sample.kind(column)) for column, known in labels.items()}
    taken, strange = probe.try_values({c: value for c, value in strangers.items() if value is not None}, places)
    for column, some in labelled.items():
        seen = {place: encoded[place][: len(labels[column])] for place in some}
        last = {place: strange[place] if column in taken else np.nan for place in some}
        if column not in taken or any(np.isnan(last[place]) and not accepts[place] for place in some):
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
            if np.isnan(values[keep]).any() and not accepts[place]:
                found.give_up(place, "which has no value for some categories")
            else:
                found.codes[place] = np.append(values[keep], last[place])
        found.categories[column] = tuple(listed[column][keep].tolist())


def _pick_stranger(labels: Sequence[Any], kind: np.dtype[Any] | None) -> Any:
    """Pick a value that is none of the categories; None where the column can hold no other."""
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
