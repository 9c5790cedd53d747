"""Files of compact rules that were forged, the digest made anew, are refused when read or refuted by the checker."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from secateur.export.compact_json import _digest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import FormatError
from secateur.export.json import _digest as _digest_of_rules

Content = dict[str, Any]


def problem() -> tuple[Any, Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y), X, y


MODEL, X, Y = problem()
EXACT = secateur.simplify(MODEL, X, Y)
SHORT = secateur.simplify(MODEL, X, Y, budget=0.02)


def forge(rules: secateur.Rules, change: Callable[[Content], None], version: str | None = None) -> str:
    """Change a file and make its digests anew; another version's words are not compared."""
    content = json.loads(rules.to_json())
    change(content)
    if version is not None:
        content["secateur"] = content["source"]["secateur"] = version
    source = content["source"]
    source.pop("digest")
    source["digest"] = _digest_of_rules(source)
    content.pop("digest")
    content["digest"] = _digest(content)
    return json.dumps(content)


def is_refuted(text: str, failure: str = "") -> bool:
    """Whether a file is refused when it is read, or by the checker with the training rows."""
    try:
        rules = secateur.Rules.from_json(text)
    except FormatError:
        return True
    found = rules.verify(X, Y)
    return not found.ok and any(failure in one for one in found.failures)


def leave_out_a_rule(content: Content) -> None:
    gone = content["rules"].pop(0)
    entry = {"leaf_id": gone["leaf_id"], "covered_by": None, "before": None, "after": None, "number": None}
    listed = [*content["dropped"], {**entry, "text": "no possible row reaches its leaf"}]
    by_leaf = {rule["leaf_id"]: place for place, rule in enumerate(content["source"]["rules"])}
    content["dropped"] = sorted(listed, key=lambda rule: by_leaf[rule["leaf_id"]])
    written = {leaf for rule in content["rules"] for leaf in rule["leaf_ids"]}
    for rule in content["dropped"]:
        rule["covered_by"] = rule["covered_by"] if rule["leaf_id"] in written else None


def leave_out_a_rule_at_a_price(content: Content) -> None:
    leave_out_a_rule(content)
    for rule in content["dropped"]:
        if rule["before"] is None:
            rule.update(before=0.0, after=0.0, number=0.0)


def delete_one_more(content: Content) -> None:
    rule = next(rule for rule in content["rules"] if len(rule["kept_ids"]) > 1)
    link = rule["kept_ids"].pop(0)
    rule["deleted_ids"] = sorted([*rule["deleted_ids"], link])
    reason = next(reason for reason in rule["reasons"] if reason["link_id"] == link)
    reason.update(deleted=True, kind="decided-otherwise", before=0.0, after=0.001, number=0.001, node_id=None)


def delete_one_more_quietly(content: Content) -> None:
    delete_one_more(content)
    for rule in content["rules"]:
        for reason in rule["reasons"]:
            if reason["kind"] == "decided-otherwise":
                reason["kind"] = "no-foreign-leaf"


def claim_another_leaf(content: Content) -> None:
    first, second = content["rules"][:2]
    first["leaf_ids"] = sorted({*first["leaf_ids"], *second["leaf_ids"]})


def disclaim_a_leaf(content: Content) -> None:
    rule = next(rule for rule in content["rules"] if len(rule["leaf_ids"]) > 1)
    gone = next(leaf for leaf in rule["leaf_ids"] if leaf != rule["leaf_id"])
    rule["leaf_ids"].remove(gone)
    for dropped in content["dropped"]:
        if dropped["leaf_id"] == gone:
            dropped["covered_by"] = None


def change_decided_counts(content: Content) -> None:
    content["rules"][0]["decided_counts"][0] += 1
    content["otherwise_counts"][0] -= 1


def change_counts(content: Content) -> None:
    content["rules"][0]["class_counts"][1] += 1


def change_otherwise_counts(content: Content) -> None:
    content["otherwise_counts"] = content["otherwise_counts"][::-1]


def change_otherwise(content: Content) -> None:
    content["otherwise"] = 1 - content["otherwise"]


def swap_rules(content: Content) -> None:
    content["rules"][:2] = content["rules"][1::-1]


def lower_budget(content: Content) -> None:
    content["budget"] = 0.0001


def remove_budget(content: Content) -> None:
    content["budget"] = 0.0


def lower_tolerance(content: Content) -> None:
    content["tolerance"] = 0.0


def forget_a_dropped_rule(content: Content) -> None:
    content["dropped"].pop(0)


def change_threshold(content: Content) -> None:
    tree = content["source"]["tree"]
    node = next(node for node, value in enumerate(tree["threshold"]) if value is not None)
    tree["threshold"][node] += 0.5 * abs(tree["threshold"][node])


def change_source(content: Content) -> None:
    delete_one_more(content)
    shortened = next(
        rule for rule in content["rules"] if any(r["kind"] == "decided-otherwise" for r in rule["reasons"])
    )
    source = next(rule for rule in content["source"]["rules"] if rule["leaf_id"] == shortened["leaf_id"])
    for reason in shortened["reasons"]:
        if reason["kind"] == "decided-otherwise":
            reason.update(kind="no-foreign-leaf", before=None, after=None, number=None)
    for name in ("kept_ids", "deleted_ids", "reasons"):
        source[name] = json.loads(json.dumps(shortened[name]))


