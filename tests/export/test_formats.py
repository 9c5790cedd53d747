"""Text, frame, JSON, HTML and terminal output of rule sets."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import asdict, replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
import strategies
from exported_rules import ward_rules
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rich.console import Console
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.tree.tree import Tree


@pytest.fixture
def rules() -> secateur.RuleSet:
    data = secateur.datasets.load("human-id")
    model = DecisionTreeClassifier(random_state=0).fit(data.X, data.y)
    return secateur.simplify(model, data.X, data.y, method="sibling", feature_names=data.feature_names)


GOLDEN_TEXT = """\
1. + if Eyes=brown ≤ 0.5 and Hair=dark ≤ 0.5   (leaf 2: 3 rows, 100.0% +)
2. - if Eyes=brown ≤ 0.5 and Hair=dark > 0.5   (leaf 3: 2 rows, 100.0% -)
3. - if Eyes=brown > 0.5   (leaf 4: 3 rows, 100.0% -)"""


def test_text_is_a_line_a_rule(rules: secateur.RuleSet) -> None:
    none = secateur.simplify(rules.tree, *_rows(), method="none")
    assert none.to_text() == GOLDEN_TEXT
    assert str(none) == GOLDEN_TEXT


def test_text_with_reasons_marks_what_went_and_what_stayed(rules: secateur.RuleSet) -> None:
    lines = rules.to_text(reasons=True).splitlines()
    assert sum(line.startswith("     - ") for line in lines) == 1
    assert sum(line.startswith("     + ") for line in lines) == 4
    assert any("the other branch is leaf" in line for line in lines)
    assert any("it keeps out rows of leaf" in line for line in lines)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_has_a_row_a_rule(rules: secateur.RuleSet, library: str) -> None:
    pytest.importorskip(library)
    frame: Any = rules.to_frame(library)
    assert len(frame) == 3
    assert list(frame["prediction"]) == [rule.prediction for rule in rules]
    assert list(frame["n_deleted"]) == [len(rule.deleted_ids) for rule in rules]


def test_an_unknown_frame_library_is_refused(rules: secateur.RuleSet) -> None:
    with pytest.raises(secateur.ParameterError, match="library='pandas' or library='polars', found 'arrow'"):
        rules.to_frame("arrow")


def test_a_frame_without_any_library_says_what_to_install(
    rules: secateur.RuleSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secateur.frames.find_spec", lambda name: None)
    with pytest.raises(secateur.ParameterError, match=r"pip install p"):
        rules.to_frame()


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules are written as columns, however few they are."""
    monkeypatch.setattr("secateur.export.json.WORDED_CONDITIONS", -1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["rules"].pop("links"), "has no field 'links'"),
        (lambda c: c["rules"].update(words=[]), "a column 'words'"),
        (lambda c: c["rules"]["leaf_ids"].pop(), "leaf_ids of the rules JSON are not those of its tree"),
        (lambda c: c["rules"]["links"].reverse(), "links of the rules JSON are not those of its tree"),
        (lambda c: c["rules"]["predictions"].reverse(), "predictions of the rules JSON"),
        (lambda c: c["rules"]["kinds"].append("whim"), "no reason 'whim'"),
        (lambda c: c["rules"]["kind"].__setitem__(0, 99), "a number in 'kind' is not from 0"),
        (lambda c: c["rules"]["kind"].__setitem__(0, -1), "a number in 'kind' is not from 0"),
        (lambda c: c["rules"]["deleted"].__setitem__(0, True), "a whole number for each condition in 'deleted'"),
        (lambda c: c["rules"]["deleted"].__setitem__(0, 1 - c["rules"]["deleted"][0]), "stays, or that a kept one"),
        (lambda c: c["rules"].update(before=["1"] * len(c["rules"]["links"])), "a number or null"),
        (lambda c: c["rules"].update(number=[1.0]), "a number or null"),
        (lambda c: c["rules"]["class_counts"].__setitem__(0, [-1.0] * len(c["tree"]["classes"])), "negative"),
        (lambda c: c["rules"]["class_counts"].__setitem__(0, [1.0]), "wrong type or length"),
        (lambda c: c.update(rules=[]), "wrong type or length"),
        (lambda c: c.update(version=1), "wrong type or length|lists"),
    ],
)
@pytest.mark.usefixtures("columns")
def test_damaged_columns_are_refused_with_a_sentence(rules: secateur.RuleSet, change: Any, message: str) -> None:
    content = json.loads(rules.to_json())
    assert content["version"] == 2
    change(content)
    with pytest.raises(secateur.SecateurError, match=message):
        secateur.RuleSet.from_json(json.dumps(content))


