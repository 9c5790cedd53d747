"""Describe compact rules for the page: the cases of each class, and otherwise, before one rule for each leaf."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Any

from secateur.export.compact_text import read_decided
from secateur.rules.wording import read_link

if TYPE_CHECKING:
    from secateur.report.rows_at_hand import RowsAtHand
    from secateur.rules.compact_rules import CompactRule, CompactRules

__all__ = ["describe_compact"]

MEASURES = ("disagreement", "accuracy", "tree_accuracy", "delta_accuracy", "macro_dev", "left_to_otherwise")


def describe_compact(rules: CompactRules, at_hand: RowsAtHand) -> dict[str, Any]:
    """Describe compact rules as plain values, measured on the rows of the report if there are any."""
    size, before = rules.n_conditions, rules.source_n_conditions
    return {
        "guarantee": rules.guarantee,
        "budget": rules.budget,
        "tolerance": rules.tolerance,
        "n_rules": len(rules),
        "n_rules_before": rules.source_n_rules,
        "n_conditions": size,
        "n_conditions_before": before,
        "left": 100.0 * size / before if before else 100.0,
        "classes": [
            {"name": name, "rules": [_describe_rule(rule) for rule in listed]}
            for name, listed in groupby(rules, key=lambda rule: rule.class_name)
        ],
        "otherwise": rules.otherwise_name,
        "otherwise_decided": read_decided(rules, len(rules)),
        "dropped": [{"text": one.text, "leaf": one.leaf_id, "why": one.reason} for one in rules.dropped],
        "audit": None if at_hand.measured is None else _measure(rules, at_hand),
    }


def _describe_rule(rule: CompactRule) -> dict[str, Any]:
    why = {link: reason.text for link, reason in rule.reasons.items()}
    tree, paths = rule._rules.tree, rule._rules.rules.paths
    return {
        "number": rule.index + 1,
        "kept": [
            {"text": condition.text, "why": "; ".join(why[link] for link in condition.link_ids)}
            for condition in rule.conditions
        ],
        "gone": [{"text": read_link(tree, paths, link), "why": why[link]} for link in rule.deleted_ids],
        "decided": read_decided(rule._rules, rule.index),
        "n_leaves": len(rule.leaf_ids),
    }


def _measure(rules: CompactRules, at_hand: RowsAtHand) -> dict[str, Any]:
    given = at_hand.measured
    assert given is not None  # asked before
    found = rules.audit(given.X, given.y, sample_weight=given.sample_weight)
    numbers = {name: float(getattr(found, name)) for name in MEASURES}
    return {
        **{name: None if math.isnan(number) else number for name, number in numbers.items()},
        "disagreement_interval": None if at_hand.is_training else list(found.disagreement_interval),
    }
