"""Edited lists decide and cost what a plain list, edited by hand, does; they keep no promise that they lost."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import oracles
import pytest
import strategies
from edited_lists import Plain
from forged_files import sign_again
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import FormatError, InputError, ParameterError, SecateurError
from secateur.rules.edits import read_journal

X, Y = load_breast_cancer(return_X_y=True)
MODEL = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X[:400], Y[:400])


def make(**asked: Any) -> secateur.Rules:
    return secateur.simplify(MODEL, X[:400], Y[:400], **asked).measure(X[400:], Y[400:])


@st.composite
def edits(draw: st.DrawFn, rules: secateur.Rules) -> dict[str, Any]:
    kind = draw(st.sampled_from(["strike", "strike", "column", "answer", "without"]))
    number = draw(st.integers(1, rules.n_lines))
    names = [rules.tree.feature_name(feature) for feature in range(rules.tree.n_features)]
    if kind == "answer":
        return {"edit": "answer", "line": number, "to": draw(st.sampled_from(rules.tree.classes.tolist()))}
    if kind == "without":
        return {"edit": "without", "column": draw(st.sampled_from(names))}
    column = draw(st.sampled_from(names)) if kind == "column" else None
    return {"edit": "strike", "line": number, "column": column, "reason": "drawn"}


@settings(max_examples=300)
@given(st.data())
def test_any_edits_decide_and_cost_what_a_plain_list_does(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees(min_leaves=2))
    rows, y, weights = data.draw(strategies.labelled_rows(tree, weights=data.draw(st.booleans())))
    new = data.draw(strategies.labelled_rows(tree, min_rows=3))
    labels = tree.classes[y]
    asked = data.draw(st.sampled_from([{}, {"tolerance": 1}, {"sections": 3}, {"method": "mismatch"}]))
    rules = secateur.simplify(tree, rows, labels, sample_weight=weights, **asked)
    try:
        rules = rules.measure(new[0], tree.classes[new[1]])
    except InputError:  # the drawn rows are the training rows
        new = None
    plain, journal, edited = Plain(rules), [], rules
    for _ in range(data.draw(st.integers(1, 3))):
        one = data.draw(edits(edited))
        try:
            edited = edited.replay([one])
        except ParameterError:
            continue  # such as the last "otherwise"
        plain.edit(one)
        journal.append(one)
    if not journal:
        return
    assert [line[1] for _, lines in plain.sections for line in lines] == edited.class_ids.tolist()
    given_rows = [(rows, y, weights or np.ones(len(rows)), edited.price)]
    given_rows += [] if new is None else [(new[0], new[1], np.ones(len(new[0])), edited.unseen_price)]
    for matrix, truth, heavy, price in given_rows:
        assert price is not None
        found = np.zeros((tree.n_classes,) * 3)
        decided = [plain.decide(row) for row in matrix]
        assert edited.predict(matrix).tolist() == tree.classes[decided].tolist()
        for row, own, given_class, weight in zip(matrix, truth, decided, heavy, strict=True):
            said = oracles.tree_class(tree, row)
            found[said, given_class, own] += weight * (said != given_class)
        assert np.allclose(price.changed, found)
        assert price.rows == pytest.approx(float(np.sum(heavy)))
        check_off(rules, edited, price, matrix, decided, heavy)
        lost = [sum(found[c, g, c] for g in range(tree.n_classes)) for c in range(tree.n_classes)]
        assert price.lost.tolist() == pytest.approx(lost)
    proof = edited.verify()
    assert proof.ok, proof.failures
    assert not edited.is_exact
    assert "Edited" in edited.guarantee
    assert rules.replay([]) is rules
    again = rules.replay(edited.journal)
    assert again.to_json() == edited.to_json()
    alone = secateur.Rules.from_json(rules.to_json()).replay(edited.journal)  # without rows
    assert alone.class_ids.tolist() == edited.class_ids.tolist()
    assert [line.kept_ids for line in alone.lines] == [line.kept_ids for line in edited.lines]
    stored = secateur.Rules.from_json(edited.to_json())
    assert stored.to_json() == edited.to_json()
    assert stored.verify(rows, labels, sample_weight=weights).ok


def check_off(rules: secateur.Rules, edited: secateur.Rules, price: Any, matrix: Any, decided: Any, heavy: Any) -> None:
    """Count the rows that are off one by one, by what the edited list and the leaves say of them."""
    if not rules.keeps_shares:
        assert price.off is price.largest is None
        return
    off, largest, own = 0.0, 0.0, dict(zip(rules.paths.leaf_ids.tolist(), rules.value_counts.tolist(), strict=True))
    told = edited.predict_proba(matrix)
    for row, given_class, said_shares, weight in zip(matrix, decided, told, heavy, strict=True):
        said, counts = oracles.tree_class(rules.tree, row), own[oracles.walk(rules.tree, row)]
        moved = abs(said_shares[said] - (counts[said] / sum(counts) if sum(counts) else 0))
        largest = max(largest, moved)
        off += weight * (said != given_class or moved > rules.tolerance + 1e-9)
    assert price.off == pytest.approx(off)
    assert price.largest == pytest.approx(largest)


def test_a_price_tells_of_probabilities_that_move() -> None:
    """A list whose classes are all alike is made for its probabilities, so an edit that moves them is not free."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(3000, 4))
    y = np.where(random.random(3000) < 0.05 + 0.3 * ((rows[:, 0] > 1) & (rows[:, 1] > 0)), "yes", "no")
    model = DecisionTreeClassifier(max_depth=4, min_samples_leaf=20, random_state=0).fit(rows[:2000], y[:2000])
    rules = secateur.simplify(model, rows[:2000], y[:2000], tolerance=0.03).measure(rows[2000:], y[2000:])
    edited = rules.strike(0)
    both = [(edited.price, rows[:2000]), (edited.unseen_price, rows[2000:])]
    moved = [np.abs(edited.predict_proba(part) - model.predict_proba(part)).max(axis=1) for _, part in both]
    for (price, _), far in zip(both, moved, strict=True):
        assert price is not None
        assert price.differs == 0
        assert price.off == (far > 0.03).sum() > 20
        assert price.largest == pytest.approx(far.max())
    off, most = [(far > 0.03).sum() for far in moved], 100 * max(far.max() for far in moved)
    assert (
        f"a probability by more than 3 points, on {off[0]} and {off[1]} (at most {most:.3g} points)" in edited.guarantee
    )
    assert f"is off on {off[0]} (recounted)" in str(edited.verify())
    again = edited.strike(0)
    assert again.price is not None
    assert again.price.off is not None
    assert secateur.Rules.from_json(again.to_json()).guarantee == again.guarantee


