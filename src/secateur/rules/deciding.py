"""What rules decide about each row, as row sources take it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from secateur.tree.facts import NO_FACTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rows.rows import Rows
    from secateur.tree.tree import Tree

__all__ = ["Deciding", "without_facts"]


@dataclass(frozen=True)
class Deciding:
    """A question that rules answer row by row.

    Attributes
    ----------
    rules : RuleSet, ForestRules or the like
    name : str
        The method that a person called.
    find : callable
        What answers for rows in memory.
    features : collection of int, default=None
        The columns that are read; by default those that the tree asks for.
    """

    rules: Any
    name: str
    find: Callable[[Rows], NDArray[Any]]
    features: Collection[int] | None = None

    def __call__(self, rows: Rows) -> NDArray[Any]:
        """Decide some rows."""
        return self.find(rows)


def without_facts(tree: Tree) -> Tree:
    """The tree, which then asks only for what its splits test: rows that contradict the facts are still decided."""
    return replace(tree, facts=NO_FACTS) if tree.facts else tree
