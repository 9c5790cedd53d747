"""The sentences that the page says first, of the whole and of each list, as people who never saw a tree read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secateur.rules.wording import count_of, read_share

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["say_faithful", "say_measured_on", "say_predicted", "say_right"]

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
    return f"the {number} that the rules were made from" if rows["is_training"] else f"{number} set aside"


def say_right(measured: Mapping[str, Any] | None, answer: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """Say how often a list is right, beside the tree and beside a guess."""
    if measured is None:
        return "No rows were at hand, so how often this is right is not known."
    right = f"Right for {read_share(measured['accuracy'] / 100)} of {say_measured_on(summary['rows'])}"
    if measured["disagreement"]:
        right += f"; the tree is right for {read_share(answer['tree_accuracy'] / 100)}"
    if answer["guess_accuracy"] is None:
        return f"{right}."
    guess = summary["classes"][answer["guess"]]
    return f"{right}; always saying {guess} is right for {read_share(answer['guess_accuracy'] / 100)}."


def say_faithful(listed: Mapping[str, Any], rows: Mapping[str, Any], has_facts: bool) -> str:
    """Say how far a list may be trusted to say what the tree does."""
    if listed["is_exact"]:
        known = ", as long as it keeps to what is known of the columns" if has_facts else ""
        return f"Nothing is lost: every possible row gets the tree's answer{known}."
    measured = listed["measured"]
    if measured is None:
        return "How often this differs from the tree is not known, because no rows were at hand."
    share = read_share(measured["disagreement"] / 100)
    words = f"It differs from the tree on {share} of {say_measured_on(rows)}"
    if rows["is_training"]:
        return f"{words}; on new rows that may be more."
    low, high = (f"{end:.1f}" for end in measured["disagreement_interval"])
    return f"{words}: on new rows, likely {low} to {high} %."
