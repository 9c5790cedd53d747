"""Lists decide, cover and count rows as slow versions do, and say what became of every leaf."""

from __future__ import annotations

import io
import pickle
from typing import Any

import list_oracles
import numpy as np
import oracles
import pytest
import strategies
import told_trees
from exported_rules import HOSTILE, hostile_rules
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from rich.console import Console
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import ListForm, choose_lines
from secateur.errors import InputError, ParameterError
from secateur.tree.tree import Tree


@st.composite
def list_problems(draw: st.DrawFn) -> tuple[secateur.Rules, Any, NDArray[np.int64], list[float] | None]:
    """Lists of any method, with and without a budget, and their training rows."""
    tree = draw(strategies.trees(max_leaves=9))
    X, y, weights = draw(strategies.labelled_rows(tree, weights=draw(st.booleans())))
    method = draw(st.sampled_from(["exact", "exact", "none", "faithful", "mismatch", "quinlan"]))
    settings = {"tolerance": 0.2} if method in ("faithful", "mismatch") else {}
    whole = method != "quinlan"  # which counts rows, not weights
    weights = weights if whole else None
    rules = secateur.simplify(
        tree, X, tree.classes[y], method=method, sample_weight=weights, each_leaf=True, **settings
    )
    try:
        found = choose_lines(
            rules,
            ListForm(
                tolerance=draw(st.sampled_from([0.0, 0.05, 0.5, 1.0])),
                sections=draw(st.sampled_from([1, 3, "auto"])),
                otherwise=draw(st.sampled_from(["auto", *tree.classes[sorted(set(rules.paths.leaf_class))].tolist()])),
            ),
            budget=draw(st.sampled_from([0.0, 0.0, 0.05, 0.2])),
        )
    except InputError as error:
        if method == "exact" or "before anything is spent" not in str(error):
            raise
        reject()
    return found, X, y, weights


@given(list_problems())
@settings(max_examples=60, deadline=None)
def test_rows_are_decided_covered_and_counted_one_by_one(
    problem: tuple[secateur.Rules, Any, NDArray[np.int64], list[float] | None],
) -> None:
    rules, X, y, weights = problem
    deciding = [list_oracles.deciding(rules, row) for row in X]
    assert rules.apply(X).tolist() == deciding
    classes = [list_oracles.said(rules, index) for index in deciding]
    assert rules.predict(X).tolist() == rules.tree.classes[classes].tolist()
    covers = [[rule.index in list_oracles.covering(rules, row) for rule in rules] for row in X]
    assert rules.covers(X).tolist() == covers
    counts = list_oracles.count_decided(rules, X, y, weights)
    assert np.allclose(rules.decided_counts, counts)
    assert rules.counts is rules.decided_counts
    assert np.allclose(rules.support, counts.sum(axis=1))
    for line in rules.lines:
        assert line.class_counts == pytest.approx(counts[line.index])
        assert line.is_otherwise == (line.index == line.section.otherwise.index)
        assert line.class_id == list_oracles.said(rules, line.index)
    for index, share in zip(deciding, rules.predict_proba(X), strict=True):
        total = counts[index].sum()
        known = counts[index] / total if total else np.eye(rules.tree.n_classes)[list_oracles.said(rules, index)]
        stated = rules.lines[index].share
        if stated is None:
            assert np.allclose(share, known)
            continue
        assert share[classes[deciding.index(index)]] == stated
        assert share.sum() == pytest.approx(1)
        rest = 1 - known[list_oracles.said(rules, index)]
        if total and rest:  # the others share what is left as they share the line's rows
            others = np.arange(len(known)) != list_oracles.said(rules, index)
            assert np.allclose(share[others], known[others] / rest * (1 - stated))
    audit = rules.audit(X, rules.tree.classes[y], sample_weight=weights)
    heavy = np.ones(len(X)) if weights is None else np.array(weights)
    differs = np.array([oracles.tree_class(rules.tree, row) for row in X]) != np.array(classes)
    assert audit.agreement == pytest.approx(100 - 100 * heavy[differs].sum() / heavy.sum())
    assert audit.coverage == pytest.approx(100 * heavy[np.array(covers).any(axis=1)].sum() / heavy.sum())
    of_rules = [{rules[place].class_id for place in np.flatnonzero(row)} for row in covers]
    in_conflict = np.array([len(found) > 1 for found in of_rules])
    assert audit.conflict == pytest.approx(100 * heavy[in_conflict].sum() / heavy.sum())
    leaves = [oracles.walk(rules.tree, row) for row in X]
    off = np.array(
        [
            any(list_oracles.is_off(rules, line, leaf) for line in list_oracles.covering(rules, row) or [index])
            for row, leaf, index in zip(X, leaves, deciding, strict=True)
        ]
    )
    if rules.budget or rules.is_exact:
        assert heavy[off].sum() <= rules.budget * heavy.sum() + 1e-9
        for class_id in set(rules.tree.leaf_class[leaves]):
            own = heavy * (rules.tree.leaf_class[leaves] == class_id)
            assert own[off].sum() <= rules.budget * own.sum() + 1e-9
    for row in X[:3]:
        explained = rules.explain(row)
        assert explained.prediction == rules.predict(row[None])[0]
        assert [rule.index for rule in explained.covering] == sorted(list_oracles.covering(rules, row))
        assert explained.rule.index == list_oracles.deciding(rules, row)
        assert explained.own_rule.leaf_id == oracles.walk(rules.tree, row)


