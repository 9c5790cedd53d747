"""The page: a summary rendered as one HTML file that needs nothing but itself.

Everything that comes from the summary is escaped: by jinja2 in the text, by :func:`_to_island` in the data. Style and
script are named by their hashes in the page's content security policy, which forbids everything else, the network first
of all.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.report.curve import draw_curves
from secateur.rules.wording import read_count, read_share

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["render_page"]

TEMPLATES = Path(__file__).parent / "templates"

# In the order in which they build on one another.
SCRIPTS = ("data.js", "words.js", "rules.js", "slider.js", "drawing.js", "row.js", "start.js")

# So many rules are in the page's own table; the rest is drawn when it is asked for, or stands in a plainer table for
# browsers without JavaScript.
STATIC_RULES = 200

# A longer condition is shown without its middle, and whole together with its reason. The scripts get it as LONG.
LONG = 160

# What a script block must not hold: an end tag, the start of a comment, line ends of JavaScript, halves of characters.
UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def render_page(summary: Mapping[str, Any]) -> str:
    """Render a summary as a page.

    Parameters
    ----------
    summary : dict
        As :func:`summarize` gives it.

    Returns
    -------
    str
        A whole HTML document.
    """
    from markupsafe import Markup

    style, script = _read_sources()
    rules = [_read_rule(summary, place) for place in range(len(summary["rules"]))]
    return str(
        _template().render(
            s=summary,
            step=summary["steps"][summary["step"]],
            rules=rules[:STATIC_RULES],
            further=rules[STATIC_RULES:],
            curves=draw_curves(summary),
            policy=_make_policy(style, script),
            style=Markup(style),  # our own files
            script=Markup(script),
            island=Markup(_to_island(summary)),  # escaped there
        )
    )


@cache
def _read_sources() -> tuple[str, str]:
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    parts = [(TEMPLATES / name).read_text(encoding="utf-8") for name in SCRIPTS]
    return style, f'(() => {{\n"use strict";\nconst LONG = {LONG};\n' + "\n".join(parts) + "\n})();\n"


@cache
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["LONG"] = LONG
    environment.filters |= {
        "count": _read_count,
        "share": read_share,
        "points": _read_points,
        "percent": _read_percent,
        "squeeze": _squeeze,
    }
    return environment.get_template("page.html.jinja")


def _make_policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )


def _hash(source: str) -> str:
    digest = hashlib.sha256(source.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _to_island(summary: Mapping[str, Any]) -> str:
    """The summary as JSON that can stand inside a script element."""
    text = json.dumps(summary, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _read_rule(summary: Mapping[str, Any], place: int) -> dict[str, Any]:
    """One rule as the table shows it: what it asks, each with its reason, and what went."""
    rule, tree = summary["rules"][place], summary["tree"]
    gone = set(rule["deleted"])
    reason_of = dict(zip(rule["links"], rule["reasons"], strict=True))
    kept: dict[int, list[int]] = {}
    for link in rule["links"]:
        if link not in gone:
            kept.setdefault(tree["about"][link], []).append(link)
    return {
        "number": place + 1,
        "class": summary["classes"][rule["class"]],
        "n_before": len(rule["links"]),
        "n_after": len(rule["links"]) - len(gone),
        "kept": [
            {
                "text": tree["conditions"][links[0]] if len(links) == 1 else summary["merged"][_key(links)],
                "why": "; ".join(_read_reason(summary, reason_of[link]) for link in links),
            }
            for links in kept.values()
        ],
        "gone": [
            {"text": tree["conditions"][link], "why": _read_reason(summary, reason_of[link])}
            for link in rule["links"]
            if link in gone
        ],
        **{name: rule[name] for name in ("support", "source_support", "reliability", "source_reliability")},
        "most": summary["rows"]["most_support"] or 1,
    }


def _key(links: list[int]) -> str:
    return ",".join(map(str, links))


def _read_reason(summary: Mapping[str, Any], place: int) -> str:
    return " ".join(summary["phrases"][phrase] for phrase in summary["reasons"][place])


def _read_count(value: float | None) -> str:
    return "unknown" if value is None else read_count(value)


def _read_percent(value: float | None) -> str:
    return "–" if value is None else read_share(value / 100)


def _read_points(value: float | None) -> str:
    if value is None:
        return "–"
    return "±0" if abs(value) < 0.005 else f"{value:+.2f}".replace("-", "−")


def _squeeze(text: str) -> str:
    """A long condition without its middle: names differ at their start, and numbers stand at the end."""
    return text if len(text) <= LONG else f"{text[: LONG // 2]}…{text[1 - LONG // 2 :]}"
