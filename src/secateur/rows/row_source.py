"""What every kind of rows can do, whether they are in memory, read in batches, or on Spark.

:func:`secateur.rows.opening.open_rows` alone asks which kind came; everything else asks the source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError
from secateur.rows.rows import LabelledRows, Rows
from secateur.rows.table_columns import own_names
from secateur.tree.tree import Tree

if TYPE_CHECKING:
    from secateur.rows.memory_rows import MemoryRows

Progress = Callable[[int, int | None], object]
"""Takes the number of rows or trees done, and of all of them if that is known."""

Counts = TypeVar("Counts")
Result = TypeVar("Result")
Work = Callable[[LabelledRows], Result]


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
        return cls(own_names(tree), tree.classes)


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
        """Give an adapter some rows to look at and their weights, each None where the model alone must do.

        ``columns`` are those of a pipeline, whose steps look at the types of rows; None for other models.
        """

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
        """Work on the labelled rows a piece at a time, in their order.

        ``checks_facts`` rejects a row that contradicts a fact of the tree. ``features`` are the columns to read, by
        default those that the tree asks for.
        """

    @abstractmethod
    def map_unlabelled(
        self, tree: Tree, work: Callable[[Rows, NDArray[np.float64] | None], Result]
    ) -> Iterator[Result]:
        """Work on the rows and their weights a piece at a time, in their order, whether they have labels or not."""

    def fold(
        self, tree: Tree, counter: Counter[Any], *, checks_facts: bool = False, progress: Progress | None = None
    ) -> Any:
        """Count all rows a piece at a time, add the counts up, and report progress after each piece."""
        total, n_rows = None, 0

        def count(listed: LabelledRows) -> tuple[int, Any]:
            return listed.rows.n_rows, counter.count(listed)

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
