"""Run with ``make bench-unpruned``: exact and budgeted deletion on trees that nobody pruned.

Answers are checked first: on fresh rows every rule that covers a row predicts what the tree predicts (`exact`), the
conflict of the training rows is within the budget (`budgeted`), and a smaller tree passes the independent checker.
Then the clock runs; times are medians, as ratios to what ``fit`` of the same tree took in the same process.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.tree import DecisionTreeClassifier

import secateur
from benchmarks.run import describe_machine, median_seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

N_ROWS = 200_000
QUICK_ROWS = 4_000
N_FEATURES = 20
GROWTH_ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
GROWTH_FEATURES = 5
BUDGET = 0.015
N_PROBES = 1_000


def main() -> int:
    """Run the cases, print them, and return 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small data, in seconds")
    parser.add_argument("--json", metavar="FILE", help="also write the results here")
    options = parser.parse_args()
    console = Console(width=120)
    results = measure(QUICK_ROWS if options.quick else N_ROWS)
    console.print(to_table(results))
    growth = [] if options.quick else measure_growth()
    if growth:
        leaves, seconds = np.log([g["leaves"] for g in growth]), np.log([g["seconds"] for g in growth])
        slope = float(np.polyfit(leaves, seconds, 1)[0])
        for point in growth:
            console.print(f"exact: {point['leaves']:>8,} leaves, {point['seconds']:.4f} s")
        console.print(f"cost of exact grows as leaves to the power of {slope:.2f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"machine": describe_machine(), "results": results, "growth": growth}, file, indent=1)
    return 0 if all(result["right"] for result in results) else 1


def make_problem(n_rows: int, n_features: int) -> tuple[NDArray[np.float32], NDArray[np.int64], Any, float]:
    """Noisy rows, an unpruned tree, and how long the tree took to fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] - 0.7 * X[:, 3] + 0.5 * X[:, 4]
    y = (score + 0.8 * rng.normal(size=n_rows) > 0).astype(np.int64)
    began = time.perf_counter()
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    return X, y, model, time.perf_counter() - began


def measure(n_rows: int) -> list[dict[str, Any]]:
    """Exact and budgeted deletion, checked and timed against fit."""
    X, y, model, fit_seconds = make_problem(n_rows, N_FEATURES)
    small_X, small_y, small, _ = make_problem(2_000, N_FEATURES)
    probes = np.random.default_rng(1).normal(size=(N_PROBES, N_FEATURES)).astype(np.float32)
    results = []
    for method, rows in (("exact", ()), ("budgeted", (X, y))):
        settings = {"method": method, "budget": BUDGET}
        rules = secateur.simplify(model, *rows, **settings)
        right = secateur.simplify(small, *((small_X, small_y) if rows else ()), **settings).verify().ok
        right &= (
            covers_as_the_tree(rules, model, probes)
            if method == "exact"
            else rules.audit(X, y).conflict <= 100 * BUDGET
        )
        seconds = median_seconds(lambda settings=settings, rows=rows: secateur.simplify(model, *rows, **settings))
        results.append(
            {
                "case": f"{method}, {n_rows:,} × {N_FEATURES}, {model.get_n_leaves():,} leaves",
                "right": bool(right),
                "removed": float(rules.deleted.mean()),
                "seconds": seconds,
                "share_of_fit": seconds / fit_seconds,
            }
        )
    return results


def covers_as_the_tree(rules: secateur.RuleSet, model: Any, rows: NDArray[np.float32]) -> bool:
    """Whether every rule that covers a row predicts what the tree predicts."""
    own = rules.notes.leaf_class
    wanted = rules.tree.classes.searchsorted(model.predict(rows))
    covered = rules.covers(rows)
    return bool(covered.any(axis=1).all() and not (covered & (own[None, :] != wanted[:, None])).any())


def measure_growth() -> list[dict[str, Any]]:
    """Seconds of exact deletion for trees of growing size."""
    found = []
    for n_rows in GROWTH_ROWS:
        _, _, model, _ = make_problem(n_rows, GROWTH_FEATURES)
        seconds = median_seconds(lambda model=model: secateur.simplify(model, method="exact"))
        found.append({"leaves": int(model.get_n_leaves()), "seconds": seconds})
    return found


def to_table(results: list[dict[str, Any]]) -> Table:
    """The results as a table."""
    table = Table(title="Ratios measured in this run", title_justify="left")
    for name in ("case", "answer", "conditions removed", "seconds", "share of the time that fit took"):
        table.add_column(name)
    for result in results:
        table.add_row(
            result["case"],
            "right" if result["right"] else "WRONG",
            f"{result['removed']:.1%}",
            f"{result['seconds']:.4f}",
            f"{result['share_of_fit']:.1%}",
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
