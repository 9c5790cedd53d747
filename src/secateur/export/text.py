"""Rules as plain text."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from secateur.words.conditions import read_assimilation, read_evidence, read_link
from secateur.words.plain_words import ROUNDED, rounds_a_number

if TYPE_CHECKING:
    from secateur.rules.rule_set import RuleSet

__all__ = ["COUNTED_TWICE", "counts_rows_twice", "rules_to_text"]

COUNTED_TWICE = "A row counts for every rule that it satisfies, so the numbers add up to more than the table."


def rules_to_text(rules: RuleSet, *, reasons: bool = False) -> str:
    """Write a line for each rule, with reasons the conditions of each rule below it, and remarks at the end."""
    lines = []
    # A link is on the path of every rule below it.
    read = cache(partial(read_link, rules.tree, rules.paths, voice=rules._voice))
    for rule in rules:
        lines.append(f"{rule.index + 1}. {rule.words}   (leaf {rule.leaf_id}: {read_evidence(rule)})")
        for link, reason in rule.reasons.items() if reasons else ():
            lines.append(f"     {'-' if reason.deleted else '+'} {read(link)}: {reason.text}")
        if reasons and rule.assimilated_into is not None:
            lines.append(f"     = {read_assimilation(rule)}")
    lines += [COUNTED_TWICE] if counts_rows_twice(rules) else []
    lines += [ROUNDED] if rounds_a_number(rules, rules) else []
    return "\n".join([*lines, *(f"Note: {remark}" for remark in rules.remarks)])


def counts_rows_twice(rules: RuleSet) -> bool:
    """Whether rules cover more rows together than there are."""
    return bool(np.nansum(rules.support) > np.nansum(rules.source_support) * (1 + 1e-9))
