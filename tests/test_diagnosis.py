"""The three layers of each condition against slow versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.tree.tree import Tree


@given(tree=strategies.trees(max_leaves=8), data=st.data())
@settings(max_examples=80, deadline=None)
def test_every_row_equals_its_slow_version(tree: Tree, data: st.DataObject) -> None:
    X, y, w = data.draw(strategies.labelled_rows(tree, weights=data.draw(st.booleans())))
    tolerance = data.draw(st.sampled_from([0.0, 0.05, 0.3]))
    rows = list(secateur.diagnose(tree, X, tree.classes[y], sample_weight=w, tolerance=tolerance))
    expected = [(leaf, link) for leaf in oracles.leaves(tree) for link in oracles.path(tree, leaf)]
    assert [(row.leaf_id, row.link_id) for row in rows] == expected
    for row in rows:
        c = int(tree.leaf_class[row.leaf_id])
        path = oracles.path(tree, row.leaf_id)
        rest = [link for link in path if link != row.link_id]
        assert row.depth == path.index(row.link_id) + 1
        assert row.status == oracles.orientation(tree, row.link_id, c)
        assert row.inside_h == oracles.inside_h(tree, row.leaf_id, row.link_id)
        assert row.sibling == (row.link_id in oracles.sib(tree, row.leaf_id))
        assert row.subtree == (oracles.labels_below(tree, oracles.other_child(tree, row.link_id)) == {c})
        assert row.exact == oracles.implies_class(tree, rest, c)
        _, base = oracles.support_and_reliability(tree, X, y, w, path, c)
        _, after = oracles.support_and_reliability(tree, X, y, w, rest, c)
        if base is None or after is None:
            assert row.effect_size is None
            assert row.effect is None
        else:
            assert row.effect_size == after - base
            effect = after - base
            names = {-1: "positive-relevance", 0: "probabilistic-irc", 1: "negative-relevance"}
            assert row.effect == names[int(effect > tolerance) - int(effect < -tolerance)]
        admitted = [i for i, x in enumerate(X) if oracles.satisfies(tree, x, rest) and (w is None or w[i] > 0)]
        assert row.finite_domain == all(y[i] == c for i in admitted)


def test_two_classes_are_called_c1_and_c0() -> None:
    data = secateur.datasets.load("weather")
    model = DecisionTreeClassifier(random_state=0).fit(data.X, data.y)
    tree = secateur.from_model(model)
    for row in secateur.diagnose(model, data.X, data.y, tolerance=0.05):
        rises = tree.counts[row.link_id, 1] / tree.counts[row.link_id].sum()
        before = (
            tree.counts[oracles.parents(tree)[row.link_id], 1] / tree.counts[oracles.parents(tree)[row.link_id]].sum()
        )
        expected = "C1" if rises > before + 1e-12 else "C0" if rises < before - 1e-12 else "neutral"
        assert row.orientation == expected


def test_without_rows_the_third_layer_is_unknown() -> None:
    data = secateur.datasets.load("human-id")
    model = DecisionTreeClassifier(random_state=0).fit(data.X, data.y)
    row = secateur.diagnose(model)[0]
    assert (row.effect, row.effect_size, row.finite_domain, row.monotone) == (None, None, None, None)


def test_a_monotone_tree_shows_its_certificate() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    y = (X.sum(axis=1) + rng.normal(scale=0.2, size=300) > 1).astype(int)
    model = DecisionTreeClassifier(max_depth=4, monotonic_cst=[1, 1], random_state=0).fit(X, y)
    for row in secateur.diagnose(model, X, y):
        above = ">" in row.condition
        assert row.monotone == (above == (row.prediction == 0))
    rules = secateur.simplify(model, X, y, method="M1-D")
    assert rules.parameters["monotone"] == [1, 1]
    fresh = rng.uniform(-0.5, 1.5, size=(5000, 2))
    own = model.predict(fresh)
    covered = rules.covers(fresh)
    for rule in rules:  # by the theorem, for the tree itself and everywhere
        assert (own[covered[:, rule.index]] == rule.prediction).all()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_it_becomes_a_frame(library: str) -> None:
    pytest.importorskip(library)
    data = secateur.datasets.load("human-id")
    model = DecisionTreeClassifier(random_state=0).fit(data.X, data.y)
    found: Any = secateur.diagnose(model, data.X, data.y).to_frame(library)
    assert type(found).__module__.startswith(library)
    assert len(found) == 5
    assert list(found.columns)[:3] == ["leaf_id", "link_id", "depth"]
