"""Compact rules as text for people: what is predicted, the cases of each class, and how far that may be trusted."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from secateur.results.answer import say_answer
from secateur.results.fidelity import read_agreement
from secateur.words.conditions import NOT_COMMONEST, count_of, read_count, read_link, read_share
from secateur.words.plain_words import ROUNDED, join_asked, rounds_a_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secateur.rules.compact_rule import CompactRule
    from secateur.rules.compact_rules import CompactRules

__all__ = [
    "NOT_WRITTEN",
    "compact_to_text",
    "count_leaves",
    "list_lines",
    "read_decided",
    "read_rarer_class",
    "title_decided",
]

NOT_WRITTEN = "Rules of leaves that need not be written:"
WIDEST = 100  # numbers stand in a column unless a line is longer than this


def compact_to_text(rules: CompactRules, *, reasons: bool = False) -> str:
    """Write the cases of each class below it, what decides the rest, and with reasons why each condition is there."""
    lines = list(list_lines(rules, reasons=reasons))
    width = max((len(words) for words, numbers in lines if numbers and len(words) <= WIDEST), default=0)
    listed = [f"{words:<{width}}   {numbers}" if numbers else words for words, numbers in lines]
    before, after = say_answer(rules)
    rounded = [ROUNDED] if rounds_a_number(rules.rules, rules) else []
    remarks = [f"Note: {remark}" for remark in rules.remarks]
    return "\n".join([*before, *([""] if before else []), *listed, "", *after, *rounded, *remarks])


def list_lines(rules: CompactRules, *, reasons: bool = False, most: int | None = None) -> Iterator[tuple[str, str]]:
    """List the rules as words, and the numbers that follow them in a column; of many rules the first ``most``."""
    read = cache(partial(read_link, rules.tree, rules.rules.paths, voice=rules.rules._voice))
    class_id, digits = -1, len(str(len(rules)))
    for rule in rules[:most]:
        if rules.class_ids[rule.index] != class_id:
            class_id = int(rules.class_ids[rule.index])
            yield f"{rule.class_name} if", ""
        words = f"  {rule.index + 1:{digits}d}. {join_asked(rule.asks)}"
        yield words, f"{read_decided(rules, rule.index)}   (stands for {count_leaves(rule)})"
        for link, reason in rule.reasons.items() if reasons else ():
            yield f"         {'-' if reason.deleted else '+'} {read(link)}: {reason.text}", ""
    if most is not None and len(rules) > most:
        yield f"  … and {count_of(len(rules) - most, 'more rule')}", ""
    share = read_decided(rules, len(rules))
    yield f"{rules.rest_word} {rules.otherwise_name}", share
    if reasons and len(rules.dropped):
        yield "", ""
        yield NOT_WRITTEN, ""
        for dropped in rules.dropped[:most]:
            yield f"  - {dropped.words} (leaf {dropped.leaf_id}): {dropped.reason}", ""
        if most is not None and len(rules.dropped) > most:
            yield f"  … and {count_of(len(rules.dropped) - most, 'more rule')}", ""


def count_leaves(rule: CompactRule) -> str:
    """Word the number of leaves that a rule stands for."""
    n_leaves = len(rule.leaf_ids)
    return "1 leaf" if n_leaves == 1 else f"{n_leaves} leaves"


def read_decided(rules: CompactRules, index: int) -> str:
    """Word the training rows that a rule, or after the last one "otherwise", decides, and the share of its class.

    Of rules that approximate a model: the held-out rows, and the share of them for which the model says the same.
    """
    if rules.fidelity is not None:
        return read_agreement(rules.fidelity, index)
    counts = rules.decided_counts[index]
    total = float(counts.sum())
    # Without rows, the numbers of one line beside none of the others would only make people wonder.
    if math.isnan(total) or (not rules.rules.is_ranked and np.isnan(rules.decided_counts).any()):
        return "rows unknown"
    if total == 0:
        return "no row"
    class_id = int(rules.class_ids[index] if index < len(rules) else rules.otherwise_id)
    told = (
        f"{_read_rows(rules, total)}, {read_share(float(counts[class_id]) / total)} {rules.tree.class_names[class_id]}"
    )
    return f"{told}{read_rarer_class(rules, index)}"


def read_rarer_class(rules: CompactRules, index: int) -> str:
    """Say so where a line decides rows that are mostly of another class than it states; else say nothing."""
    counts = rules.decided_counts[index]
    class_id = int(rules.class_ids[index] if index < len(rules) else rules.otherwise_id)
    if not counts[class_id] < counts.max():
        return ""
    if index == len(rules):
        return NOT_COMMONEST
    # What earlier rules leave over may be mostly of another class, although all that the rule covers is not.
    place = int(rules.chosen[index])
    covered, reliability = float(rules.rules.support[place]), float(rules.rules.reliability[place])
    if covered == counts.sum():
        return NOT_COMMONEST
    return f"{NOT_COMMONEST} (of {_read_rows(rules, covered)} that it covers, {read_share(reliability)})"


def title_decided(rules: CompactRules) -> str:
    """Name the rows that :func:`read_decided` tells of, for the head of a column."""
    return "training rows decided" if rules.fidelity is None else "held-out rows decided"


def _read_rows(rules: CompactRules, total: float) -> str:
    if not rules.rules.is_ranked:  # by class or sample weights, if the model was fitted with some
        return f"the model counts {read_count(total)}"
    return f"weight {read_count(total)}" if rules.rules.is_weighted else count_of(total, "row")
