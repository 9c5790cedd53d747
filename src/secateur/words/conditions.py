"""Word conditions: the one place that turns regions and numbers into text.

A text that a machine may read never lies: a threshold is the shortest decimal that, read back as a float64, keeps every
number of the tree's dtype on its side. What people read has a voice of its own (:mod:`secateur.words.plain_words`).
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from secateur.tree.columns import DAY, MOST_DAYS, STEPS, ColumnParser, find_cuts, is_closed, join_cells, show_text
from secateur.tree.facts import Group
from secateur.tree.paths import Paths
from secateur.tree.regions import Region, find_last, last_with_decimals, read_links
from secateur.tree.tree import Label, Tree

# Names that could be taken for a part of a condition: they hold comparisons or joining words, or are just a number.
CONFUSING = re.compile(r"[<>]|\s(=|!=|==|in|is|and|or)\s|^[-+.\d]+$")
BARE_NUMBER = re.compile(r"[-+]?[\d.]+")
SIX_DIGITS = Context(prec=6, rounding=ROUND_HALF_UP)  # as the page's scripts round
LEAST_FIXED = 1e-6
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


class Voice:
    """How a condition is put: here, as a machine could read it back."""

    most_named = 0  # labels that are named instead of those that a condition rules out

    def limit(self, name: str, feature: int, limit: float, dtype: str) -> str:
        """Write a limit of a column."""
        return format_threshold(limit, dtype)

    def decimal(self, name: str, number: Decimal) -> str:
        """Write a number that has few decimals."""
        return _plain_decimal(number)

    def value(self, name: str, value: float, dtype: str) -> str:
        """Write a number that a row holds."""
        return _read_number(value, dtype)

    def equal(self, name: str, value: str) -> str:
        """Say what a column holds."""
        return f"{name} = {value}"

    def between(self, name: str, start: str | None, end: str | None, *, is_whole: bool = False) -> str:
        """Say that a column lies above a start and up to an end; of whole numbers the start is the first."""
        above, below = (">=", "<=") if is_whole else (">", "<")
        if start is None:
            return f"{name} <= {end}"
        return f"{name} {above} {start}" if end is None else f"{start} {below} {name} <= {end}"

    def among(self, name: str, labels: Sequence[str], *, by_exclusion: bool) -> str:
        """Say that a column holds one of some categories, or none of them."""
        if len(labels) == 1:
            return f"{name} {'!=' if by_exclusion else '='} {labels[0]}"
        return f"{name} {'not in' if by_exclusion else 'in'} {{{', '.join(labels)}}}"

    def or_missing(self, name: str, text: str) -> str:
        """Say that a column may be missing, too."""
        return f"{text} or missing"


EXACT = Voice()


def read_conditions(
    tree: Tree, paths: Paths, links: Iterable[int], voice: Voice = EXACT, under: Iterable[int] = ()
) -> tuple[Condition, ...]:
    """Merge the links' conditions on each column, or group of columns for one categorical, in the path's order.

    ``under`` are links of a heading above: a value that it does not let be missing is not said to be.
    """
    above = {one.feature for one in read_conditions(tree, paths, under) if not one.missing} if under else set()
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
        region = region._replace(missing=region.missing and feature not in above)
        name, levels = _describe(tree, subject)
        codes = sorted(region.codes or ())
        listed = None if levels is None else tuple(levels[code] for code in codes if code < len(levels))
        conditions.append(
            Condition(
                feature=feature,
                name=name,
                low=region.low,
                high=region.high,
                categories=listed,
                unlisted=levels is not None and len(levels) in codes,
                missing=region.missing,
                link_ids=tuple(of_subject),
                text=format_region(tree, subject, region, voice),
            )
        )
    return tuple(conditions)


def count_conditions(tree: Tree, paths: Paths, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the conditions of each leaf's rule as they read: what it keeps on one column, or group, is one."""
    subject = np.arange(tree.n_features + len(tree.facts.groups), dtype=np.int64)
    for feature, group in tree.facts.group_of.items():
        subject[feature] = tree.n_features + group
    rules = paths.rule[kept].astype(np.int64)
    read = np.unique(rules * max(1, len(subject)) + subject[tree.feature[paths.parent[paths.links[kept]]]])
    return np.bincount(read // max(1, len(subject)), minlength=paths.n_rules)


def join_conditions(conditions: Sequence[Condition]) -> str:
    """Join a rule's conditions in a line, with brackets around a condition that says "or" unless it is alone."""
    if len(conditions) < 2:
        return conditions[0].text if conditions else "always"
    return " and ".join(f"({c.text})" if " or " in c.text.replace(c.name, "") else c.text for c in conditions)


def format_link(tree: Tree, paths: Paths, link: int, voice: Voice = EXACT) -> str:
    """Word one link's own condition."""
    return read_conditions(tree, paths, [link], voice)[0].text


@lru_cache(maxsize=65536)
def format_threshold(limit: float, dtype: str) -> str:
    """Find the shortest decimal that keeps every number of dtype on its side of a limit, a number of dtype."""
    limit = float(limit)
    if limit == 0 or math.isinf(limit):
        return "0" if limit == 0 else str(limit)
    with np.errstate(over="ignore"):
        beyond = float(np.nextafter(np.dtype(dtype).type(limit), np.inf))
    middle = limit / 2 + beyond / 2
    exact = Decimal(limit)
    # Decimals in the lower half of the gap come first: they keep their side even when read as a float32.
    aims = (exact, Decimal(middle) if math.isfinite(middle) else exact)
    gap = beyond - limit
    for digits in range(1, MAX_DIGITS + 1):
        # If the decimal nearest to the middle misses the gap by more than rounding explains, all decimals do.
        if abs(float(f"{middle:.{digits - 1}e}") - middle) > 2 * gap:
            continue
        candidates = {context.create_decimal(aim) for aim in aims for context in ROUNDINGS[digits]}
        fitting = [decimal for decimal in candidates if limit <= float(decimal) < beyond]
        if fitting:
            best = min(fitting, key=lambda decimal: (float(decimal) >= middle, abs(decimal - exact)))
            return repr(float(best)).removesuffix(".0")
    return repr(limit)


def format_count(value: float) -> str:
    """Write a number of rows, weighted or not: a whole number as it is, another in six digits."""
    if value == round(value):
        return f"{value:,.0f}"
    if abs(value) < LEAST_FIXED:  # a fixed point would be lost among zeros
        return f"{value:.6g}"
    return _plain_decimal(SIX_DIGITS.create_decimal(value), ",")


def count_of(number: float, noun: str) -> str:
    """Write a number of things, such as ``1 row`` or ``1,200 rows``."""
    return f"{format_count(number)} {noun}{'' if number == 1 else 's'}"


def count_rows(number: float, which: str, *, is_weighted: bool) -> str:
    """Write a number of rows of a kind, such as ``7 unseen rows``, or the sum of their weights."""
    kind = f"{which} row".lstrip()
    return f"{kind}s of weight {format_count(number)}" if is_weighted else count_of(number, kind)


def count_class(rows: str, name: str) -> str:
    """Write how many rows are of a class: ``7 of 9 default``, but ``7 of 9 are 1`` of a class that is a bare number."""
    return f"{rows} are {name}" if BARE_NUMBER.fullmatch(name) else f"{rows} {name}"


def name_class(name: str) -> str:
    """Name a class where its name stands alone: ``default``, but ``class 1``."""
    return f"class {name}" if BARE_NUMBER.fullmatch(name) else name


def format_share(value: float | None) -> str:
    """Write a share as a percentage that never rounds up to 100 % or down to 0 %."""
    if value is None or math.isnan(value):
        return "unknown"
    text = _write_percent(value, 1)
    if 0 < value < 1 and text in ("0.0 %", "100.0 %"):
        return "<0.1 %" if value < 0.5 else ">99.9 %"
    return text


def count_points(difference: float) -> str:
    """Write a difference of shares, such as ``10 points`` or ``1 point``."""
    return count_of(float(f"{100 * difference:.6g}"), "point")


def format_share_beside(value: float, limit: float) -> str:
    """Write a share as a percentage with the digits that show on which side of a limit it is."""
    if value == limit or limit == 0 or not abs(float(f"{value:.3f}") - limit) < 1e-12:  # a NaN is beside nothing
        return format_share(value)
    texts = (_write_percent(value, digits) for digits in range(2, 18))
    return next(text for text in texts if float(text.removesuffix(" %")) != 100 * limit)


def _write_percent(value: float, digits: int) -> str:
    return f"{value:.{digits}%}".replace("%", " %")


def format_change(share: float) -> str:
    """Write how a share changed, such as ``0.2 % more``, ``0.2 % fewer`` or ``none more``."""
    return f"{format_share(abs(share))} {'more' if share > 0 else 'fewer'}" if share else "none more"


def format_value(tree: Tree, feature: int, value: Label | None, voice: Voice = EXACT) -> str:
    """Write what a row holds in a column as an equation, a column of a group as an equation of the group."""
    place, name = tree.facts.group_of.get(feature), show_text(tree.feature_name(feature))
    if place is not None and value in (0, 1):
        group = tree.facts.groups[place]
        label = group.labels[group.features.index(feature)]
        return voice.among(show_text(group.name), [_read_label(label)], by_exclusion=value == 0)
    if value is None or not isinstance(value, float):
        return voice.equal(name, "missing" if value is None else show_text(str(value)))
    reading, n_decimals = tree.column_parser(feature), tree.facts.decimals_of.get(feature)
    if reading is not None and reading.is_moment:
        return voice.equal(name, format_moment(value, reading))
    known = None
    if n_decimals is not None and math.isfinite(value):  # a forged limit may leave no finite number beyond it
        known = last_with_decimals(value, n_decimals, tree.dtype)
    if known is not None and np.dtype(tree.dtype).type(float(known)) == value:
        written = voice.decimal(name, known)
    else:  # also of a row that has more decimals than is known
        written = voice.value(name, value, tree.dtype)
    return voice.equal(name, written if reading is None else reading.write_unit(written))


@lru_cache(maxsize=65536)
def _read_number(value: float, dtype: str) -> str:
    return str(np.dtype(dtype).type(value)).removesuffix(".0")


def _read_column_of_group(group: Group, feature: int, region: Region) -> Region:
    """Turn a condition on a group's column into one on the categorical; the code after the labels' means none."""
    own = group.features.index(feature)
    with_zero = region.low < 0 <= region.high
    with_one = region.low < 1 <= region.high
    others = frozenset(range(len(group.labels) + 1)) - {own}
    return Region(codes=(others if with_zero else frozenset()) | ({own} if with_one else frozenset()))


def _describe(tree: Tree, subject: int) -> tuple[str, tuple[Label, ...] | None]:
    """Find the name of what a condition is about, and its labels if it is not a number."""
    if subject >= tree.n_features:
        group = tree.facts.groups[subject - tree.n_features]
        return group.name, group.labels
    return tree.feature_name(subject), tree.categories[subject]


def format_region(tree: Tree, subject: int, region: Region, voice: Voice = EXACT) -> str:
    """Word what a column, or a group of columns for one category, is asked to hold."""
    name, levels = _describe(tree, subject)
    name, is_group = show_text(name), subject >= tree.n_features
    if CONFUSING.search(name) or name != name.strip() or not name:
        name = f"`{name}`"
    if levels is None:
        extent, text = _read_interval(name, tree, subject, region, voice)
    elif not is_group and (cuts := find_cuts(tree, subject)) is not None:
        extent, text = _read_cells(name, tree, subject, cuts, region, voice)
    else:
        closed = None if is_group else is_closed(tree, subject)
        extent, text = _read_set(name, levels, region, voice, closed)
    held = None if is_group else tree.facts.region_of(subject)
    can_be_missing = not is_group and bool(tree.accepts_missing[subject]) and (held is None or held.missing)
    or_missing = region.missing and can_be_missing
    if extent == "nothing":
        return f"{name} is missing" if or_missing else f"{name} is impossible"
    if extent == "everything":
        return f"{name} is anything" if or_missing or not can_be_missing else f"{name} is not missing"
    return voice.or_missing(name, text) if or_missing else text


def _read_interval(name: str, tree: Tree, feature: int, region: Region, voice: Voice) -> tuple[str, str]:
    """Say how much of the numbers a region holds, and word it; a bound that every row keeps goes unsaid."""
    held = tree.facts.region_of(feature)
    lowest, highest = (-math.inf, math.inf) if held is None else (held.low, held.high)
    low, high = max(region.low, lowest), min(region.high, highest)
    n_decimals, reading = tree.facts.decimals_of.get(feature), tree.column_parser(feature)
    is_whole = n_decimals == 0  # everybody knows which whole number is next
    if reading is not None and reading.is_moment:
        ends = (low if low > lowest else -math.inf, high if high < highest else math.inf)
        if (moments := read_moments(name, reading, *ends, tree.dtype)) is not None:
            return moments
    if n_decimals is None:
        if low >= high:
            return "nothing", ""
        start, end = (_read_limit(name, tree, feature, limit, voice) for limit in (low, high))
    else:
        step = Decimal(1).scaleb(-n_decimals)
        first, last = (
            Decimal(limit) if math.isinf(limit) else last_with_decimals(limit, n_decimals, tree.dtype)
            for limit in (low, high)
        )
        if first >= last:
            return "nothing", ""
        if first + step == last:
            written = voice.decimal(name, last)
            return "some", voice.equal(name, written if reading is None else reading.write_unit(written))
        start, end = voice.decimal(name, first + step if is_whole else first), voice.decimal(name, last)
    if low <= lowest and high >= highest:
        return "everything", ""
    if reading is not None:
        start, end = reading.write_unit(start), reading.write_unit(end)
    return "some", voice.between(
        name, start if low > lowest else None, end if high < highest else None, is_whole=is_whole
    )


def _read_limit(name: str, tree: Tree, feature: int, limit: float, voice: Voice) -> str:
    return str(limit) if math.isinf(limit) else voice.limit(name, feature, limit, tree.dtype)


def _read_cells(
    name: str, tree: Tree, feature: int, cuts: tuple[float, ...], region: Region, voice: Voice
) -> tuple[str, str]:
    """Word a set of cells of a number, neighbours joined."""
    codes = sorted(region.codes or ())
    if len(codes) in (0, len(cuts) + 1):
        return "everything" if codes else "nothing", ""
    ends = (
        [None if math.isinf(end) else _read_limit(name, tree, feature, end, voice) for end in part]
        for part in join_cells(cuts, codes)
    )
    return "some", " or ".join(voice.between(name, *part) for part in ends)


def _plain_decimal(number: Decimal, marks: str = "") -> str:
    text = f"{number:{marks}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _read_set(
    name: str, levels: tuple[Label, ...], region: Region, voice: Voice, closed: bool | None
) -> tuple[str, str]:
    """Word a set of categories: list those that are in it, or those that are not; None in place of closed: a group."""
    allowed = region.codes or frozenset()
    listed = [code for code in range(len(levels)) if code in allowed]
    n_all = len(levels) if closed else len(levels) + 1
    n_held = len(listed) if closed else len(allowed)
    if n_held in (0, n_all):
        return "everything" if n_held else "nothing", ""
    # Where there are only listed categories, the shorter list says as much.
    by_exclusion = 2 * len(listed) > len(levels) if closed else len(levels) in allowed
    if closed is not None:  # zeros in all columns of a group may stand for a label that has no column
        by_exclusion &= not 0 < len(listed) <= voice.most_named
    chosen = [code for code in range(len(levels)) if code not in allowed] if by_exclusion else listed
    named = [_read_label(levels[code]) for code in chosen]
    return "some", voice.among(name, named, by_exclusion=by_exclusion)