@settings(max_examples=100)
@given(st.data())
def test_a_row_lies_in_one_changed_region_if_and_only_if_its_class_changed(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees(min_leaves=2, missing=False, categorical=False, dtype="float64"))
    rows, y, _ = data.draw(strategies.labelled_rows(tree))
    edited = secateur.simplify(tree, rows, tree.classes[y])
    try:
        edited = edited.replay([data.draw(edits(edited))])
    except ParameterError:
        return
    regions = edited.changed()
    for row in data.draw(strategies.rows(tree, 10, 40)):
        found = [one for one in regions if all(c.low < row[c.feature] <= c.high for c in one.conditions)]
        said = tree.class_names[oracles.tree_class(tree, row)]
        told = str(edited.predict(np.array([row]))[0])
        name = tree.class_names[[str(label) for label in tree.classes.tolist()].index(told)]
        assert [(one.tree_class, one.list_class) for one in found] == ([(said, name)] if said != name else [])


def test_rounded_limits_are_short_and_move_no_training_row() -> None:
    rules = make()
    edited = rules.rounded(reason="for the leaflet")
    digits = [len(f"{limit:g}".replace(".", "").lstrip("0")) for limit in edited.tree.threshold[~edited.tree.is_leaf]]
    before = [len(repr(float(limit)).replace(".", "")) for limit in rules.tree.threshold[~rules.tree.is_leaf]]
    assert np.mean(digits) < np.mean(before) / 2
    assert edited.price is not None
    assert edited.price.differs == 0
    assert bool((edited.predict(X[:400]) == MODEL.predict(X[:400])).all())
    assert np.array_equal(edited.source_tree.threshold, rules.tree.threshold, equal_nan=True)
    assert edited.verify(model=MODEL).ok
    assert edited.unseen_price is not None
    assert edited.unseen_price.differs == (edited.predict(X[400:]) != MODEL.predict(X[400:])).sum()
    moved = [one.text for one in edited.changed()]
    assert moved
    assert all("<" in one for one in moved)


