"""One rule for each leaf, as plain values: what it lost and why, its training rows, and how other methods compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.counting.training_evidence import RowEvidence, count_without_one
from secateur.errors import SecateurError
from secateur.methods import METHODS
from secateur.methods.contract import DEFAULT_TOLERANCE, Asks
from secateur.report.material import find_limits, known_numbers, pair_limits
from secateur.results.answer import describe_rarer_line
from secateur.results.per_line import find_limits_of_d
from secateur.rows.checking import check_labels
from secateur.simplification import simplify

if TYPE_CHECKING:
    from secateur.report.material import RowsAtHand, Texts
    from secateur.rules.rules import Rules

__all__ = ["describe_effects", "describe_rules", "make_ladder"]

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
    settings |= {"method": method, "domain_knowledge": rules.parameters.get("domain_knowledge", True)}
    X, y, weights = at_hand.training or (None, None, None)
    return simplify(rules.tree, X, y, sample_weight=weights, each_leaf=True, **settings)


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
