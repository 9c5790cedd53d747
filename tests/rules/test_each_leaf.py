"""One rule for each leaf: prediction, coverage, audit and the numbers of each rule, against slow versions."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from method_settings import own_settings
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.tree.tree import Tree

METHODS = st.sampled_from(["none", "sibling", "redundancy", "exact", "faithful", "mismatch", "quinlan"])


@st.composite
def problems(draw: st.DrawFn) -> tuple[Tree, Any, Any, Any, Any, Any, str]:
    tree = draw(strategies.trees())
    X, y, w = draw(strategies.labelled_rows(tree, weights=draw(st.booleans())))
    X_test, y_test, _ = draw(strategies.labelled_rows(tree))
    return tree, X, y, w, X_test, y_test, draw(METHODS)


def simplify(problem: tuple[Any, ...], **parameters: Any) -> secateur.Rules:
    tree, X, y, w, _, _, method = problem
    return secateur.simplify(
        tree,
        X,
        tree.classes[y],
        sample_weight=w,
        method=method,
        each_leaf=True,
        **own_settings(method, tolerance=0.2),
        **parameters,
    )


def deletions(rules: secateur.Rules) -> dict[int, list[int]]:
    return {rule.leaf_id: list(rule.deleted_ids) for rule in rules}


@given(problem=problems())
@settings(max_examples=120, deadline=None)
def test_covers_apply_and_predict_equal_their_slow_versions(problem: tuple[Any, ...]) -> None:
    tree, X, y, w, X_test, _, _ = problem
    rules = simplify(problem)
    gone = deletions(rules)
    assert rules.covers(X_test).tolist() == oracles.covers(tree, gone, X_test)
    winners = oracles.winning_rule(tree, gone, X, y, w, X_test)
    assert rules.apply(X_test).tolist() == winners
    assert rules.predict(X_test).tolist() == tree.classes[oracles.predict(tree, gone, X, y, w, X_test)].tolist()


@given(problem=problems())
@settings(max_examples=120, deadline=None)
def test_support_and_reliability_are_recounted_from_raw_rows(problem: tuple[Any, ...]) -> None:
    tree, X, y, w, *_ = problem
    for rule in simplify(problem):
        c = tree.leaf_class[rule.leaf_id]
        path = oracles.path(tree, rule.leaf_id)
        assert (rule.support, rule.reliability) == oracles.support_and_reliability(tree, X, y, w, rule.kept_ids, c)
        source = (rule.source_support, rule.source_reliability)
        assert source == oracles.support_and_reliability(tree, X, y, w, path, c)


@given(problem=problems())
@settings(max_examples=120, deadline=None)
def test_the_audit_equals_its_slow_version(problem: tuple[Any, ...]) -> None:
    tree, X, y, w, X_test, y_test, _ = problem
    rules = simplify(problem)
    audit = rules.audit(X_test, tree.classes[y_test])
    for name, value in oracles.metrics(tree, deletions(rules), X, y, w, X_test, y_test).items():
        assert getattr(audit, name) == pytest.approx(value, abs=1e-9, nan_ok=True), name


@given(problem=problems())
@settings(max_examples=60, deadline=None)
def test_probabilities_are_the_class_shares_of_the_winning_rule(problem: tuple[Any, ...]) -> None:
    tree, X, y, w, X_test, *_ = problem
    rules = simplify(problem)
    shares = rules.predict_proba(X_test)
    assert shares.shape == (len(X_test), tree.n_classes)
    for share, winner in zip(shares, rules.apply(X_test), strict=True):
        rule = rules[int(winner)]
        assert share.sum() == pytest.approx(1)
        if rule.support:
            expected = [
                oracles.support_and_reliability(tree, X, y, w, rule.kept_ids, c)[1] for c in range(tree.n_classes)
            ]
            assert share == pytest.approx(expected)
        else:
            assert share[tree.leaf_class[rule.leaf_id]] == 1


@given(tree=strategies.trees(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_without_rows_the_rule_that_ranks_highest_decides(tree: Tree, data: st.DataObject) -> None:
    X = data.draw(strategies.rows(tree))
    rules = secateur.simplify(tree, method="exact", each_leaf=True)

    def rank(index: int) -> tuple[float, float, int, int]:
        rule = rules[index]  # what is not known ranks last
        known = (1.0 if number is None else -number for number in (rule.reliability, rule.support))
        return (*known, len(rule.kept_ids), index)  # type: ignore[return-value]

    ranking = sorted(range(len(rules)), key=rank)
    covers = oracles.covers(tree, deletions(rules), X)
    decided = [next(index for index in ranking if covered[index]) for covered in covers]
    assert rules.apply(X).tolist() == decided
    assert [rules[index].prediction for index in decided] == rules.predict(X).tolist()
    assert rules.predict(X).tolist() == tree.classes[[oracles.tree_class(tree, row) for row in X]].tolist()
    for rule in rules:
        widened = bool(rule.deleted_ids)
        assert (rule.support is None) == widened
        if widened:
            assert rule.reliability is None
        assert rule.source_support == tree.counts[rule.leaf_id].sum()


@given(tree=strategies.trees(n_classes=2, categorical=False, min_leaves=2), data=st.data())
@settings(max_examples=40, deadline=None)
def test_rules_that_nothing_ranks_leave_a_row_to_its_own_leaf(tree: Tree, data: st.DataObject) -> None:
    X = data.draw(strategies.rows(tree))
    rules = secateur.simplify(tree, method="mismatch-certified", monotone=[0] * tree.n_features, each_leaf=True)
    own = [oracles.leaves(tree).index(oracles.walk(tree, row)) for row in X]
    if len(set(rules.class_ids.tolist())) > 1:
        assert not rules.is_ordered
        assert rules.apply(X).tolist() == own
    assert rules.predict(X).tolist() == tree.classes[[oracles.tree_class(tree, row) for row in X]].tolist()


def test_a_tree_without_counts_gets_them_by_routing_the_rows() -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    tree = secateur.from_model(model)
    from dataclasses import replace

    bare = replace(tree, counts=None)
    rules = secateur.simplify(bare, X, y, method="mismatch", each_leaf=True)
    assert rules.tree == tree
    assert deletions(rules) == deletions(secateur.simplify(model, X, y, method="mismatch", each_leaf=True))
    assert secateur.simplify(bare, method="sibling", each_leaf=True)[0].source_support is None


def test_a_rule_that_no_row_satisfies_keeps_everything_and_says_so() -> None:
    builder = secateur.TreeBuilder(classes=["a", "b"], feature_names=["x", "z"])
    root = builder.split("x", 0)
    builder.leaf([5, 0], parent=root, side="left")
    low = builder.split("z", 0, parent=root, side="right")
    builder.leaf([1, 4], parent=low, side="left")
    builder.leaf([3, 1], parent=low, side="right")
    rows, labels = [[-1, 0], [1, -1]], ["a", "b"]
    for method in ("mismatch", "quinlan"):
        rule = secateur.simplify(
            builder.build(), rows, labels, method=method, each_leaf=True, **own_settings(method, tolerance=1)
        )[2]
        assert (rule.support, rule.reliability, rule.deleted_ids) == (0, None, ())
        assert "no row satisfies this rule" in " ".join(reason.text for reason in rule.reasons.values())


def test_a_tree_of_one_leaf_has_one_rule_that_always_holds() -> None:
    X, y = np.zeros((5, 2)), np.ones(5, dtype=int)
    model = DecisionTreeClassifier().fit(X, y)
    for method in secateur.METHODS:
        rules = secateur.simplify(model, X, y, method=method, each_leaf=True)
        assert [rule.text for rule in rules] == ["always => 1"]
        assert rules.predict(X).tolist() == [1] * 5
        assert rules.audit(X, y).removed == 0
        assert rules.verify().ok
        assert secateur.Rules.from_json(rules.to_json()) == rules
        assert "always" in rules._repr_html_()


def test_rules_are_a_sequence() -> None:
    X, y = load_iris(return_X_y=True)
    rules = secateur.simplify(
        DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y), X, y, method="mismatch", each_leaf=True
    )
    assert len(rules) == len(list(rules)) == 5
    assert rules[-1].leaf_id == rules[4].leaf_id
    assert [rule.index for rule in rules[1:3]] == [1, 2]
    with pytest.raises(IndexError, match="there are 5 rules, found index 5"):
        rules[5]
    assert repr(rules) == "<Rules: 5 rules with 9 conditions, one for each leaf; the tree has 5 rules with 9>"


def test_pickled_rules_are_equal_but_leaves_the_rows_behind() -> None:
    X, y = load_iris(return_X_y=True)
    rules = secateur.simplify(
        DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y), X, y, method="mismatch", each_leaf=True
    )
    loaded = pickle.loads(pickle.dumps(rules))
    assert loaded == rules
    assert loaded.training is None
    assert (loaded.predict(X) == rules.predict(X)).all()


@given(problem=problems())
@settings(max_examples=40, deadline=None)
def test_counting_a_block_of_rows_at_a_time_changes_nothing(problem: tuple[Any, ...]) -> None:
    rules = simplify(problem)
    X_test = problem[4]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("secateur.counting.masks.MASK_BYTES", 0)
        again = simplify(problem)
        assert again == rules
        assert again.apply(X_test).tolist() == rules.apply(X_test).tolist()


def test_rules_cannot_be_changed() -> None:
    X, y = load_iris(return_X_y=True)
    rules = secateur.simplify(
        DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y), X, y, method="mismatch", each_leaf=True
    )
    with pytest.raises(AttributeError, match="cannot assign"):
        rules.method = "exact"  # type: ignore[misc]
    for array in (rules.deleted, rules.covered_counts, rules.leaf_counts, rules.leaves, rules.tree.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


def test_labels_come_back_as_the_model_knows_them() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    for labels in (["no", "no", "yes", "yes"], [True, True, False, False], [10, 10, 7, 7], [1.0, 1.0, 2.0, 2.0]):
        y = np.array(labels)
        model = DecisionTreeClassifier().fit(X, y)
        rules = secateur.simplify(model, X, y, method="mismatch", each_leaf=True)
        predicted = rules.predict(X)
        assert predicted.tolist() == model.predict(X).tolist()
        assert predicted.dtype.kind == model.predict(X).dtype.kind
        assert {rule.prediction for rule in rules} == set(y.tolist())


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([[8, 2, 0], [3, 2, 0]], ("Every rule predicts a, though 26.7 % of the rows are b.",)),
        ([[8, 2, 1], [3, 4, 0]], ("No rule predicts c, though 5.6 % of the rows are of that class.",)),
        ([[8, 0, 0], [3, 0, 0]], ("Every rule predicts a: the tree tells no class apart from another.",)),
        ([[8, 2, 0], [3, 4, 0]], ()),
    ],
)
def test_classes_that_no_rule_predicts_are_remarked(counts: list[list[int]], expected: tuple[str, ...]) -> None:
    builder = secateur.TreeBuilder(classes=["a", "b", "c"], feature_names=["age"])
    root = builder.split("age", 30)
    for side, numbers in zip(("left", "right"), counts, strict=True):
        builder.leaf(numbers, parent=root, side=side)
    rules = secateur.simplify(builder.build(), method="none", each_leaf=True)
    assert rules.remarks == expected
    assert str(rules).endswith("".join(f"Note: {remark}" for remark in expected))
