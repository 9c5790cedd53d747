"""What a tree behind a preprocessor asks of the columns before it: numbers, categories, cells or derived columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from secateur.adapters.pipelines.numbers import (
    NumberSource,
    Question,
    Scale,
    View,
    find_limits,
    look_at_columns,
    look_beside_limits,
)
from secateur.adapters.pipelines.probe import Probe
from secateur.adapters.pipelines.trace import Shape, Trace
from secateur.rows.encoding import is_missing
from secateur.tree.tree import Label, Tree

NUMERIC = (Shape.SAME, Shape.ORDERED, Shape.BINNED)
CANNOT = "which cannot be inverted"
MOST_CODES = 2_000_000  # a split lists the cells on its left, so many splits of many cells make lists too long to read


@dataclass(frozen=True)
class Asked:
    """What trees ask of each encoded column that they test."""

    limits: Mapping[int, NDArray[np.float64]]  # thresholds, rounded down to the dtype of the trees, increasing
    n_nodes: Mapping[int, int]  # number of splits
    accepts: Mapping[int, bool]  # whether the trees take NaN there
    dtype: str

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> Self:
        """Collect what some trees of the same columns ask."""
        feature = np.concatenate([tree.feature for tree in trees])
        upper = np.concatenate([tree.upper for tree in trees])
        accepts = np.all([tree.accepts_missing for tree in trees], axis=0)
        tested = np.unique(feature[feature >= 0]).tolist()
        order = np.lexsort((upper, feature))
        starts = np.searchsorted(feature[order], [*tested, trees[0].n_features])
        limits = {
            place: np.unique(upper[order[first:last]])
            for place, first, last in zip(tested, starts[:-1], starts[1:], strict=True)
        }
        n_nodes = dict(zip(tested, np.diff(starts).tolist(), strict=True))
        return cls(limits, n_nodes, {place: bool(accepts[place]) for place in tested}, trees[0].dtype)


@dataclass
class Decoded:
    """What each encoded column is, in terms of the columns before the preprocessor.

    A *place* is the number of an encoded column, a *column* that of one before the preprocessor.
    """

    asked: Asked
    traces: Sequence[Trace]
    probe: Probe
    # By place: the column that it asks about (not for derived ones); where it asks for a number, the limit for each of
    # its thresholds; where it asks for a category or a cell, its value for each code, and last for unlisted values; and
    # its value where its column is missing.
    source: dict[int, int] = field(default_factory=dict)
    limits: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    codes: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    missing: dict[int, float] = field(default_factory=dict)
    derived: dict[int, str] = field(default_factory=dict)  # places that cannot be inverted, and why not
    accepts: set[int] = field(default_factory=set)  # columns in which a missing value is taken
    categories: dict[int, tuple[Label, ...]] = field(default_factory=dict)
    cuts: dict[int, tuple[float, ...]] = field(default_factory=dict)
    closed: set[int] = field(default_factory=set)
    distance: dict[int, float] = field(default_factory=dict)  # from a limit to the last number on the other side
    # Column, lowest or highest number that the pipeline has a value for, and whether it is the highest; and both for a
    # column where the tree takes no NaN.
    gaps: list[tuple[int, float, bool]] = field(default_factory=list)
    ranges: dict[int, tuple[float, float]] = field(default_factory=dict)
    limited: list[str] = field(default_factory=list)  # sentences with a column's number in braces
    mixed_markers: list[int] = field(default_factory=list)  # columns in which None and NaN are not the same
    fills: dict[int, Label] = field(default_factory=dict)  # what a missing value of a column counts as

    def places_of(self, column: int) -> list[int]:
        """List the places that ask about a column."""
        return [place for place, source in self.source.items() if source == column]

    def give_up(self, place: int, reason: str) -> None:
        """Let rules name an encoded column itself, and say why."""
        self.derived[place] = reason
        for known in (self.source, self.limits, self.codes, self.missing):
            known.pop(place, None)


def _list_labels(column: int, places: Sequence[int], found: Decoded) -> list[Any]:
    """List the categories that encoders know, then values that were replaced; without any, one that the rows hold."""
    traces = [found.traces[place] for place in places]
    known = [label for trace in traces for label in trace.labels]
    replaced = [label for trace in traces for label in trace.replaced]
    return list(dict.fromkeys([*known, *replaced])) or [found.probe.sample.label(column)]


def _settle_labels(labelled: Mapping[int, list[int]], found: Decoded) -> None:
    """Find the labels of the columns that are asked as categories, and what each is encoded as."""
    if not labelled:
        return
    traces, probe, accepts = found.traces, found.probe, found.asked.accepts
    places = sorted({place for some in labelled.values() for place in some})
    labels = {column: _list_labels(column, some, found) for column, some in labelled.items()}
    listed = {column: np.array([*known, None], dtype=object)[:-1] for column, known in labels.items()}
    encoded = probe.ask_rows(listed, places)
    strangers = {column: _pick_stranger(known, probe.sample.kind(column)) for column, known in labels.items()}
    taken, strange = probe.try_values({c: value for c, value in strangers.items() if value is not None}, places)
    for column, some in labelled.items():
        seen = {place: encoded[place][: len(labels[column])] for place in some}
        last = {place: strange[place] if column in taken else np.nan for place in some}
        if column not in taken or any(np.isnan(last[place]) and not accepts[place] for place in some):
            found.closed.add(column)
        known = {label for place in some for label in traces[place].labels}
        keep = np.array(
            [
                label in known
                or column in found.closed
                or any(seen[place][code] != last[place] for place in some)
                or not known
                for code, label in enumerate(labels[column])
            ]
        )
        for place, values in seen.items():
            if np.isnan(values[keep]).any() and not accepts[place]:
                found.give_up(place, "which has no value for some categories")
            else:
                found.codes[place] = np.append(values[keep], last[place])
        found.categories[column] = tuple(listed[column][keep].tolist())


def _pick_stranger(labels: Sequence[Any], kind: np.dtype[Any] | None) -> Any:
    """Pick a value that is none of the categories; None where the column can hold no other."""
    if all(isinstance(label, bool) for label in labels):
        return None if len(labels) == 2 else not labels[0]
    if any(isinstance(label, str) for label in labels):
        stranger = "unlisted"
        while stranger in labels:
            stranger += "_"
        return stranger
    known = set(labels)
    if kind is not None and kind.kind in "iu":
        bounds = np.iinfo(kind)
        near = (value for label in sorted(known) for value in (int(label) + 1, int(label) - 1))
        return next((value for value in near if value not in known and bounds.min <= value <= bounds.max), None)
    if kind is not None and kind.kind == "b":
        return next((value for value in (False, True) if value not in known), None)
    return max(known) + 1.0


def _settle_missing(columns: Sequence[int], found: Decoded) -> None:
    """Find which columns take a missing value, and what it is encoded as."""
    places = sorted(found.source)
    markers = {column: found.probe.sample.markers(column) for column in columns}
    answers: dict[int, list[dict[int, float]]] = {column: [] for column in columns}
    for turn in range(max((len(some) for some in markers.values()), default=0)):
        asked = {column: some[turn] for column, some in markers.items() if len(some) > turn}
        taken, values = found.probe.try_values(asked, places)
        for column in taken:
            own = {place: values[place] for place in found.places_of(column)}
            if all(found.asked.accepts[place] or not np.isnan(value) for place, value in own.items()):
                answers[column].append(own)
    for column, given in answers.items():
        if given:
            found.accepts.add(column)
            found.missing |= given[0]
            if any(not _same_values(given[0], other) for other in given[1:]):
                found.mixed_markers.append(column)


def _settle_fills(found: Decoded) -> None:
    """Find the value that a missing one is encoded like; an imputer of NaN, say, leaves None as it is."""
    told: dict[int, set[Label]] = {}
    for place, column in found.source.items():
        if column in found.accepts and (fill := found.traces[place].fill) is not None:
            told.setdefault(column, set()).add(fill)
    fills = {column: fill for column, some in told.items() if len(some) == 1 for fill in some}
    if not fills:
        return
    taken, values = found.probe.try_values(fills, sorted(found.source))
    for column in taken:
        own = [place for place in found.places_of(column) if found.traces[place].shape is not Shape.BLANK]
        if _same_values({place: values[place] for place in own}, found.missing):
            found.fills[column] = fills[column]


def _same_values(one: Mapping[int, float], other: Mapping[int, float]) -> bool:
    return all(value == other[key] or (is_missing(value) and is_missing(other[key])) for key, value in one.items())


def decode_columns(traces: Sequence[Trace], trees: Sequence[Tree], probe: Probe) -> Decoded:
    """Find what the tested encoded columns ask of the columns before the preprocessor."""
    found = Decoded(Asked.of(trees), traces, probe)
    numbers, labelled = _sort_columns(found)
    tried = {column: (_list_labels(column, places, found), places) for column, places in labelled.items()}
    strange, found.limited = look_at_columns(numbers, tried, traces, probe)
    for place, reason in strange.items():
        if place in found.asked.limits:
            found.give_up(place, f"which {reason}")
    for source in numbers:
        source.bins = {number: block for number, block in source.bins.items() if not strange.keys() & set(block)}
        source.used = [place for place in source.used if place not in strange]
    numbers = [source for source in numbers if source.used]
    labelled = {c: kept for c, places in labelled.items() if (kept := [p for p in places if p not in strange])}
    found.source |= {place: source.column for source in numbers for place in source.used}
    found.source |= {place: column for column, places in labelled.items() for place in places}
    _settle_missing([*(source.column for source in numbers), *labelled], found)
    _settle_fills(found)
    _settle_numbers(numbers, found)
    _settle_labels(labelled, found)
    for column in found.categories.keys() - set(found.source.values()):  # all its splits were given up
        del found.categories[column]
        found.cuts.pop(column, None)
        found.closed.discard(column)
    return found


def _sort_columns(found: Decoded) -> tuple[list[NumberSource], dict[int, list[int]]]:
    """List the columns that are asked as numbers, and those that are asked as categories; give up the rest."""
    traces = found.traces
    by_source: dict[int, list[int]] = {}
    for place in found.asked.limits:
        trace = traces[place]
        if trace.shape in (Shape.DERIVED, Shape.RELABELLED):
            found.give_up(place, CANNOT)
        else:
            by_source.setdefault(trace.source, []).append(place)
    numbers: list[NumberSource] = []
    labelled: dict[int, list[int]] = {}
    for column, places in by_source.items():
        numeric = [place for place in places if traces[place].shape in NUMERIC]
        coded = [place for place in places if traces[place].shape is Shape.CODED]
        blank = [place for place in places if traces[place].shape is Shape.BLANK]
        kind = found.probe.sample.kind(column)
        if numeric and kind is None:
            for place in numeric:
                found.give_up(place, "which reads numbers from a column of something else")
            numeric = []
        if numeric or (blank and not coded and kind is not None):
            for place in coded:
                found.give_up(place, "whose column is used as a number, too")
            source = _as_number_source(column, kind, numeric + blank, found)
            if source.used:
                numbers.append(source)
        elif coded or blank:
            labelled[column] = coded + blank
    return numbers, labelled


def _as_number_source(column: int, kind: np.dtype[Any] | None, places: list[int], found: Decoded) -> NumberSource:
    used, bins = [], {}
    for place in places:
        trace = found.traces[place]
        if trace.bin is not None and trace.shape is Shape.BINNED:
            number = trace.bin[0]
            binned = ((at, one.bin) for at, one in enumerate(found.traces) if one.bin is not None)
            block = {own: at for at, own in binned if own[0] == number}
            if len(block) < trace.n_bins:
                found.give_up(place, "with some of its bins left out")
                continue
            bins[number] = tuple(block[number, rank] for rank in range(trace.n_bins))
        used.append(place)
    # Whole numbers become doubles before anything is computed, so limits hold for fractions, too. Short ones stay with
    # floats of their own length, and are asked as they are.
    if kind is None or (kind.kind in "iu" and kind.itemsize >= 4):
        kind = np.dtype(np.float64)
    return NumberSource(column, Scale(kind), used, bins)


def find_sides(
    tree: Tree, nodes: NDArray[np.int64], place: int, found: Decoded
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Find where splits of one encoded column send codes, (n_nodes, n_codes), none for numbers, and a missing value."""
    upper, nan_left = tree.upper[nodes], tree.missing_left[nodes]
    missing = found.missing.get(place, np.nan)
    missing_left = nan_left if np.isnan(missing) else missing <= upper
    if found.source[place] not in found.accepts:
        missing_left = np.zeros(len(nodes), dtype=bool)
    values = found.codes.get(place, np.zeros(0))
    left = np.where(np.isnan(values), nan_left[:, None], values <= upper[:, None])
    if found.source[place] in found.closed and place in found.codes:
        left[:, -1] = False  # values that are rejected have no side, and their code has to stand somewhere
    return left, missing_left


