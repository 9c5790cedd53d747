"""Whether what is said of unseen rows holds on rows that nobody has seen: printed intervals, and cut-offs of costs.

A tree is fitted to half of the rows, its list is measured on a quarter, and the last quarter judges: whether the share
of each line lies in the interval that the quarter before gave, and what the cut-off that was cheapest there costs now.
``docs/audit.md`` has the tables; ``python -m benchmarks.paper.documents docs`` writes them::

    python -m benchmarks.unseen_rows --data-dir DIRECTORY
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

STORED = Path(__file__).parents[1] / "src" / "secateur" / "lab" / "stored" / "unseen_rows.json"
DATASETS = ("german", "cancer", "heart-h", "adult")
SPLITS, MOST_ROWS = 20, 8_000
COSTLY, COST = "german", 5  # a bad credit that is granted costs as much as five good ones that are refused


def split_rows(name: str, seed: int, data_dir: str | None) -> tuple[Any, Any, Any]:
    """Make the measured list of one split, and give the rows and labels of the last quarter."""
    from sklearn.tree import DecisionTreeClassifier

    from secateur import datasets, simplify

    data = datasets.load(name, data_dir)
    order = np.random.default_rng(seed).permutation(len(data.y))[:MOST_ROWS]
    train, new, fresh = np.split(order, [len(order) // 2, 3 * len(order) // 4])
    model = DecisionTreeClassifier(max_depth=5, min_samples_leaf=5, random_state=0).fit(data.X[train], data.y[train])
    rules = simplify(model, data.X[train], data.y[train]).measure(data.X[new], data.y[new])
    return rules, data.X[fresh], data.y[fresh]


def count_held(name: str, n_splits: int, data_dir: str | None = None) -> dict[str, Any]:
    """Count the lines with an interval and fresh rows, and those whose share of fresh rows lies in it."""
    from secateur.results.measures import find_expected

    n_lines = n_held = 0
    for seed in range(n_splits):
        rules, X, y = split_rows(name, seed, data_dir)
        line, own = rules.apply(X), rules.tree.classes[rules.class_ids]
        for place, expected in enumerate(find_expected(rules)):
            rows = y[line == place]
            if expected is not None and len(rows):
                n_lines += 1
                n_held += bool(expected[0] - 1e-9 <= (rows == own[place]).mean() <= expected[1] + 1e-9)
    return {"dataset": name, "splits": n_splits, "lines": n_lines, "held": n_held}


def price_cutoffs(n_splits: int, data_dir: str | None = None) -> dict[str, float]:
    """Find what an applicant costs on average, on the rows that chose the cut-off and on fresh ones."""
    from secateur.results.measures import find_cutoff

    found: list[dict[str, float]] = []
    for seed in range(n_splits):
        rules, X, y = split_rows(COSTLY, seed, data_dir)
        cutoff = find_cutoff(rules, [f"missed {rules.tree.class_names[1]} = {COST}"])
        is_bad, line = y == rules.tree.classes[1], rules.apply(X)

        def price(refused: Any, is_bad: Any = is_bad) -> float:
            return float(np.where(is_bad, COST * ~refused, refused).mean())

        found.append(
            {
                "chosen": cutoff.price,
                "fresh": price(np.isin(line, np.array(cutoff.lines, dtype=int) - 1)),
                "classes": price(rules.predict(X) == rules.tree.classes[1]),
                "all": price(np.ones(len(y), dtype=bool)),
                "none": price(np.zeros(len(y), dtype=bool)),
            }
        )
    return {"splits": n_splits, **{name: fmean(one[name] for one in found) for name in found[0]}}


def make_blocks() -> dict[str, str]:
    """Write both tables from the stored numbers."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    lines = [
        "| data set | splits | lines with five or more unseen rows | fresh share within the interval |",
        "|---" * 4 + "|",
    ]
    for one in stored["intervals"]:
        lines.append(
            f"| {one['dataset']} | {one['splits']} | {one['lines']} | {100 * one['held'] / one['lines']:.1f} % |"
        )
    costs = stored["costs"]
    found = {name: f"{value:.2f}" for name, value in costs.items()}
    told = (
        f"On {COSTLY}, where a missed bad credit costs {COST}, an applicant costs {found['fresh']} with the cut-off "
        f"that was cheapest on the unseen rows ({found['chosen']} on those rows themselves), {found['classes']} "
        f"with the classes of the list, {found['all']} if all are refused and {found['none']} if none is (means of "
        f"{costs['splits']} splits, on fresh rows).\n"
    )
    return {"unseen-intervals": "\n".join([*lines, ""]), "unseen-costs": told}


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--data-dir")
    asked = parser.parse_args()
    intervals = [count_held(name, asked.splits, asked.data_dir) for name in DATASETS]
    costs = {name: round(value, 6) for name, value in price_cutoffs(asked.splits, asked.data_dir).items()}
    STORED.write_text(json.dumps({"intervals": intervals, "costs": costs}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
