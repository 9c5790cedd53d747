"""What is said around a list is said of training rows, if there were some."""

from __future__ import annotations

import numpy as np
import pytest
from exported_rules import ward_rules
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.results.answer import counts_rows_twice, describe_answer


def test_the_counts_of_a_tree_are_not_called_training_rows() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age"])
    builder.leaf([3, 5])
    rules = secateur.simplify(builder.build())
    assert rules.decided_counts.sum() == 8  # which the tree knew
    before, after = describe_answer(rules)
    assert before == []
    assert "training row" not in " ".join(after)


def test_training_rows_are_counted() -> None:
    tree = ward_rules().tree
    rows = np.array([[0.5, 0.0], [0.9, 1.0]])
    rules = secateur.simplify(tree, rows, ["home", "back"])
    before, after = describe_answer(rules)
    assert before
    assert "2 training rows" in " ".join([*before, *after])


@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 1.7, 150)], ids=["rows", "weights"])
def test_only_rows_of_several_lines_are_said_to_count_twice(weights: NDArray[np.float64] | None) -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(random_state=0).fit(X, y, sample_weight=weights)
    for method in ("none", "sibling"):
        rules = secateur.simplify(model, X, y, sample_weight=weights, method=method, each_leaf=True)
        is_covered = rules.covers(X)
        assert counts_rows_twice(rules) == bool((is_covered.sum(axis=1) > 1).any()) == (method != "none")
