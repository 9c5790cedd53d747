"""One row's explanation, however the row is passed."""

from __future__ import annotations

import html
import json

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import ListForm, choose_lines
from secateur.errors import InputError
from secateur.results.row_reading import find_held, read_rows
from secateur.rows.checking import check_rows
from secateur.words.conditions import format_link


@pytest.fixture(scope="module")
def rules() -> secateur.Rules:
    data = load_iris()
    model = DecisionTreeClassifier(random_state=0).fit(data.data, data.target)
    return secateur.simplify(
        model,
        data.data,
        data.target,
        method="quinlan",
        feature_names=data.feature_names,
        class_names=data.target_names,
        each_leaf=True,
    )


def test_it_names_the_winner_and_everyone_else_who_covers_the_row(rules: secateur.Rules) -> None:
    X = load_iris().data
    for row in X[::10]:
        found = rules.explain(row)
        assert found.rule.index == rules.apply(row.reshape(1, -1))[0]
        assert {rule.index for rule in found.covering} == set(np.flatnonzero(rules.covers(row.reshape(1, -1))[0]))
        assert found.covering[0].index == found.rule.index
        assert found.prediction == rules.predict(row.reshape(1, -1))[0]
        assert f"rule {found.rule.index + 1}" in str(found)


def test_it_says_when_rules_disagree_and_what_the_tree_predicts(rules: secateur.Rules) -> None:
    found = rules.explain(load_iris().data[70])
    assert (found.prediction, found.tree_prediction) == (2, 1)
    assert " the row, too. The rules disagree; the highest training reliability decides" in str(found)
    assert str(found).splitlines()[-1].startswith("But the tree itself says versicolor, in leaf ")
    assert rules.tree.classes[rules.tree.leaf_class[found.own_rule.leaf_id]] == found.tree_prediction


def test_a_row_may_be_a_list_a_mapping_a_series_or_a_frame(rules: secateur.Rules) -> None:
    pd = pytest.importorskip("pandas")
    names = load_iris().feature_names
    row = load_iris().data[70]
    wanted = str(rules.explain(row))
    for same in (
        row.tolist(),
        row.reshape(1, -1),
        dict(zip(names, row, strict=True)),
        pd.Series(row, index=names),
        pd.DataFrame([row], columns=names),
    ):
        assert str(rules.explain(same)) == wanted


def test_a_row_is_given_by_the_columns_that_its_pipeline_takes() -> None:
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(load_iris().data, columns=["a", "b", "c", "d"])
    model = make_pipeline(PCA(2), DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, load_iris().target)
    rules = secateur.simplify(model, X, load_iris().target, method="none", each_leaf=True)
    for row in (0, 70, 149):
        assert rules.explain(X.iloc[row].to_dict()).prediction == model.predict(X.iloc[[row]])[0]
    with pytest.raises(InputError, match=r"no value for 'd'; give one for each of \['a', 'b', 'c', 'd'\]"):
        rules.explain({"a": 1.0, "b": 1.0, "c": 1.0})
    stored = secateur.Rules.from_json(rules.to_json())  # without the pipeline, which makes the last columns
    with pytest.raises(InputError, match="no value for 'pca0'"):
        stored.explain(X.iloc[0].to_dict())


def test_bad_rows_are_rejected(rules: secateur.Rules) -> None:
    with pytest.raises(InputError, match="no value for 'sepal width"):
        rules.explain({"petal width (cm)": 1.0})
    with pytest.raises(InputError, match="row has 3 columns"):
        rules.explain([1.0, 2.0, 3.0])
    values = dict.fromkeys(load_iris().feature_names, 1.0)
    with pytest.raises(InputError, match="Expected a number for 'petal width"):
        rules.explain(values | {"petal width (cm)": "wide"})


def test_numbers_that_are_categories_are_labels_in_a_mapping_as_in_a_frame() -> None:
    pd = pytest.importorskip("pandas")
    builder = secateur.TreeBuilder(["a", "b"], ["c"], categories={"c": [10, 20, 30]})
    root = builder.split_categories("c", [20])
    builder.leaf([3, 0], parent=root, side="left")
    builder.leaf([0, 3], parent=root, side="right")
    rules = secateur.simplify(builder.build(), method="exact", each_leaf=True)
    for value in (10, 20, 30, 40):
        predicted = rules.predict(pd.DataFrame({"c": [value]}))[0]
        assert rules.explain({"c": value}).prediction == predicted


@given(data=st.data(), method=st.sampled_from(["none", "exact", "mismatch", "quinlan"]))
@settings(max_examples=60, deadline=None)
def test_one_row_is_covered_and_decided_as_many_rows_are(data: st.DataObject, method: str) -> None:
    tree = data.draw(strategies.trees(max_leaves=10))
    X, y, _ = data.draw(strategies.labelled_rows(tree))
    ranked = secateur.simplify(tree, X, tree.classes[y], method=method, each_leaf=True)
    for rules in (ranked, secateur.simplify(tree, method="exact", each_leaf=True)):
        covers, winners = rules.covers(X), rules.apply(X)
        for row, covered, winner in zip(X, covers, winners, strict=True):
            explanation = rules.explain(row)
            assert explanation.rule.index == winner
            others = [index for index in rules.ranking.tolist() if covered[index] and index != winner]
            assert [rule.index for rule in explanation.covering] == [winner, *others]


