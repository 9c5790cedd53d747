"""What the page says first: what is predicted, how often each class occurs, how right the tree is beside a guess."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.report.reason_texts import known_numbers
from secateur.results.guess import count_classes
from secateur.rows.checking import check_labels
from secateur.rows.leaves import apply_tree

if TYPE_CHECKING:
    from secateur.report.rows_at_hand import RowsAtHand
    from secateur.rules.rule_set import RuleSet

__all__ = ["describe_answer"]


def describe_answer(rules: RuleSet, at_hand: RowsAtHand) -> dict[str, Any]:
    """Describe what the tree predicts and how right it is, in plain values; None where there are no rows to tell."""
    counts = count_classes(rules)
    guess = None if counts is None else int(counts.argmax())
    return {
        "class_rows": None if counts is None else known_numbers(counts),
        "guess": guess,
        **_measure(rules, at_hand, guess),
    }


def _measure(rules: RuleSet, at_hand: RowsAtHand, guess: int | None) -> dict[str, float | None]:
    """Measure how often the tree is right, and how often it would be right to always say the commonest class."""
    rows = at_hand.measured
    if rows is None:
        return {"tree_accuracy": None, "guess_accuracy": None}
    truth = check_labels(rules.tree, rows.y, rows.X.n_rows)
    said = rules.tree.leaf_class[apply_tree(rules.tree, rows.X)]
    guessed = np.nan if guess is None else np.average(truth == guess, weights=rows.sample_weight)
    return {
        "tree_accuracy": 100.0 * float(np.average(said == truth, weights=rows.sample_weight)),
        "guess_accuracy": None if np.isnan(guessed) else 100.0 * float(guessed),
    }
