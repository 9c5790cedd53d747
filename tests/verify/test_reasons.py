"""Numbers behind reasons: true ones hold on every tree, and a trial is recounted as row by row."""

from __future__ import annotations

import numpy as np
import pytest
import strategies
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from method_settings import own_settings

import secateur
from secateur.errors import InputError


@pytest.mark.parametrize("method", secateur.METHODS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_true_numbers_hold(method: str, data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    X, y, weights = data.draw(strategies.labelled_rows(tree))
    labels = tree.classes[y]
    own = own_settings(method, tolerance=data.draw(st.sampled_from([0.0, 0.05, 0.3])))
    try:
        rules = secateur.simplify(tree, X, labels, sample_weight=weights, method=method, each_leaf=True, **own)
    except InputError:  # equal rows with different labels are no domain
        reject()
    read = secateur.Rules.from_json(rules.to_json())
    found = read.verify(X, labels, sample_weight=weights, model=tree)
    assert found.failures == ()


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_trial_is_recounted_as_row_by_row(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    X, y, _ = data.draw(strategies.labelled_rows(tree))
    rules = secateur.simplify(tree, X, tree.classes[y], method="mismatch", tolerance=0.1, each_leaf=True)
    paths, columns = rules.paths, rules.deletions
    for entry in np.flatnonzero(~np.isnan(columns.after)).tolist():
        rule = int(paths.rule[entry])
        span = paths.entries(rule)
        is_joint = columns.why[entry] == secateur.methods.Why.RELIABILITY_JOINT
        own = range(span.start, span.stop)
        tried = [one for one in own if one == entry or (columns.deleted[one] and (is_joint or one > entry))]
        gone = np.zeros_like(columns.deleted)
        gone[tried] = True
        trial = rules.change(deletions=secateur.methods.Deletions(**{**vars(columns), "deleted": gone}))
        inside = trial.covers(X)[:, rule]
        share = (y[inside] == paths.leaf_class[rule]).mean()
        assert np.isclose(columns.after[entry], share)
