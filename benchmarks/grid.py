"""Every public function on trees and tables as people have them: ``python -m benchmarks.grid``.

Rows × leaves × classes, 27 sizes. Time is the processor's, as a multiple of fitting that tree; memory is beyond
what was there before, as a multiple of the rows. Results are stored one by one, and a run goes on where it ended;
``--page`` writes docs/performance.md from them.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import secateur
from benchmarks.answers import says_the_same
from benchmarks.page import PAGE, put_between
from benchmarks.problems import Problem, make_rows
from benchmarks.race import peak_bytes
from secateur.errors import InputError
from secateur.rows.whole_files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["CALLS", "STORED", "Cell", "Measured", "read_stored", "to_page"]

STORED = Path(__file__).parent / "history" / "grid.csv"
ROWS, LEAVES, CLASSES, COLUMNS = (10_000, 100_000, 1_000_000), (30, 300, 3_000), (2, 5, 20), 10
EXPLAINED = 1_000
MOST_SECONDS = 40.0  # a call that took a tenth of them on a tenth of the size is not made
SHORT = 0.3  # seconds; shorter calls are made three times, and the shortest counts
MARKS = "<!-- grid: begin -->\n", "<!-- grid: end -->\n"
FREE = 1.0  # × fit
FIT = "fit"


class Cell:
    """A tree of one size, and what calls on it need."""

    def __init__(self, n_rows: int, n_leaves: int, n_classes: int) -> None:
        X, _ = make_rows(2 * n_rows, COLUMNS)
        score = X[:, 0] + X[:, 1] * X[:, 2] - 0.7 * X[:, 3] + np.random.default_rng(1).standard_normal(len(X))
        y = np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score).astype(np.int64)
        self.X, self.y, self.unseen = X[:n_rows], y[:n_rows], (X[n_rows:], y[n_rows:])
        self.tree = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0)
        self.model = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0).fit(self.X, self.y)
        self.simplify = partial(secateur.simplify, self.model, self.X, self.y)

    @cached_property
    def rules(self) -> secateur.Rules:
        """The list that calls are about."""
        return self.simplify()

    @cached_property
    def text(self) -> str:
        """Its file."""
        return self.rules.to_json()


# What is timed, by the name that people call it by.
CALLS: dict[str, Callable[[Cell], object]] = {
    FIT: lambda cell: cell.tree.fit(cell.X, cell.y),
    "apply": lambda cell: cell.model.tree_.apply(cell.X),
    "simplify, a list": lambda cell: cell.simplify(),
    "simplify, tolerance=0.1": lambda cell: cell.simplify(tolerance=0.1),
    "simplify, budget=0.01": lambda cell: cell.simplify(budget=0.01),
    "simplify, each_leaf=True": lambda cell: cell.simplify(each_leaf=True),
    "simplify, mismatch": lambda cell: cell.simplify(method="mismatch", each_leaf=True),
    "simplify, quinlan": lambda cell: cell.simplify(method="quinlan", each_leaf=True),
    "simplify, budgeted": lambda cell: cell.simplify(method="budgeted", each_leaf=True),
    "predict": lambda cell: cell.rules.predict(cell.X),
    "predict_proba": lambda cell: cell.rules.predict_proba(cell.X),
    f"explain, {EXPLAINED:,} rows in words": lambda cell: [str(one) for one in cell.rules.explain(cell.X[:EXPLAINED])],
    "audit": lambda cell: cell.rules.audit(*cell.unseen).moved,
    "measure": lambda cell: cell.rules.measure(*cell.unseen),
    "diff": lambda cell: cell.rules.diff(cell.rules, cell.X, cell.y),
    "verify": lambda cell: cell.rules.verify(cell.X, cell.y).ok,
    "to_json": lambda cell: cell.rules.to_json(),
    "from_json": lambda cell: secateur.Rules.from_json(cell.text),
    "to_text": lambda cell: cell.rules.to_text(),
    "to_sql": lambda cell: cell.rules.to_sql(),
    "report": lambda cell: cell.rules.report().to_html(),
}


class Measured(NamedTuple):
    """A call on a cell: processor seconds and bytes; NaN where it would have taken too long."""

    call: str
    n_rows: int
    n_leaves: int
    n_classes: int
    seconds: float
    n_bytes: float

    @property
    def size(self) -> tuple[int, int, int]:
        """Rows, leaves and classes."""
        return self.n_rows, self.n_leaves, self.n_classes


def measure(cell: Cell, name: str) -> tuple[float, float]:
    """Time a call, and find the memory that it needs."""
    call = partial(CALLS[name], cell)
    taken = []
    while len(taken) < 3 and (not taken or min(taken) < SHORT):
        began = time.process_time()
        call()
        taken.append(time.process_time() - began)
    return min(taken), float(peak_bytes(call)) if min(taken) < MOST_SECONDS / 8 else math.nan


def is_too_long(name: str, size: tuple[int, int, int], known: Mapping[tuple[Any, ...], Measured]) -> bool:
    """Whether a smaller cell took a tenth of the time that is given, or was not measured either."""
    rows, leaves, classes = size
    smaller = [(rows // 10, leaves, classes), (rows, leaves // 10, classes)]
    seconds = [known[name, *one].seconds for one in smaller if (name, *one) in known]
    return any(math.isnan(one) or one > MOST_SECONDS / 10 for one in seconds)


def run(path: Path, sizes: Iterable[tuple[int, int, int]]) -> None:
    """Measure what is not stored yet, and store it at once."""
    known = {(one.call, *one.size): one for one in read_stored(path)}
    for size in sizes:
        missing = [name for name in CALLS if (name, *size) not in known]
        if not missing:
            continue
        cell = Cell(*size)
        if not says_the_same(cell.rules, Problem(cell.model, cell.X, cell.y)):
            raise SystemExit(f"wrong answers at {size}")
        for name in missing:
            too_long = name not in (FIT, "apply") and is_too_long(name, size, known)
            try:
                found = Measured(name, *size, *((math.nan, math.nan) if too_long else measure(cell, name)))
            except InputError:  # refused in a sentence, as a budget is of thousands of leaves
                found = Measured(name, *size, math.nan, math.nan)
            known[name, *size] = found
            with path.open("a", newline="") as file:
                if not file.tell():
                    csv.writer(file).writerow(Measured._fields)
                csv.writer(file).writerow(found)


def read_stored(path: Path = STORED) -> list[Measured]:
    """Read what was measured."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        lines = list(csv.reader(file))[1:]
    return [Measured(call, *map(int, found[:3]), *map(float, found[3:])) for call, *found in lines]


