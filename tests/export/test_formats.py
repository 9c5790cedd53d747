"""Text, frame, JSON, HTML and terminal output of rules, in both forms."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import replace
from typing import Any
from unittest import mock

import brute_force
import numpy as np
import pytest
import strategies
from export.forms import FORMS, both_forms, in_form, list_settings
from exported_rules import ward_rules
from forged_files import give_reason, word_again
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from rich.console import Console
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import FormatError, InputError, ParameterError
from secateur.methods import Why


@pytest.fixture
def rules() -> secateur.Rules:
    data = secateur.datasets.load("human-id")
    model = DecisionTreeClassifier(random_state=0).fit(data.X, data.y)
    return secateur.simplify(model, data.X, data.y, method="sibling", feature_names=data.feature_names, each_leaf=True)


@pytest.fixture(scope="module")
def iris() -> secateur.Rules:
    """A list in two sections, with a budget that was spent."""
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(splitter="random", random_state=0).fit(X, y)
    made = secateur.simplify(model, X, y, budget=0.05)
    assert len(made.sections) == 2
    assert (made.predict(X) != model.predict(X)).any()
    return made


GOLDEN_TEXT = """\
These rules predict the class: of 8 training rows, 62.5 % are - and 37.5 % +.

1. + if Eyes=brown ≤ 0.5 and Hair=dark ≤ 0.5   3 of 3 + in training, 100.0 %
2. - if Eyes=brown ≤ 0.5 and Hair=dark > 0.5   2 of 2 - in training, 100.0 %
3. - if Eyes=brown > 0.5                       3 of 3 - in training, 100.0 %

Nothing was deleted: each row is covered by the rule of its own leaf and by no other."""
LIST_TEXT = """\
These rules predict the class: of 8 training rows, 62.5 % are - and 37.5 % +.

1. + if Eyes=brown ≤ 0.5 and Hair=dark ≤ 0.5   3 of 3 + in training, 100.0 %
2. - otherwise                                 0 of 5 + in training, 0.0 %

