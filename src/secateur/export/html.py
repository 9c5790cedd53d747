"""Write rules as a small HTML table for notebooks."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from secateur.export.compact_text import read_decided, title_decided
from secateur.results.answer import say_answer
from secateur.rules.merged import read_votes
from secateur.words.conditions import count_of, read_evidence, read_link
from secateur.words.plain_words import ROUNDED, join_asked, rounds_a_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from secateur.results.per_rule import RuleAudits
    from secateur.rules.compact_rule import CompactRule
    from secateur.rules.compact_rules import CompactRules
    from secateur.rules.merged import MergedRule, MergedRules
    from secateur.rules.rule import Rule
    from secateur.rules.rule_set import RuleSet
    from secateur.words.reasons import Reason

__all__ = ["audits_to_html", "compact_to_html", "merged_to_html", "rules_to_html"]

SHOWN_RULES = 200  # so that a notebook stays usable


def rules_to_html(rules: RuleSet) -> str:
    """Write a table row for each rule; deleted conditions are struck through, with the reason as a tooltip."""
    rows = []
    for rule in rules[:SHOWN_RULES]:
        gone = _strike(rule.reasons, partial(read_link, rules.tree, rules.paths, voice=rules._voice))
        asked = _write_asked(rule) + (f"<br><small>{gone}</small>" if gone else "")
        rows.append((asked, escape(rule.class_name), escape(read_evidence(rule))))
    notes = "".join(f"<li>{escape(remark)}</li>" for remark in rules.remarks)
    deleted, total = int(rules.deleted.sum()), len(rules.deleted)
    return (
        f"<div><p><b>{escape(rules.method)}</b>: {deleted} of {total} conditions deleted from {len(rules)} rules. "
        f"{escape(rules.guarantee)}</p>{_write_table(('rule', 'prediction', 'training rows'), rows, len(rules))}"
        f"{f'<ul>{notes}</ul>' if notes else ''}</div>"
    )


def compact_to_html(rules: CompactRules) -> str:
    """Write what is predicted, a table row for each compact rule and "otherwise", and how far to trust them."""
    rows = [
        (_write_asked(rule), escape(rule.class_name), escape(read_decided(rules, rule.index)))
        for rule in rules[:SHOWN_RULES]
    ]
    rest = (f"<i>{rules.rest_word}</i>", escape(rules.otherwise_name))
    rows.append((*rest, escape(read_decided(rules, len(rules)))))
    before, after = say_answer(rules)
    after += [ROUNDED] if rounds_a_number(rules.rules, rules) else []
    first, last = (f"<p>{escape(' '.join(told))}</p>" if told else "" for told in (before, after))
    notes = "".join(f"<li>{escape(remark)}</li>" for remark in rules.remarks)
    table = _write_table(("if", "then", title_decided(rules)), rows, len(rules) + 1)
    return f"<div>{first}{table}{last}{f'<ul>{notes}</ul>' if notes else ''}</div>"


def _write_asked(rule: Rule | CompactRule | MergedRule) -> str:
    """Write what a rule asks in words, with the exact text as a tooltip."""
    return f"<span title='{escape(rule.text, quote=True)}'>{escape(join_asked(rule.asks))}</span>"


def merged_to_html(merged: MergedRules, shown: Sequence[MergedRule]) -> str:
    """Write a table row for each of the first merged rules of a forest."""
    rows = [
        (
            f"<span title='{escape(rule.text, quote=True)}'>{escape(rule.words)}</span>",
            escape(rule.class_name),
            escape(read_votes(rule)),
        )
        for rule in shown
    ]
    return f"<div>{_write_table(('rule', 'prediction', 'trees, training rows'), rows, len(merged))}</div>"


def audits_to_html(audits: RuleAudits) -> str:
    """Write a table row for each rule on the audited rows, those that moved first."""
    order = np.lexsort((np.arange(len(audits)), np.nan_to_num(audits.p_values, nan=2.0)))[:SHOWN_RULES]
    body = ""
    for one in (audits[int(place)] for place in order):
        _, *rest = str(one).split("\n")
        words = "<br>".join(escape(line.strip()) for line in rest)
        body += f"<tr><td>{one.rule}</td><td>{one.verdict}</td><td style='text-align:left'>{escape(one.text)}"
        body += f"<br><small>{words}</small></td></tr>"
    rest_of = len(audits) - len(order)
    more = f"<p>… and {count_of(rest_of, 'more rule')}: see to_frame().</p>" if rest_of else ""
    notes = " ".join(escape(note) for note in (audits.summary, *audits.notes))
    head = "<th>#</th><th>verdict</th><th style='text-align:left'>rule</th>"
    return f"<div><p>{notes}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"


def _strike(reasons: Mapping[int, Reason], read: Callable[[int], str]) -> str:
    """Strike deleted conditions through, with the reason as a tooltip."""
    return " ".join(
        f"<del title='{escape(reason.text, quote=True)}'>{escape(read(link))}</del>"
        for link, reason in reasons.items()
        if reason.deleted
    )


def _write_table(titles: Sequence[str], rows: Sequence[Iterable[str]], n_rules: int) -> str:
    """Number rows of HTML cells, put a header above them, and say how many rules are not shown."""
    left = "style='text-align:left'"
    head = "".join(f"<th {left}>{title}</th>" for title in titles)
    body = "".join(
        f"<tr><td>{number}</td>{''.join(f'<td {left}>{cell}</td>' for cell in cells)}</tr>"
        for number, cells in enumerate(rows, start=1)
    )
    rest = n_rules - len(rows)
    more = f"<p>… and {rest:,} more rules: see to_text() or to_frame().</p>" if rest else ""
    return f"<table><thead><tr><th>#</th>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
