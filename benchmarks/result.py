"""What a case found: whether its answer is right, and its measures beside the bars that they should meet."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Quartiles", "Result", "is_met", "quartiles"]

SENSES = {"≤": operator.le, "≥": operator.ge, ">": operator.gt}


class Quartiles(NamedTuple):
    """Lower quartile, median and upper quartile of a measure; equal where it was taken once."""

    lower: float
    median: float
    upper: float


@dataclass
class Result:
    """A block of the table. ``bars`` holds what the medians of some measures should be, such as "≤ 1.3".

    A case that could not run says why in ``skipped``; a wrong answer is not timed. ``points`` are those of a curve.
    """

    case: str
    about: str
    right: bool = True
    skipped: str = ""
    seconds: Quartiles | None = None
    measures: dict[str, Quartiles] = field(default_factory=dict)
    bars: dict[str, str] = field(default_factory=dict)
    points: list[dict[str, Any]] = field(default_factory=list)


def quartiles(values: Iterable[float]) -> Quartiles:
    """Median and quartiles of some values."""
    return Quartiles(*np.quantile(list(values), (0.25, 0.5, 0.75)).tolist())


def is_met(bar: str, measured: Quartiles) -> bool:
    """Whether a median passes a bar."""
    sense, limit = bar.split()
    return bool(SENSES[sense](measured.median, float(limit)))