@given(list_problems())
@settings(max_examples=40, deadline=None)
def test_files_and_certificates_hold(
    problem: tuple[secateur.Rules, Any, NDArray[np.int64], list[float] | None],
) -> None:
    rules, X, y, weights = problem
    labels = rules.tree.classes[y]
    assert rules.verify().failures == ()
    again = secateur.Rules.from_json(rules.to_json())
    assert again == rules
    assert again.to_text(reasons=True) == rules.without_rows().to_text(reasons=True)
    assert again.apply(X).tolist() == rules.apply(X).tolist()
    assert again.verify(X, labels, sample_weight=weights).failures == ()
    assert pickle.loads(pickle.dumps(rules)) == rules


@given(list_problems())
@settings(max_examples=40, deadline=None)
def test_every_leaf_lies_in_a_line_or_is_left_to_the_otherwise_of_its_section(
    problem: tuple[secateur.Rules, Any, NDArray[np.int64], list[float] | None],
) -> None:
    rules, *_ = problem
    tree = rules.tree
    rows_of: dict[int, list[Any]] = {}
    for row in oracles.grid_rows(tree, limit=1500):
        rows_of.setdefault(oracles.walk(tree, row), []).append(row)
    for section in rules.sections:
        assert section.otherwise is not None
        below = set(section.otherwise.kept_ids)
        own = [leaf for leaf in oracles.leaves(tree) if below <= set(oracles.path(tree, leaf))]
        for line in section.rules:
            assert line.leaf_id in own
            for leaf in set(own) & set(rows_of):
                inside = all(oracles.satisfies(tree, row, line.kept_ids) for row in rows_of[leaf])
                assert (leaf in line.leaf_ids) == inside
        stood_for = {leaf for line in section.rules for leaf in line.leaf_ids}
        assert set(section.otherwise.leaf_ids) & set(rows_of) == (set(own) & set(rows_of)) - stood_for


@given(told_trees.told_trees(), st.data())
@settings(max_examples=50, deadline=None)
def test_with_facts_every_possible_row_is_decided_as_by_the_tree(tree: Tree, data: st.DataObject) -> None:
    possible = [row for row in told_trees.all_rows(tree) if told_trees.is_possible(tree, tree.facts, row)]
    assume(possible)
    rules = secateur.simplify(
        tree, otherwise=data.draw(st.sampled_from(["auto", *tree.classes[predicted(tree)].tolist()]))
    )
    for row in possible:
        wanted = oracles.tree_class(tree, row)
        assert {list_oracles.said(rules, index) for index in list_oracles.covering(rules, row)} <= {wanted}
        assert list_oracles.said(rules, list_oracles.deciding(rules, row)) == wanted
    found = rules.verify()
    assert found.ok, found
    assert secateur.Rules.from_json(rules.to_json()).verify().ok


