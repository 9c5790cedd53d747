"""What trees ask of encoded columns, and what was found of the columns before them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from secateur.adapters.pipelines.probe import Probe
    from secateur.adapters.pipelines.trace import Trace
    from secateur.tree.tree import Label, Tree

__all__ = ["Asked", "Decoded"]


@dataclass(frozen=True)
class Asked:
    """What trees ask of each encoded column that they test."""

    limits: Mapping[int, NDArray[np.float64]]  # thresholds, rounded down to the dtype of the trees, increasing
    n_nodes: Mapping[int, int]  # number of splits
    accepts: Mapping[int, bool]  # whether the trees take NaN there
    dtype: str

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> Asked:
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
    source: dict[int, int] = field(default_factory=dict)
    """The column that each tested place asks about; derived ones are left out."""
    limits: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    """Of a place that asks for a number: the limit for each of its thresholds."""
    codes: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    """Of a place that asks for a category or a cell: its value for each code, and last for unlisted values."""
    missing: dict[int, float] = field(default_factory=dict)
    """The value of a place where its column is missing."""
    accepts: set[int] = field(default_factory=set)
    """Columns in which a missing value is taken."""
    categories: dict[int, tuple[Label, ...]] = field(default_factory=dict)
    cuts: dict[int, tuple[float, ...]] = field(default_factory=dict)
    closed: set[int] = field(default_factory=set)
    derived: dict[int, str] = field(default_factory=dict)
    """Places that cannot be inverted, and why not."""
    distance: dict[int, float] = field(default_factory=dict)
    """How far from a limit of a column a number may still be on the other side."""
    gaps: list[tuple[int, float, bool]] = field(default_factory=list)
    """Column, lowest or highest number that the pipeline has a value for, and whether it is the highest."""
    ranges: dict[int, tuple[float, float]] = field(default_factory=dict)
    """The lowest and highest such number of a column where the tree takes no NaN."""
    limited: list[str] = field(default_factory=list)
    """Sentences with a column's number in braces."""
    mixed_markers: list[int] = field(default_factory=list)
    """Columns in which None and NaN are not the same."""
    fills: dict[int, Label] = field(default_factory=dict)
    """What a missing value of a column counts as."""

    def places_of(self, column: int) -> list[int]:
        """List the places that ask about a column."""
        return [place for place, source in self.source.items() if source == column]

    def give_up(self, place: int, reason: str) -> None:
        """Let rules name an encoded column itself, and say why."""
        self.derived[place] = reason
        for known in (self.source, self.limits, self.codes, self.missing):
            known.pop(place, None)