def test_a_violated_fact_takes_the_guarantee_away_only_where_it_is_assumed() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age", "bmi"])
    root = builder.split("age", 29.2)
    builder.leaf([8, 2], parent=root, side="left")
    older = builder.split("age", 29.8, parent=root, side="right")
    builder.leaf([2, 8], parent=older, side="left")  # which no whole number reaches
    builder.leaf([9, 1], parent=older, side="right")
    facts = ["age is a whole number", "bmi <= 100"]
    rules = secateur.simplify(builder.build(), method="exact", facts=facts, each_leaf=True)
    assert rules.assumptions == rules.facts_used.used == ("age is a whole number",)
    assert rules.explain({"age": 29.7, "bmi": 20}).text.endswith(
        "\nThe guarantee does not apply to this row, which violates stated facts: age is a whole number."
    )
    assert rules.explain({"age": 29, "bmi": 120}).text.endswith(
        "\nThis row violates stated facts that the guarantee does not depend on: bmi <= 100."
    )
    assert "violates" not in rules.explain({"age": 29, "bmi": 20}).text


def test_lists_name_the_facts_by_which_they_miss_no_leaf() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age", "bmi"])
    root = builder.split("age", 29.8)
    younger = builder.split("age", 29.2, parent=root, side="left")
    builder.leaf([8, 2], parent=younger, side="left")
    builder.leaf([2, 8], parent=younger, side="right")  # which no whole number reaches
    builder.leaf([9, 1], parent=root, side="right")
    facts = ["age is a whole number", "bmi <= 100"]
    whole = secateur.simplify(builder.build(), method="none", facts=facts, each_leaf=True)
    rules = choose_lines(whole)
    assert (len(rules), whole.facts_used.used) == (0, ())
    assert rules.guarantee.endswith("Holds for rows that satisfy: age is a whole number.")
    assert str(rules).endswith(
        "Compared with the tree, no answer changes for any row that satisfies age is a whole number."
    )
    told = rules.explain({"age": 29.5, "bmi": 20}).text
    assert "age is 29.5" not in told  # no rule asks for it
    assert told.endswith(
        "\nThe guarantee does not apply to this row, which violates stated facts: age is a whole number."
    )
    assert rules.explain({"age": 29, "bmi": 120}).text.endswith(
        "\nThis row violates stated facts that the guarantee does not depend on: bmi <= 100."
    )
    assert "violates" not in rules.explain({"age": 29, "bmi": 20}).text
    assert [line.text for line in choose_lines(whole, ListForm(otherwise="yes")).lines] == ["always => no"]


def test_a_row_holds_one_value_of_a_group_or_not_another() -> None:
    builder = secateur.TreeBuilder(["no", "yes"], ["city_Oslo", "city_Rome"])
    root = builder.split("city_Oslo", 0.5)
    builder.leaf([8, 2], parent=root, side="left")
    builder.leaf([1, 9], parent=root, side="right")
    rules = secateur.simplify(
        builder.build(), method="none", groups={"city": ["city_Oslo", "city_Rome"]}, each_leaf=True
    )
    for oslo, words in ((1, "city is Oslo"), (0, "city is not Oslo")):
        assert f"\n  This row: {words}." in rules.explain({"city_Oslo": oslo, "city_Rome": 0}).text


def test_explanations_of_either_form_have_the_same_keys() -> None:
    data = load_iris()
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(data.data, data.target)
    rules = secateur.simplify(model, data.data, data.target, each_leaf=True)
    few = choose_lines(rules)
    for row in data.data[::15]:
        whole, short = rules.explain(row).to_dict(), few.explain(row).to_dict()
        assert json.loads(json.dumps(short)) == short
        assert set(short) == set(whole)
        assert (whole["own_rule"], whole["own_leaf"]) == (short["own_rule"], short["own_leaf"])
        assert whole["failed"] == {}
        for some, told in ((rules, whole), (few, short)):
            found = some.explain(row)
            decider = found.rule
            assert decider.index == some.apply(row[None])[0]
            assert (told["line"], told["text"]) == (decider.index + 1, decider.text)
            assert told["also_covered_by"] == [rule.index + 1 for rule in found.covering[1:]]
            assert (told["support"], told["reliability"]) == (decider.support, decider.reliability)
            assert [reason["text"] for reason in told["reasons"]] == [one.text for one in decider.reasons.values()]
            assert told["conditions"] == [condition.text for condition in decider.conditions]
            if decider.is_otherwise:
                assert (told["conditions"], told["reasons"], found.covering) == ([], [], ())
                assert set(told["failed"]) == {str(rule.index + 1) for rule in some}


