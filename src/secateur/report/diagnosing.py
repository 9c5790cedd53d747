"""The numbers behind a rule's diagnosis on the page: what the rule covers without each condition alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.counting.deletion_effects import count_without_one
from secateur.counting.row_evidence import RowEvidence
from secateur.methods.contract import DEFAULT_TOLERANCE
from secateur.report.reason_texts import known_numbers
from secateur.rows.checking import check_labels

if TYPE_CHECKING:
    from secateur.report.rows_at_hand import RowsAtHand
    from secateur.rules.rule_set import RuleSet

__all__ = ["describe_effects"]

# Up to this many conditions the page carries the effect of each; two numbers apiece, about a megabyte in all.
MOST_DIAGNOSED = 50_000


def describe_effects(rules: RuleSet, at_hand: RowsAtHand) -> dict[str, Any]:
    """Count for each rule its training rows, and those in its class, without each condition alone, root to leaf.

    The lists are None, and a note says why, where there are no training rows or too many conditions.
    """
    tolerance = float(rules.parameters.get("tolerance", DEFAULT_TOLERANCE))
    found: dict[str, Any] = {"tolerance": tolerance, "support": None, "hits": None, "note": ""}
    training, paths = at_hand.training, rules.paths
    if training is None:
        why = "The rows that the rules were made from are not at hand, so what happens without a condition is unknown."
        return found | {"note": why}
    if len(paths.links) > MOST_DIAGNOSED:
        why = (
            f"The rules have {len(paths.links):,} conditions, and this page carries what happens without each for up "
            f"to {MOST_DIAGNOSED:,}: ask secateur diagnose --rule NUMBER."
        )
        return found | {"note": why}
    class_ids = check_labels(rules.tree, training.y, training.X.n_rows)
    evidence = RowEvidence(rules.tree, training.X, class_ids, training.sample_weight)
    _, counts = count_without_one(evidence, paths)
    hits = counts[np.arange(len(counts)), paths.leaf_class_of_entry]
    bounds = paths.offsets[1:-1]
    lists = {"support": counts.sum(axis=1), "hits": hits}
    return found | {name: [known_numbers(part) for part in np.split(one, bounds)] for name, one in lists.items()}
