"""The answer in a few sentences: what is predicted, how often that is right, and how far it agrees with the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.results.fidelity import describe_fidelity
from secateur.tree.shown_text import show_text
from secateur.words.conditions import count_of, read_count, read_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secateur.results.audit import Audit
    from secateur.rules.rules import Rules

SHOWN_CLASSES = 5
FAR = 0.1  # from what a guess gives, as a share
EMPTY_NAMES = ("", "y", "target", "class", "label")  # of a column of labels; they say nothing about it


def describe_answer(rules: Rules) -> tuple[list[str], list[str]]:
    """Make the sentences before and after a list of rules, by the training rows as they were counted."""
    if rules.fidelity is not None:
        return describe_fidelity(rules)
    counts = rules.counts if rules.is_list else rules.leaf_counts
    sizes: NDArray[np.float64] = counts.sum(axis=0)
    promised = describe_faithful(rules) if rules.is_list else rules.guarantee
    if not sizes.sum() > 0 or not rules.is_ranked:
        return [], [promised]
    names, total = rules.tree.class_names, float(sizes.sum())
    first = describe_classes(names, sizes, find_target(rules), is_weighted=rules.is_weighted)
    after = [*warn_of_weights(rules), promised]
    if rules.is_list:  # a row that several rules of leaves cover is counted for each of them
        own, guess = float(counts[np.arange(len(counts)), rules.class_ids].sum()), int(sizes.argmax())
        rows = "the training rows, by weight" if rules.is_weighted else f"the {count_of(total, 'training row')}"
        right = describe_accuracy(own / total, rows, names[guess], float(sizes[guess]) / total)
        after.insert(-1, right)
    return [first], after


def describe_classes(
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
    return f"{who} {show_text(target or 'the class')}: of {among}, {joined}."


def describe_accuracy(share: float, rows: str, guess: str, guessed: float | None, by_tree: float | None = None) -> str:
    """Say how often rules are right, beside the tree if it is not as often, and beside always making one guess."""
    right = f"Right for {read_share(share)} of {rows}"
    if by_tree is not None and by_tree != share:
        right += f" (the tree: {read_share(by_tree)})"
    return f"{right}." if guessed is None else f"{right}; always saying {guess} is right for {read_share(guessed)}."


def describe_measured(audit: Audit, rows: str) -> str:
    """Say the same of audited rows."""
    shares = audit.accuracy / 100, audit.baseline / 100, audit.tree_accuracy / 100
    return describe_accuracy(shares[0], rows, audit.baseline_class, *shares[1:])


def describe_faithful(rules: Rules, audit: Audit | None = None, trained: Audit | None = None) -> str:
    """Say how far rules agree with the tree, by an audit on other rows or on the training rows if any."""
    points = f"{100 * rules.tolerance:.6g} points"
    if rules.is_exact:
        facts = find_limiting_facts(rules)
        whom = f"any row that satisfies {'; '.join(facts)}" if facts else "any possible row"
        if rules.keeps_shares:
            what = "share of the rows as passed" if warn_of_weights(rules) else "probability"
            if rules.tree.n_classes > 2:  # the others share the rest as the rows of the line do
                return f"No answer changes, and its {what} moves by no more than {points}, for {whom}."
            return f"No answer changes, and no {what} moves by more than {points}, for {whom}."
        return f"No answer changes for {whom}."
    moved = f", or a share more than {points} away" if rules.keeps_shares else ""
    weighted = " (by weight)" if rules.is_weighted else ""
    allowed = (
        f"At most {100 * rules.budget:.6g} % of the training rows{weighted}, of all and of each class, get "
        f"another class than from the tree{moved}"
    )
    if audit is not None:
        measured = describe_difference(100.0 - audit.agreement, "these rows", audit.difference_interval)
        return f"{allowed}. {measured}" if rules.budget else measured
    if rules.budget:
        return f"{allowed}; on new rows that may be more."
    if trained is not None:
        return describe_difference(100.0 - trained.agreement, "the training rows", None)
    return f"Some rows may be answered differently from the tree: {rules.method!r} allows it, and an audit counts them."


def describe_difference(percentage: float, rows: str, limits: Sequence[float] | None) -> str:
    """Say on how many of some rows the answer differs from the tree's; with limits, on how many of new ones."""
    said = f"The answer differs from the tree's on {read_share(percentage / 100)} of {rows}"
    if limits is None:
        return f"{said}; on new rows that may be more."
    return f"{said}; on new rows, 95 % interval {limits[0]:.1f} to {limits[1]:.1f} %."


def find_limiting_facts(rules: Rules) -> tuple[str, ...]:
    """Find the facts that the guarantee assumes, but for those that only say which columns are one category's."""
    groups = {str(group) for group in rules.tree.facts.groups}
    return tuple(fact for fact in rules.assumptions if fact not in groups)


def find_target(rules: Rules) -> str | None:
    """Find the name of what is predicted, where the labels have one."""
    return None if rules.training is None else name_target(rules.training.y)


def name_target(labels: Any) -> str | None:
    """Find what labels are called: the name of their column, if it says anything."""
    name = labels if isinstance(labels, str) else getattr(labels, "name", None)
    return name if isinstance(name, str) and name.lower() not in EMPTY_NAMES else None


def warn_of_weights(rules: Rules) -> list[str]:
    """Say so where the model weighs rows differently from how they are counted here, or was fitted to other labels."""
    weighed = rules.tree.counts
    if weighed is None or not rules.is_ranked:
        return []
    own, counted = weighed[rules.paths.leaf_ids], rules.leaf_counts
    sums, totals = own.sum(axis=1), counted.sum(axis=1)
    known = (sums > 0) & (totals > 0)
    if not known.any() or np.allclose(
        own[known] / sums[known, None], counted[known] / totals[known, None], rtol=0, atol=1e-3
    ):
        return []
    own, counted = own[known], counted[known]
    if (alarm := _warn_of_labels(own, counted, rules.paths.leaf_class[known])) is not None:
        return [alarm]
    counted_how = "by the weights that were passed" if rules.is_weighted else "unweighted"
    return [
        f"Percentages count rows {counted_how}. The model was fitted with other weights or rows, so a line may "
        "predict a class that most of its rows do not have."
    ]


def _warn_of_labels(own: NDArray[np.float64], counted: NDArray[np.float64], said: NDArray[np.int64]) -> str | None:
    """Say so where the labels fit the leaves far worse than a guess, though the model's own do not; None if they fit.

    Every class counts alike, so that class weights change nothing.
    """
    present = (own.sum(axis=0) > 0) & (counted.sum(axis=0) > 0)

    def find_recall(counts: NDArray[np.float64]) -> float:
        right = np.bincount(said, weights=counts[np.arange(len(said)), said], minlength=counts.shape[1])
        return float((right[present] / counts.sum(axis=0)[present]).mean()) if present.any() else 0.0

    guess = 1 / max(int(present.sum()), 1)
    if find_recall(own) < guess + FAR or find_recall(counted) > guess - FAR:
        return None
    right, fitted = (float(counts[np.arange(len(said)), said].sum() / counts.sum()) for counts in (counted, own))
    return (
        f"The labels do not fit the model: it is right for {read_share(right)} of these rows, worse than a guess, and "
        f"for {read_share(fitted)} of those that it was fitted to. Are these the labels that it was fitted to?"
    )
