"""Say conditions and values as people say them: "is", "is not", "≤", and short numbers with marks between thousands.

A model that computes in float32 stores 0.8 as 0.800000011920929, and limits lie halfway between two values. People read
0.8. The number that is shown is the shortest decimal with no other number of the model's type between it and the limit.
If that still takes many digits, and the values of the column are known, the limit is rounded as far as no value
changes its side. Exports and ``text`` keep the exact number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.errors import SecateurError
from secateur.tree.columns import is_closed, show_text
from secateur.words.conditions import Voice, read_conditions

if TYPE_CHECKING:
    from secateur.rows.rows import Rows
    from secateur.rules.rules import Rules
    from secateur.tree.tree import Tree

SHORT_ENOUGH = 5  # significant digits that nobody minds; such a number is right for every possible row
FEWEST_DIGITS = 3  # rounding keeps as many, and all before the point: a number stays recognisable
MOST_DIGITS = 17  # enough for every float64
LEAST_PLAIN, MOST_PLAIN = -5, 15  # powers of ten between which no exponent is written
# Numbers that name something, so that no mark stands between their thousands.
NAMING = re.compile(r"year|zip|postal|postcode|(^|[^a-z])id($|[^a-z])", re.IGNORECASE)


class ShortNumber(NamedTuple):
    """A number for people, and whether it was rounded further than every possible row allows."""

    value: Decimal
    is_rounded: bool = False


@lru_cache(maxsize=65536)
def shorten_number(limit: float, dtype: str, below: float = math.nan, above: float = math.nan) -> ShortNumber:
    """Shorten a finite limit, a number of dtype, for people.

    The values of the column next to it are ``below <= limit < above``; infinite where there is none, NaN if the
    column's values are not known.
    """
    kind = _find_kind(limit, dtype)
    own = float(kind(limit))
    nearest = _shortest_between(own, kind, halfway=False)
    if math.isnan(below):
        return ShortNumber(nearest)
    read = float(kind(float(nearest)))
    fits = read == own or below < read < above
    if fits and count_digits(nearest) <= SHORT_ENOUGH:
        return ShortNumber(nearest)
    for digits in range(max(FEWEST_DIGITS, Decimal(own).adjusted() + 1), MOST_DIGITS):
        rounded = Context(prec=digits, rounding=ROUND_HALF_EVEN).create_decimal(Decimal(own))
        read = float(kind(float(rounded)))
        if read == own or (fits and digits >= count_digits(nearest)):
            break
        if below < read < above:
            return ShortNumber(rounded.normalize(), is_rounded=True)
    if fits:
        return ShortNumber(nearest)
    return ShortNumber(_shortest_between(own, kind, halfway=True))


def needs_values(limit: float, dtype: str) -> bool:
    """Whether the values of the column may change how a limit is shown."""
    short = shorten_number(limit, dtype).value
    kind = _find_kind(limit, dtype)
    return count_digits(short) > SHORT_ENOUGH or float(kind(float(short))) != float(kind(limit))


def find_neighbours(values: NDArray[np.floating], limits: NDArray[np.floating]) -> NDArray[np.float64]:
    """Find the values next to some increasing limits: the last that does not exceed each, and the first that does.

    They are infinite where there is no such value; NaN is nobody's neighbour.
    """
    known = values[~np.isnan(values)].astype(np.float64)
    gap = np.searchsorted(limits.astype(np.float64), known, side="left")  # the first limit that a value does not exceed
    low = np.full(len(limits) + 1, np.inf)
    high = np.full(len(limits) + 1, -np.inf)
    np.minimum.at(low, gap, known)
    np.maximum.at(high, gap, known)
    below = np.maximum.accumulate(high)[:-1]
    above = np.minimum.accumulate(low[::-1])[::-1][1:]
    return np.stack([below, above])


def write_number(number: Decimal, name: str = "") -> str:
    """Write a number with a mark between thousands, unless the column's name says that it names something."""
    plain = number.normalize()
    if plain and not LEAST_PLAIN <= plain.adjusted() <= MOST_PLAIN:
        return f"{plain:e}".replace("e+", "e")
    return f"{plain:f}" if NAMING.search(name) else f"{plain:,f}"


