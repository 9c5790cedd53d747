"""Remarks for a reader of rules about the columns before a pipeline, a sentence each."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from secateur.adapters.pipelines.columns import Decoded
from secateur.adapters.pipelines.trace import Shape
from secateur.tree.columns import BESIDE_A_LIMIT

SHOWN = 5


def collect_remarks(found: Decoded, names: Sequence[str], derived: Mapping[int, str]) -> list[str]:
    """Write the remarks on the columns that a tree tests, given the names of the columns and of the derived ones."""
    traces, sample = found.traces, found.probe.sample
    remarks = []
    tested = sorted(set(found.source.values()))
    for column in tested:
        places = found.places_of(column)
        own = [traces[place] for place in places]
        if column in found.fills:
            asked = any(trace.shape is Shape.BLANK for trace in own)
            but = ", but for splits that ask whether it is missing" if asked else ""
            remarks.append(f"A missing {names[column]} counts as {_format(found.fills[column])}{but}.")
        if column in found.mixed_markers:
            remarks.append(
                f"To the pipeline, None and NaN are not the same in {names[column]}: the rules take both as the one "
                "that the training rows hold, or as NaN where they hold neither."
            )
        rare = next((trace.rare for trace in own if len(trace.rare) > 1), ())
        if rare:
            remarks.append(f"Rare {names[column]}: {_list([_format(label) for label in rare])} count as one.")
        if any(blank in trace.replaced for trace in own for blank in ("", " ")):
            remarks.append(f"A {names[column]} of blanks alone counts as missing, however many they are.")
        if any(trace.maker == "TargetEncoder" for trace in own):
            remarks.append(
                f"The pipeline's TargetEncoder encodes {names[column]} differently in the training rows and in later "
                "ones: the tree's counts are those of the former, its rules are about the latter."
            )
        if column in found.distance:
            remarks.append(
                f"Rounding does not keep the order of {names[column]}: within {found.distance[column]:.2g} of a limit "
                f"a row {BESIDE_A_LIMIT}"
            )
    kinds = {column: sample.kind(column) for column in tested if column not in found.categories}
    small = [names[c] for c, kind in kinds.items() if kind is not None and kind.kind == "f" and kind.itemsize < 8]
    if small:
        remarks.append(
            f"{_list(small)} {'is' if len(small) == 1 else 'are'} float32 or smaller in the rows given, and the "
            f"pipeline computes in that type: beside a limit, a number of another type {BESIDE_A_LIMIT}"
        )
    for column, limit, is_above in dict.fromkeys(found.gaps):
        side = "above" if is_above else "below"
        remarks.append(f"The pipeline's function of {names[column]} has no value {side} {limit + 0.0:.6g}.")
    remarks += [sentence.format(*names) + "." for sentence in found.limited]
    by_reason: dict[tuple[str, str], list[str]] = {}
    for place, reason in found.derived.items():
        by_reason.setdefault((traces[place].maker or "the pipeline", reason), []).append(derived[place])
    for (maker, reason), listed in by_reason.items():
        come, its = ("come", "its outputs") if len(listed) > 1 else ("comes", "its output")
        remarks.append(f"{_list(listed)} {come} from {maker}, {reason}: rules name {its}.")
    return remarks


def _format(value: Any) -> str:
    if isinstance(value, str):
        return repr(value)
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)


def _list(items: Sequence[str]) -> str:
    if len(items) > SHOWN:
        return f"{', '.join(items[:SHOWN])} and {len(items) - SHOWN} more"
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
