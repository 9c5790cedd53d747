"""Rules of both forms, asked in one way: the only file of the net that knows how the two forms are called.

A *line* answers rows: a rule, or the "otherwise" of a section of a short list, which comes last in its section.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import secateur
from secateur.results.answer import COUNTED_TWICE, counts_rows_twice, describe_faithful, find_cautions, warn_of_weights
from secateur.rules.decision_list import DecisionList, make_decision_list
from secateur.words.plain_words import ROUNDED, rounds_a_number

# --- making -----------------------------------------------------------------------------------------------------------


def each_leaf(model: Any, X: Any = None, y: Any = None, **known: Any) -> Any:
    """One rule for each leaf."""
    return secateur.simplify(model, X, y, each_leaf=True, **known)


def short_list(
    model: Any, X: Any = None, y: Any = None, *, budget: float = 0.0, otherwise: Any = "auto", **known: Any
) -> Any:
    """Few rules, and "otherwise"."""
    return secateur.simplify(model, X, y, budget=budget, otherwise=otherwise, **known)


FORMS = {"each leaf": each_leaf, "short list": short_list}


def has_otherwise(rules: Any) -> bool:
    return rules.is_list


# --- lines ------------------------------------------------------------------------------------------------------------


def n_rules(rules: Any) -> int:
    """Number of written rules: of lines but for "otherwise"."""
    return len(rules)


def lines(rules: Any) -> list[Any]:
    """What every line predicts."""
    return [line.prediction for line in rules.lines]


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
    return [list(rule.leaf_ids) for rule in rules]


def layout(rules: Any) -> dict[str, Any]:
    """The sections of a list by node, the line of each "otherwise", and what each line states."""
    return {
        "sections": rules.layout.nodes,
        "otherwise": rest_lines(rules),
        "stated": rules.layout.shares,
        "windows": rules.layout.windows,
    }


def stated_shares(rules: Any) -> list[float | None]:
    """The share of its class that each line states, if any."""
    return [line.share for line in rules.lines]


def rest_lines(rules: Any) -> list[int]:
    """The lines that are the "otherwise" of a section."""
    return [line.index for line in rules.lines if line.is_otherwise]


def rule_lines(rules: Any) -> list[int]:
    """The line of each written rule."""
    return [rule.index for rule in rules]


def line_counts(rules: Any) -> NDArray[np.float64]:
    """Training rows of each class beside every line: those it covers, in a short list those it decides."""
    return rules.counts


def covered_counts(rules: Any) -> NDArray[np.float64]:
    """Training rows of each class that each written rule covers."""
    return rules.covered_counts[rules.leaves]


def leaf_counts(rules: Any) -> NDArray[np.float64]:
    """Training rows of each class that reach each leaf of the tree, in source order."""
    return rules.leaf_counts


def has_counts(rules: Any) -> bool:
    """Whether rows were counted, so that lines have probabilities of their own."""
    return rules.is_ranked


# --- answers ----------------------------------------------------------------------------------------------------------


def applied(rules: Any, X: Any) -> NDArray[np.int64]:
    """The line that answers each row, as an index into :func:`lines`."""
    return rules.apply(X)


def explained(rules: Any, row: Any) -> tuple[int, Any, Any]:
    """The line that an explanation names, what it says the rules predict, and what the tree predicts."""
    found = rules.explain(row)
    return found.rule.index, found.prediction, found.tree_prediction


def decision_list(rules: Any) -> DecisionList:
    """The list behind all exports."""
    return make_decision_list(rules)


# --- audits -----------------------------------------------------------------------------------------------------------

SHARED = (
    *("n_rules", "n_rows", "accuracy", "tree_accuracy", "delta_accuracy", "baseline", "baseline_class", "macro_dev"),
    *("abs_delta_precision", "abs_delta_recall", "brier", "tree_brier", "log_loss", "tree_log_loss", "auc", "tree_auc"),
    *("mean_abs_delta_p", "agreement", "coverage", "conditions_left"),
)
OF_EACH_LEAF = (
    *("conflict", "conflict_interval", "rule_irc", "irc_per_rule", "assimilated", "max_abs_d", "mean_abs_d"),
    *("share_beyond_tolerance", "max_abs_delta_p"),
)
OF_SHORT_LIST = ("max_fall", "off", "off_by_class", "agreement_interval")


def agreement(audit: Any) -> float:
    """Percentage of rows that rules and tree answer alike."""
    return audit.agreement


def coverage(audit: Any) -> float:
    """Percentage of rows that some written rule covers."""
    return audit.coverage


def conditions_left(audit: Any) -> float:
    """Percentage of the tree's conditions that are written."""
    return 100 - audit.removed


def agreement_interval(audit: Any) -> tuple[float, float]:
    """Its limits."""
    return audit.agreement_interval


TURNED = {
    "agreement": agreement,
    "coverage": coverage,
    "conditions_left": conditions_left,
    "agreement_interval": agreement_interval,
}


def audit_numbers(rules: Any, audit: Any) -> dict[str, Any]:
    """Every number of an audit that both forms have, and those of this form alone."""
    names = *SHARED, *(OF_SHORT_LIST if has_otherwise(rules) else OF_EACH_LEAF)
    return {name: TURNED[name](audit) if name in TURNED else getattr(audit, name) for name in names}


VERDICTS = ("still holds", "moved", "no rows", "not comparable")


def audited_counts(audit: Any) -> NDArray[np.float64]:
    """Audited rows of each class beside every line, as in :func:`line_counts`."""
    return audit.per_line.counts


def verdicts(audit: Any) -> list[int]:
    """What is said of every line, as an index into VERDICTS; where rows are too few to tell, the line still holds."""
    told = (verdict.replace("too few rows to tell", VERDICTS[0]) for verdict in audit.per_line.verdicts.tolist())
    return [VERDICTS.index(verdict) for verdict in told]


# --- cautions ---------------------------------------------------------------------------------------------------------

MARK = " of its rows are "
# The lines of some outputs, as they are printed.
LINE_PATTERNS = {
    "text": r"(?m)^ *\d+\. .*$",
    "Markdown": r"(?m)^\| \d+ \|.*$",
    "terminal": r"(?m)^│ +\d+ │.*$",
    "notebook": r"<tr><td[^>]*>\d+</td>.*?</tr>",
}
Sentences = tuple[tuple[str, ...], ...]  # those that must be told, each as one of several


def rarer_lines(rules: Any) -> NDArray[np.bool_]:
    """Mark of every line whose class is not the commonest of the rows beside it."""
    counts = line_counts(rules)
    return counts[np.arange(len(counts)), class_ids(rules)] < counts.max(axis=1)


def count_marks(text: str) -> int:
    """How often a text says that the class of a line is not the commonest of its rows."""
    return text.count(MARK)


def cautions(rules: Any) -> dict[str, Sentences]:
    """What a reader of the rules should be told, by a name that the net gives it."""
    unpredicted = tuple(one.text for one in find_cautions(rules) if one.kind == "unpredicted")
    return {
        "rounded": ((ROUNDED,),) if rounds_a_number(rules, rules) else (),
        "counted twice": ((COUNTED_TWICE,),) if not has_otherwise(rules) and counts_rows_twice(rules) else (),
        "weighed otherwise": tuple((sentence,) for sentence in warn_of_weights(rules)),
        "remarks": tuple((remark, *unpredicted) for remark in rules.remarks),
        "guarantee": ((rules.guarantee, *([describe_faithful(rules)] if has_otherwise(rules) else [])),),
    }
