"""Find where a number changes sides: the exact limit in the user's column for each threshold behind the steps.

A function that rises, rounded, still rises, so ``function(x) <= threshold`` holds up to one number and for none above
it. That number is found by bisection over the numbers of the column's own type, as keys that count them in order: 64
halvings reach the last bit. All columns and all thresholds are asked at once, in one table for each round.

Before that, a wide grid of numbers shows whether each function rises, falls or does neither, whether it has a value
everywhere, and whether it really depends on its own column alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.adapters.pipelines.probe import Probe, find_rejected
from secateur.adapters.pipelines.trace import Shape, Trace
from secateur.rows.encoding import as_objects

GRID_KEYS = 512
GRID_SEEN = 256
# Rows of one round of bisection: below this, more sections cost no time.
ROUND_ROWS = 4096
MOST_SECTIONS = 17
# Numbers on each side of a limit that are looked at where rounding need not keep the order, and rows for all of them.
NEIGHBOURS = 2048
NEIGHBOUR_ROWS = 1 << 20
SIGN = np.uint64(1 << 63)  # flips the sign of an int64, which puts its bits in order
ORDERLY = 1e15  # functions that overflow on the way to their value keep their order up to here, if they keep it at all
ROUNDING = 1e-6  # a fall by no more than this share is rounding, in functions that round out of order


@dataclass(frozen=True)
class Scale:
    """The numbers that a column can hold, counted in order."""

    kind: np.dtype[Any]
    is_positive: bool = False  # ask positive numbers only
    bound: float = np.inf  # ask numbers up to this size only

    @property
    def ends(self) -> NDArray[Any]:
        """Return the lowest and the highest number."""
        if self.kind.kind == "f":
            limits = np.finfo(self.kind)
            highest = min(float(limits.max), self.bound)
            return np.array([limits.smallest_subnormal if self.is_positive else -highest, highest], self.kind)
        if self.kind.kind == "b":
            return np.array([False, True])
        whole = np.iinfo(self.kind)
        bound = int(min(self.bound, whole.max))
        return np.array([1 if self.is_positive else max(whole.min, -bound - 1), bound], dtype=self.kind)

    def keys(self, values: NDArray[Any]) -> NDArray[np.uint64]:
        """Count the numbers below each."""
        if self.kind.kind == "u":
            return values.astype(np.uint64)
        if self.kind.kind != "f":
            return values.astype(np.int64).view(np.uint64) ^ SIGN
        bits = np.ascontiguousarray(values, dtype=self.kind).view(f"u{self.kind.itemsize}").astype(np.uint64)
        sign = np.uint64(1 << (8 * self.kind.itemsize - 1))
        return np.where(bits & sign, ~bits & np.uint64(2 * int(sign) - 1), bits | sign)

    def values(self, keys: NDArray[np.uint64]) -> NDArray[Any]:
        """Return the numbers with these keys."""
        if self.kind.kind == "u":
            return keys.astype(self.kind)
        if self.kind.kind != "f":
            return (keys ^ SIGN).view(np.int64).astype(self.kind)
        sign = np.uint64(1 << (8 * self.kind.itemsize - 1))
        bits = np.where(keys & sign, keys ^ sign, ~keys & np.uint64(2 * int(sign) - 1))
        return bits.astype(f"u{self.kind.itemsize}").view(self.kind)

    def after(self, value: float) -> float:
        """Return the next number, or the highest itself."""
        key = self.keys(np.array([value]).astype(self.kind))
        return float(self.values(np.minimum(key + np.uint64(1), self.keys(self.ends)[1:]))[0])

    def highest_rounding_to(self, limit: float, dtype: str) -> float | None:
        """Return the highest number that is at most a limit once it is rounded to another type; None if unclear."""
        narrow = np.dtype(dtype).type(limit)
        if self.kind == narrow.dtype:
            return float(narrow)
        with np.errstate(over="ignore"):
            above = np.nextafter(narrow, narrow.dtype.type(np.inf))
        if self.kind.kind != "f" or self.kind.itemsize < narrow.itemsize or not np.isfinite([narrow, above]).all():
            return None
        middle = (self.kind.type(narrow) + self.kind.type(above)) / 2  # exact in a wider type; rounds to the even one
        return float(middle if narrow.dtype.type(middle) <= narrow else np.nextafter(middle, self.kind.type(-np.inf)))

    def grid(self, seen: NDArray[np.float64]) -> NDArray[Any]:
        """Pick numbers from all over the scale, more of them where the column's own are; increasing."""
        low, high = self.keys(self.ends).tolist()
        spread = np.array([low + (high - low) * step // (GRID_KEYS - 1) for step in range(GRID_KEYS)], dtype=np.uint64)
        parts = [spread]
        if len(seen):
            quantiles = np.quantile(seen, np.linspace(0, 1, GRID_SEEN), method="nearest")
            near = np.concatenate([quantiles, np.linspace(seen.min(), seen.max(), GRID_SEEN), [-1, 0, 1]])
            with np.errstate(over="ignore", invalid="ignore"):
                parts.append(np.clip(self.keys(np.clip(near, *self.ends).astype(self.kind)), low, high))
        return self.values(np.unique(np.concatenate(parts).astype(np.uint64)))


class View(NamedTuple):
    """A number that rises with the source's: an encoded column, turned if it falls, or the bin that is 1."""

    places: tuple[int, ...]
    kind: str  # "rising", "falling", "bins", "before" or "after" the numbers that the function has a value for


class Question(NamedTuple):
    """``view <= limit``: true up to some number and false above it."""

    view: View
    limit: float
    guess: float | None = None  # the number in question, where the steps promise one


@dataclass
class NumberSource:
    """A column whose numbers the tree asks for, through one or more encoded columns."""

    column: int
    scale: Scale
    used: list[int]  # the encoded columns that the tree tests
    bins: dict[int, tuple[int, ...]] = field(default_factory=dict)  # encoded columns of each discretization, in order
    rises: dict[int, bool] = field(default_factory=dict)  # whether each encoded column rises; else it falls
    # Whether each encoded column is NaN below, and above, the numbers that it has a value for.
    gaps: dict[int, tuple[bool, bool]] = field(default_factory=dict)
    anchor: float = 0.0  # a number for which all of them have a value

    @property
    def places(self) -> list[int]:
        """List all encoded columns that are read."""
        return sorted({*self.used, *(place for block in self.bins.values() for place in block)})

    def view(self, view: View, encoded: Mapping[int, NDArray[np.float64]], x: NDArray[Any]) -> NDArray[np.float64]:
        """Compute a view's value for some numbers."""
        if view.kind == "bins":
            return sum((rank * encoded[place] for rank, place in enumerate(view.places)), np.zeros(len(x)))
        values = encoded[view.places[0]]
        missing = np.isnan(values)
        below = missing & (x < self.anchor)
        above = missing & (x > self.anchor)
        if view.kind == "before":
            return np.where(below, 0.0, 1.0)
        if view.kind == "after":
            return np.where(above, 1.0, 0.0)
        return np.where(below, -np.inf, np.where(above, np.inf, values if view.kind == "rising" else -values))


# Do the columns behave as their steps promise?


def look_at_columns(
    sources: list[NumberSource],
    labels: Mapping[int, tuple[list[Any], list[int]]],
    traces: Sequence[Trace],
    probe: Probe,
) -> tuple[dict[int, str], list[str]]:
    """Try every source on a wide range of values; sources learn which encoded columns rise, and where they end.

    ``labels`` holds the labels and the encoded columns of each categorical source. Returned are the encoded columns
    that do not behave as their steps promise, with the reason, and remarks on columns, by number in braces,
    where the pipeline takes only some numbers.
    """
    strange: dict[int, str] = {}
    limited: list[str] = []
    grids: dict[int, NDArray[Any]] = {one.column: one.scale.grid(probe.sample.numbers(one.column)) for one in sources}
    tables = {column: as_objects(listed) for column, (listed, _) in labels.items()}

    def ask(columns: Sequence[int]) -> object:
        return probe.ask_rows({c: grids[c] if c in grids else tables[c] for c in columns}, [])

    for column in find_rejected([*grids, *tables], ask):
        source = next((one for one in sources if one.column == column), None)
        if source is not None:
            source.scale = Scale(source.scale.kind, is_positive=True)
            seen = probe.sample.numbers(column)
            grids[column] = source.scale.grid(seen[seen > 0])
            if (seen > 0).all() and not find_rejected([column], ask):
                limited.append(f"The pipeline takes positive numbers of {{{column}}} only")
                continue
        places = source.places if source is not None else labels[column][1]
        strange |= dict.fromkeys(places, "rejects some of the values that it should take")
        grids.pop(column, None)
        tables.pop(column, None)
    varied = {**grids, **tables}
    if not varied:
        return strange, limited
    n_rows = max(len(values) for values in varied.values())
    padded = {c: np.concatenate([v, np.repeat(v[-1:], n_rows - len(v))]) for c, v in varied.items()}
    shuffles = {column: np.random.default_rng(column).permutation(n_rows) for column in varied}
    places = sorted(
        {place for one in sources if one.column in grids for place in one.places}
        | {place for column in tables for place in labels[column][1]}
    )
    straight = probe.ask_rows(padded, places)
    shuffled = probe.ask_rows({c: v[shuffles[c]] for c, v in padded.items()}, places)
    for place in places:
        # Each column in an order of its own: what depends on another column as well comes out differently.
        here, there = straight[place][shuffles[traces[place].source]], shuffled[place]
        tolerance = 0.0 if traces[place].is_exact else ROUNDING
        if not np.allclose(here, there, rtol=tolerance, atol=0.0, equal_nan=True):
            strange[place] = "depends on other columns as well"
    for source in sources:
        if source.column in grids:
            size = len(grids[source.column])
            seen = probe.sample.numbers(source.column)
            grid, encoded = grids[source.column], {place: straight[place][:size] for place in source.places}
            disorder = _look_at_order(source, grid, encoded, traces, seen)
            if disorder and not any(traces[place].is_exact for place in disorder):
                near = np.abs(grid.astype(np.float64)) <= ORDERLY
                nearby = {place: values[near] for place, values in encoded.items()}
                if near.any() and not _look_at_order(source, grid[near], nearby, traces, seen):
                    source.scale = replace(source.scale, bound=ORDERLY)
                    limited += [f"Beyond {ORDERLY:g}, the pipeline's function of {{{source.column}}} is out of order"]
                    disorder = {}
            strange |= disorder
    return strange, limited


def _look_at_order(
    source: NumberSource,
    grid: NDArray[Any],
    encoded: Mapping[int, NDArray[np.float64]],
    traces: Sequence[Trace],
    seen: NDArray[np.float64],
) -> dict[int, str]:
    """Find encoded columns that neither rise nor fall, or have a value here and there only."""
    strange: dict[int, str] = {}
    everywhere = np.ones(len(grid), dtype=bool)
    for place in source.used:
        if traces[place].shape is Shape.BINNED:
            continue
        known = np.flatnonzero(~np.isnan(encoded[place]))
        if not len(known) or known[-1] - known[0] + 1 != len(known):
            strange[place] = "has no value for some numbers"
            continue
        source.gaps[place] = bool(known[0] > 0), bool(known[-1] < len(grid) - 1)
        everywhere &= ~np.isnan(encoded[place])
        values = encoded[place][known]
        slack = np.zeros(len(values) - 1)
        if not traces[place].is_exact:
            finite = np.where(np.isfinite(values), np.abs(values), 0.0)
            slack = ROUNDING * np.maximum(finite[1:], finite[:-1])
        with np.errstate(invalid="ignore"):
            rises = bool((values[1:] + slack >= values[:-1]).all())
            falls = bool((values[1:] - slack <= values[:-1]).all())
        if not rises and not falls:
            strange[place] = "neither rises nor falls with the numbers"
        source.rises[place] = rises
    for block in source.bins.values():
        level = source.view(View(block, "bins"), encoded, grid)
        if not (level[1:] >= level[:-1]).all():  # NaN, too, fails
            strange |= dict.fromkeys(block, "is not a row of bins")
    if everywhere.any():
        inside = grid[everywhere].astype(np.float64)
        with np.errstate(over="ignore"):  # nearest to the middle of the column's own numbers, or to 0 without any
            source.anchor = float(inside[np.abs(inside - (np.median(seen) if len(seen) else 0.0)).argmin()])
    else:
        strange |= dict.fromkeys(source.used, "has no value for some numbers")
    return strange


# The limits.


def find_limits(
    sources: Sequence[NumberSource], questions: Sequence[Sequence[Question]], probe: Probe
) -> list[NDArray[np.float64]]:
    """Find the largest number for which each question is true: ``inf`` if for every number, ``-inf`` if for none."""
    places = sorted({place for source in sources for place in source.places})
    asked_of = [_Answers(source, asked) for source, asked in zip(sources, questions, strict=True)]
    bounds = [source.scale.keys(source.scale.ends) for source in sources]
    low = [np.full(len(asked), bound[0]) for bound, asked in zip(bounds, questions, strict=True)]
    high = [np.full(len(asked), bound[1]) for bound, asked in zip(bounds, questions, strict=True)]
    ends = {source.column: source.scale.ends.astype(source.scale.kind) for source in sources}
    encoded = probe.ask_rows(ends, places) if ends else {}
    found, open_ = [], []
    for source, answers in zip(sources, asked_of, strict=True):
        first, last = answers.of_all(encoded, ends[source.column])
        found.append(np.where(last, np.inf, -np.inf))
        open_.append(np.flatnonzero(first & ~last))
    _try_guesses(sources, questions, asked_of, open_, found, probe)
    while any(len(some) for some in open_):
        n_most = max(len(some) for some in open_)
        sections = int(np.clip(ROUND_ROWS // n_most, 2, MOST_SECTIONS))
        keys, varied = [], {}
        for source, some, lower, upper in zip(sources, open_, low, high, strict=True):
            keys.append(_cut(lower[some], upper[some], sections))
            if len(some):
                varied[source.column] = source.scale.values(keys[-1].ravel())
        encoded = probe.ask_rows(varied, places)
        for number, (source, answers) in enumerate(zip(sources, asked_of, strict=True)):
            some = open_[number]
            if not len(some):
                continue
            true = answers.of_own(encoded, varied[source.column], some)
            n_true = np.where(true.all(axis=1), sections - 1, true.argmin(axis=1))
            fenced = np.column_stack([low[number][some], keys[number], high[number][some]])
            line = np.arange(len(some))
            low[number][some], high[number][some] = fenced[line, n_true], fenced[line, n_true + 1]
            done = high[number][some] - low[number][some] <= 1
            found[number][some[done]] = source.scale.values(low[number][some[done]]).astype(np.float64) + 0.0
            open_[number] = some[~done]
    return found


def _try_guesses(
    sources: Sequence[NumberSource],
    questions: Sequence[Sequence[Question]],
    asked_of: Sequence[_Answers],
    open_: list[NDArray[np.int64]],
    found: Sequence[NDArray[np.float64]],
    probe: Probe,
) -> None:
    """Settle the open questions whose guess is true and whose next number is false."""
    tried, varied = {}, {}
    for number, (source, asked, some) in enumerate(zip(sources, questions, open_, strict=True)):
        guessed = np.array([one for one in some.tolist() if asked[one].guess is not None], dtype=np.int64)
        if len(guessed):
            guesses = np.array([asked[one].guess for one in guessed.tolist()]).astype(source.scale.kind)
            keys = np.clip(source.scale.keys(guesses), *source.scale.keys(source.scale.ends))
            tried[number] = guessed
            varied[source.column] = source.scale.values(np.column_stack([keys, keys + np.uint64(1)]).ravel())
    if not tried:
        return
    encoded = probe.ask_rows(varied, sorted({place for number in tried for place in sources[number].places}))
    for number, guessed in tried.items():
        x = varied[sources[number].column]
        true = asked_of[number].of_own(encoded, x, guessed)
        right = true[:, 0] & ~true[:, 1]
        found[number][guessed[right]] = x[::2][right].astype(np.float64) + 0.0
        open_[number] = np.setdiff1d(open_[number], guessed[right])


def _cut(low: NDArray[np.uint64], high: NDArray[np.uint64], sections: int) -> NDArray[np.uint64]:
    """Cut each span of keys into sections; a short span repeats its last key."""
    span = high - low
    step = np.maximum(span // np.uint64(sections), np.uint64(1))
    offsets = step[:, None] * np.arange(1, sections, dtype=np.uint64)
    return np.asarray(low[:, None] + np.minimum(offsets, span[:, None] - np.uint64(1)))


class _Answers:
    """Answer all questions of one source at once."""

    def __init__(self, source: NumberSource, questions: Sequence[Question]) -> None:
        self.source = source
        self.views = list(dict.fromkeys(question.view for question in questions))
        number = {view: place for place, view in enumerate(self.views)}
        self.view = np.array([number[question.view] for question in questions], dtype=np.int64)
        self.limit = np.array([question.limit for question in questions], dtype=np.float64)

    def of_all(self, encoded: Mapping[int, NDArray[np.float64]], x: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell whether each question is true of each row, shape (n_rows, n_questions)."""
        return self._see(encoded, x)[:, self.view] <= self.limit

    def of_own(
        self, encoded: Mapping[int, NDArray[np.float64]], x: NDArray[Any], some: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Tell whether some questions are true of rows of their own; shape (n_questions, n_rows_each)."""
        n_each = len(x) // len(some)
        seen = self._see(encoded, x)[np.arange(len(x)), np.repeat(self.view[some], n_each)]
        return seen.reshape(len(some), n_each) <= self.limit[some][:, None]

    def _see(self, encoded: Mapping[int, NDArray[np.float64]], x: NDArray[Any]) -> NDArray[np.float64]:
        own = {place: encoded[place][: len(x)] for place in self.source.places}
        return np.column_stack([np.zeros((len(x), 0)), *(self.source.view(view, own, x) for view in self.views)])


def look_beside_limits(
    tried: Sequence[tuple[NumberSource, Sequence[Question], NDArray[np.float64]]], probe: Probe
) -> dict[int, float]:
    """Find how far from a limit that was found a number may still be on the other side, for columns that have one."""
    finite = [np.flatnonzero(np.isfinite(found)) for _, _, found in tried]
    n_most = max((len(some) for some in finite), default=0)
    if n_most == 0:
        return {}
    stride = max(1, -(-n_most * 2 * NEIGHBOURS // NEIGHBOUR_ROWS))
    offsets = np.arange(-NEIGHBOURS, NEIGHBOURS + 1, stride, dtype=np.int64)
    varied = {}
    for (source, _, found), some in zip(tried, finite, strict=True):
        low, high = source.scale.keys(source.scale.ends)
        keys = source.scale.keys(found[some].astype(source.scale.kind))
        near = keys[:, None] + offsets.astype(np.uint64)  # wraps around as signed addition would
        varied[source.column] = source.scale.values(np.clip(near, low, high).ravel())
    asked = {column: values for column, values in varied.items() if len(values)}
    encoded = probe.ask_rows(asked, sorted({place for source, _, _ in tried for place in source.places}))
    distance = {}
    for (source, listed, found), some in zip(tried, finite, strict=True):
        if not len(some):
            continue
        x = varied[source.column]
        true = _Answers(source, listed).of_own(encoded, x, some)
        beside = x.reshape(true.shape).astype(np.float64)
        wrong = true != (beside <= found[some][:, None])
        if wrong.any():
            distance[source.column] = float(np.abs(beside - found[some][:, None])[wrong].max())
    return distance