Right for 100.0 % of 8 training rows; always saying - is right for 62.5 %.
+: finds 3 of 3 in training (100.0 %); of 3 that it names, 3 are + (100.0 %, 2.67 times the share in all rows). \
AUC 1.000 (tree 1.000).
New rows usually do worse than training rows: measure(X_new, y_new) counts them.
Compared with the tree, no answer changes for any possible row."""


@pytest.mark.parametrize(("form", "golden"), [("each leaf", GOLDEN_TEXT), ("list", LIST_TEXT)])
def test_text_has_a_line_for_each_rule(rules: secateur.Rules, form: str, golden: str) -> None:
    none = in_form(form, secateur.simplify(rules.tree, *_rows(), method="none", each_leaf=True))
    assert none.to_text() == golden
    assert none.to_text(width=200) == golden


@both_forms
def test_text_is_folded_to_a_width(rules: secateur.Rules, form: str) -> None:
    for reasons in (False, True):
        narrow = in_form(form, rules).to_text(width=40, reasons=reasons)
        assert max(map(len, narrow.splitlines())) <= 40
        whole = in_form(form, rules).to_text(reasons=reasons)
        assert narrow.split() == whole.split(), "the same words"


def test_text_with_reasons_marks_what_went_and_what_stayed(rules: secateur.Rules) -> None:
    lines = rules.to_text(reasons=True).splitlines()
    assert sum(line.startswith("     - ") for line in lines) == 1
    assert sum(line.startswith("     + ") for line in lines) == 4
    assert any("the other branch is leaf" in line for line in lines)
    assert any("it keeps out rows of leaf" in line for line in lines)


@both_forms
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_has_a_row_for_each_line(rules: secateur.Rules, library: str, form: str) -> None:
    pytest.importorskip(library)
    rules = in_form(form, rules)
    frame: Any = rules.to_frame(library)
    assert len(frame) == len(rules.lines) == (3 if form == "each leaf" else 2)
    assert list(frame["prediction"]) == [line.prediction for line in rules.lines]
    assert list(frame["n_deleted"]) == [len(line.deleted_ids) for line in rules.lines]
    assert list(frame["training_support"]) == [line.support for line in rules.lines]


def test_an_unknown_frame_library_is_rejected(rules: secateur.Rules) -> None:
    with pytest.raises(ParameterError, match="library='pandas' or library='polars', found 'arrow'"):
        rules.to_frame("arrow")


def test_a_frame_without_any_library_says_what_to_install(
    rules: secateur.Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secateur.frames.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=r"needs pandas or polars: pip install .secateur\[tables\]"):
        rules.to_frame()


# --- JSON -------------------------------------------------------------------------------------------------------------

OLDER = "An older version of secateur wrote this file, in a format that is no longer read: make the rules again."
DAMAGE = [
    (lambda c: c.update(version=99), "has version 99, but this secateur reads up to version 3. Upgrade"),
    (lambda c: c.update(version="3"), "Expected a version number from 1 to 3"),
    (lambda c: c.update(version=True), "Expected a version number from 1 to 3"),
    (lambda c: c.update(version=1), OLDER),
    (lambda c: c.update(version=2), OLDER),
    (lambda c: c.update(format="secateur-compact", version=1), "found 'secateur-compact'"),
    (lambda c: c.update(format="other"), "format 'secateur-rules', found 'other'"),
    *(
        (lambda c, name=name: c.pop(name), f"has no field '{name}'")
        for name in (
            "secateur",
            "method",
            "parameters",
            "budget",
            "tolerance",
            "is_ranked",
            "of",
            "sections",
            "lines",
            "written",
            "tree",
        )
    ),
    *(
        (lambda c, name=name: c["leaves"].pop(name), f"has no field '{name}'")
        for name in ("leaf_ids", "links", "offsets", "deleted", "kinds", "kind", "node", "before", "leaf_counts")
    ),
    *(
        (lambda c, name=name: c["lines"][0].pop(name), f"has no field '{name}'")
        for name in ("leaf_id", "section", "prediction", "share", "window", "class_counts", "stands_for")
    ),
    (lambda c: c["leaves"]["leaf_ids"].pop(), "leaf_ids of the rules JSON are not those of its tree"),
    (lambda c: c["leaves"]["links"].reverse(), "links of the rules JSON are not those of its tree"),
    (lambda c: c["leaves"]["predictions"].reverse(), "predictions of the rules JSON"),
    (lambda c: c["leaves"]["kinds"].append("whim"), "no reason 'whim'"),
    (lambda c: c["leaves"]["kind"].__setitem__(0, 99), "a number in 'kind' is not from 0"),
    (lambda c: c["leaves"]["kind"].__setitem__(0, -1), "a number in 'kind' is not from 0"),
    (lambda c: c["leaves"]["deleted"].__setitem__(0, True), "a whole number for each condition in 'deleted'"),
    (lambda c: c["leaves"]["deleted"].__setitem__(0, 1 - c["leaves"]["deleted"][0]), "stays, or that a kept one"),
    (lambda c: c["leaves"].update(before=["1"] * len(c["leaves"]["links"])), "a number or null"),
    (lambda c: c["leaves"].update(number=[1.0]), "a number or null"),
    (lambda c: c["leaves"]["class_counts"].__setitem__(0, [-1.0] * len(c["tree"]["classes"])), "negative"),
    (lambda c: c["leaves"]["class_counts"].__setitem__(0, [1.0]), "wrong type or length"),
    (lambda c: c.update(leaves=[]), "wrong type or length"),
    (lambda c: c["lines"][0].update(leaf_id=0), "a rule of node 0, which is not a leaf"),
    (lambda c: c["lines"][0].update(leaf_id="1"), "a rule of node '1', which is not a leaf"),
    (lambda c: c["lines"][0].update(prediction="?"), r"predicts '\?', but its leaf"),
    (lambda c: c["lines"][0]["class_counts"].__setitem__(0, "9"), "class counts for each of"),
    (lambda c: c.update(of="?"), r"The class of interest '\?' is not one of"),
    (lambda c: c.update(of=False), "The class of interest False is not one of"),
    (lambda c: c["tree"]["children_left"].__setitem__(0, 0), "breaks an invariant"),
    (lambda c: c.update(method="magic"), "no method 'magic'"),
    (lambda c: c.update(is_ranked=1), "true or false in 'is_ranked'"),
    (lambda c: c.update(budget="0"), "budget as a number from 0 to 1, found '0'"),
    (lambda c: c.update(tolerance=None), "tolerance as a number from 0 to 1"),
    (lambda c: c.update(approximation={}), "has no field 'counts'"),
    (lambda c: c.pop("guarantee"), "has no field 'guarantee'"),
    (lambda c: c.update(before_budget=None), "has a field 'before_budget' that no version of it has"),
    (lambda c: c.update(unwritten=[]), "has a field 'unwritten' that no version of it has"),
    (lambda c: c["parameters"].update(domain_knowledge=1), "domain_knowledge as True or False"),
    (lambda c: c["parameters"].update(rf_tol=0.1), "the setting 'rf_tol', which '[a-z]+' does not have"),
    (lambda c: c.update(extra=1), "has a field 'extra' that no version of it has"),
    (lambda c: c["leaves"].update(words=[]), "has a field 'leaves.words' that no version of it has"),
    (lambda c: c.update(method="faithful", parameters={"rf_tol": "0"}), "rf_tol as a number"),
]
DAMAGE_OF_LEAVES = [
    (lambda c: c["lines"].pop(), "has 2 lines and no sections, but not one rule for each of 3 leaves"),
    (lambda c: c.update(lines=[]), "has 0 lines and no sections, but not one rule for each of 3 leaves"),
    (lambda c: c["lines"].reverse(), "not one rule for each of 3 leaves"),
    (lambda c: c["lines"].append(c["lines"][0]), "the rule of a leaf twice"),
    (lambda c: c["lines"].append({**c["lines"][0], "leaf_id": None}), "not one rule for each of 3 leaves"),
    (lambda c: c["lines"][0].update(stands_for=[]), "a line that states more than its leaf"),
    (lambda c: c["lines"][0].update(section=0), "a line that states more than its leaf"),
    (lambda c: c["lines"][0].update(share=1.0), "a line that states more than its leaf"),
    (lambda c: c["lines"][0].update(window=[1.0, 1.0]), "a line that states more than its leaf"),
    (lambda c: c["lines"][0]["class_counts"].__setitem__(0, 99.0), "whose numbers are not those of its leaves"),
    (lambda c: c.update(budget=0.5), "whose numbers are not those of its leaves"),
    (lambda c: c.update(written={}), "whose numbers are not those of its leaves"),
    (lambda c: c.update(sections=[0]), "not in the order of its sections"),
]
NO_CUT = "sections that do not begin at nodes of its tree"
DAMAGE_OF_LISTS = [
    (lambda c: c["lines"].pop(), "not in the order of its sections"),
    (lambda c: c["lines"].pop(0), "a whole number for each condition in 'kind'"),
    (lambda c: c["lines"].pop(-2), "a section that does not end in one line of otherwise"),
    (lambda c: c["lines"].insert(0, c["lines"].pop(2)), "a section that does not end in one line of otherwise"),
    (lambda c: c.update(lines=[]), "not in the order of its sections"),
    (lambda c: c["lines"].reverse(), "not in the order of its sections"),
    (lambda c: c["lines"][0].update(section=1), "not in the order of its sections"),
    (lambda c: c["lines"][0].update(section="0"), "not in the order of its sections|wrong type"),
    (lambda c: c["lines"][0].update(section=False), "not in the order of its sections"),
    (lambda c: c.update(sections=[]), NO_CUT),
    (lambda c: c.update(sections=[0, 99]), NO_CUT),
    (lambda c: c.update(sections=[0, -1]), NO_CUT),
    (lambda c: c.update(sections=[0, True]), NO_CUT),
    (lambda c: c.update(sections=c["sections"][:1]), "not in the order of its sections"),
    (lambda c: c.update(sections=None), "no sections, but not one rule for each of"),
    (lambda c: c["lines"][0].update(stands_for=[99]), "stands for node 99, which is not a leaf"),
    (lambda c: c["lines"][0].update(stands_for=[1, 1]), "names a leaf that it stands for twice"),
    (lambda c: c["lines"][1].update(stands_for=[11, 10]), "twice, or not in order"),
    (lambda c: c["lines"][-1].update(stands_for=None), "wrong type or length"),
    (lambda c: c["lines"][-1].update(prediction="?"), r"The class '\?' of otherwise is not one of"),
    (lambda c: c["lines"][-1].update(prediction=False), "The class False of otherwise is not one of"),
    (lambda c: c["lines"][0].update(share=1.1), "expected a share from 0 to 1, found 1.1"),
    (lambda c: c["lines"][0].update(share=True), "expected a share from 0 to 1, found True"),
    (lambda c: c["lines"][0].update(window=[0.9]), "expected two shares for each window"),
    (lambda c: c["lines"][0].update(window=[0.9, "1"]), "expected a share from 0 to 1, found '1'"),
    (lambda c: c.update(budget=0.0), "went beyond its budget of 0 %"),
    (lambda c: c.update(budget=0.0001), "went beyond its budget of 0.01 %"),
    (lambda c: c["lines"].insert(0, c["lines"][0]), "the rule of a leaf twice"),
    (lambda c: c["written"].pop("kinds"), "has no field 'kinds'"),
    (lambda c: c.update(written=None), "wrong type or length"),
    (lambda c: c["written"]["deleted"].__setitem__(0, 1), "stays, or that a kept one"),
    (lambda c: c["written"]["class_counts"].pop(), "wrong type or length"),
    (lambda c: give_reason(c["written"], 0, "significant"), "the reason 'significant', which 'exact' never gives"),
    (lambda c: give_reason(c["leaves"], 0, "heading"), "the reason 'heading', which 'exact' never gives"),
    (lambda c: give_reason(c["written"], 0, "heading", node=1), "has a 'node', which 'heading' does not have"),
]


@pytest.mark.parametrize("worded", [True, False])
@pytest.mark.parametrize(
    ("form", "change", "message"),
    [
        *((form, *damage) for form in FORMS for damage in DAMAGE),
        *(("each leaf", *damage) for damage in DAMAGE_OF_LEAVES),
        *(("list", *damage) for damage in DAMAGE_OF_LISTS),
    ],
)
def test_a_damaged_file_is_rejected_with_a_sentence(
    rules: secateur.Rules, iris: secateur.Rules, form: str, change: Any, message: str, worded: bool
) -> None:
    content = _write(iris if form == "list" else rules, worded=worded)
    change(content)
    with pytest.raises(secateur.SecateurError, match=message) as caught:
        secateur.Rules.from_json(json.dumps(content))
    assert "\n" not in str(caught.value)


FORGERIES = [
    lambda c: c["lines"].insert(0, c["lines"].pop(1)),
    lambda c: c["lines"][0]["class_counts"].__setitem__(0, 1.0),
    lambda c: c["written"]["class_counts"][0].__setitem__(0, 1.0),
    lambda c: c["lines"][1].update(stands_for=[10]),
    lambda c: c["lines"][-1].update(stands_for=[]),
    lambda c: c["lines"][-1].update(prediction=1),
    lambda c: c["lines"][0].update(share=0.5),
    lambda c: c["lines"][0].update(window=[0.5, 1.0]),
    lambda c: c["lines"][0].update(share=None, window=None),
    lambda c: c["lines"][0].update(window=None),
    lambda c: c.update(sections=c["sections"][::-1]),
    lambda c: c.update(sections=[0, c["sections"][1]]),
    lambda c: c.update(tolerance=1.0),
]


@pytest.mark.parametrize("change", FORGERIES)
def test_a_forged_list_with_a_new_digest_is_found_by_verify(iris: secateur.Rules, change: Any) -> None:
    content = _write(iris, worded=True)
    change(content)
    forged = secateur.Rules.from_json(word_again(content))
    found = forged.verify(*load_iris(return_X_y=True))
    assert not found.ok
    assert not any("digest" in failure for failure in found.failures)


@pytest.mark.parametrize("worded", [True, False])
@pytest.mark.parametrize(
    ("form", "change"),
    [
        *(
            (form, change)
            for form in FORMS
            for change in (
                lambda c: c.update(guarantee="All is well."),
                lambda c: c.update(is_weighted=True),
                lambda c: c.pop("digest"),
            )
        ),
        *(("list", change) for change in FORGERIES),
        ("list", lambda c: c.update(of=0)),
    ],
)
def test_an_edited_file_that_can_be_read_is_found_by_verify(
    rules: secateur.Rules, iris: secateur.Rules, form: str, change: Any, worded: bool
) -> None:
    made = iris if form == "list" else rules
    rows = load_iris(return_X_y=True) if form == "list" else _rows()
    content = _write(made, worded=worded)
    with mock.patch("secateur.export.json.WORDED_CONDITIONS", 10**6 if worded else -1):
        again = secateur.Rules.from_json(json.dumps(content, indent=1))
        assert again.verify(*rows).ok, "only the layout changed"
        change(content)
        assert not secateur.Rules.from_json(json.dumps(content)).verify(*rows).ok


@pytest.mark.parametrize("field", ["text", "reasons"])
@both_forms
def test_words_that_were_changed_are_found_by_verify(
    rules: secateur.Rules, iris: secateur.Rules, form: str, field: str
) -> None:
    made = iris if form == "list" else rules
    rows = load_iris(return_X_y=True) if form == "list" else _rows()
    content = json.loads(made.to_json())
    content["lines"][0][field] = "x" if field == "text" else []
    content.pop("digest")
    content["digest"] = _digest(content)  # as a forger would
    found = secateur.Rules.from_json(json.dumps(content)).verify(*rows)
    assert not found.ok
    del content["lines"][0][field]
    content["digest"] = _digest({name: value for name, value in content.items() if name != "digest"})
    assert not secateur.Rules.from_json(json.dumps(content)).verify(*rows).ok


def _write(rules: secateur.Rules, *, worded: bool) -> Any:
    """The content of the JSON: with words, or as if there were very many conditions."""
    with mock.patch("secateur.export.json.WORDED_CONDITIONS", 10**6 if worded else -1):
        return json.loads(rules.to_json())


@st.composite
def any_rules(draw: st.DrawFn, form: str, *, names: bool = False) -> secateur.Rules:
    """Rules of every kind of tree and method, with and without rows; lists with and without a budget."""
    tree = draw(strategies.trees(max_leaves=8))
    if names:
        listed = draw(st.permutations(['a"b', "ä", "a", "a b", "\n", "Z"]))[: tree.n_features]
        tree = replace(tree, feature_names=tuple(listed))
    X, y, weights = draw(strategies.labelled_rows(tree, weights=True))
    method = draw(st.sampled_from(list(secateur.METHODS)))
    rows = {"X": X, "y": tree.classes[y], "sample_weight": weights} if draw(st.booleans()) else {}
    asked = draw(list_settings(tree, method, has_rows=bool(rows))) if form == "list" else {}
    try:
        return secateur.simplify(tree, method=method, each_leaf=form == "each leaf", **rows, **asked)
    except InputError:  # no rows, rows that contradict themselves, or a budget that was exceeded before
        reject()


@both_forms
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_json_is_read_as_it_was_written(form: str, data: st.DataObject) -> None:
    rules = data.draw(any_rules(form))
    for most in (10**6, -1):
        with mock.patch("secateur.export.json.WORDED_CONDITIONS", most):
            text = rules.to_json()
            again = secateur.Rules.from_json(text)
            assert again.to_json() == text
    assert again == rules
    X = np.array(list(brute_force.every_kind_of_row(rules.tree, 30)))
    assert again.predict(X).tolist() == rules.predict(X).tolist()
    assert again.apply(X).tolist() == rules.apply(X).tolist()
    assert again.guarantee == rules.guarantee
    assert [line.text for line in again.lines] == [line.text for line in rules.lines]
    assert [line.reasons for line in again.lines] == [line.reasons for line in rules.lines]
    assert [line.share for line in again.lines] == [line.share for line in rules.lines]
    assert [line.window for line in again.lines] == [line.window for line in rules.lines]
    assert [line.leaf_ids for line in again.lines] == [line.leaf_ids for line in rules.lines]
    assert [line.heading for line in again.lines] == [line.heading for line in rules.lines]


def test_what_is_not_json_is_rejected() -> None:
    with pytest.raises(FormatError, match="it is not JSON"):
        secateur.Rules.from_json("{")
    with pytest.raises(FormatError, match="found 'list'"):
        secateur.Rules.from_json("[]")


def test_html_escapes_hostile_names() -> None:
    data = secateur.datasets.load("human-id")
    names = [f"</td><script>alert({i})</script>" for i in range(data.X.shape[1])]
    model = DecisionTreeClassifier(random_state=0).fit(data.X, data.y)
    page = secateur.simplify(
        model, data.X, data.y, feature_names=names, class_names=["<b>", "'\"&"], method="faithful", each_leaf=True
    )._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "<b></td>" not in page


@both_forms
def test_a_terminal_table_shows_every_line(rules: secateur.Rules, form: str) -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    rules = in_form(form, rules)
    console.print(rules)
    shown = console.export_text()
    if form == "list":
        assert "2 lines with 2 conditions; the tree has 3 rules with 5" in shown
        assert "otherwise" in shown
    else:
        assert "One rule for each of 3 leaves, by sibling: 4 of 5 conditions left" in shown
    assert sum(f"│ {line.index + 1} │" in shown for line in rules.lines) == len(rules.lines)


def _rows() -> tuple[Any, Any]:
    data = secateur.datasets.load("human-id")
    return data.X, data.y


def slow_json(rules: secateur.Rules) -> str:
    """The same content from the objects that users see, by the standard library."""
    each, tree = rules.each_leaf, rules.tree
    content = {
        "format": "secateur-rules",
        "version": 3,
        "secateur": secateur.__version__,
        "method": rules.method,
        "parameters": dict(rules.parameters),
        "budget": rules.budget,
        "tolerance": rules.tolerance,
        "guarantee": rules.guarantee,
        "is_ranked": rules.is_ranked,
        "is_weighted": rules.is_weighted,
        "of": None if rules.making.of is None else tree.classes.tolist()[rules.making.of],
        "sections": [_find_node(section) for section in rules.sections] if rules.is_list else None,
        "lines": [
            {
                "leaf_id": line.leaf_id,
                "section": rules.sections.index(line.section) if rules.is_list else None,
                "prediction": line.prediction,
                "share": line.share,
                "window": None if line.window is None else list(line.window),
                "class_counts": None if line.class_counts is None else list(line.class_counts),
                "stands_for": list(line.leaf_ids),
                "text": line.text,
                "reasons": [
                    {"link_id": reason.link_id, "deleted": reason.deleted, "text": reason.text}
                    for reason in line.reasons.values()
                ],
            }
            for line in rules.lines
        ],
        "leaves": {
            "leaf_ids": [rule.leaf_id for rule in each],
            "predictions": [rule.prediction for rule in each],
            "offsets": [sum(len(rule.reasons) for rule in each[:place]) for place in range(len(each) + 1)],
            "links": [link for rule in each for link in sorted({*rule.kept_ids, *rule.deleted_ids})],
            **_list_deletions(each),
            "leaf_counts": [_list_counts(counts) for counts in rules.leaf_counts],
        },
        "written": _list_deletions(rules) if rules.is_list else None,
        "tree": json.loads(tree.to_json()),
        "approximation": None,
        "unseen": None,
    }
    return json.dumps({**content, "digest": _digest(content)}, ensure_ascii=False, allow_nan=False)


def _list_deletions(rules: secateur.Rules) -> dict[str, Any]:
    reasons = [reason for rule in rules for _, reason in sorted(rule.reasons.items())]
    codes = sorted({Why.from_kind(reason.kind) for reason in reasons})
    listed: dict[str, Any] = {
        "deleted": [int(reason.deleted) for reason in reasons],
        "kinds": [code.kind for code in codes],
        "kind": [codes.index(Why.from_kind(reason.kind)) for reason in reasons],
        "node": [-1 if reason.node_id is None else reason.node_id for reason in reasons],
    }
    for name in ("before", "after", "number"):
        numbers = [getattr(reason, name) for reason in reasons]
        listed[name] = numbers if any(number is not None for number in numbers) else None
    return {**listed, "class_counts": [_list_counts(rules.covered_counts[rule.place]) for rule in rules]}


def _find_node(section: Any) -> int:
    """The node of a section: where the last edge of its heading leads."""
    return section.otherwise.kept_ids[-1] if section.otherwise.kept_ids else 0


def _list_counts(counts: Any) -> list[float] | None:
    return None if np.isnan(counts).any() else counts.tolist()


def _digest(content: dict[str, Any]) -> str:
    """As docs/rules-format.md says."""
    lines = [
        f"{name}:{json.dumps(content[name], ensure_ascii=False, sort_keys=True, separators=(',', ':'))}\n"
        for name in sorted(content)
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@both_forms
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_the_json_holds_what_users_see(form: str, data: st.DataObject) -> None:
    rules = data.draw(any_rules(form, names=True))
    assert json.loads(rules.to_json()) == json.loads(slow_json(rules))
    assert secateur.Rules.from_json(slow_json(rules)) == rules


@pytest.mark.parametrize(
    "changes",
    [
        {"feature_names": ("age", "w\ud800")},
        {"categories": (None, ("A", "B\udc80", "C"))},
        {"classes": np.array(["back", "h\udfff"])},
    ],
)
@pytest.mark.parametrize("target", ["JSON", "ONNX"])
def test_half_a_character_is_rejected_in_a_sentence(target: str, changes: dict[str, Any]) -> None:
    if target == "ONNX":
        pytest.importorskip("onnx")
    tree = replace(ward_rules().tree, accepts_missing=np.array([False, False]), **changes)
    rules = secateur.simplify(tree, method="none", each_leaf=True)
    with pytest.raises(ParameterError, match=f"half of a character, which {target} cannot hold: rename"):
        rules.to_json() if target == "JSON" else rules.to_onnx()
