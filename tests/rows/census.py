"""The census table, a tree for it, and the rules that the plain matrix gives."""

from __future__ import annotations

from typing import Any

import pandas as pd
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import datasets

__all__ = ["ALONE", "SERVED", "expect", "load_census"]

SERVED = ("faithful", "mismatch", "quinlan")
ALONE = ("budgeted", "mismatch-certified")


def load_census(data_dir: str) -> tuple[pd.DataFrame, DecisionTreeClassifier]:
    """The table with its labels, and a tree of depth 6."""
    data = datasets.load("adult", data_dir)
    frame = pd.DataFrame(data.X, columns=list(data.feature_names)).assign(label=data.y)
    return frame, DecisionTreeClassifier(max_depth=6, random_state=0).fit(frame.drop(columns="label"), frame["label"])


def expect(frame: pd.DataFrame, model: Any, method: str) -> tuple[secateur.Rules, dict[str, Any]]:
    """The rules from the plain matrix, and what else the method is told."""
    rows, labels = frame.drop(columns="label"), frame["label"].to_numpy()
    told: dict[str, Any] = {}
    if method == "mismatch-certified":  # equal rows of a survey differ in their labels, so rows do not certify
        told = {"monotone": [int(name == "occupation=Farming-fishing") for name in rows.columns]}
    return secateur.simplify(model, rows.to_numpy(), labels, method=method, each_leaf=True, **told), told
