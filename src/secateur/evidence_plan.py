"""What is counted of rows, settled before the first of them comes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from secateur.errors import ParameterError
from secateur.evidence import Evidence, check_size
from secateur.literals import Conditions
from secateur.methods import METHODS
from secateur.tally import LabelledRows, PatternCounter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.annotation import Annotation
    from secateur.methods import Problem
    from secateur.tree import Tree

__all__ = ["EvidencePlan", "plan_evidence"]

# Methods that look at rows one by one.
BY_ROWS_ALONE = ("budgeted", "mismatch-certified")


@dataclass(frozen=True)
class EvidencePlan:
    """The conditions that rows are counted by, for one method or for all that a summary can serve.

    Attributes
    ----------
    tree : Tree
    notes : Annotation
    method : str or None
    ignored, opened : ndarray of bool, shape (n_entries,)
        As in :class:`secateur.Evidence`.
    """

    tree: Tree
    notes: Annotation
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
        conditions = Conditions(self.ignored, self.opened, np.ones(self.notes.n_rules, dtype=bool))
        return PatternCounter(self.tree, self.notes, conditions)


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
    check_size(problem.notes, opened, problem.tree.n_classes, method)
    return EvidencePlan(problem.tree, problem.notes, method, ignored, opened)


def _find_conditions(problem: Problem, method: str | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Conditions that a method deletes whatever the rows say, and those that it may delete by them."""
    notes = problem.notes
    none, every = np.zeros(len(notes.links), dtype=bool), np.ones(len(notes.links), dtype=bool)
    if method is None or method == "quinlan":
        return none, every
    suspects = notes.mismatched & ~notes.inside_h
    if method == "mismatch":
        return none, suspects
    alone = replace(problem, evidence=None)
    gone = METHODS["exact" if method == "layered" else method].delete(alone).deleted
    return gone, suspects & ~gone if method == "layered" else none
