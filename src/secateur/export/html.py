"""Rules as a small HTML table for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from secateur.rules.wording import join_conditions, read_evidence, read_link

if TYPE_CHECKING:
    from secateur.rules.rule import Rule
    from secateur.rules.rule_set import RuleSet

__all__ = ["rules_to_html"]

# A notebook cell stays usable; the count of what is not shown is said.
SHOWN_RULES = 200


def rules_to_html(rules: RuleSet) -> str:
    """One table row a rule; deleted conditions are struck through, with the reason as a tooltip."""
    shown = rules[:SHOWN_RULES]
    body = "".join(_row(rules, rule) for rule in shown)
    rest = len(rules) - len(shown)
    more = f"<p>… and {rest} more rules: see to_text() or to_frame().</p>" if rest else ""
    notes = "".join(f"<li>{escape(remark)}</li>" for remark in rules.remarks)
    deleted, total = int(rules.deleted.sum()), len(rules.deleted)
    return (
        f"<div><p><b>{escape(rules.method)}</b>: {deleted} of {total} conditions deleted from {len(rules)} rules. "
        f"{escape(rules.guarantee)}</p>"
        "<table><thead><tr><th>#</th><th style='text-align:left'>rule</th><th style='text-align:left'>prediction</th>"
        f"<th style='text-align:left'>training rows</th></tr></thead><tbody>{body}</tbody></table>{more}"
        f"{f'<ul>{notes}</ul>' if notes else ''}</div>"
    )


def _row(rules: RuleSet, rule: Rule) -> str:
    kept = escape(join_conditions(rule.conditions))
    gone = " ".join(
        f"<del title='{escape(rules_reason.text, quote=True)}'>{escape(read_link(rules.tree, rules.paths, link))}</del>"
        for link, rules_reason in rule.reasons.items()
        if rules_reason.deleted
    )
    return (
        f"<tr><td>{rule.index + 1}</td><td "
        f"style='text-align:left'>{kept}{'<br><small>' + gone + '</small>' if gone else ''}"
        f"</td><td style='text-align:left'>{escape(rule.class_name)}</td>"
        f"<td style='text-align:left'>{escape(read_evidence(rule))}</td></tr>"
    )