def test_an_explanation_tells_how_reliable_the_deciding_rule_is() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age"])
    root = builder.split("age", 30)
    builder.leaf([8, 2], parent=root, side="left")
    builder.leaf([1, 9], parent=root, side="right")
    X, y = np.array([[20.0]] * 10 + [[40.0]] * 10), np.array(["no"] * 8 + ["yes"] * 2 + ["no"] + ["yes"] * 9)
    found = secateur.simplify(builder.build(), X, y, method="none", each_leaf=True).explain([20])
    assert found.text.splitlines() == [
        "Predicted no, because rule 1 holds: age ≤ 30.",
        "  This row: age is 20.",
        "  Rows like it: 8 of 10 no in training, 80.0 %.",
        "  asked: age ≤ 30 (it keeps out rows of leaf 2 (yes), such as age = 40)",
        "The tree says no too, in leaf 1: age ≤ 30 (10 training rows, 80.0 % no).",
    ]
    assert found.interval is None, "training rows say nothing about new ones"
    measured = secateur.simplify(builder.build(), X, y, method="none", each_leaf=True).measure(X[1:], y[1:])
    assert measured.explain([20]).interval == pytest.approx((2 / 9, 1.0))
    assert "Rows like it: 7 of 9 no, 77.8 % (8 of 10 in training)." in measured.explain([20]).text
    assert found.asked == (("age ≤ 30", "age is 20"),)


@given(data=st.data(), method=st.sampled_from(["none", "exact", "faithful", "mismatch", "budgeted"]))
@settings(max_examples=80, deadline=None)
def test_no_condition_is_shown_that_is_false_of_the_row(data: st.DataObject, method: str) -> None:
    tree = data.draw(strategies.trees(max_leaves=8))
    X, y, _ = data.draw(strategies.labelled_rows(tree))
    rules = secateur.simplify(tree, X, tree.classes[y], method=method, each_leaf=True)
    paths = rules.paths
    for row in X[:5]:
        found = rules.explain(row)
        leaf = int(np.flatnonzero(paths.leaf_ids == found.own_rule.leaf_id)[0])
        assert tree.leaf_class[found.own_rule.leaf_id] == np.flatnonzero(tree.classes == found.tree_prediction)[0]
        own_path = set(paths.links[paths.entries(leaf)].tolist())  # what is true of the row, node by node
        held = find_held(rules, read_rows(rules, row).matrix[0])
        assert all(held[link] for link in own_path)
        shown = [
            line.split(":", 1)[1] for line in found.text.splitlines() if line.startswith(("  asked:", "  not asked:"))
        ]
        kept = [format_link(tree, paths, link, found.rule._rules.voice) for link in found.rule.reasons if held[link]]
        assert [words.strip().startswith(one) for words, one in zip(shown, kept, strict=True)] == [True] * len(kept)
        assert all(held[link] for link in found.rule.kept_ids)


@given(st.data())
def test_links_that_a_row_satisfies_are_marked_one_by_one(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees(min_leaves=2))
    rules = secateur.simplify(tree, method="none", each_leaf=True)
    for row in check_rows(tree, data.draw(strategies.rows(tree, max_rows=5))).matrix:
        held = find_held(rules, row)
        for link in np.unique(rules.paths.links).tolist():
            assert held[link] == oracles.satisfies(tree, row, [link])


@pytest.mark.parametrize("each_leaf", [True, False])
def test_many_rows_are_explained_as_each_of_them_is_alone(each_leaf: bool) -> None:
    data = load_iris()
    model = DecisionTreeClassifier(random_state=0).fit(data.data, data.target)
    rules = secateur.simplify(model, data.data, data.target, each_leaf=each_leaf)
    X = data.data[::7]
    found = rules.explain(X)
    assert len(found) == len(X)
    assert np.array_equal(found.line, rules.apply(X))
    for row, one in zip(X, found, strict=True):
        assert one.to_dict() == rules.explain(row).to_dict()
    assert found.to_frame("pandas")["line"].tolist() == (rules.apply(X) + 1).tolist()


def test_a_notebook_says_each_line_of_an_explanation_once() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    for rules in (secateur.simplify(model, X, y), secateur.simplify(model, X, y, each_leaf=True)):
        for one in rules.explain(X[:100]):
            shown = html.unescape(one._repr_html_())
            below = shown.partition("</table>")[2]
            assert "asks" not in below
            assert not any(f"<p>{asked}" in below for asked, _ in one.asked)
            assert "Rows" in below


def test_a_letter_of_a_tree_that_always_says_one_class_tells_what_decides() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 3))
    y = np.where(random.random(2000) < 0.03 + 0.3 * ((X[:, 0] > 1) & (X[:, 1] > 0)), "yes", "no")
    model = DecisionTreeClassifier(max_depth=2, min_samples_leaf=100, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y)
    assert set(rules.class_ids.tolist()) == {0}
    decided = rules.apply(X)
    for place, line in enumerate(rules.lines):
        text = rules.explain(X[decided == place][0], changes=True).letter()
        if line.is_otherwise and not line.heading:
            assert "- The rules give every case this answer.\n" in text
        else:
            assert text.count("\n- ") == len(line.whole_conditions) > 0
            assert "(the rule: x" in text
    whole = secateur.simplify(model, X, y, tolerance=1)
    assert whole.explain(X[0], changes=True).letter() == (
        "Answer: no\n\nReasons:\n- The rules give every case this answer.\n"
    )
