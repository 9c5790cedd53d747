"""Rows that had no part in making rules are counted as an obvious loop counts them, stored, and recounted."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import strategies
from forged_files import sign_again
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import FormatError, InputError, ParameterError
from secateur.rules.making import Split

X, Y = load_breast_cancer(return_X_y=True)
MODEL = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[:400], Y[:400])
NEW = X[400:], Y[400:]
FORMS: list[dict[str, Any]] = [{}, {"tolerance": 1.0}, {"budget": 0.05}, {"each_leaf": True, "method": "mismatch"}]


def make(**settings: Any) -> secateur.Rules:
    return secateur.simplify(MODEL, X[:400], Y[:400], **settings)


def count_slowly(rules: secateur.Rules, rows: Any, labels: Any, weights: Any) -> list[tuple[float, float]]:
    """Rows of each line, and those in its class, a row at a time."""
    found = [[0.0, 0.0] for _ in rules.lines]
    for row, label, weight in zip(rows, labels, weights, strict=True):
        one = np.asarray([row])
        for place in [rules.apply(one)[0]] if rules.is_list else np.flatnonzero(rules.covers(one)[0]).tolist():
            found[place][0] += weight
            found[place][1] += weight * (rules.lines[place].prediction == label)
    return [(rows, own) for rows, own in found]


@pytest.mark.parametrize("settings", FORMS)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_lines_have_the_rows_that_a_loop_counts(settings: dict[str, Any], is_weighted: bool) -> None:
    weights = np.random.default_rng(0).random(len(NEW[1])) if is_weighted else None
    rules = make(**settings)
    assert all(line.unseen is None for line in rules.lines)
    measured = rules.measure(*NEW, weights)
    again = count_slowly(rules, *NEW, np.ones(len(NEW[1])) if weights is None else weights)
    assert [line.unseen for line in measured.lines] == [pytest.approx(pair) for pair in again]
    assert measured.unseen_counts is not None
    assert [line.unseen for line in rules.lines] == [None] * rules.n_lines  # the given rules stay as they are
    assert [line.observed for line in measured.lines] == [
        (line.support, round(line.support * line.reliability)) if line.support else (0, 0) for line in rules.lines
    ]
    assert bool((measured.predict(X) == rules.predict(X)).all())


@given(st.data())
def test_random_trees_count_and_recount(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    rows, labels, _ = data.draw(strategies.labelled_rows(tree))
    new, truth, weights = data.draw(strategies.labelled_rows(tree, weights=data.draw(st.booleans())))
    others = new, tree.classes[truth], weights
    rules = secateur.simplify(tree, rows, tree.classes[labels])
    try:
        measured = rules.measure(*others)
    except InputError:  # by chance they are the same
        return
    again = count_slowly(rules, *others[:2], np.ones(len(truth)) if weights is None else weights)
    assert [line.unseen for line in measured.lines] == again
    assert measured.verify().ok
    stored = secateur.Rules.from_json(measured.to_json())
    assert stored.verify(rows, tree.classes[labels], unseen=others).ok
    assert [line.unseen for line in stored.lines] == again


@pytest.mark.parametrize("settings", FORMS)
def test_the_checker_recounts_and_says_when_it_cannot(settings: dict[str, Any]) -> None:
    measured = make(**settings).measure(*NEW)
    assert "the unseen rows of lines and leaves recounted" in measured.verify().checks
    stored = secateur.Rules.from_json(measured.to_json())
    assert stored.verify(X[:400], Y[:400]).unchecked[-1] == (
        "not recounted, because no unseen rows were passed: numbers of unseen rows"
    )
    assert stored.verify(X[:400], Y[:400], model=MODEL, unseen=NEW).ok
    found = stored.verify(X[:400], Y[:400], unseen=(X[401:], Y[401:]))
    assert "These 168 rows are not the 169 that are stated as unseen." in found.failures
    flipped = stored.verify(X[:400], Y[:400], unseen=(NEW[0], 1 - NEW[1]))
    assert not flipped.ok
    assert "of these rows, but states" in flipped.failures[0]


def test_weights_are_recounted_too() -> None:
    weights = np.random.default_rng(1).random(len(NEW[1]))
    stored = secateur.Rules.from_json(make().measure(*NEW, weights).to_json())
    assert stored.verify(unseen=(*NEW, weights)).ok
    assert "have weights, but these have none" in stored.verify(unseen=NEW).failures[0]
    plain = secateur.Rules.from_json(make().measure(*NEW).to_json())
    assert "have no weights, but these have some" in plain.verify(unseen=(*NEW, weights)).failures[0]


def test_a_file_with_forged_unseen_numbers_is_rejected_or_found() -> None:
    content = json.loads(make().measure(*NEW).to_json())
    lines = content["unseen"]["line_counts"]
    lines[0][0] += 1
    sign_again(content)
    found = secateur.Rules.from_json(json.dumps(content)).verify()
    assert "The unseen rows of the lines do not add up to those of the leaves." in found.failures
    lines[0][0] += 0.5
    with pytest.raises(FormatError, match="fractions of unseen rows, but no weights"):
        secateur.Rules.from_json(json.dumps(content))
    content["unseen"]["line_counts"] = lines[1:]
    with pytest.raises(FormatError, match="wrong type or length"):
        secateur.Rules.from_json(json.dumps(content))


def test_how_rows_were_set_aside_is_kept() -> None:
    measured = make().measure(*NEW)
    assert measured.unseen is not None
    split = Split(0.25, 7, by="day")
    told = measured.change(unseen=replace(measured.unseen, split=split))
    stored = secateur.Rules.from_json(told.to_json())
    assert stored.unseen is not None
    assert stored.unseen.split == split


def test_training_rows_are_not_unseen() -> None:
    with pytest.raises(InputError, match="they are not unseen"):
        make().measure(X[:400], Y[:400])


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ParameterError, match="have no unseen numbers to recount"):
        make().verify(unseen=NEW)
    with pytest.raises(ParameterError, match="Expected unseen as a pair"):
        make().measure(*NEW).verify(unseen=NEW[0])


def test_rows_stay_with_the_caller() -> None:
    measured = make().measure(*NEW)
    again = pickle.loads(pickle.dumps(measured))
    assert again.unseen.rows is None
    assert [line.unseen for line in again.lines] == [line.unseen for line in measured.lines]
    assert measured.without_rows().unseen.rows is None
    assert measured.each_leaf.unseen is None
