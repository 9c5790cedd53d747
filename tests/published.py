"""German and adult as tables of texts and numbers, with a tree of depth 5 that encodes them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import secateur

TABLES = ("german", "adult")


@cache
def fit_frame(name: str, data_dir: str) -> tuple[secateur.Rules, tuple[Any, Any], tuple[Any, Any]]:
    """The rules, and the training rows and those set aside, with their labels."""
    how: dict[str, Any] = {"sep": " "} if name == "german" else {"skipinitialspace": True, "na_values": "?"}
    table = pd.read_csv(Path(data_dir) / f"{name}.data", header=None, **how)
    table.columns = [f"c{place}" for place in range(table.shape[1])]
    *columns, target = table.columns
    X, y = table[columns], table[target].to_numpy()
    kept, aside, y, truth = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    texts = [column for column in columns if not pd.api.types.is_numeric_dtype(X[column])]
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), texts), remainder="passthrough")
    tree = DecisionTreeClassifier(max_depth=5, min_samples_leaf=5, random_state=0)
    rules = secateur.simplify(make_pipeline(encode, tree).fit(kept, y), kept, y).measure(aside, truth)
    return rules, (kept, y), (aside, truth)
