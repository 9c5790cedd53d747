"""Rules as plain text."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from secateur.rules.wording import read_assimilation, read_evidence, read_link

if TYPE_CHECKING:
    from secateur.rules.rule_set import RuleSet

__all__ = ["rules_to_text"]


def rules_to_text(rules: RuleSet, *, reasons: bool = False) -> str:
    """Write a line for each rule, with reasons the conditions of each rule below it, and remarks at the end."""
    lines = []
    read = cache(partial(read_link, rules.tree, rules.paths))  # a link is on the path of every rule below it
    for rule in rules:
        lines.append(f"{rule.index + 1}. {rule.text}   (leaf {rule.leaf_id}: {read_evidence(rule)})")
        for link, reason in rule.reasons.items() if reasons else ():
            lines.append(f"     {'-' if reason.deleted else '+'} {read(link)}: {reason.text}")
        if reasons and rule.assimilated_into is not None:
            lines.append(f"     = {read_assimilation(rule)}")
    return "\n".join([*lines, *(f"Note: {remark}" for remark in rules.remarks)])
