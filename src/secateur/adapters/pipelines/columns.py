"""What a tree behind a preprocessor asks of the columns before it: numbers, categories, cells or derived columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.adapters.pipelines.numbers import (
    NumberSource,
    Question,
    Scale,
    View,
    ask_rows,
    find_limits,
    look_at_columns,
    look_beside_limits,
)
from secateur.adapters.pipelines.probe import find_refused
from secateur.adapters.pipelines.trace import Shape, is_missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from secateur.adapters.pipelines.probe import Encoder, Sample
    from secateur.adapters.pipelines.trace import Trace
    from secateur.tree import Label, Tree

__all__ = ["Decoded", "decode_columns", "find_sides"]

NUMERIC = (Shape.SAME, Shape.ORDERED, Shape.BINNED)
CANNOT = "which cannot be inverted"
# A split lists the cells on its left, so many splits of many cells make long lists that nobody can read.
MOST_CODES = 2_000_000


@dataclass(frozen=True)
class Asked:
    """What trees ask of the encoded columns.

    Attributes
    ----------
    limits : dict of int to ndarray of float64
        For each encoded column that is tested: its thresholds, rounded down to the dtype of the trees, increasing.
    n_nodes : dict of int to int
        Number of splits of each.
    accepts : dict of int to bool
        Whether the trees take NaN there.
    dtype : {"float32", "float64"}
    """

    limits: Mapping[int, NDArray[np.float64]]
    n_nodes: Mapping[int, int]
    accepts: Mapping[int, bool]
    dtype: str

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> Asked:
        """What some trees of the same columns ask."""
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

    Attributes
    ----------
    asked : Asked
    source : dict of int to int
        The column that each tested encoded column asks about; derived ones are left out.
    limits : dict of int to ndarray
        Of an encoded column that asks for a number: the limit for each of its thresholds.
    codes : dict of int to ndarray
        Of an encoded column that asks for a category or a cell: its value for each code; the last is for values that
        are not listed.
    missing : dict of int to float
        Its value where the column is missing.
    accepts : set of int
        Columns in which a missing value is taken.
    categories : dict of int to tuple of labels
    cuts : dict of int to tuple of float
    closed : set of int
    derived : dict of int to str
        Encoded columns that cannot be inverted, and why not.
    distance : dict of int to float
        How far from a limit a number may be on the other side after all.
    ranges : dict of int to (float, float)
        The lowest and the highest number of a column that the pipeline has a value for, where the tree takes no NaN.
    gaps : list of (column, limit, whether it is the highest)
        The lowest, or the highest, number that the pipeline has a value for.
    limited : list of str
        Sentences with a column's number in braces.
    mixed_markers : list of int
        Columns in which None and NaN are not the same.
    fills : dict of int to label
        What a missing value counts as.
    """

    asked: Asked
    source: dict[int, int] = field(default_factory=dict)
    limits: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    codes: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    missing: dict[int, float] = field(default_factory=dict)
    accepts: set[int] = field(default_factory=set)
    categories: dict[int, tuple[Label, ...]] = field(default_factory=dict)
    cuts: dict[int, tuple[float, ...]] = field(default_factory=dict)
    closed: set[int] = field(default_factory=set)
    derived: dict[int, str] = field(default_factory=dict)
    distance: dict[int, float] = field(default_factory=dict)
    gaps: list[tuple[int, float, bool]] = field(default_factory=list)
    ranges: dict[int, tuple[float, float]] = field(default_factory=dict)
    limited: list[str] = field(default_factory=list)
    mixed_markers: list[int] = field(default_factory=list)
    fills: dict[int, Label] = field(default_factory=dict)

    def places_of(self, column: int) -> list[int]:
        """The encoded columns that ask about a column."""
        return [place for place, source in self.source.items() if source == column]

    def give_up(self, place: int, reason: str) -> None:
        """Let rules name an encoded column itself."""
        self.derived[place] = reason
        for known in (self.source, self.limits, self.codes, self.missing):
            known.pop(place, None)


