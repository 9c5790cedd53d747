"""Statistics over many data sets: paired tests, and how likely a difference is of practical size.

Values are paired by split and averaged over the splits of a data set; data sets are what is drawn. The Bayesian
signed-rank test (Benavoli et al., 2014) gives the probabilities that a difference is below, inside and above a region
of practical equivalence: weights of the data sets are drawn from a Dirichlet distribution, with half a data set without
difference.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon

Values = NDArray[np.float64]
SUPPORTED, CONTRADICTED, UNDECIDED = "supported", "contradicted", "undecided"  # verdicts on a statement
LEAST_PROBABILITY = 0.95  # of a verdict
LEAST_DATASETS = 6  # of fewer, Wilcoxon's test cannot reach its level
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
        if len(self.by_dataset) < LEAST_DATASETS:
            return UNDECIDED
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
