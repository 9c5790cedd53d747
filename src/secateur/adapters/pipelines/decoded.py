"""What trees ask of encoded columns, and what was found of the columns before them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from secateur.tree.tree import Label, Tree

__all__ = ["Asked", "Decoded"]


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
