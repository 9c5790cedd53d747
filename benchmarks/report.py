"""Results for people, as a table, and for history, as JSON with the machine that made them."""

from __future__ import annotations

import datetime
import json
import os
import platform
from dataclasses import asdict
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from benchmarks.result import is_met
from secateur.rows.whole_files import write_whole

if TYPE_CHECKING:
    from benchmarks.result import Quartiles, Result

__all__ = ["read_quartiles", "read_verdict", "to_table", "write_json"]


def to_table(results: list[Result]) -> Table:
    """A block a case, a line a measure: median, quartiles, and whether the target is met."""
    table = Table(title="Medians (and quartiles) of ratios measured in this run", title_justify="left")
    for name in ("case", "answer", "seconds", "measured", "target"):
        table.add_column(name)
    for result in results:
        columns = [
            [result.case, f"[dim]{result.about}[/dim]"],
            ["—" if result.skipped else "right" if result.right else "WRONG"],
            ["" if result.seconds is None else f"{result.seconds.median:.3g}"],
            [f"{read_quartiles(values)} {name}" for name, values in result.measures.items()] or [result.skipped],
            [read_verdict(result.bars.get(name), values) for name, values in result.measures.items()],
        ]
        for cells in zip_longest(*columns, fillvalue=""):
            table.add_row(*cells)
        table.add_section()
    return table


def read_quartiles(values: Quartiles) -> str:
    """Median and quartiles in a few digits."""
    lower, median, upper = (f"{value:,.0f}" if value >= 1000 else f"{value:.3g}" for value in values)
    return median if lower == upper else f"{median} ({lower}–{upper})"


def read_verdict(bar: str | None, values: Quartiles) -> str:
    """The target, and whether the median meets it."""
    return "" if bar is None else f"{bar} {'met' if is_met(bar, values) else 'missed'}"


def write_json(path: Path, results: list[Result], *, quick: bool) -> None:
    """Everything that was measured, and on what; three numbers are lower quartile, median and upper quartile."""
    record = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "machine": describe_machine(),
        "results": [
            asdict(result)
            | {"met": {n: is_met(bar, result.measures[n]) for n, bar in result.bars.items() if n in result.measures}}
            for result in results
        ],
    }
    write_whole(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def describe_machine() -> dict[str, str | int | None]:
    """Processor, system and versions that a history of results needs."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()}-{platform.machine()}-with-{''.join(platform.libc_ver())}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("numba", "numpy", "scikit-learn", "scipy", "secateur")},
    }
