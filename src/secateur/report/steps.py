"""Make the rule sets that a slider moves through, one for each value of the method's knob."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import ParameterError
from secateur.methods import METHODS
from secateur.methods.settings import check_share
from secateur.report.ladder import measure, run_again
from secateur.rules.intervals import find_interval
from secateur.rules.per_rule import find_limits_of_d
from secateur.rules.reasons import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from secateur.methods import Method
    from secateur.report.rows_at_hand import RowsAtHand
    from secateur.rules.rule_set import RuleSet

__all__ = ["Slider", "Texts", "find_slider", "make_rule_sets", "make_step"]

# Up to this many conditions every value of the knob carries its reasons; beyond, only the chosen one does.
FULLY_TOLD = 6_000

PHRASE_END = re.compile(r"(?<=[;:,]) ")


@dataclass(frozen=True)
class Slider:
    """The setting that a slider moves, and its values."""

    parameter: str
    symbol: str
    values: tuple[float, ...]
    meaning: str

    @property
    def record(self) -> dict[str, Any]:
        """The slider as plain values."""
        return {
            "parameter": self.parameter,
            "symbol": self.symbol,
            "values": list(self.values),
            "meaning": self.meaning,
        }


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


def find_slider(rules: RuleSet, at_hand: RowsAtHand, tolerances: Any) -> tuple[Slider | None, str]:
    """Find the slider's values, or None and a sentence why there is no slider."""
    knob = METHODS[rules.method].knob
    if knob is None:
        if tolerances is not None:
            raise ParameterError(f"The method {rules.method!r} has no tolerance or budget: leave tolerances out.")
        return None, f"The method {rules.method} has no tolerance to move, so there is one set of rules."
    grid = knob.grid if tolerances is None else _check_values(tolerances)
    if at_hand.training is None:
        return None, (
            f"The rows that the rules were made from are not at hand, so the rules cannot be made again for other "
            f"values of {knob.symbol}."
        )
    values = sorted({*grid, float(rules.parameters[knob.setting])})
    return Slider(knob.setting, knob.symbol, tuple(values), knob.meaning), ""


def make_rule_sets(rules: RuleSet, at_hand: RowsAtHand, slider: Slider | None) -> tuple[list[RuleSet], int]:
    """Make the rule set for each value of the slider, and find the place of the given one."""
    if slider is None:
        return [rules], 0
    own = slider.values.index(float(rules.parameters[slider.parameter]))
    made = [
        rules if place == own else run_again(rules, at_hand, method=rules.method, **{slider.parameter: value})
        for place, value in enumerate(slider.values)
    ]
    return made, own


def make_step(made: RuleSet, rules: RuleSet, at_hand: RowsAtHand, value: float | None, texts: Texts) -> dict[str, Any]:
    """Describe one position of the slider in plain values: numbers, and what each rule lost."""
    paths = made.paths
    own_class = made.class_counts[np.arange(len(made)), paths.leaf_class]
    return {
        "value": value,
        "guarantee": made.guarantee,
        **measure(made, at_hand),
        "deleted": list_by_rule(made, np.flatnonzero(made.deleted)),
        "support": known_numbers(made.support),
        "hits": known_numbers(own_class),
        **_find_limits(made),
        "reasons": {} if made is rules else _changed_reasons(made, rules, texts),
    }


def _find_limits(rules: RuleSet) -> dict[str, list[list[float] | None]]:
    """List the limits, at 95 %, of each rule's reliability and of D, its distance from the leaf's; None if not known.

    Sums of weights do not tell how many rows there are, so rules made with weights have no limits.
    """
    if rules.is_weighted or not rules.is_ranked:
        return {"limits": [None] * len(rules), "d_limits": [None] * len(rules)}
    limits = find_interval(rules.reliability, rules.support)
    return {"limits": _pair(limits), "d_limits": _pair(find_limits_of_d(rules))}


def _pair(limits: tuple[NDArray[np.float64], NDArray[np.float64]]) -> list[list[float] | None]:
    """Pair lower and upper limits, to a tenth of a percent as they are shown."""
    low, high = (np.round(side, 3) + 0.0 for side in limits)
    return [None if a != a else [a, b] for a, b in zip(low.tolist(), high.tolist(), strict=True)]


def list_by_rule(rules: RuleSet, entries: NDArray[np.int64]) -> list[list[int]]:
    """List the links of some entries, rule by rule."""
    paths = rules.paths
    ends = np.searchsorted(entries, paths.offsets)
    links = paths.links[entries].tolist()
    return [links[first:last] for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


def known_numbers(values: Iterable[float]) -> list[float | int | None]:
    """Write numbers for JSON: whole ones short, unknown ones as None."""
    return [None if v != v else int(v) if v == int(v) else float(v) for v in values]


def _changed_reasons(made: RuleSet, rules: RuleSet, texts: Texts) -> dict[str, list[int]]:
    """List the reasons of rules that differ from the given rule set's; none if there are too many."""
    if len(made.deleted) > FULLY_TOLD:
        return {}
    differs = made.deletions.why != rules.deletions.why
    for name in ("before", "after", "number", "node"):
        one, other = getattr(made.deletions, name), getattr(rules.deletions, name)
        differs |= (one != other) & ~(np.isnan(one) & np.isnan(other))
    differs |= np.isin(made.deletions.why, _find_naming(METHODS[made.method]))
    changed = np.unique(made.paths.rule[differs]).tolist()
    return {str(rule): [texts.place(why.text) for why in made[rule].reasons.values()] for rule in changed}


def _find_naming(method: Method) -> list[int]:
    """List the reasons whose words name the value of the method's knob."""
    if method.knob is None:
        return []
    return [int(why) for why, words in {**WORDS, **method.words}.items() if f"{{{method.knob.setting}" in words]


def _check_values(tolerances: Any) -> tuple[float, ...]:
    if isinstance(tolerances, (str, bytes)) or not hasattr(tolerances, "__iter__"):
        raise ParameterError(f"Expected tolerances as a list of numbers from 0 to 1, found {tolerances!r}.")
    values = [check_share("tolerances", value) for value in tolerances]
    if not values:
        raise ParameterError("Expected at least one value in tolerances, found none.")
    return tuple(values)