def decode_columns(traces: Sequence[Trace], trees: Sequence[Tree], sample: Sample, encoder: Encoder) -> Decoded:
    """Find what the tested encoded columns ask of the columns before the preprocessor.

    Parameters
    ----------
    traces : sequence of Trace, one for each encoded column
    trees : sequence of Tree
        Over the encoded columns.
    sample : Sample
    encoder : Encoder

    Returns
    -------
    Decoded
    """
    asked = Asked.of(trees)
    found = Decoded(asked)
    numbers, labelled = _sort_columns(traces, asked, sample, found)
    tried = {
        column: (list(_all_labels(traces, places)) or [sample.label(column)], places)
        for column, places in labelled.items()
    }
    strange, found.limited = look_at_columns(numbers, tried, traces, sample, encoder)
    for place, reason in strange.items():
        if place in asked.limits:
            found.give_up(place, f"which {reason}")
    for source in numbers:
        source.bins = {number: block for number, block in source.bins.items() if not strange.keys() & set(block)}
        source.used = [place for place in source.used if place not in strange]
    numbers = [source for source in numbers if source.used]
    labelled = {c: kept for c, places in labelled.items() if (kept := [p for p in places if p not in strange])}
    found.source |= {place: source.column for source in numbers for place in source.used}
    found.source |= {place: column for column, places in labelled.items() for place in places}
    _settle_missing([*(source.column for source in numbers), *labelled], asked, sample, encoder, found)
    _settle_fills(traces, sample, encoder, found)
    _settle_numbers(numbers, traces, asked, sample, encoder, found)
    _settle_labels(labelled, traces, asked, sample, encoder, found)
    for column in found.categories.keys() - set(found.source.values()):  # all its splits were given up
        del found.categories[column]
        found.cuts.pop(column, None)
        found.closed.discard(column)
    return found


def _sort_columns(
    traces: Sequence[Trace], asked: Asked, sample: Sample, found: Decoded
) -> tuple[list[NumberSource], dict[int, list[int]]]:
    """The columns that are asked as numbers, and those that are asked as categories; the rest is derived."""
    by_source: dict[int, list[int]] = {}
    for place in asked.limits:
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
        kind = sample.kind(column)
        if numeric and kind is None:
            for place in numeric:
                found.give_up(place, "which reads numbers from a column of something else")
            numeric = []
        if numeric or (blank and not coded and kind is not None):
            for place in coded:
                found.give_up(place, "whose column is used as a number, too")
            source = _as_number_source(column, kind, numeric + blank, traces, found)
            if source.used:
                numbers.append(source)
        elif coded or blank:
            labelled[column] = coded + blank
    return numbers, labelled


def _as_number_source(
    column: int, kind: np.dtype[Any] | None, places: list[int], traces: Sequence[Trace], found: Decoded
) -> NumberSource:
    used, bins = [], {}
    for place in places:
        trace = traces[place]
        if trace.bin is not None and trace.shape is Shape.BINNED:
            number = trace.bin[0]
            block = {one.bin: at for at, one in enumerate(traces) if one.bin is not None and one.bin[0] == number}
            if len(block) < trace.n_bins:
                found.give_up(place, "some bins of which were left out")
                continue
            bins[number] = tuple(block[number, rank] for rank in range(trace.n_bins))
        used.append(place)
    # Whole numbers become doubles before anything is computed, so limits hold for fractions, too. Short ones stay with
    # floats of their own length, and are asked as they are.
    if kind is None or (kind.kind in "iu" and kind.itemsize >= 4):
        kind = np.dtype(np.float64)
    return NumberSource(column, Scale(kind), used, bins)


# Numbers and cells.


def _settle_numbers(
    sources: list[NumberSource],
    traces: Sequence[Trace],
    asked: Asked,
    sample: Sample,
    encoder: Encoder,
    found: Decoded,
) -> None:
    questions = [_questions(source, traces, asked) for source in sources]
    limits = find_limits(sources, questions, sample, encoder)
    loose = [
        number for number, source in enumerate(sources) if not all(traces[place].is_exact for place in source.used)
    ]
    found.distance = look_beside_limits(
        [sources[k] for k in loose], [questions[k] for k in loose], [limits[k] for k in loose], sample, encoder
    )
    by_cell: dict[int, NDArray[np.float64]] = {}
    n_asked = {source.column: sum(asked.n_nodes[place] for place in source.used) for source in sources}
    for source, listed, limit in zip(sources, questions, limits, strict=True):
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
            place: np.array(of_view[View((place,), "rising")]) for place in source.used if _is_plain(source, place)
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
        _settle_cells(
            [source for source in sources if source.column in by_cell], by_cell, asked, sample, encoder, found
        )


