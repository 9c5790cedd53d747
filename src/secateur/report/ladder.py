"""Compare all methods on one tree, from the strictest guarantee to none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import SecateurError
from secateur.methods import METHODS
from secateur.methods.contract import Asks
from secateur.simplification import simplify

if TYPE_CHECKING:
    from secateur.report.rows_at_hand import RowsAtHand
    from secateur.rules.rule_set import RuleSet

__all__ = ["MEASURED", "make_ladder", "measure", "run_again"]

# What an audit tells of a method on rows.
MEASURED = (
    *("conflict", "accuracy", "delta_accuracy", "agreement", "max_abs_d", "mean_abs_d", "share_beyond_tolerance"),
    *("tolerance", "brier", "tree_brier", "log_loss", "tree_log_loss", "auc", "tree_auc", "mean_abs_delta_p"),
    *("max_abs_delta_p", "conflict_interval"),
)
# What rules made without rows do not have: they give the tree's probabilities, as if deletion cost nothing.
OF_OWN_PROBABILITIES = ("brier", "log_loss", "auc", "mean_abs_delta_p", "max_abs_delta_p")


def make_ladder(
    rules: RuleSet, at_hand: RowsAtHand, *, verify: bool = False, with_conflict: bool = True, **settings: Any
) -> list[dict[str, Any]]:
    """Record for each method what it removes and what that costs on the rows, or why it cannot run.

    Each method takes the settings that it reads, of those passed and of those of the rule set. Without
    ``with_conflict``, methods that are allowed some are left out, unless the rules are theirs.
    """
    ladder = []
    for method in METHODS.values():
        conflicts = method.knob is not None and method.knob.setting == "max_conflict"
        if conflicts and not with_conflict and method.name != rules.method:
            continue
        step: dict[str, Any] = {
            "method": method.name,
            "aliases": list(method.aliases),
            "summary": method.summary,
            "preserves": method.preserves,
            "is_exact": method.is_exact,
            "is_current": method.name == rules.method,
            "problem": None,
        }
        try:
            in_hand = method.name == rules.method
            made = rules if in_hand else run_again(rules, at_hand, method=method.name, **settings)
            step |= measure(made, at_hand)
            if verify:
                step["verified"] = made.verify().ok
        except SecateurError as error:
            step["problem"] = str(error)
            if at_hand.training is None and method.asks_of(rules.tree) is not Asks.NOTHING:
                step["problem"] = "It judges deletions by training rows, which are not at hand."
        ladder.append(step)
    return ladder


def run_again(rules: RuleSet, at_hand: RowsAtHand, method: str, **changed: Any) -> RuleSet:
    """Simplify the same tree by another method, with the settings that both read."""
    read = set(METHODS[method].parameters) - {"domain", "monotone"}  # a rule set keeps these in words
    settings = {name: value for name, value in {**rules.parameters, **changed}.items() if name in read}
    settings["domain_knowledge"] = rules.parameters.get("domain_knowledge", True)
    rows = at_hand.training
    if rows is None:
        return simplify(rules.tree, method=method, **settings)
    return simplify(rules.tree, rows.X, rows.y, sample_weight=rows.sample_weight, method=method, **settings)


def measure(rules: RuleSet, at_hand: RowsAtHand) -> dict[str, Any]:
    """Measure what was removed, and what it changed on the rows; None without rows."""
    gone = np.bincount(rules.paths.rule[rules.deleted], minlength=len(rules))
    n_all = len(rules.deleted)
    found: dict[str, Any] = {
        "n_conditions": n_all - int(gone.sum()),
        "removed": 100.0 * float(gone.sum()) / n_all if n_all else 0.0,
        "rules_changed": int((gone > 0).sum()),
        **dict.fromkeys(MEASURED),
    }
    rows = at_hand.measured
    if rows is not None:
        audit = rules.audit(rows.X, rows.y, sample_weight=rows.sample_weight).to_dict()
        found |= {name: audit[name] for name in MEASURED}
        found["conflict_interval"] = list(audit["conflict_interval"])  # as JSON has it
        if not rules.is_ranked:
            found |= dict.fromkeys(OF_OWN_PROBABILITIES)
    return found
