"""What is counted of rows, settled before the first of them comes."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.counting.counted_evidence import Evidence
from secateur.counting.tile_arguments import Conditions
from secateur.counting.violations import PatternCounter, list_patterns
from secateur.errors import InputError
from secateur.rows.rows import LabelledRows
from secateur.tree.paths import Paths, trace_paths
from secateur.tree.tree import Tree


@dataclass(frozen=True)
class EvidencePlan:
    """The conditions that rows are counted by, for one method or for all that counts can serve, as in Evidence."""

    tree: Tree
    method: str | None
    ignored: NDArray[np.bool_]
    opened: NDArray[np.bool_]
    features = None  # those that the tree asks for

    def count(self, listed: LabelledRows) -> Evidence:
        """Count some rows."""
        leaf_counts, cells = self._counter.count(listed)
        return self.make_evidence(listed.rows.n_rows, listed.weights is not None, leaf_counts, cells)

    def make_evidence(
        self, n_rows: int, is_weighted: bool, leaf_counts: NDArray[np.float64], cells: NDArray[np.float64]
    ) -> Evidence:
        """Make evidence of counts."""
        return Evidence(self.tree, n_rows, is_weighted, self.method, self.ignored, self.opened, leaf_counts, cells)

    def from_numbers(self, n_rows: int, is_weighted: bool, cells: NDArray[np.int64], sums: NDArray[Any]) -> Evidence:
        """Make evidence of the numbers that are not zero and their places, as ``Evidence.to_numbers`` lists them."""
        shape = self.paths.n_rules, self.tree.n_classes
        n_cells = int(list_patterns(self.paths, self.conditions)[1][-1])
        numbers = np.zeros((self.paths.n_rules + n_cells) * self.tree.n_classes)
        if len(cells) and int(cells.max()) >= len(numbers):
            raise InputError("The workers count other cells than the driver: they run another version of secateur.")
        numbers[cells] = sums
        leaf_counts, counts = np.split(numbers, [shape[0] * shape[1]])
        return self.make_evidence(n_rows, is_weighted, leaf_counts.reshape(shape), counts.reshape(-1, shape[1]))

    def add(self, total: Evidence, part: Evidence) -> Evidence:
        """Add the counts of a further piece, in place."""
        np.add(total.leaf_counts, part.leaf_counts, out=total.leaf_counts)
        np.add(total.cells, part.cells, out=total.cells)
        return replace(total, n_rows=total.n_rows + part.n_rows)

    @cached_property
    def paths(self) -> Paths:
        """The tree's paths; what is counted was settled by others, which knew more of them."""
        return trace_paths(self.tree, 0.0)

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # what is kept can be made again

    @property
    def conditions(self) -> Conditions:
        """The same, of every rule."""
        return Conditions(self.ignored, self.opened, np.ones(self.paths.n_rules, dtype=bool))

    @cached_property
    def _counter(self) -> PatternCounter:
        return PatternCounter(self.tree, self.paths, self.conditions)
