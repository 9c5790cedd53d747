"""Rules that stand for leaves: found by a walk, checked leaf by leaf; few of them cover every leaf of a class."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.kernels import run_walks
from secateur.methods.covering import Containment, choose_rules, find_containment
from secateur.tree.paths import trace_paths
from secateur.tree.tree import Tree


def slow_containment(tree: Tree, deleted: dict[int, list[int]]) -> set[tuple[int, int]]:
    """Pairs of a rule and a leaf of its class that some row reaches and that lies in the rule, as leaf ids."""
    found = set()
    grid = oracles.grid_rows(tree, limit=3000)
    reached = [oracles.walk(tree, row) for row in grid]
    for leaf, gone in deleted.items():
        kept = oracles.without(oracles.path(tree, leaf), gone)
        covered = [oracles.satisfies(tree, row, kept) for row in grid]
        for other in set(reached):
            if tree.leaf_class[other] == tree.leaf_class[leaf] and all(
                c for c, node in zip(covered, reached, strict=True) if node == other
            ):
                found.add((leaf, other))
    return found


def as_pairs(tree: Tree, contained: Containment) -> set[tuple[int, int]]:
    leaf_ids = trace_paths(tree).leaf_ids.tolist()
    return {
        (leaf_ids[rule], leaf_ids[leaf]) for rule in range(len(leaf_ids)) for leaf in contained.of_rule(rule).tolist()
    }


@pytest.mark.parametrize("compiled", [False, True])
def test_contained_leaves_are_those_whose_rows_the_rule_covers(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_walks, "PLAIN_ENTRIES", -1 if compiled else sys.maxsize)

    @settings(deadline=None)
    @given(tree=strategies.trees(max_leaves=8), data=st.data())
    def check(tree: Tree, data: st.DataObject) -> None:
        paths = trace_paths(tree)
        flags = data.draw(st.lists(st.booleans(), min_size=len(paths.links), max_size=len(paths.links)))
        deleted = np.array(flags, dtype=bool)
        gone = {
            int(leaf): paths.links[paths.entries(rule)][deleted[paths.entries(rule)]].tolist()
            for rule, leaf in enumerate(paths.leaf_ids)
        }
        contained = find_containment(tree, paths, deleted)
        found = as_pairs(tree, contained)
        # A rule whose own leaf no row reaches may cover nothing: the walk says nothing of such rules.
        possible = set(paths.leaf_ids[contained.is_possible].tolist())
        expected = {pair for pair in slow_containment(tree, gone) if pair[0] in possible}
        grid_is_whole = len(oracles.grid_rows(tree, limit=3000)) < 3000
        if grid_is_whole:
            assert {pair for pair in found if pair[0] in possible} == expected
        else:
            assert {pair for pair in found if pair[0] in possible} <= expected

    check()


@settings(deadline=None)
@given(tree=strategies.trees(max_leaves=10))
def test_a_list_decides_every_row_of_a_grid_as_the_tree_does(tree: Tree) -> None:
    grid = oracles.grid_rows(tree, limit=2000, values_of=oracles.values_at_and_beside)
    expected = [oracles.tree_class(tree, row) for row in grid]
    for otherwise in ["auto", *tree.classes.tolist()]:
        rules = secateur.simplify(tree, otherwise=otherwise)
        covers = [[oracles.satisfies(tree, row, rule.kept_ids) for rule in rules] for row in grid]
        for row, (covered, wanted) in enumerate(zip(covers, expected, strict=True)):
            classes = {int(rules.class_ids[place]) for place, is_covered in enumerate(covered) if is_covered}
            assert classes == ({wanted} if wanted != rules.default else set()), grid[row]
        assert rules.default not in rules.class_ids[:-1]
        assert rules.class_ids[-1] == rules.default


def fewest_conditions(contained: Containment, costs: NDArray[np.int64], among: NDArray[np.bool_]) -> float:
    """The least conditions of rules that stand for all leaves, by integer programming."""
    rules = np.flatnonzero(among & (np.diff(contained.offsets) > 0))
    leaves = np.unique(np.concatenate([np.zeros(0, np.int64), *(contained.of_rule(rule) for rule in rules)]))
    if not len(leaves):
        return 0.0
    table = np.zeros((len(leaves), len(rules)))
    for place, rule in enumerate(rules):
        table[np.searchsorted(leaves, contained.of_rule(rule)), place] = 1
    found = milp(
        costs[rules].astype(float),
        constraints=LinearConstraint(table, lb=1),
        integrality=np.ones(len(rules)),
        bounds=Bounds(0, 1),
    )
    assert found.success
    return float(found.fun)


def test_the_greedy_choice_is_within_two_percent_of_the_best() -> None:
    ours = best = 0.0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 6, size=(300, 5)).astype(np.float32)
        score = X @ rng.normal(size=5) + rng.normal(size=300)
        y = np.digitize(score, np.quantile(score, [0.4, 0.75] if seed % 3 else [0.5]))
        model = DecisionTreeClassifier(max_depth=6, random_state=seed).fit(X, y)
        rules = secateur.simplify(model, method="exact", each_leaf=True)
        contained = find_containment(rules.tree, rules.paths, rules.deleted)
        for class_id in range(rules.tree.n_classes):
            among = rules.paths.leaf_class == class_id
            chosen = choose_rules(contained, rules.lengths, among)
            stood_for = np.concatenate([np.zeros(0, np.int64), *(contained.of_rule(rule) for rule in chosen)])
            assert set(stood_for) == set(np.flatnonzero(among & contained.is_possible))
            ours += rules.lengths[chosen].sum()
            best += fewest_conditions(contained, rules.lengths, among)
    assert ours <= 1.02 * best


def spread_columns(tree: Tree, step: int) -> Tree:
    """Put other columns between those of a tree, which it does not ask."""
    n_features = tree.n_features * step
    accepts, categories = np.zeros(n_features, dtype=bool), [None] * n_features
    accepts[step - 1 :: step] = tree.accepts_missing
    categories[step - 1 :: step] = tree.categories
    feature = np.where(tree.feature >= 0, tree.feature * step + step - 1, tree.feature).astype(tree.feature.dtype)
    return replace(tree, feature=feature, n_features=n_features, accepts_missing=accepts, categories=tuple(categories))


@given(tree=strategies.trees(min_leaves=3, max_leaves=8), data=st.data())
def test_columns_that_nobody_asks_change_nothing(tree: Tree, data: st.DataObject) -> None:
    """Open columns are kept as bits, 32 to a word."""
    paths = trace_paths(tree)
    deleted = np.array(data.draw(strategies.lists_of(st.booleans(), len(paths.links))), dtype=bool)
    wanted = as_pairs(tree, find_containment(tree, paths, deleted))
    wide = spread_columns(tree, 40)
    assert as_pairs(wide, find_containment(wide, trace_paths(wide), deleted)) == wanted