def to_page(stored: Iterable[Measured]) -> str:
    """Write the tables: time by rows and leaves, and how time and memory grow."""
    known = {(one.call, *one.size): one for one in stored}
    names = [name for name in CALLS if name != FIT and any(call == name for call, *_ in known)]
    sizes = [(rows, leaves, CLASSES[0]) for rows, leaves in product(ROWS, LEAVES)]
    head = " | ".join(f"{_read_rows(rows)} × {leaves:,}" for rows, leaves, _ in sizes)
    lines = [f"| × fit | {head} |", "|---" * (1 + len(sizes)) + "|"]
    for name in names:
        lines.append(f"| {name} | {' | '.join(_read(_over_fit(known, name, size)) for size in sizes)} |")
    lines += ["", "| | rows | leaves | classes | × X of memory | less than a fit |", "|---|---|---|---|---|---|"]
    for name in names:
        powers = [
            _read_power(known, name, [(rows, LEAVES[0], CLASSES[0]) for rows in ROWS], 0),
            _read_power(known, name, [(ROWS[1], leaves, CLASSES[0]) for leaves in LEAVES], 1),
            _read_power(known, name, [(ROWS[0], LEAVES[1], classes) for classes in CLASSES], 2),
        ]
        middle = known.get((name, ROWS[1], LEAVES[1], CLASSES[0]))
        memory = math.nan if middle is None else middle.n_bytes / (4 * COLUMNS * ROWS[1])
        lines.append(f"| {name} | {' | '.join(powers)} | {_read(memory)} | {_read_free(known, name)} |")
    return "\n".join(lines) + "\n"


Known = dict[tuple[Any, ...], Measured]


def _over_fit(known: Known, name: str, size: tuple[int, int, int]) -> float:
    """Divide the time of a call by that of fitting the tree; NaN where one is not known."""
    if (name, *size) not in known or (FIT, *size) not in known:
        return math.nan
    return known[name, *size].seconds / known[FIT, *size].seconds


def _read_rows(n_rows: int) -> str:
    return f"10{str(len(str(n_rows)) - 1).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def _read(ratio: float) -> str:
    return "–" if math.isnan(ratio) else f"{ratio:.2g}" if ratio < 100 else f"{ratio:,.0f}"


def _read_power(known: Known, name: str, sizes: list[tuple[int, int, int]], of: int) -> str:
    """Fit the exponent with which time grows along one side of the grid."""
    points = [(size[of], known[name, *size].seconds) for size in sizes if (name, *size) in known]
    points = [(size, seconds) for size, seconds in points if seconds > 0]
    if len(points) < len(sizes):
        return "–"
    return f"{np.polyfit(*np.log(points).T, 1)[0]:.1f}"


def _read_free(known: Known, name: str) -> str:
    """Say where a call takes less than fitting the tree."""
    ratios = {size: _over_fit(known, name, size) for size in product(ROWS, LEAVES, CLASSES)}
    ratios = {size: one for size, one in ratios.items() if not math.isnan(one)}
    dear = [size for size, one in ratios.items() if one > FREE]
    if not dear:
        return "everywhere"
    if len(dear) == len(ratios):
        return "nowhere"
    return f"{len(ratios) - len(dear)} of {len(ratios)}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grid", description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the page from what is stored")
    parser.add_argument("--stored", type=Path, default=STORED, help="file with the results")
    options = parser.parse_args()
    if options.page:
        write_whole(PAGE, put_between(PAGE.read_text(encoding="utf-8"), to_page(read_stored(options.stored)), *MARKS))
    else:
        # Two classes first, and few rows before many.
        run(options.stored, sorted(product(ROWS, LEAVES, CLASSES), key=lambda size: (size[2] > CLASSES[0], size)))
