"""A model is read once and again whenever something about it changed."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import from_model
from secateur.adapters import remembered_readings

X, Y = load_iris(return_X_y=True)


def fit(**settings: Any) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(random_state=0, **settings).fit(X, Y)


def change_threshold(model: Any) -> None:
    model.tree_.threshold[0] += 0.25


def change_shares(model: Any) -> None:
    leaf = int(np.flatnonzero(model.tree_.children_left < 0)[0])
    model.tree_.value[leaf, 0] = model.tree_.value[leaf, 0][::-1].copy()


def change_sizes(model: Any) -> None:
    model.tree_.weighted_n_node_samples[:] *= 1.5


def change_labels(model: Any) -> None:
    model.classes_ = np.array(["a", "b", "c"])


def change_label_type(model: Any) -> None:
    model.classes_ = model.classes_.astype(float)


def change_names(model: Any) -> None:
    model.feature_names_in_ = np.array(list("abcd"), dtype=object)


def change_signs(model: Any) -> None:
    model.monotonic_cst = [0, 1, 0, 0]


def fit_again(model: Any) -> None:
    model.set_params(max_depth=2).fit(X, Y)


CHANGES = [
    change_threshold,
    change_shares,
    change_sizes,
    change_labels,
    change_label_type,
    change_names,
    change_signs,
    fit_again,
]


def test_the_same_model_is_read_once() -> None:
    model = fit()
    assert from_model(model) is from_model(model)
    rules = [
        secateur.simplify(model, X, Y, method=method, each_leaf=True) for method in ("exact", "mismatch", "mismatch")
    ]
    assert rules[0].tree is rules[1].tree is rules[2].tree


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_changed_model_is_read_again(change: Callable[[Any], None]) -> None:
    model = fit()
    before = from_model(model)
    change(model)
    after, wanted = from_model(model), from_model(copy.deepcopy(model))
    assert after is not before
    assert after != before
    assert after == wanted
    assert [type(one) for one in after.classes.tolist()] == [type(one) for one in wanted.classes.tolist()]


def test_what_rows_or_the_caller_say_of_missing_values_is_part_of_a_reading() -> None:
    model = fit()
    assert not from_model(model).accepts_missing.any()
    assert from_model(model, accepts_missing=True).accepts_missing.all()
    assert not from_model(model).accepts_missing.any()
    gaps = X.copy()
    gaps[::7, 2] = np.nan
    model.fit(gaps, Y)
    assert from_model(model, gaps).accepts_missing.all()


def test_names_of_one_call_do_not_stay_for_the_next() -> None:
    model = fit()
    named = secateur.simplify(model, method="exact", feature_names=list("abcd"), integers=["a"], each_leaf=True)
    plain = secateur.simplify(model, method="exact", each_leaf=True)
    assert named.tree.feature_names == ("a", "b", "c", "d")
    assert plain.tree.feature_names is None
    assert not plain.tree.facts


def test_a_reading_does_not_outlive_its_model() -> None:
    """Nor does it wait for the garbage collector, which a server may have stopped."""
    gc.disable()
    try:
        model = fit()
        rules = secateur.simplify(model, X, Y, method="mismatch", each_leaf=True)
        tree, paths = weakref.ref(rules.tree), weakref.ref(rules.paths)
        del model, rules
        assert tree() is None
        assert paths() is None
    finally:
        gc.enable()


def test_large_trees_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered_readings, "MOST_NODES", 3)
    model = fit()
    assert from_model(model) is not from_model(model)
    assert from_model(model) == from_model(model)


class Unhashable(DecisionTreeClassifier):
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other


def test_a_model_without_a_hash_is_read_each_time() -> None:
    model = Unhashable(random_state=0).fit(X, Y)
    assert from_model(model) == from_model(fit())


def test_paths_are_shared_by_rule_sets_of_a_tree_and_cannot_be_changed() -> None:
    model = fit()
    one, other = (secateur.simplify(model, X, Y, method=method, each_leaf=True) for method in ("mismatch", "mismatch"))
    strict = secateur.simplify(model, X, Y, method="mismatch", rf_tol=0.2, each_leaf=True)
    assert one.paths is other.paths
    assert strict.paths is not one.paths
    assert strict.paths.mismatched.sum() < one.paths.mismatched.sum()
    for array in (one.paths.links, one.paths.offsets, one.paths.sibling, one.paths.mismatched):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]


def test_a_tree_that_keeps_its_paths_can_be_copied_and_stored() -> None:
    rules = secateur.simplify(fit(), X, Y, method="mismatch", each_leaf=True)
    assert rules.paths is not None
    assert len(pickle.dumps(rules.tree)) == len(pickle.dumps(from_model(fit())))
    for again in (pickle.loads(pickle.dumps(rules.tree)), copy.deepcopy(rules.tree)):
        assert again == rules.tree
        assert secateur.simplify(again, X, Y, method="mismatch", each_leaf=True) == rules