def count_digits(number: Decimal) -> int:
    """Count the digits that are left when noughts at either end are dropped."""
    return len(number.normalize().as_tuple().digits)


def _find_kind(limit: float, dtype: str) -> type[np.floating]:
    """Find the type in which a limit was computed."""
    if dtype == "float64":  # if its model rounds to float32, limits are at the very edge of what is rounded
        with np.errstate(over="ignore"):
            is_edge = np.float32(limit) != np.float32(np.nextafter(limit, np.inf))
        return np.float32 if is_edge and np.isfinite(np.float32(limit)) else np.float64
    return np.float32


def _shortest_between(own: float, kind: type[np.floating], *, halfway: bool) -> Decimal:
    """Find the shortest decimal between the neighbours of a number, or halfway to them; of equal ones the nearest."""
    if own == 0:
        return Decimal(0)
    exact = Decimal(own)
    with np.errstate(over="ignore"):
        before, after = (float(np.nextafter(kind(own), kind(end))) for end in (-np.inf, np.inf))
    for digits in range(1, MOST_DIGITS + 1):
        tried = {
            Context(prec=digits, rounding=way).create_decimal(exact)
            for way in (ROUND_FLOOR, ROUND_CEILING, ROUND_HALF_EVEN)
        }
        with np.errstate(over="ignore"):
            fitting = [
                one
                for one in tried
                if (float(kind(float(one))) == own if halfway else Decimal(before) < one < Decimal(after))
            ]
        if fitting:
            best = min(fitting, key=lambda one: (float(kind(float(one))) != own, abs(one - exact)))
            return best.normalize()
    return exact


UNKNOWN = (math.nan, math.nan)
ROUNDED = (
    "Numbers are rounded so that no row of the table changes its side; rule.text, CSV and exports that run have the "
    "exact ones."
)
JOINING = re.compile(r"\s(or|and)\s")


class PlainVoice(Voice):
    """How a condition is put for people; by feature and limit, it knows the values of the column next to a limit."""

    def __init__(self, neighbours: Mapping[int, Mapping[float, tuple[float, float]]], most_named: int = 3) -> None:
        self.neighbours, self.most_named = neighbours, most_named

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
        several, _, last = text.removeprefix(f"{name} is ").rpartition(" or ")
        if several and '"' not in text and text.startswith(f"{name} is "):
            return f"{name} is {several}, {last} or missing"
        return f"{text} or {'' if text.startswith(name) else f'{name} '}is missing"


def find_voice(rules: Rules) -> PlainVoice:
    """Find how to put the conditions of a rule set: by its training rows, where they are in memory."""
    return PlainVoice(look_around(rules, _find_limits(rules.tree)))


def describe_unknown(rules: Rules, shown: Iterable[Any]) -> list[str]:
    """Say how a label is answered that the tree does not know, where lines name all others that they allow."""
    tree, told = rules.tree, {}
    for one in (one for line in shown for one in line.whole_conditions):
        is_open = one.unlisted and one.feature not in tree.facts.group_of and not is_closed(tree, one.feature)
        if is_open and 0 < len(one.categories) <= rules.voice.most_named:
            nodes, levels = np.flatnonzero((tree.feature == one.feature) & ~tree.is_leaf), tree.categories[one.feature]
            sides = [np.isin(np.arange(len(levels) + 1), tree.left_codes(node)) for node in nodes]
            same = np.flatnonzero(np.all([side[:-1] == side[-1] for side in sides], axis=0)).tolist()
            like = f"like {show_text(str(levels[same[0]]))}" if same else "by the condition of each line, see rule.text"
            told[show_text(one.name)] = like
    listed = "; ".join(f"{name} {how}" for name, how in sorted(told.items()))
    return [f"A label that the tree does not know is answered so: {listed}."] if told else []


def look_around(rules: Rules, needed: Mapping[int, Sequence[float]]) -> dict[int, dict[float, tuple[float, float]]]:
    """Find the training values next to increasing limits of features; nothing where no rows are in memory."""

    def look(rows: Rows) -> dict[int, dict[float, tuple[float, float]]]:
        found = {}
        for feature, limits in needed.items():
            values = rows.select(0, rows.n_rows, np.array([feature]))[:, 0]
            below, above = find_neighbours(values, np.array(limits)).tolist()
            found[feature] = dict(zip(limits, zip(below, above, strict=True), strict=True))
        return found

    return look_at_training(rules, look) if needed else {}


