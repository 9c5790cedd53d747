"""Rules as a pandas or polars data frame, whichever the user has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secateur.export.csv import COPIED
from secateur.frames import make_frame
from secateur.words.conditions import join_conditions

if TYPE_CHECKING:
    from secateur.rules.rule_set import RuleSet

__all__ = ["rules_to_frame"]


def rules_to_frame(rules: RuleSet, library: str | None = None) -> Any:
    """Make a row for each rule."""
    listed = list(rules)
    columns: dict[str, list[Any]] = {
        "rule": [join_conditions(rule.conditions) for rule in listed],
        **{name: [getattr(rule, name) for rule in listed] for name in COPIED},
        "n_conditions": [len(rule.kept_ids) for rule in listed],
        "n_deleted": [len(rule.deleted_ids) for rule in listed],
        "leaf_id": [rule.leaf_id for rule in listed],
        "kept_ids": [list(rule.kept_ids) for rule in listed],
        "deleted_ids": [list(rule.deleted_ids) for rule in listed],
    }
    return make_frame(columns, library)
