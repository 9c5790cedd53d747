"""How often the stated interval of a fidelity holds the fidelity on a large fresh sample.

Each simulation draws rows, asks a model, makes a list and compares its interval with the share on fresh rows that are
many enough to stand for all. Writes one line for each model to ``stored/coverage.csv``.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

import secateur
from secateur.lab.summary import STORED
from secateur.rows.whole_files import write_whole

N_FRESH = 20_000
WIDTH = 5


def draw(n_rows: int, random: np.random.Generator) -> Any:
    """Draw rows."""
    return random.normal(size=(n_rows, WIDTH))


def say(X: Any) -> Any:
    """Say the class that models learn: two bends and noise that hangs on the row alone."""
    noise = np.sin(1e4 * X[:, 3]) > 0.9
    return (((X[:, 0] > 0) & (X[:, 1] > 0.5)) | (X[:, 2] < -1)) ^ noise


def fit_forest(random: np.random.Generator) -> Any:
    """Fit a forest, and give what it answers."""
    X = draw(500, random)
    return RandomForestClassifier(20, random_state=int(random.integers(2**31)), n_jobs=1).fit(X, say(X)).predict


def fit_boosting(random: np.random.Generator) -> Any:
    """Fit a boosted model, and give what it answers."""
    X = draw(500, random)
    return GradientBoostingClassifier(n_estimators=20, random_state=int(random.integers(2**31))).fit(X, say(X)).predict


MODELS: dict[str, Callable[[np.random.Generator], Any]] = {
    "function": lambda random: say,
    "forest": fit_forest,
    "boosting": fit_boosting,
}


def simulate(name: str, number: int) -> bool:
    """Make one list, and tell whether its interval holds the share on fresh rows."""
    random = np.random.default_rng([number, len(name)])
    model = MODELS[name](random)
    wish: dict[str, Any] = [{"max_rules": 2}, {"max_rules": 6}, {"fidelity": 0.9}][number % 3]
    rules = secateur.approximate(model, draw(int(random.integers(60, 400)), random), random_state=number, **wish)
    fresh = draw(N_FRESH, random)
    assert rules.fidelity is not None
    low, high = rules.fidelity.interval
    return bool(low <= np.mean(rules.predict(fresh) == model(fresh)) <= high)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", default=300, type=int, help="for each model")
    parser.add_argument("--output", default=Path(str(STORED)) / "coverage.csv", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = ["model,simulations,covered"]
    for name in MODELS:
        covered = sum(simulate(name, number) for number in range(given.simulations))
        lines.append(f"{name},{given.simulations},{covered}")
        print(lines[-1], flush=True)
    write_whole(given.output, "\n".join([*lines, ""]))
