"""The independent checker accepts what is right and fails loudly on what was tampered with."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.tree import Tree


@pytest.fixture(scope="module")
def problem() -> tuple[Any, Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y), X, y


def tamper(rules: secateur.RuleSet, change: Any) -> secateur.RuleSet:
    content = json.loads(rules.to_json())
    change(content)
    return secateur.RuleSet.from_json(json.dumps(content))


def delete_one_more(content: dict[str, Any]) -> None:
    rule = next(rule for rule in content["rules"] if len(rule["kept_ids"]) > 1)
    link = rule["kept_ids"].pop(0)
    rule["deleted_ids"] = sorted([*rule["deleted_ids"], link])


@pytest.mark.parametrize("method", secateur.METHODS)
def test_every_method_verifies_with_its_rows(problem: tuple[Any, Any, Any], method: str) -> None:
    model, X, y = problem
    rules = secateur.simplify(model, X, y, method=method)
    assert rules.verify().ok
    reread = secateur.RuleSet.from_json(rules.to_json())
    assert reread.verify(X, y).ok
    assert "Verified." in str(reread.verify(X, y))


@pytest.mark.parametrize("method", secateur.METHODS)
def test_a_tampered_file_fails(problem: tuple[Any, Any, Any], method: str) -> None:
    model, X, y = problem
    rules = secateur.simplify(model, X, y, method=method)
    bad = tamper(rules, delete_one_more)
    for found in (bad.verify(), bad.verify(X, y)):
        assert not found.ok
        assert not found
        assert any("digest" in failure for failure in found.failures)


def test_a_tampered_tree_fails(problem: tuple[Any, Any, Any]) -> None:
    def move_threshold(content: dict[str, Any]) -> None:
        content["tree"]["threshold"][0] += 1.0

    rules = secateur.simplify(*problem, method="exact")
    assert any("digest" in failure for failure in tamper(rules, move_threshold).verify().failures)


def sign_again(content: dict[str, Any]) -> None:
    from secateur.export.json import _digest

    content.pop("digest")
    content["digest"] = _digest(content)


@pytest.mark.parametrize(
    "lie",
    [
        lambda c: c.update(guarantee="Everything is preserved."),
        lambda c: c["rules"][0].update(conditions=["always"]),
        lambda c: c["rules"][0].update(reliability=1.0, support=1e6),
        lambda c: c["rules"][0]["reasons"][0].update(text="trust me"),
    ],
)
def test_false_words_under_a_new_digest_fail(problem: tuple[Any, Any, Any], lie: Any) -> None:
    def change(content: dict[str, Any]) -> None:
        lie(content)
        sign_again(content)

    rules = secateur.simplify(*problem, method="layered")
    assert tamper(rules, sign_again).verify(*problem[1:]).ok
    assert not tamper(rules, change).verify(*problem[1:]).ok


def with_deletion(rules: secateur.RuleSet, entry: int) -> secateur.RuleSet:
    """The same rule set with one more condition deleted, as a faulty method would leave it."""
    rules.deletions.deleted[entry] = True
    return rules


def test_an_unsound_exact_deletion_is_found_without_the_digest(problem: tuple[Any, Any, Any]) -> None:
    model, *_ = problem
    for method in ("sibling", "redundancy", "exact"):
        kept = np.flatnonzero(~secateur.simplify(model, method="exact").deleted)
        for entry in kept:  # exact is subset-minimal, so any further deletion is unsound
            rules = with_deletion(secateur.simplify(model, method="exact"), int(entry))
            found = rules.verify()
            assert not found.ok
            assert "predicts another class" in found.failures[0]
        assert secateur.simplify(model, method=method).verify().ok


def test_a_wrong_reliability_is_found_without_the_digest(problem: tuple[Any, Any, Any]) -> None:
    rules = secateur.simplify(*problem, method="mismatch", tolerance=0.0)
    rules.class_counts[0, 0] += 1
    found = rules.verify()
    assert not found.ok
    assert "class_counts of the rule of leaf" in found.failures[0]


def test_a_deletion_beyond_the_tolerance_is_found(problem: tuple[Any, Any, Any]) -> None:
    loose = secateur.simplify(*problem, method="mismatch", tolerance=1.0)
    strict = secateur.simplify(*problem, method="mismatch", tolerance=0.0)
    assert loose.deleted.sum() > strict.deleted.sum()
    loose.parameters["tolerance"] = 0.0  # type: ignore[index]
    found = loose.verify()
    assert not found.ok
    assert "moved its reliability by" in found.failures[0]


def test_a_certificate_is_checked_against_the_listed_domain(problem: tuple[Any, Any, Any]) -> None:
    model, X, y = problem
    rules = secateur.simplify(model, X, y, method="M1-D")
    assert any(rule.deleted_ids for rule in rules)
    wrong = 1 - y
    found = rules.verify(X, wrong)
    assert not found.ok
    assert "covers listed row" in found.failures[0]


def test_a_false_direction_is_found(problem: tuple[Any, Any, Any]) -> None:
    data = secateur.datasets.load("human-id")
    model = DecisionTreeClassifier(random_state=0).fit(data.X, data.y)
    rules = secateur.simplify(model, data.X, data.y, method="M1-D")
    assert rules.deleted.any()
    signs = [0] * data.X.shape[1]
    rules.parameters["monotone"] = signs  # type: ignore[index]
    found = rules.verify()
    assert not found.ok
    assert "stated directions do not cover" in found.failures[0]


def test_row_based_promises_are_not_called_proved_without_rows(problem: tuple[Any, Any, Any]) -> None:
    for method in ("mismatch", "layered", "mismatch-certified"):
        reread = secateur.RuleSet.from_json(secateur.simplify(*problem, method=method).to_json())
        found = reread.verify()
        assert not found.ok
        assert "verify(X, y)" in found.failures[0]


@given(tree=strategies.trees(max_leaves=8), data=st.data())
@settings(max_examples=150, deadline=None)
def test_the_checker_and_the_oracle_agree_on_arbitrary_deletions(tree: Tree, data: st.DataObject) -> None:
    """Random deletion sets, sound or not: the checker's verdict is the slow box comparison's."""
    rules = secateur.simplify(tree, method="none")
    assume(len(rules.deleted))
    flags = data.draw(st.lists(st.booleans(), min_size=len(rules.deleted), max_size=len(rules.deleted)))
    rules.deletions.deleted[:] = flags
    expected = all(oracles.implies_class(tree, rule.kept_ids, tree.leaf_class[rule.leaf_id]) for rule in rules)
    assert rules.verify().ok == expected
