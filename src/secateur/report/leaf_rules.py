"""One rule for each leaf, as plain values: what it lost and why, its training rows, and those without a condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.counting.deletion_effects import count_without_one
from secateur.counting.row_evidence import RowEvidence
from secateur.methods.contract import DEFAULT_TOLERANCE
from secateur.report.plain_values import find_limits, known_numbers, pair_limits
from secateur.results.line_words import describe_rarer_line
from secateur.results.per_line import find_limits_of_d
from secateur.rows.checking import check_labels

if TYPE_CHECKING:
    from secateur.report.plain_values import Texts
    from secateur.report.rows_at_hand import RowsAtHand
    from secateur.rules.rules import Rules

__all__ = ["describe_effects", "describe_rules"]

# Up to this many conditions the page carries the effect of each; two numbers apiece, about a megabyte in all.
MOST_DIAGNOSED = 50_000


def describe_rules(rules: Rules, texts: Texts | None) -> list[dict[str, Any]]:
    """Describe the rules in source order; without texts, without the reasons."""
    paths = rules.paths
    own = np.arange(len(rules)), paths.leaf_class
    asides = [describe_rarer_line(rule) for rule in rules]
    numbers: dict[str, list[Any]] = {
        "support": known_numbers(rules.support),
        "hits": known_numbers(rules.counts[own]),
        "source_support": known_numbers(rules.leaf_support),
        "source_hits": known_numbers(rules.leaf_counts[own]),
        "is_rarer": [bool(aside) for aside in asides],
        "aside": asides,
        "limits": find_limits(rules),
        "d_limits": pair_limits(find_limits_of_d(rules)),
    }
    return [
        {
            "leaf": rule.leaf_id,
            "class": rule.class_id,
            "links": paths.links[paths.entries(rule.place)].tolist(),
            "deleted": list(rule.deleted_ids),
            "reasons": None if texts is None else texts.place_reasons(rule),
            "assimilated_into": rule.assimilated_into,
            **{name: values[rule.index] for name, values in numbers.items()},
        }
        for rule in rules
    ]


def describe_effects(rules: Rules, at_hand: RowsAtHand) -> dict[str, Any]:
    """Count for each rule its training rows, and those in its class, without each condition alone, root to leaf.

    The lists are None, and a note says why, where there are no training rows or too many conditions.
    """
    tolerance = float(rules.parameters.get("tolerance", DEFAULT_TOLERANCE))
    found: dict[str, Any] = {"tolerance": tolerance, "support": None, "hits": None, "note": ""}
    training, paths = at_hand.training, rules.paths
    if training is None:
        why = "The rows that the rules were made from are not at hand, so what happens without a condition is unknown."
        return found | {"note": why}
    if rules.tree_conditions > MOST_DIAGNOSED:
        why = (
            f"The rules have {rules.tree_conditions:,} conditions, and this page carries what happens without each for "
            f"up to {MOST_DIAGNOSED:,}: ask secateur diagnose --rule NUMBER."
        )
        return found | {"note": why}
    class_ids = check_labels(rules.tree, training.y, training.X.n_rows)
    evidence = RowEvidence(rules.tree, training.X, class_ids, training.sample_weight)
    _, counts = count_without_one(evidence, paths)
    hits = counts[np.arange(len(counts)), paths.leaf_class_of_entry]
    bounds = paths.offsets[1:-1]
    lists = {"support": counts.sum(axis=1), "hits": hits}
    return found | {name: [known_numbers(part) for part in np.split(one, bounds)] for name, one in lists.items()}
