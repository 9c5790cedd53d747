"""Scores of probabilities from counts against sklearn.metrics on single rows, and the numbers of an audit by hand."""

from __future__ import annotations

import inspect
import json
import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import oracles
import pandas as pd
import pytest
import strategies
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from method_settings import own_settings
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import RuleClassifier
from secateur.choosing import choose_lines
from secateur.cli import diagnose as diagnose_command
from secateur.errors import InputError, ParameterError
from secateur.methods import METHODS as METHODS_BY_NAME
from secateur.methods.contract import DEFAULT_TOLERANCE, TOLERANCES
from secateur.report import summarize
from secateur.results.statistics import score_shares
from secateur.tree.tree import Tree

METHODS = st.sampled_from(["none", "sibling", "redundancy", "exact", "faithful", "mismatch", "quinlan"])


def slow_scores(truth: Any, shares: Any, weights: Any, n_classes: int) -> tuple[float, float, float]:
    """The same scores by sklearn.metrics, row by row."""
    labels = list(range(n_classes))
    brier = brier_score_loss(truth, shares, sample_weight=weights, labels=labels)
    loss = log_loss(truth, shares, sample_weight=weights, labels=labels)
    seen = {label for label, weight in zip(truth, weights, strict=True) if weight > 0}
    if len(seen) < n_classes:
        return brier, loss, math.nan
    if n_classes == 2:
        return brier, loss, roc_auc_score(truth, shares[:, 1], sample_weight=weights)
    areas = [roc_auc_score(truth == label, shares[:, label], sample_weight=weights) for label in labels]
    return brier, loss, float(np.mean(areas))


@given(data=st.data(), n_classes=st.integers(2, 4))
@settings(max_examples=150, deadline=None)
def test_scores_from_counts_equal_those_of_single_rows(data: st.DataObject, n_classes: int) -> None:
    n_groups = data.draw(st.integers(1, 5))
    cells = st.integers(0, 3)
    held = np.array(data.draw(strategies.lists_of(strategies.lists_of(cells, n_classes), n_groups)), dtype=float)
    assume((held.sum(axis=1) > 0).all())
    shares = held / held.sum(axis=1, keepdims=True)  # with zeros, ones and ties among them
    group = np.array(data.draw(st.lists(st.integers(0, n_groups - 1), min_size=1, max_size=25)))
    truth = np.array(data.draw(strategies.lists_of(st.integers(0, n_classes - 1), len(group))))
    weights = np.array(data.draw(strategies.lists_of(st.sampled_from([0.0, 0.5, 1.0, 3.0]), len(group))))
    assume(weights.sum() > 0)
    counts = np.zeros((n_groups, n_classes))
    np.add.at(counts, (group, truth), weights)
    expected = slow_scores(truth, shares[group], weights, n_classes)
    assert tuple(score_shares(shares, counts)) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_certainty_that_is_right_loses_as_little_as_sklearn_says() -> None:
    certain = score_shares(np.eye(2), np.diag([2.0, 3.0]))
    assert certain.log_loss == pytest.approx(log_loss([0, 1], np.eye(2)), rel=1e-12, abs=0)
    assert certain.log_loss > 0  # a loss of -0.0 would be printed with its sign


