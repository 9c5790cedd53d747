"""Rules of both forms, asked in one way: the only file of the net that knows how the two forms are called.

A *line* answers rows: a rule, or the "otherwise" of a short list, which comes last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import secateur
from secateur.rules.decision_list import DecisionList, make_decision_list

# --- making -----------------------------------------------------------------------------------------------------------


def each_leaf(model: Any, X: Any = None, y: Any = None, **known: Any) -> Any:
    """One rule for each leaf."""
    return secateur.simplify(model, X, y, **known)


def short_list(
    model: Any, X: Any = None, y: Any = None, *, budget: float = 0.0, otherwise: Any = "auto", **known: Any
) -> Any:
    """Few rules, and "otherwise"."""
    return secateur.simplify(model, X, y, **known).compact(budget=budget, otherwise=otherwise)


FORMS = {"each leaf": each_leaf, "short list": short_list}


def has_otherwise(rules: Any) -> bool:
    return isinstance(rules, secateur.CompactRules)


# --- lines ------------------------------------------------------------------------------------------------------------


def lines(rules: Any) -> list[Any]:
    """What every line predicts."""
    return [*(rule.prediction for rule in rules), *([rules.otherwise] if has_otherwise(rules) else [])]


def class_ids(rules: Any) -> list[int]:
    """The class of every line, as an index."""
    classes = rules.tree.classes.tolist()
    return [classes.index(label) for label in lines(rules)]


def leaves(rules: Any) -> list[int]:
    """Node id of the leaf that each written rule comes from."""
    return [rule.leaf_id for rule in rules]


def kept_links(rules: Any) -> list[list[int]]:
    """What each written rule asks, as links of the tree."""
    return [list(rule.kept_ids) for rule in rules]


def stands_for(rules: Any) -> list[list[int]]:
    """Node ids of the leaves that lie in each written rule and that it stands for."""
    return [list(rule.leaf_ids) if has_otherwise(rules) else [rule.leaf_id] for rule in rules]


def line_counts(rules: Any) -> NDArray[np.float64]:
    """Training rows of each class beside every line: those it covers, in a short list those it decides."""
    return rules.decided_counts if has_otherwise(rules) else rules.class_counts  # type: ignore[no-any-return]


def covered_counts(rules: Any) -> NDArray[np.float64]:
    """Training rows of each class that each written rule covers."""
    return rules.rules.class_counts[rules.chosen] if has_otherwise(rules) else rules.class_counts  # type: ignore[no-any-return]


def leaf_counts(rules: Any) -> NDArray[np.float64]:
    """Training rows of each class that reach each leaf of the tree, in source order."""
    return (rules.rules if has_otherwise(rules) else rules).source_class_counts  # type: ignore[no-any-return]


def has_counts(rules: Any) -> bool:
    """Whether rows were counted, so that lines have probabilities of their own."""
    return (rules.rules if has_otherwise(rules) else rules).is_ranked  # type: ignore[no-any-return]


# --- answers ----------------------------------------------------------------------------------------------------------


def applied(rules: Any, X: Any) -> NDArray[np.int64]:
    """The line that answers each row, as an index into :func:`lines`."""
    return rules.apply(X) % len(lines(rules))  # "otherwise" is -1


def explained(rules: Any, row: Any) -> tuple[int, Any, Any]:
    """The line that an explanation names, what it says the rules predict, and what the tree predicts."""
    found = rules.explain(row)
    return len(rules) if found.rule is None else found.rule.index, found.prediction, found.tree_prediction


def decision_list(rules: Any) -> DecisionList:
    """The list behind all exports."""
    return make_decision_list(rules)


# --- audits -----------------------------------------------------------------------------------------------------------

SHARED = (
    *("n_rules", "n_rows", "accuracy", "tree_accuracy", "delta_accuracy", "baseline", "baseline_class", "macro_dev"),
    *("abs_delta_precision", "abs_delta_recall", "brier", "tree_brier", "log_loss", "tree_log_loss", "auc", "tree_auc"),
    "mean_abs_delta_p",
)
OF_EACH_LEAF = (
    *("conflict", "conflict_interval", "rule_irc", "irc_per_rule", "assimilated", "max_abs_d", "mean_abs_d"),
    *("share_beyond_tolerance", "max_abs_delta_p"),
)


def agreement(audit: Any) -> float:
    """Percentage of rows that rules and tree answer alike."""
    return audit.agreement if hasattr(audit, "agreement") else 100 - audit.disagreement  # type: ignore[no-any-return]


def coverage(audit: Any) -> float:
    """Percentage of rows that some written rule covers."""
    return audit.coverage if hasattr(audit, "coverage") else 100 - audit.left_to_otherwise  # type: ignore[no-any-return]


def conditions_left(audit: Any) -> float:
    """Percentage of the tree's conditions that are written."""
    return audit.conditions_left if hasattr(audit, "conditions_left") else 100 - audit.removed  # type: ignore[no-any-return]


def audit_numbers(audit: Any) -> dict[str, Any]:
    """Every number of an audit that both forms have, and those of one rule for each leaf."""
    found = {name: getattr(audit, name) for name in (*SHARED, *OF_EACH_LEAF) if hasattr(audit, name)}
    found |= {"agreement": agreement(audit), "coverage": coverage(audit), "conditions_left": conditions_left(audit)}
    if hasattr(audit, "max_fall"):  # only of a short list
        low, high = audit.disagreement_interval
        found |= {"max_fall": audit.max_fall, "agreement_interval": (100 - high, 100 - low)}
    return found


VERDICTS = ("still holds", "moved", "no rows", "not comparable")


def audited_counts(audit: Any) -> NDArray[np.float64]:
    """Audited rows of each class beside every line, as in :func:`line_counts`."""
    return audit.per_rule.counts  # type: ignore[no-any-return]


def verdicts(audit: Any) -> list[int]:
    """What is said of every line, as an index into VERDICTS."""
    return [VERDICTS.index(verdict) for verdict in audit.per_rule.verdicts.tolist()]
