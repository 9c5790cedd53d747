"""The page: a summary rendered as one HTML file.

Everything from the summary is escaped: by jinja2 in the text, by :func:`to_json` in the data. The page's content
security policy names style and script by their hashes and forbids everything else, above all the network.
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from secateur.errors import InputError, need_library
from secateur.report.summarize import summarize
from secateur.report.values import draw_values
from secateur.results.measures import FEW_ROWS
from secateur.rows.whole_files import write_whole
from secateur.rules.rules import Rules
from secateur.words.conditions import count_of, format_count, format_share
from secateur.words.plain_words import format_amount

TEMPLATES = Path(__file__).parent / "templates"

# In the order in which they build on one another.
SCRIPTS = (
    *("data.js", "words.js", "state.js", "diagnosis.js", "list.js", "chart.js", "splits.js", "drawing.js"),
    *("picture.js", "changes.js", "row.js", "case.js", "cuts.js", "edit.js", "desk.js", "leaves.js", "start.js"),
)

# The page's own tables have so many lines each; a script draws the rest on demand.
STATIC_RULES = 60
LONG = 160  # a longer condition is shown without its middle, and whole with its reason; the scripts use it too
N_COLOURS = 8  # classes beyond begin again
DENSE = [60, 160, 300]  # conditions, and twice the lines, beyond which a list is printed in two columns, and smaller
# What a script block must not hold: an end tag, the start of a comment (a ">" alone ends neither), line ends of
# JavaScript, halves of characters.
UNSAFE = re.compile("[<&\u2028\u2029\ud800-\udfff]")


def render_page(summary: Mapping[str, Any]) -> str:
    """Render a summary, as :func:`summarize` gives it, as a whole HTML document."""
    need_library("jinja2", "report", "The page")
    from markupsafe import Markup

    if summary.get("kind") == "values":
        return str(_template("values.html.jinja").render(s=summary, **draw_values(summary)))

    style, script = _read_sources()
    shown = summary["lists"][summary["list"]]
    lines = [_read_line(summary, shown, place) for place in range(min(STATIC_RULES, len(shown["lines"])))]
    return str(
        _template("page.html.jinja").render(
            s=summary,
            shown=shown,
            n_left_out=len(shown["lines"]) - len(lines),
            sections=[
                {"heading": _join_links(summary, shown["sections"][section], {}), "lines": list(some)}
                for section, some in groupby(lines, itemgetter("section"))
            ],
            rules=[_read_rule(summary, place) for place in range(min(STATIC_RULES, len(summary["rules"])))],
            policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; "
            "form-action 'none'" + ("" if summary["desk"] is None else "; connect-src 'self'"),
            style=Markup(style),  # our own files
            script=Markup(script),
            island=Markup(to_json(summary)),  # escaped there
        )
    )


@cache
def _read_sources() -> tuple[str, str]:
    style, *parts = (_shrink((TEMPLATES / name).read_text(encoding="utf-8")) for name in ("style.css", *SCRIPTS))
    style = re.sub(r"/\*.*?\*/|\s*([{};,])\s*", r"\1", style)  # no text in it has these signs
    numbers = f"LONG = {LONG}, N_COLOURS = {N_COLOURS}, FEW_ROWS = {FEW_ROWS}, DENSE = {DENSE}"
    return style, "\n".join(["(() => {", '"use strict";', f"const {numbers};", *parts, "})();\n"])


def _shrink(source: str) -> str:
    """Leave out indentation, empty lines and lines that are comments; no text in our sources spans lines."""
    lines = (line.strip() for line in source.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


@cache
def _template(name: str) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    how: Any = {"autoescape": True, "trim_blocks": True, "lstrip_blocks": True}
    environment = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, **how)
    environment.globals |= {"LONG": LONG, "N_COLOURS": N_COLOURS, "FEW_ROWS": FEW_ROWS, "DENSE": DENSE}
    environment.filters |= {
        "amount": format_amount,
        "count": lambda value: "unknown" if value is None else format_count(value),
        "percent": lambda value: "–" if value is None else _unbroken(format_share(value / 100)),
        **{"share": lambda value: _unbroken(format_share(value)), "points": _read_points},
        **{"limits": _read_limits, "squeeze": _squeeze, "shorten": _shorten, "unbroken": _unbroken},
    }
    return environment.get_template(name)


def _hash(source: str) -> str:
    digest = hashlib.sha256(source.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def to_json(content: Mapping[str, Any]) -> str:
    """Write JSON that may go inside a script element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _join_links(
    summary: Mapping[str, Any], links: Sequence[int], why: Mapping[int, str], under: Sequence[int] = ()
) -> list[dict[str, str]]:
    """Word some links of a path, those on one column together, each with its reason, under a heading of others."""
    about: dict[int, list[int]] = {}
    for link in links:
        about.setdefault(summary["tree"]["about"][link], []).append(link)
    merged, above = summary["merged"], ",".join(map(str, under))
    joined = []
    for together in about.values():
        key = ",".join(map(str, together))
        alone = summary["tree"]["conditions"][together[0]] if len(together) == 1 else merged[key]
        reasons = "; ".join(why[link] for link in together if link in why)
        joined.append({"text": merged.get(f"{above}|{key}", alone), "why": reasons})
    return joined


