"""Warn of rules that mean less than they seem to, and say which option may help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rules.compact_rules import CompactRules
    from secateur.rules.rule_set import RuleSet

__all__ = ["warn_of_rules"]

HELP = {
    "unpredicted": " --balanced lets rare classes count as much as common ones.",
    "guess": " Other columns may tell more.",
    "few-rows": " --min-rows 5 avoids them.",
}
BALANCED_GUESS = " That is the price of --balanced, which finds rare classes."


def warn_of_rules(
    rules: RuleSet | CompactRules, accuracy: float, labels: NDArray[Any], *, is_fitted: bool, balanced: bool
) -> tuple[str, ...]:
    """Find what to warn of, by the share of some labels that the rules get right."""
    from secateur.rules.cautions import find_cautions

    classes, counts = np.unique(labels.astype(str), return_counts=True)
    guess = str(classes[counts.argmax()]), float(counts.max() / counts.sum())
    options = HELP if is_fitted else {}
    if balanced:
        options = {"guess": BALANCED_GUESS, "few-rows": HELP["few-rows"]}
    return tuple(f"{one.text}{options.get(one.kind, '')}" for one in find_cautions(rules, accuracy, guess))
