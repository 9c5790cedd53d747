"""What a regression tree predicts, in words: a value in few digits, and how far off it may be."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache

from secateur.tree.tree import Tree
from secateur.words.plain_words import MOST_DIGITS, write_number

__all__ = ["find_pattern", "read_amount", "read_limit", "read_target", "round_target"]

FINE = 5  # a printed value is rounded to a power of ten that is at most so small a part of the tolerance
SHORT = 4  # digits of a mean, a spread or a tolerance


@lru_cache(maxsize=65536)
def round_target(value: float, low: float, high: float, tolerance: float) -> Decimal:
    """Round a value to few digits, with at most a tenth of the tolerance lost, and no further than from low to high.

    Examples
    --------
    >>> str(round_target(247.31, 240.0, 255.0, 20.0)), str(round_target(247.31, 247.25, 247.35, 20.0))
    ('247', '247.3')
    """
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


def read_target(value: float, window: tuple[float, float] | None, tolerance: float, pattern: str = "{}") -> str:
    """Write the value of a line, rounded so that it stays within the tolerance of both ends of its window.

    Examples
    --------
    >>> read_target(1247.3, (1230.0, 1260.0), 20.0, "€{}"), read_target(0.5, None, 0.0)
    ('about €1,247', '0.5')
    """
    low, high = (value, value) if window is None else (window[1] - tolerance, window[0] + tolerance)
    if window is None:  # of one leaf: what is written may be off by what rounding a value for people costs
        low, high = value - tolerance / FINE, value + tolerance / FINE
    short = pattern.replace("{}", write_number(round_target(value, min(low, value), max(high, value), tolerance)))
    return f"about {short}" if tolerance > 0 else short


def read_amount(number: float) -> str:
    """Write a mean or a spread in few digits.

    Examples
    --------
    >>> read_amount(1234.5678), read_amount(0.000123456)
    ('1,235', '0.0001235')
    """
    digits = max(SHORT, Decimal(number).adjusted() + 1) if math.isfinite(number) and number else SHORT
    return write_number(Context(prec=digits, rounding=ROUND_HALF_EVEN).create_decimal(Decimal(number)))


def read_limit(number: float, pattern: str = "{}") -> str:
    """Write a tolerance in few digits, never smaller than it is.

    Examples
    --------
    >>> read_limit(19.2716), read_limit(0.25), read_limit(0.0)
    ('19.28', '0.25', '0')
    """
    short = Context(prec=SHORT, rounding=ROUND_CEILING).create_decimal(Decimal(repr(float(number))))
    return pattern.replace("{}", write_number(short))