BOTH = [
    *(leave_out_a_rule, delete_one_more, delete_one_more_quietly, claim_another_leaf, change_decided_counts),
    *(change_counts, change_otherwise_counts, change_otherwise, forget_a_dropped_rule, change_threshold, change_source),
]


def test_the_files_themselves_hold() -> None:
    for rules in (EXACT, SHORT):
        assert not is_refuted(rules.to_json())
        assert not is_refuted(forge(rules, lambda _: None))
        assert not is_refuted(forge(rules, lambda _: None, "0.0.1"))


@pytest.mark.parametrize("version", [None, "0.0.1"])
@pytest.mark.parametrize("change", [*BOTH, disclaim_a_leaf, leave_out_a_rule_at_a_price])
def test_a_forged_exact_file_is_refuted(change: Callable[[Content], None], version: str | None) -> None:
    assert is_refuted(forge(EXACT, change, version))


@pytest.mark.parametrize("version", [None, "0.0.1"])
@pytest.mark.parametrize("change", [*BOTH, disclaim_a_leaf, lower_budget, remove_budget, lower_tolerance])
def test_a_forged_file_with_a_budget_is_refuted(change: Callable[[Content], None], version: str | None) -> None:
    assert is_refuted(forge(SHORT, change, version))


def test_without_rows_an_exact_file_is_proved_but_a_budget_is_not() -> None:
    assert secateur.Rules.from_json(EXACT.to_json()).verify().ok
    found = secateur.Rules.from_json(SHORT.to_json()).verify()
    assert not found.ok
    assert found.lacks_rows


def test_a_false_reliability_of_the_first_rule_is_found() -> None:
    """The guard holds for every rule, the first too: each is made to fall short in turn."""
    for index in range(len(SHORT)):
        rule = SHORT[index]
        fall = SHORT.rules.source_reliability[SHORT.leaves[index]] - (rule.reliability or 0.0)
        is_paid = any(reason.kind == "decided-otherwise" for reason in rule.reasons.values())

        def lower(content: Content, to: float = fall) -> None:
            content["tolerance"] = max(0.0, to - 1e-6)

        if is_paid and fall > 1e-6:
            assert is_refuted(forge(SHORT, lower, "0.0.1"), f"The rule of leaf {rule.leaf_id} is")
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
        (lambda c: c.pop("rules"), "has no field 'rules'"),
        (lambda c: c["rules"][0].pop("leaf_ids"), "has no field 'leaf_ids'"),
        (lambda c: c["rules"][0].update(leaf_id=0), "is no leaf of its tree"),
        (lambda c: c["rules"][0].update(leaf_ids=[0]), "which is no leaf"),
        (lambda c: c["rules"][0].update(prediction=7), "but its leaf"),
        (lambda c: c.update(otherwise="x"), "of otherwise is not one of"),
        (lambda c: c.update(budget=7), "budget"),
        (lambda c: c.update(version=99), "version"),
        (lambda c: c.update(format="secateur-rules"), "secateur-compact"),
        (lambda c: c["rules"][0].update(decided_counts=[1]), "wrong type or length"),
        (lambda c: c.update(rules=3), "wrong type or length"),
        (lambda c: c["rules"][0].update(kept_ids=[]), "are not its path's"),
        (lambda c: c["rules"][0]["reasons"].pop(), "not one reason for each link"),
        (lambda c: c["dropped"].append({"leaf_id": -5}), "dropped|no field|wrong type"),
    ],
)
def test_a_broken_file_is_refused_in_a_sentence(change: Callable[[Content], None], message: str) -> None:
    content = json.loads(EXACT.to_json())
    change(content)
    with pytest.raises(ValueError, match=message):
        secateur.Rules.from_json(json.dumps(content))


def word_again(content: Content) -> str:
    """Let the library make the words and the digest of a forged content anew."""
    content.pop("digest")
    return replace(secateur.Rules.from_json(json.dumps(content)), stored=None).to_json()


def name_a_leaf_twice(content: Content) -> None:
    content["rules"][0]["leaf_ids"] *= 2


def spend_beyond_the_budget(content: Content) -> None:
    reasons = [reason for rule in content["rules"] for reason in rule["reasons"]]
    paid = next(reason for reason in reasons if reason["kind"] == "decided-otherwise")
    paid.update(before=0.5, after=0.9)


def blame_the_method(content: Content) -> None:
    reasons = [reason for rule in content["rules"] for reason in rule["reasons"]]
    next(reason for reason in reasons if reason["kind"] == "no-foreign-leaf")["kind"] = "within-budget"


def blame_the_budget(content: Content) -> None:
    reasons = [reason for rule in content["rules"] for reason in rule["reasons"]]
    free = next(reason for reason in reasons if reason["kind"] == "no-foreign-leaf")
    free.update(kind="decided-otherwise", before=0.0, after=0.0, number=0.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (name_a_leaf_twice, "names a leaf that it stands for twice"),
        (spend_beyond_the_budget, "went beyond its budget of 2 %"),
        (blame_the_method, "'within-budget', which 'exact' never gives"),
        (blame_the_budget, "another reason than the rule set"),
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
    content["rules"][0]["decided_counts"] = None
    found = secateur.Rules.from_json(word_again(content)).verify(X, Y)
    assert any("decided counts are not stated, although a budget was spent" in failure for failure in found.failures)
    unknown = secateur.simplify(MODEL)
    told = unknown.verify(X, Y)
    assert told.ok
    assert any("decided counts are not stated, so they were not compared" in one for one in told.unchecked)
