"""Find the rows that a report can use: those behind the rules, and those to measure on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.rows.checking import check_labels
from secateur.rows.leaves import apply_tree, count_classes
from secateur.rows.opening import check_pair, open_rows
from secateur.rows.row_source import GivenRows, ModelTerms
from secateur.rows.rows import Rows
from secateur.rows.table_columns import find_texts

if TYPE_CHECKING:
    from secateur.rules.rule_set import RuleSet

__all__ = ["RowsAtHand", "find_rows"]

MAY_BE_SEEN = "some of which the tree may have been fitted to"  # the training rows themselves are not at hand


@dataclass(frozen=True)
class RowsAtHand:
    """The rows that a report can use, checked once."""

    training: GivenRows | None  # that the rules were made from
    measured: GivenRows | None  # that conflict and accuracy are measured on
    is_training: bool  # whether these are the training rows
    note: str  # a sentence on what the numbers were measured on

    @property
    def n_rows(self) -> int | None:
        """Number of rows measured on."""
        return None if self.measured is None else self.measured.X.n_rows


def find_rows(rules: RuleSet, X: Any = None, y: Any = None, sample_weight: Any = None) -> RowsAtHand:
    """Find the training rows, and the rows to measure on: those passed, else the training rows.

    Rows that give every leaf its counts are taken for the training rows: those of a rule set from a file, and of a
    caller who passes them once more.
    """
    check_pair(X, y, sample_weight)
    own = rules.training if rules.is_ranked else None
    training = None if own is None else _check(rules, own)
    if X is None:
        if training is None:
            return RowsAtHand(None, None, False, "No rows were at hand, so nothing was measured on rows.")
        return _on_training(training)
    passed = _check(rules, GivenRows(X, y, sample_weight))
    if rules.is_ranked and _has_same_counts(rules, passed):
        return _on_training(passed)
    if training is None:
        return RowsAtHand(None, passed, False, f"Measured on {_count(passed)}, {MAY_BE_SEEN}.")
    return RowsAtHand(training, passed, False, f"Measured on {_count(passed)} set aside.")


def _on_training(rows: GivenRows) -> RowsAtHand:
    return RowsAtHand(
        rows, rows, True, f"Measured on the {_count(rows)} that the rules were made from; new rows usually do worse."
    )


def _check(rules: RuleSet, given: GivenRows) -> GivenRows:
    """Bring rows into memory and into the tree's terms, so that they are read once."""
    tree = rules.tree
    with open_rows(*given, find_texts=partial(find_texts, tree, given.y)) as rows:
        held = rows.hold(lambda: ModelTerms.of(tree), "A report reads its rows many times")
    listed = held.read_labelled(tree)
    return GivenRows(Rows.of(listed.rows.matrix), tree.classes[listed.class_ids], listed.weights)


def _has_same_counts(rules: RuleSet, rows: GivenRows) -> bool:
    class_ids = check_labels(rules.tree, rows.y, rows.X.n_rows)
    counts = count_classes(rules.tree, apply_tree(rules.tree, rows.X), class_ids, rows.sample_weight)
    return bool(np.array_equal(counts[rules.paths.leaf_ids], rules.source_class_counts))


def _count(rows: GivenRows) -> str:
    n_rows = rows.X.n_rows
    return "1 row" if n_rows == 1 else f"{n_rows:,} rows"
