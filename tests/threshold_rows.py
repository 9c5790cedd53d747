"""Rows that try numeric splits: at every threshold, one step beside it in float32 and float64, and at the ends."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur import Tree

ZERO_GAP = float(np.float32(1e-35))
NEAR_ZERO = [
    0.0,
    5e-324,
    1e-45,
    1e-38,
    1e-36,
    ZERO_GAP,
    math.nextafter(ZERO_GAP, 1),
    math.nextafter(ZERO_GAP, 0),
    2e-35,
]
LARGE = [1.0, 16777217.0, 1e30, float(np.finfo(np.float32).max)]


def make_rows(seed: int, *, n_rows: int = 200, missing: float = 0.0) -> NDArray[np.float64]:
    """Four columns: repeated whole numbers, tiny or huge numbers, float32 numbers and small whole ones."""
    generator = np.random.default_rng(seed)
    X = generator.integers(-3, 4, size=(n_rows, 4)).astype(np.float64)
    X[:, 1] = generator.normal(size=n_rows) * 10.0 ** generator.integers(-40, 30)
    X[:, 2] = generator.normal(size=n_rows).astype(np.float32)
    X[:, 3] *= 10.0 ** generator.integers(-36, 3)
    X[generator.random(X.shape) < missing] = np.nan
    return X


def rows_beside(tree: Tree, X: NDArray[Any], *, per_value: int = 6) -> NDArray[np.float64]:
    """Rows, and copies of some with one value moved to where a comparison may go wrong."""
    generator = np.random.default_rng(0)
    largest = float(np.finfo(tree.dtype).max)
    rows = [np.asarray(X, dtype=np.float64)]
    for feature in range(tree.n_features):
        cuts = tree.threshold[(tree.feature == feature) & np.isfinite(tree.threshold)]
        values = [sign * value for sign in (1.0, -1.0) for value in [*NEAR_ZERO, *LARGE, largest]]
        for cut in np.unique(cuts).tolist():
            nearest = np.float32(cut)
            with np.errstate(over="ignore"):
                steps = [nearest, *(np.nextafter(nearest, np.float32(end)) for end in (-np.inf, np.inf))]
            singles = [float(step) for step in steps]
            halves = [(singles[0] + single) / 2 for single in singles[1:]]  # where rounding to float32 turns
            for value in [cut, *singles, *halves]:
                values += [value, math.nextafter(value, -math.inf), math.nextafter(value, math.inf)]
        kept = [value for value in values if abs(value) <= largest]
        for value in [*kept, math.nan] if tree.accepts_missing[feature] else kept:
            based = rows[0][generator.integers(0, len(rows[0]), size=per_value)].copy()
            based[:, feature] = value
            rows.append(based)
    return np.vstack(rows)
