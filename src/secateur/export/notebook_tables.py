"""Small HTML tables of what is measured, explained and proved, for notebooks; every text in them is escaped."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from secateur.results.audit import Audit
from secateur.results.explanation import Explanation
from secateur.results.overlaps import Overlaps
from secateur.rules.forest import ForestAudit, ForestRules
from secateur.words.conditions import count_of, read_count, read_share

SHOWN_PAIRS = 20
IN_TABLE = ("  This row:", "  rule ", "  asked:", "  not asked:")  # lines of an explanation that its table tells
SHOWN_MERGED = 10
MOST_MERGED = 20_000  # rules of a forest that are merged for a glance at it


def write_notebook_table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], *, before: Sequence[str] = (), after: Sequence[str] = ()
) -> str:
    """Write a table of texts, with a paragraph for each sentence before and after it; the first one is bold.

    Examples
    --------
    >>> "<td style='text-align:left'>&lt;1</td>" in write_notebook_table(["a"], [["<1"]])
    True
    """
    left = " style='text-align:left'"
    head = "".join(f"<th{left}>{escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td{left}>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if body else ""
    first = [f"<p><b>{escape(sentence)}</b></p>" for sentence in before[:1]]
    paragraphs = [f"<p>{escape(sentence)}</p>" for sentence in (*before[1:],)]
    last = [f"<p>{escape(sentence)}</p>" for sentence in after]
    return f"<div>{''.join([*first, *paragraphs, table, *last])}</div>"


def audit_to_html(audit: Audit) -> str:
    """Show how right rules and tree are, and where they part."""
    rows = [
        ("right", _percent(audit.accuracy), _percent(audit.tree_accuracy)),
        (f"right by always saying {audit.baseline_class}", _percent(audit.baseline), ""),
        ("Brier score of the probabilities", f"{audit.brier:.3f}", f"{audit.tree_brier:.3f}"),
    ]
    if not math.isnan(audit.auc):
        rows.append(("area under the ROC curve", f"{audit.auc:.3f}", f"{audit.tree_auc:.3f}"))
    rows += [
        ("rules", f"{audit.n_rules:,}", f"{audit.tree_rules:,}"),
        ("conditions", f"{audit.n_conditions:,}", f"{audit.tree_conditions:,}"),
        ("rows covered by a rule", _percent(audit.coverage), ""),
        ("rows covered by rules that disagree", _percent(audit.conflict), ""),
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
    """Show the size of a forest's rules and, of a forest that is not large, the rules that most trees share."""
    before = [f"{forest._summary}.", forest.guarantee]
    if forest.n_rules > MOST_MERGED:
        return write_notebook_table((), (), before=before, after=["merged() shows the rules that most trees share."])
    merged = forest.merged()
    rows = [
        (read_count(rule.votes), rule.words, "" if rule.reliability is None else read_share(rule.reliability))
        for rule in merged[:SHOWN_MERGED]
    ]
    more = len(merged) - len(rows)
    after = [f"… and {count_of(more, 'more rule')}: merged() lists them all."] if more else []
    return write_notebook_table(("trees", "rule", "reliability"), rows, before=before, after=after)


def overlaps_to_html(overlaps: Overlaps) -> str:
    """Show the pairs of rules that share most rows."""
    names: Any = overlaps._rules
    rows = [
        (
            f"{pair.first + 1}: {names[pair.first].words}",
            f"{pair.second + 1}: {names[pair.second].words}",
            read_count(pair.rows),
            read_share(pair.share),
        )
        for pair in overlaps[:SHOWN_PAIRS]
    ]
    first = overlaps.to_text(0).split("\n")[0].rstrip(":")
    more = len(overlaps) - len(rows)
    after = [f"… and {more:,} more: see to_frame()."] if more else []
    return write_notebook_table(("rule", "and rule", "rows", "of all"), rows, before=[first], after=after)
