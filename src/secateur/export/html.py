"""Small HTML tables of rules, and of what is measured, explained and proved, for notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from secateur.export.listing import ListedLine, make_listing
from secateur.words.conditions import count_of, format_count, format_share
from secateur.words.plain_words import format_amount

if TYPE_CHECKING:
    from secateur.results.audit import Audit
    from secateur.results.deletion_effects import Overlaps
    from secateur.results.explanation import Explanation
    from secateur.results.per_line import LineAudits
    from secateur.rules.forest import ForestAudit, ForestRules
    from secateur.rules.rules import Rules

SHOWN_RULES = 200  # so that a notebook stays usable
SHOWN_PAIRS = 20
IN_TABLE = ("  This row:", "  line ", "  asked:", "  not asked:")  # lines of an explanation that its table tells


def write_notebook_table(
    titles: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
    is_html: bool = False,
) -> str:
    """Write a table of texts, or of HTML, and a paragraph for each sentence before and after it; the first is bold."""
    left = " style='text-align:left'"
    head = "".join(f"<th{left}>{escape(title)}</th>" for title in titles)
    cells = ((cell if is_html else escape(cell) for cell in row) for row in rows)
    body = "".join(f"<tr>{''.join(f'<td{left}>{cell}</td>' for cell in row)}</tr>" for row in cells)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if body else ""
    first = [f"<p><b>{escape(sentence)}</b></p>" for sentence in before[:1]]
    others, last = ([f"<p>{escape(sentence)}</p>" for sentence in some] for some in (before[1:], after))
    return f"<div>{''.join([*first, *others, table, *last])}</div>"


def rules_to_html(rules: Rules) -> str:
    """Write a row for each line; one for each leaf has its deleted conditions struck through, with reasons."""
    listing = make_listing(rules, reasons=not rules.is_list, most=SHOWN_RULES)
    rows = []
    for line in listing.lines:
        if line.heading:
            rows.append(("", f"<b>Among {escape(line.heading)}</b>", "", ""))
        rows.append((str(line.number), _write_asked(line), escape(line.class_name), escape(line.rows)))
    more = f"… and {listing.n_left_out:,} more {rules.line_word}s: see to_text() or to_frame()."
    return write_notebook_table(
        ("#", "if", "then", listing.rows_title),
        rows,
        before=(f"{listing.title}.", *listing.before),
        after=([more] if listing.n_left_out else []) + list(listing.after),
        is_html=True,
    )


def _write_asked(line: ListedLine) -> str:
    """Write what a line asks in words, with the exact text as a tooltip; and below it what it no longer asks."""
    deleted = (one for one in line.reasons if one.deleted)
    gone = " ".join(f"<del title='{escape(one.text, quote=True)}'>{escape(one.condition)}</del>" for one in deleted)
    asked = f"<i>{line.asked}</i>" if line.is_otherwise else escape(line.asked)
    below = f"<br><small>{gone}</small>" if gone else ""
    return f"<span title='{escape(line.exact, quote=True)}'>{asked}</span>{below}"


def audits_to_html(audits: LineAudits) -> str:
    """Write a table row for each rule on the audited rows, those that moved first."""
    order = np.lexsort((np.arange(len(audits)), np.nan_to_num(audits.p_values, nan=2.0)))[:SHOWN_RULES]
    rows = []
    for one in (audits[int(place)] for place in order):
        words = "<br>".join(escape(line.strip()) for line in str(one).split("\n")[1:])
        rows.append((str(one.line), one.verdict, f"{escape(one.text)}<br><small>{words}</small>"))
    rest = len(audits) - len(order)
    more = [f"… and {count_of(rest, 'more line')}: see to_frame()."] if rest else []
    before = [audits.summary, *audits.notes]
    return write_notebook_table(("#", "verdict", audits.rules.line_word), rows, before=before, after=more, is_html=True)


def audit_to_html(audit: Audit) -> str:
    """Show how right rules and tree are, and where they part."""
    if audit.is_of_values:
        rows = [
            ("mean absolute error", format_amount(audit.mae), format_amount(audit.tree_mae)),
            ("root mean squared error", format_amount(audit.rmse), format_amount(audit.tree_rmse)),
            ("that of always saying the mean", format_amount(audit.baseline), ""),
        ]
    else:
        rows = [
            ("right", _percent(audit.accuracy), _percent(audit.tree_accuracy)),
            (f"right by always saying {audit.baseline_class}", _percent(audit.baseline), ""),
            ("Brier score of the probabilities", f"{audit.brier:.3f}", f"{audit.tree_brier:.3f}"),
            ("rows covered by rules that disagree", _percent(audit.conflict), ""),
        ]
    scores = {"R²": (audit.r2, audit.tree_r2), "area under the ROC curve": (audit.auc, audit.tree_auc)}
    rows += [(name, f"{own:.3f}", f"{tree:.3f}") for name, (own, tree) in scores.items() if not math.isnan(own)]
    rows += [
        ("rules", f"{audit.n_rules:,}", f"{audit.tree_rules:,}"),
        ("conditions", f"{audit.n_conditions:,}", f"{audit.tree_conditions:,}"),
        ("rows decided by a line with conditions", _percent(audit.coverage), ""),
    ]
    said = audit.describe_difference()
    return write_notebook_table(
        ("", "rules", "tree"),
        rows,
        before=[f"{said[0].upper()}{said[1:]}."],
        after=["per_line says of each line whether it still holds; print() has every number."],
    )


def forest_audit_to_html(audit: ForestAudit) -> str:
    """Show how right the rules of a forest and the forest are."""
    rows = [
        ("right", _percent(audit.accuracy), _percent(audit.forest_accuracy)),
        ("conditions", f"{audit.n_conditions:,}", f"{audit.tree_conditions:,}"),
    ]
    said = f"On {count_of(audit.n_rows, 'row')}, the rules give another answer than the forest for "
    return write_notebook_table(("", "rules", "forest"), rows, before=[f"{said}{_percent(audit.changed)}."])


def _percent(value: float) -> str:
    return "unknown" if value != value else f"{value:.2f} %"


def explanation_to_html(explanation: Explanation) -> str:
    """Show what the rule asks beside what the row has, and what else is said of it."""
    first, *rest = explanation.text.split("\n")
    after = [line.strip() for line in rest if not line.startswith(IN_TABLE)]
    return write_notebook_table(("asked", "this row"), explanation.asked, before=[first], after=after)


def forest_to_html(forest: ForestRules) -> str:
    """Show the size of a forest's rules, and what they preserve."""
    return write_notebook_table((), (), before=[f"{forest._summary}.", forest.guarantee])


def overlaps_to_html(overlaps: Overlaps) -> str:
    """Show the pairs of rules that share most rows."""
    lines = overlaps._rules.lines
    rows = [
        (
            *(f"{n + 1}: {lines[n].words}" for n in (one.first, one.second)),
            format_count(one.rows),
            format_share(one.share),
        )
        for one in overlaps[:SHOWN_PAIRS]
    ]
    word = overlaps._rules.line_word
    first = overlaps.to_text(0).split("\n")[0].rstrip(":")
    more = len(overlaps) - len(rows)
    after = [f"… and {more:,} more: see to_frame()."] if more else []
    return write_notebook_table((word, f"and {word}", "rows", "of all"), rows, before=[first], after=after)
