"""How rules were made: by what method, with what allowance, and what was there before lines were chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.methods import Deletions
from secateur.methods.contract import DEFAULT_TOLERANCE

__all__ = ["Choice", "Making", "StoredContent"]


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
        Fraction of training rows whose answer may differ from the tree's.
    tolerance : float
        How far below its leaf's a rule's training reliability may fall by a deletion that the budget pays for.
    notes : tuple of str
        The method's remarks on the rows, a sentence each; a file does not keep them.
    """

    method: str
    parameters: Mapping[str, Any]
    is_ranked: bool
    is_weighted: bool
    budget: float = 0.0
    tolerance: float = DEFAULT_TOLERANCE
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Choice:
    """The rules that lines were chosen from, and what became of those that are not written.

    Attributes
    ----------
    deletions : Deletions
        What was deleted before the budget was spent.
    covered_counts : ndarray of float64, shape (n_leaves, n_classes)
        Training rows of each class that each leaf's rule covered then.
    stand_ins : tuple of ndarray of int64
        Offsets and places: the leaves that each written rule stands for, as places in source order.
    drop_costs : ndarray of float64, shape (3, n_leaves)
        Shares of rows that differ from the tree before and after the rule of a leaf was dropped, and of training rows
        that it added; NaN for rules that are written, that another stands for, or of the class of "otherwise".
    """

    deletions: Deletions
    covered_counts: NDArray[np.float64]
    stand_ins: tuple[NDArray[np.int64], NDArray[np.int64]]
    drop_costs: NDArray[np.float64]


@dataclass(frozen=True)
class StoredContent:
    """What a file says of itself: its digest, that of its content, the version that wrote it, and what it tells.

    ``told_digest`` is of the content, without the sentences if another version wrote it.
    """

    digest: str | None
    content_digest: str
    version: str
    told_digest: str | None = None
