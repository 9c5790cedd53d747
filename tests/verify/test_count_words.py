"""What does not agree with the rows is said in words, the number of rows first."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import choose_lines


def test_other_rows_are_named_first_and_counts_have_their_classes() -> None:
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"age": rng.integers(20, 70, 300)})
    y = np.where(rows["age"] < 30, "late", np.where(rows["age"] < 50, "charged off", "paid"))
    rules = secateur.simplify(DecisionTreeClassifier(random_state=0).fit(rows, y), rows, y, each_leaf=True)
    for one in (rules, choose_lines(rules)):
        failures = one.verify(rows[:4], y[:4]).failures
        assert failures[0].startswith("These 4 rows are not the 300 training rows, so their counts must differ: pass ")
        assert not any("counts" in words and "[" in words for words in failures)
        stated = {label: int((y == label).sum()) for label in rules.tree.class_names}
        here = {label: int((y[:4] == label).sum()) for label in rules.tree.class_names}
        told = (
            f"has in its leaf 0 charged off, {here['late']} late and 0 paid of these rows, but states 0 charged off, "
        )
        assert any(f"{told}{stated['late']} late and 0 paid." in words for words in failures)
        shuffled = one.verify(rows, rng.permutation(y)).failures
        assert not any("training rows" in words for words in shuffled)
        assert shuffled


def test_numbers_of_rows_and_classes_that_are_numbers_are_told_apart() -> None:
    rows = np.arange(8.0)[:, None]
    labels = np.repeat([0, 1], 4)
    rules = secateur.simplify(DecisionTreeClassifier().fit(rows, labels), rows, labels, each_leaf=True)
    (failure, *_) = rules.verify(rows, 1 - labels).failures
    assert failure.endswith("4 of class 1 of these rows, but states 4 of class 0 and 0 of class 1.")


def test_a_list_does_not_claim_one_for_each_leaf() -> None:
    table = secateur.datasets.load("weather")
    X, y = table.X, table.y
    rules = secateur.simplify(DecisionTreeClassifier(random_state=0).fit(X, y), X, y, each_leaf=True)
    assert rules.verify().checks[0].startswith("one rule for each leaf")
    assert choose_lines(rules).verify().checks[0].startswith("chosen from one rule for each leaf")