def _settle_numbers(sources: Sequence[NumberSource], found: Decoded) -> None:
    """Find the limits of the columns that are asked as numbers; where limits do not tell, their cells."""
    traces, asked, probe = found.traces, found.asked, found.probe
    questions = [_questions(source, found) for source in sources]
    tried = list(zip(sources, questions, find_limits(sources, questions, probe), strict=True))
    found.distance = look_beside_limits(
        [one for one in tried if not all(traces[place].is_exact for place in one[0].used)], probe
    )
    by_cell: dict[int, NDArray[np.float64]] = {}
    n_asked = {source.column: sum(asked.n_nodes[place] for place in source.used) for source in sources}
    for source, listed, limit in tried:
        of_view: dict[View, list[float]] = {}
        for question, value in zip(listed, limit.tolist(), strict=True):
            of_view.setdefault(question.view, []).append(value)
        for view, values in of_view.items():
            if view.kind in ("before", "after") and np.isfinite(values[0]):
                end = values[0] if view.kind == "after" else source.scale.after(values[0])
                found.gaps.append((source.column, end, view.kind == "after"))
                low, high = found.ranges.get(source.column, (-np.inf, np.inf))
                ends = (low, min(high, end)) if view.kind == "after" else (max(low, end), high)
                found.ranges[source.column] = float(ends[0]), float(ends[1])
        plain = {
            place: np.array(of_view[View((place,), "rising")])
            for place in source.used
            if source.rises.get(place, False)
        }
        gaps_matter = any(any(source.gaps.get(place, ())) and asked.accepts[place] for place in source.used)
        if gaps_matter:  # the tree takes the NaN that is made there
            found.ranges.pop(source.column, None)
        if len(plain) == len(source.used) and not gaps_matter and not any(np.isneginf(v).any() for v in plain.values()):
            found.limits |= plain
        else:
            wanted = [values for view, values in of_view.items() if gaps_matter or view.kind not in ("before", "after")]
            cuts = np.unique(np.concatenate([np.zeros(0), *wanted]))
            by_cell[source.column] = cuts[np.isfinite(cuts)]
            if not len(by_cell[source.column]):
                by_cell[source.column] = np.array([source.anchor])
            if n_asked[source.column] * len(by_cell[source.column]) > MOST_CODES:
                del by_cell[source.column]
                for place in source.used:
                    found.give_up(place, "whose numbers the tree divides into too many cells")
    if by_cell:
        _settle_cells([source for source in sources if source.column in by_cell], by_cell, found)


