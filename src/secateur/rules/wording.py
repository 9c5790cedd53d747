"""How a condition reads: the one place that turns regions and numbers into words.

A printed threshold never lies: it is the shortest decimal that, read back as a float64, keeps every number of the
tree's dtype on its side.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from secateur.tree.decimals import last_on_grid
from secateur.tree.regions import Region, read_links

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secateur.rules.rule import Rule
    from secateur.tree.facts import Group
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Label, Tree

__all__ = [
    "Condition",
    "join_conditions",
    "read_conditions",
    "read_count",
    "read_evidence",
    "read_link",
    "read_share",
    "read_threshold",
    "read_value",
]

# What a name must not hold to be read at once: comparisons, words that join conditions, or nothing but a number.
CONFUSING = re.compile(r"[<>]|\s(=|!=|==|in|is|and|or)\s|^[-+.\d]+$")
MAX_DIGITS = 17  # enough significant digits for every float64
ROUNDINGS = {
    digits: [Context(prec=digits, rounding=rounding) for rounding in (ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN)]
    for digits in range(1, MAX_DIGITS + 1)
}


@dataclass(frozen=True)
class Condition:
    """What a rule asks of one column, or of one group of columns, its bounds merged.

    Attributes
    ----------
    feature : int
        Column index; of a group, the column that the path tests first.
    name : str
        Name of the column or group.
    low, high : float
        The feature is a number in ``low < x <= high``, both in the tree's dtype; infinite where there is no bound.
    categories : tuple of labels, or None
        The allowed categories of a categorical feature or group; None for a numeric one.
    unlisted : bool
        Whether a categorical feature may hold a value that is none of its categories; for a group, whether none of its
        columns may be 1.
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


def read_conditions(tree: Tree, paths: Paths, links: Iterable[int]) -> tuple[Condition, ...]:
    """Merge the links' conditions by what they are about, in the order in which the path first tests it.

    A condition is about a column, or about a group of columns that stand for one categorical.
    """
    chosen = [int(link) for link in links]
    group_of = tree.facts.group_of
    merged: dict[int, tuple[int, Region, list[int]]] = {}
    for link, (feature, region) in zip(chosen, read_links(tree, paths, chosen), strict=True):
        subject = feature
        if feature in group_of:
            subject = tree.n_features + group_of[feature]
            region = _read_column_of_group(tree.facts.groups[group_of[feature]], feature, region)
        first, whole, of_subject = merged.get(subject, (feature, region, []))
        merged[subject] = first, whole.meet(region), [*of_subject, link]
    conditions = []
    for subject, (feature, region, of_subject) in merged.items():
        name, levels = _describe(tree, subject)
        codes = region.codes or frozenset()
        conditions.append(
            Condition(
                feature=feature,
                name=name,
                low=region.low,
                high=region.high,
                categories=None
                if levels is None
                else tuple(levels[code] for code in sorted(codes) if code < len(levels)),
                unlisted=levels is not None and len(levels) in codes,
                missing=region.missing,
                link_ids=tuple(of_subject),
                text=_read_region(tree, subject, region),
            )
        )
    return tuple(conditions)


def join_conditions(conditions: Sequence[Condition]) -> str:
    """A rule's conditions in a line; one that says "or" is bracketed where something follows or precedes it."""
    if not conditions:
        return "always"
    if len(conditions) == 1:
        return conditions[0].text
    return " and ".join(f"({c.text})" if " or " in c.text.replace(c.name, "") else c.text for c in conditions)


def read_link(tree: Tree, paths: Paths, link: int) -> str:
    """One link's own condition in words."""
    return read_conditions(tree, paths, [link])[0].text


def read_threshold(limit: float, dtype: str) -> str:
    """The shortest decimal that keeps every number of dtype on its side of a limit in dtype.

    Parameters
    ----------
    limit : float
        A threshold rounded down to dtype.
    dtype : {"float32", "float64"}

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


def read_value(tree: Tree, feature: int, value: Label | None) -> str:
    """What a row holds in a column, as an equation; a column of a group says what it means for the group."""
    place = tree.facts.group_of.get(feature)
    if place is not None and value in (0, 1):
        group = tree.facts.groups[place]
        label = group.labels[group.features.index(feature)]
        return f"{group.name} {'=' if value == 1 else '!='} {_read_label(label)}"
    if isinstance(value, float) and (n_decimals := tree.facts.grid_of.get(feature)) is not None:
        return f"{tree.feature_name(feature)} = {_plain_decimal(last_on_grid(value, n_decimals, tree.dtype))}"
    return f"{tree.feature_name(feature)} = {_read_number_or_label(value, tree.dtype)}"


@lru_cache(maxsize=65536, typed=True)
def _read_number_or_label(value: Label | None, dtype: str) -> str:
    if value is None:
        return "missing"
    return str(np.dtype(dtype).type(value)).removesuffix(".0") if isinstance(value, float) else str(value)


def _read_column_of_group(group: Group, feature: int, region: Region) -> Region:
    """What a condition on a group's column says of the categorical: the code of each label, and the next for none."""
    own = group.features.index(feature)
    with_zero = region.low < 0 <= region.high
    with_one = region.low < 1 <= region.high
    others = frozenset(range(len(group.labels) + 1)) - {own}
    return Region(codes=(others if with_zero else frozenset()) | ({own} if with_one else frozenset()))


def _read_name(name: str) -> str:
    """A name in a condition: between backticks where it could be taken for a part of it."""
    return f"`{name}`" if CONFUSING.search(name) or name != name.strip() or not name else name


