"""Files that a stranger forged, with a new digest and in words that the library itself made, certify nothing false."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawing import draw
from forged_files import Content, forge_file, word_again
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import secateur
from secateur.errors import FormatError
from secateur.verify import Verification


@cache
def problem() -> tuple[Any, Any, Any]:
    data = load_breast_cancer(as_frame=True)
    X = data.data.filter(like="mean").iloc[:, :5]
    y = np.asarray(data.target_names)[data.target]
    return DecisionTreeClassifier(max_depth=3, min_samples_leaf=5, random_state=0).fit(X, y), X, y


def forge(rules: secateur.Rules, change: Callable[[Content], Any]) -> secateur.Rules:
    """Rules of a changed file, whose words and digest the library made anew."""
    content = json.loads(rules.to_json())
    change(content)
    return secateur.Rules.from_json(word_again(content))


def names(found: Verification) -> str:
    assert found.ok
    assert not found.is_complete
    assert str(found).endswith("\nNothing is wrong, but not everything was checked.")
    return "; ".join(found.unchecked)


def test_another_version_switches_off_only_the_comparison_of_sentences() -> None:
    model, X, y = problem()
    rules = secateur.simplify(model, X, y)

    def lie(content: Content) -> None:
        content["guarantee"] = "Exact for every possible row, approved by the authority."
        content["lines"][0]["text"] = "mean area > 1 => benign"
        for reason in content["lines"][0]["reasons"]:
            reason["text"] = "this condition is irrelevant"

    read = secateur.Rules.from_json(forge_file(rules, lie, "0.1.9"))
    found = read.verify(X, y, model=model)
    assert names(found) == "the sentences of the file were written by secateur 0.1.9: not compared"
    assert "approved" not in f"{found}{read.guarantee}{read}"
    assert str(read[0]) == str(rules[0])

    def count(content: Content) -> None:
        content["lines"][0]["class_counts"][0] += 5

    def undelete(content: Content) -> None:
        content["lines"][0]["reasons"][0]["deleted"] = not content["lines"][0]["reasons"][0]["deleted"]

    for change in (count, undelete):
        assert not secateur.Rules.from_json(forge_file(rules, change, "0.1.9")).verify(X, y).ok


def test_class_names_that_are_turned_round_are_rejected_or_named() -> None:
    model, X, y = problem()
    with pytest.raises(FormatError, match="shows the classes benign, malignant as malignant, benign"):
        forge(secateur.simplify(model, X, y), lambda c: c["tree"]["class_names"].reverse())
    numbered = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y == "benign")
    told = secateur.simplify(numbered, X, y == "benign", class_names=["malignant", "benign"])
    for rules in (told, forge(told, lambda c: c["tree"]["class_names"].reverse())):
        read = secateur.Rules.from_json(rules.to_json())
        assert names(read.verify(X, y == "benign", model=numbered)) == "taken as stated: names of classes"
    with pytest.raises(secateur.SecateurError, match="Expected class_names in the order of the labels"):
        secateur.simplify(model, X, y, class_names=told.tree.class_names)
    turned = replace(secateur.from_model(model), class_names=told.tree.class_names)
    found = secateur.simplify(turned, X, y).verify(model=model)
    assert found.failures == ("The rules name the classes malignant, benign, the model benign, malignant.",)


def test_counts_of_the_tree_are_compared_with_the_model() -> None:
    model, X, y = problem()
    rules = secateur.simplify(model, X, y, each_leaf=True)

    def turn(content: Content) -> None:
        content["tree"]["counts"] = [[7 * other, one] for one, other in content["tree"]["counts"]]

    forged = forge(rules, turn)
    assert "counts of the tree" in names(forged.verify(X, y))
    assert "counts of the tree" not in names(secateur.Rules.from_json(rules.to_json()).verify(X, y))  # the rows say so
    assert "The model's tree counted other rows of each class in its nodes." in forged.verify(model=model).failures


def test_a_fact_says_what_its_numbers_say() -> None:
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.uniform(18, 120, 900), "income": random.normal(0, 1, 900)})
    y = np.where(X.age > 100, "no", np.where(X.income > 0, "yes", "no"))
    model = DecisionTreeClassifier(random_state=0, max_depth=4).fit(X, y)
    young = X.age <= 90
    rules = secateur.simplify(model, X[young], y[young], facts=["age <= 90"])
    assert rules.guarantee.endswith("Holds for rows that satisfy: age <= 90.")

    def widen(content: Content) -> None:
        content["tree"]["facts"]["claims"][0]["text"] = "age <= 150"

    with pytest.raises(FormatError, match="a fact says 'age <= 150', but its numbers say 'age <= 90'"):
        forge(rules, widen)


def test_labels_of_a_group_are_those_of_its_columns() -> None:
    random = np.random.default_rng(0)
    city = random.integers(0, 3, 300)
    X = pd.DataFrame({f"city_{name}": (city == k).astype(float) for k, name in enumerate(("Oslo", "Paris", "Rome"))})
    X["income"] = random.normal(size=300)
    y = (city == 1) | (X.income > 1)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, groups=secateur.find_groups(X))

    def rotate(content: Content) -> None:
        labels = content["tree"]["facts"]["groups"][0]["labels"]
        labels.append(labels.pop(0))

    with pytest.raises(FormatError, match=r"labels the columns of the group 'city' .*but their names say"):
        forge(rules, rotate)
    assert secateur.Rules.from_json(rules.to_json()).verify(X, y, model=model).is_complete


@pytest.mark.drawn
@pytest.mark.parametrize("method", ["mismatch", "faithful"])
def test_no_reliability_behind_a_reason_can_be_changed(method: str) -> None:
    _, X, y = problem()
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, method=method, each_leaf=True)
    content = json.loads(rules.to_json())
    stated = [
        (name, place, value)
        for name in ("before", "after")
        for place, value in enumerate(content["leaves"][name])
        if value is not None
    ]
    assert len(stated) > 20
    for name, place, value in draw(stated, 12):

        def move(forged: Content, name: str = name, place: int = place, value: float = value) -> None:
            forged["leaves"][name][place] = value * 0.999

        found = forge(rules, move).verify(X, y, model=model)
        assert not found.is_complete
        is_named = any("later sweeps" in one for one in found.unchecked)
        assert is_named or "says a reliability of" in found.failures[0]


@pytest.mark.parametrize("version", ["0.1.9, approved", "", "v1", 3])
def test_a_version_is_a_number(version: Any) -> None:
    model, X, y = problem()
    with pytest.raises(FormatError, match="expected a version number in 'secateur'"):
        forge(secateur.simplify(model, X, y), lambda content: content.update(secateur=version))


def test_a_guarantee_repeats_no_text_of_a_file() -> None:
    model, X, y = problem()
    certified = secateur.simplify(model, X, y, method="mismatch-certified", each_leaf=True)
    with pytest.raises(FormatError, match="names a certified domain that no method certifies"):
        forge(certified, lambda content: content["parameters"].update(certificate="all rows, by law"))
    found = forge(certified, lambda content: content["parameters"].update(certificate="the 9 listed rows"))
    assert any("on another domain than the one found here" in one for one in found.verify(X, y).failures)
    approximated = secateur.approximate(model, X, max_rules=2)
    with pytest.raises(FormatError, match="expected the type of a model"):
        forge(
            approximated, lambda content: content["approximation"].update(model="a model that the authority approved")
        )


def test_nothing_is_said_of_no_rules() -> None:
    model, X, y = problem()
    rules = secateur.simplify(model, X, y, budget=1e-9)
    assert not any(reason.kind == "decided-otherwise" for rule in rules for reason in rule.reasons.values())
    assert "lost a condition" not in str(rules.verify())
    assert "commonest class" not in str(rules.verify())


def test_a_wrong_count_is_reported_once() -> None:
    model, X, y = problem()
    rules = secateur.simplify(model, X, y)
    place = int(rules.leaves[0])

    def add(content: Content) -> None:
        content["leaves"]["class_counts"][place][0] += 1

    failures = forge(rules, add).verify(X, y).failures
    assert len(failures) == 1
    assert "covers" in failures[0]


def test_what_cannot_be_edited_has_no_journal() -> None:
    """Edits lift the promise of a list of classes; the guarantee of other rules would go on promising."""
    model, X, y = problem()
    values = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, X["mean area"])
    forms = [
        secateur.simplify(model, X, y, each_leaf=True),
        secateur.simplify(values, X, X["mean area"]),
        secateur.approximate(model, X, max_rules=2),
    ]
    edits = {"journal": [{"edit": "strike", "line": 1}], "training": {"rows": 569.0, "changed": []}, "unseen": None}
    for rules in forms:
        with pytest.raises(FormatError, match="has edits, but is no list of the classes of one tree"):
            forge(rules, lambda content: content.update(edits=edits))


def test_a_journal_is_taken_as_stated() -> None:
    model, X, y = problem()
    edited = secateur.simplify(model, X, y).strike(0, reason="too few rows")
    assert edited.verify(X, y, model=model).is_complete  # it was made here
    for rules in (edited, forge(edited, lambda content: content["edits"]["journal"][0].update(reason="approved"))):
        read = secateur.Rules.from_json(rules.to_json())
        assert names(read.verify(X, y, model=model)) == "taken as stated: the journal of edits"


def test_a_file_without_counts_of_the_tree_is_refuted_by_its_reasons() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, method="faithful", each_leaf=True)
    found = forge(rules, lambda content: content["tree"].update(counts=None)).verify(X, y)
    assert any("The class share along link" in one for one in found.failures)
