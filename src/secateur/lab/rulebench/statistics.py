"""Statistics over many data sets: ranks, paired tests, and how likely a difference is of practical size.

Values are paired by split and averaged over the splits of a data set; data sets are what is drawn. Friedman's test asks
whether any method differs, Wilcoxon's signed ranks with Holm's correction which pairs do. The Bayesian signed-rank test
(Benavoli et al., 2014) gives the probabilities that a difference is below, inside and above a region of practical
equivalence: weights of the data sets are drawn from a Dirichlet distribution, with half a data set without difference.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, wilcoxon

Values = NDArray[np.float64]
SUPPORTED, CONTRADICTED, UNDECIDED = "supported", "contradicted", "undecided"  # verdicts on a statement
LEVEL = 0.05
LEAST_PROBABILITY = 0.95  # of a verdict
PRIOR = 0.5  # data sets without difference
N_DRAWS = 4000


@dataclass(frozen=True)
class Comparison:
    """Paired differences of two methods, the first minus the second.

    Attributes
    ----------
    by_dataset : dict of str to float
        Mean difference of each data set.
    typical : float
        Hodges and Lehmann's estimate: the median of the means of all pairs of data sets.
    p : float
        Of Wilcoxon's signed-rank test over data sets, two-sided; 1 if nothing differs.
    worst : tuple of str and float
        The data set and the difference of the split on which the first method does worst beside the second.
    """

    by_dataset: dict[str, float]
    typical: float
    p: float
    worst: tuple[str, float]

    @property
    def n_above(self) -> int:
        """Number of data sets on which the first is larger."""
        return sum(value > 0 for value in self.by_dataset.values())

    def probabilities(self, rope: float = 0.0) -> tuple[float, float, float]:
        """Probabilities that the difference is below -rope, within it, and above."""
        return signed_rank_probabilities(np.array(list(self.by_dataset.values())), rope)

    def judge(self, rope: float = 0.0, *, sign: int = 1, or_equal: bool = False) -> str:
        """Judge that the first is larger, or with -1 smaller, beyond the region; ``or_equal`` takes the region, too."""
        sides = self.probabilities(rope)
        chance = sides[1 + sign] + (sides[1] if or_equal else 0.0)
        if chance >= LEAST_PROBABILITY:
            return SUPPORTED
        return CONTRADICTED if 1 - chance >= LEAST_PROBABILITY else UNDECIDED


def compare_pairs(differences: Mapping[str, Values], *, smaller_is_better: bool = False) -> Comparison:
    """Compare by the differences of every split of each data set."""
    means = {dataset: float(found.mean()) for dataset, found in differences.items()}
    values = np.array(list(means.values()))
    walsh = (values[:, None] + values)[np.triu_indices(len(values))] / 2
    p = float(wilcoxon(values).pvalue) if values.any() else 1.0
    splits = [(dataset, value) for dataset, found in differences.items() for value in found.tolist()]
    worst = max(splits, key=lambda split: split[1] if smaller_is_better else -split[1])
    return Comparison(means, float(np.median(walsh)), p, worst)


def signed_rank_probabilities(values: Values, rope: float, seed: int = 0) -> tuple[float, float, float]:
    """Probabilities that the mean of two data sets drawn from all is below, within and above the region."""
    found = np.append(values, 0.0)
    sums = (found[:, None] + found[None, :]) / 2
    weights = np.random.default_rng(seed).dirichlet([*np.ones(len(values)), PRIOR], N_DRAWS)
    below, above = (((weights @ part.astype(np.float64)) * weights).sum(axis=1) for part in (sums < -rope, sums > rope))
    largest = np.argmax(np.column_stack([below, 1 - below - above, above]), axis=1)
    counted = np.bincount(largest, minlength=3) / N_DRAWS
    return float(counted[0]), float(counted[1]), float(counted[2])


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