def test_rounded_limits_are_compared_with_the_tree_that_was_fitted() -> None:
    some = np.random.default_rng(1).permutation(len(X))[:80]
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X[some], Y[some])
    edited = secateur.simplify(model, X[some], Y[some]).rounded()
    said, given = model.predict(X), edited.predict(X)
    moved = np.flatnonzero(said != given)
    assert len(moved)
    audit = edited.audit(X, Y)
    assert audit.agreement == pytest.approx(100 * (said == given).mean())
    assert audit.tree_accuracy == pytest.approx(100 * (said == Y).mean())
    assert not edited.keeps_shares
    assert "kept within" not in str(edited)
    for row, own in zip(X[moved], said[moved], strict=True):
        told = edited.explain(row, changes=True)
        assert told.tree_prediction == own != told.prediction
        assert all(one.low < np.float32(row[one.feature]) <= one.high for one in told.own_rule.whole_conditions)
        assert "would be another" not in told.letter()  # changes are those of the tree's answer
        (region,) = [one for one in edited.changed() if all(c.low < row[c.feature] <= c.high for c in one.conditions)]
        assert (region.tree_class, region.list_class) == (str(own), str(told.prediction))
    limits = {f"<= {limit!r}" for limit in edited.source_tree.threshold[~edited.tree.is_leaf].tolist()}
    assert all(limit in edited.to_smtlib() for limit in limits)


def test_a_limit_beside_the_smallest_value_is_rounded() -> None:
    rows = np.array([[0.1], [0.3712345], [0.5], [0.6], [0.7], [0.8]])
    for labels in ([0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1]):
        model = DecisionTreeClassifier(max_depth=1).fit(rows, labels)
        limit = float(secateur.simplify(model, rows, labels).rounded().tree.threshold[0])
        assert limit == round(limit, 2) != model.tree_.threshold[0]
        assert ((rows[:, 0] <= limit) == (np.array(labels) == 0)).all()


def test_a_limit_of_lines_strikes_the_cheapest_first() -> None:
    rules = make(sections=1, tolerance=1)
    prices = []
    for lines in range(rules.n_lines - 1, 0, -1):
        edited = rules.limit(lines=lines)
        assert edited.n_lines == lines
        assert edited.price is not None
        prices.append(edited.price.differs)
    assert prices == sorted(prices)
    first = [rules.strike(place).price for place in range(len(rules))]
    assert prices[0] == min(price.differs for price in first if price is not None)
    assert make(sections=4).limit(lines=2).n_lines == 2
    assert make().limit(lines=np.int64(3)).to_json() == make().limit(lines=3).to_json()


