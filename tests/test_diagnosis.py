"""The three layers of each condition against slow versions."""

from __future__ import annotations

import csv
import io
import json
import pickle
from itertools import combinations
from typing import Any
from unittest import mock

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.counting import training_evidence
from secateur.errors import InputError, ParameterError
from secateur.tree.tree import Tree

SET_NAMES = {-1: "reliability-decreasing", 0: "reliability-preserving", 1: "reliability-increasing"}


def slow_effect(tree: Tree, X: Any, y: Any, w: Any, leaf: int, gone: list[int]) -> tuple[float, float | None]:
    """Support of a rule without some links, and D; None where a reliability is undefined."""
    path, c = oracles.path(tree, leaf), int(tree.leaf_class[leaf])
    _, base = oracles.support_and_reliability(tree, X, y, w, path, c)
    support, after = oracles.support_and_reliability(tree, X, y, w, oracles.without(path, gone), c)
    return support, None if base is None or after is None else after - base


def find_side(tree: Tree, rows: Any, leaf: int, gone: Any, tolerance: float) -> int | None:
    """Whether D of some links lies below (-1), within (0) or above the tolerance; None where it is undefined."""
    move = oracles.find_move(tree, *rows, leaf, oracles.without(oracles.path(tree, leaf), gone))
    if move is None or oracles.is_at_most(abs(move), tolerance):
        return None if move is None else 0
    return 1 if move > 0 else -1


def cancer() -> tuple[Any, Any, DecisionTreeClassifier]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X, y, DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)


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
            names = {-1: "positive-relevance", 0: "probabilistic-irc", 1: "negative-relevance"}
            assert row.effect == names[find_side(tree, (X, y, w), row.leaf_id, [row.link_id], tolerance)]
        presumed = {True: "negative-relevance-presumed", False: "IRC-presumed"}
        is_candidate = row.status == "mismatched"
        assert row.presumption == (presumed[oracles.inside_h(tree, row.leaf_id, row.link_id)] if is_candidate else None)
        assert (row.reliability, row.reliability_without) == (base, after)
        assert row.support == oracles.support_and_reliability(tree, X, y, w, path, c)[0]
        assert row.support_without == oracles.support_and_reliability(tree, X, y, w, rest, c)[0]
        admitted = [i for i, x in enumerate(X) if oracles.satisfies(tree, x, rest)]
        has_rows = any(oracles.satisfies(tree, x, path) for x in X)
        assert row.finite_domain == (has_rows and all(y[i] == c for i in admitted))


@given(tree=strategies.trees(max_leaves=8), data=st.data())
@settings(max_examples=60, deadline=None)
def test_rows_certify_a_mismatched_condition_alone_exactly_where_m1_d_deletes_it(
    tree: Tree, data: st.DataObject
) -> None:
    X, _, w = data.draw(strategies.labelled_rows(tree, weights=data.draw(st.booleans())))
    y = tree.classes[[oracles.tree_class(tree, row) for row in X]]  # so that equal rows have equal labels
    rules = secateur.simplify(tree, X, y, sample_weight=w, method="mismatch-certified", each_leaf=True)
    for row in secateur.diagnose(tree, X, y, sample_weight=w):
        rule = next(rule for rule in rules if rule.leaf_id == row.leaf_id)
        tried = [link for link, reason in rule.reasons.items() if reason.kind not in ("matched", "neutral")]
        if tried == [row.link_id]:
            assert row.finite_domain == (row.link_id in rule.deleted_ids)


def test_sums_of_weights_do_not_certify() -> None:
    X, y, model = cancer()
    weights = np.where(y == 1, 1.0, 0.0)
    tree = secateur.from_model(model, X)
    counted = secateur.collect_evidence(tree, X, y, sample_weight=weights)
    by_rows = secateur.diagnose(tree, X, y, sample_weight=weights)
    for row, known in zip(secateur.diagnose(tree, evidence=counted), by_rows, strict=True):
        assert row.finite_domain in (None, False)
        assert row.finite_domain is None or not known.finite_domain


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
    tree = secateur.from_model(model)
    for row in secateur.diagnose(model, X, y):
        path = oracles.path(tree, row.leaf_id)
        column = int(tree.feature[oracles.parents(tree)[row.link_id]])
        whole, rest = (
            oracles.box_of(tree, links).get(column) for links in (path, oracles.without(path, [row.link_id]))
        )
        # A bound that the rest implies needs no direction.
        assert row.monotone == (whole == rest or (">" in row.condition) == (row.prediction == 0))
    rules = secateur.simplify(model, X, y, method="M1-D", each_leaf=True)
    assert rules.parameters["monotone"] == [1, 1]
    fresh = rng.uniform(-0.5, 1.5, size=(5000, 2))
    own = model.predict(fresh)
    covered = rules.covers(fresh)
    for rule in rules:  # by the theorem, for the tree itself and everywhere
        assert (own[covered[:, rule.index]] == rule.prediction).all()


