"""Questions that rules answer row by row, as row sources take them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from secateur.errors import ParameterError, did_you_mean
from secateur.tree.facts import NO_FACTS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from secateur.rows.rows import Rows
    from secateur.rules.rule_set import RuleSet
    from secateur.tree.tree import Label, Tree

__all__ = ["Deciding", "Decisions", "check_of", "without_facts"]


class Decisions(NamedTuple):
    """The rules that decide rows, in the order in which the first that covers a row decides it."""

    rules: RuleSet  # that holds them
    order: NDArray[np.int64]  # their places in it
    numbers: NDArray[np.int64]  # what each is called, from 0 on
    is_ordered: bool  # whether the order is sure: no two rules of different classes overlap, or rows ranked them
    otherwise: tuple[Label, float | None, str] | None = None  # label, reliability and words of what none covers
    reliability: NDArray[np.float64] | None = None  # of what each decides; by default of what each covers


@dataclass(frozen=True)
class Deciding:
    """A question that rules answer row by row."""

    rules: Any  # a RuleSet, CompactRules or ForestRules
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
    """Refuse what probabilities are not known of."""
    if of not in ("rule", "leaf"):
        raise ParameterError(
            f"Expected of as 'rule' (the rules' probabilities) or 'leaf' (the tree's own), found {of!r}."
            f"{did_you_mean(of, ('rule', 'leaf'))}"
        )
