"""Rules as plain text."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from secateur.export.compact_text import compact_to_text
from secateur.rules.compact_rules import CompactRules
from secateur.rules.wording import read_evidence, read_link

if TYPE_CHECKING:
    from secateur.rules.rule_set import RuleSet

__all__ = ["rules_to_text"]


def rules_to_text(rules: RuleSet | CompactRules, *, reasons: bool = False) -> str:
    """Write a line for each rule, with reasons the conditions of each rule below it, and remarks at the end."""
    if isinstance(rules, CompactRules):
        return compact_to_text(rules, reasons=reasons)
    lines = []
    read = cache(partial(read_link, rules.tree, rules.paths))  # a link is on the path of every rule below it
    for rule in rules:
        lines.append(f"{rule.index + 1}. {rule.text}   (leaf {rule.leaf_id}: {read_evidence(rule)})")
        for link, reason in rule.reasons.items() if reasons else ():
            lines.append(f"     {'-' if reason.deleted else '+'} {read(link)}: {reason.text}")
    return "\n".join([*lines, *(f"Note: {remark}" for remark in rules.remarks)])