@given(tree=strategies.trees(min_leaves=2, max_leaves=5, with_counts=False))
@settings(max_examples=10, deadline=None)
def test_a_tree_without_counts_claims_nothing_about_shares(tree: Tree) -> None:
    found = secateur.diagnose(tree)
    text = found.to_text()
    assert text.count("unknown: the tree carries no class counts") == 2 * len(found)
    assert "points" not in text
    assert {row.presumption for row in found} == {None}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_it_becomes_a_frame(library: str) -> None:
    pytest.importorskip(library)
    data = secateur.datasets.load("human-id")
    model = DecisionTreeClassifier(random_state=0).fit(data.X, data.y)
    found: Any = secateur.diagnose(model, data.X, data.y).to_frame(library)
    assert type(found).__module__.startswith(library)
    assert len(found) == 5
    assert list(found.columns)[:3] == ["leaf_id", "link_id", "depth"]


@given(tree=strategies.trees(max_leaves=8), data=st.data())
@settings(max_examples=80, deadline=None)
def test_the_effect_of_any_set_equals_its_slow_version(tree: Tree, data: st.DataObject) -> None:
    X, y, w = data.draw(strategies.labelled_rows(tree, weights=data.draw(st.booleans())))
    tolerance = data.draw(st.sampled_from([0.0, 0.05, 0.3]))
    labels = tree.classes[y]
    sets = []
    for leaf in oracles.leaves(tree):
        path = oracles.path(tree, leaf)
        for _ in range(2):
            sets.append((leaf, data.draw(st.lists(st.sampled_from(path), unique=True)) if path else []))
    evidence = secateur.collect_evidence(tree, X, labels, sample_weight=w)
    counted = secateur.diagnose(tree, evidence=evidence, tolerance=tolerance)
    listed = secateur.diagnose(tree, X, labels, sample_weight=w, tolerance=tolerance)
    found = listed.effects_of(sets)
    assert counted.effects_of(sets) == found
    assert [listed.effect_of(*one) for one in sets[:3]] == found[:3]
    for (leaf, gone), effect in zip(sets, found, strict=True):
        support, size = slow_effect(tree, X, y, w, leaf, gone)
        assert (effect.support_without, effect.effect_size) == (support, size)
        assert effect.effect == SET_NAMES.get(find_side(tree, (X, y, w), leaf, gone, tolerance))
        assert effect.leaf_id == leaf
        assert list(effect.link_ids) == [link for link in oracles.path(tree, leaf) if link in gone]


@pytest.mark.parametrize("most_numbers", [0, 30, 1 << 20])
@given(tree=strategies.trees(max_leaves=9), data=st.data())
@settings(max_examples=40, deadline=None)
def test_pairs_equal_their_slow_version_however_rows_are_counted(
    most_numbers: int, tree: Tree, data: st.DataObject
) -> None:
    X, y, w = data.draw(strategies.labelled_rows(tree, weights=data.draw(st.booleans())))
    labels = tree.classes[y]
    with mock.patch.object(training_evidence, "MOST_NUMBERS", most_numbers):
        listed = secateur.diagnose(tree, X, labels, sample_weight=w)
        found = listed.pairs()
        leaf = data.draw(st.sampled_from(oracles.leaves(tree)))
        assert list(listed.pairs(leaf)) == list(found.of_leaf(leaf)) == [one for one in found if one.leaf_id == leaf]
    counted = secateur.diagnose(tree, evidence=secateur.collect_evidence(tree, X, labels, sample_weight=w))
    assert list(counted.pairs()) == list(found)
    expected = [(leaf, pair) for leaf in oracles.leaves(tree) for pair in combinations(oracles.path(tree, leaf), 2)]
    assert [(one.leaf_id, one.link_ids) for one in found] == expected
    for one in found:
        _, both = slow_effect(tree, X, y, w, one.leaf_id, list(one.link_ids))
        alone = [slow_effect(tree, X, y, w, one.leaf_id, [link])[1] for link in one.link_ids]
        assert one.effect_size == both
        assert one.effect == SET_NAMES.get(find_side(tree, (X, y, w), one.leaf_id, one.link_ids, 0.05))
        if both is None:
            assert (one.alone, one.interaction) == (None, None)
        else:
            assert one.alone == tuple(alone)
            assert one.interaction == pytest.approx(both - sum(alone), abs=1e-12)


