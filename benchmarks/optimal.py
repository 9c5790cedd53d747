"""The local search against CART and LicketySPLIT: ``python -m benchmarks.optimal``.

21,000 rows of 104 columns (six numeric, 98 indicators), depth 6, the objective of the local search (errors plus 5e-4
a split) for all three. The objective is recomputed from predictions before it is shown; times are ratios to CART's fit.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.lab import LocalSearchTreeClassifier

N_ROWS, N_NUMERIC, N_INDICATORS = 21_000, 6, 98
CP = 5e-4
DEPTH = 6


def main() -> int:
    """Fit the three on the same rows and print what each reaches."""
    X, y, X_test, y_test = make_rows(2 * N_ROWS)
    fits = [
        ("CART", lambda: DecisionTreeClassifier(max_depth=DEPTH, random_state=0).fit(X, y)),
        ("LicketySPLIT, guessed thresholds", lambda: fit_licketysplit(X, y)),
        ("local search, 1 restart", lambda: search(1, X, y)),
        ("local search, 10 restarts, 2 threads", lambda: search(10, X, y)),
    ]
    search(1, X[:500], y[:500])  # compile before the clock
    table = Table(title=f"{N_ROWS:,} × {X.shape[1]} rows, depth {DEPTH}", title_justify="left")
    for name in ("learner", "objective", "leaves", "train accuracy", "test accuracy", "seconds", "times CART's fit"):
        table.add_column(name)
    cart_seconds, worst = None, 0.0
    for name, fit in fits:
        began = time.perf_counter()
        model = fit()
        seconds = time.perf_counter() - began
        if model is None:
            table.add_row(name, "not installed", "", "", "", "", "")
            continue
        cart_seconds = cart_seconds or seconds
        tree = secateur.from_model(model)
        wrong = float((model.predict(X) != y).mean())
        objective = wrong + CP * (tree.n_leaves - 1)
        if isinstance(model, LocalSearchTreeClassifier):
            worst = max(worst, abs(objective - model.objective_), model.objective_ - model.cart_objective_)
        table.add_row(
            name,
            f"{objective:.5f}",
            str(tree.n_leaves),
            f"{1 - wrong:.4f}",
            f"{float((model.predict(X_test) == y_test).mean()):.4f}",
            f"{seconds:.2f}",
            f"{seconds / cart_seconds:.1f}",
        )
    Console(width=130).print(table)
    return 0 if worst < 1e-9 else 1


def make_rows(n_rows: int) -> tuple[Any, Any, Any, Any]:
    """Two halves of the same kind of rows: numbers and indicators with interactions and noise."""
    rng = np.random.default_rng(0)
    numeric = rng.normal(size=(n_rows, N_NUMERIC)).round(2)
    indicators = rng.random((n_rows, N_INDICATORS)) < rng.uniform(0.02, 0.5, N_INDICATORS)
    score = numeric[:, 0] + numeric[:, 1] * indicators[:, 0] - 1.5 * indicators[:, 1] * indicators[:, 2]
    score += 0.8 * (numeric[:, 2] > 0.3) * indicators[:, 3] + 0.4 * numeric[:, 3]
    y = (score + 0.7 * rng.normal(size=n_rows) > 0).astype(np.int64)
    X = np.column_stack([numeric, indicators]).astype(np.float32)
    half = n_rows // 2
    return X[:half], y[:half], X[half:], y[half:]


def search(n_restarts: int, X: Any, y: Any) -> LocalSearchTreeClassifier:
    """Our local search on two threads."""
    model = LocalSearchTreeClassifier(DEPTH, cp=CP, n_restarts=n_restarts, n_jobs=2, random_state=0)
    return model.fit(X, y)


def fit_licketysplit(X: Any, y: Any) -> Any:
    """LicketySPLIT with the same depth and cost of a split, on the thresholds that it guesses itself, if installed."""
    try:
        from licketysplit import LicketySPLITClassifier, ThresholdGuessBinarizer
        from sklearn.pipeline import make_pipeline
    except ImportError:
        return None
    classifier = LicketySPLITClassifier(lambda_leaf=CP, depth_budget=DEPTH)
    return make_pipeline(ThresholdGuessBinarizer(random_state=0), classifier).fit(X, y)


if __name__ == "__main__":
    sys.exit(main())
