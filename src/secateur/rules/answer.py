"""The answer in a few sentences: what is predicted, how often that is right, and how far it is what the tree says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.rules.fidelity import say_fidelity
from secateur.rules.wording import count_of, read_count, read_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secateur.rules.audit import Audit
    from secateur.rules.compact_audit import CompactAudit
    from secateur.rules.compact_rules import CompactRules
    from secateur.rules.rule_set import RuleSet

__all__ = [
    *("find_limiting_facts", "find_target", "say_answer", "say_classes", "say_faithful", "say_measured", "say_right"),
    "warn_of_weights",
]

SHOWN_CLASSES = 5
EMPTY_NAMES = ("", "y", "target", "class", "label")  # of a column of labels; they say nothing about it


def say_answer(rules: CompactRules) -> tuple[list[str], list[str]]:
    """Make the sentences before and after a list of compact rules, by the training rows as they were counted."""
    if rules.fidelity is not None:
        return say_fidelity(rules)
    counts = rules.decided_counts
    sizes: NDArray[np.float64] = counts.sum(axis=0)
    if not sizes.sum() > 0 or not rules.rules.is_ranked:
        return [], [say_faithful(rules)]
    own = float(counts[np.arange(len(counts)), np.append(rules.class_ids, rules.otherwise_id)].sum())
    total = float(sizes.sum())
    names, is_weighted = rules.tree.class_names, rules.rules.is_weighted
    guess = int(sizes.argmax())
    rows = "the training rows, by weight" if is_weighted else f"the {count_of(total, 'training row')}"
    right = say_right(own / total, rows, names[guess], float(sizes[guess]) / total)
    first = say_classes(names, sizes, find_target(rules.rules), is_weighted=is_weighted)
    return [first], [*warn_of_weights(rules.rules), right, say_faithful(rules)]


def say_classes(
    names: Sequence[str],
    sizes: NDArray[np.float64],
    target: str | None = None,
    *,
    is_weighted: bool = False,
    who: str = "These rules predict",
) -> str:
    """Say who predicts what, and how often each class occurs; the most frequent classes come first."""
    total = float(sizes.sum())
    order = np.argsort(-sizes, kind="stable").tolist()
    shares = [f"{read_share(float(sizes[place]) / total)} are {names[place]}" for place in order[:SHOWN_CLASSES]]
    shares[1:] = [share.replace(" are ", " ", 1) for share in shares[1:]]
    if len(order) > SHOWN_CLASSES:
        rest = float(sizes[order[SHOWN_CLASSES:]].sum()) / total
        shares.append(f"{read_share(rest)} of {len(order) - SHOWN_CLASSES} other classes")
    joined = f"{', '.join(shares[:-1])} and {shares[-1]}" if len(shares) > 1 else shares[0]
    among = f"training rows of weight {read_count(total)}" if is_weighted else count_of(total, "training row")
    return f"{who} {target or 'the class'}: of {among}, {joined}."


def say_right(share: float, rows: str, guess: str, guessed: float) -> str:
    """Say how often rules are right, beside always guessing the commonest class."""
    return f"Right for {read_share(share)} of {rows}; always saying {guess} is right for {read_share(guessed)}."


def say_measured(audit: Audit | CompactAudit, rows: str) -> str:
    """Say the same of audited rows."""
    right = f"Right for {read_share(audit.accuracy / 100)} of {rows}"
    if audit.accuracy != audit.tree_accuracy:
        right += f" (the tree: {read_share(audit.tree_accuracy / 100)})"
    return f"{right}; always saying {audit.baseline_class} is right for {read_share(audit.baseline / 100)}."


def say_faithful(rules: CompactRules, audit: CompactAudit | None = None) -> str:
    """Say how far compact rules are what the tree says, by an audit on other rows if there is one."""
    if rules.is_exact:
        known = " that keeps to what is known of the columns" if find_limiting_facts(rules.rules) else ""
        return f"Nothing is lost: every possible row{known} gets the tree's answer."
    if audit is not None:
        low, high = audit.disagreement_interval
        share = read_share(audit.disagreement / 100)
        return (
            f"The answer is not the tree's for {share} of these rows; on new rows, likely for {low:.1f} to {high:.1f}%."
        )
    if rules.budget:
        return (
            f"At most {100 * rules.budget:.6g}% of the training rows{_by_weight(rules.rules)} get another answer than "
            "the tree's; on new rows that may be more."
        )
    return f"Some rows may get another answer than the tree's: {rules.method!r} allows it, and audit(X, y) counts them."


def find_limiting_facts(rules: RuleSet) -> tuple[str, ...]:
    """Find the facts that the guarantee rests on, but for those that only say which columns are one category's."""
    groups = {str(group) for group in rules.tree.facts.groups}
    return tuple(fact for fact in rules.facts_used.used if fact not in groups)


def find_target(rules: RuleSet) -> str | None:
    """Find the name of what is predicted, where the labels have one."""
    labels: Any = None if rules.training is None else rules.training.y
    name = labels if isinstance(labels, str) else getattr(labels, "name", None)
    return name if isinstance(name, str) and name.lower() not in EMPTY_NAMES else None


def _by_weight(rules: RuleSet) -> str:
    return " (by weight)" if rules.is_weighted else ""


def warn_of_weights(rules: RuleSet) -> list[str]:
    """Say so where the model weighs rows otherwise than they are counted here."""
    weighed = rules.tree.counts
    if weighed is None or not rules.is_ranked:
        return []
    own, counted = weighed[rules.paths.leaf_ids], rules.source_class_counts
    sums, totals = own.sum(axis=1), counted.sum(axis=1)
    known = (sums > 0) & (totals > 0)
    if not known.any() or np.allclose(
        own[known] / sums[known, None], counted[known] / totals[known, None], rtol=0, atol=1e-3
    ):
        return []
    return [
        "The shares count rows as they were given; the model weighs them otherwise (class or sample weights, or other "
        "rows), so a rule may say a class that is not the commonest among its rows."
    ]
