"""Each line of a list on new rows, against counting by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import InputError
from secateur.tree.tree import Tree

X, Y = load_breast_cancer(return_X_y=True)
MODEL = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:300], Y[:300])
RULES = secateur.simplify(MODEL, X[:300], Y[:300], budget=0.01)


@given(tree=strategies.trees(), data=st.data(), budget=st.sampled_from([0.0, 0.1]))
@settings(max_examples=30, deadline=None)
def test_every_row_counts_for_the_line_that_decides_it(tree: Tree, data: st.DataObject, budget: float) -> None:
    rows, y, _ = data.draw(strategies.labelled_rows(tree, weights=True))
    rules = secateur.simplify(tree, rows, tree.classes[y], budget=budget)
    new, truth, shares = data.draw(strategies.labelled_rows(tree, weights=True))
    found = rules.audit(new, tree.classes[truth], sample_weight=shares).per_line
    assert len(found) == rules.n_lines
    decider = rules.apply(new)
    weight = np.asarray(shares)
    before = rules.apply(rows)
    for place, one in enumerate(found):
        label = rules.lines[place].prediction
        mine = decider == place
        assert (one.line, one.prediction, one.d) == (place + 1, label, None)
        assert one.leaf_id == rules.lines[place].leaf_id
        assert one.support == pytest.approx(weight[mine].sum())
        if one.support:
            right = tree.classes[truth] == label
            assert one.reliability == pytest.approx(weight[mine & right].sum() / weight[mine].sum())
        then = before == place
        assert one.training_support == then.sum()
        if then.any():
            assert one.training_reliability == pytest.approx((tree.classes[y][then] == label).mean())
    assert sum(one.support for one in found) == pytest.approx(weight.sum())


def test_a_line_moved_if_fishers_test_says_so() -> None:
    found = RULES.audit(X[300:], Y[300:]).per_line
    plain = []
    for place, one in enumerate(found):
        then = RULES.decided_counts[place]
        label = list(RULES.tree.classes).index(one.prediction)
        mine = RULES.apply(X[300:]) == place
        now = np.bincount(Y[300:][mine], minlength=2)
        if not now.sum() or not then.sum():
            assert np.isnan(found.p_values[place])
            continue
        table = [[now[label], now.sum() - now[label]], [then[label], then.sum() - then[label]]]
        halves = [fisher_exact(table, alternative=side).pvalue for side in ("less", "greater")]
        plain.append(min(2 * min(halves), 1.0))
    order = np.argsort(plain)
    stepped = np.maximum.accumulate([min((len(plain) - k) * plain[i], 1.0) for k, i in enumerate(order)])
    expected = np.empty(len(plain))
    expected[order] = stepped
    tested = found.p_values[~np.isnan(found.p_values)]
    np.testing.assert_allclose(tested, expected, rtol=1e-9)
    assert [one.verdict for one in found.moved] == ["moved"] * int((expected <= 0.05).sum())
    rest = [place for place, line in enumerate(RULES.lines) if line.is_otherwise]
    assert len(rest) > 1
    assert all(found[place].text == RULES.lines[place].text for place in rest)
    assert "otherwise => " in found[rest[0]].text
    assert f"otherwise {RULES.lines[rest[0]].class_name}" in str(found)


def test_an_earlier_audit_is_compared_with() -> None:
    earlier = RULES.audit(X[300:430], Y[300:430])
    later = RULES.audit(X[430:], Y[430:], since=earlier).per_line
    assert [one.earlier_support for one in later] == [one.support for one in earlier.per_line]
    same = RULES.audit(X[300:430], Y[300:430], since=earlier).per_line
    assert not same.moved
    assert np.nanmax(np.abs(same.change)) == 0
    read = secateur.Rules.from_json(RULES.to_json())
    assert read.audit(X[430:], Y[430:], since=earlier).per_line == later


@pytest.mark.parametrize(
    ("since", "sentence"),
    [
        (lambda: 3, "Expected since as an earlier audit of these rules, found int"),
        (lambda: RULES.each_leaf.audit(X, Y), "The earlier audit is of other rules"),
        (lambda: secateur.simplify(MODEL, X[:300], Y[:300]).audit(X, Y), "The earlier audit is of other rules"),
    ],
)
def test_an_audit_of_something_else_is_rejected(since: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        RULES.audit(X, Y, since=since())


def test_the_numbers_of_an_audit_leave_out_single_lines() -> None:
    assert "per_line" not in RULES.audit(X, Y).to_dict()
    assert len(RULES.audit(X, Y).per_line.to_frame("pandas")) == RULES.n_lines
