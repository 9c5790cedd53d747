"""Ranks of methods over many data sets, and which of them do not differ.

Friedman's test asks whether any method differs, Wilcoxon's signed ranks with Holm's correction which pairs do.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, wilcoxon

LEVEL = 0.05


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of methods over data sets, and which of them do not differ."""

    methods: tuple[str, ...]  # from the best
    ranks: tuple[float, ...]
    n_datasets: int
    friedman_p: float
    pairs: dict[tuple[str, str], float]  # Holm's p of each pair
    cliques: tuple[tuple[int, int], ...]  # first and last place of methods that do not differ in pairs


def rank_methods(table: Mapping[str, Mapping[str, float]], *, smaller_is_better: bool = True) -> Ranking:
    """Rank methods by a number for each data set; only data sets that all methods have count."""
    shared = sorted(set.intersection(*(set(found) for found in table.values())))
    matrix = np.array([[found[dataset] for dataset in shared] for found in table.values()])
    ranks = rankdata(matrix if smaller_is_better else -matrix, axis=0).mean(axis=1)
    order = np.argsort(ranks, kind="stable")
    names = tuple(np.array(list(table))[order].tolist())
    rows = dict(zip(table, matrix, strict=True))
    found = {
        (a, b): float(wilcoxon(rows[a], rows[b]).pvalue) if (rows[a] != rows[b]).any() else 1.0
        for a, b in combinations(names, 2)
    }
    pairs = correct_by_holm(found)
    cliques: list[tuple[int, int]] = []
    for first in range(len(names)):
        last = first
        while last + 1 < len(names) and all(pairs[pair] > LEVEL for pair in combinations(names[first : last + 2], 2)):
            last += 1
        if last > first and not any(last <= other for _, other in cliques):
            cliques.append((first, last))
    p = float(friedmanchisquare(*matrix).pvalue) if len(names) > 2 else math.nan
    return Ranking(names, tuple(ranks[order].tolist()), len(shared), p, pairs, tuple(cliques))


def correct_by_holm(found: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """Correct p-values by Holm's steps."""
    corrected: dict[tuple[str, str], float] = {}
    largest = 0.0
    for place, pair in enumerate(sorted(found, key=lambda pair: found[pair])):
        largest = max(largest, min(1.0, (len(found) - place) * found[pair]))
        corrected[pair] = largest
    return corrected
