"""The sentences that the page says first, of the whole and of each list, as people who never saw a tree read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secateur.report.rows_at_hand import MAY_BE_SEEN
from secateur.results.answer import say_difference, say_faithful, say_right
from secateur.words.conditions import count_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secateur.rules.compact_rules import CompactRules

__all__ = ["say_list_faithful", "say_list_right", "say_measured_on", "say_predicted"]

FEW_CLASSES = 4


def say_predicted(target: str | None, classes: list[str], n_columns: int) -> str:
    """Say what is predicted, from how much."""
    what = "A decision tree predicts" + (f" {target}: " if target else " ")
    if len(classes) == 1:
        return f"{what}{classes[0]}, always."
    named = f"{', '.join(classes[:-1])} or {classes[-1]}" if len(classes) <= FEW_CLASSES else f"{len(classes)} classes"
    columns = "one column" if n_columns == 1 else f"{n_columns} columns"
    return f"{what}{named}, by what it finds in {columns}." if n_columns else f"{what}{named}."


def say_measured_on(rows: Mapping[str, Any]) -> str:
    """Say which rows a number was measured on, after "of"."""
    if rows["n_rows"] is None:
        return ""
    number = count_of(rows["n_rows"], "row")
    if rows["is_training"]:
        return f"the {number} that the rules were made from"
    return f"{number}, {MAY_BE_SEEN}" if rows["n_training"] is None else f"{number} set aside"


def say_list_right(measured: Mapping[str, Any] | None, answer: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """Say how often a list is right, beside the tree and beside a guess."""
    if measured is None:
        return "No rows were at hand, so how often this is right is not known."
    guess = "" if answer["guess"] is None else summary["classes"][answer["guess"]]
    guessed = None if answer["guess_accuracy"] is None else answer["guess_accuracy"] / 100
    by_tree = answer["tree_accuracy"] / 100 if measured["disagreement"] else None
    return say_right(measured["accuracy"] / 100, say_measured_on(summary["rows"]), guess, guessed, by_tree)


def say_list_faithful(rules: CompactRules, measured: Mapping[str, Any] | None, rows: Mapping[str, Any]) -> str:
    """Say how far a list may be trusted to say what the tree does."""
    if rules.is_exact or measured is None:
        return say_faithful(rules)
    is_new = not rows["is_training"] and rows["n_training"] is not None
    limits = measured["disagreement_interval"] if is_new else None
    return say_difference(measured["disagreement"], say_measured_on(rows), limits)
