"""What the page says first: what is predicted, how often each class occurs, how right the tree is beside a guess."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secateur.report.plain_values import known_numbers
from secateur.results import fidelity
from secateur.results.guess import count_classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secateur.report.rows_at_hand import RowsAtHand
    from secateur.results.audit import Audit
    from secateur.rules.rules import Rules

__all__ = ["describe_answer", "describe_fidelity"]

FEW_CLASSES = 4


def describe_answer(
    rules: Rules, at_hand: RowsAtHand, audit: Audit | None, target: str | None, n_columns: int
) -> dict[str, Any]:
    """Describe what is predicted and how right the tree is, as plain values; None where no rows tell."""
    counts, names = count_classes(rules), rules.tree.class_names
    guess = None if counts is None else int(counts.argmax())
    if guess is None and audit is not None:
        guess = names.index(audit.baseline_class)
    return {
        "class_rows": None if counts is None else known_numbers(counts),
        "guess": guess,
        "tree_accuracy": None if audit is None else audit.tree_accuracy,
        "guess_accuracy": None if audit is None else audit.baseline,
        "predicted": _describe_predicted(target, names, n_columns),
        "measured_on": at_hand.words,
    }


def _describe_predicted(target: str | None, classes: Sequence[str], n_columns: int) -> str:
    """Say what is predicted, from how much."""
    what = "A decision tree predicts" + (f" {target}: " if target else " ")
    if len(classes) == 1:
        return f"{what}{classes[0]}, always."
    named = f"{', '.join(classes[:-1])} or {classes[-1]}" if len(classes) <= FEW_CLASSES else f"{len(classes)} classes"
    columns = "one column" if n_columns == 1 else f"{n_columns} columns"
    return f"{what}{named}, from {columns}." if n_columns else f"{what}{named}."


def describe_fidelity(rules: Rules) -> dict[str, Any] | None:
    """Describe the fidelity of an approximation as plain values; None for rules of a tree."""
    found = rules.fidelity
    if found is None:
        return None
    before, after = fidelity.describe_fidelity(rules)
    return {
        "model": found.model,
        "n_rows": found.n_rows,
        "share": 100.0 * found.share,
        "interval": [100.0 * limit for limit in fidelity.round_outwards(found.interval)],
        "accuracy": None if found.n_right is None else 100.0 * found.n_right / found.n_rows,
        "model_accuracy": None if found.n_model_right is None else 100.0 * found.n_model_right / found.n_rows,
        "first": " ".join(before),
        "after": after,
    }