@given(told_trees.told_trees(), st.data())
@settings(max_examples=60, deadline=None)
def test_the_facts_that_are_named_suffice(tree: Tree, data: st.DataObject) -> None:
    assume(any(told_trees.is_possible(tree, tree.facts, row) for row in told_trees.all_rows(tree)))
    rules = secateur.simplify(
        tree,
        method=data.draw(st.sampled_from(["none", "exact"])),
        otherwise=data.draw(st.sampled_from(["auto", *tree.classes[predicted(tree)].tolist()])),
    )
    facts = tree.facts
    for words, fact in rules.facts_used.stated:
        fewer = facts if words in rules.assumptions else facts.leave_out(fact, tree.n_features)
        facts = facts if fewer is None else fewer
    for row in told_trees.all_rows(tree):
        if told_trees.is_possible(tree, facts, row):
            said = list_oracles.said(rules, list_oracles.deciding(rules, row))
            assert said == oracles.tree_class(tree, row)


@given(told_trees.told_trees(), st.data())
@settings(max_examples=40, deadline=None)
def test_a_budget_holds_with_facts_too(tree: Tree, data: st.DataObject) -> None:
    possible = [row for row in told_trees.all_rows(tree) if told_trees.is_possible(tree, tree.facts, row)]
    assume(possible)
    rows = data.draw(st.lists(st.sampled_from(possible), min_size=1, max_size=25))
    y = data.draw(strategies.lists_of(st.integers(0, tree.n_classes - 1), len(rows)))
    X = np.array(rows, dtype=np.float64)
    rules = secateur.simplify(tree, X, tree.classes[y], budget=0.2)
    differs = [
        list_oracles.said(rules, list_oracles.deciding(rules, row)) != oracles.tree_class(tree, row) for row in rows
    ]
    assert np.mean(differs) <= 0.2 + 1e-9
    found = rules.verify()
    assert found.ok, found


def test_a_budget_that_the_rules_exceed_already_is_rejected() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age"])
    root = builder.split("age", 30)
    builder.leaf([5, 0], parent=root, side="left")
    builder.leaf([3, 4], parent=root, side="right")
    tree = builder.build()
    X, y = np.array([[20.0]] * 5 + [[40.0]] * 7), ["no"] * 8 + ["yes"] * 4
    rules = secateur.simplify(tree, X, y, method="quinlan", alpha=0.0, each_leaf=True)
    assert [rule.text for rule in rules] == ["always => no", "always => yes"]
    with pytest.raises(InputError, match=r"before anything is spent, beyond the budget of 1 %.*'exact'"):
        choose_lines(rules, budget=0.01)


def predicted(tree: Tree) -> list[int]:
    """The classes that leaves predict."""
    return sorted({int(tree.leaf_class[leaf]) for leaf in oracles.leaves(tree)})


def one_leaf() -> Tree:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age"])
    builder.leaf([3, 1])
    return builder.build()


def one_class() -> Tree:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age"])
    root = builder.split("age", 30)
    builder.leaf([3, 1], parent=root, side="left")
    builder.leaf([2, 1], parent=root, side="right")
    return builder.build()


def unreachable() -> Tree:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age", "sex"])
    root = builder.split("age", 30)
    builder.leaf([5, 1], parent=root, side="left")
    later = builder.split("age", 20, parent=root, side="right")
    builder.leaf([0, 2], parent=later, side="left")  # no age is above 30 and at most 20
    last = builder.split("sex", 0.5, parent=later, side="right")
    builder.leaf([1, 4], parent=last, side="left")
    builder.leaf([4, 0], parent=last, side="right")
    return builder.build()


@pytest.mark.parametrize("tree", [one_leaf(), one_class()])
def test_a_tree_of_one_class_needs_no_rule(tree: Tree) -> None:
    X, y = np.array([[20.0], [40.0]]), ["no", "yes"]
    rows: dict[str, Any] = {"X": X, "y": y}
    for given_rows in ({}, rows, {**rows, "budget": 0.5}):
        rules = secateur.simplify(tree, tolerance=1, **given_rows)
        assert len(rules) == 0
        assert rules.lines[-1].prediction == "no"
        assert any(line.startswith("1. no always") for line in str(rules).splitlines())
        assert rules.apply(X).tolist() == [0, 0]
        assert rules.predict(X).tolist() == ["no", "no"]
        assert rules.covers(X).shape == (2, 0)
        assert rules.verify().ok
        assert rules.audit(X, y).coverage == 0
        assert "always" in rules._repr_html_()
        assert secateur.Rules.from_json(rules.to_json()) == rules
        assert [*rules.to_frame("pandas")["rule"]] == ["always"]
        assert "| 1 | always | no |" in rules.to_markdown()
        for written in (rules.to_csv(), rules.to_latex()):
            assert "always" in written
            assert "otherwise" not in written
    told = str(secateur.simplify(tree, X, y, tolerance=1)).splitlines()
    assert "1. no always   1 of 2 yes in training, 50.0 %" in told
    assert told[-1] == "Note: Every rule predicts no, though 50.0 % of the rows are yes."


