"""The one rule: intervals of paired means, and what they say to a number or a bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student

from benchmarks.paper.verdicts import CONTRADICTED, SUPPORTED, UNDECIDED, Estimate, combine, estimate, mean_of, ratio_of


def test_one_data_set_has_the_textbook_interval_for_the_mean_of_another_30_splits() -> None:
    values = np.random.default_rng(0).normal(5, 2, size=30)
    ours = estimate([(1.0, values)])
    reach = student.ppf(0.975, 29) * values.std(ddof=1) * math.sqrt(1 / 30 + 1 / 30)
    assert ours == Estimate(
        *(pytest.approx(number) for number in (values.mean(), ours.value - reach, ours.value + reach))
    )


def test_another_run_of_30_splits_lies_inside_as_often_as_promised() -> None:
    rng, inside = np.random.default_rng(1), 0
    for _ in range(600):
        spreads = rng.uniform(0.1, 5, size=8)
        ours, theirs = ([rng.normal(0, one, size=30) for one in spreads] for _ in range(2))
        found = mean_of(ours)
        inside += found.low <= np.mean([values.mean() for values in theirs]) <= found.high
    assert 0.93 <= inside / 600 <= 0.97


def test_a_ratio_is_that_of_the_means_and_its_interval_covers_as_promised() -> None:
    rng, inside = np.random.default_rng(2), 0
    for _ in range(600):
        runs = []
        for _ in range(2):
            below = [rng.normal(10, 1, size=30) for _ in range(4)]
            runs.append(([3 * one + rng.normal(0, 1, size=30) for one in below], below))
        found = ratio_of(*runs[0])
        theirs = np.mean([v.mean() for v in runs[1][0]]) / np.mean([v.mean() for v in runs[1][1]])
        inside += found.low <= theirs <= found.high
    assert found.value == pytest.approx(np.mean(runs[0][0]) / np.mean(runs[0][1]))
    assert 0.93 <= inside / 600 <= 0.97


def test_pairs_are_judged_by_their_differences() -> None:
    rng = np.random.default_rng(3)
    shared = rng.normal(0, 10, size=30)
    ours, other = shared + 1 + rng.normal(0, 0.1, size=30), shared
    assert mean_of([ours - other]).lies(0.0) == SUPPORTED
    assert estimate([(1.0, ours), (-1.0, other)]).lies(0.0) == UNDECIDED  # as if they were not pairs


@pytest.mark.parametrize(
    ("interval", "number", "bound", "verdicts"),
    [
        ((9.5, 10.5), 10, 11, (SUPPORTED, SUPPORTED)),
        ((10.5, 11.5), 10, 11, (UNDECIDED, UNDECIDED)),
        ((11.5, 12.5), 10, 11, (CONTRADICTED, CONTRADICTED)),
        ((0.0, 0.0), 0, 0, (SUPPORTED, SUPPORTED)),
        ((-math.inf, math.inf), 10, 11, (UNDECIDED, UNDECIDED)),
    ],
)
def test_a_number_and_a_bound_get_one_rule(
    interval: tuple[float, float], number: float, bound: float, verdicts: tuple[str, str]
) -> None:
    ours = Estimate(10.0, *interval)
    assert (ours.is_near(number), ours.lies(high=bound)) == verdicts


def test_few_splits_decide_nothing_however_alike_they_are() -> None:
    ours = mean_of([np.array([1.0, 1.0, 1.0001])])
    assert ours.is_near(50.0) == UNDECIDED
    assert "too few splits" in ours.show()


def test_a_statement_of_several_parts_needs_all_of_them() -> None:
    assert combine([SUPPORTED, SUPPORTED]) == SUPPORTED
    assert combine([SUPPORTED, UNDECIDED]) == UNDECIDED
    assert combine([UNDECIDED, CONTRADICTED, SUPPORTED]) == CONTRADICTED