def _read_line(summary: Mapping[str, Any], shown: Mapping[str, Any], place: int) -> dict[str, Any]:
    """Describe one line of the list as the page shows it before a script runs."""
    line = shown["lines"][place]
    heading = shown["sections"][line["section"]]
    own = line["kept"][len(heading) :]
    return {**line, "number": place + 1, "asked": _join_links(summary, own, {}, heading)}


def _read_rule(summary: Mapping[str, Any], place: int) -> dict[str, Any]:
    """Describe the rule of a leaf as the table shows it: what it asks, each with its reason, and what was deleted."""
    rule, tree = summary["rules"][place], summary["tree"]
    gone = set(rule["deleted"])
    # A long page carries no reasons.
    words = [" ".join(summary["phrases"][one] for one in summary["reasons"][at]) for at in rule["reasons"] or ()]
    why = dict(zip(rule["links"], words, strict=False))
    return {
        "number": place + 1,
        "leaf": rule["leaf"],
        "class_id": rule["class"],
        "kept": _join_links(summary, [link for link in rule["links"] if link not in gone], why),
        "gone": [{"text": tree["conditions"][n], "why": why.get(n, "")} for n in rule["links"] if n in gone],
        **{name: rule[name] for name in ("support", "source_support", "assimilated_into", "d_limits", "aside")},
        "reliability": rule["hits"] / rule["support"] if rule["support"] else None,
        "source_reliability": rule["source_hits"] / rule["source_support"] if rule["source_support"] else None,
    }


def _read_points(value: float | None) -> str:
    if value is None:
        return "–"
    return "±0" if abs(value) < 0.005 else f"{value:+.2f}".replace("-", "−")


def _read_limits(limits: Sequence[float]) -> str:
    """Write the limits of a share; the scripts write them too."""
    return f"({100 * limits[0]:.1f} to {100 * limits[1]:.1f})".replace("-", "−")


def _unbroken(text: str) -> str:
    """Keep the sign of a percentage beside its number where columns are narrow, as the scripts do."""
    return text.replace(" %", "\u00a0%")


def _shorten(text: str, size: int) -> str:
    """Cut the end off a long name, as the scripts do."""
    return text if len(text) <= size else f"{text[: size - 1]}…"


def _squeeze(text: str) -> str:
    """Cut the middle out of a long condition, as the scripts do: names differ at their start, numbers come last."""
    tail = LONG // 2 - 1
    return text if len(text) <= LONG else f"{text[: LONG - tail - 1].rstrip()}…{text[-tail:].lstrip()}"


class Report:
    """Rules as a page: made by :meth:`Rules.report`.

    Parameters
    ----------
    summary : dict
        What the page shows, as :func:`summarize` gives it.

    Attributes
    ----------
    summary : dict
        The same: plain numbers, texts, lists and dicts.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import secateur
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> report = make_report(secateur.simplify(model, X, y), title="Iris")
    >>> report
    <Report: 'Iris', 3 rules and otherwise, of 5 leaves>
    >>> report.to_html().startswith("<!doctype html>")
    True
    """

    def __init__(self, summary: dict[str, Any]) -> None:
        self.summary = summary

    def to_html(self) -> str:
        """Write the page: one file that needs no network."""
        return render_page(self.summary)

    def to_json(self) -> str:
        """Write the summary as JSON."""
        return json.dumps(self.summary, ensure_ascii=False, allow_nan=False)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the page to a file, whole or not at all.

        Parameters
        ----------
        path : str or path
            Name of the file; one that exists is kept.
        force : bool, default=False
            Overwrite a file that exists.
        """
        target = Path(path)
        if target.exists() and not force:
            raise InputError(f"{target} exists already. Pass force=True to overwrite it, or choose another name.")
        write_whole(target, self.to_html().encode("utf-8", errors="replace"))

    def _repr_html_(self) -> str:
        # A frame of its own keeps the page's style and script apart from the notebook's.
        return (
            f'<iframe title="{escape(self.summary["title"], quote=True)}" sandbox="allow-scripts" '
            f'style="width:100%;height:780px;border:1px solid #8884" srcdoc="{escape(self.to_html(), quote=True)}">'
            "</iframe>"
        )

    def __repr__(self) -> str:
        summary = self.summary
        if summary.get("kind") == "values":
            return f"<Report: {summary['title']!r}, {summary['n_rules']} rules, of {summary['n_leaves']} leaves>"
        shown = summary["lists"][summary["list"]]
        n_sections = len(shown["sections"])
        parts = f"in {n_sections} sections" if n_sections > 1 else "and otherwise"
        listed = f"{count_of(shown['n_rules'], 'rule')} {parts}"
        return f"<Report: {summary['title']!r}, {listed}, of {summary['size']['n_rules']} leaves>"


def make_report(rules: Rules, X: Any = None, y: Any = None, **options: Any) -> Report:
    """Make the report of rules; the parameters are those of :func:`summarize`."""
    return Report(summarize(rules, X, y, **options))


def rules_to_page(rules: Rules) -> str:
    """Write the page of rules."""
    return make_report(rules).to_html()
