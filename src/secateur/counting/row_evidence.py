"""Count the training rows themselves, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from secateur.counting.rows_by_leaf import index_rows
from secateur.counting.training_evidence import TrainingEvidence
from secateur.counting.violations import count_violations
from secateur.kernels.run_walks import run_count
from secateur.rows.leaves import count_classes
from secateur.rows.rows import LabelledRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.counting.tile_arguments import Conditions
    from secateur.counting.violations import ViolationCounts
    from secateur.rows.rows import Rows
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Tree

__all__ = ["RowEvidence"]

# From this many leaves on, rules that were shortened by exact deletions only are counted by walking the tree.
WALKED_LEAVES = 1_000


@dataclass
class RowEvidence(TrainingEvidence):
    """Labelled, possibly weighted rows, and the counts that were asked for already.

    Parameters
    ----------
    tree : Tree
    rows : Rows
    class_ids : ndarray of int64, shape (n_rows,)
    weights : ndarray of float64, shape (n_rows,), or None
    """

    tree: Tree
    rows: Rows
    class_ids: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    _counted: tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]] | None = field(
        default=None, init=False, repr=False
    )
    _leaf_counts: NDArray[np.float64] | None = field(default=None, init=False, repr=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    @property
    def listed(self) -> LabelledRows:
        """The rows with their classes and weights."""
        return LabelledRows(self.rows, self.class_ids, self.weights)

    def _answer(self, paths: Paths, conditions: Conditions) -> ViolationCounts:
        violations = count_violations(self.tree, paths, conditions, self.listed, self._leaf_counts)
        self._leaf_counts = violations.leaf_counts
        return violations

    def count(
        self, paths: Paths, deleted: NDArray[np.bool_], *, is_exact: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count rows as the base class says.

        Rules that meet no leaf of another class are narrow: where there are many, the tree itself finds their rows.
        Others are wide, and a walk with one of them would visit most of the tree: they are counted by masks.
        """
        if self._counted is not None and np.array_equal(self._counted[0], deleted):
            return self._counted[1:]
        if is_exact and paths.n_rules >= WALKED_LEAVES:
            return self.count_by_walks(paths, deleted)
        return super().count(paths, deleted, is_exact=is_exact)

    def count_by_walks(
        self, paths: Paths, deleted: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count as :meth:`count` does, but always by walking the tree with each rule's box."""
        index = index_rows(self.tree, paths, self.rows)
        leaf_counts = count_classes(self.tree, index.reached, self.class_ids, self.weights)[paths.leaf_ids]
        widened = np.bincount(paths.rule[deleted], minlength=paths.n_rules) > 0
        walked = run_count(self.tree, paths, deleted, index, self.class_ids, self.weights)
        return np.where(widened[:, None], walked, leaf_counts), leaf_counts

    def remember(
        self, deleted: NDArray[np.bool_], counts: NDArray[np.float64], leaf_counts: NDArray[np.float64]
    ) -> None:
        """Keep the counts that a method made; sums of weights are made again, as their order decides the last bit."""
        if self.weights is None:
            self._counted = deleted.copy(), counts, leaf_counts