def _describe(tree: Tree, subject: int) -> tuple[str, tuple[Label, ...] | None]:
    """The name of what a condition is about, and its labels if it is no number."""
    if subject >= tree.n_features:
        group = tree.facts.groups[subject - tree.n_features]
        return group.name, group.labels
    return tree.feature_name(subject), tree.categories[subject]


def _read_region(tree: Tree, subject: int, region: Region) -> str:
    name, levels = _describe(tree, subject)
    name = _read_name(name)
    can_be_missing = _can_be_missing(tree, subject)
    cuts = None if tree.columns is None or subject >= tree.n_features else tree.columns.cuts[subject]
    if levels is None:
        domain, listed = _read_interval(tree, subject, region)
    elif cuts is not None:
        domain, listed = _read_cells(name, cuts, region, tree.dtype)
    else:
        is_closed = tree.columns is not None and subject < tree.n_features and tree.columns.closed[subject]
        domain, listed = _read_set(name, levels, region, is_closed=is_closed)
    or_missing = region.missing and can_be_missing
    if domain == "nothing":
        return f"{name} is missing" if or_missing else f"{name} is impossible"
    if domain == "everything":
        return f"{name} is anything" if or_missing or not can_be_missing else f"{name} is not missing"
    return f"{listed} or missing" if or_missing else listed


def _read_interval(tree: Tree, feature: int, region: Region) -> tuple[str, str]:
    """How much of the numbers a region holds, and the region in words; a bound that every row keeps goes unsaid."""
    name, (lowest, highest) = _read_name(tree.feature_name(feature)), _bounds(tree, feature)
    low, high = max(region.low, lowest), min(region.high, highest)
    n_decimals = tree.facts.grid_of.get(feature)
    if n_decimals is not None:
        step = Decimal(1).scaleb(-n_decimals)
        first, last = (
            Decimal(end) if math.isinf(end) else last_on_grid(end, n_decimals, tree.dtype) for end in (low, high)
        )
        if first >= last:
            return "nothing", ""
        if first + step == last:
            return "some", f"{name} = {_plain_decimal(last)}"
        # Of whole numbers everybody knows which is next.
        above, below = (">=", "<=") if n_decimals == 0 else (">", "<")
        shown = first + step if n_decimals == 0 else first
        start = None if low <= lowest else _plain_decimal(shown)
        end = None if high >= highest else _plain_decimal(last)
    else:
        if low >= high:
            return "nothing", ""
        start = None if low <= lowest else read_threshold(low, tree.dtype)
        end = None if high >= highest else read_threshold(high, tree.dtype)
        above, below = ">", "<"
    if start is None:
        return ("everything", "") if end is None else ("some", f"{name} <= {end}")
    return "some", f"{name} {above} {start}" if end is None else f"{start} {below} {name} <= {end}"


def _can_be_missing(tree: Tree, subject: int) -> bool:
    """Whether the tree takes a missing value and no fact speaks against it."""
    if subject >= tree.n_features or not tree.accepts_missing[subject]:
        return False
    held = tree.facts.region_of(subject)
    return held is None or held.missing


def _bounds(tree: Tree, feature: int) -> tuple[float, float]:
    """The ends of what a number can be, as far as facts tell."""
    held = tree.facts.region_of(feature)
    return (-math.inf, math.inf) if held is None else (held.low, held.high)


def _plain_decimal(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _read_cells(name: str, cuts: tuple[float, ...], region: Region, dtype: str) -> tuple[str, str]:
    """A set of cells of a number, neighbours joined."""
    codes = sorted(region.codes or ())
    if len(codes) in (0, len(cuts) + 1):
        return "everything" if codes else "nothing", ""
    starts = [code for code in codes if code - 1 not in codes]
    ends = [code for code in codes if code + 1 not in codes]
    parts = []
    for first, last in zip(starts, ends, strict=True):
        low = None if first == 0 else read_threshold(cuts[first - 1], dtype)
        high = None if last == len(cuts) else read_threshold(cuts[last], dtype)
        if low is None:
            parts.append(f"{name} <= {high}")
        else:
            parts.append(f"{name} > {low}" if high is None else f"{low} < {name} <= {high}")
    return "some", " or ".join(parts)


def _read_set(name: str, levels: tuple[Label, ...], region: Region, *, is_closed: bool) -> tuple[str, str]:
    """A set of categories: those that are in it, or those that are not."""
    allowed = region.codes or frozenset()
    listed = [code for code in range(len(levels)) if code in allowed]
    n_all = len(levels) if is_closed else len(levels) + 1
    n_held = len(listed) if is_closed else len(allowed)
    if n_held in (0, n_all):
        return "everything" if n_held else "nothing", ""
    # Where there is nothing but what is listed, the shorter list tells as much.
    by_exclusion = 2 * len(listed) > len(levels) if is_closed else len(levels) in allowed
    chosen = [code for code in range(len(levels)) if code not in allowed] if by_exclusion else listed
    named = [_read_label(levels[code]) for code in chosen]
    if len(named) == 1:
        return "some", f"{name} {'!=' if by_exclusion else '='} {named[0]}"
    return "some", f"{name} {'not in' if by_exclusion else 'in'} {{{', '.join(named)}}}"


def _read_label(label: Label) -> str:
    """A label in a list: quoted where it would be misread."""
    text = str(label)
    return f'"{text}"' if not text or text != text.strip() or any(mark in text for mark in ",{}") else text


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


def read_evidence(rule: Rule) -> str:
    """Support and reliability in words."""
    if rule.support is None:
        return "support unknown"
    if rule.reliability is None:
        return "no row"
    amount = read_count(rule.support)
    rows = f"weight {amount}" if rule.is_weighted else f"{amount} row{'' if rule.support == 1 else 's'}"
    return f"{rows}, {read_share(rule.reliability)} {rule.class_name}"
