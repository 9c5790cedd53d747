"""The lines of a list decided, covered and counted row by row, by slow and obvious means."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import oracles
from numpy.typing import NDArray

import secateur
from secateur.tree.tree import Tree


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


@dataclass
class Slow:
    """The state of the slow version: kept links by leaf, of the rules that are still written."""

    kept: dict[int, list[int]]
    disagreement: Fraction


def slow_joint(
    tree: Tree,
    X: oracles.Rows,
    y: oracles.Labels,
    w: oracles.Weights,
    budget: float,
    tolerance: float,
    default: int,
    pool: int,
) -> Slow:
    """Weigh every move on every row, take the cheapest, and begin again."""
    rows = oracles.mixed_rows(tree, X, w, 1000, pool)
    labels = [oracles.tree_class(tree, row.cells) for row in rows]
    passing = {
        link: np.array([oracles.satisfies(tree, row.cells, [link]) for row in rows]) for link in oracles.parents(tree)
    }
    trained = {link: np.array([oracles.satisfies(tree, row, [link]) for row in X]) for link in oracles.parents(tree)}
    weights = np.ones(len(X)) if w is None else np.array(w)
    share = Fraction(str(float(budget)))
    limits = [
        share * sum((row.mixed for row in rows), Fraction(0)),
        share * sum((row.real for row in rows), Fraction(0)),
    ]

    def covers(links: list[int], of: dict[int, np.ndarray], size: int) -> np.ndarray:
        found = np.ones(size, dtype=bool)
        for link in links:
            found &= of[link]
        return found

    def spent(kept: dict[int, list[int]]) -> list[Fraction]:
        own, other = np.zeros((2, len(rows)), dtype=int)
        for leaf, links in kept.items():
            covered = covers(links, passing, len(rows))
            is_own = np.array(labels) == tree.leaf_class[leaf]
            own += covered & is_own
            other += covered & ~is_own
        wrong = (other > 0) | ((own == 0) & (np.array(labels) != default))
        return [
            sum((rows[i].mixed for i in np.flatnonzero(wrong)), Fraction(0)),
            sum((rows[i].real for i in np.flatnonzero(wrong)), Fraction(0)),
        ]

    def class_weights(links: list[int]) -> np.ndarray:
        covered = covers(links, trained, len(X))
        return np.bincount(np.array(y)[covered], weights=weights[covered], minlength=tree.n_classes)

    def may_go(leaf: int, wider: list[int]) -> bool:
        c = int(tree.leaf_class[leaf])
        counts = class_weights(wider)
        if not class_weights(oracles.path(tree, leaf)).sum():
            return False
        move = oracles.find_move(tree, X, y, w, leaf, wider)
        return bool(oracles.is_at_most(-move, tolerance) and counts[c] >= counts.max())

    kept = {
        leaf: oracles.without(oracles.path(tree, leaf), gone)
        for leaf, gone in oracles.delete_exact(tree).items()
        if tree.leaf_class[leaf] != default
    }
    while True:
        now = spent(kept)
        drops = {leaf: spent({other: links for other, links in kept.items() if other != leaf}) for leaf in kept}
        free = [leaf for leaf, then in drops.items() if then[0] <= now[0] and then[1] <= now[1]]
        if free:
            del kept[max(free, key=lambda leaf: len(kept[leaf]))]
            continue
        best: tuple[Fraction, int, int | None] | None = None
        for leaf, links in kept.items():
            for link in links:
                wider = oracles.without(links, [link])
                then = spent({**kept, leaf: wider})
                fits = then[0] <= limits[0] and then[1] <= limits[1]
                if fits and may_go(leaf, wider) and (best is None or then[0] - now[0] < best[0]):
                    best = (then[0] - now[0], leaf, link)
        for leaf, then in drops.items():
            price = (then[0] - now[0]) / (len(kept[leaf]) + 1)
            if then[0] <= limits[0] and then[1] <= limits[1] and (best is None or price < best[0]):
                best = (price, leaf, None)
        if best is None:
            return Slow(kept, now[1])
        _, leaf, link = best
        if link is None:
            del kept[leaf]
        else:
            kept[leaf] = oracles.without(kept[leaf], [link])