def test_pairs_counted_in_groups_are_the_same() -> None:
    X, y, model = cancer()
    small = list(secateur.diagnose(model, X, y).pairs())
    with mock.patch.object(training_evidence, "MOST_NUMBERS", 200):
        assert list(secateur.diagnose(model, X, y).pairs()) == small


def test_the_strongest_pairs_come_first_and_those_that_do_not_interact_are_left_out() -> None:
    X, y, model = cancer()
    found = secateur.diagnose(model, X, y).pairs()
    listed = found.strongest(len(found))
    sizes = [abs(one.interaction or 0) for one in listed]
    assert sizes == sorted(sizes, reverse=True)
    assert {one.link_ids for one in found if abs(one.interaction or 0) > 1e-12} == {one.link_ids for one in listed}
    assert len(found.strongest(3)) == 3
    frame: Any = found.to_frame("pandas")
    assert frame["interaction"].tolist() == [one.interaction for one in found]
    assert frame["effect"].tolist() == [one.effect for one in found]
    assert frame["leaf_id"].tolist() == [one.leaf_id for one in found]
    assert list(zip(frame["first_id"], frame["second_id"], strict=True)) == [one.link_ids for one in found]
    assert list(zip(frame["first_alone"], frame["second_alone"], strict=True)) == [one.alone for one in found]
    words = {row.link_id: row.condition for row in secateur.diagnose(model, X, y)}
    assert list(zip(frame["first"], frame["second"], strict=True)) == [
        tuple(words[link] for link in one.link_ids) for one in found
    ]


def test_what_cannot_be_answered_is_one_sentence_with_a_way_out() -> None:
    X, y, model = cancer()
    found = secateur.diagnose(model, X, y)
    leaf = found.leaf_ids[0]
    with pytest.raises(ParameterError, match=r"The tree has no leaf 1: its leaves are \d+, "):
        found.effect_of(1, [])
    with pytest.raises(ParameterError, match=f"The rule of leaf {leaf} has no condition 999: name its cond"):
        found.effect_of(leaf, [999])
    without = secateur.diagnose(model)
    for ask in (without.pairs, lambda: without.effect_of(leaf, [])):
        with pytest.raises(InputError, match="is not known without rows: pass X and y"):
            ask()
    narrow = secateur.collect_evidence(model, X, y, method="mismatch")
    with pytest.raises(InputError, match=r"collected for 'mismatch' and tells rows apart only by .* pass X and"):
        secateur.diagnose(model, evidence=narrow)
    with pytest.raises(InputError, match="X was passed beside evidence"):
        secateur.diagnose(model, X, y, evidence=secateur.collect_evidence(model, X, y))


def test_evidence_gives_the_diagnosis_of_its_rows() -> None:
    X, y, model = cancer()
    parts = [secateur.collect_evidence(model, X[part], y[part]) for part in (slice(0, 200), slice(200, None))]
    assert list(secateur.diagnose(model, evidence=parts[0].merge(parts[1]))) == list(secateur.diagnose(model, X, y))


def test_a_forest_gets_a_diagnosis_for_each_tree() -> None:
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)
    found: Any = secateur.diagnose(forest, X, y, tolerance=0.1)
    assert len(found) == 3
    assert repr(found) == f"<ForestDiagnosis of 3 trees with {sum(len(one) for one in found)} conditions>"
    for number, one in enumerate(found):
        tree = secateur.from_model(forest, tree=number)
        alone = secateur.diagnose(tree, X, y, tolerance=0.1)
        assert list(one) == list(alone)
        assert list(one.pairs()) == list(alone.pairs())
    frame = found.to_frame("pandas")
    assert frame.groupby("tree").size().tolist() == [len(one) for one in found]
    assert frame["link_id"].tolist() == [row.link_id for one in found for row in one]
    assert [row.effect for row in secateur.diagnose(forest)[0]] == [None] * len(found[0])


def test_a_pickled_diagnosis_keeps_its_rows_to_itself() -> None:
    X, y, model = cancer()
    found = secateur.diagnose(model, X, y)
    stored = pickle.dumps(found)
    again = pickle.loads(stored)
    assert list(again) == list(found)
    assert len(stored) < X.to_numpy().nbytes
    with pytest.raises(InputError, match="without rows"):
        again.pairs()
    counted = secateur.diagnose(model, evidence=secateur.collect_evidence(model, X, y))
    assert list(pickle.loads(pickle.dumps(counted)).pairs()) == list(found.pairs())


