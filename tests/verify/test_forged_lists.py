"""Files of lists that were forged, the digest made anew, are rejected when read or refuted by the checker."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from drawing import fewer
from forged_files import Content, entries_with, find_spans, forge_file, give_reason, sign_again, word_again
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import FormatError
from secateur.verify.lists import ROUNDED, Lines


def problem() -> tuple[Any, Any, Any]:
    """A tree whose leaves have shares of every size."""
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 4))
    score = X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], -X[:, 3]) + random.normal(size=1500)
    y = np.where(score > 0.6, "bad", "good")
    return DecisionTreeClassifier(max_depth=7, min_samples_leaf=30, random_state=0).fit(X, y), X, y


MODEL, X, Y = problem()
EXACT = secateur.simplify(MODEL, X, Y)
SHORT = secateur.simplify(MODEL, X, Y, budget=0.02)
CLASSES = secateur.simplify(MODEL, X, Y, tolerance=1, sections=4)


def find_fault(text: str) -> str:
    """What a file is rejected with when it is read, or what the checker finds with the training rows; else nothing."""
    try:
        rules = secateur.Rules.from_json(text)
    except FormatError as error:
        return str(error)
    return "\n".join(rules.verify(X, Y).failures)


def rules_of(content: Content) -> list[Content]:
    return [line for line in content["lines"] if line["leaf_id"] is not None]


def rests_of(content: Content) -> list[Content]:
    return [line for line in content["lines"] if line["leaf_id"] is None]


def find_leaf(content: Content, leaf: int) -> int:
    place: int = content["leaves"]["leaf_ids"].index(leaf)
    return place


def in_order(content: Content, leaves: set[int]) -> list[int]:
    return [leaf for leaf in content["leaves"]["leaf_ids"] if leaf in leaves]


# The cut.


def raise_a_section(content: Content) -> None:
    """Let a section begin at the parent of its node, so that another lies in it."""
    tree = content["tree"]
    node = content["sections"][0]
    children = tree["children_left"] if node in tree["children_left"] else tree["children_right"]
    content["sections"][0] = children.index(node)


def lower_a_section(content: Content) -> None:
    """Let a section begin below its node, so that some leaves are in none."""
    content["sections"][0] = content["tree"]["children_left"][content["sections"][0]]


def swap_sections(content: Content) -> None:
    content["sections"][:2] = content["sections"][1::-1]


def double_a_section(content: Content) -> None:
    content["sections"][1] = content["sections"][0]


def hide_sections(content: Content) -> None:
    """Say that all lines are one section."""
    content["sections"] = [0]
    content["lines"] = [*rules_of(content), rests_of(content)[-1]]
    for line in content["lines"]:
        line["section"] = 0


def move_a_rule_to_another_section(content: Content) -> None:
    """Move the first rule, with its conditions, to the front of the last section."""
    lines, written = content["lines"], content["written"]
    span = find_spans(content)[lines[0]["leaf_id"]]
    own = len(span)
    last = max(line["section"] for line in lines)
    place = next(number for number, line in enumerate(lines) if line["section"] == last)
    n_before = sum(len(find_spans(content)[line["leaf_id"]]) for line in rules_of({"lines": lines[:place]}))
    n_rules = len(rules_of({"lines": lines[:place]}))
    lines.insert(place - 1, {**lines.pop(0), "section": last})
    for name in ("deleted", "kind", "node", "before", "after", "number"):
        if written[name] is not None:
            written[name][:n_before] = [*written[name][own:n_before], *written[name][:own]]
    written["class_counts"].insert(n_rules - 1, written["class_counts"].pop(0))


# Headings and conditions.


def lose_a_heading(content: Content) -> None:
    entry = entries_with(content["written"], "heading")[0]
    give_reason(content["written"], entry, "within-window", deleted=1)


def call_a_heading_a_condition(content: Content) -> None:
    entry = entries_with(content["written"], "heading")[0]
    give_reason(content["written"], entry, "keeps-out", node=content["leaves"]["leaf_ids"][0])


def call_a_condition_a_heading(content: Content) -> None:
    give_reason(content["written"], find_own(content), "heading", before=None, after=None, number=None, node=-1)


def find_own(content: Content) -> int:
    """A condition of a rule that kept several beside its heading."""
    written = content["written"]
    heading = entries_with(written, "heading")
    for span in find_spans(content).values():
        kept = [entry for entry in span if not written["deleted"][entry] and entry not in heading]
        if len(kept) > 1:
            return kept[0]
    raise ValueError("no rule kept two conditions")


def delete_one_more(content: Content) -> None:
    nothing = {"before": None, "after": None, "number": None}
    give_reason(content["written"], find_own(content), "within-window", deleted=1, node=-1, **nothing)


def delete_one_more_for_the_budget(content: Content) -> None:
    numbers = {"before": 0.0, "after": 0.001, "number": 0.001}
    give_reason(content["written"], find_own(content), "paid", deleted=1, node=-1, **numbers)


def ask_one_more(content: Content) -> None:
    written = content["written"]
    entry = entries_with(written, "within-window")[0]
    leaf = next(leaf for leaf, span in find_spans(content).items() if entry in span)
    other = next(one for one in content["leaves"]["leaf_ids"] if one != leaf)
    give_reason(written, entry, "keeps-out", deleted=0, node=other)


def change_another_rule(content: Content) -> None:
    """Delete a condition of the rule of a leaf that no line is of."""
    columns, written = content["leaves"], {line["leaf_id"] for line in content["lines"]}
    for place, leaf in enumerate(columns["leaf_ids"]):
        kept = [entry for entry in range(*columns["offsets"][place : place + 2]) if not columns["deleted"][entry]]
        if leaf not in written and len(kept) > 1:
            give_reason(columns, kept[0], "no-foreign-leaf", deleted=1, node=-1)
            return
    raise ValueError("every leaf has a line")


def leave_out_a_rule(content: Content) -> None:
    """Leave out a rule, and leave its leaves and rows to "otherwise"."""
    written, gone = content["written"], rules_of(content)[0]
    span = find_spans(content)[gone["leaf_id"]]
    content["lines"].remove(gone)
    for name in ("deleted", "kind", "node", "before", "after", "number"):
        if written[name] is not None:
            del written[name][span.start : span.stop]
    del written["class_counts"][0]
    own = [line for line in content["lines"] if line["section"] == gone["section"]]
    standing = {leaf for line in own[:-1] for leaf in line["stands_for"]}
    left = set(gone["stands_for"]) - standing
    own[-1]["stands_for"] = in_order(content, left | set(own[-1]["stands_for"]))
    pairs = zip(own[-1]["class_counts"], gone["class_counts"], strict=True)
    own[-1]["class_counts"] = [one + other for one, other in pairs]


def write_a_rule_twice(content: Content) -> None:
    content["lines"].insert(0, json.loads(json.dumps(content["lines"][0])))


# What lines stand for.


def claim_another_leaf(content: Content) -> None:
    line = rules_of(content)[0]
    own = {leaf for one in content["lines"] if one["section"] == line["section"] for leaf in one["stands_for"]}
    other = next(leaf for leaf in in_order(content, own) if leaf not in line["stands_for"])
    line["stands_for"] = in_order(content, {*line["stands_for"], other})


def disclaim_a_leaf(content: Content) -> None:
    rules_of(content)[0]["stands_for"].pop()


def disclaim_a_leaf_of_otherwise(content: Content) -> None:
    rests_of(content)[0]["stands_for"].pop()


def leave_a_leaf_to_another_section(content: Content) -> None:
    first, second = rests_of(content)[:2]
    second["stands_for"] = in_order(content, {first["stands_for"].pop(), *second["stands_for"]})


# Classes, shares and windows.


def turn_otherwise(content: Content) -> None:
    """Turn the class of the "otherwise" that decides the most rows."""
    line = max(rests_of(content), key=lambda line: sum(line["class_counts"]))
    line["prediction"] = {"bad": "good", "good": "bad"}[line["prediction"]]


def widen_a_window(content: Content) -> None:
    """Let a window reach as far down as no line may."""
    line = rules_of(content)[0]
    line["window"][0] = max(0.0, line["window"][1] - 0.21)


def narrow_a_window(content: Content) -> None:
    line = next(line for line in rules_of(content) if line["window"][0] < line["window"][1])
    line["window"][0] = line["window"][1]


def move_a_window_of_otherwise(content: Content) -> None:
    line = rests_of(content)[0]
    line["window"] = [end + 0.001 if end < 0.9 else end - 0.001 for end in line["window"]]


def turn_a_window(content: Content) -> None:
    line = next(line for line in content["lines"] if line["window"][0] < line["window"][1])
    line["window"].reverse()


def state_too_much(content: Content) -> None:
    line = next(line for line in rules_of(content) if line["window"][0] < 0.85)
    line["share"] = line["window"][0] + 0.11


def state_too_little(content: Content) -> None:
    line = rests_of(content)[-1]
    line["share"] = line["window"][1] - 0.11


def state_no_share(content: Content) -> None:
    content["lines"][0].update(share=None, window=None)


def state_a_share_without_a_window(content: Content) -> None:
    content["lines"][0].update(window=None)


def state_no_shares(content: Content) -> None:
    for line in content["lines"]:
        line.update(share=None, window=None)


def lower_tolerance(content: Content) -> None:
    content["tolerance"] = 0.01


def keep_classes_only(content: Content) -> None:
    """Take the promise about shares back, but not the shares."""
    content["tolerance"] = 1.0


# Counts.


def change_decided_counts(content: Content) -> None:
    """Move a row from one line to another."""
    content["lines"][0]["class_counts"][0] += 1
    content["lines"][-1]["class_counts"][0] -= 1


def change_counts_within_a_section(content: Content) -> None:
    line = content["lines"][0]
    rest = next(one for one in rests_of(content) if one["section"] == line["section"])
    line["class_counts"][1] += 1
    rest["class_counts"][1] -= 1


def turn_counts_of_otherwise(content: Content) -> None:
    rests_of(content)[0]["class_counts"].reverse()


def change_covered_counts(content: Content) -> None:
    content["written"]["class_counts"][0][1] += 1


def change_counts_of_a_rule_of_each_leaf(content: Content) -> None:
    content["leaves"]["class_counts"][0][1] += 1


def change_leaf_counts(content: Content) -> None:
    content["leaves"]["leaf_counts"][find_leaf(content, content["lines"][0]["leaf_id"])][1] += 1


# Budgets and the tree.


def lower_budget(content: Content) -> None:
    content["budget"] = 0.0001


def remove_budget(content: Content) -> None:
    content["budget"] = 0.0


def forget_what_was_paid(content: Content) -> None:
    """Say that what the budget deleted was not needed."""
    nothing = {"before": None, "after": None, "number": None}
    for entry in entries_with(content["written"], "paid"):
        give_reason(content["written"], entry, "within-window", node=-1, **nothing)


def undo_a_deletion(content: Content) -> None:
    numbers = {"before": 0.0, "after": 0.5, "number": 0.5}
    entry = entries_with(content["written"], "paid")[0]
    give_reason(content["written"], entry, "too-dear", deleted=0, node=-1, **numbers)


def change_threshold(content: Content) -> None:
    tree = content["tree"]
    node = next(node for node, value in enumerate(tree["threshold"]) if value is not None)
    tree["threshold"][node] += 0.5 * abs(tree["threshold"][node])


BOTH = [
    *(raise_a_section, lower_a_section, swap_sections, double_a_section, hide_sections, move_a_rule_to_another_section),
    *(lose_a_heading, call_a_heading_a_condition, call_a_condition_a_heading, delete_one_more, ask_one_more),
    *(change_another_rule, write_a_rule_twice),
    *(claim_another_leaf, disclaim_a_leaf, disclaim_a_leaf_of_otherwise, leave_a_leaf_to_another_section),
    *(turn_otherwise, change_decided_counts, change_counts_within_a_section, turn_counts_of_otherwise),
    *(change_covered_counts, change_counts_of_a_rule_of_each_leaf, change_leaf_counts, change_threshold),
]
OF_SHARES = [
    *(widen_a_window, narrow_a_window, move_a_window_of_otherwise, turn_a_window, state_too_much, state_too_little),
    *(state_no_share, state_a_share_without_a_window, state_no_shares, lower_tolerance, keep_classes_only),
]
OF_AN_EXACT_LIST = [leave_out_a_rule, delete_one_more_for_the_budget]
OF_A_BUDGET = [lower_budget, remove_budget, forget_what_was_paid, undo_a_deletion]


def state_shares(content: Content) -> None:
    for line in content["lines"]:
        line.update(share=0.9, window=[0.9, 0.9])


def promise_shares(content: Content) -> None:
    content["tolerance"] = 0.1


def test_the_files_themselves_hold() -> None:
    for rules in (EXACT, SHORT, CLASSES):
        assert len(rules.sections) > 2
        assert find_fault(rules.to_json()) == ""
        assert find_fault(forge_file(rules, lambda _: None)) == ""
        assert find_fault(forge_file(rules, lambda _: None, "0.0.1")) == ""


@pytest.mark.parametrize("version", [None, "0.0.1"])
@pytest.mark.parametrize("change", fewer([*BOTH, *OF_SHARES, *OF_AN_EXACT_LIST]))
def test_a_forged_exact_file_is_refuted(change: Callable[[Content], None], version: str | None) -> None:
    assert find_fault(forge_file(EXACT, change, version)).endswith(".")


@pytest.mark.parametrize("version", [None, "0.0.1"])
@pytest.mark.parametrize("change", fewer([*BOTH, *OF_AN_EXACT_LIST, state_shares, promise_shares]))
def test_a_forged_file_of_classes_is_refuted(change: Callable[[Content], None], version: str | None) -> None:
    assert find_fault(forge_file(CLASSES, change, version)).endswith(".")


@pytest.mark.parametrize("version", [None, "0.0.1"])
@pytest.mark.parametrize("change", fewer([*BOTH, *OF_SHARES, *OF_A_BUDGET]))
def test_a_forged_file_with_a_budget_is_refuted(change: Callable[[Content], None], version: str | None) -> None:
    assert find_fault(forge_file(SHORT, change, version)).endswith(".")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (raise_a_section, "belongs to 2 sections, not to one"),
        (lower_a_section, "belongs to 0 sections, not to one"),
        (swap_sections, "is in a section to which its leaf does not belong"),
        (double_a_section, "A section is there twice"),
        (move_a_rule_to_another_section, "is in a section to which its leaf does not belong"),
        (lose_a_heading, "A line lost a condition of its heading"),
        (call_a_heading_a_condition, "are not those that do"),
        (call_a_condition_a_heading, "are not those that do"),
        (delete_one_more, "for which it may not answer"),
        (delete_one_more_for_the_budget, "went beyond its budget of 0 %"),
        (leave_out_a_rule, "lies in no rule, and line"),
        (write_a_rule_twice, "writes the rule of a leaf twice"),
        (claim_another_leaf, "which is said to stand for it"),
        (disclaim_a_leaf, "which is not said to stand for it"),
        (disclaim_a_leaf_of_otherwise, "which is not said to stand for it"),
        (leave_a_leaf_to_another_section, "which is said to stand for it"),
        (turn_otherwise, "the “otherwise” of its section, may not answer for it"),
        (widen_a_window, "more than 0.1 from an end of its window"),
        (narrow_a_window, "is not that of the leaves it meets"),
        (move_a_window_of_otherwise, "is not that of the leaves it meets"),
        (turn_a_window, "more than 0.1 from an end of its window"),
        (state_too_much, "more than 0.1 from an end of its window"),
        (state_too_little, "more than 0.1 from an end of its window"),
        (state_no_share, "state none although shares are"),
        (state_a_share_without_a_window, "state none although shares are"),
        (keep_classes_only, "Lines state shares although only classes are kept"),
        (lower_tolerance, "more than 0.01 from an end of its window"),
        (change_decided_counts, "decides"),
        (change_covered_counts, "covers"),
        (change_leaf_counts, "has in its leaf"),
    ],
)
def test_the_sentence_names_what_is_wrong_with_an_exact_file(change: Callable[[Content], None], words: str) -> None:
    assert words in find_fault(forge_file(EXACT, change, "0.0.1"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lower_budget, "went beyond its budget of 0.01 %"),
        (remove_budget, "went beyond its budget of 0 %"),
        (forget_what_was_paid, "for which it may not answer"),
        (delete_one_more, "for which it may not answer"),
        (undo_a_deletion, "covers"),
        (narrow_a_window, "is not that of the leaves it meets"),
        (move_a_window_of_otherwise, "is not one of leaves of its section"),
        (turn_otherwise, "beyond the budget of 2 %"),
    ],
)
def test_the_sentence_names_what_is_wrong_with_a_budget(change: Callable[[Content], None], words: str) -> None:
    assert words in find_fault(forge_file(SHORT, change, "0.0.1"))


def test_without_rows_an_exact_file_is_proved_but_a_budget_is_not() -> None:
    assert secateur.Rules.from_json(EXACT.to_json()).verify().ok
    found = secateur.Rules.from_json(SHORT.to_json()).verify()
    assert not found.ok
    assert found.lacks_rows


def test_a_budget_that_one_class_exceeds_is_found() -> None:
    """Of all rows so few are off that the budget would do; of the rarer class there are more."""
    audit = SHORT.audit(X, Y)
    of_all, most = audit.off / 100, max(audit.off_by_class) / 100
    assert of_all < most <= 0.02
    between = (of_all + most) / 2

    def lower(content: Content) -> None:
        content["budget"] = between

    found = find_fault(forge_file(SHORT, lower, "0.0.1"))
    beyond = f"more than {100 * most:.4g} %, beyond the budget of {100 * between:g} %."
    assert f"and of no class that the tree predicts {beyond}" in found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("lines"), "has no field 'lines'"),
        (lambda c: c.pop("leaves"), "has no field 'leaves'"),
        (lambda c: c.pop("sections"), "has no field 'sections'"),
        (lambda c: c.pop("written"), "has no field 'written'"),
        (lambda c: c.pop("of"), "has no field 'of'"),
        (lambda c: c["lines"][0].pop("stands_for"), "has no field 'stands_for'"),
        (lambda c: c["lines"][0].pop("section"), "has no field 'section'"),
        (lambda c: c["lines"][0].pop("share"), "has no field 'share'"),
        (lambda c: c["lines"][0].pop("window"), "has no field 'window'"),
        (lambda c: c["leaves"].pop("links"), "has no field 'links'"),
        (lambda c: c["written"].pop("kind"), "has no field 'kind'"),
        (lambda c: c.update(of="ugly"), r"The class of interest 'ugly' is not one of \['bad', 'good'\]"),
        (lambda c: c.update(of=0), r"The class of interest 0 is not one of \['bad', 'good'\]"),
        (lambda c: c.update(sections=[]), "sections that do not begin at nodes of its tree"),
        (lambda c: c["sections"].append(0), "lines of the rules JSON are not in the order of its sections"),
        (lambda c: c["sections"].pop(), "lines of the rules JSON are not in the order of its sections"),
        (lambda c: c["sections"].__setitem__(0, 999), "sections that do not begin at nodes of its tree"),
        (lambda c: c["sections"].__setitem__(0, True), "sections that do not begin at nodes of its tree"),
        (lambda c: c["sections"].__setitem__(0, "1"), "sections that do not begin at nodes of its tree"),
        (lambda c: c.update(sections=None), "lines and no sections, but not one rule for each of"),
        (lambda c: c.update(sections=3), "wrong type or length"),
        (lambda c: c["lines"].reverse(), "not in the order of its sections"),
        (lambda c: c["lines"][0].update(section=7), "not in the order of its sections"),
        (lambda c: c["lines"][0].update(section=None), "not in the order of its sections"),
        (lambda c: c["lines"][0].update(section=False), "not in the order of its sections"),
        (lambda c: c["lines"].pop(), "a section that does not end in one line of otherwise|not in the order"),
        (lambda c: c["lines"].append(c["lines"][-1]), "a section that does not end in one line of otherwise"),
        (lambda c: c["lines"][0].update(leaf_id=None), "a section that does not end in one line of otherwise"),
        (lambda c: c["lines"][0].update(leaf_id=0), "which is not a leaf of its tree"),
        (lambda c: c["lines"][0].update(leaf_id=True), "which is not a leaf of its tree"),
        (lambda c: c["lines"][0].update(leaf_id="3"), "which is not a leaf of its tree"),
        (lambda c: c["lines"][0].update(stands_for=[0]), "which is not a leaf"),
        (lambda c: c["lines"][0]["stands_for"].extend(c["lines"][0]["stands_for"]), "twice, or not in order"),
        (lambda c: max((line["stands_for"] for line in c["lines"]), key=len).reverse(), "twice, or not in order"),
        (lambda c: c["lines"][0].update(prediction="ugly"), "but its leaf"),
        (lambda c: c["lines"][-1].update(prediction="x"), "of otherwise is not one of"),
        (lambda c: c["lines"][0].update(share=1.2), "expected a share from 0 to 1, found 1.2"),
        (lambda c: c["lines"][0].update(share=True), "expected a share from 0 to 1, found True"),
        (lambda c: c["lines"][0].update(share="0.9"), "expected a share from 0 to 1, found '0.9'"),
        (lambda c: c["lines"][0].update(window=[0.9]), "expected two shares for each window"),
        (lambda c: c["lines"][0].update(window=[-1, 0.9]), "expected a share from 0 to 1, found -1"),
        (lambda c: c["lines"][0].update(window=0.9), "wrong type or length"),
        (lambda c: c.update(budget=7), "budget"),
        (lambda c: c.update(tolerance=-1), "tolerance"),
        (lambda c: c.update(version=99), "version"),
        (lambda c: c.update(format="secateur-tree"), "secateur-rules"),
        (lambda c: c.update(is_ranked=1), "expected true or false in 'is_ranked'"),
        (lambda c: c.update(written=None), "wrong type or length"),
        (lambda c: c.update(written=c["leaves"]), "a field 'written.leaf_ids' that no version of it has"),
        (lambda c: c.update(note="Checked by hand."), "a field 'note' that no version of it has"),
        (lambda c: c["lines"][0].update(support=1e6), r"a field 'lines\[\].support' that no version of it has"),
        (lambda c: c["parameters"].update(tolerance=0.1), "the setting 'tolerance', which 'exact' does not have"),
        (lambda c: c["lines"][0].update(class_counts=[1]), "wrong type or length"),
        (lambda c: c["lines"][0].update(class_counts=[-1, 2]), "wrong type or length"),
        (lambda c: c["lines"][0].update(class_counts=["1", 2]), "wrong type or length"),
        (lambda c: c["written"]["class_counts"].pop(), "wrong type or length"),
        (lambda c: c.update(lines=3), "wrong type or length"),
        (lambda c: c.update(lines=[]), "not in the order of its sections"),
        (lambda c: c["leaves"]["leaf_ids"].pop(), "leaf_ids of the rules JSON are not those of its tree"),
        (lambda c: c["leaves"]["links"].reverse(), "links of the rules JSON are not those of its tree"),
        (lambda c: c["leaves"]["predictions"].reverse(), "predictions of the rules JSON are not those of its tree"),
        (lambda c: c["leaves"]["deleted"].pop(), "wrong type or length"),
        (lambda c: c["leaves"]["kind"].__setitem__(0, 99), "wrong type or length"),
        (lambda c: c["leaves"]["kinds"].__setitem__(0, "whim"), "whim|wrong type"),
        (lambda c: c["written"]["deleted"].pop(), "wrong type or length"),
        (lambda c: c["written"]["kinds"].__setitem__(0, "whim"), "whim|wrong type"),
    ],
)
def test_a_broken_file_is_rejected_in_a_sentence(change: Callable[[Content], None], message: str) -> None:
    content = json.loads(EXACT.to_json())
    change(content)
    with pytest.raises(ValueError, match=message) as rejection:
        secateur.Rules.from_json(json.dumps(content))
    assert isinstance(rejection.value, secateur.SecateurError)


@pytest.mark.parametrize(
    "header",
    [
        {"format": "secateur-rules", "version": 1},
        {"format": "secateur-rules", "version": 2},
    ],
)
def test_a_file_of_an_older_version_is_rejected_in_one_sentence(header: Content) -> None:
    for rules in (EXACT, EXACT.each_leaf):
        with pytest.raises(
            FormatError,
            match=r"^An older version of secateur wrote this file, in a format that is no",
        ):
            secateur.Rules.from_json(forge_file(rules, lambda content: content.update(header)))


def spend_more_than_everything(content: Content) -> None:
    paid = entries_with(content["written"], "paid")[0]
    give_reason(content["written"], paid, "paid", before=0.5, after=1.2)


def blame_the_method(content: Content) -> None:
    columns = content["leaves"]
    give_reason(columns, entries_with(columns, "no-foreign-leaf")[0], "within-budget")


def give_a_heading_a_number(content: Content) -> None:
    give_reason(content["written"], entries_with(content["written"], "heading")[0], "heading", number=0.5)


def pay_without_a_number(content: Content) -> None:
    give_reason(content["written"], entries_with(content["written"], "paid")[0], "paid", after=None)


def keep_what_was_paid(content: Content) -> None:
    give_reason(content["written"], entries_with(content["written"], "paid")[0], "paid", deleted=0)


def use_a_reason_of_lists_for_a_leaf(content: Content) -> None:
    columns = content["leaves"]
    give_reason(columns, entries_with(columns, "no-foreign-leaf")[0], "within-window")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (spend_more_than_everything, "went beyond its budget of 2 %"),
        (blame_the_method, "'within-budget', which 'exact' never gives"),
        (use_a_reason_of_lists_for_a_leaf, "'within-window', which 'exact' never gives"),
        (give_a_heading_a_number, "has a 'number', which 'heading' does not have"),
        (pay_without_a_number, "has no 'after', which 'paid' has"),
        (keep_what_was_paid, "says that a deleted condition stays, or that a kept one went"),
    ],
)
def test_a_lie_under_new_words_and_a_new_digest_is_rejected(change: Callable[[Content], None], words: str) -> None:
    content = json.loads(SHORT.to_json())
    assert secateur.Rules.from_json(word_again(dict(content))).verify(X, Y).ok
    change(content)
    with pytest.raises(FormatError, match=words):
        word_again(content)


def test_a_condition_that_keeps_nothing_out_is_found() -> None:
    """A reason names a leaf of another section, or one that the line may answer for."""
    content = json.loads(EXACT.to_json())
    written = content["written"]
    entry = entries_with(written, "keeps-out")[0]
    leaf = next(leaf for leaf, span in find_spans(content).items() if entry in span)
    line = next(line for line in content["lines"] if line["leaf_id"] == leaf)
    far = next(one["leaf_id"] for one in rules_of(content) if one["section"] != line["section"])
    for other in (far, leaf):
        give_reason(written, entry, "keeps-out", node=other)
        failures = secateur.Rules.from_json(word_again(content)).verify(X, Y).failures
        assert any(failure.endswith(f"does not keep leaf {other} out.") for failure in failures)


def test_counts_that_a_file_does_not_state_are_not_said_to_be_recounted() -> None:
    content = json.loads(SHORT.to_json())
    content["lines"][0]["class_counts"] = None
    found = secateur.Rules.from_json(word_again(content)).verify(X, Y)
    assert any("decided counts are not stated, although a budget was spent" in failure for failure in found.failures)
    content = json.loads(EXACT.to_json())
    content["lines"][0]["class_counts"] = None
    told = secateur.Rules.from_json(word_again(content)).verify(X, Y)
    assert told.ok
    assert "the rows that each line decides recounted, where they are stated" in told.checks


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c["lines"][0].update(class_counts=[1.0, 1.0]), "whose numbers are not those of its leaves"),
        (lambda c: c.update(budget=0.1), "whose numbers are not those of its leaves"),
        (lambda c: c.update(tolerance=0.1), "whose numbers are not those of its leaves"),
        (lambda c: c.update(written=c["leaves"]), "a field 'written.leaf_ids' that no version of it has"),
        (lambda c: c["lines"].reverse(), "no sections, but not one rule for each"),
        (lambda c: c["lines"].pop(0), "no sections, but not one rule for each"),
        (lambda c: c["lines"][0].update(stands_for=c["lines"][1]["stands_for"]), "states more than its leaf"),
        (lambda c: c["lines"][0].update(section=0), "states more than its leaf"),
        (lambda c: c["lines"][0].update(share=0.9), "states more than its leaf"),
        (lambda c: c["lines"][0].update(window=[0.9, 0.9]), "states more than its leaf"),
        (lambda c: c["lines"].append({**c["lines"][0], "leaf_id": None}), "no sections, but not one rule for each"),
        (lambda c: c.update(sections=[0]), "not in the order of its sections"),
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


@pytest.mark.parametrize("shift", [0, 1e-13, -1e-13, 1e-11, -1e-11, 1e-9, -1e-9, 1e-7, -1e-7])
def test_which_leaves_a_line_may_answer_for_is_decided_on_fractions(shift: float) -> None:
    """Floats decide what is far from a tie, and nothing else: each pair of a share and a leaf is compared anew."""
    counts = [(own, total) for total in (3, 7, 10, 40) for own in range(total // 2 + 1, total + 1)]
    leaf_counts = np.array([[total - own, own] for own, total in counts], dtype=np.float64)
    case = SimpleNamespace(
        tree=SimpleNamespace(counts=None, values=None, is_regression=False),
        classes=np.ones(len(counts), dtype=np.int64),
        record={"leaf_counts": leaf_counts},
        counts_rows=True,
    )
    tolerance = Fraction(1, 10)
    shares = np.unique([float(Fraction(own, total) + side * tolerance) for own, total in counts for side in (1, -1)])
    for share in (shares + shift).tolist():
        stated = {"shares": np.array([share]), "tolerance": 0.1, "starts": [0, 0], "defaults": [1], "nodes": [0]}
        found = Lines(case, {**stated, "leaves": np.zeros(0, dtype=np.int64)}).answers(0)  # type: ignore[arg-type]
        off = [abs(Fraction(share) - Fraction(own, total)) for own, total in counts]
        assert found.tolist() == [distance <= tolerance + ROUNDED for distance in off]