def _read_label(label: Label) -> str:
    """Quote a label where it would be misread in a list."""
    text = show_text(str(label))
    return f'"{text}"' if not text or text != text.strip() or any(mark in text for mark in ",{}") else text


# A limit of dates lies between two moments of the reading's step: the last that goes one way, and the first that goes
# the other. The words name one of the two, so that they send no row elsewhere.
FIRST_DAY = date(1970, 1, 1)
EARLIEST_DAY = -719_162  # the first of January of the year 1


def read_moments(name: str, reading: ColumnParser, low: float, high: float, dtype: str) -> tuple[str, str] | None:
    """Word ``low < x <= high`` as dates or times; None where a limit is none."""
    if not all(math.isinf(limit) or _is_near(limit, reading) for limit in (low, high)):
        return None
    # The moments that the region holds, in steps: from start to before end.
    start = None if math.isinf(low) else first_beyond(low, reading, dtype)
    end = None if math.isinf(high) else first_beyond(high, reading, dtype)
    if low >= high or (start is not None and end is not None and start >= end):
        return "nothing", ""
    if start is None:
        return ("everything", "") if end is None else ("some", f"{name} before {write_moment(end, reading)}")
    if end is None:
        return "some", f"{name} from {write_moment(start, reading)} on"
    if end - start == 1:
        return "some", f"{name} is {write_moment(start, reading)}"
    return "some", f"{name} from {write_moment(start, reading)} to {write_moment(end - 1, reading)}"


