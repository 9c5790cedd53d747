"""One rule for each leaf, as plain values: what it lost and why, and what its training rows say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.report.reason_texts import known_numbers, pair_limits
from secateur.results.intervals import find_interval
from secateur.results.per_rule import find_limits_of_d

if TYPE_CHECKING:
    from secateur.report.reason_texts import Texts
    from secateur.rules.rule_set import RuleSet

__all__ = ["describe_rules"]


def describe_rules(rules: RuleSet, texts: Texts | None) -> list[dict[str, Any]]:
    """Describe the rules in source order; without texts, without the reasons."""
    paths = rules.paths
    own = np.arange(len(rules)), paths.leaf_class
    numbers: dict[str, list[Any]] = {
        "support": known_numbers(rules.support),
        "hits": known_numbers(rules.class_counts[own]),
        "source_support": known_numbers(rules.source_support),
        "source_hits": known_numbers(rules.source_class_counts[own]),
        "is_rarer": (rules.class_counts[own] < rules.class_counts.max(axis=1)).tolist(),  # False where not known
        **_find_limits(rules),
    }
    return [
        {
            "leaf": rule.leaf_id,
            "class": int(paths.leaf_class[rule.index]),
            "links": paths.links[paths.entries(rule.index)].tolist(),
            "deleted": list(rule.deleted_ids),
            "reasons": None if texts is None else [texts.place(reason.text) for reason in rule.reasons.values()],
            "assimilated_into": rule.assimilated_into,
            **{name: values[rule.index] for name, values in numbers.items()},
        }
        for rule in rules
    ]


def _find_limits(rules: RuleSet) -> dict[str, list[list[float] | None]]:
    """List the limits, at 95 %, of each rule's reliability and of D, its distance from the leaf's; None if not known.

    Sums of weights do not tell how many rows there are, so rules made with weights have no limits.
    """
    if rules.is_weighted or not rules.is_ranked:
        return {"limits": [None] * len(rules), "d_limits": [None] * len(rules)}
    limits = find_interval(rules.reliability, rules.support)
    return {"limits": pair_limits(limits), "d_limits": pair_limits(find_limits_of_d(rules))}
