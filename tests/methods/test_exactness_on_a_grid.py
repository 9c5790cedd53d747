"""What the exact methods promise, on every row there can be.

A tree cuts each feature into finitely many cells, and its answer and every condition of its paths depend only on the
cells of a row. A grid with a value of every cell of every feature therefore decides: what holds on all of its rows
holds on all rows, and what fails anywhere fails on one of them. It must be whole; a sample of it would decide nothing.
"""

from __future__ import annotations

import math

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import trees

import secateur
from secateur.tree.tree import Tree

EXACT = [name for name, method in secateur.METHODS.items() if method.is_exact]

# Seven splits of at most three features make no more cells than this. Four features would make six times as many rows.
LIMIT = 800


def features_in(tree: Tree) -> set[int]:
    return {int(feature) for feature in tree.feature if feature >= 0}


def takes_nan(tree: Tree) -> bool:
    return any(tree.accepts_missing[feature] for feature in features_in(tree))


def has_categories(tree: Tree) -> bool:
    return any(tree.categories[feature] is not None for feature in features_in(tree))


def predicts_three_classes(tree: Tree) -> bool:
    return len(oracles.labels_below(tree, 0)) >= 3


def small_trees(**traits: bool | int) -> st.SearchStrategy[Tree]:
    return st.integers(1, 3).flatmap(lambda n: trees(min_leaves=3, max_leaves=8, n_features=n, **traits))


# The strategy's arguments allow a trait; the filter makes sure of it.
TRAITS: dict[str, st.SearchStrategy[Tree]] = {
    "missing": small_trees(missing=True, categorical=False, n_classes=2).filter(takes_nan),
    "categorical": small_trees(missing=False, categorical=True, n_classes=2).filter(has_categories),
    "three classes": small_trees(missing=False, categorical=False, n_classes=4).filter(predicts_three_classes),
    "all of them": small_trees(missing=True, categorical=True, n_classes=3).filter(
        lambda tree: takes_nan(tree) and has_categories(tree) and predicts_three_classes(tree)
    ),
}


def whole_grid(tree: Tree) -> np.ndarray:
    n_rows = math.prod(len(oracles.values_that_matter(tree, feature)) for feature in features_in(tree))
    assert n_rows <= LIMIT
    return oracles.grid_rows(tree, LIMIT)


@pytest.mark.parametrize("trait", TRAITS)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_every_row_is_covered_and_only_by_rules_of_the_trees_class(trait: str, data: st.DataObject) -> None:
    tree = data.draw(TRAITS[trait])
    # The second part is for the comparison itself: float64 values that round to a number on either side of a threshold.
    grid = np.concatenate([whole_grid(tree), oracles.grid_rows(tree, 400, oracles.values_at_and_beside)])
    answers = tree.classes[[oracles.tree_class(tree, row) for row in grid]]
    for method in EXACT:
        # With every row right, reliability stays 1 and holds nothing back.
        rows = (grid, answers) if secateur.METHODS[method].needs_rows else ()
        rules = secateur.simplify(tree, *rows, method=method, each_leaf=True)
        covered = rules.covers(grid)
        assert covered.any(axis=1).all(), method
        for rule in rules:
            assert (answers[covered[:, rule.index]] == rule.prediction).all(), (method, rule.leaf_id)
        assert (rules.predict(grid) == answers).all(), method


@pytest.mark.parametrize("trait", TRAITS)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_exact_keeps_only_conditions_that_keep_a_row_of_another_class_out(trait: str, data: st.DataObject) -> None:
    tree = data.draw(TRAITS[trait])
    grid = whole_grid(tree)
    reached = np.array([oracles.walk(tree, row) for row in grid])
    # Which rows satisfy each condition, by the slow comparison.
    passing = {
        link: np.array([oracles.satisfies(tree, row, [link]) for row in grid]) for link in range(1, tree.n_nodes)
    }
    for rule in secateur.simplify(tree, method="exact", each_leaf=True):
        for link in rule.kept_ids:
            rest = oracles.without(rule.kept_ids, [link])
            admitted = np.logical_and.reduce([np.ones(len(grid), dtype=bool), *(passing[other] for other in rest)])
            foreign = {
                int(leaf) for leaf in reached[admitted] if tree.leaf_class[leaf] != tree.leaf_class[rule.leaf_id]
            }
            assert foreign, (rule.leaf_id, link)
            # And the rule without it is right where the condition holds, so the condition is what keeps them out.
            assert not (admitted & passing[link] & np.isin(reached, sorted(foreign))).any()
            reason = rule.reasons[link]
            assert reason.witness_leaf in foreign, (rule.leaf_id, link)
            witness = row_of_point(tree, reason.witness_point)
            assert oracles.walk(tree, witness) == reason.witness_leaf
            assert oracles.satisfies(tree, witness, rest)
            assert not oracles.satisfies(tree, witness, [link])


def row_of_point(tree: Tree, point: dict[str, object]) -> list[float]:
    """A row with the values of a witness point; features that it does not name are 0."""
    row = [0.0] * tree.n_features
    for feature in range(tree.n_features):
        if (name := tree.feature_name(feature)) in point:
            value, levels = point[name], tree.categories[feature]
            if value is None:
                row[feature] = math.nan
            elif levels is not None:
                row[feature] = float(levels.index(value) if value in levels else len(levels))
            else:
                row[feature] = float(value)
    return row