def _is_plain(source: NumberSource, place: int) -> bool:
    return source.rises.get(place, False)


def _questions(source: NumberSource, traces: Sequence[Trace], asked: Asked) -> list[Question]:
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
            questions += [Question(View((place,), "rising"), limit) for limit in limits.tolist()]
        else:  # z > limit holds where -z is at most the number below -limit
            with np.errstate(over="ignore"):
                finite = limits[np.isfinite(limits)].astype(kind)  # a limit of inf has no number above it
                turned = -np.nextafter(finite, kind(np.inf)).astype(np.float64)
            questions += [Question(View((place,), "falling"), limit) for limit in turned.tolist()]
        below, above = source.gaps.get(place, (False, False))
        questions += [Question(View((place,), "before"), 0.5)] * below
        questions += [Question(View((place,), "after"), 0.5)] * above
    return questions


def _settle_cells(
    sources: list[NumberSource],
    cuts: Mapping[int, NDArray[np.float64]],
    asked: Asked,
    sample: Sample,
    encoder: Encoder,
    found: Decoded,
) -> None:
    """One category for each stretch of numbers that no split divides."""
    varied = {}
    for source in sources:
        limits = cuts[source.column].astype(source.scale.kind)
        above = np.array([source.scale.after(limits[-1])]).astype(source.scale.kind)
        varied[source.column] = np.concatenate([limits, above])
    places = sorted({place for source in sources for place in source.used})
    encoded = ask_rows(sample, encoder, varied, places)
    for source in sources:
        n_cells = len(varied[source.column])
        seen = {place: encoded[place][:n_cells] for place in source.used}
        sides = [
            np.where(np.isnan(values), -1, np.searchsorted(asked.limits[place], values))
            for place, values in seen.items()
        ]
        differs: NDArray[np.bool_] = np.any([np.diff(side) != 0 for side in sides], axis=0)
        if not differs.any():
            differs[0] = True
        keep = np.append(differs, True)
        limits = cuts[source.column][differs]
        found.cuts[source.column] = tuple(limits.tolist())
        found.categories[source.column] = _name_cells(limits.tolist())
        found.codes |= {place: values[keep] for place, values in seen.items()}


def _name_cells(cuts: list[float]) -> tuple[str, ...]:
    texts = [repr(cut).removesuffix(".0") for cut in cuts]
    return (f"<= {texts[0]}", *(f"{low} < x <= {high}" for low, high in pairwise(texts)))


# Categories.


def _all_labels(traces: Sequence[Trace], places: Sequence[int]) -> tuple[Label, ...]:
    """Categories that encoders know first, values that were replaced after them."""
    known = [label for place in places for label in traces[place].labels]
    replaced = [label for place in places for label in traces[place].replaced]
    return tuple(dict.fromkeys([*known, *replaced]))


def _settle_labels(
    labelled: Mapping[int, list[int]],
    traces: Sequence[Trace],
    asked: Asked,
    sample: Sample,
    encoder: Encoder,
    found: Decoded,
) -> None:
    if not labelled:
        return
    places = sorted({place for some in labelled.values() for place in some})
    labels = {column: _all_labels(traces, some) or (sample.label(column),) for column, some in labelled.items()}
    listed = {column: np.array([*known, None], dtype=object)[:-1] for column, known in labels.items()}
    encoded = ask_rows(sample, encoder, listed, places)
    strangers = {column: _pick_stranger(known, sample.kind(column)) for column, known in labels.items()}
    possible = [column for column, stranger in strangers.items() if stranger is not None]

    def ask(columns: Sequence[int]) -> NDArray[np.float64]:
        return encoder(sample.build({column: [strangers[column]] for column in columns}, 1), places)

    refused = set(find_refused(possible, ask))
    taken = [column for column in possible if column not in refused]
    strange = dict(zip(places, ask(taken)[0].tolist(), strict=True)) if taken else {}
    for column, some in labelled.items():
        seen = {place: encoded[place][: len(labels[column])] for place in some}
        last = {place: strange[place] if column in taken else np.nan for place in some}
        if column not in taken or any(np.isnan(last[place]) and not asked.accepts[place] for place in some):
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
            if np.isnan(values[keep]).any() and not asked.accepts[place]:
                found.give_up(place, "which has no value for some categories")
            else:
                found.codes[place] = np.append(values[keep], last[place])
        found.categories[column] = tuple(np.array([*labels[column], None], dtype=object)[:-1][keep].tolist())


