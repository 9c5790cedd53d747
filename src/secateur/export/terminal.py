"""Rules as a rich table for terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from secateur.rules.wording import join_conditions, read_evidence, read_link

if TYPE_CHECKING:
    from secateur.rules.rule import Rule
    from secateur.rules.rule_set import RuleSet

__all__ = ["rules_to_table"]


def rules_to_table(
    rules: RuleSet, *, reasons: bool = False, title: str | None = None, caption: str | None = None
) -> Table:
    """A row a rule: kept conditions, deleted ones struck through, class and evidence; reasons on demand."""
    deleted, total = int(rules.deleted.sum()), len(rules.deleted)
    said = caption if caption is not None else f"{deleted} of {total} conditions deleted. {rules.guarantee}"
    table = Table(
        title=title or f"{len(rules)} rules by {rules.method}",
        caption=Text(" ".join([said, *rules.remarks])),
        title_justify="left",
        caption_justify="left",
        show_lines=reasons,
    )
    table.add_column("#", justify="right", style="dim")
    table.add_column("if", ratio=3)
    table.add_column("then", style="bold")
    table.add_column("training rows")
    for rule in rules:
        body = _with_reasons(rules, rule) if reasons else _conditions(rules, rule)
        table.add_row(str(rule.index + 1), body, Text(rule.class_name), Text(read_evidence(rule)))
    return table


def _conditions(rules: RuleSet, rule: Rule) -> Text:
    text = Text(join_conditions(rule.conditions))
    for link in rule.deleted_ids:
        text.append("\n")
        text.append(read_link(rules.tree, rules.paths, link), style="strike dim")
    return text


def _with_reasons(rules: RuleSet, rule: Rule) -> Text:
    text = Text(join_conditions(rule.conditions), style="bold")
    for link, reason in rule.reasons.items():
        words = read_link(rules.tree, rules.paths, link)
        text.append("\n")
        text.append("✂ " if reason.deleted else "• ", style="red" if reason.deleted else "green")
        text.append(words, style="strike dim not bold" if reason.deleted else "not bold")
        text.append(f"  {reason.text}", style="dim not bold")
    return text