def format_moment(value: float, reading: ColumnParser) -> str:
    """Write a number of the tree's dtype as the date or time that it stands for; a rounded one as about that time."""
    if not _is_near(value, reading):
        return f"{value:g}"
    step, unit = STEPS[reading.step], _unit(reading)
    n_steps = round(value * unit / step)
    single = (np.array([n_steps - 1, n_steps, n_steps + 1], dtype=np.float64) * step / unit).astype(np.float32)
    is_rounded = float(single[1]) == value and (single[0] == single[1] or single[1] == single[2])
    if is_rounded and STEPS["minute"] > step:
        n_steps = round(value * unit / STEPS["minute"]) * STEPS["minute"] // step
    return f"about {write_moment(n_steps, reading)}" if is_rounded else write_moment(n_steps, reading)


@lru_cache(maxsize=65536)
def first_beyond(limit: float, reading: ColumnParser, dtype: str) -> int:
    """Find the first moment, in steps, whose number exceeds a limit of dtype once it is rounded to dtype."""
    kind, step, unit = np.dtype(dtype).type, STEPS[reading.step], _unit(reading)

    # The number rises with the moment.
    last = find_last(lambda n: not float(kind(float(n * step) / unit)) > limit, math.floor(limit * unit / step))
    return last + 1


def write_moment(n_steps: int, reading: ColumnParser) -> str:
    """Write a moment, in steps, as ISO 8601 does, with as much of the time as it needs."""
    days, ticks = divmod(n_steps * STEPS[reading.step], DAY)
    if reading.is_whole_days:
        return _write_day(days)
    seconds, micro = divmod(ticks, STEPS["second"])
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    text = f"{hour:02d}:{minute:02d}"
    if second or micro:
        text += f":{second:02d}" + (f".{micro:06d}".rstrip("0") if micro else "")
    if reading.kind == "clock":
        return "24:00" if days == 1 else text
    return f"{_write_day(days)} {text}" if ticks else _write_day(days)


def _write_day(days: int) -> str:
    return (FIRST_DAY + timedelta(days=days)).isoformat()


def _unit(reading: ColumnParser) -> float:
    return float(STEPS["second"] if reading.kind == "clock" else DAY)


def _is_near(limit: float, reading: ColumnParser) -> bool:
    """Whether a limit lies among the dates that have a name, or within a day."""
    return 0 <= limit < 86_400 if reading.kind == "clock" else EARLIEST_DAY < limit < MOST_DAYS
