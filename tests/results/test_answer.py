"""What is said around a list is said of training rows, if there were some."""

from __future__ import annotations

import numpy as np
from exported_rules import ward_rules

import secateur
from secateur.results.answer import describe_answer


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
