"""How rules were made, by what method and with what allowance; and the rows that had no part in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from secateur.methods import Deletions
from secateur.methods.leaves import CLASSES_ONLY
from secateur.rows.row_source import GivenRows
from secateur.rules.edits import Edits


@dataclass(frozen=True)
class Making:
    """The method and the settings that rules were made with.

    Attributes
    ----------
    method : str
        Name of the method that deleted.
    parameters : mapping of str to object
        The method's parameters.
    is_ranked : bool
        Whether the counts come from rows, so that overlapping rules can be ranked.
    is_weighted : bool
        Whether the counts are sums of weights, not numbers of rows.
    budget : float
        Of a list: fraction of the training rows of each class, and of all, that may be off.
    tolerance : float
        Of a list: how far the share that a line states may lie from that of a row's own leaf; 1 keeps classes only.
    of : int or None
        Of a list: index of the class of interest, by whose share lines are ordered.
    edits : Edits or None
        Of a list that a person edited: the journal, and what the edits cost.
    notes : tuple of str
        The method's remarks on the rows, a sentence each; a file does not keep them.
    """

    method: str
    parameters: Mapping[str, Any]
    is_ranked: bool
    is_weighted: bool
    budget: float = 0.0
    tolerance: float = CLASSES_ONLY
    of: int | None = None
    edits: Edits | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Choice:
    """The rules of all leaves that a list was chosen from.

    Attributes
    ----------
    deletions : Deletions
        What the method deleted.
    covered_counts : ndarray of float64, shape (n_leaves, n_classes)
        Training rows of each class that each leaf's rule covered.
    """

    deletions: Deletions
    covered_counts: NDArray[np.float64]


@dataclass(frozen=True)
class StoredContent:
    """What a file says of itself: its digest, that of its content, the version that wrote it, and what it tells.

    ``told_digest`` is of the content, without the sentences if another version wrote it.
    """

    digest: str | None
    content_digest: str
    version: str
    told_digest: str | None = None


class Split(NamedTuple):
    """How rows of a table were set aside, so that the same can be set aside again."""

    share: float  # of the rows
    seed: int  # of the draw
    by: str | None = None  # column by which the last rows were set aside
    group: str | None = None  # column whose values were set aside together


@dataclass(frozen=True, eq=False)
class Unseen:
    """(Weighted) counts of rows that had no part in making rules, by class."""

    counts: NDArray[np.float64]  # beside each line: in a list rows that it decides, else those that satisfy it
    leaf_counts: NDArray[np.float64]  # of rows that reach each leaf of the tree
    squares: NDArray[np.float64] | None = None  # sums of the squared weights of each line's rows; None without weights
    split: Split | None = None  # how they were set aside; None if nobody said
    rows: GivenRows | None = field(default=None, repr=False)  # for Rules.verify; a file does not keep them
    # Of a list of a regression tree: mean and standard deviation of the targets of each line's rows; NaN without rows.
    moments: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        for array in (self.counts, self.leaf_counts, self.squares, self.moments):
            if array is not None:
                array.flags.writeable = False

    @cached_property
    def support(self) -> NDArray[np.float64]:
        """(Weighted) rows of each line."""
        return self.counts.sum(axis=1)  # type: ignore[no-any-return]

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """(Weighted) rows of each class."""
        return self.leaf_counts.sum(axis=0)  # type: ignore[no-any-return]

    @property
    def is_weighted(self) -> bool:
        """Whether the counts are sums of weights, not numbers of rows."""
        return self.squares is not None

    def without_rows(self) -> Self:
        """Give the same counts without the rows."""
        return replace(self, rows=None)
