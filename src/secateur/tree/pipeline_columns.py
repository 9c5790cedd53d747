"""How a person's own columns become a tree's features when a pipeline stands between them.

A tree behind a pipeline is read as a tree over the columns that go *into* the pipeline. Most are plain numbers or
categories, as in any other tree. This describes the rest: numbers that are asked by cell rather than by threshold,
categories that the pipeline rejects, and columns that only the pipeline itself can make.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from secateur.tree.tree import Tree

# How a remark ends that says which rows a promise about all rows leaves out.
BESIDE_A_LIMIT = "may go the other way."


@dataclass(frozen=True)
class Columns:
    """What the rows of a tree behind a pipeline hold: labels in categorical columns, never codes.

    A number that is asked by cell has increasing ``cuts``. Code ``k`` stands for ``cuts[k - 1] < x <= cuts[k]``, the
    first for everything up to ``cuts[0]`` and code ``len(cuts)`` for everything above the last.
    """

    cuts: tuple[tuple[float, ...] | None, ...]  # by feature; None for one that is not asked by cell
    closed: tuple[bool, ...]  # by feature: whether a category that is not listed is rejected
    ranges: tuple[tuple[float, float] | None, ...] = ()  # lowest and highest number that the pipeline has a value for
    derived: tuple[str, ...] = ()  # columns that the pipeline makes and that cannot be inverted: the last features
    remarks: tuple[str, ...] = ()  # sentences for a reader of the rules
    # Features to read from rows beside those that the tree tests: in a forest, those that its other trees test. Other
    # columns may hold anything.
    asked: tuple[int, ...] = field(default=(), compare=False)
    # The tree over the columns that the pipeline makes, and what makes this tree's columns from the rows that the
    # pipeline takes, where they differ; both None where the pipeline is not at hand.
    encoded: Tree | None = field(default=None, compare=False, repr=False)
    derive: Callable[[Any], Any] | None = field(default=None, compare=False, repr=False)


def find_cuts(tree: Tree, feature: int) -> tuple[float, ...] | None:
    """Find the limits of a number that the tree asks by cell; None for every other column."""
    return None if tree.columns is None else tree.columns.cuts[feature]


def is_closed(tree: Tree, feature: int) -> bool:
    """Whether a category that is not listed is rejected."""
    return tree.columns is not None and tree.columns.closed[feature] and tree.columns.cuts[feature] is None


def join_cells(cuts: tuple[float, ...], codes: Iterable[int]) -> tuple[tuple[float, float], ...]:
    """Turn cells of a number, given by increasing codes, into intervals; neighbours are joined."""
    ends = (-math.inf, *cuts, math.inf)
    joined: list[tuple[float, float]] = []
    for code in codes:
        start = joined.pop()[0] if joined and joined[-1][1] == ends[code] else ends[code]
        joined.append((start, ends[code + 1]))
    return tuple(joined)
