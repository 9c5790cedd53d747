"""Rules as a table in Markdown, as GitHub and others read it, escaped so that readers see names as they are."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING

from secateur.export.plain_names import one_line
from secateur.words.conditions import read_evidence, read_link
from secateur.words.plain_words import join_asked

if TYPE_CHECKING:
    from secateur.rules.rule_set import RuleSet

__all__ = ["escape_markdown", "rules_to_markdown"]

MARKS = re.compile(r"[\\`*_\[\]|~$]")
# An ampersand or angle bracket alone is only itself, and `<=` stays readable.
TAGS = re.compile(r"<(?=[a-zA-Z/!?])")
ENTITIES = re.compile(r"&(?=[#a-zA-Z])")
LINKS = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)


def rules_to_markdown(rules: RuleSet, *, reasons: bool = False) -> str:
    """Write a table of rules; with reasons, say below it why each condition was deleted or kept."""
    lines = [f"Method {rules.method}: {escape_markdown(rules.guarantee)}", ""]
    lines += ["| # | If | Then | Training rows |", "|--:|---|---|---|"]
    for rule in rules:
        cells = join_asked(rule.asks), rule.class_name, read_evidence(rule)
        lines.append(f"| {rule.index + 1} | {' | '.join(map(escape_markdown, cells))} |")
    if rules.remarks:
        lines += ["", *(f"- Note: {escape_markdown(remark)}" for remark in rules.remarks)]
    if not reasons:
        return "\n".join(lines)
    # A link is on the path of every rule below it.
    read = cache(partial(read_link, rules.tree, rules.paths, voice=rules._voice))
    for rule in rules:
        lines += ["", f"Rule {rule.index + 1}, {escape_markdown(rule.words)}", ""]
        n_before = len(lines)
        for link, reason in rule.reasons.items():
            sign = "deleted" if reason.deleted else "kept"
            lines.append(f"- {sign}: {escape_markdown(read(link))} ({escape_markdown(reason.text)})")
        if len(lines) == n_before:
            lines.append("- nothing was asked")
    return "\n".join(lines)


def escape_markdown(words: str) -> str:
    """Escape words so that Markdown shows them as they are, on one line."""
    line = ENTITIES.sub("&amp;", one_line(words, len(words)))
    line = TAGS.sub("&lt;", MARKS.sub(r"\\\g<0>", line))
    return LINKS.sub(r"\\\g<0>", line)