def _questions(source: NumberSource, found: Decoded) -> list[Question]:
    traces, asked = found.traces, found.asked
    kind = np.dtype(asked.dtype).type
    questions: list[Question] = []
    for number, block in source.bins.items():
        if any(traces[place].bin is not None and traces[place].bin[0] == number for place in source.used):  # type: ignore[index]
            questions += [Question(View(block, "bins"), rank + 0.5) for rank in range(len(block) - 1)]
    for place in source.used:
        if traces[place].shape is Shape.BINNED:
            continue
        limits = asked.limits[place]
        if source.rises[place]:
            is_same = traces[place].shape is Shape.SAME
            questions += [
                Question(
                    View((place,), "rising"),
                    limit,
                    source.scale.highest_rounding_to(limit, asked.dtype) if is_same else None,
                )
                for limit in limits.tolist()
            ]
        else:  # z > limit holds where -z is at most the number below -limit
            with np.errstate(over="ignore"):
                finite = limits[np.isfinite(limits)].astype(kind)  # a limit of inf has no number above it
                turned = -np.nextafter(finite, kind(np.inf)).astype(np.float64)
            questions += [Question(View((place,), "falling"), limit) for limit in turned.tolist()]
        below, above = source.gaps.get(place, (False, False))
        questions += [Question(View((place,), "before"), 0.5)] * below
        questions += [Question(View((place,), "after"), 0.5)] * above
    return questions