@pytest.mark.usefixtures("columns")
def test_edited_columns_are_found_by_verify(rules: secateur.RuleSet) -> None:
    text = rules.to_json()
    assert secateur.RuleSet.from_json(text).verify().ok
    content = json.loads(text)
    assert secateur.RuleSet.from_json(json.dumps(content, indent=1)).verify().ok, "only the layout changed"
    content["guarantee"] = "All is well."
    assert not secateur.RuleSet.from_json(json.dumps(content)).verify().ok


@given(tree=strategies.trees(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_columns_hold_what_the_words_are_made_of(tree: Tree, data: st.DataObject) -> None:
    X, y, w = data.draw(strategies.labelled_rows(tree))
    method = data.draw(st.sampled_from(list(secateur.METHODS)))
    rows = (X, tree.classes[y]) if data.draw(st.booleans()) else ()
    try:
        rules = secateur.simplify(tree, *rows, sample_weight=w if rows else None, method=method)
    except secateur.InputError:  # no rows, or rows that contradict themselves
        assume(False)
    worded = rules.to_json()
    with mock.patch("secateur.export.json.WORDED_CONDITIONS", -1):
        text = rules.to_json()
        again = secateur.RuleSet.from_json(text)
        assert again.to_json() == text
    assert again == rules
    assert json.loads(again.to_json())["rules"] == json.loads(worded)["rules"]


@given(tree=strategies.trees(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_json_round_trips_every_method(tree: Tree, data: st.DataObject) -> None:
    X, y, w = data.draw(strategies.labelled_rows(tree))
    method = data.draw(st.sampled_from(["none", "sibling", "redundancy", "exact", "faithful", "mismatch", "quinlan"]))
    rules = secateur.simplify(tree, X, tree.classes[y], sample_weight=w, method=method)
    text = rules.to_json()
    again = secateur.RuleSet.from_json(text)
    assert again.to_json() == text
    assert again == rules
    assert again.predict(X).tolist() == rules.predict(X).tolist()
    assert again.guarantee == rules.guarantee
    for one, other in zip(rules, again, strict=True):
        assert one.reasons == other.reasons


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(version=99), "has version 99, but this secateur reads up to version 2. Upgrade"),
        (lambda c: c.update(version="1"), "Expected a version number"),
        (lambda c: c.update(format="other"), "format 'secateur-rules', found 'other'"),
        (lambda c: c.pop("rules"), "has no field 'rules'"),
        (lambda c: c.pop("tree"), "has no field 'tree'"),
        (lambda c: c["rules"].pop(), "reasons|lists|wrong"),
        (lambda c: c["rules"][0].update(leaf_id=0), "is for leaf 0"),
        (lambda c: c["rules"][0].update(prediction="?"), r"predicts '\?'"),
        (lambda c: c["rules"][0]["kept_ids"].append(99), "not the links of its path"),
        (lambda c: c["rules"][0]["reasons"].pop(), "wrong type or length|one for each link"),
        (lambda c: c["rules"][0]["reasons"][0].update(kind="whim"), "no reason 'whim'"),
        (lambda c: c["tree"]["children_left"].__setitem__(0, 0), "breaks an invariant"),
        (lambda c: c.update(method="magic"), "no method 'magic'"),
    ],
)
def test_a_damaged_file_is_refused_with_a_sentence(rules: secateur.RuleSet, change: Any, message: str) -> None:
    content = json.loads(rules.to_json())
    change(content)
    with pytest.raises(secateur.SecateurError, match=message):
        secateur.RuleSet.from_json(json.dumps(content))


def test_what_is_not_json_is_refused() -> None:
    with pytest.raises(secateur.FormatError, match="it is not JSON"):
        secateur.RuleSet.from_json("{")
    with pytest.raises(secateur.FormatError, match="found 'list'"):
        secateur.RuleSet.from_json("[]")


def test_html_escapes_hostile_names() -> None:
    data = secateur.datasets.load("human-id")
    names = [f"</td><script>alert({i})</script>" for i in range(data.X.shape[1])]
    model = DecisionTreeClassifier(random_state=0).fit(data.X, data.y)
    page = secateur.simplify(
        model, data.X, data.y, feature_names=names, class_names=["<b>", "'\"&"], method="faithful"
    )._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "<b></td>" not in page


def test_a_terminal_table_shows_every_rule(rules: secateur.RuleSet) -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(rules)
    shown = console.export_text()
    assert "3 rules by sibling" in shown
    assert "1 of 5 conditions deleted" in shown


def _rows() -> tuple[Any, Any]:
    data = secateur.datasets.load("human-id")
    return data.X, data.y


def slow_json(rules: secateur.RuleSet) -> str:
    """The same content from the objects that users see, by the standard library."""
    content = json.loads(rules.to_json())
    content.pop("digest")
    content["rules"] = [
        {
            "leaf_id": rule.leaf_id,
            "prediction": rule.prediction,
            "kept_ids": list(rule.kept_ids),
            "deleted_ids": list(rule.deleted_ids),
            "class_counts": None if rule.class_counts is None else list(rule.class_counts),
            "source_class_counts": None if np.isnan(source).any() else source.tolist(),
            "support": rule.support,
            "reliability": rule.reliability,
            "source_support": rule.source_support,
            "source_reliability": rule.source_reliability,
            "conditions": [condition.text for condition in rule.conditions],
            "reasons": [asdict(reason) for reason in rule.reasons.values()],
        }
        for rule, source in zip(rules, rules.source_class_counts, strict=True)
    ]
    canonical = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    return json.dumps({**content, "digest": digest}, ensure_ascii=False, allow_nan=False)


@given(data=st.data(), method=st.sampled_from(list(secateur.METHODS)), with_rows=st.booleans())
@settings(max_examples=100, deadline=None)
def test_json_by_hand_is_json_by_the_standard_library(data: st.DataObject, method: str, with_rows: bool) -> None:
    tree = data.draw(strategies.trees(max_leaves=8))
    names = data.draw(st.permutations(['a"b', "ä", "a", "a b", "\n", "Z"]))[: tree.n_features]
    tree = replace(tree, feature_names=tuple(names))
    X, y, weights = data.draw(strategies.labelled_rows(tree, weights=True))
    rows = {"X": X, "y": tree.classes[y], "sample_weight": weights} if with_rows else {}
    try:
        rules = secateur.simplify(tree, method=method, **rows)
    except secateur.InputError:  # no rows, or rows that contradict themselves
        assume(False)
    assert rules.to_json() == slow_json(rules)
    assert secateur.RuleSet.from_json(rules.to_json()) == rules


@pytest.mark.parametrize(
    "changes",
    [
        {"feature_names": ("age", "w\ud800")},
        {"categories": (None, ("A", "B\udc80", "C"))},
        {"classes": np.array(["back", "h\udfff"])},
    ],
)
@pytest.mark.parametrize("target", ["JSON", "ONNX"])
def test_half_a_character_is_refused_in_a_sentence(target: str, changes: dict[str, Any]) -> None:
    if target == "ONNX":
        pytest.importorskip("onnx")
    tree = replace(ward_rules().tree, accepts_missing=np.array([False, False]), **changes)
    rules = secateur.simplify(tree, method="none")
    with pytest.raises(secateur.ParameterError, match=f"half of a character, which {target} cannot hold: rename"):
        rules.to_json() if target == "JSON" else rules.to_onnx()
