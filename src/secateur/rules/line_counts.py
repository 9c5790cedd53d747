"""Count the training rows that each line of a list decides, and that each of its rules covers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secateur.counting.coverage import cover_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rows.rows import LabelledRows
    from secateur.rules.rules import Rules

__all__ = ["LineCounter", "LineCounts"]

FEW_RULES = 512  # of more, only the rows that they decide are counted


@dataclass(frozen=True)
class LineCounts:
    """(Weighted) rows by class."""

    decided: NDArray[np.float64]  # by each line, shape (n_lines, n_classes)
    covered: NDArray[np.float64]  # by each rule, whichever line decides them, shape (n_rules, n_classes)

    def __add__(self, other: LineCounts) -> LineCounts:
        return LineCounts(self.decided + other.decided, self.covered + other.covered)


@dataclass(frozen=True)
class LineCounter:
    """Counts rows of a list."""

    rules: Rules
    features = None  # those that the tree tests

    def count(self, listed: LabelledRows) -> LineCounts:
        """Count some rows."""
        rules, n_classes = self.rules, self.rules.tree.n_classes
        rows, class_ids, weights = listed
        heavy = np.ones(rows.n_rows) if weights is None else weights
        line = rules.find_lines(rows)
        size = rules.n_lines * n_classes
        decided = np.bincount(line * n_classes + class_ids, heavy, size).astype(np.float64).reshape(-1, n_classes)
        covered = np.full((len(rules), n_classes), np.nan)
        if len(rules) <= FEW_RULES:
            holds = cover_rows(rules.tree, rules.paths, rules.deleted, rows, rules.leaves)
            for class_id in range(n_classes):
                own = np.flatnonzero(class_ids == class_id)
                mine = holds[own]
                covered[:, class_id] = np.count_nonzero(mine, axis=0) if weights is None else heavy[own] @ mine
        return LineCounts(decided, covered)

    def add(self, total: LineCounts, part: LineCounts) -> LineCounts:
        """Add the counts of a further piece."""
        return total + part
