"""What every source of rows does, and the rows that are in memory.

:func:`secateur.rows.opening.open_rows` alone asks which kind came; everything else asks the source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError, did_you_mean, shorten
from secateur.facts.checking import check_facts
from secateur.facts.stating import whole_by_dtype
from secateur.frames import check_unique, frame_columns
from secateur.kernels.running import map_in_threads
from secateur.rows.checking import check_answers, check_columns, check_rows, check_weights, mark_finite
from secateur.rows.encoding import as_objects, derives, own_names, read_features, to_label_types
from secateur.rows.rows import LabelledRows, Rows
from secateur.tree.tree import Tree

# What rows are read by: trees that share all of it read them alike.
TERMS = ("feature", "threshold", "dtype", "categories", "columns", "column_parsers", "feature_names", "accepts_missing")
PIECE_ROWS = 1 << 18  # rows that are counted at a time, so that what is made of each takes little memory

Progress = Callable[[int, int | None], object]
"""Takes the number of rows or trees done, and of all of them if that is known."""

Counts = TypeVar("Counts")
Result = TypeVar("Result")
Work = Callable[[LabelledRows], Result]
WeightedWork = Callable[[Rows, NDArray[np.float64] | None], Result]


class GivenRows(NamedTuple):
    """Rows, labels and weights as a caller passed them."""

    X: Any
    y: Any
    sample_weight: Any


class ModelTerms(NamedTuple):
    """The columns that a model takes and the labels it knows; None where it does not say."""

    columns: list[str] | None
    classes: NDArray[Any] | None
    wants_pandas: bool = False  # scikit-learn takes no Arrow

    @classmethod
    def of(cls, tree: Tree) -> ModelTerms:
        """Take the columns and labels of a tree, without columns that only its pipeline makes."""
        return cls(own_names(tree), None if tree.is_regression else tree.classes)


class Counter(Protocol[Counts]):
    """Counts rows; counts of pieces add up."""

    @property
    def features(self) -> Collection[int] | None:
        """The columns that it reads; None for those that the tree asks for."""

    def count(self, listed: LabelledRows) -> Counts:
        """Count some rows."""

    def add(self, total: Counts, part: Counts) -> Counts:
        """Add the counts of a further piece, in place or not."""


class Decider(Protocol):
    """Decides something about each row."""

    @property
    def name(self) -> str:
        """The method of a rule set that the caller used, for messages."""

    @property
    def features(self) -> Collection[int] | None:
        """The columns that it reads; None for those that the tree asks for."""

    def __call__(self, rows: Rows) -> NDArray[Any]:
        """Decide some rows."""


class RowSource(ABC):
    """Rows, with labels and weights if they have any, wherever they are."""

    name: str  # in messages
    given: GivenRows | None  # what to open again later; None where a second look would cost too much
    y: Any  # the labels, the column that holds them, or None
    in_memory = False  # whether the rows need not be counted beforehand
    is_once = False  # whether the rows can be read only once
    is_weighted: bool

    @abstractmethod
    def show(self, model: Any, columns: list[str] | None) -> tuple[Any, Any]:
        """Give an adapter rows to look at and weights, None where the model must do; a pipeline has ``columns``."""

    @abstractmethod
    def fit(self, tree: Tree) -> Tree:
        """Name the tree's columns if it does not; reject if columns that it asks for are not here."""

    @property
    @abstractmethod
    def types(self) -> Any:
        """A frame, perhaps without rows, whose types tell which columns hold whole numbers; else None."""

    @abstractmethod
    def map(
        self, tree: Tree, work: Work[Result], *, checks_facts: bool = False, features: Collection[int] | None = None
    ) -> Iterator[Result]:
        """Work on labelled rows a piece at a time, in order; ``checks_facts`` rejects rows that contradict a fact."""

    @abstractmethod
    def map_unlabelled(self, tree: Tree, work: WeightedWork[Result]) -> Iterator[Result]:
        """Work on the rows and their weights a piece at a time, in their order, whether they have labels or not."""

    def fold(
        self, tree: Tree, counter: Counter[Any], *, checks_facts: bool = False, progress: Progress | None = None
    ) -> Any:
        """Count all rows a piece at a time, add the counts up, and report progress after each piece."""
        total, n_rows = None, 0

        def count(listed: LabelledRows) -> tuple[int, Any]:
            parts = map_in_threads(counter.count, listed.split(PIECE_ROWS))
            return listed.rows.n_rows, reduce(counter.add, parts)

        for n_more, part in self.map(tree, count, checks_facts=checks_facts, features=counter.features):
            total = part if total is None else counter.add(total, part)
            n_rows += n_more
            if progress is not None:
                progress(n_rows, self.n_rows)
        return total

    @property
    def n_rows(self) -> int | None:
        """Number of rows, where it is known before they are read."""
        return None

    @abstractmethod
    def decide(self, tree: Tree, decider: Decider) -> Any:
        """Decide something about each row: an array in the order of the rows, or a lazy Spark DataFrame."""

    @abstractmethod
    def hold(self, find_terms: Callable[[], ModelTerms], why: str, instead: str = "") -> MemoryRows:
        """Bring the rows into memory: a model's columns, its labels as it knows them, and weights.

        ``find_terms`` gives the model's columns and labels, where they must be told apart from others. The error
        starts with ``why``, which says what needs all rows at once, and ends with ``instead``.
        """

    def check_labelled(self) -> None:
        """Reject rows without labels."""
        if self.y is None:
            raise InputError("X was passed without y: pass the labels, or the name of the column that holds them.")


