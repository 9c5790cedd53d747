"""Rules as a table in Markdown, as GitHub and others read it.

What Markdown would take for a mark of its own is written so that a reader sees the name as it is.
"""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING

from secateur.export.plain_names import one_line
from secateur.rules.wording import join_conditions, read_evidence, read_link

if TYPE_CHECKING:
    from collections.abc import Callable

    from secateur.rules.rule import Rule
    from secateur.rules.rule_set import RuleSet

__all__ = ["escape_markdown", "rules_to_markdown"]

MARKS = re.compile(r"[\\`*_\[\]|~$]")
# An ampersand or angle bracket alone is only itself, and `<=` stays readable.
TAGS = re.compile(r"<(?=[a-zA-Z/!?])")
ENTITIES = re.compile(r"&(?=[#a-zA-Z])")
LINKS = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)


def rules_to_markdown(rules: RuleSet, *, reasons: bool = False) -> str:
    """Number, conditions, class and training rows as a table; with reasons, each condition's fate below it."""
    lines = [f"Method {rules.method}: {escape_markdown(rules.guarantee)}", ""]
    lines += ["| # | If | Then | Training rows |", "|--:|---|---|---|"]
    for rule in rules:
        cells = join_conditions(rule.conditions), rule.class_name, read_evidence(rule)
        lines.append(f"| {rule.index + 1} | {' | '.join(map(escape_markdown, cells))} |")
    if rules.remarks:
        lines += ["", *(f"- Note: {escape_markdown(remark)}" for remark in rules.remarks)]
    if reasons:
        read = cache(partial(read_link, rules.tree, rules.paths))  # a link is on the path of every rule below it
        for rule in rules:
            lines += ["", *_reason_lines(rule, read)]
    return "\n".join(lines)


def escape_markdown(words: str) -> str:
    """Words that Markdown shows as they are, on one line."""
    line = ENTITIES.sub("&amp;", one_line(words, len(words)))
    line = TAGS.sub("&lt;", MARKS.sub(r"\\\g<0>", line))
    return LINKS.sub(r"\\\g<0>", line)


def _reason_lines(rule: Rule, read: Callable[[int], str]) -> list[str]:
    """The conditions of a rule's path, each with the reason why it went or stayed."""
    lines = [f"Rule {rule.index + 1}, {escape_markdown(rule.text)}", ""]
    for link, reason in rule.reasons.items():
        sign = "deleted" if reason.deleted else "kept"
        lines.append(f"- {sign}: {escape_markdown(read(link))} ({escape_markdown(reason.text)})")
    return lines if rule.reasons else [*lines, "- nothing was asked"]
