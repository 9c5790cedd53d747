"""Labels that the model was not fitted to raise an alarm; weights of classes do not."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import secateur

X, Y = load_breast_cancer(return_X_y=True)
ALARM = "The labels do not fit the model: it is right for "


@pytest.mark.parametrize("weights", [None, "balanced", {0: 30, 1: 1}])
def test_labels_that_do_not_fit_raise_an_alarm(weights: object) -> None:
    model = DecisionTreeClassifier(max_depth=3, random_state=0, class_weight=weights).fit(X, Y)
    assert ALARM not in str(secateur.simplify(model, X, Y))
    assert ALARM not in str(secateur.simplify(model, X[::3], Y[::3]))
    turned = str(secateur.simplify(model, X, 1 - Y))
    assert ALARM in turned
    assert "Are these the labels that it was fitted to?" in turned
    assert "The model was fitted with weights" not in turned


def test_a_model_that_is_hardly_better_than_a_guess_raises_none() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(500, 2))
    y = rng.integers(0, 2, 500)
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(noise, y)
    assert ALARM not in str(secateur.simplify(model, noise, rng.permutation(y)))