@given(tree=strategies.trees(), method=METHODS, data=st.data())
@settings(max_examples=100, deadline=None)
def test_the_audit_of_probabilities_equals_its_slow_version(tree: Tree, method: str, data: st.DataObject) -> None:
    X, y, w = data.draw(strategies.labelled_rows(tree, weights=data.draw(st.booleans())))
    X_test, y_test, w_test = data.draw(strategies.labelled_rows(tree, weights=True))
    assume(tree.n_classes > 1)
    own = own_settings(method, tolerance=0.2)
    rules = secateur.simplify(tree, X, tree.classes[y], sample_weight=w, method=method, each_leaf=True, **own)
    audit = rules.audit(X_test, tree.classes[y_test], sample_weight=w_test)
    by_rules, by_tree = rules.predict_proba(X_test), rules.predict_proba(X_test, of="leaf")
    found = (audit.brier, audit.log_loss, audit.auc), (audit.tree_brier, audit.tree_log_loss, audit.tree_auc)
    for numbers, shares in zip(found, (by_rules, by_tree), strict=True):
        expected = slow_scores(y_test, shares, w_test, tree.n_classes)
        assert numbers == pytest.approx(expected, abs=1e-9, nan_ok=True)
    apart = np.abs(by_rules - by_tree).sum(axis=1) / 2
    assert audit.mean_abs_delta_p == pytest.approx(np.average(apart, weights=w_test), abs=1e-12)
    counts = np.asarray(w_test) > 0
    assert audit.max_abs_delta_p == pytest.approx(apart[counts].max(), abs=1e-12)
    assert audit.n_rows == int(counts.sum())
    moved, beyond = [], 0
    for rule in rules:
        c = tree.leaf_class[rule.leaf_id]
        after = oracles.support_and_reliability(tree, X, y, w, rule.kept_ids, c)[1]
        before = oracles.support_and_reliability(tree, X, y, w, oracles.path(tree, rule.leaf_id), c)[1]
        if after is not None and before is not None:
            moved.append(abs(after - before))
            move = oracles.find_move(tree, X, y, w, rule.leaf_id, rule.kept_ids)
            beyond += not oracles.is_at_most(abs(move), own.get("tolerance", 0.05))
    tolerance = own.get("tolerance", 0.05)
    assert (audit.tolerance, audit.has_own_tolerance) == (tolerance, "tolerance" in own)
    if moved:
        expected = max(moved), sum(moved) / len(moved), 100 * beyond / len(moved)
        assert (audit.max_abs_d, audit.mean_abs_d, audit.share_beyond_tolerance) == pytest.approx(expected)
        assert method not in ("faithful", "mismatch") or audit.share_beyond_tolerance == 0  # its guarantee


@given(tree=strategies.trees(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_the_trees_own_probabilities_are_the_shares_of_the_leaf_that_a_row_reaches(
    tree: Tree, data: st.DataObject
) -> None:
    X, y, _ = data.draw(strategies.labelled_rows(tree))
    rules = secateur.simplify(tree, X, tree.classes[y], method="mismatch", tolerance=0.5, each_leaf=True)
    for share, row in zip(rules.predict_proba(X, of="leaf"), X, strict=True):
        counts = tree.counts[oracles.walk(tree, row)]
        certain = np.eye(tree.n_classes)[tree.leaf_class[oracles.walk(tree, row)]]
        assert share.tolist() == (counts / counts.sum() if counts.sum() else certain).tolist()


@pytest.mark.parametrize("weight", [None, "balanced"])
def test_of_leaf_is_what_the_model_predicts(weight: str | None, tmp_path: Any) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0, class_weight=weight).fit(X[::2], y[::2])
    rules = secateur.simplify(model, X[::2], y[::2], tolerance=0.2, method="mismatch", each_leaf=True)
    expected = model.predict_proba(X)
    np.testing.assert_allclose(rules.predict_proba(X, of="leaf"), expected, rtol=0, atol=1e-15)
    X.to_parquet(tmp_path / "rows.parquet")
    found = rules.predict_proba(tmp_path / "rows.parquet", of="leaf")
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)
    classifier = secateur.RuleClassifier(model, method="mismatch", tolerance=0.2).fit(X[::2], y[::2])
    np.testing.assert_allclose(classifier.predict_proba(X, of="leaf"), expected, rtol=0, atol=1e-15)
    audit = rules.audit(X[1::2], y[1::2])
    assert audit.tree_auc == pytest.approx(roc_auc_score(y[1::2], expected[1::2, 1]))
    assert audit.mean_abs_delta_p > 0


