"""Rules as a rich table for terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from secateur.export.compact_text import count_leaves, read_decided, title_decided
from secateur.words.conditions import read_evidence, read_link
from secateur.words.plain_words import join_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from secateur.rules.compact_rules import CompactRules
    from secateur.rules.rule_set import RuleSet
    from secateur.words.reasons import Reason

__all__ = ["compact_to_table", "rules_to_table"]


def rules_to_table(
    rules: RuleSet, *, reasons: bool = False, title: str | None = None, caption: str | None = None
) -> Table:
    """Make a row for each rule: conditions, deleted ones struck through, class and evidence; with reasons if asked."""
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
        body = Text(join_asked(rule.asks), style="bold" if reasons else "")
        found = rule.reasons if reasons else dict.fromkeys(rule.deleted_ids)
        _append_reasons(body, found, lambda link: read_link(rules.tree, rules.paths, link, rules._voice))
        table.add_row(str(rule.index + 1), body, Text(rule.class_name), Text(read_evidence(rule)))
    return table


def compact_to_table(rules: CompactRules) -> Table:
    """Make a row for each compact rule, and one for "otherwise"."""
    size = f"{rules.n_conditions} of {rules.source_n_conditions} conditions left."
    table = Table(
        title=f"{len(rules)} rules instead of {rules.source_n_rules}",
        caption=Text(" ".join([size, rules.guarantee, *rules.remarks])),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("#", justify="right", style="dim")
    table.add_column("if", ratio=3)
    table.add_column("then", style="bold")
    table.add_column(title_decided(rules))
    table.add_column("stands for")
    for rule in rules:
        numbers = read_decided(rules, rule.index), count_leaves(rule)
        table.add_row(str(rule.index + 1), Text(join_asked(rule.asks)), Text(rule.class_name), *numbers)
    words = Text(rules.rest_word, style="italic")
    rest = Text(rules.otherwise_name), read_decided(rules, len(rules)), "the rest"
    table.add_row(str(len(rules) + 1), words, *rest)
    return table


def _append_reasons(body: Text, found: Mapping[int, Reason | None], read: Callable[[int], str]) -> None:
    """Add a line for each condition: struck through if it was deleted, with its reason if that is asked for."""
    for link, reason in found.items():
        body.append("\n")
        words = read(link)
        if reason is None:
            body.append(words, style="strike dim")
            continue
        body.append("✂ " if reason.deleted else "• ", style="red" if reason.deleted else "green")
        body.append(words, style="strike dim not bold" if reason.deleted else "not bold")
        body.append(f"  {reason.text}", style="dim not bold")
