"""The lines of a list decided, covered and counted row by row, by slow and obvious means."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import oracles
from numpy.typing import NDArray

import secateur

ROUNDING = Fraction(1, 10**9)  # shares are stated as floats, weights are sums of floats


def covering(rules: secateur.Rules, row: Any) -> list[int]:
    """Indices of the lines with conditions that a row in the tree's terms satisfies, headings among them."""
    return [rule.index for rule in rules if oracles.satisfies(rules.tree, row, rule.kept_ids)]


def deciding(rules: secateur.Rules, row: Any) -> int:
    """Index of the line that decides a row: the first that holds as they are printed, else its section's "otherwise".

    Of a list that is made of a method's rules, its class is that of the rule that ranks highest: by what it covers,
    reliability, support, shortness, source.
    """
    found = covering(rules, row)
    if not found:
        (rest,) = (
            section.otherwise
            for section in rules.sections
            if section.otherwise and oracles.satisfies(rules.tree, row, section.otherwise.kept_ids)
        )
        return rest.index

    def rank(index: int) -> tuple[float, float, int, int]:
        rule = rules.lines[index]
        return (-(rule.covered_reliability or 0.0), -(rule.covered_support or 0.0), len(rule.kept_ids), rule.place)

    if rules.method != "exact":
        assert rules.lines[found[0]].prediction == rules.lines[min(found, key=rank)].prediction
    return found[0]


def said(rules: secateur.Rules, index: int) -> int:
    """The class index that a line predicts."""
    line = rules.lines[index]
    if line.is_otherwise:
        return rules.tree.classes.tolist().index(line.prediction)
    return int(rules.tree.leaf_class[line.leaf_id])


def share_of(rules: secateur.Rules, leaf: int) -> Fraction:
    """The share of its class that a leaf has among the rows that reach it, else among the tree's own counts."""
    tree = rules.tree
    counts = rules.leaf_counts[rules.paths.leaf_ids.tolist().index(leaf)]
    if not counts.sum() and tree.counts is not None:
        counts = tree.counts[leaf]
    own = [Fraction(float(number)) for number in counts]
    return own[tree.leaf_class[leaf]] / sum(own) if sum(own) else Fraction(0)


def is_off(rules: secateur.Rules, index: int, leaf: int) -> bool:
    """Whether a line is off for the rows of a leaf: another class, or a share beyond the tolerance."""
    if said(rules, index) != rules.tree.leaf_class[leaf]:
        return True
    share = rules.lines[index].share
    if share is None:
        return False
    return abs(Fraction(share) - share_of(rules, leaf)) > Fraction(str(rules.tolerance)) + ROUNDING


def count_decided(
    rules: secateur.Rules, X: Any, y: NDArray[np.int64], weights: list[float] | None
) -> NDArray[np.float64]:
    """Rows of each class that each line decides."""
    counts = np.zeros((len(rules.lines), rules.tree.n_classes))
    for place, row in enumerate(X):
        counts[deciding(rules, row), y[place]] += 1.0 if weights is None else weights[place]
    return counts
