"""How much of what could be tried a run tries: HYPOTHESIS_PROFILE names it, for examples and for drawn cases alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

Case = TypeVar("Case")

# How many examples are drawn where a test asks for some number of them. "daily" draws the same ones each time, so that
# what lies beyond the first twelve, or the first fortieth, would only be tried again; "thorough" looks for new ones.
EXAMPLES: dict[str, Callable[[int], int]] = {
    "quick": lambda asked: max(1, min(asked, max(40, asked // 10)) // 10),
    "daily": lambda asked: min(asked, max(12, asked // 40)),
    "thorough": lambda asked: 10 * asked,
}
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "daily")


def draw(cases: Iterable[Case], asked: int) -> list[Case]:
    """Draw so many cases of a test marked ``drawn``, the same ones each time; a third if quick, all if thorough."""
    every = list(cases)
    n_drawn = {"quick": max(1, asked // 3), "daily": asked, "thorough": len(every)}[PROFILE]
    return [every[place] for place in np.sort(np.random.default_rng(0).permutation(len(every))[:n_drawn]).tolist()]


def fewer(cases: Iterable[Case]) -> list[Case]:
    """List all cases, and every third if quick: of a test whose cases are many, or take a while each."""
    return list(cases)[:: 3 if PROFILE == "quick" else 1]


def further(cases: Iterable[Case]) -> list[Case]:
    """List cases that only a thorough run tries, beside those that a test marked ``drawn`` always does."""
    return list(cases) if PROFILE == "thorough" else []
