"""Rows in the terms of whoever holds them, and a decision list run over them one row at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.rules.decision_list import Column, ColumnTest, DecisionList, ListedRule
from secateur.tree.tree import Tree

UNLISTED = "a label that no tree lists"


def plain_rows(tree: Tree, X: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Rows of codes and numbers as mappings of column names to labels, numbers and None."""
    return [
        {tree.feature_name(feature): _plain_value(tree, feature, value) for feature, value in enumerate(row.tolist())}
        for row in X
    ]


def _plain_value(tree: Tree, feature: int, value: float) -> Any:
    if math.isnan(value):
        return None
    levels = tree.categories[feature]
    if levels is None:
        return value
    return levels[int(value)] if value in range(len(levels)) else UNLISTED


def decide(listed: DecisionList, row: dict[str, Any]) -> ListedRule | None:
    """The first rule whose tests the row passes; None where a column rejects the row."""
    if any(_rejects(column, row[column.name]) for column in listed.columns):
        return None
    return next(rule for rule in listed.rules if all(_passes(listed, test, row) for test in rule.tests))


def _rejects(column: Column, value: Any) -> bool:
    if value is None:
        return not column.takes_missing
    if column.labels is not None:
        return value not in column.labels and not column.takes_unlisted
    return not column.lowest <= value <= column.highest


def _passes(listed: DecisionList, test: ColumnTest, row: dict[str, Any]) -> bool:
    column = listed.columns[test.column]
    value = row[column.name]
    if value is None:
        return test.missing
    if column.labels is not None:
        return value in test.labels if value in column.labels else test.unlisted
    number = np.dtype(column.dtype).type(value)
    return any(low < number <= high for low, high in test.intervals)
