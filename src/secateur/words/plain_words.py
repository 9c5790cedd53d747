"""Say conditions as people say them: "is", "is not", "≤", and short numbers with marks between thousands."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import SecateurError
from secateur.words.conditions import Voice, read_conditions
from secateur.words.numbers import find_neighbours, needs_values, shorten_number, write_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from secateur.rows.rows import Rows
    from secateur.rules.rules import Rules
    from secateur.tree.tree import Tree

UNKNOWN = (math.nan, math.nan)
ROUNDED = (
    "Numbers are rounded so that no row of the table changes its side; rule.text, CSV and exports that run have the "
    "exact ones."
)
JOINING = re.compile(r"\s(or|and)\s")


class PlainVoice(Voice):
    """How a condition is put for people; by feature and limit, it knows the values of the column next to a limit."""

    def __init__(self, neighbours: Mapping[int, Mapping[float, tuple[float, float]]]) -> None:
        self.neighbours = neighbours

    def limit(self, name: str, feature: int, limit: float, dtype: str) -> str:
        """Write a limit of a column."""
        return write_number(self._shorten(feature, limit, dtype).value, name)

    def is_rounded(self, feature: int, limit: float, dtype: str) -> bool:
        """Whether a limit is rounded further than every possible row allows."""
        return not math.isinf(limit) and self._shorten(feature, limit, dtype).is_rounded

    def _shorten(self, feature: int, limit: float, dtype: str) -> Any:
        return shorten_number(limit, dtype, *self.neighbours.get(feature, {}).get(limit, UNKNOWN))

    def decimal(self, name: str, number: Decimal) -> str:
        """Write a number that has few decimals."""
        return write_number(number, name) if number.is_finite() else str(number)

    def value(self, name: str, value: float, dtype: str) -> str:
        """Write a number that a row holds."""
        own = np.dtype(dtype).type(value)
        return write_number(Decimal(str(own)), name) if np.isfinite(own) else str(own)

    def equal(self, name: str, value: str) -> str:
        """Say what a column holds."""
        return f"{name} is {value}"

    def between(self, name: str, start: str | None, end: str | None, *, is_whole: bool = False) -> str:
        """Say that a column lies above a start and up to an end; of whole numbers the start is the first."""
        if start is None:
            return f"{name} ≤ {end}"
        if end is None:
            return f"{name} {'≥' if is_whole else '>'} {start}"
        return f"{name} between {start} and {end}" if is_whole else f"{start} < {name} ≤ {end}"

    def among(self, name: str, labels: Sequence[str], *, by_exclusion: bool) -> str:
        """Say that a column holds one of some categories, or none of them."""
        quoted = [f'"{label}"' if JOINING.search(label) and label[:1] != '"' else label for label in labels]
        if len(quoted) == 1:
            return f"{name} {'is not' if by_exclusion else 'is'} {quoted[0]}"
        first, last = ", ".join(quoted[:-1]), quoted[-1]
        return f"{name} is neither {first} nor {last}" if by_exclusion else f"{name} is {first} or {last}"

    def or_missing(self, name: str, text: str) -> str:
        """Say that a column may be missing, too."""
        return f"{text} or {'' if text.startswith(name) else f'{name} '}is missing"


def find_voice(rules: Rules) -> PlainVoice:
    """Find how to put the conditions of a rule set: by its training rows, where they are in memory."""
    needed = _find_limits(rules.tree)
    if not needed or rules.training is None:
        return PlainVoice({})
    with suppress(SecateurError), rules._open(rules.training.X, rules.training.y) as source:
        if source.in_memory:
            found: list[dict[int, dict[float, tuple[float, float]]]] = list(
                source.map_unlabelled(rules.tree, lambda rows, _: _look_around(rows, needed))
            )
            return PlainVoice(found[0] if found else {})
    return PlainVoice({})


def _find_limits(tree: Tree) -> dict[int, list[float]]:
    """List, by feature, the limits that the values of the column may change the words of, in increasing order."""
    splits = np.flatnonzero(~tree.is_leaf)
    asked: dict[int, set[float]] = {}
    for feature, limit in set(zip(tree.feature[splits].tolist(), tree.upper[splits].tolist(), strict=True)):
        is_number = tree.categories[feature] is None and feature not in tree.facts.decimals_of
        if is_number and math.isfinite(limit) and needs_values(limit, tree.dtype):
            asked.setdefault(feature, set()).add(limit)
    return {feature: sorted(limits) for feature, limits in asked.items()}


def _look_around(rows: Rows, needed: Mapping[int, Sequence[float]]) -> dict[int, dict[float, tuple[float, float]]]:
    """Find the values next to each limit."""
    found = {}
    for feature, limits in needed.items():
        values = rows.select(0, rows.n_rows, np.array([feature]))[:, 0]
        below, above = find_neighbours(values, np.array(limits)).tolist()
        found[feature] = dict(zip(limits, zip(below, above, strict=True), strict=True))
    return found


def read_asked(rules: Rules, links: Iterable[int], under: Iterable[int] = ()) -> tuple[str, ...]:
    """Word what links ask together, under a heading of other links, a condition each, for people."""
    return tuple(one.text for one in read_conditions(rules.tree, rules.paths, links, rules.voice, under))


def join_asked(asked: Sequence[str]) -> str:
    """Join what a rule asks in a line, with brackets around a condition that says "or" unless it is alone."""
    return " and ".join(bracket_asked(asked)) or "always"


def bracket_asked(asked: Sequence[str]) -> list[str]:
    """Put brackets around a condition that says "or", unless it is alone."""
    return [f"({one})" if " or " in one and len(asked) > 1 else one for one in asked]


def rounds_a_number(rules: Rules, shown: Iterable[Any]) -> bool:
    """Whether a limit of the rules that are shown is rounded further than every possible row allows."""
    voice, tree = rules.voice, rules.tree
    return bool(voice.neighbours) and any(
        voice.is_rounded(condition.feature, limit, tree.dtype)
        for rule in shown
        for condition in rule.conditions
        if condition.categories is None
        for limit in (condition.low, condition.high)
    )
