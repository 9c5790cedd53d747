"""Deleting conditions and dropping rules under one budget, against a version that weighs every move anew."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from list_oracles import slow_joint
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import choose_lines
from secateur.errors import InputError
from secateur.methods import row_mixture
from secateur.tree.tree import Tree

POOL = 60


@settings(deadline=None, max_examples=60)
@given(tree=strategies.trees(max_leaves=6), data=st.data())
def test_the_moves_are_those_of_the_slow_version(tree: Tree, data: st.DataObject) -> None:
    X, y, w = data.draw(strategies.labelled_rows(tree, weights=True))
    w = None if w is None or not np.any(w) else w
    budget = data.draw(st.sampled_from([0.001, 0.02, 0.1, 0.3]))
    tolerance = data.draw(st.sampled_from([0.0, 0.05, 0.5]))
    default = data.draw(st.integers(0, tree.n_classes - 1))
    label = tree.classes[default].item()
    labels = tree.classes[y]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_mixture, "POOL_ROWS", POOL)
        exact = secateur.simplify(tree, X, labels, method="exact", sample_weight=w, each_leaf=True)
        rules = choose_lines(exact, budget=budget, tolerance=tolerance, otherwise=label)
    slow = slow_joint(tree, X, y, w, budget, tolerance, default, POOL)
    found = {rule.leaf_id: list(rule.kept_ids) for rule in rules}
    assert found == slow.kept
    # The promise, on the training rows, by what the rules predict.
    weights = np.ones(len(X)) if w is None else np.array(w)
    other = rules.predict(X) != tree.classes[[oracles.tree_class(tree, row) for row in X]]
    assert weights[other].sum() <= budget * weights.sum() * (1 + 1e-9)
    # Two rules that say the same of a row for different classes: the second would be dropped for nothing.
    said = [frozenset(map(str, rule.conditions)) for rule in rules]
    assert len(set(said)) == len(said)
    decided = rules.apply(X)
    for place, rule in enumerate(rules):
        mine = decided == place
        assert rule.support == pytest.approx(weights[mine].sum())
    assert rules.lines[-1].support == pytest.approx(weights[decided == len(rules)].sum())


def test_otherwise_is_the_commonest_class_of_what_is_left() -> None:
    X, y = make_classification(200, 8, n_informative=5, n_classes=2, weights=[0.7], flip_y=0.1, random_state=1)
    model = DecisionTreeClassifier(max_depth=4, random_state=1).fit(X, y)
    for budget in (0.3, 0.5, 0.8):
        rules = secateur.simplify(model, X, y, budget=budget)
        left = np.bincount(y[rules.apply(X) == len(rules)], minlength=2)
        assert left[rules.default] == left.max()
    rare = secateur.simplify(model, X, y, budget=1.0, otherwise=1)  # who names a class gets it, and is told
    assert "1. 1 always   200 rows, 32.5% 1; most of its rows are 0" in rare.to_text()


def test_a_rule_whose_remaining_rows_are_of_another_class_moves_up_or_says_what_it_covers() -> None:
    # Of "yes", the rule of more rows would leave the other only rows of "no".
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["a", "b"])
    root = builder.split("a", 0)
    builder.leaf([0, 9], parent=root, side="right")
    left = builder.split("b", 0, parent=root, side="left")
    builder.leaf([9, 0], parent=left, side="left")
    builder.leaf([1, 2], parent=left, side="right")
    X = np.array([[1.0, 1.0]] * 5 + [[1.0, -1.0]] * 4 + [[-1.0, -1.0]] * 9 + [[-1.0, 1.0]] * 2)
    y = ["yes"] * 9 + ["no"] * 9 + ["no", "yes"]
    rules = secateur.simplify(builder.build(), X, [*y[:-1], "no"], otherwise="no")
    assert [rule.asked for rule in rules] == ["b > 0", "a > 0"]
    assert rules.decided_counts.tolist() == [[2.0, 5.0], [0.0, 4.0], [9.0, 0.0]]
    rare = rules.change(decided_counts=np.array([[2.0, 0.0], [0.0, 9.0], [9.0, 0.0]]))
    aside = "; most of its rows are no (of 7 rows that it covers, 71.4% yes)"
    assert f"2 rows, 0.0% yes{aside}" in rare.to_text()
    assert aside in rare.report().to_html()  # on the page, too
    assert aside not in rules.report().to_html()


def test_a_budget_needs_rows() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age"])
    root = builder.split("age", 30)
    builder.leaf([8, 2], parent=root, side="left")
    builder.leaf([1, 9], parent=root, side="right")
    with pytest.raises(InputError, match="A budget is spent on training rows"):
        secateur.simplify(builder.build(), budget=0.1)
