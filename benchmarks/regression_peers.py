"""RuleFit and Cubist, fitted to what a regression tree says, beside lists of the tree.

Both are fitted to the tree's values on the training rows, with default settings, and compared with the tree and with
the targets on the rows left out, as lists are by ``secateur reproduce regression``. They need an environment of their
own (``pip install imodels cubist six``, and secateur). ``docs/regression.md`` has the table, which ``python -m
benchmarks.paper.documents docs`` writes::

    python -m benchmarks.regression_peers --data-dir DIRECTORY
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
STORED = ROOT / "src" / "secateur" / "lab" / "stored" / "regression_peers.json"
HEADER = ("form", "conditions", "lines or rules", "of the tree's values explained", "R² unseen, less the tree's")
HEADER = (*HEADER, "largest distance from the tree")


def measure(splits: int, data_dir: str | None) -> Iterator[dict[str, Any]]:
    """Fit both to one tree for each target and split, and measure a list of ours beside them."""
    import pandas as pd
    from cubist import Cubist
    from imodels import RuleFitRegressor
    from sklearn.metrics import r2_score
    from sklearn.model_selection import train_test_split
    from sklearn.tree import DecisionTreeRegressor

    from secateur import simplify
    from secateur.lab.regression import DEPTH, SECTIONS, TARGETS, load_target

    for name in TARGETS:
        X, y = load_target(name, data_dir)
        frame = pd.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])])
        for split in range(splits):
            train, test, y_train, y_test = train_test_split(frame, y, test_size=0.3, random_state=split)
            tree = DecisionTreeRegressor(max_depth=DEPTH, random_state=split).fit(train, y_train)
            said, spread = tree.predict(train), float(y_train.std())
            cubist = Cubist(random_state=split).fit(train, said)
            fit = RuleFitRegressor(random_state=split).fit(train.to_numpy(), said)
            used = [coefficient != 0 for coefficient in fit.coef]
            n_linear = len(used) - len(fit.rules_)
            kept = [rule for rule, is_used in zip(fit.rules_, used[n_linear:], strict=True) if is_used]
            ours = simplify(tree, train, y_train, tolerance=0.25 * spread, sections=SECTIONS)
            rules = cubist.splits_.groupby(["committee", "rule"]).size() if len(cubist.splits_) else []
            forms = {
                "list, δ = 0.25 sd": (ours.n_edges, ours.n_lines, ours.predict(test)),
                "Cubist (a linear formula in each rule)": (int(sum(rules)), len(cubist.coeffs_), cubist.predict(test)),
                "RuleFit of imodels (a weighted sum of rules and columns)": (
                    sum(len(str(rule).split(" and ")) for rule in kept),
                    int(len(kept) + sum(used[:n_linear])),
                    fit.predict(test.to_numpy()),
                ),
            }
            own = tree.predict(test)
            for form, (n_conditions, n_lines, values) in forms.items():
                yield {
                    "target": name,
                    "split": split,
                    "form": form,
                    "conditions": 100.0 * n_conditions / len(ours.paths.links),
                    "lines": n_lines,
                    "r2_of_tree": r2_score(own, values),
                    "delta_r2": r2_score(y_test, values) - r2_score(y_test, own),
                    "largest": float(np.abs(values - own).max() / spread),
                }


def load_rows() -> list[dict[str, Any]]:
    """Read the stored rows of lists and pruned trees, each form on each split of each target."""
    import pandas as pd

    found: list[dict[str, Any]] = pd.read_csv(ROOT / "src/secateur/lab/stored/regression.csv").to_dict("records")
    return found


def write_table(rows: list[dict[str, Any]]) -> str:
    """Write forms with their averages over splits, then over targets."""
    from secateur.lab.regression import summarize_regression

    lines = [f"| {' | '.join(HEADER)} |", "|---" * len(HEADER) + "|"]
    for row in summarize_regression(rows):
        cells = f"{row['conditions']:.1f} %", f"{row['lines']:.0f}", f"{row['r2_of_tree']:.3f}"
        cells = (*cells, f"{row['delta_r2']:+.3f}", f"{row['largest']:.2f} sd")
        lines.append(f"| {' | '.join((row['form'], *cells))} |")
    return "\n".join(lines) + "\n"


def make_blocks() -> dict[str, str]:
    """Write both tables of the page: lists beside pruned trees, and beside these peers."""
    peers = json.loads(STORED.read_text(encoding="utf-8"))  # whose conditions are percentages
    return {"forms": write_table(load_rows()), "peers": write_table([{**row, "every": 100.0} for row in peers])}


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--data-dir")
    asked, rows = parser.parse_args(), []
    for row in measure(asked.splits, asked.data_dir):
        rows.append({name: round(value, 6) if isinstance(value, float) else value for name, value in row.items()})
        print(rows[-1], flush=True)
    STORED.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
