"""Write rules as a small HTML table for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from secateur.export.listing import ListedLine, make_listing
from secateur.rules.merged import MergedRule, MergedRules, read_votes
from secateur.words.conditions import count_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secateur.results.per_line import LineAudits
    from secateur.rules.rules import Rules

SHOWN_RULES = 200  # so that a notebook stays usable


def rules_to_html(rules: Rules) -> str:
    """Write what is predicted, a table row for each line, and how far to trust them.

    With one rule for each leaf, deleted conditions are struck through, with the reason as a tooltip.
    """
    listing = make_listing(rules, reasons=not rules.is_list, most=SHOWN_RULES)
    rows, numbers = [], []
    for line in listing.lines:
        if line.heading:
            rows.append((f"<b>Among {escape(line.heading)}</b>", "", ""))
            numbers.append("")
        rows.append((_write_asked(line), escape(line.class_name), escape(line.rows)))
        numbers.append(str(line.number))
    first = "".join(f"<p>{escape(sentence)}</p>" for sentence in (f"{listing.title}.", *listing.before))
    last = "".join(f"<p>{escape(sentence)}</p>" for sentence in listing.after)
    table = _write_table(("if", "then", listing.rows_title), rows, len(rows) + listing.n_left_out, numbers)
    return f"<div>{first}{table}{last}</div>"


def _write_asked(line: ListedLine) -> str:
    """Write what a line asks in words, with the exact text as a tooltip; and below it what it no longer asks."""
    gone = " ".join(
        f"<del title='{escape(one.text, quote=True)}'>{escape(one.condition)}</del>"
        for one in line.reasons
        if one.deleted
    )
    asked = f"<i>{line.asked}</i>" if line.is_otherwise else escape(line.asked)
    return (
        f"<span title='{escape(line.exact, quote=True)}'>{asked}</span>{f'<br><small>{gone}</small>' if gone else ''}"
    )


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


def audits_to_html(audits: LineAudits) -> str:
    """Write a table row for each rule on the audited rows, those that moved first."""
    order = np.lexsort((np.arange(len(audits)), np.nan_to_num(audits.p_values, nan=2.0)))[:SHOWN_RULES]
    body = ""
    for one in (audits[int(place)] for place in order):
        _, *rest = str(one).split("\n")
        words = "<br>".join(escape(line.strip()) for line in rest)
        body += f"<tr><td>{one.line}</td><td>{one.verdict}</td><td style='text-align:left'>{escape(one.text)}"
        body += f"<br><small>{words}</small></td></tr>"
    rest_of = len(audits) - len(order)
    more = f"<p>… and {count_of(rest_of, 'more line')}: see to_frame().</p>" if rest_of else ""
    notes = " ".join(escape(note) for note in (audits.summary, *audits.notes))
    head = "<th>#</th><th>verdict</th><th style='text-align:left'>rule</th>"
    return f"<div><p>{notes}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"


def _write_table(
    titles: Sequence[str], rows: Sequence[Iterable[str]], n_rules: int, numbers: Iterable[object] | None = None
) -> str:
    """Number rows of HTML cells, put a header above them, and say how many rules are not shown."""
    left = "style='text-align:left'"
    head = "".join(f"<th {left}>{title}</th>" for title in titles)
    body = "".join(
        f"<tr><td>{number}</td>{''.join(f'<td {left}>{cell}</td>' for cell in cells)}</tr>"
        for number, cells in zip(numbers or range(1, len(rows) + 1), rows, strict=True)
    )
    rest = n_rules - len(rows)
    more = f"<p>… and {rest:,} more rules: see to_text() or to_frame().</p>" if rest else ""
    return f"<table><thead><tr><th>#</th>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
