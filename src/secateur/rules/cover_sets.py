"""Count the rows that each of a few rules decides.

Rows are counted by the *set* of rules that cover them, so that one pass over the rows, whole or in batches, serves any
order of the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secateur.counting.coverage import cover_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rows.rows import LabelledRows
    from secateur.rules.rules import Rules

__all__ = ["FEW_RULES", "CoverCounter", "CoverCounts", "count_sets"]

# Up to this many rules, rows are counted by the set of rules that cover them.
FEW_RULES = 512


@dataclass(frozen=True)
class CoverCounts:
    """Rows by the rules that cover them: sets of rules, and the rows of each class."""

    sets: NDArray[np.uint8]  # packed bits, shape (n_sets, n_bytes)
    counts: NDArray[np.float64]  # shape (n_sets, n_classes)

    def covered(self, n_rules: int) -> NDArray[np.bool_]:
        """Whether each rule is in each set, shape (n_sets, n_rules)."""
        return np.unpackbits(self.sets, axis=1, count=n_rules).view(bool)

    def count_decided(self, n_rules: int, order: NDArray[np.int64]) -> NDArray[np.float64]:
        """Count the rows whose first covering rule, in an order, each rule is; at the end, those that none covers."""
        covered = self.covered(n_rules)[:, order]
        first = np.where(covered.any(axis=1), order[covered.argmax(axis=1)] if n_rules else -1, n_rules)
        decided = np.zeros((n_rules + 1, self.counts.shape[1]))
        np.add.at(decided, first, self.counts)
        return decided


@dataclass(frozen=True)
class CoverCounter:
    """Counts rows by the set of rules that cover them."""

    rules: Rules
    chosen: NDArray[np.int64]
    features = None  # those that the tree tests

    def count(self, listed: LabelledRows) -> CoverCounts:
        """Count some rows."""
        rules, n_classes = self.rules, self.rules.tree.n_classes
        covered = cover_rows(rules.tree, rules.paths, rules.deleted, listed.rows, self.chosen)
        return count_sets(covered, listed.class_ids, listed.weights, n_classes)

    def add(self, total: CoverCounts, part: CoverCounts) -> CoverCounts:
        """Add the counts of a further piece."""
        sets, place = _find_sets(np.concatenate([total.sets, part.sets]))
        counts = np.zeros((len(sets), total.counts.shape[1]))
        np.add.at(counts, place, np.concatenate([total.counts, part.counts]))
        return CoverCounts(sets, counts)


def count_sets(
    covered: NDArray[np.bool_], class_ids: NDArray[np.int64], weights: NDArray[np.float64] | None, n_classes: int
) -> CoverCounts:
    """Count rows, or groups of them with their weights, by the rules that cover them, shape (n_rows, n_rules)."""
    sets, place = _find_sets(np.packbits(covered, axis=1))
    counts = np.bincount(place * n_classes + class_ids, weights, len(sets) * n_classes)
    return CoverCounts(sets, counts.astype(np.float64).reshape(-1, n_classes))


def _find_sets(packed: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Find the different rows of a table, and the place of each row among them."""
    if not packed.shape[1]:  # no rule at all
        return packed[:1], np.zeros(len(packed), dtype=np.int64)
    keys = np.ascontiguousarray(packed).view([("", np.uint8, packed.shape[1])]).ravel()
    _, first, place = np.unique(keys.view(f"V{packed.shape[1]}"), return_index=True, return_inverse=True)
    return packed[first], place
