"""Check every answer against a slow version, then race it against known work: ``python -m benchmarks.run``.

Seconds do not travel between machines, so what counts are ratios of calls that took turns in the same process. A bar
that is missed is only reported; a wrong answer makes the exit code 1.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks.around import AROUND_CASES
from benchmarks.cases import CASES, run_cases
from benchmarks.command_line import COMMANDS
from benchmarks.forests import FOREST_CASES
from benchmarks.fresh import FIRST_CALLS, IMPORT, run_first_call, run_import
from benchmarks.growth import CURVES, run_curve
from benchmarks.pyxai_reasons import NAME, run_pyxai
from benchmarks.report import to_table, write_json
from benchmarks.scale import SCALE
from benchmarks.sources import SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.result import Result


def main() -> int:
    """Run the cases that were asked for, print them, and return 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the same on small data, in seconds")
    parser.add_argument("--only", metavar="GLOB", default="*", help="cases whose name fits, such as 'unpruned/*'")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write everything that was measured here")
    parser.add_argument("--figures", metavar="DIR", type=Path, help="also draw the growth curves into this directory")
    options = parser.parse_args()
    for directory in filter(None, (options.json and options.json.parent, options.figures)):
        directory.mkdir(parents=True, exist_ok=True)  # better now than after minutes of work

    console, progress = Console(width=150), Console(stderr=True)
    results: list[Result] = []
    for name, work in plan(options.only, options.quick):
        progress.print(f"{name} …", highlight=False)
        found = work(options.quick)
        results += [replace(result, bars={}) for result in found] if options.quick else found  # bars are for full size
        if options.json:  # what was measured so far survives whatever happens to the next case
            write_json(options.json, results, quick=options.quick)
    if not results:
        parser.error(f"no case fits {options.only!r}; the cases are {', '.join(name for name, _ in plan('*', True))}.")
    console.print(to_table(results))
    if options.figures:
        from benchmarks.figures import draw_curves

        draw_curves(results, options.figures)
    wrong = [result.case for result in results if not result.right]
    console.print(f"WRONG: {', '.join(wrong)}" if wrong else "All answers are right.")
    if options.quick:
        console.print("Data this small says nothing about speed, so no bars are shown: run without --quick.")
    return 1 if wrong else 0


def plan(only: str, quick: bool) -> Iterator[tuple[str, Callable[[bool], list[Result]]]]:
    """What to run, by name; cases of one problem run together."""
    chosen = [case for case in (*CASES, *AROUND_CASES, *FOREST_CASES) if fnmatch(case.name, only)]
    for _, group in groupby(chosen, key=lambda case: case.problem):
        cases = list(group)
        yield ", ".join(case.name for case in cases), partial(run_cases, cases)
    others: dict[str, Callable[[bool], list[Result]]] = {
        **{curve.name: partial(run_curve, curve) for curve in CURVES},
        IMPORT: run_import,
        **{name: partial(run_first_call, name) for name in FIRST_CALLS},
        **COMMANDS,
        NAME: run_pyxai,
    }
    if quick or only.startswith("scale"):  # the full table takes gigabytes of disk, which nobody should get unasked
        others |= SCALE | SOURCES
    yield from ((name, work) for name, work in others.items() if fnmatch(name, only))


if __name__ == "__main__":
    sys.exit(main())
