"""Rules as plain text."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from secateur.reading import read_count, read_link, read_share

if TYPE_CHECKING:
    from collections.abc import Callable

    from secateur.rule import Rule
    from secateur.rules import RuleSet

__all__ = ["read_evidence", "rules_to_text"]


def rules_to_text(rules: RuleSet, *, reasons: bool) -> str:
    """All rules, a line each; with reasons, the conditions of each rule below it; remarks at the end."""
    lines = []
    read = cache(partial(read_link, rules.tree, rules.notes))  # a link is on the path of every rule below it
    for rule in rules:
        lines.append(f"{rule.index + 1}. {rule.text}   (leaf {rule.leaf_id}: {read_evidence(rule)})")
        if reasons:
            lines.extend(_reason_lines(rule, read))
    lines.extend(f"Note: {remark}" for remark in rules.remarks)
    return "\n".join(lines)


def read_evidence(rule: Rule) -> str:
    """Support and reliability in words."""
    if rule.support is None:
        return "support unknown"
    if rule.reliability is None:
        return "no row"
    amount = read_count(rule.support)
    rows = f"weight {amount}" if rule.is_weighted else f"{amount} row{'' if rule.support == 1 else 's'}"
    return f"{rows}, {read_share(rule.reliability)} {rule.class_name}"


def _reason_lines(rule: Rule, read: Callable[[int], str]) -> list[str]:
    return [
        f"     {'-' if reason.deleted else '+'} {read(link)}: {reason.text}" for link, reason in rule.reasons.items()
    ]