def test_an_edited_list_loses_its_promises_everywhere() -> None:
    rules = make()
    edited = rules.strike(0)
    assert rules.is_exact
    assert rules.keeps_shares
    assert not edited.is_exact
    assert not edited.keeps_shares
    assert edited.assumptions == ()
    for text in (edited.guarantee, edited.to_text(), edited.to_markdown()):
        assert "no answer changes" not in text
        assert "every possible row" not in text
        assert "Edited once" in text
    assert "Expected: unsat" in rules.to_smtlib()
    assert "Expected: sat or unsat" in edited.to_smtlib()
    assert edited.stored is None
    assert rules.journal == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content.pop("edits"), "but its leaf"),
        (lambda content: content["edits"]["training"].update(changed=[]), "said to change"),
        (lambda content: content["edits"]["unseen"].update(rows=7.0), "said to change"),
        (lambda content: content["edits"]["unseen"].update(off=999.0), "expected numbers of rows"),
        (lambda content: content["edits"]["training"].update(off=0.0), "said to change"),
        (lambda content: content["edits"]["unseen"].update(largest=0.0), "said to change"),
        (lambda content: [content["edits"]["training"].pop(name) for name in ("off", "largest")], "said to change"),
        (lambda content: content["edits"].update(tolerance=1), "said to change"),
    ],
)
def test_a_forged_price_or_a_hidden_edit_is_found(change: Any, said: str) -> None:
    edited = make().answer(0, 1 - int(make().lines[0].prediction))
    content = json.loads(edited.to_json())
    change(content)
    sign_again(content)
    try:
        rules = secateur.Rules.from_json(json.dumps(content))
        found = "; ".join(rules.verify(X[:400], Y[:400], unseen=(X[400:], Y[400:])).failures)
    except FormatError as error:
        found = str(error)
    assert re.search(said, found), found


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"edits": 1}, "Expected a list of edits"),
        ([{"edit": "paint"}], "Expected an edit such as"),
        ([{"edit": "strike"}], """needs 'line', as in {"edit": "strike", "line": 3}"""),
        ([{"edit": "answer", "line": 1}], """needs 'to', as in {"edit": "answer", "line": 3, "to": "yes"}"""),
        ([{"edit": "without"}], """needs 'column', as in {"edit": "without", "column": "age"}"""),
        ([["strike", 3]], "Expected an edit such as"),
        ([[["strike"], 3, None, None, None, "", []]], "Expected an edit such as"),
        ([{"edit": "strike", "line": "3"}], "as int"),
        ([{"edit": "strike", "line": 3, "colour": 1}], "no field 'colour'"),
        ([{"edit": "rounded", "limits": 5}], "limits of an edit as pairs"),
        ([{"edit": "rounded", "limits": [3]}], "limits of an edit as pairs"),
        ([{"edit": "rounded", "limits": [[3, 10**400]]}], "limits of an edit as pairs"),
        ([{"edit": "rounded", "to": float("nan")}], "as a label"),
    ],
)
def test_a_journal_that_is_none_is_rejected_in_a_sentence(content: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_journal(content)


def test_a_journal_is_read_as_json_writes_it() -> None:
    edited = make().strike(0, reason="few").rounded()
    for written in (edited.journal, [one.to_dict() for one in edited.journal]):
        assert tuple(read_journal(json.loads(json.dumps(written)))) == edited.journal


def test_mistakes_are_answered_in_a_sentence() -> None:
    rules = make()
    last = rules.sections[0].otherwise
    assert last is not None
    name = rules.tree.feature_name(0)
    mistakes: list[tuple[Any, str]] = [
        (lambda: rules.strike(99), "There is no line 99"),
        (lambda: rules.strike("one"), "Expected a line"),
        (lambda: rules.strike(0, "colour"), "There is no column 'colour'"),
        (lambda: rules.without(name), "No line and no heading asks"),
        (lambda: rules.answer(0, "maybe"), "There is no class 'maybe'"),
        (lambda: rules.answer(0, rules.lines[0].prediction), "already"),
        (lambda: rules.limit(lines=0), "Expected lines"),
        (lambda: rules.limit(lines=True), "Expected lines"),
        (lambda: rules.without(True), "There is no column True"),  # type: ignore[arg-type]
        (lambda: rules.without(["x0"]), "There is no column"),  # type: ignore[arg-type]
        (lambda: rules.without(30), "There is no column 30: the tree has 30"),
        (lambda: rules.limit(lines=99), "nothing is struck"),
        (lambda: make(sections=1).strike(-1), "only “otherwise”"),
        (lambda: make(each_leaf=True).strike(0), "Editing needs a list"),
        (lambda: make(each_leaf=True).limit(lines=3), "Editing needs a list"),
        (lambda: make(each_leaf=True).changed(), "Finding where a list differs from its tree needs a list"),
        (lambda: secateur.Rules.from_json(rules.to_json()).rounded(), "Limits are rounded between training values"),
        (lambda: rules.replay([{"edit": "strike", "line": 1, "was": "x => 1"}]), "made for another list"),
    ]
    for act, said in mistakes:
        with pytest.raises(SecateurError, match=said):
            act()


def test_without_rows_the_price_is_not_counted_and_verify_counts_it() -> None:
    stored = secateur.Rules.from_json(make().to_json())
    edited = stored.strike(0)
    assert edited.price is None
    assert "was not counted" in edited.guarantee
    assert not edited.verify().is_complete
    assert edited.verify(X[:400], Y[:400]).ok


def test_edits_one_by_one_all_at_once_and_without_rows_are_the_same() -> None:
    for seed in (0, 3, 5):
        model = DecisionTreeClassifier(max_depth=5, max_features=4, random_state=seed).fit(X[:400], Y[:400])
        rules = secateur.simplify(model, X[:400], Y[:400], sections=4)
        layout, parent = rules.layout, rules.paths.parent
        assert layout is not None
        links = {link for node in layout.nodes.tolist() for link in rules.paths.list_path(node)}
        for name in sorted({rules.tree.feature_name(int(rules.tree.feature[parent[link]])) for link in links}):
            journal = [{"edit": "strike", "line": 1}, {"edit": "without", "column": name}]
            made = rules.replay(journal)
            assert rules.replay(journal[:1]).replay(journal[1:]).to_json() == made.to_json()
            alone = secateur.Rules.from_json(rules.to_json()).replay(journal)
            assert alone.class_ids.tolist() == made.class_ids.tolist()


def test_rounded_limits_are_compared_with_the_tree_as_it_was_fitted() -> None:
    """A row between an old and a new limit is answered as the model answers it wherever the tree is spoken of."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(60, 3))
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(rows, label(rows))
    rules = secateur.simplify(model, rows, label(rows)).rounded()
    new = random.normal(size=(20_000, 3))
    said = model.predict(new)
    differs = np.flatnonzero(rules.predict(new) != said)
    assert len(differs) > 20
    audit = rules.audit(new, label(new))
    assert audit.agreement == pytest.approx(100 * (1 - len(differs) / len(new)))
    assert audit.tree_accuracy == pytest.approx(100 * model.score(new, label(new)))
    assert rules.predict_proba(new, of="leaf").tolist() == model.predict_proba(new).tolist()
    measured = rules.measure(new, label(new))
    assert measured.unseen is not None
    assert measured.unseen.leaf_counts.tolist() == of_leaves(rules, model, new).tolist()
    read = secateur.Rules.from_json(measured.to_json())
    assert read.verify(rows, label(rows), model=model, unseen=(new, label(new))).ok
    found = rules.explain(new[differs[:3]])
    assert [one.tree_prediction for one in found] == said[differs[:3]].tolist()
    assert "But the tree itself says" in found[0].text


def label(rows: Any) -> Any:
    return ((rows[:, 0] > 0.1) & (rows[:, 1] < 0.3) | (rows[:, 2] > 1)).astype(int)


def of_leaves(rules: secateur.Rules, model: Any, rows: Any) -> Any:
    """Rows of each class by the leaf that the model puts them into, in the order of the rules' paths."""
    counts = np.zeros(rules.leaf_counts.shape)
    order = {leaf: place for place, leaf in enumerate(rules.paths.leaf_ids.tolist())}
    np.add.at(counts, ([order[leaf] for leaf in model.apply(rows).tolist()], label(rows)), 1)
    return counts


def test_the_rules_of_all_leaves_read_as_before_limits_were_rounded() -> None:
    rules, leaf_rules = make(), make(each_leaf=True)
    assert [one.words for one in rules.lines]  # which settles how limits are put
    rounded = rules.rounded()
    assert rounded.tree.threshold.tolist() != rules.tree.threshold.tolist()
    assert [one.words for one in rounded.lines] != [one.words for one in rules.lines]
    assert [one.words for one in rounded.each_leaf] == [one.words for one in leaf_rules]
    assert rounded.each_leaf.to_text(reasons=True) == leaf_rules.change(unseen=None).to_text(reasons=True)
