"""Run with ``make bench`` or, on small data, ``make bench-quick``.

Every case checks its answer first, by the independent checker and, for `mismatch`, against the naive version; only then
does the clock run. Times are medians, shown as
ratios to one ``tree.apply(X)`` of the same rows in the same process, so that a noisy machine does not decide.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
from rich.console import Console
from rich.table import Table
from sklearn.tree import DecisionTreeClassifier

import secateur
from benchmarks.naive import naive_mismatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

FULL_ROWS = 1 << 20
QUICK_ROWS = 1 << 15
N_FEATURES = 20
N_LEAVES = 32
TOLERANCE = 0.05
REPEATS = 5


def main() -> int:
    """Run all cases, print a table, and return 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small data, in seconds")
    parser.add_argument("--json", metavar="FILE", help="also write the results here")
    options = parser.parse_args()
    n_rows = QUICK_ROWS if options.quick else FULL_ROWS
    X, y, model = make_problem(n_rows)
    results = [measure(method, X, y, model) for method in ("sibling", "mismatch", "layered", "quinlan")]
    show(results, n_rows)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"machine": describe_machine(), "rows": n_rows, "results": results}, file, indent=1)
    return 0 if all(result["right"] for result in results) else 1


def make_problem(n_rows: int) -> tuple[NDArray[np.float32], NDArray[np.int64], DecisionTreeClassifier]:
    """Rows with interactions and noise, and a tree of 32 leaves fitted to some of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_FEATURES)).astype(np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] - 0.7 * X[:, 3] + 0.5 * (X[:, 4] > 0) * X[:, 5]
    y = (score + rng.normal(size=n_rows) > 0).astype(np.int64)
    model = DecisionTreeClassifier(max_leaf_nodes=N_LEAVES, random_state=0).fit(X[:50_000], y[:50_000])
    return X, y, model


def measure(method: str, X: NDArray[np.float32], y: NDArray[np.int64], model: DecisionTreeClassifier) -> dict[str, Any]:
    """Check one method's answer, then time it beside ``apply``."""
    rules = secateur.simplify(model, X, y, method=method, tolerance=TOLERANCE)
    right = rules.verify().ok
    naive_seconds = None
    if method == "mismatch":
        started = time.perf_counter()
        slow = naive_mismatch(rules.tree, X, y, TOLERANCE)
        naive_seconds = time.perf_counter() - started
        right &= {rule.leaf_id: list(rule.deleted_ids) for rule in rules} == slow
    apply_seconds = median_seconds(lambda: model.tree_.apply(X))
    seconds = median_seconds(lambda: secateur.simplify(model, X, y, method=method, tolerance=TOLERANCE))
    return {
        "case": f"{method}, {len(X):,} × {N_FEATURES}, {model.get_n_leaves()} leaves",
        "right": bool(right),
        "seconds": seconds,
        "times_apply": seconds / apply_seconds,
        "naive_over_ours": None if naive_seconds is None else naive_seconds / seconds,
    }


def median_seconds(call: Callable[[], object]) -> float:
    """Median wall time over a few calls, after one to warm up."""
    call()
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def show(results: list[dict[str, Any]], n_rows: int) -> None:
    """Print the results as a table."""
    table = Table(title=f"Ratios measured in this run, {n_rows:,} rows", title_justify="left")
    for name in ("case", "answer", "seconds", "times one tree.apply(X)", "faster than the naive version"):
        table.add_column(name)
    for result in results:
        naive = result["naive_over_ours"]
        table.add_row(
            result["case"],
            "right" if result["right"] else "WRONG",
            f"{result['seconds']:.4f}",
            f"{result['times_apply']:.2f}",
            "—" if naive is None else f"{naive:.1f} ×",
        )
    Console(width=120).print(table)


def describe_machine() -> dict[str, str]:
    """Versions that a history of results needs."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "secateur": secateur.__version__,
        "system": platform.platform(),
    }


if __name__ == "__main__":
    sys.exit(main())
