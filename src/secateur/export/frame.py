"""Rules as a pandas or polars data frame, whichever the user has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secateur.frames import make_frame
from secateur.rules.wording import join_conditions

if TYPE_CHECKING:
    from secateur.rules.rule_set import RuleSet

__all__ = ["rules_to_frame"]


def rules_to_frame(rules: RuleSet, library: str | None = None) -> Any:
    """A row for each rule."""
    listed = list(rules)
    columns: dict[str, list[Any]] = {
        "rule": [join_conditions(rule.conditions) for rule in listed],
        "prediction": [rule.prediction for rule in listed],
        "class_name": [rule.class_name for rule in listed],
        "support": [rule.support for rule in listed],
        "reliability": [rule.reliability for rule in listed],
        "source_support": [rule.source_support for rule in listed],
        "source_reliability": [rule.source_reliability for rule in listed],
        "n_conditions": [len(rule.kept_ids) for rule in listed],
        "n_deleted": [len(rule.deleted_ids) for rule in listed],
        "leaf_id": [rule.leaf_id for rule in listed],
        "kept_ids": [list(rule.kept_ids) for rule in listed],
        "deleted_ids": [list(rule.deleted_ids) for rule in listed],
    }
    return make_frame(columns, library)