class MemoryRows(RowSource):
    """An array, a data frame or checked Rows; labels and weights may be columns of the frame, by name."""

    in_memory = True
    given: GivenRows

    def __init__(self, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        self.X, self.y, self.sample_weight = X, y, sample_weight
        self.name, self.given = "X", GivenRows(X, y, sample_weight)
        self.is_weighted = sample_weight is not None
        self._last_read: tuple[list[Any], LabelledRows] | None = None

    @property
    def types(self) -> Any:
        """The frame itself; the one type of an array says nothing about a single column."""
        return self.X if frame_columns(self.X) is not None else None

    def show(self, model: Any, columns: list[str] | None) -> tuple[Any, Any]:
        """Show all rows, marked if they are finite, so that nobody checks that again."""
        self.X = mark_finite(self.X)
        return self.X, self.sample_weight

    def fit(self, tree: Tree) -> Tree:
        """Name the tree's columns as the frame does."""
        names = None if isinstance(self.X, Rows) else frame_columns(self.X)
        if names is None or derives(tree):  # the columns that a pipeline makes are checked once they are made
            return tree
        check_columns(tree, names)
        return tree if tree.feature_names is not None else replace(tree, feature_names=tuple(names))

    def read_labelled(self, tree: Tree, *, checks_facts: bool = False, is_part: bool = False) -> LabelledRows:
        """Check rows, labels and weights, and bring them into the tree's terms; a part may have no weight at all."""
        if not checks_facts and (known := self._recall(tree)) is not None:
            return known
        held = self.hold(lambda: ModelTerms.of(tree), "")
        held.check_labelled()
        rows = held.read(tree)
        class_ids, targets = check_answers(tree, held.y, rows.n_rows)
        weights = check_weights(held.sample_weight, rows.n_rows, is_part=is_part)
        if checks_facts and not isinstance(held.X, Rows):  # Rows were checked once for a whole forest
            check_facts(tree, rows, typed=whole_by_dtype(tree, held.types))
        self._last_read = [getattr(tree, name) for name in TERMS], LabelledRows(rows, class_ids, weights, targets)
        return self._last_read[1]

    def _recall(self, tree: Tree) -> LabelledRows | None:
        """Give the rows that were read last, if that was in the tree's terms."""
        if self._last_read is None:
            return None
        terms, known = self._last_read
        return known if all(getattr(tree, name) is one for name, one in zip(TERMS, terms, strict=True)) else None

    def map(
        self, tree: Tree, work: Work[Result], *, checks_facts: bool = False, features: Collection[int] | None = None
    ) -> Iterator[Result]:
        """Work on all rows at once."""
        yield work(self.read_labelled(tree, checks_facts=checks_facts, is_part=True))

    def map_unlabelled(self, tree: Tree, work: WeightedWork[Result]) -> Iterator[Result]:
        """Work on all rows at once."""
        if (known := self._recall(tree)) is not None:
            yield work(known.rows, known.weights)
            return
        held = self.hold(lambda: ModelTerms.of(tree), "")
        rows = held.read(tree)
        yield work(rows, check_weights(held.sample_weight, rows.n_rows, is_part=True))

    def decide(self, tree: Tree, decider: Decider) -> NDArray[Any]:
        """Decide all rows at once."""
        return decider(self.read(tree, features=decider.features))

    def read(self, tree: Tree, name: str = "X", features: Collection[int] | None = None) -> Rows:
        """Bring the rows into the tree's terms; the columns of a frame are taken by name.

        Columns that the tree does not know are left aside, and those may be absent that are not among the features to
        read, by default those that the tree asks for.
        """
        own, names = ModelTerms.of(tree).columns, None if isinstance(self.X, Rows) else frame_columns(self.X)
        if own is None or names is None or list(names) == own:
            return check_rows(tree, self.X, name=name)
        if derives(tree) and set(tree.feature_names or ()) <= set(names):
            return check_rows(tree, self.X, name=name)
        check_unique(names, name)
        absent = [column for column in own if column not in names]
        if not {own[feature] for feature in read_features(tree, features) if feature < len(own)}.isdisjoint(absent):
            return check_rows(tree, self.X, name=name)  # which names them
        import narwhals as nw

        frame = nw.from_native(self.X, eager_only=True)
        if absent:
            frame = frame.with_columns(nw.lit(None, dtype=nw.Float64).alias(column) for column in absent)
        return check_rows(tree, frame[own].to_native(), name=name)

    def hold(self, find_terms: Callable[[], ModelTerms], why: str, instead: str = "") -> MemoryRows:
        """Split labels and weights off the frame that holds them."""
        named = {"y": self.y, "sample_weight": self.sample_weight}
        named = {what: column for what, column in named.items() if isinstance(column, str)}
        if not named:
            return self
        if frame_columns(self.X) is None:
            what, column = next(iter(named.items()))
            raise InputError(
                f"{what} names a column ({column!r}), but X is an array without names: pass {what} as one value per "
                "row."
            )
        return split_frame(self.X, self.y, self.sample_weight, find_terms())


def split_frame(frame: Any, y: Any, sample_weight: Any, terms: ModelTerms) -> MemoryRows:
    """Split a frame into a model's columns, labels and weights, which are columns by name or as they are."""
    import narwhals as nw

    if terms.wants_pandas and nw.dependencies.is_pyarrow_table(frame):
        frame = frame.to_pandas()  # the steps of a pipeline take no Arrow
    names = frame_columns(frame) or []
    label, weight = (column if isinstance(column, str) else None for column in (y, sample_weight))
    for column, what in ((label, "y"), (weight, "sample_weight")):
        if column is not None and column not in names:
            hint = did_you_mean(column, names) or f" Its columns are {shorten(names)}."
            raise InputError(f"{what} names column {column!r}, which X does not have.{hint}")
    absent = [name for name in terms.columns or () if name not in names]
    if absent:
        raise InputError(f"X has no column{'s' * (len(absent) > 1)} {shorten(absent)}, which the model was fitted on.")
    rest = [name for name in names if name not in (label, weight)] if terms.columns is None else terms.columns
    wrapped = nw.from_native(frame, eager_only=True)
    weights = wrapped[weight].to_numpy() if weight is not None else sample_weight
    labels = _read_labels(wrapped[label], terms.classes) if label is not None else y
    return MemoryRows(wrapped[rest].to_native(), labels, weights)


def _read_labels(column: Any, classes: NDArray[Any] | None) -> NDArray[Any]:
    if classes is None or (column.dtype.is_integer() and classes.dtype.kind in "iu"):
        return np.asarray(column.to_numpy())
    return to_label_types(as_objects(column.to_list()), classes.tolist())
