"""The ONNX model of a rule set, run by onnxruntime, decides every row as the rule set does."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from export.forms import both_forms, in_form, probe_in_form, probes_of
from exported_rules import HOSTILE, hostile_rules, ward_rules
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from probing_rows import Probe, answer_row, closed_probe, fitted_probe, make_probe

import secateur
from secateur.errors import ParameterError
from secateur.export.onnx import rules_to_onnx
from secateur.rules.decision_list import make_decision_list
from secateur.tree.tree import make_tree

onnxruntime = pytest.importorskip("onnxruntime")


def run(probe: Probe) -> list[tuple[Any, Any, Any]]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(rules_to_onnx(probe.rules), options, providers=["CPUExecutionProvider"])
    inputs = {}
    for column in probe.listed.columns:
        values = probe.columns(column.name)
        if column.labels is None:
            given = [math.nan if value is None else value for value in values]
            with np.errstate(over="ignore"):
                inputs[column.name] = np.array(given, dtype=np.float64).astype(column.dtype).reshape(-1, 1)
        else:
            inputs[column.name] = np.array(values, dtype=object).reshape(-1, 1)
    predicted, rule, reliability = session.run(None, inputs)
    return [
        (label if number else None, number or None, None if math.isnan(share) else share)
        for label, number, share in zip(predicted.tolist(), rule.tolist(), reliability.tolist(), strict=True)
    ]


def takes_missing_labels(probe: Probe) -> bool:
    return any(column.labels is not None and column.takes_missing for column in probe.listed.columns)


@both_forms
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_onnxruntime_decides_as_the_rules_do(form: str, data: st.DataObject) -> None:
    probe = data.draw(probes_of(form))
    assume(probe.listed.columns)
    if takes_missing_labels(probe):
        with pytest.raises(ParameterError, match="no missing value for categories"):
            rules_to_onnx(probe.rules)
        return
    texts = [column.name for column in probe.listed.columns if column.labels is not None]
    rows = [row for row in probe.rows if all(row[name] is not None for name in texts)]
    assume(rows)
    probe = make_probe(probe.rules, rows)
    assert run(probe) == probe.answers


@both_forms
def test_a_fitted_tree_is_the_same_in_onnxruntime(form: str) -> None:
    probe = probe_in_form(form, fitted_probe())
    rules, asked = probe.rules, pd.DataFrame(probe.rows)
    found = run(probe)
    assert [label for label, _, _ in found] == rules.predict(asked).tolist()
    assert [number - 1 for _, number, _ in found] == rules.apply(asked).tolist()


@both_forms
@pytest.mark.parametrize("numbers", [True, False])
def test_hostile_names_and_labels_are_data(numbers: bool, form: str) -> None:
    rules = in_form(form, hostile_rules(numbers=numbers))
    draw = random.Random(0)
    values = [0.0, 1.0, None] if numbers else [*HOSTILE, "none of them"]
    rows = [{name: draw.choice(values) for name in HOSTILE} for _ in range(30)]
    probe = make_probe(rules, rows)
    assert run(probe) == probe.answers


@pytest.mark.parametrize("labels", [(1, 2, 3), (0.5, 1.5, 2.5), (False, True)])
def test_categories_may_be_numbers_or_truth_values(labels: tuple[Any, ...]) -> None:
    tree = ward_rules().tree
    tree = replace(tree, categories=(None, labels), accepts_missing=np.array([False, False]))
    rules = secateur.simplify(tree, method="none", each_leaf=True)
    listed = make_decision_list(rules)
    session = onnxruntime.InferenceSession(rules_to_onnx(rules), providers=["CPUExecutionProvider"])
    asked = [(age, label) for age in (0.1, 0.9) for label in labels]
    inputs = {
        "age": np.array([[age] for age, _ in asked], dtype=np.float32),
        "ward": np.array([[label] for _, label in asked], dtype=np.array(labels).dtype),
    }
    _, rule, _ = session.run(None, inputs)
    assert rule.tolist() == [answer_row(listed, {"age": age, "ward": label})[1] for age, label in asked]


def test_a_category_that_is_a_decimal_number_may_be_missing() -> None:
    tree = replace(ward_rules().tree, categories=(None, (0.5, 1.5, 2.5)))
    probe = make_probe(
        secateur.simplify(tree, method="none", each_leaf=True),
        [{"age": 0.1, "ward": ward} for ward in (0.5, 2.5, 7.0, None)],
    )
    session = onnxruntime.InferenceSession(rules_to_onnx(probe.rules), providers=["CPUExecutionProvider"])
    wards = np.array([[0.5], [2.5], [7.0], [np.nan]])
    _, rule, _ = session.run(None, {"age": np.full((4, 1), 0.1, dtype=np.float32), "ward": wards})
    assert rule.tolist() == [number for _, number, _ in probe.answers] == [1, 2, 2, 2]


@both_forms
def test_a_category_that_a_pipeline_rejects_has_no_rule(form: str) -> None:
    probe = probe_in_form(form, closed_probe())
    assert run(probe) == probe.answers


@both_forms
def test_rules_that_ask_nothing_are_rejected(form: str) -> None:
    tree = ward_rules().tree
    same = replace(tree, leaf_class=np.where(tree.is_leaf, 0, -1))
    # Leaves of one class whose shares differ are lines of their own, unless only classes are kept.
    rules = secateur.simplify(same, **({"each_leaf": True} if form == "each leaf" else {"tolerance": 1}))
    assert not make_decision_list(rules).columns
    with pytest.raises(ParameterError, match="ask for no column"):
        rules_to_onnx(rules)


def test_without_onnx_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secateur.errors.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=r"pip install .secateur\[onnx\]."):
        rules_to_onnx(hostile_rules())


def test_a_tree_that_rejects_nothing_is_a_model_too() -> None:
    tree = make_tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[np.nan] * 3,
        left_categories={0: [0]},
        categories=[(0.1, 0.5)],
        leaf_class=[-1, 0, 1],
        counts=[[6, 6], [5, 1], [1, 5]],
        classes=["in", "out"],
        n_features=1,
        accepts_missing=[True],
        feature_names=("a",),
    )
    session = onnxruntime.InferenceSession(secateur.simplify(tree, method="exact", each_leaf=True).to_onnx())
    found = session.run(None, {"a": np.array([[0.1], [0.5], [np.nan], [7.0]])})
    assert found[0].tolist() == ["in", "out", "out", "out"]
