"""Lines that predict values are audited as those of classes are, with means in the place of shares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind, ttest_rel
from sklearn.tree import DecisionTreeRegressor

import secateur
from secateur.results.answer import FEW_ROWS, describe_rows
from secateur.results.statistics import compare_means


def make_rows(seed: int, n_rows: int, raised: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two columns; the targets of those with a large first one may be raised."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (n_rows, 2))
    return X, np.floor(X[:, 0]) * 3 + rng.normal(0, 1, n_rows) + raised * (X[:, 0] > 7)


X, Y = make_rows(0, 600)
RULES = secateur.simplify(DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, Y), X, Y, tolerance=0.5)


@given(st.integers(0, 10_000), st.integers(2, 9), st.integers(2, 9))
def test_means_are_compared_as_scipy_does(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.normal(size=n), rng.normal(0.5, 2, size=m)
    low, high, p = compare_means([[one.mean(), one.std()]], [n], [[other.mean(), other.std()]], [m])
    found = ttest_ind(one, other, equal_var=False)
    assert p[0] == pytest.approx(found.pvalue, rel=1e-9)
    assert (low[0], high[0]) == pytest.approx(tuple(found.confidence_interval(0.95)), rel=1e-9)


def test_no_rows_and_no_spread_are_not_compared() -> None:
    moments = np.array([[1.0, 0.5], [1.0, 0.0], [np.nan, np.nan]])
    assert np.isnan(compare_means(moments, [1, 5, 0], [[1.0, 0.5], [2.0, 0.0], [1.0, 1.0]], [9, 5, 9])[2]).all()


def test_each_line_is_counted_as_by_hand() -> None:
    now, said = make_rows(1, 500)
    found = RULES.audit(now, said)
    line = RULES.apply(now)
    for place, one in enumerate(found.per_line):
        own, trained = said[line == place], Y[RULES.apply(X) == place]
        assert one.support == len(own)
        assert (one.mean, one.spread) == pytest.approx((own.mean(), own.std()))
        assert one.mean_error == pytest.approx(np.abs(own - RULES.answers[place]).mean())
        assert (one.training_mean, one.training_spread) == pytest.approx((trained.mean(), trained.std()))
        assert one.change == pytest.approx(own.mean() - trained.mean())
        assert f"off by {np.abs(own - RULES.answers[place]).mean():.4g}"[:12] in str(one)
        assert "reliability" not in found.per_line.to_dicts()[place]
    assert found.rmse == pytest.approx(np.sqrt(((RULES.predict(now) - said) ** 2).mean()))
    assert found.r2 == pytest.approx(1 - found.rmse**2 / said.var())
    assert {"accuracy", "brier"}.isdisjoint(found.to_dict())


def test_lines_whose_means_moved_are_found_and_others_are_not() -> None:
    earlier = RULES.audit(*make_rows(2, 900))
    assert RULES.audit(*make_rows(3, 900), since=earlier).per_line.moved == []
    later = RULES.audit(*make_rows(3, 900, raised=2.0), since=earlier)
    raised = {one.line - 1 for one in later.per_line.moved}
    assert raised
    assert raised <= set(RULES.apply(np.array([[limit, 5.0] for limit in np.arange(6.5, 10, 0.1)])).tolist())
    assert "by Welch's test of means" in later.per_line.notes[0]
    measured = RULES.measure(*make_rows(4, 900, raised=2.0))
    assert measured.did_not_hold_up.any()
    assert "did not hold up" in str(measured)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_rules_of_leaves_count_the_rows_that_they_cover(is_weighted: bool) -> None:
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, Y)
    rules = secateur.simplify(model, X, Y, tolerance=3.0, each_leaf=True)
    same = rules.audit(X, Y)
    assert same.per_line.support.tolist() == rules.support.tolist()
    assert same.per_line.psi == 0
    assert not same.moved  # these are the training rows
    now, said = make_rows(1, 500)
    weights = np.arange(500) % 4 / 2 if is_weighted else None
    heavy = np.ones(500) if weights is None else weights
    found, covers = rules.audit(now, said, sample_weight=weights), rules.covers(now)
    assert covers.sum() > 500
    for place, one in enumerate(found.per_line):
        own = covers[:, place]
        assert one.support == heavy[own].sum()
        mean = np.average(said[own], weights=heavy[own])
        spread = np.average((said[own] - mean) ** 2, weights=heavy[own]) ** 0.5
        assert (one.mean, one.spread) == pytest.approx((mean, spread))
        off = np.average(np.abs(said[own] - rules.answers[place]), weights=heavy[own])
        assert one.mean_error == pytest.approx(off)
    assert found.rmse == pytest.approx(np.average((rules.predict(now) - said) ** 2, weights=heavy) ** 0.5)


def test_unseen_rows_of_the_rules_of_leaves_are_counted() -> None:
    rules = secateur.simplify(
        DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, Y), X, Y, tolerance=3.0, each_leaf=True
    )
    now, said = make_rows(1, 500)
    measured = rules.measure(now, said)
    assert measured.unseen_counts[:, 0].tolist() == rules.covers(now).sum(axis=0).tolist()  # type: ignore[index]
    assert f"{measured.unseen_counts[0, 0]:.0f} unseen rows (" in str(measured)  # type: ignore[index]
    assert not measured.did_not_hold_up.any()
    again = secateur.Rules.from_json(measured.to_json())
    assert again.to_json() == measured.to_json()
    assert again.verify(X, Y, unseen=(now, said)).ok
    assert not again.verify(X, Y, unseen=(now[:-1], said[:-1])).ok


def test_swaps_of_values_are_a_count_by_hand() -> None:
    later = secateur.simplify(
        DecisionTreeRegressor(max_depth=4, random_state=1).fit(X[200:], Y[200:]), X[200:], Y[200:], tolerance=0.3
    )
    now, said = make_rows(1, 500)
    found = RULES.diff(later, now, said).swaps
    assert found is not None
    before, after = RULES.predict(now), later.predict(now)
    old, new = np.abs(before - said), np.abs(after - said)
    assert found.n_changed == (before != after).sum() > 0
    assert found.apart == pytest.approx((np.abs(after - before)[before != after].mean(), np.abs(after - before).max()))
    for one in found.swaps:
        rows = (before == one.old) & (after == one.new)
        assert (one.rows, one.old_right, one.new_right) == (
            rows.sum(),
            (rows & (old < new)).sum(),
            (rows & (new < old)).sum(),
        )
    gain, low, high = found.gain  # type: ignore[misc]
    assert gain == pytest.approx(old.mean() - new.mean())
    limits = ttest_rel(old, new).confidence_interval(0.95)
    assert (low, high) == pytest.approx((limits.low, limits.high))
    assert found.still_holds == (not low > 0)
    assert ("Nothing shows that the new rules are better" in str(found)) == (low <= 0 <= high)
    assert ("better on these rows, beyond chance" in str(found)) == (low > 0)
    assert f"The mean absolute error changes by {new.mean() - old.mean():+.4g} (95 % interval" in str(found)
    assert "nearer to the target now" in str(found)
    same = RULES.diff(RULES, now, said).swaps
    assert (same.n_changed, same.gain, same.still_holds) == (0, (0.0, 0.0, 0.0), True)  # type: ignore[union-attr]
    assert RULES.diff(later, now).swaps.gain is None  # type: ignore[union-attr]
    worse = RULES.diff(DecisionTreeRegressor(max_depth=1).fit(X, Y), now, said).swaps
    assert worse is not None
    assert "The new rules are worse on these rows, beyond chance, if none of them made either list." in str(worse)


def test_each_line_says_whether_it_held_up_where_it_has_rows_enough() -> None:
    now, said = make_rows(4, 900, raised=4.0)
    line = RULES.apply(now)
    rare = int(line[now[:, 0].argmax()])
    is_kept = (line != rare) | (np.cumsum(line == rare) <= FEW_ROWS - 1)
    measured = RULES.measure(now[is_kept], said[is_kept])
    fell, is_few = measured.did_not_hold_up, measured.unseen_counts[:, 0] < FEW_ROWS  # type: ignore[index]
    assert (fell & ~is_few).any()
    assert (~fell & ~is_few).any()
    assert is_few.any()
    for one in measured.lines:
        assert ("did not hold up" in describe_rows(one)) == (fell[one.index] and not is_few[one.index])
        assert ("too few to tell" in describe_rows(one)) == is_few[one.index]
