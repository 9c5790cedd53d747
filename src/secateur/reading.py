"""How a condition reads: the one place that turns regions and numbers into words.

A printed threshold never lies: it is the shortest decimal that, read back as a float64, keeps every number of the
tree's dtype on its side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from secateur.regions import read_links

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secateur.annotation import Annotation
    from secateur.regions import Region
    from secateur.tree import Label, Tree

__all__ = ["Condition", "join_conditions", "read_conditions", "read_count", "read_link", "read_share", "read_threshold"]

MAX_DIGITS = 17  # enough significant digits for every float64
ROUNDINGS = {
    digits: [Context(prec=digits, rounding=rounding) for rounding in (ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN)]
    for digits in range(1, MAX_DIGITS + 1)
}


@dataclass(frozen=True)
class Condition:
    """What a rule asks of one feature, its bounds merged.

    Attributes
    ----------
    feature : int
        Column index.
    name : str
        Column name.
    low, high : float
        The feature is a number in ``low < x <= high``, both in the tree's dtype; infinite where there is no bound.
    categories : tuple of labels, or None
        The allowed categories of a categorical feature; None for a numeric one.
    unlisted : bool
        Whether a categorical feature may hold a value that is none of its categories.
    missing : bool
        Whether NaN satisfies the condition.
    link_ids : tuple of int
        The links that were merged, root to leaf.
    text : str
        The condition in words, also its ``str()``.
    """

    feature: int
    name: str
    low: float
    high: float
    categories: tuple[Label, ...] | None
    unlisted: bool
    missing: bool
    link_ids: tuple[int, ...]
    text: str

    def __str__(self) -> str:
        return self.text


def read_conditions(tree: Tree, notes: Annotation, links: Iterable[int]) -> tuple[Condition, ...]:
    """Merge the links' conditions feature by feature, in the order in which the path first tests them."""
    chosen = [int(link) for link in links]
    merged: dict[int, tuple[Region, list[int]]] = {}
    for link, (feature, region) in zip(chosen, read_links(tree, notes, chosen), strict=True):
        whole, of_feature = merged.get(feature, (region, []))
        merged[feature] = whole.meet(region), [*of_feature, link]
    conditions = []
    for feature, (region, of_feature) in merged.items():
        levels = tree.categories[feature]
        codes = region.codes or frozenset()
        conditions.append(
            Condition(
                feature=feature,
                name=tree.feature_name(feature),
                low=region.low,
                high=region.high,
                categories=None
                if levels is None
                else tuple(levels[code] for code in sorted(codes) if code < len(levels)),
                unlisted=levels is not None and len(levels) in codes,
                missing=region.missing,
                link_ids=tuple(of_feature),
                text=_read_region(tree, feature, region),
            )
        )
    return tuple(conditions)


def join_conditions(conditions: Sequence[Condition]) -> str:
    """A rule's conditions in a line; "or missing" is bracketed where something follows or precedes it."""
    if not conditions:
        return "always"
    alone = len(conditions) == 1
    return " and ".join(f"({c.text})" if c.missing and " or " in c.text and not alone else c.text for c in conditions)


def read_link(tree: Tree, notes: Annotation, link: int) -> str:
    """One link's own condition in words."""
    return read_conditions(tree, notes, [link])[0].text


def read_threshold(limit: float, dtype: str) -> str:
    """The shortest decimal that keeps every number of dtype on its side of a limit in dtype.

    Parameters
    ----------
    limit : float
        A threshold rounded down to dtype.
    dtype : {"float32", "float64"}

    Returns
    -------
    str

    Examples
    --------
    >>> read_threshold(0.5, "float32")
    '0.5'
    >>> read_threshold(float(np.float32(0.8)), "float32")  # float32(0.8) is a little more than 0.8
    '0.80000002'
    """
    return _shortest_decimal(float(limit), dtype)


def read_count(value: float) -> str:
    """A number of rows, weighted or not."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"


def read_share(value: float | None) -> str:
    """A share as a percentage that never rounds up to 100 % or down to 0 %."""
    if value is None or math.isnan(value):
        return "unknown"
    if 0 < value < 1 and f"{value:.1%}" in ("0.0%", "100.0%"):
        return "<0.1%" if value < 0.5 else ">99.9%"
    return f"{value:.1%}"


def _read_region(tree: Tree, feature: int, region: Region) -> str:
    name = tree.feature_name(feature)
    if not region.has_listed_value:
        return f"{name} is missing" if region.missing else f"{name} is impossible"
    if region.codes is None:
        is_whole = math.isinf(region.low) and math.isinf(region.high)
    else:
        is_whole = len(region.codes) == len(tree.categories[feature] or ()) + 1
    if is_whole:
        takes_all = region.missing or not tree.accepts_missing[feature]
        return f"{name} is anything" if takes_all else f"{name} is not missing"
    listed = _read_interval(name, region, tree.dtype) if region.codes is None else _read_set(tree, feature, region)
    return f"{listed} or missing" if region.missing else listed


def _read_interval(name: str, region: Region, dtype: str) -> str:
    if math.isinf(region.low):
        return f"{name} <= {read_threshold(region.high, dtype)}"
    if math.isinf(region.high):
        return f"{name} > {read_threshold(region.low, dtype)}"
    return f"{read_threshold(region.low, dtype)} < {name} <= {read_threshold(region.high, dtype)}"


def _read_set(tree: Tree, feature: int, region: Region) -> str:
    levels = tree.categories[feature] or ()
    allowed = region.codes or frozenset()
    unlisted = len(levels) in allowed
    named = [str(label) for code, label in enumerate(levels) if (code in allowed) != unlisted]
    if len(named) == 1:
        return f"{tree.feature_name(feature)} {'!=' if unlisted else '='} {named[0]}"
    return f"{tree.feature_name(feature)} {'not in' if unlisted else 'in'} {{{', '.join(named)}}}"


@lru_cache(maxsize=65536)
def _shortest_decimal(limit: float, dtype: str) -> str:
    if limit == 0 or math.isinf(limit):
        return "0" if limit == 0 else str(limit)
    with np.errstate(over="ignore"):
        beyond = float(np.nextafter(np.dtype(dtype).type(limit), np.inf))
    middle = limit / 2 + beyond / 2
    exact = Decimal(limit)
    # Where the upper half of the gap is avoided at no cost, the text keeps its side even when read as a float32.
    aims = (exact, Decimal(middle) if math.isfinite(middle) else exact)
    gap = beyond - limit
    for digits in range(1, MAX_DIGITS + 1):
        # The decimal nearest to the middle lies beside the gap, by more than rounding explains: then they all do.
        if abs(float(f"{middle:.{digits - 1}e}") - middle) > 2 * gap:
            continue
        candidates = {context.create_decimal(aim) for aim in aims for context in ROUNDINGS[digits]}
        fitting = [decimal for decimal in candidates if limit <= float(decimal) < beyond]
        if fitting:
            return _plain(min(fitting, key=lambda decimal: (float(decimal) >= middle, abs(decimal - exact))))
    return repr(limit)


def _plain(decimal: Decimal) -> str:
    value = float(decimal)
    text = repr(value)
    return text.removesuffix(".0")
