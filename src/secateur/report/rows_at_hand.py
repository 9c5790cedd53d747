"""Find the rows that a report can use: those behind the rules, and those to measure on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.results.audit import Audit
from secateur.rows.checking import check_labels
from secateur.rows.leaves import apply_tree, count_classes
from secateur.rows.opening import check_pair
from secateur.rows.row_source import GivenRows, ModelTerms
from secateur.rows.rows import Rows
from secateur.rules.rules import Rules
from secateur.words.conditions import count_of

__all__ = ["RowsAtHand", "find_rows"]


@dataclass(frozen=True)
class RowsAtHand:
    """The rows that a report can use, checked once."""

    training: GivenRows | None  # that the rules were made from
    measured: GivenRows | None  # that rules are audited on

    @property
    def n_rows(self) -> int | None:
        """Number of rows measured on."""
        return None if self.measured is None else self.measured.X.n_rows

    @property
    def is_training(self) -> bool:
        """Whether the rows measured on are the training rows."""
        return self.measured is not None and self.measured is self.training

    @property
    def is_new(self) -> bool:
        """Whether the rows measured on are known to be others than the training rows."""
        return self.measured is not None and self.training is not None and not self.is_training

    @property
    def words(self) -> str:
        """Which rows a number was measured on, after "of"; empty if there are none."""
        if self.n_rows is None:
            return ""
        number = count_of(self.n_rows, "row")
        if self.is_training:
            return f"the {number} that the rules were made from"
        return f"{number} set aside" if self.is_new else f"{number}, some of which the tree may have been fitted to"

    @property
    def note(self) -> str:
        """A sentence on what the numbers were measured on."""
        if not self.words:
            return "No rows were at hand, so nothing was measured on rows."
        return f"Measured on {self.words}{'; new rows usually do worse' if self.is_training else ''}."

    def audit(self, rules: Rules) -> Audit | None:
        """Audit rules on the rows to measure on; None if there are none."""
        rows = self.measured
        return None if rows is None else rules.audit(rows.X, rows.y, sample_weight=rows.sample_weight)


def find_rows(rules: Rules, X: Any = None, y: Any = None, sample_weight: Any = None) -> RowsAtHand:
    """Find the training rows, and the rows to measure on: those passed, else the training rows.

    Rows that give every leaf its counts are taken for the training rows: those of rules from a file, and of a caller
    who passes them once more.
    """
    check_pair(X, y, sample_weight)
    own = rules.training if rules.is_ranked else None
    training = None if own is None else _check(rules, own)
    if X is None:
        return RowsAtHand(training, training)
    passed = _check(rules, GivenRows(X, y, sample_weight))
    is_same = rules.is_ranked and _has_same_counts(rules, passed)
    return RowsAtHand(passed if is_same else training, passed)


def _check(rules: Rules, given: GivenRows) -> GivenRows:
    """Bring rows into memory and into the tree's terms, so that they are read once."""
    tree = rules.tree
    with rules._open(*given) as rows:
        held = rows.hold(lambda: ModelTerms.of(tree), "A report reads its rows many times")
    listed = held.read_labelled(tree)
    return GivenRows(Rows.of(listed.rows.matrix), tree.classes[listed.class_ids], listed.weights)


def _has_same_counts(rules: Rules, rows: GivenRows) -> bool:
    class_ids = check_labels(rules.tree, rows.y, rows.X.n_rows)
    counts = count_classes(rules.tree, apply_tree(rules.tree, rows.X), class_ids, rows.sample_weight)
    return bool(np.array_equal(counts[rules.paths.leaf_ids], rules.leaf_counts))
