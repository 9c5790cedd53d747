"""What every kind of rows can do: rows in memory, rows read in batches, rows on Spark.

:func:`secateur.rows.opening.open_rows` is the only place that looks at what kind came. Everybody else asks the source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from secateur.rows.memory_rows import MemoryRows
    from secateur.rows.rows import LabelledRows, Rows
    from secateur.tree.tree import Tree

__all__ = ["Counter", "Decider", "GivenRows", "ModelTerms", "Progress", "RowSource"]

Progress = Callable[[int, int | None], object]
"""Called with the number of rows or trees that are done, and of all if that is known."""

Counts = TypeVar("Counts")
Result = TypeVar("Result")


class GivenRows(NamedTuple):
    """Rows, labels and weights as a caller passed them."""

    X: Any
    y: Any
    sample_weight: Any


class ModelTerms(NamedTuple):
    """The columns that a model takes and the labels that it knows, None where it does not say; whether it has steps."""

    columns: list[str] | None
    classes: NDArray[Any] | None
    is_pipeline: bool = False


class Counter(Protocol[Counts]):
    """Counts rows; counts of pieces add up."""

    @property
    def features(self) -> Collection[int] | None:
        """The columns that it reads, if not those that the tree asks for."""

    def count(self, listed: LabelledRows) -> Counts:
        """Count some rows."""

    def add(self, total: Counts, part: Counts) -> Counts:
        """Add the counts of a further piece, in place or not."""


class Decider(Protocol):
    """Decides something about each row."""

    @property
    def name(self) -> str:
        """The method of a rule set that a person called, for messages."""

    @property
    def features(self) -> Collection[int] | None:
        """The columns that it reads, if not those that the tree asks for."""

    def __call__(self, rows: Rows) -> NDArray[Any]:
        """Decide some rows."""


class RowSource(ABC):
    """Rows, with labels and weights if they have any, wherever they are.

    Attributes
    ----------
    name : str
        What the rows are called in messages.
    given : GivenRows or None
        What the caller passed, to be opened again later; None where a second look would be too dear.
    in_memory : bool
        Whether every row is at hand, so that nothing needs to be counted beforehand.
    is_once : bool
        Whether the rows can be read once only.
    is_weighted : bool
        Whether they have weights.
    """

    name: str
    given: GivenRows | None
    in_memory = False
    is_once = False
    is_weighted: bool

    @abstractmethod
    def show(self, model: Any, columns: list[str] | None) -> Any:
        """Give an adapter some rows to look at, where the model alone does not tell enough; None where they must not.

        Parameters
        ----------
        model : object
        columns : list of str or None
            The columns of a pipeline, whose steps look at the types of rows; None for other models.
        """

    @abstractmethod
    def fit(self, tree: Tree) -> Tree:
        """Give a tree the names of these columns if it has none; refuse if columns that it asks for are not here."""

    @property
    @abstractmethod
    def types(self) -> Any:
        """A frame, perhaps without rows, whose types tell which columns hold whole numbers; None if there are none."""

    @abstractmethod
    def map(
        self,
        tree: Tree,
        work: Callable[[LabelledRows], Result],
        *,
        checks_facts: bool = False,
        features: Collection[int] | None = None,
    ) -> Iterator[Result]:
        """Do something with the labelled rows, a piece at a time, in their order.

        Parameters
        ----------
        tree : Tree
            What the rows are read for, with the names of their columns.
        work : callable
        checks_facts : bool, default=False
            Whether a row that contradicts a fact of the tree is refused.
        features : collection of int, default=None
            The columns that are read; by default those that the tree asks for.
        """

    def fold(
        self, tree: Tree, counter: Counter[Any], *, checks_facts: bool = False, progress: Progress | None = None
    ) -> Any:
        """Count all rows, a piece at a time, and add the counts up.

        Parameters
        ----------
        tree : Tree
        counter : Counter
        checks_facts : bool, default=False
        progress : callable, default=None
            Called with the number of rows that are counted, and of all rows if that is known, after each piece.
        """
        total = None
        n_rows = 0

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
        """Decide something about each row, in the order of the rows; on Spark a lazy DataFrame.

        Parameters
        ----------
        tree : Tree
        decider : Decider

        Returns
        -------
        ndarray of length n_rows, or pyspark.sql.DataFrame
        """

    @abstractmethod
    def hold(self, find_terms: Callable[[], ModelTerms], why: str, instead: str = "") -> MemoryRows:
        """Bring the rows into memory: the columns of a model, its labels as it knows them, weights.

        Parameters
        ----------
        find_terms : callable
            Gives the columns and labels of the model, if they must be told apart from others.
        why : str
            Who needs all rows at once: the beginning of the sentence that refuses.
        instead : str, default=""
            What else could be done, for its end.

        Returns
        -------
        MemoryRows
        """
