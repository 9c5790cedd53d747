"""Questions that rules answer row by row, as row sources take them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from secateur.errors import ParameterError, did_you_mean
from secateur.rows.rows import Rows
from secateur.tree.facts import NO_FACTS
from secateur.tree.tree import Tree

__all__ = ["Deciding", "check_of", "without_facts"]


@dataclass(frozen=True)
class Deciding:
    """A question that rules answer row by row."""

    rules: Any  # Rules or ForestRules
    name: str  # the method that the user called
    find: Callable[[Rows], NDArray[Any]]  # answers for rows in memory
    features: Collection[int] | None = None  # columns to read; by default those that the tree tests

    def __call__(self, rows: Rows) -> NDArray[Any]:
        """Answer for rows in memory."""
        return self.find(rows)


def without_facts(tree: Tree) -> Tree:
    """Drop a tree's facts, so that rows that contradict them are still decided."""
    return replace(tree, facts=NO_FACTS) if tree.facts else tree


def check_of(of: Any) -> None:
    """Raise unless ``of`` is "line" or "leaf"."""
    if of not in ("line", "leaf"):
        raise ParameterError(
            f"Expected of as 'line' (the rules' probabilities) or 'leaf' (the tree's own), found {of!r}."
            f"{did_you_mean(of, ('line', 'leaf'))}"
        )
