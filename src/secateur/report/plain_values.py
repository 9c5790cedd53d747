"""Numbers as JSON holds them, and sentences that a page carries once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from secateur.results.intervals import find_interval
from secateur.rules.rule import Rule
from secateur.rules.rules import Rules

__all__ = ["Texts", "find_limits", "known_numbers", "pair_limits"]

PHRASE_END = re.compile(r"(?<=[;:,]) ")


@dataclass
class Texts:
    """Sentences, each listed once, as places of phrases: sentences of a kind share most of them."""

    listed: list[list[int]] = field(default_factory=list)
    _phrases: dict[str, int] = field(default_factory=dict)
    _places: dict[str, int] = field(default_factory=dict)

    @property
    def phrases(self) -> list[str]:
        """The phrases, to be joined by blanks."""
        return list(self._phrases)

    def place(self, text: str) -> int:
        """List a sentence once, and give its place."""
        if text not in self._places:
            self._places[text] = len(self.listed)
            parts = PHRASE_END.split(text)
            self.listed.append([self._phrases.setdefault(part, len(self._phrases)) for part in parts])
        return self._places[text]

    def place_reasons(self, rule: Rule) -> list[int]:
        """List why each condition of a rule was deleted or kept, and give the places."""
        return [self.place(reason.text) for reason in rule.reasons.values()]


def known_numbers(values: Iterable[float]) -> list[float | int | None]:
    """Write numbers for JSON: whole ones short, unknown ones as None."""
    return [None if v != v else int(v) if v == int(v) else float(v) for v in values]


def pair_limits(limits: tuple[NDArray[np.float64], NDArray[np.float64]]) -> list[list[float] | None]:
    """Pair lower and upper limits, to a tenth of a percent as they are shown; None where they are not known."""
    low, high = (np.round(side, 3) + 0.0 for side in limits)
    return [None if a != a else [a, b] for a, b in zip(low.tolist(), high.tolist(), strict=True)]


def find_limits(rules: Rules) -> list[list[float] | None]:
    """Find the 95 % interval of the share of its class among the training rows of each line.

    Sums of weights do not tell how many rows there are, so rules made with weights have no limits.
    """
    if rules.is_weighted or not rules.is_ranked:
        return [None] * len(rules.class_ids)
    return pair_limits(find_interval(rules.reliability, rules.support))