def test_it_is_a_sequence() -> None:
    X, y, model = cancer()
    found = secateur.diagnose(model, X, y)
    rows = list(found)
    assert (found[0], found[-1], found[2:5], found[::-7]) == (rows[0], rows[-1], rows[2:5], rows[::-7])
    with pytest.raises(IndexError, match=f"there are {len(rows)} conditions, found index {len(rows)}"):
        found[len(rows)]
    assert [row for leaf in found.leaf_ids for row in found.of_leaf(leaf)] == rows
    pairs = found.pairs()
    assert pairs[-1] == pairs[: len(pairs)][-1]
    with pytest.raises(IndexError, match="found index"):
        pairs[len(pairs)]


def test_a_notebook_and_a_prompt_show_a_short_table() -> None:
    X, y, model = cancer()
    found = secateur.diagnose(model, X, y, class_names=["<b>bad</b>", "good"], feature_names=None)
    lines = repr(found).splitlines()
    assert lines[0] == f"<Diagnosis of {len(found)} conditions of {len(found.leaf_ids)} rules, ε = 0.05>"
    assert lines[1].split() == ["leaf", "predicts", "condition", "status", "presumed", "D", "alone", "effect"]
    assert len(lines) == 2 + 12 + 1
    assert lines[-1].startswith(f"… and {len(found) - 12} more")
    page = found._repr_html_()
    assert page.count("<tr>") == len(found) + 1
    assert "<b>bad" not in page
    assert "&lt;b&gt;bad" in page
    only = DecisionTreeClassifier(max_depth=1).fit([[0], [0]], [1, 1])
    assert repr(secateur.diagnose(only)) == "<Diagnosis of 0 conditions of 1 rule, ε = 0.05>"
    assert "one leaf" in secateur.diagnose(only).to_text()


@given(tree=strategies.trees(max_leaves=8), data=st.data())
@settings(max_examples=40, deadline=None)
def test_texts_and_records_say_what_the_rows_say(tree: Tree, data: st.DataObject) -> None:
    X, y, w = data.draw(strategies.labelled_rows(tree, weights=data.draw(st.booleans())))
    found = secateur.diagnose(tree, X, tree.classes[y], sample_weight=w)
    text = found.to_text(pairs=True)
    assert text.count("    orientation  ") == text.count("    status  ") == text.count("    effect  ") == len(found)
    assert text.count("IRC-presumed") == sum(row.presumption == "IRC-presumed" for row in found)
    assert text.count("    certificate  ") == sum(row.exact for row in found)
    record = found.to_dict(pairs=True)
    assert json.loads(json.dumps(record, allow_nan=False))["tolerance"] == 0.05
    assert [c["link_id"] for rule in record["rules"] for c in rule["conditions"]] == [row.link_id for row in found]
    assert sum(len(rule["pairs"]) for rule in record["rules"]) == len(found.pairs())
    lines = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [line["link_id"] for line in lines] == [str(row.link_id) for row in found]
    leaf = found.leaf_ids[-1]
    assert found.to_text([leaf]) == found.to_text().split("\n\n")[-1]
    assert [rule["leaf_id"] for rule in found.to_dict([leaf])["rules"]] == [leaf]
    assert len(found.to_csv([leaf]).splitlines()) == 1 + len(found.of_leaf(leaf))


def test_the_tree_of_rules_is_diagnosed_before_deletion() -> None:
    X, y, model = cancer()
    rules = secateur.simplify(model, X, y, each_leaf=True)
    assert list(secateur.diagnose(rules, X, y)) == list(secateur.diagnose(rules.tree, X, y))
    forest = secateur.simplify(RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y), X, y, each_leaf=True)
    with pytest.raises(InputError, match=r"found the rules of a forest: diagnose one tree's, such as rules\[0\]"):
        secateur.diagnose(forest, X, y)


def test_one_link_is_a_set_of_one() -> None:
    X, y, model = cancer()
    found = secateur.diagnose(model, X, y)
    row = found[0]
    assert found.effect_of(row.leaf_id, row.link_id) == found.effect_of(row.leaf_id, [row.link_id])
    assert found.effect_of(row.leaf_id, np.int64(row.link_id)).effect_size == row.effect_size


def test_the_class_of_each_condition_is_named() -> None:
    X, y, model = cancer()
    frame = secateur.diagnose(model, X, y, class_names=["malignant", "benign"]).to_frame("pandas")
    assert (frame["class_name"] == frame["prediction"].map({0: "malignant", 1: "benign"})).all()
