"""Rules as a small HTML table for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from secateur.rules.wording import join_conditions, read_evidence, read_link

if TYPE_CHECKING:
    from secateur.rules.rule_set import RuleSet

__all__ = ["rules_to_html"]

SHOWN_RULES = 200  # so that a notebook stays usable


def rules_to_html(rules: RuleSet) -> str:
    """Write a table row for each rule; deleted conditions are struck through, with the reason as a tooltip."""
    left = "style='text-align:left'"
    rows = []
    for rule in rules[:SHOWN_RULES]:
        gone = " ".join(
            f"<del title='{escape(reason.text, quote=True)}'>{escape(read_link(rules.tree, rules.paths, link))}</del>"
            for link, reason in rule.reasons.items()
            if reason.deleted
        )
        rows.append(
            f"<tr><td>{rule.index + 1}</td><td {left}>{escape(join_conditions(rule.conditions))}"
            f"{f'<br><small>{gone}</small>' if gone else ''}</td><td {left}>{escape(rule.class_name)}</td>"
            f"<td {left}>{escape(read_evidence(rule))}</td></tr>"
        )
    rest = len(rules) - len(rows)
    more = f"<p>… and {rest} more rules: see to_text() or to_frame().</p>" if rest else ""
    notes = "".join(f"<li>{escape(remark)}</li>" for remark in rules.remarks)
    deleted, total = int(rules.deleted.sum()), len(rules.deleted)
    return (
        f"<div><p><b>{escape(rules.method)}</b>: {deleted} of {total} conditions deleted from {len(rules)} rules. "
        f"{escape(rules.guarantee)}</p><table><thead><tr><th>#</th><th {left}>rule</th><th {left}>prediction</th>"
        f"<th {left}>training rows</th></tr></thead><tbody>{''.join(rows)}</tbody></table>{more}"
        f"{f'<ul>{notes}</ul>' if notes else ''}</div>"
    )
