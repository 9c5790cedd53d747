"""Rows and trees that the cases share, full size or quick."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import secateur

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Problem",
    "Unavailable",
    "adult",
    "fit_to_first",
    "make_rows",
    "many_rows",
    "monotone",
    "ordinary",
    "paper_leaves",
    "skewed_tree",
    "unpruned",
]


class Unavailable(Exception):
    """Something that a case needs is not here."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A fitted tree, and rows for it; the ones that it was fitted on, unless the maker says otherwise."""

    model: Any
    X: NDArray[np.float32]
    y: NDArray[np.int64] | NDArray[np.float64]

    @property
    def about(self) -> str:
        """Rows, columns and leaves."""
        n_leaves = self.model.n_leaves if isinstance(self.model, secateur.Tree) else self.model.get_n_leaves()
        rows = f"{len(self.X):,} × {self.X.shape[1]} rows, " if len(self.X) else ""
        return f"{rows}{n_leaves:,} leaves"


def make_rows(n_rows: int, n_features: int, noise: float = 1.0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Rows in C order whose two classes depend on five columns, with an interaction and noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] - 0.7 * X[:, 3] + 0.5 * X[:, 4]
    return X, (score + noise * rng.standard_normal(n_rows, dtype=np.float32) > 0).astype(np.int64)


def fit_to_first(X: NDArray[np.float32], y: NDArray[np.int64]) -> DecisionTreeClassifier:
    """32 leaves, fitted on no more rows than they need."""
    return DecisionTreeClassifier(max_leaf_nodes=32, random_state=0).fit(X[:50_000], y[:50_000])


@cache
def many_rows(quick: bool) -> Problem:
    """32 leaves fitted on the first rows of 2²⁰."""
    X, y = make_rows(1 << 14 if quick else 1 << 20, 20)
    return Problem(fit_to_first(X, y), X, y)


@cache
def paper_leaves(quick: bool) -> Problem:
    """The largest tree of the paper's runtime study: 128 leaves on 2,048 rows."""
    X, y = make_rows(2_048, 20, noise=0.5)
    return Problem(DecisionTreeClassifier(max_leaf_nodes=32 if quick else 128, random_state=0).fit(X, y), X, y)


@cache
def unpruned(quick: bool, n_rows: int | None = None) -> Problem:
    """A tree that nobody pruned, on noisy rows."""
    X, y = make_rows(n_rows or (2_000 if quick else 200_000), 20, noise=0.8)
    return Problem(DecisionTreeClassifier(random_state=0).fit(X, y), X, y)


@cache
def ordinary(quick: bool, n_leaves: int = 100, n_classes: int = 2) -> Problem:
    """A tree and a table as people have them."""
    X, _ = make_rows(1_000 if quick else 20_000, 20)
    score = X[:, 0] + X[:, 1] * X[:, 2] - 0.7 * X[:, 3] + np.random.default_rng(1).standard_normal(len(X))
    y = np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)
    leaves = min(n_leaves, 30) if quick else n_leaves
    return Problem(DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(X, y), X, y.astype(np.int64))


@cache
def values(quick: bool, n_leaves: int = 100) -> Problem:
    """A regression tree on such a table; a large one on ten times as many rows."""
    X, _ = make_rows(1_000 if quick else 200_000 if n_leaves > 1_000 else 20_000, 20)
    y = X[:, 0] + X[:, 1] * X[:, 2] - 0.7 * X[:, 3] + np.random.default_rng(1).standard_normal(len(X))
    leaves = min(n_leaves, 30) if quick else n_leaves
    return Problem(DecisionTreeRegressor(max_leaf_nodes=leaves, random_state=0).fit(X, y), X, y)


@cache
def monotone(quick: bool) -> Problem:
    """A tree that nobody pruned and that rises with eight of its columns, on noisy rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000 if quick else 60_000, 30), dtype=np.float32)
    y = (X[:, :8].sum(axis=1) + 2 * rng.standard_normal(len(X)) > 0).astype(np.int64)
    return Problem(DecisionTreeClassifier(random_state=0, monotonic_cst=[1] * 8 + [0] * 22).fit(X, y), X, y)


@cache
def adult(quick: bool) -> Problem:
    """Depth 6 on the paper's largest data set."""
    if quick and not os.environ.get("SECATEUR_DATA"):
        raise Unavailable("a quick run does not download adult; name its directory by SECATEUR_DATA")
    try:
        data = secateur.datasets.load("adult")
    except secateur.errors.InputError as error:
        raise Unavailable(str(error)) from error
    X, y = (data.X[:2_000], data.y[:2_000]) if quick else (data.X, data.y)
    return Problem(DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y), X, y.astype(np.int64))


def skewed_tree(n_leaves: int, share: float) -> secateur.Tree:
    """A tree in whose every node one side gets that share of the leaves, and of the box: the smaller, the deeper."""
    rng = np.random.default_rng(0)
    names = [f"x{feature}" for feature in range(10)]
    builder = secateur.TreeBuilder(classes=[0, 1], feature_names=names)
    stack: list[tuple[int, dict[str, Any], dict[str, tuple[float, float]]]] = [
        (n_leaves, {}, dict.fromkeys(names, (0.0, 1.0)))
    ]
    while stack:
        size, place, box = stack.pop()
        if size == 1:
            builder.leaf([7, 3] if rng.random() < 0.7 else [3, 7], **place)
            continue
        small = max(1, round(share * size))
        left = small if rng.random() < 0.5 else size - small
        name = names[rng.integers(len(names))]
        low, high = box[name]
        threshold = low + (high - low) * left / size
        node = builder.split(name, threshold, **place)
        stack.append((size - left, {"parent": node, "side": "right"}, box | {name: (threshold, high)}))
        stack.append((left, {"parent": node, "side": "left"}, box | {name: (low, threshold)}))
    return builder.build()
