"""Files of lists that were forged, the digest made anew, are refused when read or refuted by the checker."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from forged_files import (
    Content,
    entries_of,
    entries_with,
    find_kept,
    forge_file,
    give_reason,
    name_stand_ins,
    sign_again,
    word_again,
)
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import FormatError


def problem() -> tuple[Any, Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y), X, y


MODEL, X, Y = problem()
EXACT = secateur.simplify(MODEL, X, Y)
SHORT = secateur.simplify(MODEL, X, Y, budget=0.02)
SHORT_COLUMNS = {*json.loads(SHORT.to_json())["before_budget"]}


def find_fault(text: str) -> str:
    """What a file is refused with when it is read, or what the checker finds with the training rows; else nothing."""
    try:
        rules = secateur.Rules.from_json(text)
    except FormatError as error:
        return str(error)
    return "\n".join(rules.verify(X, Y).failures)


def leave_out_a_rule(content: Content) -> None:
    gone = content["lines"].pop(0)
    entry = {"leaf_id": gone["leaf_id"], "covered_by": None, "before": None, "after": None, "number": None}
    listed = [*content["unwritten"], {**entry, "text": "no possible row reaches its leaf"}]
    content["unwritten"] = sorted(listed, key=lambda one: content["leaves"]["leaf_ids"].index(one["leaf_id"]))
    name_stand_ins(content)


def leave_out_a_rule_as_it_was(content: Content) -> None:
    """Leave a rule out, and say that nothing was deleted from it for the budget."""
    columns, before = content["leaves"], content["before_budget"]
    entries = entries_of(content, content["lines"][0]["leaf_id"])
    place = place_of_first(content)
    leave_out_a_rule(content)
    for entry in entries:
        kind = before["kinds"][before["kind"][entry]]
        numbers = {name: before[name] and before[name][entry] for name in ("before", "after", "number")}
        give_reason(columns, entry, kind, deleted=before["deleted"][entry], node=before["node"][entry], **numbers)
    columns["class_counts"][place] = before["class_counts"][place]


def leave_out_a_rule_at_a_price(content: Content) -> None:
    leave_out_a_rule(content)
    for one in content["unwritten"]:
        if one["before"] is None:
            one.update(before=0.0, after=0.0, number=0.0)


def delete_one_more(content: Content, kind: str = "decided-otherwise") -> int:
    entry = find_kept(content, [line["leaf_id"] for line in content["lines"][:-1]])
    give_reason(content["leaves"], entry, kind, deleted=1, before=0.0, after=0.001, number=0.001, node=-1)
    return entry


def delete_one_more_for_the_budget(content: Content) -> None:
    delete_one_more(content)


def delete_one_more_quietly(content: Content) -> None:
    delete_one_more(content)
    for entry in entries_with(content["leaves"], "decided-otherwise"):
        give_reason(content["leaves"], entry, "no-foreign-leaf", before=None, after=None, number=None)


def delete_one_more_from_the_start(content: Content) -> None:
    """Say that the condition was deleted before anything was spent."""
    entry = delete_one_more(content, "no-foreign-leaf")
    for columns in (content["leaves"], content["before_budget"]):
        if columns is not None:
            give_reason(columns, entry, "no-foreign-leaf", deleted=1, before=None, after=None, number=None, node=-1)


def claim_another_leaf(content: Content) -> None:
    first, second = content["lines"][:2]
    both = {*first["stands_for"], *second["stands_for"]}
    first["stands_for"] = [leaf for leaf in content["leaves"]["leaf_ids"] if leaf in both]
    name_stand_ins(content)


def disclaim_a_leaf(content: Content) -> None:
    line = next(line for line in content["lines"][:-1] if len(line["stands_for"]) > 1)
    line["stands_for"].remove(next(leaf for leaf in line["stands_for"] if leaf != line["leaf_id"]))
    name_stand_ins(content)


def change_decided_counts(content: Content) -> None:
    content["lines"][0]["class_counts"][0] += 1
    content["lines"][-1]["class_counts"][0] -= 1


def place_of_first(content: Content) -> int:
    place: int = content["leaves"]["leaf_ids"].index(content["lines"][0]["leaf_id"])
    return place


def change_covered_counts(content: Content) -> None:
    content["leaves"]["class_counts"][place_of_first(content)][1] += 1


def change_leaf_counts(content: Content) -> None:
    content["leaves"]["leaf_counts"][place_of_first(content)][1] += 1


def change_otherwise_counts(content: Content) -> None:
    content["lines"][-1]["class_counts"].reverse()


def change_otherwise(content: Content) -> None:
    content["lines"][-1]["prediction"] = 1 - content["lines"][-1]["prediction"]


def write_a_rule_twice(content: Content) -> None:
    again = json.loads(json.dumps(content["lines"][0]))
    again["class_counts"] = [0.0, 0.0]
    content["lines"].insert(1, again)


def write_a_rule_of_the_class_of_otherwise(content: Content) -> None:
    default, columns = content["lines"][-1]["prediction"], content["leaves"]
    place = columns["predictions"].index(default)
    line = {"leaf_id": columns["leaf_ids"][place], "prediction": default, "class_counts": [0.0, 0.0]}
    line |= {"stands_for": [], "text": "", "reasons": []}
    content["lines"].insert(len(content["lines"]) - 1, line)


def swap_lines(content: Content) -> None:
    content["lines"][:-1] = content["lines"][-2::-1]
    name_stand_ins(content)


def before_a_budget(content: Content) -> Content:
    return {name: column for name, column in content["leaves"].items() if name in SHORT_COLUMNS}


def lower_budget(content: Content) -> None:
    content["budget"] = 0.0001


def remove_budget(content: Content) -> None:
    content["budget"] = 0.0


def forget_the_budget(content: Content) -> None:
    content.update(budget=0.0, before_budget=None)


def state_a_budget(content: Content) -> None:
    content["budget"] = 0.02


def lower_tolerance(content: Content) -> None:
    content["tolerance"] = 0.0


def forget_an_unwritten_rule(content: Content) -> None:
    content["unwritten"].pop(0)


def change_threshold(content: Content) -> None:
    tree = content["tree"]
    node = next(node for node, value in enumerate(tree["threshold"]) if value is not None)
    tree["threshold"][node] += 0.5 * abs(tree["threshold"][node])


def forget_what_was_before(content: Content) -> None:
    content["before_budget"] = None


def change_counts_before(content: Content) -> None:
    content["before_budget"]["class_counts"][place_of_first(content)][1] += 1


def undo_a_deletion(content: Content) -> None:
    """Bring a condition back that was deleted before the budget was spent."""
    before = content["before_budget"]
    entry = next(entry for entry, gone in enumerate(before["deleted"]) if gone)
    give_reason(content["leaves"], entry, "too-many-otherwise", deleted=0, before=0.0, after=0.5, number=0.5, node=-1)


def shorten_an_unwritten_rule(content: Content) -> None:
    written = {line["leaf_id"] for line in content["lines"]}
    entry = find_kept(content, [leaf for leaf in content["leaves"]["leaf_ids"] if leaf not in written])
    give_reason(content["leaves"], entry, "decided-otherwise", deleted=1, before=0.0, after=0.0, number=0.0, node=-1)


BOTH = [
    *(leave_out_a_rule, delete_one_more_for_the_budget, delete_one_more_quietly, delete_one_more_from_the_start),
    *(claim_another_leaf, disclaim_a_leaf, change_decided_counts, change_covered_counts, change_leaf_counts),
    *(change_otherwise_counts, change_otherwise, forget_an_unwritten_rule, change_threshold, write_a_rule_twice),
    *(write_a_rule_of_the_class_of_otherwise, swap_lines, shorten_an_unwritten_rule),
]
OF_A_BUDGET = [
    *(lower_budget, remove_budget, forget_the_budget, lower_tolerance, forget_what_was_before, change_counts_before),
    *(undo_a_deletion, leave_out_a_rule_as_it_was),
]


def test_the_files_themselves_hold() -> None:
    for rules in (EXACT, SHORT):
        assert find_fault(rules.to_json()) == ""
        assert find_fault(forge_file(rules, lambda _: None)) == ""
        assert find_fault(forge_file(rules, lambda _: None, "0.0.1")) == ""


@pytest.mark.parametrize("version", [None, "0.0.1"])
@pytest.mark.parametrize("change", [*BOTH, leave_out_a_rule_at_a_price, state_a_budget])
def test_a_forged_exact_file_is_refuted(change: Callable[[Content], None], version: str | None) -> None:
    assert find_fault(forge_file(EXACT, change, version)).endswith(".")


@pytest.mark.parametrize("version", [None, "0.0.1"])
@pytest.mark.parametrize("change", [*BOTH, *OF_A_BUDGET])
def test_a_forged_file_with_a_budget_is_refuted(change: Callable[[Content], None], version: str | None) -> None:
    assert find_fault(forge_file(SHORT, change, version)).endswith(".")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (leave_out_a_rule, "No written rule stands for leaf"),
        (leave_out_a_rule_at_a_price, "No written rule stands for leaf"),
        (delete_one_more_from_the_start, "which predicts another class"),
        (claim_another_leaf, "does not lie in the rule of leaf"),
        (disclaim_a_leaf, "which is not said to stand for it"),
        (change_decided_counts, "decides"),
        (change_leaf_counts, "has in its leaf"),
        (change_otherwise, "The unwritten rules of the rules JSON are not those"),
        (write_a_rule_twice, "writes the rule of a leaf twice"),
        (write_a_rule_of_the_class_of_otherwise, "is of the class of otherwise, which is not written"),
        (forget_an_unwritten_rule, "The unwritten rules of the rules JSON are not those"),
    ],
)
def test_the_sentence_names_what_is_wrong_with_an_exact_file(change: Callable[[Content], None], words: str) -> None:
    assert words in find_fault(forge_file(EXACT, change, "0.0.1"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (leave_out_a_rule, "was shortened but is not written"),
        (leave_out_a_rule_as_it_was, "what dropping it cost is not stated or beyond the budget"),
        (delete_one_more_quietly, "another reason afterwards"),
        (lower_budget, "beyond"),
        (lower_tolerance, "less reliable than its leaf"),
        (forget_the_budget, "never gives"),
        (change_counts_before, "covers"),
        (undo_a_deletion, "another reason afterwards"),
        (shorten_an_unwritten_rule, "was shortened but is not written"),
    ],
)
def test_the_sentence_names_what_is_wrong_with_a_budget(change: Callable[[Content], None], words: str) -> None:
    assert words in find_fault(forge_file(SHORT, change, "0.0.1"))


def test_without_rows_an_exact_file_is_proved_but_a_budget_is_not() -> None:
    assert secateur.Rules.from_json(EXACT.to_json()).verify().ok
    found = secateur.Rules.from_json(SHORT.to_json()).verify()
    assert not found.ok
    assert found.lacks_rows


def test_a_false_reliability_of_the_first_rule_is_found() -> None:
    """The guard holds for every rule, the first too: each is made to fall short in turn."""
    for rule in SHORT:
        fall = rule.source_reliability - (rule.covered_reliability or 0.0)
        is_paid = any(reason.kind == "decided-otherwise" for reason in rule.reasons.values())

        def lower(content: Content, to: float = fall) -> None:
            content["tolerance"] = max(0.0, to - 1e-6)

        if is_paid and fall > 1e-6:
            assert f"The rule of leaf {rule.leaf_id} is" in find_fault(forge_file(SHORT, lower, "0.0.1"))
            break
    else:
        pytest.fail("no rule lost reliability")


def test_a_class_that_is_not_the_commonest_is_found() -> None:
    data = load_iris()
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(data.data, data.target)
    rules = secateur.simplify(model, data.data, data.target, budget=0.1, tolerance=1.0)
    paid = next(rule for rule in rules if any(r.kind == "decided-otherwise" for r in rule.reasons.values()))
    other = np.where(data.target == paid.prediction, (data.target + 1) % 3, data.target)
    failures = rules.verify(data.data, other).failures
    assert f"The class of the rule of leaf {paid.leaf_id} is not the commonest of its rows." in failures


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("lines"), "has no field 'lines'"),
        (lambda c: c.pop("leaves"), "has no field 'leaves'"),
        (lambda c: c.pop("unwritten"), "has no field 'unwritten'"),
        (lambda c: c["lines"][0].pop("stands_for"), "has no field 'stands_for'"),
        (lambda c: c["leaves"].pop("links"), "has no field 'links'"),
        (lambda c: c["lines"][0].update(leaf_id=0), "which is not a leaf of its tree"),
        (lambda c: c["lines"][0].update(leaf_id=True), "which is not a leaf of its tree"),
        (lambda c: c["lines"][0].update(leaf_id="3"), "which is not a leaf of its tree"),
        (lambda c: c["lines"][0].update(stands_for=[0]), "which is not a leaf"),
        (lambda c: c["lines"][0].update(prediction=7), "but its leaf"),
        (lambda c: c["lines"][-1].update(prediction="x"), "of otherwise is not one of"),
        (lambda c: c["lines"].pop(), r"and no otherwise, but not one for each of \d+ leaves"),
        (lambda c: c.update(budget=7), "budget"),
        (lambda c: c.update(tolerance=-1), "tolerance"),
        (lambda c: c.update(version=99), "version"),
        (lambda c: c.update(format="secateur-tree"), "secateur-rules"),
        (lambda c: c.update(is_ranked=1), "expected true or false in 'is_ranked'"),
        (lambda c: c.update(before_budget=before_a_budget(c)), "has no budget, but rules before it was spent"),
        (lambda c: c.update(before_budget=c["leaves"]), "a field 'before_budget.leaf_ids' that no version of it has"),
        (lambda c: c.update(note="Checked by hand."), "a field 'note' that no version of it has"),
        (lambda c: c["lines"][0].update(support=1e6), r"a field 'lines\[\].support' that no version of it has"),
        (lambda c: c["parameters"].update(tolerance=0.1), "the setting 'tolerance', which 'exact' does not have"),
        (lambda c: c["lines"][0].update(class_counts=[1]), "wrong type or length"),
        (lambda c: c["lines"][0].update(class_counts=[-1, 2]), "wrong type or length"),
        (lambda c: c["lines"][0].update(class_counts=["1", 2]), "wrong type or length"),
        (lambda c: c.update(lines=3), "wrong type or length"),
        (lambda c: c.update(lines=[]), "but not one for each of"),
        (lambda c: c["leaves"]["leaf_ids"].pop(), "leaf_ids of the rules JSON are not those of its tree"),
        (lambda c: c["leaves"]["links"].reverse(), "links of the rules JSON are not those of its tree"),
        (lambda c: c["leaves"]["predictions"].reverse(), "predictions of the rules JSON are not those of its tree"),
        (lambda c: c["leaves"]["deleted"].pop(), "wrong type or length"),
        (lambda c: c["leaves"]["kind"].__setitem__(0, 99), "wrong type or length"),
        (lambda c: c["leaves"]["kinds"].__setitem__(0, "whim"), "whim|wrong type"),
        (lambda c: c["unwritten"].append({"leaf_id": -5}), "no field|wrong type"),
        (lambda c: c["unwritten"].append({**c["unwritten"][0], "leaf_id": -5}), "no field|wrong type|unwritten"),
        (lambda c: c["unwritten"].append(dict(c["unwritten"][0])), "unwritten rules of the rules JSON are not those"),
        (lambda c: c["unwritten"][0].update(covered_by=None), "unwritten rules of the rules JSON are not those"),
    ],
)
def test_a_broken_file_is_refused_in_a_sentence(change: Callable[[Content], None], message: str) -> None:
    content = json.loads(EXACT.to_json())
    change(content)
    with pytest.raises(ValueError, match=message) as refusal:
        secateur.Rules.from_json(json.dumps(content))
    assert isinstance(refusal.value, secateur.SecateurError)


@pytest.mark.parametrize(
    "header",
    [
        {"format": "secateur-rules", "version": 1},
        {"format": "secateur-rules", "version": 2},
        {"format": "secateur-compact", "version": 1},
    ],
)
def test_a_file_of_a_draft_is_refused_in_one_sentence(header: Content) -> None:
    for rules in (EXACT, EXACT.each_leaf):
        with pytest.raises(FormatError, match=r"^This file was written by an early draft of secateur, whose format"):
            secateur.Rules.from_json(forge_file(rules, lambda content: content.update(header)))


def name_a_leaf_twice(content: Content) -> None:
    content["lines"][0]["stands_for"] *= 2


def spend_beyond_the_budget(content: Content) -> None:
    paid = entries_with(content["leaves"], "decided-otherwise")[0]
    give_reason(content["leaves"], paid, "decided-otherwise", before=0.5, after=0.9)


def blame_the_method(content: Content) -> None:
    columns = content["leaves"]
    give_reason(columns, entries_with(columns, "no-foreign-leaf")[0], "within-budget")


def blame_the_budget(content: Content) -> None:
    columns = content["leaves"]
    free = entries_with(columns, "no-foreign-leaf")[0]
    give_reason(columns, free, "decided-otherwise", before=0.0, after=0.0, number=0.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (name_a_leaf_twice, "names a leaf that it stands for twice"),
        (spend_beyond_the_budget, "went beyond its budget of 2 %"),
        (blame_the_method, "'within-budget', which 'exact' never gives"),
        (blame_the_budget, "deleted before the budget was spent another reason"),
    ],
)
def test_a_lie_under_new_words_and_a_new_digest_is_refused(change: Callable[[Content], None], words: str) -> None:
    content = json.loads(SHORT.to_json())
    assert secateur.Rules.from_json(word_again(dict(content))).verify(X, Y).ok
    change(content)
    with pytest.raises(FormatError, match=words):
        word_again(content)


def test_counts_that_a_file_does_not_state_are_not_said_to_be_recounted() -> None:
    content = json.loads(SHORT.to_json())
    content["lines"][0]["class_counts"] = None
    found = secateur.Rules.from_json(word_again(content)).verify(X, Y)
    assert any("decided counts are not stated, although a budget was spent" in failure for failure in found.failures)
    told = secateur.simplify(MODEL).verify(X, Y)
    assert told.is_complete
    assert "the rows that each line decides recounted from the rows, where they are stated" in told.checks


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c["lines"][0].update(class_counts=[1.0, 1.0]), "whose numbers are not those of its leaves"),
        (lambda c: c.update(budget=0.1), "whose numbers are not those of its leaves"),
        (lambda c: c["lines"].reverse(), "no otherwise, but not one for each"),
        (lambda c: c["lines"].pop(0), "no otherwise, but not one for each"),
        (lambda c: c["lines"][0].update(stands_for=c["lines"][1]["stands_for"]), "stands for another leaf"),
        (
            lambda c: c.update(unwritten=[{"leaf_id": c["lines"][0]["leaf_id"], "covered_by": None}]),
            "no field 'before'",
        ),
        (lambda c: c.update(unwritten=[{**c["lines"][0], "covered_by": None}]), "a field 'unwritten[].prediction'"),
        (lambda c: c["lines"].append({**c["lines"][0], "leaf_id": None}), "is of the class of otherwise"),
        (lambda c: c["lines"].append({**c["lines"][1], "leaf_id": None}), "is of the class of otherwise"),
    ],
)
def test_one_rule_for_each_leaf_is_not_made_a_list_by_a_forger(change: Callable[[Content], None], words: str) -> None:
    rules = EXACT.each_leaf
    assert find_fault(forge_file(rules, lambda _: None)) == ""
    assert words in find_fault(forge_file(rules, change, "0.0.1"))


def test_the_digest_tells_what_was_changed_by_hand() -> None:
    for rules in (EXACT, SHORT):
        content = json.loads(rules.to_json())
        content["lines"][0]["text"] = "trust me"
        assert "its digest does not fit its content" in find_fault(json.dumps(content))
        sign_again(content)
        assert "its words are not what its numbers say" in find_fault(json.dumps(content))
