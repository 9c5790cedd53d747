"""Regression beyond the paper: how short lists of regression trees are, beside pruned trees of the same length.

Ten targets: four of scikit-learn's own, and a column of numbers of six of the paper's data sets, predicted from the
others. A point is a mean over splits, then equally over targets; distances are in standard deviations of the training
targets, and conditions in percent of the edges on the paths of the tree, as the paper counts them: "a < x ≤ b" is two.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

from secateur import datasets, from_model, simplify
from secateur.lab.pages import Page, show_numbers
from secateur.lab.pruning import prune_until

TOLERANCES = (0.1, 0.25, 0.5)  # standard deviations of the training targets
SECTIONS = 4
MOST_SPLITS = 10
DEPTH = 6
MOST_ROWS = 2_500
FAR = 200  # of an EEG channel from its median: a loose electrode
# Data set of the paper, and the place of the column to predict among its columns.
COLUMNS: dict[str, tuple[str, int | str]] = {
    "EEG channel 7": ("EEG", 6),
    "german amount": ("german", "amount"),
    "adult hours": ("adult", "hours-per-week"),
    "heart-h age": ("heart-h", "age"),
    "spambase run": ("spambase", 54),
    "ionosphere pulse": ("ionosphere", 4),
}
MADE: dict[str, Callable[[], tuple[Any, Any]]] = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "friedman1": lambda: make_friedman1(2000, 10, noise=1.0, random_state=0),
    "friedman2": lambda: make_friedman2(2000, noise=100.0, random_state=0),
    "friedman3": lambda: make_friedman3(2000, noise=0.1, random_state=0),
}
TARGETS = (*MADE, *COLUMNS)
COLUMNS_SHOWN = {
    **{"conditions %": ("conditions", ".1f"), "lines": ("lines", ".1f"), "R² of its own values": ("r2_of_tree", ".3f")},
    **{"ΔR² unseen": ("delta_r2", "+.3f"), "largest distance, sd": ("largest", ".2f")},
}


def load_target(name: str, data_dir: Any = None) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Load rows and targets, at most 2,500 of them."""
    if name in MADE:
        X, y = MADE[name]()
    else:
        source, column = COLUMNS[name]
        table = datasets.load(source, data_dir)
        place = column if isinstance(column, int) else list(table.feature_names).index(column)
        X, y = np.delete(np.asarray(table.X), place, axis=1), np.asarray(table.X)[:, place]
        if source == "spambase":  # lengths of runs of capitals, which differ by powers of ten
            y = np.log(y)
        if source == "EEG":
            X, y = X[np.abs(y - np.median(y)) < FAR], y[np.abs(y - np.median(y)) < FAR]
    if len(y) > MOST_ROWS:
        drawn = np.random.default_rng(0).choice(len(y), MOST_ROWS, replace=False)
        X, y = X[drawn], y[drawn]
    return np.asarray(X, dtype=np.float32), np.asarray(y, dtype=np.float64)


def measure_target(name: str, split: int, data_dir: Any = None) -> list[dict[str, Any]]:
    """Fit one tree, and measure its lists and trees that are pruned until they are as short."""
    X, y = load_target(name, data_dir)
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=split)
    tree = DecisionTreeRegressor(max_depth=DEPTH, random_state=split).fit(train, y_train)
    spread = float(y_train.std())
    found = []
    for part in TOLERANCES:
        rules = simplify(tree, train, y_train, tolerance=part * spread, sections=SECTIONS)
        audit: Any = rules.audit(test, y_test)
        every = len(rules.paths.links)
        size = {"conditions": rules.n_edges, "lines": rules.n_lines, "every": every}
        own = _compare(tree.predict(test), rules.predict(test), spread)
        form = f"list, δ = {part:g} sd"
        found.append({"form": form, **size, "delta_r2": audit.r2 - audit.tree_r2, **own})
        for nested, drawn in ((False, "a rule for each leaf"), (True, "drawn nested")):
            count = partial(_count, nested=nested)
            pruned = prune_until(tree, train, y_train, count, rules.n_edges)
            n_leaves = int(pruned.get_n_leaves())
            n_lines = 2 * (n_leaves - 1) if nested else n_leaves
            size = {"conditions": count(pruned), "lines": n_lines, "every": every}
            own = _compare(tree.predict(test), pruned.predict(test), spread)
            form = f"pruned tree, {drawn}, as long as at δ = {part:g} sd"
            lost = r2_score(y_test, pruned.predict(test)) - audit.tree_r2
            found.append({"form": form, **size, "delta_r2": lost, **own})
    return [{"target": name, "split": split, **row} for row in found]


def _compare(by_tree: NDArray[Any], said: NDArray[Any], spread: float) -> dict[str, float]:
    """Find how much of the tree's own values a shorter form explains, and how far off it is at most."""
    miss = ((said - by_tree) ** 2).mean()
    variance = by_tree.var()
    largest = float(np.abs(said - by_tree).max() / spread) if spread else 0.0
    return {"r2_of_tree": float(1 - miss / variance) if variance else 1.0, "largest": largest}


def _count(model: DecisionTreeRegressor, *, nested: bool) -> int:
    """Count the conditions of one rule for each leaf, or the tests of a nested drawing, which writes each once."""
    tree = from_model(model)
    return tree.n_leaves - 1 if nested else int(tree.node_depth[tree.is_leaf].sum())


def run_regression(n_splits: int, data_dir: Any = None) -> Iterator[list[dict[str, Any]]]:
    """Measure every target on some splits, a split at a time."""
    for name in TARGETS:
        for split in range(n_splits):
            yield measure_target(name, split, data_dir)


def summarize_regression(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Average each form over splits, then over targets; the largest distance is the largest of all."""
    frame = pd.DataFrame(rows)
    frame["conditions"] = 100.0 * frame["conditions"] / frame["every"].clip(lower=1)
    by_target = frame.groupby(["form", "target"], sort=False)
    means = by_target[["conditions", "lines", "r2_of_tree", "delta_r2"]].mean().groupby("form", sort=False).mean()
    means["largest"] = frame.groupby("form", sort=False)["largest"].max()
    return sorted(means.reset_index().to_dict("records"), key=lambda row: row["form"].startswith("pruned"))


def regression_page(table: Sequence[dict[str, Any]], n_splits: int) -> Page:
    """Show the forms as a table."""
    return Page(
        "Regression: lists within δ of the tree, and pruned trees",
        f"trees of depth {DEPTH} on {len(TARGETS)} targets, {n_splits} splits; at most {SECTIONS} sections",
        ("form", *COLUMNS_SHOWN),
        tuple((row["form"], *show_numbers(row, COLUMNS_SHOWN)) for row in table),
    )
