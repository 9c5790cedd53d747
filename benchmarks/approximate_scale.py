"""The time that ``approximate`` takes beside what it cannot do without: the model's own answers, and one tree.

100,000 rows of 30 columns and a forest of 100 trees. Prints seconds, and the limit of three times the answers plus one
tree that the total should keep.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import secateur

N_ROWS, N_COLUMNS, N_FITTED = 100_000, 30, 20_000


def measure(n_rows: int) -> dict[str, float]:
    """Time the answers, a tree and the whole, on the same rows in the same process."""
    X, y = make_classification(n_rows, N_COLUMNS, n_informative=12, flip_y=0.05, random_state=0)
    forest = RandomForestClassifier(100, random_state=0, n_jobs=1).fit(X[:N_FITTED], y[:N_FITTED])
    asked = 0.0

    def answer(rows: object) -> object:
        nonlocal asked
        start = time.perf_counter()
        said = forest.predict(rows)
        asked += time.perf_counter() - start
        return said

    secateur.approximate(forest, X[:1000])  # what is loaded on first use does not count
    start = time.perf_counter()
    rules = secateur.approximate(answer, X)
    total = time.perf_counter() - start
    answers = forest.predict(X)
    start = time.perf_counter()
    DecisionTreeClassifier(random_state=0).fit(X, answers)
    tree = time.perf_counter() - start
    assert rules.fidelity is not None
    assert np.mean(rules.predict(X[:1000]) == answers[:1000]) > 0.5
    return {"answers": asked, "tree": tree, "total": total, "limit": 3 * asked + tree, "fidelity": rules.fidelity.share}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=N_ROWS, type=int)
    found = measure(parser.parse_args().rows)
    print(", ".join(f"{name} {value:.2f}" for name, value in found.items()))
