"""Exactness under facts, judged by trying every kind of possible row."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st
from told_trees import Row, all_rows, cell_values, is_possible, told_trees, with_facts

import secateur
from secateur import Rules, Tree
from secateur.errors import ParameterError
from secateur.tree.facts import NO_FACTS, Claim, Facts, Group, Implication


def split_table(tree: Tree, rows: list[Row]) -> dict[int, list[bool]]:
    """For each link whether each row satisfies it."""
    table: dict[int, list[bool]] = {}
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        left = [oracles.goes_left(tree, node, row[tree.feature[node]]) for row in rows]
        table[int(tree.children_left[node])] = left
        table[int(tree.children_right[node])] = [not goes for goes in left]
    return table


def delete_by_trying(tree: Tree, possible: list[Row]) -> dict[int, list[int]]:
    """What `exact` must delete: root to leaf, whatever lets in no possible row of another class."""
    table = {link: np.array(held, dtype=bool) for link, held in split_table(tree, possible).items()}
    classes = np.array([oracles.tree_class(tree, row) for row in possible])
    deletion = {}
    for leaf in oracles.leaves(tree):
        path, gone = oracles.path(tree, leaf), []
        for link in path:
            rest = [other for other in path if other not in (*gone, link)]
            covered = np.logical_and.reduce([table[other] for other in rest]) if rest else np.ones(len(possible), bool)
            if (classes[covered] == tree.leaf_class[leaf]).all():
                gone.append(link)
        deletion[leaf] = gone
    return deletion


def simplified(tree: Tree, method: str = "exact", **how: Any) -> Rules | None:
    """The rules; None if the facts contradict one another."""
    try:
        return secateur.simplify(tree, method=method, each_leaf=True, **how)
    except ParameterError as error:
        note(str(error))
        return None


@given(told_trees())
@settings(max_examples=60, deadline=None)
def test_exact_deletes_what_trying_every_possible_row_allows(tree: Tree) -> None:
    rows = all_rows(tree)
    possible = [row for row in rows if is_possible(tree, tree.facts, row)]
    rules = simplified(tree)
    if rules is None:
        assert not possible
        return
    assert possible
    assert {rule.leaf_id: list(rule.deleted_ids) for rule in rules} == delete_by_trying(tree, possible)


@given(told_trees(), st.data(), st.sampled_from([0.0, 0.1, 0.25, 1.0]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_faithful_deletes_what_trying_every_possible_row_allows(
    tree: Tree, data: st.DataObject, tolerance: float, protect: bool
) -> None:
    possible = [row for row in all_rows(tree) if is_possible(tree, tree.facts, row)]
    assume(possible)
    rows = data.draw(st.lists(st.sampled_from(possible), min_size=1, max_size=25))
    labels = data.draw(strategies.lists_of(st.integers(0, tree.n_classes - 1), len(rows)))
    table = {link: np.array(held, dtype=bool) for link, held in split_table(tree, possible).items()}
    classes = np.array([oracles.tree_class(tree, row) for row in possible])

    def implies(_: Tree, links: list[int], class_id: int) -> bool:
        covered = np.logical_and.reduce([np.ones(len(possible), bool), *(table[link] for link in links)])
        return bool((classes[covered] == class_id).all())

    X, y = np.array(rows, dtype=np.float64), np.array(labels)
    settings = {"tolerance": tolerance, "protect": protect}
    rules = secateur.simplify(tree, X, tree.classes[y], method="faithful", each_leaf=True, **settings)
    expected = oracles.delete_faithful(tree, X, y, None, implies=implies, **settings)
    assert {rule.leaf_id: list(rule.deleted_ids) for rule in rules} == expected
    assert rules.verify()


@given(strategies.trees(n_features=1, categorical=False, min_leaves=4, max_leaves=9))
@settings(max_examples=100, deadline=None)
def test_whole_numbers_are_all_that_an_integer_column_holds(tree: Tree) -> None:
    told = with_facts(tree, Facts(integers=(0,)))
    rules = secateur.simplify(told, method="exact", each_leaf=True)
    assert {rule.leaf_id: list(rule.deleted_ids) for rule in rules} == delete_by_trying(told, all_rows(told))
    assert rules.verify()


@given(told_trees(), st.sampled_from(["exact", "redundancy"]))
@settings(max_examples=100, deadline=None)
def test_possible_rows_get_one_answer_and_the_verifier_agrees(tree: Tree, method: str) -> None:
    rules = simplified(tree, method)
    assume(rules is not None)
    assert rules is not None
    possible = [row for row in all_rows(tree) if is_possible(tree, tree.facts, row)]
    assume(possible)  # facts that no row can satisfy leave nothing to ask about
    X = np.array(possible, dtype=np.float64)
    answers = np.array([oracles.tree_class(tree, row) for row in possible])
    covered = rules.covers(X)
    for rule in rules:
        assert (answers[covered[:, rule.index]] == tree.leaf_class[rule.leaf_id]).all()
    assert rules.verify()
    again = secateur.Rules.from_json(rules.to_json())
    assert again == rules
    assert again.tree == rules.tree
    assert again.verify()


@given(told_trees(), st.data())
@settings(max_examples=150, deadline=None)
def test_the_verifier_refutes_one_deletion_too_many(tree: Tree, data: st.DataObject) -> None:
    rules = simplified(tree)
    assume(rules is not None)
    assert rules is not None
    kept = np.flatnonzero(~rules.deleted)
    assume(len(kept))
    entry = data.draw(st.sampled_from(kept.tolist()))
    possible = [row for row in all_rows(tree) if is_possible(tree, tree.facts, row)]
    rule, link = int(rules.paths.rule[entry]), int(rules.paths.links[entry])
    left = [other for other in rules[rule].kept_ids if other != link]
    wrong = any(
        oracles.satisfies(tree, row, left) and oracles.tree_class(tree, row) != tree.leaf_class[rules[rule].leaf_id]
        for row in possible
    )
    assert wrong, "exact leaves nothing that could go"
    deletions = replace(rules.deletions, deleted=rules.deleted.copy(), why=rules.deletions.why.copy())
    deletions.delete(entry, secateur.methods.Why.NO_FOREIGN_LEAF)
    assert not replace(rules, deletions=deletions).verify()


@given(told_trees())
@settings(max_examples=100, deadline=None)
def test_a_witness_is_a_possible_row(tree: Tree) -> None:
    rules = simplified(tree)
    assume(rules is not None)
    assert rules is not None
    possible = [row for row in all_rows(tree) if is_possible(tree, tree.facts, row)]
    for rule in rules:
        for reason in rule.reasons.values():
            if reason.witness_point is None:
                continue
            point = reason.witness_point
            fixed = {f: value_of(tree, f, point[name]) for f in range(tree.n_features) if (name := f"x{f}") in point}
            # Columns that the point leaves out may hold anything that is possible beside it.
            rest = [f for f in range(tree.n_features) if f not in fixed]
            whole = [
                row
                for row in ({**fixed, **dict(zip(rest, values, strict=True))} for values in values_of(tree, rest))
                if is_possible(tree, tree.facts, tuple(row[f] for f in range(tree.n_features)))
            ]
            others = [link for link in rule.kept_ids if link != reason.link_id]
            assert any(
                oracles.walk(tree, full) == reason.witness_leaf and oracles.satisfies(tree, full, others)
                for full in (tuple(row[f] for f in range(tree.n_features)) for row in whole)
            )
    assert possible


def values_of(tree: Tree, features: list[int]) -> list[Row]:
    """All combinations of values of some columns."""
    return list(itertools.product(*(cell_values(tree, feature) for feature in features)))


def value_of(tree: Tree, feature: int, value: Any) -> float:
    """A witness's value as a row holds it."""
    if value is None:
        return math.nan
    levels = tree.categories[feature]
    if levels is None:
        return float(value)
    return float(levels.index(value)) if value in levels else float(len(levels))


