"""Count the training rows themselves, in memory."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from secateur.counting.rows_by_leaf import RowIndex, index_rows
from secateur.counting.tile_arguments import Conditions
from secateur.counting.training_evidence import TrainingEvidence
from secateur.counting.violations import ViolationCounts, count_violations
from secateur.rows.leaves import count_classes
from secateur.rows.rows import LabelledRows, Rows
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree


@dataclass
class RowEvidence(TrainingEvidence):
    """Labelled, possibly weighted rows, and the counts that were asked for already."""

    tree: Tree
    rows: Rows
    class_ids: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    _counted: tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]] | None = field(
        default=None, init=False, repr=False
    )
    _leaf_counts: NDArray[np.float64] | None = field(default=None, init=False, repr=False)
    _index: RowIndex | None = field(default=None, init=False, repr=False)

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

    def index(self, paths: Paths) -> RowIndex:
        """Find the order of the rows by their leaves, once; the paths are the tree's own."""
        if self._index is None:
            self._index = index_rows(self.tree, paths, self.rows)
        return self._index

    def count_leaves(self, paths: Paths) -> NDArray[np.float64]:
        """Count the rows of each class in each leaf."""
        if self._leaf_counts is None:
            reached = self.index(paths).reached
            self._leaf_counts = count_classes(self.tree, reached, self.class_ids, self.weights)[paths.leaf_ids]
        return self._leaf_counts

    def count(self, paths: Paths, deleted: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count rows as the base class says, unless a method has."""
        if self._counted is not None and np.array_equal(self._counted[0], deleted):
            return self._counted[1:]
        return super().count(paths, deleted)

    def remember(
        self, deleted: NDArray[np.bool_], counts: NDArray[np.float64], leaf_counts: NDArray[np.float64]
    ) -> None:
        """Keep the counts that a method made; sums of weights are made again, as their order decides the last bit."""
        if self.weights is None:
            self._counted = deleted.copy(), counts, leaf_counts