def _settle_cells(sources: Sequence[NumberSource], cuts: Mapping[int, NDArray[np.float64]], found: Decoded) -> None:
    """Make a category of each stretch of numbers that no split divides."""
    varied = {}
    for source in sources:
        limits = cuts[source.column].astype(source.scale.kind)
        above = np.array([source.scale.after(limits[-1])]).astype(source.scale.kind)
        varied[source.column] = np.concatenate([limits, above])
    encoded = found.probe.ask_rows(varied, sorted({place for source in sources for place in source.used}))
    for source in sources:
        n_cells = len(varied[source.column])
        seen = {place: encoded[place][:n_cells] for place in source.used}
        sides = [
            np.where(np.isnan(values), -1, np.searchsorted(found.asked.limits[place], values))
            for place, values in seen.items()
        ]
        differs: NDArray[np.bool_] = np.any([np.diff(side) != 0 for side in sides], axis=0)
        if not differs.any():
            differs[0] = True
        keep = np.append(differs, True)
        limits = cuts[source.column][differs]
        found.cuts[source.column] = tuple(limits.tolist())
        found.categories[source.column] = name_cells(limits.tolist())
        found.codes |= {place: values[keep] for place, values in seen.items()}


def name_cells(cuts: list[float]) -> tuple[str, ...]:
    """Name the cells up to each of some cuts."""
    texts = [repr(cut).removesuffix(".0") for cut in cuts]
    return (f"<= {texts[0]}", *(f"{low} < x <= {high}" for low, high in pairwise(texts)))