def test_of_leaf_of_a_forest_is_what_the_forest_predicts() -> None:
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    rules = secateur.simplify(forest, X, y, tolerance=0.2, method="mismatch", each_leaf=True)
    np.testing.assert_array_equal(rules.predict_proba(X, of="leaf"), forest.predict_proba(X))
    assert not np.array_equal(rules.predict_proba(X), forest.predict_proba(X))


def test_another_word_is_rejected_in_one_sentence() -> None:
    X, y = load_wine(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    forest = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y)
    sentence = (
        r"^Expected of as 'line' \(the rules' probabilities\) or 'leaf' \(the tree's own\), found 'leef'\. "
        r"Did you mean 'leaf'\?$"
    )
    made = (
        secateur.simplify(model, X, y, method="mismatch", each_leaf=True),
        secateur.simplify(forest, X, y, method="mismatch", each_leaf=True),
        secateur.RuleClassifier(model).fit(X, y),
    )
    for one in made:
        with pytest.raises(ParameterError, match=sentence):
            one.predict_proba(X, of="leef")


def test_without_deletions_the_share_of_each_rule_is_undefined_and_said_in_words() -> None:
    X, y = load_wine(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    audit = secateur.simplify(model, X, y, method="none", each_leaf=True).audit(X, y)
    assert math.isnan(audit.irc_per_rule)
    assert audit.to_dict()["irc_per_rule"] is None
    assert "no rule was shortened" in str(audit)
    assert "nan" not in str(audit)
    assert audit == secateur.simplify(model, X, y, method="none", each_leaf=True).audit(X, y)
    unknown = replace(audit, conflict_interval=(math.nan, math.nan))
    assert json.loads(json.dumps(unknown.to_dict(), allow_nan=False))["conflict_interval"] == [None, None]
    assert unknown == replace(audit, conflict_interval=(float("nan"), float("nan")))
    assert audit != secateur.simplify(model, X, y, method="mismatch", each_leaf=True).audit(X, y)
    assert (audit.max_abs_d, audit.mean_abs_delta_p, audit.share_beyond_tolerance) == (0, 0, 0)
    assert (audit.brier, audit.log_loss, audit.auc) == (audit.tree_brier, audit.tree_log_loss, audit.tree_auc)


def test_without_rows_or_without_a_class_what_is_not_known_is_left_out() -> None:
    X, y = load_wine(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    audit = secateur.simplify(model, method="exact", each_leaf=True).audit(X[y < 2], y[y < 2])
    assert all(map(math.isnan, (audit.max_abs_d, audit.mean_abs_d, audit.share_beyond_tolerance, audit.auc)))
    assert "nan" not in str(audit)
    assert "AUC" not in str(audit)
    assert "made without rows, so they have none of their own and give the tree's: Brier score" in str(audit)
    assert ", AUC " not in str(audit)


@pytest.mark.parametrize(
    ("method", "words"),
    {
        "budgeted": "of deletions that bring rows into conflict; the method does not hold its exact ones to it",
        "faithful": "the method's own tolerance, for every rule",
        "mismatch": "the method's own tolerance, for every rule",
        "exact": "the method has no tolerance of its own",
    }.items(),
)
def test_the_tolerance_is_called_what_the_method_makes_of_it(method: str, words: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    audit = secateur.simplify(model, X, y, method=method, each_leaf=True).audit(X, y)
    assert str(audit).endswith(f" % of rules beyond 5 points ({words})")
    if "every rule" in words:
        assert audit.share_beyond_tolerance == 0


def test_there_is_one_default_tolerance() -> None:
    made = [method().tolerance for method in map(type, METHODS_BY_NAME.values()) if "tolerance" in method().parameters]
    asked = [secateur.diagnose, RuleClassifier, secateur.simplify]
    default, *of_the_form = [inspect.signature(one).parameters["tolerance"].default for one in asked]
    assert len(made) >= 3
    assert {*made, default, diagnose_command.DEFAULT_TOLERANCE} == {DEFAULT_TOLERANCE}
    assert of_the_form == [None, None]  # that of the method, or of a list
    assert DEFAULT_TOLERANCE in TOLERANCES


@pytest.mark.parametrize("size", [1e-200, 1e-170, 1e160, 1e200])
def test_weights_that_cannot_be_squared_are_rejected_alike(size: float, tmp_path: Any) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :4]
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, each_leaf=True)
    X.assign(y=y, w=size).to_parquet(tmp_path / "rows.parquet")
    sentence = r"^sample_weight holds weights whose squares are too small or too large for a float: divide"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=sentence):
            rules.audit(X, y, sample_weight=np.full(len(X), size))
        with pytest.raises(InputError, match=sentence):
            rules.audit(tmp_path / "rows.parquet", "y", sample_weight="w")
        one = np.where(np.arange(len(X)) % 2, 1.0, size)
        with pytest.raises(InputError, match=sentence):
            rules.audit(X, y, sample_weight=np.where(rules.covers(X)[:, 0], size, 1.0))
        if size < 1:
            assert rules.audit(X, y, sample_weight=one).n_rows == len(X)
        few, all_alike = choose_lines(rules), np.full(len(X), size)
        for ask in (few.audit, few.report):
            with pytest.raises(InputError, match=sentence):
                ask(X, y, sample_weight=all_alike)
        with pytest.raises(InputError, match=sentence):
            few.audit(tmp_path / "rows.parquet", "y", sample_weight="w")


