"""Witnesses are those of the definition: a leaf that a kept condition keeps out, and a point there."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.tree.regions import domain_of, pick_value, regions_of_links
from secateur.tree.tree import Label, Tree
from secateur.words import reasons

WITH_WITNESSES = [name for name, method in secateur.METHODS.items() if method.witness is not None]


def slow_leaf(tree: Tree, rest: list[int], class_id: int) -> int | None:
    """The leftmost leaf of another class that meets the links."""
    foreign = (leaf for leaf in oracles.leaves(tree) if tree.leaf_class[leaf] != class_id)
    return next((leaf for leaf in foreign if oracles.meets(tree, rest, oracles.path(tree, leaf))), None)


def slow_point(rules: secateur.Rules, kept: list[int], rest: list[int], leaf: int) -> dict[str, Label | None]:
    """A value of each feature that the rule or the leaf tests, in what both allow."""
    tree, paths = rules.tree, rules.paths
    allowed = regions_of_links(tree, paths, rest)
    reached = regions_of_links(tree, paths, oracles.path(tree, leaf))
    point = {}
    for feature in dict.fromkeys([*regions_of_links(tree, paths, kept), *reached]):
        domain = domain_of(tree, feature)
        region = allowed.get(feature, domain).meet(reached.get(feature, domain))
        point[tree.feature_name(feature)] = pick_value(tree, feature, region)
    return point


def check_witnesses(rules: secateur.Rules) -> None:
    tree, paths = rules.tree, rules.paths
    by_feature = secateur.METHODS[rules.method].witness == "feature"
    for rule in rules:
        class_id = int(paths.leaf_class[rule.index])
        judged = {link for link, reason in rule.reasons.items() if reason.kind.startswith("reliability-")}
        kept = [link for link in oracles.path(tree, rule.leaf_id) if link in rule.kept_ids or link in judged]
        for link, reason in rule.reasons.items():
            if reason.deleted:
                assert reason.witness_leaf is None
                continue
            feature = tree.feature[paths.parent[link]]
            same = [other for other in kept if tree.feature[paths.parent[other]] == feature] if by_feature else [link]
            rest = [other for other in kept if other not in same]
            leaf = slow_leaf(tree, rest, class_id)
            assert reason.witness_leaf == leaf
            expected = None if leaf is None else slow_point(rules, kept, rest, leaf)
            assert reason.witness_point == expected
            assert expected is None or list(reason.witness_point or ()) == list(expected)


@pytest.mark.parametrize("method", WITH_WITNESSES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_witnesses_are_those_of_the_definition(method: str, data: st.DataObject) -> None:
    tree = data.draw(strategies.trees(max_leaves=10))
    X, y, weights = data.draw(strategies.labelled_rows(tree))
    check_witnesses(secateur.simplify(tree, X, tree.classes[y], sample_weight=weights, method=method, each_leaf=True))


@given(tree=strategies.trees(min_leaves=4, max_leaves=12), method=st.sampled_from(["none", "exact", "redundancy"]))
@settings(max_examples=30, deadline=None)
def test_a_block_of_rules_is_searched_as_all_of_them_are(tree: Tree, method: str) -> None:
    with (
        mock.patch.object(reasons, "SEARCHED_RULES", 3),
        mock.patch.object(reasons, "REMEMBERED_LEAVES", 2),
    ):
        check_witnesses(secateur.simplify(tree, method=method, each_leaf=True))


def test_a_look_at_one_rule_searches_its_block_only() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2_000, 5)), rng.integers(0, 2, 2_000)
    from sklearn.tree import DecisionTreeClassifier

    rules = secateur.simplify(DecisionTreeClassifier(random_state=0).fit(X, y), method="exact", each_leaf=True)
    assert len(rules) > 3 * reasons.SEARCHED_RULES
    assert rules[-1].reasons
    assert rules._witnesses._is_searched.sum() == 1
    copy = pickle.loads(pickle.dumps(rules))
    assert copy[-1].reasons == rules[-1].reasons


@pytest.mark.long
def test_threads_that_look_at_the_same_rules_do_not_disturb_one_another() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6_000, 8)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + rng.normal(size=6_000) > 0).astype(int)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    places = range(0, 1_000, 7)

    def look(place: int, rules: secateur.Rules) -> list[int | None]:
        return [reason.witness_leaf for reason in rules[place].reasons.values()]

    alone = secateur.simplify(model, method="exact", each_leaf=True)
    expected = [look(place, alone) for place in places]
    shared = secateur.simplify(model, method="exact", each_leaf=True)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda place: look(place, shared), places)) == expected