def look_at_training(rules: Rules, look: Callable[[Rows], dict[int, Any]]) -> dict[int, Any]:
    """Find something of the training rows, by feature; nothing where they are not in memory, or cannot be read."""
    if rules.training is not None:
        with suppress(SecateurError), rules._open(rules.training.X, rules.training.y) as source:
            if source.in_memory:
                return next(iter(source.map_unlabelled(rules.tree, lambda rows, _: look(rows))), {})
    return {}


def _find_limits(tree: Tree) -> dict[int, list[float]]:
    """List, by feature, the limits that the values of the column may change the words of, in increasing order."""
    splits = np.flatnonzero(~tree.is_leaf)
    asked: dict[int, set[float]] = {}
    for feature, limit in set(zip(tree.feature[splits].tolist(), tree.upper[splits].tolist(), strict=True)):
        is_number = tree.categories[feature] is None and feature not in tree.facts.decimals_of
        if is_number and math.isfinite(limit) and needs_values(limit, tree.dtype):
            asked.setdefault(feature, set()).add(limit)
    return {feature: sorted(limits) for feature, limits in asked.items()}


def format_asked(rules: Rules, links: Iterable[int], under: Iterable[int] = ()) -> tuple[str, ...]:
    """Word what links ask together, under a heading of other links, a condition each, for people."""
    key = tuple(links), tuple(under)
    if key not in rules.wordings:
        found = read_conditions(rules.tree, rules.paths, key[0], rules.voice, key[1])
        rules.wordings[key] = tuple(one.text for one in found)
    return rules.wordings[key]


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


FINE = 5  # a printed value is rounded to a power of ten that is at most so small a part of the tolerance
SHORT = 4  # digits of a mean, a spread or a tolerance


@lru_cache(maxsize=65536)
def round_target(value: float, low: float, high: float, tolerance: float) -> Decimal:
    """Round a value to few digits, with at most a tenth of the tolerance lost, and no further than from low to high."""
    exact = Decimal(value)
    if not tolerance > 0:
        return Decimal(repr(value)).normalize()
    step = math.floor(math.log10(tolerance / FINE))
    for digits in range(max(exact.adjusted() - step + 1, 1), MOST_DIGITS):
        for way in (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING):
            rounded = Context(prec=digits, rounding=way).create_decimal(exact)
            if Decimal(low) <= rounded <= Decimal(high):
                return rounded.normalize()
    return Decimal(repr(value)).normalize()


def find_pattern(tree: Tree) -> str:
    """Find how values are written: the name of the only class, if it leaves a place for them, such as ``"€{}"``."""
    name = tree.class_names[0]
    return name if name.count("{}") == 1 else "{}"


def format_target(value: float, window: tuple[float, float] | None, tolerance: float, pattern: str = "{}") -> str:
    """Write the value of a line, rounded so that it stays within the tolerance of both ends of its window."""
    low, high = (value, value) if window is None else (window[1] - tolerance, window[0] + tolerance)
    if window is None:  # of one leaf: what is written may be off by what rounding a value for people costs
        low, high = value - tolerance / FINE, value + tolerance / FINE
    short = pattern.replace("{}", write_number(round_target(value, min(low, value), max(high, value), tolerance)))
    return f"about {short}" if tolerance > 0 else short


def format_amount(number: float) -> str:
    """Write a mean or a spread in few digits."""
    digits = max(SHORT, Decimal(number).adjusted() + 1) if math.isfinite(number) and number else SHORT
    return write_number(Context(prec=digits, rounding=ROUND_HALF_EVEN).create_decimal(Decimal(number)))


def format_limit(number: float, pattern: str = "{}") -> str:
    """Write a tolerance in few digits, never smaller than it is; that of percentages is in points."""
    pattern = f"{pattern.rstrip(' %')} points" if pattern.endswith("%") else pattern
    short = Context(prec=SHORT, rounding=ROUND_CEILING).create_decimal(Decimal(repr(float(number))))
    return pattern.replace("{}", write_number(short))