def test_rows_of_weight_0_are_not_counted_by_any_audit(tmp_path: Any) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, weights = X.iloc[:, :4], (np.arange(len(X)) % 3 > 0).astype(float)
    X.assign(y=y, w=weights).to_parquet(tmp_path / "rows.parquet")
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, each_leaf=True)
    for audited in (rules, choose_lines(rules), secateur.simplify(forest, X, y, each_leaf=True)):
        in_memory = audited.audit(X, y, sample_weight=weights)
        in_batches = audited.audit(tmp_path / "rows.parquet", "y", sample_weight="w")
        assert in_memory.n_rows == in_batches.n_rows == int(weights.sum())


def test_a_guess_is_the_commonest_class_of_the_training_rows() -> None:
    X = np.arange(30.0)[:, None]
    y = np.array(["a"] * 18 + ["b"] * 12)
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, each_leaf=True)
    new, labels = X[10:], y[10:]  # mostly of the other class
    for audited in (rules, choose_lines(rules)):
        audit = audited.audit(new, labels)
        assert (audit.baseline_class, audit.baseline) == ("a", 100 * 8 / 20)
    answer = summarize(rules, new, labels)["answer"]
    assert (rules.tree.class_names[answer["guess"]], answer["guess_accuracy"]) == ("a", 100 * 8 / 20)


def test_an_audit_of_a_list_has_no_nan_within_a_tuple() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    audit = secateur.simplify(model, X, y).audit(X, y)
    told = replace(audit, agreement_interval=(math.nan, 1.0), auc=math.nan).to_dict()
    assert (told["agreement_interval"], told["auc"]) == ((None, 1.0), None)


def test_batches_give_the_same_numbers_as_memory(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(5_000, 4)), columns=list("abcd"))
    frame["y"] = (frame.a + rng.normal(size=5_000) > 0).astype(int)
    train = frame[:1_000]
    model = DecisionTreeClassifier(max_depth=7, random_state=0).fit(train[list("abcd")], train.y)
    rules = secateur.simplify(model, train[list("abcd")], train.y, tolerance=0.1, method="mismatch", each_leaf=True)
    for place in range(4):
        frame[place * 1_250 : (place + 1) * 1_250].to_parquet(tmp_path / f"{place}.parquet")
    in_memory = rules.audit(frame[list("abcd")], frame.y)
    assert in_memory == rules.audit(str(tmp_path / "*.parquet"), "y")
    assert in_memory.auc != in_memory.tree_auc