def _pick_stranger(labels: Sequence[Any], kind: np.dtype[Any] | None) -> Any:
    """A value that is not among the categories; None where the column can hold no other."""
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


# Missing values.


def _settle_missing(columns: Sequence[int], asked: Asked, sample: Sample, encoder: Encoder, found: Decoded) -> None:
    places = sorted(found.source)
    markers = {column: sample.markers(column) for column in columns}
    answers: list[dict[int, dict[int, float]]] = []
    for turn in range(max((len(some) for some in markers.values()), default=0)):
        asked_now = [column for column in columns if len(markers[column]) > turn]

        def ask(some: Sequence[int], turn: int = turn) -> NDArray[np.float64]:
            return encoder(sample.build({column: [markers[column][turn]] for column in some}, 1), places)

        refused = set(find_refused(asked_now, ask))
        taken = [column for column in asked_now if column not in refused]
        values = dict(zip(places, ask(taken)[0].tolist(), strict=True)) if taken else {}
        by_column = {column: {place: values[place] for place in found.places_of(column)} for column in taken}
        answers.append({c: own for c, own in by_column.items() if _fit(own, asked)})
    for column in columns:
        given = [answer[column] for answer in answers if column in answer]
        if given:
            found.accepts.add(column)
            found.missing |= given[0]
            if any(not _same_values(given[0], other) for other in given[1:]):
                found.mixed_markers.append(column)


def _settle_fills(traces: Sequence[Trace], sample: Sample, encoder: Encoder, found: Decoded) -> None:
    """Which values a missing one is encoded like; an imputer of NaN, say, leaves None as it is."""
    told: dict[int, set[Label]] = {}
    for place, column in found.source.items():
        if column in found.accepts and (fill := traces[place].fill) is not None:
            told.setdefault(column, set()).add(fill)
    fills = {column: [fill] for column, some in told.items() if len(some) == 1 for fill in some}
    if not fills:
        return
    places = sorted(found.source)
    refused = find_refused(list(fills), lambda some: encoder(sample.build({c: fills[c] for c in some}, 1), places))
    taken = {column: fill for column, fill in fills.items() if column not in refused}
    if not taken:
        return
    values = dict(zip(places, encoder(sample.build(taken, 1), places)[0].tolist(), strict=True))
    for column, (fill,) in taken.items():
        own = [place for place in found.places_of(column) if traces[place].shape is not Shape.BLANK]
        if _same_values({place: values[place] for place in own}, found.missing):
            found.fills[column] = fill


def _fit(values: Mapping[int, float], asked: Asked) -> bool:
    """Whether the trees take these values of encoded columns."""
    return all(asked.accepts[place] or not np.isnan(value) for place, value in values.items())


def _same_values(one: Mapping[int, float], other: Mapping[int, float]) -> bool:
    return all(
        value == other[place] or (is_missing(value) and is_missing(other[place])) for place, value in one.items()
    )


# The sides of a split.


def find_sides(
    tree: Tree, nodes: NDArray[np.int64], place: int, found: Decoded
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where the splits of one encoded column send categories, and a missing value.

    Parameters
    ----------
    tree : Tree
        Over the encoded columns.
    nodes : ndarray of int64
        Its splits of the column.
    place : int
        The encoded column.
    found : Decoded

    Returns
    -------
    left : ndarray of bool, shape (n_nodes, n_codes)
        No codes where the column asks for a number.
    missing_left : ndarray of bool, shape (n_nodes,)
    """
    upper, nan_left = tree.upper[nodes], tree.missing_left[nodes]
    missing = found.missing.get(place, np.nan)
    missing_left = nan_left if np.isnan(missing) else missing <= upper
    if found.source[place] not in found.accepts:
        missing_left = np.zeros(len(nodes), dtype=bool)
    values = found.codes.get(place, np.zeros(0))
    left = np.where(np.isnan(values), nan_left[:, None], values <= upper[:, None])
    if found.source[place] in found.closed and place in found.codes:
        left[:, -1] = False  # values that are refused have no side, and their code has to stand somewhere
    return left, missing_left