@given(told_trees())
@settings(max_examples=100, deadline=None)
def test_the_facts_that_a_rule_assumes_suffice_and_each_is_needed(tree: Tree) -> None:
    rules = simplified(tree)
    assume(rules is not None)
    assert rules is not None
    rows = all_rows(tree)
    stated: dict[str, Any] = {str(fact): fact for fact in (*tree.facts.implications, *tree.facts.claims)}
    stated |= {str(group): group for group in tree.facts.groups}
    stated |= {f"x{feature} is a whole number": feature for feature in tree.facts.integers}
    stated |= {f"x{feature} has at most 1 decimal": feature for feature, _ in tree.facts.decimals}
    assume(len(stated) == sum(len(listed) for listed in vars_of(tree.facts)))
    for rule in rules:
        grounds = rules.facts_used.of_rule(rule.index)
        assert implies(tree, rule, rows, only(tree.facts, [stated[words] for words in grounds]))
        for words in grounds:
            others = [stated[other] for other in grounds if other != words]
            speaks_of_group = any(claim.subject >= tree.n_features for claim in claims_in(others))
            if not (isinstance(stated[words], Group) and speaks_of_group):
                assert not implies(tree, rule, rows, only(tree.facts, others))


def vars_of(facts: Facts) -> list[tuple[Any, ...]]:
    return [facts.integers, facts.decimals, facts.claims, facts.groups, facts.implications]


