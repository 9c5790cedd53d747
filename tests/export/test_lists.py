"""A list is written whole: "otherwise" ends every section in every export, and what decides rows decides them alike."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import strategies
from export import test_onnx as onnx_runs
from export import test_python as python_runs
from export import test_sql as sql_runs
from export.forms import both_forms, in_form, list_settings, probes_of
from exported_rules import hostile_rules, ward_rules
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from probing_rows import REJECTED, make_probe, numbers_at_limits
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.choosing import choose_lines
from secateur.export.text import escape_latex
from secateur.results.answer import describe_rarer_line
from secateur.rules.decision_list import make_decision_list


@both_forms
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_the_list_behind_all_exports_is_what_predict_and_apply_do(form: str, data: st.DataObject) -> None:
    probe = data.draw(probes_of(form))
    rules, tree = probe.rules, probe.rules.tree
    taken = [(row, answer) for row, answer in zip(probe.rows, probe.answers, strict=True) if answer != REJECTED]
    assume(taken)
    frame = pd.DataFrame({name: np.array([row[name] for row, _ in taken], dtype=object) for name in probe.names})
    for feature, name in enumerate(probe.names):
        if tree.categories[feature] is None:
            frame[name] = frame[name].astype(float)
    lines = rules.apply(frame)
    assert [number - 1 for _, (_, number, _) in taken] == lines.tolist()
    assert [label for _, (label, _, _) in taken] == rules.predict(frame).tolist()
    assert [label for _, (label, _, _) in taken] == [rules.lines[line].prediction for line in lines.tolist()]
    decided = [rules.lines[line] for line in lines.tolist()]
    stated = [line.reliability if line.share is None else line.share for line in decided]
    assert [share for _, (_, _, share) in taken] == stated


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_lines_come_in_their_order_in_the_list_behind_all_exports(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    X, y, _ = data.draw(strategies.labelled_rows(tree))
    asked = data.draw(list_settings(tree, "exact", has_rows=True))
    rules = secateur.simplify(tree, X, tree.classes[y], **asked)
    listed = make_decision_list(rules)
    assert listed.rules[-1].tests == (), "the last line answers every row that comes so far"
    # Lines that no row can pass, or that ask the same as an earlier one, are left out; the others come in their order.
    order = [rule.index for rule in listed.rules]
    assert order == sorted(set(order))
    assert {*rules.apply(X).tolist()} <= {*order}
    for rule in listed.rules[:-1]:
        line = rules.lines[rule.index]
        assert len(rule.tests) <= len(line.whole_conditions)
        assert rule.label == line.prediction


def test_a_fitted_tree_is_the_same_at_and_beside_every_threshold(postgres: Any) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    for budget in (0.0, 0.01):
        rules = secateur.simplify(model, X, y, budget=budget)
        listed, rows = make_decision_list(rules), X.to_dict("records")
        for place, column in enumerate(listed.columns):
            rows += [{**rows[place], column.name: value} for value in numbers_at_limits(listed, place)]
        probe, asked = make_probe(rules, rows), pd.DataFrame(rows)
        for answers in (
            probe.answers,
            *(sql_runs.run(one, postgres, probe, rules.to_sql(one)) for one in ("duckdb", "sqlite", "postgres")),
            onnx_runs.run(probe),
        ):
            assert [label for label, _, _ in answers] == rules.predict(asked).tolist()
            assert [number - 1 for _, number, _ in answers] == rules.apply(asked).tolist()
        if not budget:
            assert rules.predict(asked).tolist() == model.predict(asked).tolist()


@pytest.mark.long
@both_forms
@pytest.mark.parametrize("numbers", [True, False])
def test_hostile_names_stay_names(numbers: bool, form: str) -> None:
    rules = in_form(form, hostile_rules(numbers=numbers))
    for write in (rules.to_sql, rules.to_python, rules.to_pmml, rules.to_markdown, rules.to_latex, rules.to_csv):
        assert write()
    assert rules.tree.feature_names is not None
    row: dict[str, Any] = dict.fromkeys(rules.tree.feature_names, 0.0 if numbers else rules.tree.categories[0][0])  # type: ignore[index]
    probe = make_probe(rules, [row])
    assert python_runs.load(rules.to_python())(row) == probe.answers[0]
    assert secateur.Rules.from_json(rules.to_json()) == rules
    assert "<script>alert" not in rules.to_html()
    assert "<script>alert" not in rules._repr_html_()


@both_forms
def test_a_pipeline_is_asked_in_its_own_columns(form: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"pay": rng.uniform(1, 1000, 300), "ward": rng.choice(["A", "B", "C"], 300).astype(object)})
    y = np.where((frame["pay"] > 300) ^ (frame["ward"] == "B"), "back", "home")
    prepare = make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough")
    model = make_pipeline(prepare, DecisionTreeClassifier(max_depth=4, random_state=0)).fit(frame, y)
    rules = secateur.simplify(model, frame, y, each_leaf=form == "each leaf")
    assert rules.predict(frame).tolist() == model.predict(frame).tolist()
    predict = python_runs.load(rules.to_python())
    found = [predict(row) for row in frame.to_dict("records")]
    assert [label for label, _, _ in found] == model.predict(frame).tolist()
    assert [number - 1 for _, number, _ in found] == rules.apply(frame).tolist()
    assert rules.verify().ok


# --- texts and tables -------------------------------------------------------------------------------------------------


def cancer(**settings: Any) -> secateur.Rules:
    data = load_breast_cancer()
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(data.data, data.target)
    names = {"feature_names": data.feature_names, "class_names": data.target_names}
    return secateur.simplify(model, data.data, data.target, **names, **settings)


def iris(**settings: Any) -> secateur.Rules:
    data = load_iris()
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(data.data, data.target)
    return secateur.simplify(
        *(model, data.data, data.target),
        feature_names=data.feature_names,
        class_names=data.target_names,
        **settings,
    )


def test_the_text_reads_like_this() -> None:
    assert cancer(budget=0.02, sections=4).to_text().splitlines() == [
        "These rules predict the class: of 569 training rows, 62.7 % are benign and 37.3 % malignant.",
        "",
        "Among worst radius ≤ 16.795",
        "  1. malignant if worst concave points > 0.1358 and worst texture > 25.67   "
        "24 of 27 malignant in training; states 88.9 %",
        "  2. benign    otherwise                                                    "
        "9 of 352 malignant in training; states 11.1 %",
        "Among worst radius > 16.795",
        "  3. benign    if mean texture ≤ 16.11 and compactness error ≤ 0.020705     "
        "0 of 9 malignant in training; states 0.0 %",
        "  4. malignant otherwise                                                    "
        "179 of 181 malignant in training; states 99.4 %",
        "",
        "Right for 97.5 % of 569 training rows (the tree: 97.9 %); always saying benign is right for 62.7 %.",
        "malignant: finds 203 of 212 in training (95.8 %); of 208 that it names, 203 are malignant (97.6 %, 2.62 times "
        "the share in all rows). AUC 0.976 (tree 0.988).",
        "Line 4 states the highest probability, 99.4 %: 179 of its 181 training rows are malignant.",
        "New rows usually do worse than training rows: measure(X_new, y_new) counts them.",
        "At most 2 % of the training rows, of all and of each class that the tree predicts, get another class than "
        "from the tree, or a share more than 10 points away; on new rows that may be more.",
        "“States” is the probability of malignant that the list gives a row: the share in training in all leaves "
        "that the line answers for, rows of earlier lines included, kept within 10 points of each.",
    ]


@both_forms
def test_tables_have_a_row_for_each_line(form: str) -> None:
    rules = iris(each_leaf=form == "each leaf")
    table = list(csv.DictReader(io.StringIO(rules.to_csv())))
    n_lines = len(rules) + (form == "list")
    assert len(table) == len(rules.lines) == n_lines
    assert [row["rule"] for row in table] == [str(number) for number in range(1, n_lines + 1)]
    assert (table[-1]["conditions"] == "otherwise") == (form == "list")
    frame = rules.to_frame("pandas")
    for support in (
        sum(float(row["training_support"]) for row in table),
        frame["training_support"].sum(),
        rules.support.sum(),
    ):
        assert support == 150 or form == "each leaf"  # lines of a list share no row
    assert frame["prediction"].tolist() == [line.prediction for line in rules.lines]
    assert frame["leaf_ids"].map(len).tolist() == [len(line.leaf_ids) for line in rules.lines]
    assert frame["n_leaves"].tolist() == [len(line.leaf_ids) for line in rules.lines]
    assert {leaf for leaves in frame["leaf_ids"] for leaf in leaves} == {*rules.paths.leaf_ids.tolist()}
    assert rules.to_markdown().count("\n| ") == n_lines + 1
    assert rules.to_latex().count(" & ") == 3 * (n_lines + 1)


def test_headings_are_written_once_and_belong_to_every_line() -> None:
    rules = cancer(budget=0.02, sections=4)
    assert len(rules.sections) == 2
    for write in (rules.to_text, rules.to_markdown):
        assert write().count("Among worst radius ≤ 16.795") == write().count("Among worst radius > 16.795") == 1
        assert write(reasons=True).count("it belongs to the heading") == len(rules)
    assert "\nLine 1 (" in rules.to_markdown(reasons=True)
    assert "\nRule 1 (" in rules.each_leaf.to_markdown(reasons=True)
    stored = json.loads(rules.to_json())["lines"]
    assert [line["text"] for line in stored] == [
        "worst radius <= 16.795001 and worst concave points > 0.13580001 and worst texture > 25.670001 => malignant",
        "worst radius <= 16.795001, otherwise => benign",
        "worst radius > 16.795001 and mean texture <= 16.11 and compactness error <= 0.020705 => benign",
        "worst radius > 16.795001, otherwise => malignant",
    ]
    asked = [row["section"] for row in csv.DictReader(io.StringIO(rules.to_csv()))]
    assert asked == ["worst radius <= 16.795001"] * 2 + ["worst radius > 16.795001"] * 2


def test_lines_keep_their_numbers_where_others_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = iris()
    assert rules.n_lines > 3
    monkeypatch.setattr("secateur.export.html.SHOWN_RULES", 2)
    shown = rules._repr_html_()
    assert re.findall(r"<tr><td[^>]*>(\d+)</td>", shown) == ["1", "2"]
    assert f"… and {rules.n_lines - 2} more" in shown


def test_rules_without_rows_say_that_numbers_are_not_known() -> None:
    rules = choose_lines(ward_rules())
    assert rules.to_text().splitlines() == [
        "1. home if age ≤ 0.8 and (ward is A or B)   rows unknown",
        "2. back otherwise                           rows unknown",
        "",
        "Compared with the tree, no answer changes for any possible row.",
    ]
    assert "& home & rows unknown" in rules.to_latex()
    assert json.loads(rules.to_json())["lines"][0]["class_counts"] is None


def test_the_page_begins_with_the_list() -> None:
    rules = iris(budget=0.02)
    page = rules.to_html()
    assert page.index('id="list"') < page.index('id="tree"') < page.index("One rule for each leaf")
    assert page.count('<h1 id="title"') == 1
    assert "<i>otherwise</i>" in page
    ids = [part.split('"')[0] for part in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids)), "an id is there twice"
    summary = rules.report(title="Iris").summary
    shown = summary["lists"][summary["list"]]
    assert (shown["budget"], shown["n_conditions"]) == (0.02, rules.n_conditions)
    empty = secateur.simplify(rules.tree).report().summary
    assert empty["lists"][0]["measured"] is None


def test_every_table_says_where_a_class_is_not_the_commonest() -> None:
    rules = iris()
    assert rules.decided_counts is not None
    rare = rules.change(decided_counts=np.array([[1.0, 9.0, 0.0], *rules.decided_counts[1:].tolist()]))
    words = describe_rarer_line(rare[0])
    assert words
    for write, escape in (("to_text", str), ("to_markdown", str), ("to_latex", escape_latex), ("_repr_html_", str)):
        assert escape(words) in getattr(rare, write)()
        assert escape(words) not in getattr(rules, write)()
