"""The vectorised Fisher test against scipy's own."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import fisher_exact, hypergeom
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.kernels.quinlan import find_p
from secateur.tree import shares
from secateur.tree.shares import fisher_greater


@st.composite
def tables(draw: st.DrawFn, most: int = 60) -> tuple[int, int, int, int]:
    n, other_n = draw(st.integers(1, most)), draw(st.integers(0, most))
    return draw(st.integers(0, n)), n, draw(st.integers(0, other_n)), other_n


@given(st.lists(tables(), min_size=1, max_size=20))
@settings(max_examples=150, deadline=None)
def test_it_equals_scipys_one_sided_test(drawn: list[tuple[int, int, int, int]]) -> None:
    k, n, other_k, other_n = np.array(drawn).T
    expected = [fisher_exact([[a, b - a], [c, d - c]], alternative="greater").pvalue for a, b, c, d in drawn]
    assert fisher_greater(k, n, other_k, other_n) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@given(st.lists(tables(most=400), min_size=1, max_size=20), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_a_table_has_the_same_p_in_any_company(drawn: list[tuple[int, int, int, int]], size: int) -> None:
    alone = [fisher_greater(*table).item() for table in drawn]
    with mock.patch.object(shares, "SLICE", size):
        assert fisher_greater(*np.array(drawn).T).tolist() == alone


def test_long_tails_agree_with_the_hypergeometric_distribution() -> None:
    rng = np.random.default_rng(0)
    n, other_n = rng.integers(1, 200_000, 300), rng.integers(0, 500_000, 300)
    k, other_k = rng.binomial(n, 0.6), rng.binomial(other_n, 0.6)
    expected = hypergeom.sf(k - 1, n + other_n, k + other_k, n)
    assert fisher_greater(k, n, other_k, other_n) == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_the_whole_tail_is_exactly_one() -> None:
    assert fisher_greater([0, 3, 5], [4, 9, 5], [7, 4, 0], [9, 4, 0]).tolist()[0] == 1.0
    assert fisher_greater([5], [5], [0], [0]).tolist() == [1.0]


def test_weighted_counts_move_smoothly_between_whole_ones() -> None:
    k = np.array([6.0, 6.5, 7.0])
    p = fisher_greater(k, np.full(3, 10.0), np.full(3, 3.0), np.full(3, 10.0))
    assert p[0] > p[1] > p[2]


def test_a_p_value_that_equals_alpha_is_not_above_it() -> None:
    X = np.array([[0.0]] + [[1.0]] * 9)
    y = np.array(["a"] + ["a"] * 2 + ["b"] * 7)
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    kept = secateur.simplify(model, X, y, method="quinlan", alpha=0.3, each_leaf=True)[0]  # p = 3/10
    assert [reason.kind for reason in kept.reasons.values()] == ["significant"]
    gone = secateur.simplify(model, X, y, method="quinlan", alpha=0.29, each_leaf=True)[0]
    assert [reason.kind for reason in gone.reasons.values()] == ["not-significant"]


@given(st.lists(tables(most=400), min_size=1, max_size=20))
@settings(max_examples=100, deadline=None)
def test_the_kernel_of_quinlan_gives_the_same_p(drawn: list[tuple[int, int, int, int]]) -> None:
    log_gamma = gammaln(np.arange(802, dtype=np.float64))
    for table in drawn:
        expected = fisher_greater(*table).item()
        p = find_p(log_gamma, np.array(table), -1.0)
        assert p == pytest.approx(expected, rel=1e-9, abs=1e-12)
        for limit in (0.01, 0.05, 0.5):  # where it ends early, it is on the same side
            if expected != pytest.approx(limit, rel=0.01):
                assert (find_p(log_gamma, np.array(table), limit) > limit) == (expected > limit)
