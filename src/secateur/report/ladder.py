"""Compare all methods on one tree, from the strictest guarantee to none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secateur.errors import SecateurError
from secateur.methods import METHODS
from secateur.methods.contract import Asks
from secateur.simplification import simplify

if TYPE_CHECKING:
    from secateur.report.rows_at_hand import RowsAtHand
    from secateur.rules.rules import Rules

__all__ = ["make_ladder"]

# What an audit tells of a method on rows.
MEASURED = (
    *("conflict", "accuracy", "delta_accuracy", "agreement", "max_abs_d", "mean_abs_d", "share_beyond_tolerance"),
    *("tolerance", "brier", "tree_brier", "log_loss", "tree_log_loss", "auc", "tree_auc", "mean_abs_delta_p"),
    *("max_abs_delta_p", "conflict_interval"),
)
# What rules made without rows do not have: they give the tree's probabilities, as if deletion cost nothing.
OF_OWN_PROBABILITIES = ("brier", "log_loss", "auc", "mean_abs_delta_p", "max_abs_delta_p")


def make_ladder(rules: Rules, at_hand: RowsAtHand) -> list[dict[str, Any]]:
    """Record for each method, with one rule for each leaf, what it removes and what that costs, or why it cannot run.

    One that spends a share of rows is left out, unless the rules are its own: the page's slider spends better.
    """
    ladder = []
    for method in METHODS.values():
        is_current = method.name == rules.method
        if not is_current and "max_conflict" in method.parameters:
            continue
        step: dict[str, Any] = {
            "method": method.name,
            "aliases": list(method.aliases),
            "summary": method.summary,
            "preserves": method.preserves,
            "is_exact": method.is_exact,
            "is_current": is_current,
            "problem": None,
        }
        try:
            step |= _measure(rules if is_current else _run_again(rules, at_hand, method.name), at_hand)
        except SecateurError as error:
            step["problem"] = str(error)
            if at_hand.training is None and method.asks_of(rules.tree) is not Asks.NOTHING:
                step["problem"] = "It judges deletions by training rows, which are not at hand."
        ladder.append(step)
    return ladder


def _run_again(rules: Rules, at_hand: RowsAtHand, method: str) -> Rules:
    """Simplify the same tree by another method, with the settings that both read."""
    read = set(METHODS[method].parameters) - {"domain", "monotone"}  # rules keep these in words
    settings = {name: value for name, value in rules.parameters.items() if name in read}
    settings["domain_knowledge"] = rules.parameters.get("domain_knowledge", True)
    X, y, weights = at_hand.training or (None, None, None)
    return simplify(rules.tree, X, y, sample_weight=weights, method=method, each_leaf=True, **settings)


def _measure(rules: Rules, at_hand: RowsAtHand) -> dict[str, Any]:
    """Measure what was removed, and what it changed on the rows; None without rows."""
    gone = rules.tree_conditions - rules.n_conditions
    found: dict[str, Any] = {
        "n_conditions": rules.n_conditions,
        "removed": 100.0 * gone / rules.tree_conditions if gone else 0.0,
        "rules_changed": rules.n_shortened,
        **dict.fromkeys(MEASURED),
    }
    audit = at_hand.audit(rules)
    if audit is not None:
        numbers = audit.to_dict()
        found |= {name: numbers[name] for name in MEASURED}
        found["conflict_interval"] = list(audit.conflict_interval)  # as JSON has it
        if not rules.is_ranked:
            found |= dict.fromkeys(OF_OWN_PROBABILITIES)
    return found
