"""Tables with groups, whole numbers and missing values: rows that keep to what is known, and rows that do not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

GROUPS = {"a": [f"a={place}" for place in range(4)], "b": [f"b={place}" for place in range(3)]}
FACTS = ["1 <= n <= 6", "n is a whole number", "z is not missing", "n >= 5 => z > 0"]
KNOWN: dict[str, dict[str, Any]] = {
    "nothing": {},
    "facts": {"facts": FACTS},
    "groups": {"groups": GROUPS},
    "facts and groups": {"facts": FACTS, "groups": GROUPS},
}


class Told(NamedTuple):
    """A fitted tree, its training rows, and other rows: some that keep to all that is known, some that do not."""

    model: Any
    X: pd.DataFrame
    y: NDArray[Any]
    rows: dict[str, pd.DataFrame]


def make_told(seed: int, *, n_rows: int = 300, n_asked: int = 150) -> Told:
    """A tree that splits columns of groups and of whole numbers so that much of what it asks follows from the rest."""
    rng = np.random.default_rng(seed)
    X = _make_possible(rng, n_rows)
    a, b = (X[names].to_numpy().argmax(axis=1) for names in GROUPS.values())
    says = rng.integers(0, 2, (4, 3))[a, b] ^ (X.z > 1) ^ (X.n == 6)
    y = np.where(says, "yes", "no").astype(object)
    if seed % 2:
        y[(X.w > 0.7) | (X.w.isna() & (X.z < 0))] = "maybe"
    model = DecisionTreeClassifier(max_depth=6, max_features=4, random_state=seed).fit(X, y)
    possible = _make_possible(rng, n_asked)
    return Told(model, X, y, {"possible": possible, "impossible": _make_impossible(rng, possible)})


def _make_possible(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    a, b, n = (rng.integers(*ends, n_rows) for ends in ((0, 4), (0, 3), (1, 7)))
    z, w = rng.normal(size=n_rows), rng.normal(size=n_rows)
    columns = {name: (a == place) * 1.0 for place, name in enumerate(GROUPS["a"])}
    columns |= {name: (b == place) * 1.0 for place, name in enumerate(GROUPS["b"])}
    z, w = np.where(n >= 5, np.abs(z), z), np.where(rng.random(n_rows) < 0.15, np.nan, w)
    return pd.DataFrame({**columns, "n": n * 1.0, "z": z, "w": w})


def _make_impossible(rng: np.random.Generator, possible: pd.DataFrame) -> pd.DataFrame:
    """Several ones or none in a group, numbers that are not whole or beyond their ends, missing ones, and pairs."""
    rows = pd.DataFrame({name: rng.permutation(possible[name].to_numpy()) for name in possible})
    rows["n"] = np.where(rng.random(len(rows)) < 0.5, rows["n"], rng.choice([0.0, 2.5, 4.5, 5.5, 9.0], len(rows)))
    rows.loc[rng.random(len(rows)) < 0.15, "z"] = np.nan
    return rows
