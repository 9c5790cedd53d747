"""Put what a run measured into the documentation: ``python -m benchmarks.page benchmarks/history/FILE.json``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.report import read_quartiles, read_verdict
from benchmarks.result import Quartiles
from secateur.rows.whole_files import write_whole

__all__ = ["PAGE", "fill_page", "put_between", "to_markdown"]

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
GONE = ("compact/", "forest/merged", "growth/leaves/compact")  # stored cases of calls that no longer exist
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"


def to_markdown(record: dict[str, Any]) -> str:
    """The cases of a run that still exist as a table; one that was measured on another day says so."""
    machine = record["machine"]
    lines = [
        f"Run of {record['date'][:10]}: {machine['cores']} cores ({machine['processor']}), Python {machine['python']}, "
        f"numpy {machine['numpy']}, scikit-learn {machine['scikit-learn']}, numba {machine['numba']}.",
        "",
        "| case | measured: median (quartiles) | target |",
        "|---|---|---|",
    ]
    for result in record["results"]:
        if result["case"].startswith(GONE):
            continue
        case = f"{result['case']} ({result['date']})" if "date" in result else result["case"]
        if result["skipped"]:
            lines.append(f"| {case} | not run: {result['skipped']} | |")
        for name, values in result["measures"].items():
            measured = Quartiles(*values)
            verdict = read_verdict(result["bars"].get(name), measured)
            lines.append(f"| {case} | {read_quartiles(measured)} {name} | {verdict} |")
    return "\n".join(lines) + "\n"


def fill_page(text: str, record: dict[str, Any]) -> str:
    """The page with the table of a run between its marks."""
    return put_between(text, to_markdown(record), BEGIN, END)


def put_between(text: str, own: str, begin: str, end: str) -> str:
    """The page with a text of its own between two marks."""
    before, _, rest = text.partition(begin)
    return before + begin + own + end + rest.partition(end)[2]


if __name__ == "__main__":
    stored = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    write_whole(PAGE, fill_page(PAGE.read_text(encoding="utf-8"), stored))
