"""What is counted of rows, settled before the first of them comes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from secateur.counting.counted_evidence import Evidence, check_size
from secateur.counting.tile_arguments import Conditions
from secateur.counting.violations import PatternCounter
from secateur.errors import ParameterError
from secateur.methods import METHODS
from secateur.rows.rows import LabelledRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.methods import Problem
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Tree

__all__ = ["EvidencePlan", "plan_evidence"]

# Methods that look at rows one by one.
BY_ROWS_ALONE = ("budgeted", "mismatch-certified")


@dataclass(frozen=True)
class EvidencePlan:
    """The conditions that rows are counted by, for one method or for all that a summary can serve.

    Attributes
    ----------
    tree : Tree
    paths : Paths
    method : str or None
    ignored, opened : ndarray of bool, shape (n_entries,)
        As in :class:`secateur.Evidence`.
    """

    tree: Tree
    paths: Paths
    method: str | None
    ignored: NDArray[np.bool_]
    opened: NDArray[np.bool_]

    def count(self, listed: LabelledRows) -> Evidence:
        """Count a chunk of rows."""
        leaf_counts, cells = self.counter.count(listed)
        is_weighted = listed.weights is not None
        return Evidence(
            self.tree, listed.rows.n_rows, is_weighted, self.method, self.ignored, self.opened, leaf_counts, cells
        )

    @cached_property
    def counter(self) -> PatternCounter:
        """What counts the rows of a chunk."""
        conditions = Conditions(self.ignored, self.opened, np.ones(self.paths.n_rules, dtype=bool))
        return PatternCounter(self.tree, self.paths, conditions)


def plan_evidence(problem: Problem, method: str | None) -> EvidencePlan:
    """Settle what is counted for a method, or refuse a summary that would be too large."""
    if method in BY_ROWS_ALONE:
        raise ParameterError(
            f"The method {method!r} looks at rows one by one, so its summary would be as large as the rows: pass them "
            "to simplify."
        )
    if method is not None and METHODS[method].needs_rows and problem.tree.counts is None:
        raise ParameterError(f"The tree has no class counts, so what {method!r} asks is not known yet: name no method.")
    ignored, opened = _find_conditions(problem, method)
    check_size(problem.paths, opened, problem.tree.n_classes, method)
    return EvidencePlan(problem.tree, problem.paths, method, ignored, opened)


def _find_conditions(problem: Problem, method: str | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Conditions that a method deletes whatever the rows say, and those that it may delete by them."""
    paths = problem.paths
    none, every = np.zeros(len(paths.links), dtype=bool), np.ones(len(paths.links), dtype=bool)
    if method is None or method == "quinlan":
        return none, every
    suspects = paths.mismatched & ~paths.inside_h
    if method == "mismatch":
        return none, suspects
    alone = replace(problem, evidence=None)
    gone = METHODS["exact" if method == "layered" else method].delete(alone).deleted
    return gone, suspects & ~gone if method == "layered" else none
