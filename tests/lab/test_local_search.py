"""The local search: a good scikit-learn citizen that never does worse than the CART tree it starts from."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import secateur
from secateur.kernels.running import compile_module
from secateur.lab import LocalSearchTreeClassifier
from secateur.lab import local_search_kernel as kernel
from secateur.lab.local_search import _Slots


@pytest.mark.long
@parametrize_with_checks([LocalSearchTreeClassifier(n_restarts=2)])
def test_it_passes_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def objective(model: LocalSearchTreeClassifier, X: Any, y: Any, w: Any, cp: float) -> float:
    """The definition, from predictions and the number of splits."""
    wrong = model.predict(X) != y
    return float(w[wrong].sum() / w.sum() + cp * (model.tree_.n_leaves - 1))


@given(
    seed=st.integers(0, 1000),
    n_classes=st.integers(2, 4),
    depth=st.integers(1, 4),
    cp=st.sampled_from([0.0, 5e-4, 0.02]),
    min_bucket=st.integers(1, 4),
    weighted=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_the_objective_is_what_it_says_and_never_worse_than_carts(
    seed: int, n_classes: int, depth: int, cp: float, min_bucket: int, weighted: bool
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(60, 4)).astype(np.float32) / 3
    y = rng.integers(0, n_classes, 60)
    w = rng.integers(1, 4, 60).astype(float) if weighted else np.ones(60)
    model = LocalSearchTreeClassifier(
        max_depth=depth, cp=cp, min_bucket=min_bucket, n_restarts=3, random_state=seed
    ).fit(X, y, sample_weight=w)
    assert model.objective_ == pytest.approx(objective(model, X, y, w, cp), abs=1e-9)
    assert model.objective_ <= model.cart_objective_ + 1e-9
    assert model.tree_.depth <= depth
    sizes = np.bincount(model.apply(X), minlength=model.tree_.n_nodes)[model.tree_.is_leaf]
    assert sizes.min() >= min_bucket
    siblings = [
        (model.tree_.leaf_class[left], model.tree_.leaf_class[right])
        for left, right in zip(model.tree_.children_left, model.tree_.children_right, strict=True)
        if left >= 0 and model.tree_.is_leaf[left] and model.tree_.is_leaf[right]
    ]
    assert all(one != other for one, other in siblings)  # twins are merged


@given(seed=st.integers(0, 1000), depth=st.integers(1, 3), min_bucket=st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_compiled_and_plain_sweeps_agree(seed: int, depth: int, min_bucket: int) -> None:
    from secateur.lab import local_search
    from secateur.lab import local_search_kernel as local_search_kernels

    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(30, 3)).astype(np.float32)
    y = rng.integers(0, 3, 30)
    model = LocalSearchTreeClassifier(depth, cp=0.001, min_bucket=min_bucket)
    model.classes_ = np.arange(3)
    problem = model._encode(X, y, np.ones(30))
    start = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=min_bucket, random_state=0).fit(X, y).tree_
    found = []
    for module in (local_search_kernels, compile_module(local_search_kernels)):
        slots = _Slots(start, problem)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(local_search, "compile_module", lambda name, module=module: module)
            slots.search(problem, 5, np.random.default_rng(1))
        found.append((slots.feature.tolist(), slots.cut.tolist(), slots.label.tolist()))
    assert found[0] == found[1]


def test_threads_do_not_change_the_result() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    search = LocalSearchTreeClassifier(max_depth=4, n_restarts=4, random_state=0)
    one, two = (clone(search).set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert one.tree_ == two.tree_


def test_it_is_more_accurate_on_its_rows_than_cart_at_equal_depth() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    for depth in (2, 3, 4):
        cart = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y)
        ours = LocalSearchTreeClassifier(max_depth=depth, cp=0, random_state=0).fit(X, y)
        assert ours.score(X, y) >= cart.score(X, y)
    assert ours.score(X, y) > cart.score(X, y)


def test_its_rules_are_simplified_like_any_other_trees() -> None:
    pd = pytest.importorskip("pandas")
    data = load_iris(as_frame=True)
    model = LocalSearchTreeClassifier(max_depth=3, random_state=0).fit(data.data, data.target)
    rules = secateur.simplify(model, data.data, data.target, method="exact", each_leaf=True)
    assert rules.tree.feature_names == tuple(data.data.columns)
    assert (rules.predict(data.data) == model.predict(data.data)).all()
    assert rules.verify().ok
    assert isinstance(data.data, pd.DataFrame)


def test_the_scale_of_the_weights_does_not_matter() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200], y[:200]
    fits = [
        LocalSearchTreeClassifier(max_depth=4, random_state=0).fit(X, y, sample_weight=np.full(200, scale))
        for scale in (1.0, 2.0**-40, 2.0**40)
    ]
    shapes = [(fit.tree_.feature.tolist(), fit.tree_.threshold[~fit.tree_.is_leaf].tolist()) for fit in fits]
    assert shapes[0] == shapes[1] == shapes[2]
    with pytest.raises(ValueError, match="its sum is infinite"):
        fits[0].fit(X, y, sample_weight=np.full(200, 1e308))


def test_no_sweeps_leave_the_best_cart_tree() -> None:
    X, y = load_iris(return_X_y=True)
    model = LocalSearchTreeClassifier(max_depth=3, max_sweeps=0, n_restarts=1, random_state=0).fit(X, y)
    assert model.objective_ <= model.cart_objective_


@given(seed=st.integers(0, 500), min_bucket=st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_no_subtree_can_be_made_a_leaf_or_replaced_by_a_child(seed: int, min_bucket: int) -> None:
    """The end is a local optimum for the replacements that can be tried from outside."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(80, 3)).astype(np.float32)
    y = rng.integers(0, 3, 80)
    cp = 0.004
    model = LocalSearchTreeClassifier(
        max_depth=3, cp=cp, min_bucket=min_bucket, n_restarts=1, max_sweeps=100, random_state=seed
    ).fit(X, y)
    tree, leaves = model.tree_, model.apply(X)
    for node in np.flatnonzero(~tree.is_leaf):
        below = [node]
        for at in below:
            if not tree.is_leaf[at]:
                below += [tree.children_left[at], tree.children_right[at]]
        rows = np.isin(leaves, below)
        n_splits = int((~tree.is_leaf[below]).sum())
        now = (tree.leaf_class[leaves[rows]] != y[rows]).sum() + cp * 80 * n_splits
        assert now <= rows.sum() - np.bincount(y[rows]).max() + 1e-9


def test_an_unfitted_one_is_rejected_by_name() -> None:
    with pytest.raises(secateur.errors.UnsupportedModelError, match="This LocalSearchTreeClassifier is not fitted yet"):
        secateur.simplify(LocalSearchTreeClassifier(), method="exact", each_leaf=True)


def test_nodes_left_over_from_an_earlier_subtree_are_no_splits() -> None:
    """Slots of a heap: the root splits, its left child is a leaf that was a subtree once, its right child splits."""
    work = SimpleNamespace(feature=np.array([0, -1, 1, 2, 2, -1, 3]))
    assert kernel.count_splits(work, 0, 7) == 3
    assert kernel.count_splits(work, 1, 7) == 0
    assert kernel.count_splits(work, 2, 7) == 2
