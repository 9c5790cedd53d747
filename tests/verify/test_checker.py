"""The independent checker accepts what is right and fails loudly on what was tampered with."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import oracles
import pandas as pd
import pytest
import strategies
from forged_files import entries_with, find_kept, give_reason, sign_again, word_again
from forged_rules import forge
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import secateur
from secateur.errors import FormatError
from secateur.export.json import rules_to_record
from secateur.methods import Why
from secateur.rows.checking import check_rows
from secateur.tree.tree import Tree
from secateur.verify import case, promises, verify_rules
from secateur.verify.fields import REASONS, Behind
from secateur.words.reasons import WORDS


@pytest.fixture(scope="module")
def problem() -> tuple[Any, Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y), X, y


def tamper(rules: secateur.Rules, change: Any) -> secateur.Rules:
    content = json.loads(rules.to_json())
    change(content)
    return secateur.Rules.from_json(json.dumps(content))


def delete_one_more(content: dict[str, Any]) -> None:
    """Delete a condition, and give it a reason of the method for it."""
    kinds = [why.kind for why in sorted(secateur.METHODS[content["method"]].gives) if why.is_deletion]
    columns = content["leaves"]
    entry = find_kept(content, columns["leaf_ids"])
    kind = kinds[-1] if kinds else columns["kinds"][columns["kind"][entry]]
    behind = REASONS[kind] if kind != "no-foreign-leaf" or content["method"] == "faithful" else Behind()
    numbers = {name: 0.5 if getattr(behind, name) else None for name in ("before", "after", "number")}
    give_reason(columns, entry, kind, deleted=1, node=-1, **numbers)


@pytest.mark.parametrize("method", secateur.METHODS)
def test_every_method_verifies_with_its_rows(problem: tuple[Any, Any, Any], method: str) -> None:
    model, X, y = problem
    rules = secateur.simplify(model, X, y, method=method, each_leaf=True)
    assert rules.verify().ok
    reread = secateur.Rules.from_json(rules.to_json())
    found = reread.verify(X, y, model=model)
    assert found.ok
    prices = method in ("budgeted", "quinlan")  # which the checker does not count again
    assert found.is_complete == (not prices)
    assert ("Verified." in str(found)) == (not prices)
    assert "Nothing is wrong, but not everything was checked." in str(reread.verify(X, y))


@pytest.mark.parametrize("method", secateur.METHODS)
def test_a_tampered_file_fails(problem: tuple[Any, Any, Any], method: str) -> None:
    model, X, y = problem
    rules = secateur.simplify(model, X, y, method=method, each_leaf=True)
    if method in ("none", "sibling"):  # what they delete can be read off the tree
        with pytest.raises(FormatError, match="A reason of the rule of leaf"):
            tamper(rules, delete_one_more)
        return
    bad = tamper(rules, delete_one_more)
    for found in (bad.verify(), bad.verify(X, y)):
        assert not found.ok
        assert not found
        assert any("digest" in failure for failure in found.failures)


@pytest.mark.parametrize("method", secateur.METHODS)
def test_a_reason_that_the_method_never_gives_is_rejected(problem: tuple[Any, Any, Any], method: str) -> None:
    model, X, y = problem
    rules = secateur.simplify(model, X, y, method=method, each_leaf=True)
    gives = secateur.METHODS[method].gives
    assert gives >= {Why(code) for code in rules.deletions.why.tolist()}
    assert gives < set(Why)
    for why in set(Why) - gives:

        def lie(content: dict[str, Any], why: Why = why) -> None:
            give_reason(content["leaves"], 0, why.kind)
            sign_again(content)

        with pytest.raises(FormatError, match=f"{why.kind}.*{method}.* never gives"):
            tamper(rules, lie)


def test_a_file_of_an_unknown_method_is_rejected_in_a_sentence(problem: tuple[Any, Any, Any]) -> None:
    def change(content: dict[str, Any]) -> None:
        content["method"] = "layered"
        sign_again(content)

    with pytest.raises(secateur.SecateurError, match=r"There is no method 'layered'.*Methods: none, sibling"):
        tamper(secateur.simplify(*problem), change)


def test_a_reason_about_another_node_is_rejected(problem: tuple[Any, Any, Any]) -> None:
    _, X, y = problem
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    for method, kind in (("sibling", "sibling-leaf"), ("faithful", "inside-h")):
        rules = secateur.simplify(
            model, X, y, method=method, each_leaf=True, **({"tolerance": 0.02} if method == "faithful" else {})
        )

        def point_elsewhere(content: dict[str, Any], kind: str = kind) -> None:
            columns = content["leaves"]
            columns["node"][entries_with(columns, kind)[0]] = 0

        with pytest.raises(FormatError, match="points at another node"):
            tamper(rules, point_elsewhere)


def test_rules_of_none_that_lost_a_condition_fails(problem: tuple[Any, Any, Any]) -> None:
    rules = secateur.simplify(*problem, method="none", each_leaf=True)
    shortened = with_deletions(rules, secateur.simplify(*problem, method="exact", each_leaf=True).deleted)
    assert "although nothing was to be deleted" in shortened.verify().failures[0]


def test_a_tampered_tree_fails(problem: tuple[Any, Any, Any]) -> None:
    def move_threshold(content: dict[str, Any]) -> None:
        content["tree"]["threshold"][0] += 1.0

    rules = secateur.simplify(*problem, method="exact", each_leaf=True)
    assert any("digest" in failure for failure in tamper(rules, move_threshold).verify().failures)


@pytest.mark.parametrize(
    "lie",
    [
        lambda c: c.update(guarantee="Everything is preserved."),
        lambda c: c["lines"][0].update(text="always => 1"),
        lambda c: c["lines"][0]["reasons"][0].update(text="trust me"),
        lambda c: c["lines"][0]["reasons"][0].update(deleted=True),
        lambda c: c["lines"][0]["reasons"].pop(),
    ],
)
def test_false_words_under_a_new_digest_fail(problem: tuple[Any, Any, Any], lie: Any) -> None:
    def change(content: dict[str, Any]) -> None:
        lie(content)
        sign_again(content)

    rules = secateur.simplify(*problem, method="mismatch", each_leaf=True)
    assert tamper(rules, sign_again).verify(*problem[1:]).ok
    assert not tamper(rules, change).verify(*problem[1:]).ok


def test_a_tolerance_that_deleted_nothing_promises_nothing_of_each_rule(problem: tuple[Any, Any, Any]) -> None:
    model, X, y = problem
    for method in ("mismatch", "faithful"):
        checks = secateur.simplify(model, X, y, method=method, tolerance=0.0, each_leaf=True).verify().checks
        lost = next(check for check in checks if "lost a condition" in check)
        assert lost.startswith("no rule lost a condition") == ("each is" not in lost and "which is" not in lost)
    stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    untouched = secateur.simplify(stump, X, y, method="mismatch", each_leaf=True).verify()
    assert "no rule lost a condition" in untouched.checks
    within = secateur.simplify(model, X, y, method="mismatch", tolerance=1.0, each_leaf=True).verify().checks
    assert any("rules lost a condition, and each is as reliable as its leaf within 1" in check for check in within)


@pytest.mark.parametrize("by", ["listed rows", "signs"])
def test_a_certificate_that_claims_another_domain_fails(by: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    y = (X.sum(axis=1) > 1).astype(int)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    y = model.predict(X)
    options = {"monotone": [1, 1]} if by == "signs" else {}
    rules = secateur.simplify(model, X, y, method="mismatch-certified", each_leaf=True, **options)
    everywhere = "all rows, for which the tree was proved to be monotone in the stated signs"
    lie = "every row that there is" if by == "signs" else everywhere

    def claim_more(content: dict[str, Any]) -> None:
        content["guarantee"] = content["guarantee"].replace(content["parameters"]["certificate"], lie)
        content["parameters"]["certificate"] = lie
        sign_again(content)

    assert tamper(rules, sign_again).verify(X, y).ok
    with pytest.raises(FormatError, match="names a certified domain that no method certifies"):
        tamper(rules, claim_more)
    found = forge(rules, parameters={**rules.parameters, "certificate": lie}).verify(X, y)
    assert any("on another domain than the one found here" in failure for failure in found.failures)


def with_deletions(rules: secateur.Rules, flags: Any) -> secateur.Rules:
    """The same rules with other conditions deleted, as a faulty method would leave it."""
    return replace(rules, deletions=replace(rules.deletions, deleted=np.array(flags)))


def test_an_unsound_exact_deletion_is_found_without_the_digest(problem: tuple[Any, Any, Any]) -> None:
    model, *_ = problem
    minimal = secateur.simplify(model, method="exact", each_leaf=True).deleted
    for method in ("none", "sibling", "redundancy", "exact"):
        rules = secateur.simplify(model, method=method, each_leaf=True)
        assert rules.verify().ok
        for entry in np.flatnonzero(~minimal):  # exact is subset-minimal, so any further deletion is unsound
            flags = minimal.copy()
            flags[entry] = True
            found = with_deletions(rules, flags).verify()
            assert not found.ok
            assert any("predicts another class" in failure for failure in found.failures)


@pytest.mark.parametrize("method", secateur.METHODS)
def test_a_wrong_count_is_found_without_the_digest(problem: tuple[Any, Any, Any], method: str) -> None:
    rules = secateur.simplify(*problem, method=method, each_leaf=True)
    counts = rules.covered_counts.copy()
    counts[0, 0] += 1
    found = replace(rules, covered_counts=counts).verify()
    assert not found.ok
    assert re.match(r"The rule of leaf \d+ covers .* of these rows, but states ", found.failures[0])


def test_a_deletion_beyond_the_tolerance_is_found(problem: tuple[Any, Any, Any]) -> None:
    loose = secateur.simplify(*problem, method="mismatch", tolerance=1.0, each_leaf=True)
    strict = secateur.simplify(*problem, method="mismatch", tolerance=0.0, each_leaf=True)
    assert loose.deleted.sum() > strict.deleted.sum()
    found = forge(loose, parameters={**loose.parameters, "tolerance": 0.0}).verify()
    assert not found.ok
    assert "moved its reliability by" in found.failures[0]


def delete_more(rules: secateur.Rules, entry: int) -> secateur.Rules:
    """The rules after one deletion more, with the reason that the method gives and the right counts."""
    forged = replace(rules.deletions, deleted=rules.deleted.copy(), why=rules.deletions.why.copy())
    forged.delete(entry, Why.NO_FOREIGN_LEAF)
    X, y = rules.training.X, rules.training.y
    covers = replace(rules, deletions=forged).covers(X)
    counts = np.array([np.bincount(y[inside], minlength=2) for inside in covers.T], dtype=float)
    return replace(rules, deletions=forged, covered_counts=counts)


def test_each_promise_of_faithful_is_checked_by_itself(problem: tuple[Any, Any, Any]) -> None:
    model, X, y = problem
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, method="faithful", tolerance=0.02, each_leaf=True)
    assert rules.verify().ok
    said = {
        Why.NOT_CERTIFIED: "which predicts another class",
        Why.RELIABILITY_MOVES: "moved its reliability by",
        Why.INSIDE_H: "which is protected",
    }
    for why, words in said.items():
        entries = np.flatnonzero(rules.deletions.why == why)
        assert len(entries)
        for entry in entries.tolist():
            found = delete_more(rules, entry).verify()
            assert any(words in failure for failure in found.failures), (why, found.failures)
    loose = delete_more(rules, np.flatnonzero(rules.deletions.why == Why.INSIDE_H)[0])
    unprotected = forge(loose, parameters={**loose.parameters, "protect": False, "tolerance": 1.0})
    assert unprotected.verify().ok  # what it then claims is true


def test_a_deletion_from_a_leaf_without_rows_keeps_no_reliability(problem: tuple[Any, Any, Any]) -> None:
    model, X, y = problem
    free = np.flatnonzero(secateur.simplify(model, method="exact", each_leaf=True).deleted)[0]
    tree = secateur.from_model(model)
    paths = secateur.simplify(tree, method="exact", each_leaf=True).paths
    seen = model.apply(X) != paths.leaf_ids[paths.rule[free]]
    rules = secateur.simplify(tree, X[seen], y[seen], method="faithful", tolerance=1.0, protect=False, each_leaf=True)
    assert rules.verify().ok
    assert any("no row reaches its leaf" in failure for failure in delete_more(rules, free).verify().failures)


def test_a_conflict_beyond_the_budget_and_a_false_cost_are_found(problem: tuple[Any, Any, Any]) -> None:
    rules = secateur.simplify(*problem, method="budgeted", max_conflict=0.1, each_leaf=True)
    assert rules.verify().ok
    poor = forge(rules, parameters={**rules.parameters, "max_conflict": 0.001}).verify()
    assert not poor.ok
    assert "of the rows, beyond the limit of 0.001" in poor.failures[0]
    number = rules.deletions.number.copy()
    number[np.flatnonzero(rules.deletions.why == Why.WITHIN_BUDGET)[0]] += 0.01
    false = replace(rules, deletions=replace(rules.deletions, number=number)).verify()
    assert not false.ok
    assert "The deletions are said to have cost" in false.failures[0]
    silent = secateur.Rules.from_json(rules.to_json()).verify()
    assert not silent.ok
    assert "The conflicts were not recounted: pass the training rows" in silent.failures[0]


def test_a_rule_that_the_budget_made_unreliable_is_found(problem: tuple[Any, Any, Any]) -> None:
    loose = secateur.simplify(*problem, method="budgeted", max_conflict=0.1, tolerance=1.0, each_leaf=True)
    assert loose.verify().ok
    strict = forge(loose, parameters={**loose.parameters, "tolerance": 0.0}).verify()
    assert not strict.ok
    assert re.search(
        r"lost a condition at the price of conflict, but is 0\.\d+ less reliable than its leaf", strict.failures[0]
    )
    for name in ("tolerance", "max_conflict"):  # which a file cannot leave out to promise less
        with pytest.raises(FormatError, match=f"has no field '{name}'"):
            tamper(loose, lambda content, name=name: content["parameters"].pop(name))


def test_contradictory_twins_are_found() -> None:
    X = np.array([[0.0, 0.0]] * 3 + [[0.0, 1.0]] * 2 + [[1.0, 0.0]] * 9)
    y = np.array([0, 0, 1, 1, 1] + [2] * 9)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, method="budgeted", max_conflict=1.0, smoothing=0, each_leaf=True)
    for entries in ([1, 3], [1, 2, 3]):
        flags, why = np.zeros((2, len(rules.deleted)), dtype=int)
        flags[entries], why[:], why[entries] = 1, Why.OVER_BUDGET, Why.WITHIN_BUDGET
        forged = replace(rules.deletions, deleted=flags.astype(bool), why=why.astype(np.uint8))
        failures = replace(rules, deletions=forged).verify().failures
        said = "The rules of leaves 2 and 3 have the same conditions, but predict different classes."
        assert (said in failures) == (entries == [1, 3]), failures


def test_a_certificate_is_checked_against_the_listed_domain(problem: tuple[Any, Any, Any]) -> None:
    model, X, y = problem
    rules = secateur.simplify(model, X, y, method="M1-D", each_leaf=True)
    assert any(rule.deleted_ids for rule in rules)
    wrong = 1 - y
    found = rules.verify(X, wrong)
    assert not found.ok
    assert "covers listed row" in found.failures[0]


def test_a_false_direction_is_found(problem: tuple[Any, Any, Any]) -> None:
    data = secateur.datasets.load("human-id")
    model = DecisionTreeClassifier(random_state=0).fit(data.X, data.y)
    rules = secateur.simplify(model, data.X, data.y, method="M1-D", each_leaf=True)
    assert rules.deleted.any()
    found = forge(rules, parameters={**rules.parameters, "monotone": [0] * data.X.shape[1]}).verify()
    assert not found.ok
    assert "stated directions do not cover" in found.failures[0]


def test_every_method_has_a_check(problem: tuple[Any, Any, Any]) -> None:
    exact = {name for name, method in secateur.METHODS.items() if method.is_exact}
    assert set(promises.EXACT) == exact
    others = {*promises.WITHIN_TOLERANCE, *promises.CERTIFIED, *promises.BUDGETED, *promises.UNPROMISED}
    assert exact | others == set(secateur.METHODS)
    rules = secateur.simplify(*problem, method="exact", each_leaf=True)
    record = rules_to_record(rules) | {"method": "whim"}
    found = verify_rules(rules.tree, record)
    assert not found.ok
    assert "no check for the method 'whim'" in found.failures[0]


def test_an_explicit_domain_and_the_training_rows_are_both_checked(problem: tuple[Any, Any, Any]) -> None:
    model, X, y = problem
    rules = secateur.simplify(model, X, y, method="M1-D", domain=(X[:50], y[:50]), each_leaf=True)
    assert rules.verify().ok
    assert any("recounted" in check for check in rules.verify().checks)
    assert any("listed domain" in check for check in rules.verify().checks)
    assert rules.verify(X[:50], y[:50]).ok
    counts = rules.covered_counts.copy()
    counts[:] = 12345
    assert not replace(rules, covered_counts=counts).verify().ok


def test_numbers_that_were_not_recounted_are_said_to_be_so(problem: tuple[Any, Any, Any]) -> None:
    reread = secateur.Rules.from_json(secateur.simplify(*problem, method="quinlan", each_leaf=True).to_json())
    assert reread.verify().ok
    assert "not recounted" in str(reread.verify())


def test_another_versions_wording_is_not_called_tampering(
    problem: tuple[Any, Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = secateur.simplify(*problem, method="exact", each_leaf=True).to_json()
    monkeypatch.setattr("secateur.export.json.__version__", "99")
    monkeypatch.setattr("secateur.words.reasons.WORDS", dict.fromkeys(WORDS, "worded otherwise"))
    assert secateur.Rules.from_json(text).verify().ok


def test_row_based_promises_are_not_called_proved_without_rows(problem: tuple[Any, Any, Any]) -> None:
    for method in ("faithful", "mismatch", "mismatch-certified", "budgeted"):
        reread = secateur.Rules.from_json(secateur.simplify(*problem, method=method, each_leaf=True).to_json())
        found = reread.verify()
        assert not found.ok
        assert "verify(X, y)" in found.failures[0]


@given(tree=strategies.trees(max_leaves=8), data=st.data())
@settings(max_examples=150, deadline=None)
def test_the_checker_and_the_oracle_agree_on_arbitrary_deletions(tree: Tree, data: st.DataObject) -> None:
    """Random deletion sets, sound or not: the checker's verdict is the slow box comparison's."""
    rules = secateur.simplify(tree, method="exact", each_leaf=True)
    assume(len(rules.deleted))
    flags = data.draw(st.lists(st.booleans(), min_size=len(rules.deleted), max_size=len(rules.deleted)))
    rules = with_deletions(rules, flags)
    expected = all(oracles.implies_class(tree, rule.kept_ids, tree.leaf_class[rule.leaf_id]) for rule in rules)
    assert rules.verify().ok == expected


def arbitrary_deletions(data: st.DataObject, tree: Tree, rows: tuple[Any, Any, Any] | None) -> secateur.Rules:
    """Rules of a tree that lost any conditions, with the counts of the rows or without."""
    taken = {} if rows is None else {"X": rows[0], "y": tree.classes[rows[1]], "sample_weight": rows[2]}
    rules = forge(secateur.simplify(tree, method="none", each_leaf=True, **taken), method="exact")  # which deletes
    flags = data.draw(strategies.lists_of(st.booleans(), len(rules.deleted)))
    return with_deletions(rules, np.array(flags, dtype=bool))


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_rule_that_is_not_exact_is_named_with_the_first_leaf_that_it_should_not_meet(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees(max_leaves=8))
    rules = arbitrary_deletions(data, tree, None)
    expected = []
    for rule in rules:
        foreign = [
            leaf
            for leaf in oracles.leaves(tree)
            if tree.leaf_class[leaf] != tree.leaf_class[rule.leaf_id]
            and oracles.meets(tree, rule.kept_ids, oracles.path(tree, leaf))
        ]
        if foreign:
            expected.append(
                f"The rule of leaf {rule.leaf_id} also covers rows of leaf {foreign[0]}, which predicts another class: "
                "its exact deletions do not preserve the tree's predictions."
            )
    few = case.BOX_SIDES if data.draw(st.booleans()) else 8  # so few that rules are looked at one by one
    with mock.patch.object(case, "BOX_SIDES", few), mock.patch.object(case, "SHOWN_FAILURES", 100):
        assert list(rules.verify().failures) == expected


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_rules_are_recounted_as_row_by_row(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees(max_leaves=8))
    rows = data.draw(strategies.labelled_rows(tree, weights=True))
    rules = arbitrary_deletions(data, tree, rows)
    X, y, weights = rows
    counts = np.zeros((2, len(rules), tree.n_classes))
    for rule in rules:
        for kind, links in enumerate((rule.kept_ids, oracles.path(tree, rule.leaf_id))):
            for row, class_id, weight in zip(X, y, weights, strict=True):
                counts[kind, rule.index, class_id] += weight * oracles.satisfies(tree, row, links)
    few = case.BOX_SIDES if data.draw(st.booleans()) else 8
    with mock.patch.object(case, "BOX_SIDES", few):
        right = replace(rules, covered_counts=counts[0], leaf_counts=counts[1]).verify()
        assert "supports and class counts recounted from the rows" in right.checks
        place = tuple(data.draw(st.integers(0, size - 1)) for size in counts.shape)
        wrong = counts.copy()
        wrong[place] += 0.5
        found = replace(rules, covered_counts=wrong[0], leaf_counts=wrong[1]).verify()
    said, name = found.failures[-1], tree.class_names[place[2]]
    verb = ("covers", "has in its leaf")[place[0]]
    assert said.startswith(f"The rule of leaf {rules[place[1]].leaf_id} {verb} ")
    counted, stated = said.split(" of these rows, but states ")
    for numbers, words in ((counts, counted), (wrong, stated)):
        assert f"{numbers[place]:,.10g} {name}" in words.replace(" of class ", " ")


def dishonest(tree: Tree, X: Any, y: Any, rule: secateur.Rule, tolerance: float) -> str | None:
    """What is wrong with a rule that lost conditions to a budget, row by row."""
    own = int(tree.leaf_class[rule.leaf_id])
    name = f"The rule of leaf {rule.leaf_id} lost a condition at the price of conflict, but"
    base = oracles.support_and_reliability(tree, X, y, None, oracles.path(tree, rule.leaf_id), own)[1]
    shares = [oracles.support_and_reliability(tree, X, y, None, rule.kept_ids, c)[1] for c in range(tree.n_classes)]
    if base is None:
        return f"{name} no row reaches its leaf, so nothing tells what its reliability was."
    if not oracles.is_at_most(-oracles.find_move(tree, X, y, None, rule.leaf_id, rule.kept_ids), tolerance):
        return f"{name} is {base - shares[own]:.4g} less reliable than its leaf, beyond {tolerance:g}."
    return f"{name} its class is not the most common of its rows." if max(shares) > shares[own] else None


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_conflicts_and_listed_rows_are_found_as_row_by_row(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees(max_leaves=8))
    rows = data.draw(strategies.labelled_rows(tree))
    rules = arbitrary_deletions(data, tree, rows)
    X, y, _ = rows
    matrix = check_rows(tree, X).matrix
    covers = [[oracles.satisfies(tree, row, rule.kept_ids) for row in X] for rule in rules]
    classes = rules.paths.leaf_class
    n_conflicts = sum(
        len({int(classes[rule]) for rule in range(len(rules)) if covers[rule][i]}) > 1 for i in range(len(X))
    )
    tolerance = data.draw(st.sampled_from([0.0, 0.3, 1.0]))
    stated = {"method": "budgeted", "parameters": {"max_conflict": 1.0, "tolerance": tolerance}}
    found = verify_rules(tree, rules_to_record(rules) | stated, lambda: [(matrix, y, None, None)])
    told = f"cover {n_conflicts / len(X):.4g} of the rows" if n_conflicts else "no row is in conflict"
    assert any(f"{told} (recounted)" in check for check in found.checks)
    assert "every row is covered by a rule of the tree's class" in found.checks
    says = [failure for failure in found.failures if "lost a condition at the price of conflict" in failure]
    assert (
        says
        == [said for rule in rules if rule.deleted_ids for said in [dishonest(tree, X, y, rule, tolerance)] if said][
            : case.SHOWN_FAILURES
        ]
    )
    twins = [
        (rule.leaf_id, other.leaf_id)
        for rule in rules
        for other in rules[: rule.index]
        if rule.deleted_ids
        and other.deleted_ids
        and rule.prediction != other.prediction
        and oracles.same_values(tree, rule.kept_ids, other.kept_ids)
    ]
    assert any("have the same conditions" in failure for failure in found.failures) == bool(twins)
    record = rules_to_record(rules) | {"method": "mismatch-certified", "parameters": {"domain": "listed cases"}}
    record["parameters"]["certificate"] = f"the {len(X)} listed rows"
    found = verify_rules(tree, record, domain=(matrix, y))
    refuted = []
    for rule in rules:
        foreign = [i for i in range(len(X)) if covers[rule.index][i] and y[i] != classes[rule.index]]
        if foreign and rule.deleted_ids:
            refuted.append(f"The rule of leaf {rule.leaf_id} covers listed row {foreign[0]}, which has another class.")
    assert list(found.failures[: case.SHOWN_FAILURES]) == refuted[: case.SHOWN_FAILURES]


def test_a_thousand_leaves_on_one_path_are_checked() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age"])
    node = builder.split("age", 0.0)
    for k in range(1, 1_100):
        builder.leaf([1, 0] if k % 2 else [0, 1], parent=node, side="left")
        node = builder.split("age", float(k), parent=node, side="right")
    builder.leaf([1, 0], parent=node, side="left")
    builder.leaf([0, 1], parent=node, side="right")
    assert secateur.simplify(builder.build(), method="exact", each_leaf=True).verify().ok


@pytest.mark.parametrize(
    ("stated", "row", "sentence"),
    [
        ({"facts": ["n > 0"]}, [0, 0, -1], "n > 0"),
        ({"facts": ["n is a whole number"]}, [0, 0, 1.5], "whole number"),
        ({"facts": ["n has 1 decimal"]}, [0, 0, 1.25], "1 decimal"),
        ({"groups": {"hue": ["hue_red", "hue_blue"]}}, [1, 1, 1], "at most one"),
        ({"groups": {"hue": ["hue_red", "hue_blue"]}, "facts": ["hue = red"]}, [0, 1, 1], "hue = red"),
        ({"groups": {"hue": ["hue_red", "hue_blue"]}, "facts": ["hue = red => n <= 5"]}, [1, 0, 6], "hue = red => n"),
    ],
)
def test_a_row_against_a_fact_is_found_wherever_it_stands(
    stated: dict[str, Any], row: list[Any], sentence: str
) -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["hue_red", "hue_blue", "n"])
    root = builder.split("n", 3)
    builder.leaf([1, 0], parent=root, side="left")
    builder.leaf([0, 1], parent=root, side="right")
    rules = secateur.simplify(builder.build(), each_leaf=True, **stated)
    good = [[1.0, 0, 1], [1, 0, 4]]
    known = "the rows satisfy the stated facts"
    assert known in rules.verify(np.array(good), ["no", "yes"]).checks
    for rows in ([*good, row], [row, *good]):
        labels = ["yes" if one[2] > 3 else "no" for one in rows]
        found = rules.verify(np.array(rows, dtype=float), labels)
        assert not found.ok
        assert known not in found.checks
        assert [failure for failure in found.failures if sentence in failure and str(rows.index(row)) in failure]


def test_what_the_rows_and_the_model_speak_for_is_not_named_as_unchecked() -> None:
    builder = secateur.TreeBuilder(classes=["a", "b", "c"], feature_names=["x"])
    root = builder.split("x", 1.5)
    builder.leaf([3, 0, 0], parent=root, side="left")
    inner = builder.split("x", 2.5, parent=root, side="right")
    builder.leaf([0, 3, 1], parent=inner, side="left")
    builder.leaf([0, 1, 1], parent=inner, side="right")  # where none of these rows is
    X, y = pd.DataFrame({"x": [1.0, 1, 1, 2, 2, 2, 2]}), list("aaabbbc")
    made = secateur.simplify(builder.build(), X, y, method="exact", each_leaf=True)
    rules = secateur.Rules.from_json(made.to_json())
    told = {
        "all": str(rules.verify(X, y).unchecked),
        "no names": str(rules.verify(X.to_numpy(), y).unchecked),
        "no row of c": str(rules.verify(X[:6], y[:6]).unchecked),
        "no rows": str(rules.verify().unchecked),
    }
    assert {name for name, words in told.items() if "names of columns" in words} == {"no names", "no rows"}
    assert {name for name, words in told.items() if "class labels" in words} == {"no row of c", "no rows"}
    assert "stated facts" not in told["no rows"]  # there are none

    model = DecisionTreeClassifier().fit(X, y)
    rules = secateur.Rules.from_json(secateur.simplify(model, X, y, each_leaf=True).to_json())
    assert "names of columns" not in str(rules.verify(model=model).unchecked)
    unnamed = DecisionTreeClassifier().fit(X.to_numpy(), y)
    assert "names of columns" in str(rules.verify(model=unnamed).unchecked)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_spread_of_targets_is_recounted(factor: float) -> None:
    X, y = load_diabetes(return_X_y=True)
    rules = secateur.simplify(DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y), X, y)

    content = json.loads(rules.to_json())
    content["lines"][0]["target"][1] *= factor
    found = secateur.Rules.from_json(word_again(content)).verify(X, y)
    assert not found.ok
    assert any("Line 1 states a mean of" in one for one in found.failures)


@pytest.mark.parametrize("method", secateur.METHODS)
def test_exact_deletions_are_proved_where_a_method_gives_them(problem: tuple[Any, Any, Any], method: str) -> None:
    model, X, y = problem
    found = secateur.simplify(model, X, y, method=method, each_leaf=True).verify(X, y)
    is_proved = any(one.startswith("no exact deletion lets a rule meet a leaf") for one in found.checks)
    assert is_proved == (method not in ("mismatch", "mismatch-certified", "quinlan"))
