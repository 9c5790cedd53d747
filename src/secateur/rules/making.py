"""How rules were made: by what method, and with what allowance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from secateur.methods import Deletions
from secateur.methods.leaf_values import CLASSES_ONLY

if TYPE_CHECKING:
    from secateur.rules.edits import Edits

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
