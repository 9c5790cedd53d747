"""Rules as plain text."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from secateur.rules.wording import read_evidence, read_link

if TYPE_CHECKING:
    from collections.abc import Callable

    from secateur.rules.rule import Rule
    from secateur.rules.rule_set import RuleSet

__all__ = ["rules_to_text"]


def rules_to_text(rules: RuleSet, *, reasons: bool) -> str:
    """All rules, a line each; with reasons, the conditions of each rule below it; remarks at the end."""
    lines = []
    read = cache(partial(read_link, rules.tree, rules.paths))  # a link is on the path of every rule below it
    for rule in rules:
        lines.append(f"{rule.index + 1}. {rule.text}   (leaf {rule.leaf_id}: {read_evidence(rule)})")
        if reasons:
            lines.extend(_reason_lines(rule, read))
    lines.extend(f"Note: {remark}" for remark in rules.remarks)
    return "\n".join(lines)


def _reason_lines(rule: Rule, read: Callable[[int], str]) -> list[str]:
    return [
        f"     {'-' if reason.deleted else '+'} {read(link)}: {reason.text}" for link, reason in rule.reasons.items()
    ]
