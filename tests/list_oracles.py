"""The lines of a list decided, covered and counted row by row, by slow and obvious means."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
from numpy.typing import NDArray

import secateur


def covering(rules: secateur.Rules, row: Any) -> list[int]:
    """Indices of the written rules that a row in the tree's terms satisfies."""
    return [rule.index for rule in rules if oracles.satisfies(rules.tree, row, rule.kept_ids)]


def deciding(rules: secateur.Rules, row: Any) -> int:
    """Index of the line that decides a row: the first rule that holds as they are printed, else "otherwise".

    Its class is that of the rule that ranks highest: by what it covers, reliability, support, shortness, source.
    """
    found = covering(rules, row)
    if not found:
        return len(rules)

    def rank(index: int) -> tuple[float, float, int, int]:
        rule = rules[index]
        return (-(rule.covered_reliability or 0.0), -(rule.covered_support or 0.0), len(rule.kept_ids), rule.place)

    assert rules[found[0]].prediction == rules[min(found, key=rank)].prediction
    return found[0]


def said(rules: secateur.Rules, index: int) -> int:
    """The class index that a line predicts."""
    if index == len(rules):
        assert rules.default is not None
        return rules.default
    leaf = rules[index].leaf_id
    return int(rules.tree.leaf_class[leaf])


def count_decided(
    rules: secateur.Rules, X: Any, y: NDArray[np.int64], weights: list[float] | None
) -> NDArray[np.float64]:
    """Rows of each class that each line decides, "otherwise" last."""
    counts = np.zeros((len(rules) + 1, rules.tree.n_classes))
    for place, row in enumerate(X):
        counts[deciding(rules, row), y[place]] += 1.0 if weights is None else weights[place]
    return counts
