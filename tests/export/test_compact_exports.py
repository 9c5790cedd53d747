"""Every export of compact rules that decides rows decides them as the rules do; those that list are complete."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import compact_oracles
import numpy as np
import pandas as pd
import pytest
import strategies
from export import test_onnx as onnx_runs
from export import test_pmml as pmml_runs
from export import test_python as python_runs
from export import test_sql as sql_runs
from exported_rules import hostile_rules, ward_rules
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from probing_rows import Probe, asked_rows, make_probe, numbers_at_limits
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.export.compact_text import read_rarer_class
from secateur.export.latex import escape_latex
from secateur.export.onnx import rules_to_onnx
from secateur.rules.decision_list import make_decision_list

pypmml = pmml_runs.pypmml


@st.composite
def compact_probes(draw: st.DrawFn, *, max_rows: int = 25) -> Probe:
    """Compact rules of every kind of tree, and rows that try them."""
    tree = draw(strategies.trees())
    X, y, _ = draw(strategies.labelled_rows(tree))
    budget = draw(st.sampled_from([0.0, 0.0, 0.0, 0.2]))
    otherwise = draw(st.sampled_from(["auto", *tree.classes.tolist()]))
    rules: Any = secateur.compact(tree, X, tree.classes[y], budget=budget, otherwise=otherwise)
    return make_probe(rules, draw(asked_rows(rules, max_rows)))


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_the_list_behind_all_exports_is_what_predict_does(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    X, y, _ = data.draw(strategies.labelled_rows(tree))
    rules = secateur.compact(tree, X, tree.classes[y], budget=data.draw(st.sampled_from([0.0, 0.0, 0.2])))
    listed = make_decision_list(rules)
    assert (listed.rules[-1].index, listed.rules[-1].tests) == (len(rules), ())
    assert listed.rules[-1].label == rules.otherwise
    # Rules that no row can pass, or that ask the same as an earlier one, are left out; the others come in their order.
    order = [rule.index for rule in listed.rules[:-1]]
    whole = list(range(len(rules)))
    assert order == [index for index in whole if index in set(order)]
    assert {compact_oracles.deciding(rules, row) for row in X} <= {*order, -1}


@given(probe=compact_probes())
@settings(max_examples=50, deadline=None)
def test_databases_decide_as_the_rules_do(postgres: Any, probe: Probe) -> None:
    for dialect in ("duckdb", "sqlite", "postgres"):
        assert sql_runs.run(dialect, postgres, probe, probe.rules.to_sql(dialect)) == probe.answers, dialect


@given(probe=compact_probes())
@settings(max_examples=50, deadline=None)
def test_python_decides_as_the_rules_do(probe: Probe) -> None:
    predict = python_runs.load(probe.rules.to_python())
    assert [predict(row) for row in probe.rows] == probe.answers
    assert python_runs.run_vectorized(probe, probe.rules.to_python(vectorized=True)) == probe.answers


@given(probe=compact_probes())
@settings(max_examples=40, deadline=None)
def test_onnxruntime_decides_as_the_rules_do(probe: Probe) -> None:
    assume(probe.listed.columns)
    if onnx_runs.takes_missing_labels(probe):
        with pytest.raises(secateur.ParameterError, match="no missing value for categories"):
            rules_to_onnx(probe.rules)
        return
    texts = [column.name for column in probe.listed.columns if column.labels is not None]
    rows = [row for row in probe.rows if all(row[name] is not None for name in texts)]
    assume(rows)
    probe = make_probe(probe.rules, rows)
    assert onnx_runs.run(probe) == probe.answers


@given(probe=compact_probes(max_rows=12))
@settings(max_examples=20, deadline=None)
def test_pmml4s_decides_as_the_rules_do(pypmml: Any, probe: Probe) -> None:
    assert pmml_runs.run(pypmml, probe) == pmml_runs.confidences(probe)


def test_a_fitted_tree_is_the_same_at_and_beside_every_threshold(postgres: Any) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    for budget in (0.0, 0.01):
        rules: Any = secateur.compact(model, X, y, budget=budget)
        listed, rows = make_decision_list(rules), X.to_dict("records")
        for place, column in enumerate(listed.columns):
            rows += [{**rows[place], column.name: value} for value in numbers_at_limits(listed, place)]
        probe, asked = make_probe(rules, rows), pd.DataFrame(rows)
        for answers in (
            probe.answers,
            *(sql_runs.run(dialect, postgres, probe, rules.to_sql(dialect)) for dialect in ("duckdb", "sqlite")),
            onnx_runs.run(probe),
        ):
            assert [label for label, _, _ in answers] == rules.predict(asked).tolist()
            assert [number - 1 for _, number, _ in answers] == (rules.apply(asked) % (len(rules) + 1)).tolist()
        if not budget:
            assert rules.predict(asked).tolist() == model.predict(asked).tolist()


def test_hostile_names_stay_names(postgres: Any) -> None:
    for numbers in (True, False):
        rules: Any = hostile_rules(numbers=numbers).compact()
        for write in (rules.to_sql, rules.to_python, rules.to_pmml, rules.to_markdown, rules.to_latex, rules.to_csv):
            assert write()
        row: dict[str, Any] = dict.fromkeys(rules.tree.feature_names, 0.0 if numbers else rules.tree.categories[0][0])
        probe = make_probe(rules, [row])
        assert python_runs.load(rules.to_python())(row) == probe.answers[0]
        assert secateur.CompactRules.from_json(rules.to_json()) == rules
        assert "<script>alert" not in rules.to_html()


def test_a_pipeline_is_asked_in_its_own_columns() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"pay": rng.uniform(1, 1000, 300), "ward": rng.choice(["A", "B", "C"], 300).astype(object)})
    y = np.where((frame["pay"] > 300) ^ (frame["ward"] == "B"), "back", "home")
    prepare = make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough")
    model = make_pipeline(prepare, DecisionTreeClassifier(max_depth=4, random_state=0)).fit(frame, y)
    rules = secateur.compact(model, frame, y)
    assert rules.predict(frame).tolist() == model.predict(frame).tolist()
    predict = python_runs.load(rules.to_python())
    assert [predict(row)[0] for row in frame.to_dict("records")] == model.predict(frame).tolist()
    assert rules.verify().ok


# --- lists ----------------------------------------------------------------------------------------------------------


def iris(**settings: Any) -> secateur.CompactRules:
    data = load_iris()
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(data.data, data.target)
    return secateur.compact(
        *(model, data.data, data.target),
        feature_names=data.feature_names,
        class_names=data.target_names,
        **settings,
    )


def test_the_text_reads_like_this() -> None:
    assert iris(budget=0.02).to_text().splitlines() == [
        "These rules predict the class: of 150 training rows, 33.3% are setosa, 33.3% versicolor and 33.3% virginica.",
        "",
        "setosa if",
        "  1. petal width (cm) ≤ 0.8                                 50 rows, 100.0% setosa   (stands for 1 leaf)",
        "virginica if",
        "  2. petal width (cm) > 1.75                                46 rows, 97.8% virginica   (stands for 2 leaves)",
        "  3. petal length (cm) > 4.95 and petal width (cm) ≤ 1.55   3 rows, 100.0% virginica   (stands for 1 leaf)",
        "otherwise versicolor                                        51 rows, 96.1% versicolor",
        "",
        "Right for 98.0% of the 150 training rows; always saying setosa is right for 33.3%.",
        "At most 2% of the training rows get another answer than the tree's; on new rows that may be more.",
    ]


def test_tables_have_a_row_for_each_rule_and_for_otherwise() -> None:
    rules = iris()
    table = list(csv.DictReader(io.StringIO(rules.to_csv())))
    assert len(table) == len(rules) + 1
    assert table[-1]["conditions"] == "otherwise"
    assert sum(float(row["decided_support"]) for row in table) == 150
    frame = rules.to_frame("pandas")
    assert frame["decided_support"].sum() == 150
    assert frame["prediction"].tolist() == [*(rule.prediction for rule in rules), rules.otherwise]
    assert frame["leaf_ids"].map(len).tolist() == [*(len(rule.leaf_ids) for rule in rules), 0]
    assert rules.to_markdown().count("\n| ") == len(rules) + 2
    assert rules.to_latex().count(r"\\") == len(rules) + 2


def test_reasons_tell_of_dropped_rules_too() -> None:
    rules = iris(budget=0.02)
    assert len(rules.dropped) > 0
    for write in (rules.to_text, rules.to_markdown):
        written = write(reasons=True)
        assert "Rules of leaves that need not be written:" in written
        assert written.count("(leaf ") == len(rules.dropped)
        assert "need not be written" not in write()
    listed = json.loads(rules.to_json())["dropped"]
    assert [one["leaf_id"] for one in listed] == rules.dropped.leaf_ids.tolist()
    assert [one["text"] for one in listed] == [one.reason for one in rules.dropped]


def test_rules_without_rows_say_that_numbers_are_not_known() -> None:
    rules = ward_rules().compact()
    assert rules.to_text().splitlines() == [
        "home if",
        "  1. age ≤ 0.8 and (ward is A or B)   rows unknown   (stands for 1 leaf)",
        "otherwise back                        rows unknown",
        "",
        "Nothing is lost: every possible row gets the tree's answer.",
    ]
    assert "& home & unknown & unknown" in rules.to_latex()
    assert json.loads(rules.to_json())["rules"][0]["decided_counts"] is None


def test_the_page_begins_with_the_compact_form() -> None:
    rules = iris(budget=0.02)
    page = rules.to_html()
    assert page.index('id="list"') < page.index('id="tree"') < page.index("One rule for each leaf")
    assert page.count('<h1 id="title"') == 1
    assert "otherwise <span" in page
    assert "The answer is not the tree&#39;s for 1.3% of the 150 rows that the rules were made from" in page
    ids = [part.split('"')[0] for part in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids)), "an id is there twice"
    summary = rules.report(title="Iris").summary
    shown = summary["lists"][summary["list"]]
    assert (shown["budget"], shown["n_conditions"]) == (0.02, rules.n_conditions)
    assert len(shown["dropped"]) == len(rules.dropped)
    empty = secateur.compact(rules.tree).report().summary
    assert empty["lists"][0]["measured"] is None


def test_latex_says_where_a_class_is_not_the_commonest() -> None:
    rules = iris()
    rare = replace(rules, decided_counts=np.array([[1.0, 9.0, 0.0], *rules.decided_counts[1:].tolist()]))
    words = read_rarer_class(rare, 0)
    assert words
    assert escape_latex(words) in rare.to_latex()
    assert escape_latex(words) not in rules.to_latex()
