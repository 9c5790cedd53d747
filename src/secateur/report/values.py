"""The page of rules that predict numbers: the lines, and how the targets of each are spread around its value."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur import __version__
from secateur.errors import InputError
from secateur.export.listing import make_listing
from secateur.results.answer import describe_measured, describe_values, find_target, name_target
from secateur.rows.row_source import GivenRows
from secateur.rules.lines import without_facts
from secateur.words.conditions import count_of
from secateur.words.targets import read_amount

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from secateur.rules.rules import Rules

__all__ = ["render_values", "summarize_values"]

N_BINS = 40
WIDTH, HEIGHT = 260, 34
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;color:#1d1d1f;background:#fff;max-width:68rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%;margin:1rem 0}td,th{text-align:left;vertical-align:top;padding:.4rem .6rem;
border-bottom:1px solid #d8d8dc}th.section{background:#f3f3f6;padding-top:.8rem}td.value{white-space:nowrap;
font-weight:600}.rows{color:#55555c;font-size:.9em}svg{display:block}
@media (prefers-color-scheme:dark){body{background:#17171a;color:#ececf0}td,th{border-color:#3a3a40}
th.section{background:#232328}.rows{color:#b5b5bd}}
@media (max-width:40rem){td,th{display:block;border-bottom:0}tr{border-bottom:1px solid #d8d8dc}}
"""


class _Histogram:
    """Counts rows by line and by place of their target between the least and the largest value."""

    features = None

    def __init__(self, rules: Rules, limits: NDArray[np.float64]) -> None:
        self.rules, self.limits = rules, limits

    def count(self, listed: Any) -> NDArray[np.float64]:
        line = self.rules.find_lines(listed.rows)
        place = np.clip(np.searchsorted(self.limits, listed.targets, side="right") - 1, 0, N_BINS - 1)
        size = self.rules.n_lines * N_BINS
        return np.bincount(line * N_BINS + place, listed.weights, size).reshape(-1, N_BINS).astype(np.float64)

    def add(self, total: NDArray[np.float64], part: NDArray[np.float64]) -> NDArray[np.float64]:
        return total + part


def summarize_values(
    rules: Rules,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    target: str | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
    **_: Any,
) -> dict[str, Any]:
    """Gather what the page shows: the listing, an audit and histograms, of the given rows or of the training rows."""
    given = GivenRows(X, y, sample_weight) if X is not None else rules.training
    if given is not None and given.y is None:
        raise InputError("X was passed without y: pass the targets, or the name of the column that holds them.")
    listing = make_listing(rules)
    target = target or name_target(y) or find_target(rules)
    after, spread = list(listing.after), None
    if given is not None:
        audit: Any = rules.audit(given.X, given.y, sample_weight=given.sample_weight)
        which = "training rows" if X is None else "rows that were set aside"
        after.insert(0, describe_measured(audit, f"{audit.n_rows:,} {which}"))
        spread = _count(rules, given)
        spread["rows"] = which
    return {
        "kind": "values",
        "version": __version__,
        "title": title or (f"What decides {target}" if target else "The rules of a regression tree"),
        "before": [describe_values(rules, "These rules predict", target)],
        "n_rules": len(rules),
        "n_leaves": rules.tree_rules,
        "lines": [
            {
                "number": line.number,
                "heading": line.heading,
                "value": line.class_name,
                "asked": line.asked,
                "rows": line.rows,
                "prediction": float(rules.answers[line.number - 1]),
            }
            for line in listing.lines
        ],
        "tolerance": rules.tolerance,
        "spread": spread,
        "after": [*after, *notes],
        "guarantee": rules.guarantee,
    }


def _count(rules: Rules, given: GivenRows) -> dict[str, Any]:
    """Count the targets of each line between the least and the largest of all."""
    values = rules.answers
    with rules._open(*given) as rows:
        tree = without_facts(rules.tree)
        ends = [(one.min(), one.max()) for one in rows.map(tree, lambda listed: np.asarray(listed.targets)) if len(one)]
        low = float(min(*values, *(least for least, _ in ends)))
        high = float(max(*values, *(largest for _, largest in ends)))
        limits = np.linspace(low, high if high > low else low + 1.0, N_BINS + 1)
        counts = rows.fold(tree, _Histogram(rules, limits))
    return {"low": float(limits[0]), "high": float(limits[-1]), "counts": counts.tolist()}


def render_values(summary: Mapping[str, Any]) -> str:
    """Write the page: one file, without scripts, that asks for nothing outside of it."""
    parts = [f"<p>{escape(one)}</p>" for one in summary["before"]]
    spread = summary["spread"]
    header = f"<th>targets of the {escape(spread['rows'])}</th>" if spread else ""
    parts.append(f"<table><thead><tr><th>#</th><th>if</th><th>then</th>{header}</tr></thead><tbody>")
    for place, line in enumerate(summary["lines"]):
        if line["heading"]:
            parts.append(f"<tr><th class='section' colspan='4'>Among {escape(line['heading'])}</th></tr>")
        drawn = f"<td>{_draw(summary, place)}</td>" if spread else ""
        parts.append(
            f"<tr><td>{line['number']}</td><td>{escape(line['asked'])}<div class='rows'>{escape(line['rows'])}</div>"
            f"</td><td class='value'>{escape(line['value'])}</td>{drawn}</tr>"
        )
    parts.append("</tbody></table>")
    if spread:
        low, high = read_amount(spread["low"]), read_amount(spread["high"])
        parts.append(
            f"<p class='rows'>Each picture runs from {low} to {high}: bars are rows of the line, the mark its value, "
            "and the band what the tree's own value may be.</p>"
        )
    parts += [f"<p>{escape(one)}</p>" for one in summary["after"]]
    parts.append(f"<p>{escape(summary['guarantee'])}</p>")
    title = escape(summary["title"])
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main><h1>{title}</h1>{''.join(parts)}</main>"
        f"<footer class='rows'>secateur {escape(summary['version'])}</footer></body></html>\n"
    )


def _draw(summary: Mapping[str, Any], place: int) -> str:
    """Draw the targets of one line as bars, with its value and the tolerance around it."""
    spread, value, tolerance = summary["spread"], summary["lines"][place]["prediction"], summary["tolerance"]
    counts, low, high = spread["counts"][place], spread["low"], spread["high"]
    scale, most, step = WIDTH / (high - low), max(*counts, 1e-300), WIDTH / N_BINS
    left = max((value - tolerance - low) * scale, 0.0)
    right = min((value + tolerance - low) * scale, float(WIDTH))
    bars = "".join(
        f"<rect x='{place * step:.1f}' y='{HEIGHT - HEIGHT * count / most:.1f}' width='{step - 0.6:.1f}' "
        f"height='{HEIGHT * count / most:.1f}' fill='#4c78a8'/>"
        for place, count in enumerate(counts)
        if count
    )
    told = escape(f"{count_of(sum(counts), 'row')} around {read_amount(value)}", quote=True)
    return (
        f"<svg role='img' aria-label='{told}' width='{WIDTH}' height='{HEIGHT}' viewBox='0 0 {WIDTH} {HEIGHT}'>"
        f"<rect x='{left:.1f}' y='0' width='{max(right - left, 0.5):.1f}' height='{HEIGHT}' fill='#f2cf5b' "
        "opacity='.45'/>"
        f"{bars}<line x1='{(value - low) * scale:.1f}' x2='{(value - low) * scale:.1f}' y1='0' y2='{HEIGHT}' "
        "stroke='#d62728' stroke-width='2'/></svg>"
    )