def claims_in(facts: list[Any]) -> list[Claim]:
    pairs = [(fact.premise, fact.conclusion) for fact in facts if isinstance(fact, Implication)]
    return [*(fact for fact in facts if isinstance(fact, Claim)), *(claim for pair in pairs for claim in pair)]


def only(facts: Facts, wanted: list[Any]) -> Facts:
    """Some of the facts."""
    return Facts(
        integers=tuple(f for f in facts.integers if any(fact is f for fact in wanted if isinstance(fact, int))),
        decimals=tuple(pair for pair in facts.decimals if pair[0] in [f for f in wanted if isinstance(f, int)]),
        claims=tuple(claim for claim in facts.claims if claim in wanted),
        groups=tuple(group for group in facts.groups if group in wanted),
        implications=tuple(known for known in facts.implications if known in wanted),
    )


def implies(tree: Tree, rule: Any, rows: list[Row], facts: Facts) -> bool:
    """Whether a rule covers no row of another class that satisfies some facts."""
    free = replace(tree, facts=facts)
    tried = all_rows(free) if facts != tree.facts else rows
    return not any(
        is_possible(free, facts, row)
        and oracles.satisfies(tree, row, rule.kept_ids)
        and oracles.tree_class(tree, row) != tree.leaf_class[rule.leaf_id]
        for row in tried
    )


@given(told_trees())
@settings(max_examples=50, deadline=None)
def test_opting_out_deletes_what_a_tree_without_facts_deletes(tree: Tree) -> None:
    plain = secateur.simplify(replace(tree, facts=NO_FACTS), method="exact", each_leaf=True)
    opted = secateur.simplify(tree, method="exact", domain_knowledge=False, each_leaf=True)
    assert opted.deleted.tolist() == plain.deleted.tolist()
    assert not opted.facts_used.used
    assert opted.verify()


def hue_tree() -> Tree:
    """Up to n = 5 "no" (leaf 1); above, "yes" (leaf 3) unless the hue is red (leaf 4)."""
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["hue_red", "hue_blue", "n"])
    root = builder.split("n", 5)
    builder.leaf(prediction="no", parent=root, side="left")
    node = builder.split("hue_red", 0.5, parent=root, side="right")
    builder.leaf(prediction="yes", parent=node, side="left")
    builder.leaf(prediction="no", parent=node, side="right")
    return builder.build()


@pytest.mark.parametrize(
    ("fact", "deleted"),
    [
        # A premise about a group that was taken as never true would delete nothing, one always true condition 2, too.
        ("hue = red => n <= 5", {1: [], 3: [3], 4: [2]}),
        # A conclusion about a group that was taken as never true would leave no row above 5: all is "no", and 1 goes.
        ("n > 5 => hue = blue", {1: [], 3: [3], 4: [2]}),
        ("n > 5 => hue != red", {1: [], 3: [3], 4: [2]}),
        # Then every row is "no".
        ("hue = red", {1: [1], 3: [2], 4: [2, 4]}),
        ("hue != red", {1: [], 3: [3], 4: [2]}),
    ],
)
def test_claims_about_a_group_hold_where_its_columns_say_so(fact: str, deleted: dict[int, list[int]]) -> None:
    rules = secateur.simplify(hue_tree(), facts=[fact], groups={"hue": ["hue_red", "hue_blue"]}, each_leaf=True)
    found = {rule.leaf_id: list(rule.deleted_ids) for rule in rules}
    possible = [row for row in all_rows(rules.tree) if is_possible(rules.tree, rules.tree.facts, row)]
    assert found == delete_by_trying(rules.tree, possible)
    assert found == deleted
    assert rules.verify().ok
    for leaf in (1, 3, 4):
        for link in set(oracles.path(rules.tree, leaf)) - set(deleted[leaf]):
            entry = next(
                place
                for place in range(len(rules.paths.links))
                if rules.paths.leaf_ids[rules.paths.rule[place]] == leaf and rules.paths.links[place] == link
            )
            more = replace(rules.deletions, deleted=rules.deletions.deleted.copy(), why=rules.deletions.why.copy())
            more.delete(entry, secateur.methods.Why.NO_FOREIGN_LEAF)
            assert not replace(rules, deletions=more).verify()