def test_otherwise_is_of_a_class_that_a_leaf_predicts() -> None:
    with pytest.raises(ParameterError, match="No leaf predicts 'yes': leave otherwise out, or name a class that one"):
        secateur.simplify(one_class(), otherwise="yes")
    (line,) = secateur.simplify(one_class(), otherwise="no").lines
    assert (line.text, line.leaf_ids, line.support) == ("always => no", (1, 2), 7)


def test_leaves_that_no_row_reaches_are_not_written_and_say_so() -> None:
    rules = secateur.simplify(unreachable(), otherwise="no")
    assert [rule.text for rule in rules] == ["age > 30 and sex <= 0.5 => yes"]
    unreached = 3  # the node that the tree's second split sends no row to
    assert unreached not in {leaf for line in rules.lines for leaf in line.leaf_ids}
    assert rules.verify().ok


def test_otherwise_is_a_label_or_the_name_of_a_class() -> None:
    data = load_iris()
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(data.data, data.target)
    rules = secateur.simplify(model, data.data, data.target, class_names=data.target_names, each_leaf=True)
    for name, label in zip(data.target_names, range(3), strict=True):
        for otherwise in (label, np.int64(label), str(name), name):
            assert choose_lines(rules, ListForm(otherwise=otherwise)).lines[-1].prediction == label
    with pytest.raises(ParameterError, match=r"There is no class 'setos' .* the classes are 0, 1, 2,"):
        choose_lines(rules, ListForm(otherwise="setos"))
    with pytest.raises(ParameterError, match="There is no class 7 to leave"):
        choose_lines(rules, ListForm(otherwise=7))


def test_hostile_names_are_escaped_in_notebooks_and_terminals() -> None:
    rules = choose_lines(hostile_rules())
    page = rules._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(rules)
    assert HOSTILE[0] in console.export_text()


def test_a_terminal_lists_rules_and_otherwise() -> None:
    data = load_iris()
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(data.data, data.target)
    rules = secateur.simplify(model, data.data, data.target, class_names=data.target_names)
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(rules)
    shown = console.export_text()
    assert "3 lines with 2 conditions; the tree has 3 rules with 3" in shown
    assert "│ 3 │ otherwise" in shown
    assert "45 of 46 virginica in training" in shown


# --- compared -------------------------------------------------------------------------------------------------------


def train(depth: int, **settings: Any) -> secateur.Rules:
    data = load_breast_cancer()
    model = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(data.data, data.target)
    return secateur.simplify(model, data.data, data.target, feature_names=data.feature_names, **settings)


def test_lists_are_compared_by_what_they_say() -> None:
    same = train(3).diff(train(3))
    assert same.is_same
    assert same.to_dict()["otherwise"] == {"old": "0", "new": "0"}
    assert str(same) == f"The same {len(train(3))} rules, otherwise 0."
    plain: dict[str, Any] = {"tolerance": 1, "sections": 1}
    moved = train(3, otherwise=0, **plain).diff(train(3, otherwise=1, **plain))
    assert not moved.is_same
    assert "otherwise 0\n  now: otherwise 1" in str(moved)
    assert moved.counts["removed"] == len(train(3, otherwise=0, **plain))
    longer = train(3, otherwise=0, **plain).diff(train(4, otherwise=0, **plain))
    assert not longer.is_same
    assert "otherwise" not in str(longer)
    parted = train(3, sections=1).diff(train(3, sections=2))
    assert not parted.is_same
    assert "otherwise 0\n  now: otherwise 1 among worst radius ≤ 16.795; 0 among worst radius > 16.795" in str(parted)


def test_a_list_is_not_compared_with_one_rule_a_leaf() -> None:
    with pytest.raises(InputError, match=r"compared with a list only.*rules\.each_leaf"):
        train(3).diff(train(3).each_leaf)
