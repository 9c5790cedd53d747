"""The PMML of a rule set, read by PMML4S (through pypmml, on Java), decides every row as the rule set does."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from export.forms import both_forms, in_form, probe_in_form, probes_of
from exported_rules import HOSTILE, hostile_rules, ward_rules
from hypothesis import given, settings
from hypothesis import strategies as st
from probing_rows import Probe, closed_probe, make_probe, numbers_at_limits
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import ParameterError
from secateur.export.pmml import NAMESPACE, rules_to_pmml
from secateur.rules.decision_list import make_decision_list


def number_classes(text: str) -> str:
    """The same rules, but each predicts its own number as a text: so a reader tells which of them decided."""
    root = ElementTree.fromstring(text)
    names = {"p": NAMESPACE}
    target = root.findall("p:DataDictionary/p:DataField", names)[-1]
    target.set("dataType", "string")
    for value in target.findall("p:Value", names):
        target.remove(value)
    for rule in root.iterfind(".//p:SimpleRule", names):
        rule.set("score", rule.get("id", ""))
        ElementTree.SubElement(target, f"{{{NAMESPACE}}}Value", value=rule.get("id", ""))
    return ElementTree.tostring(root, encoding="unicode")


def confidences(probe: Probe) -> list[tuple[Any, Any, Any]]:
    """The answers as PMML gives them: a reliability that is not known is a confidence of 0."""
    return [(label, number, 0.0 if number and share is None else share) for label, number, share in probe.answers]


def run(pypmml: Any, probe: Probe) -> list[tuple[Any, Any, Any]]:
    text = rules_to_pmml(probe.rules)
    asked = [{column.name: row[column.name] for column in probe.listed.columns} for row in probe.rows]
    model, numbered = pypmml.Model.fromString(text), pypmml.Model.fromString(number_classes(text))
    found = []
    for row in asked:
        label, share = list(model.predict(row).values())[:2]
        number, _ = list(numbered.predict(row).values())[:2]
        # Without a rule there is no confidence, and PMML4S gives the least whole number for a label that is one.
        found.append((None, None, None) if math.isnan(share) else (label, number and int(number), share))
        assert (number is None) == math.isnan(share)
    return found


@both_forms
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_pmml4s_decides_as_the_rules_do(pypmml: Any, form: str, data: st.DataObject) -> None:
    probe = data.draw(probes_of(form, max_rows=15))
    assert run(pypmml, probe) == confidences(probe)


@both_forms
def test_a_pipeline_is_asked_in_its_own_columns(pypmml: Any, form: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "dose": rng.normal(size=300),
            "pay": rng.uniform(1, 1000, 300),
            "ward": rng.choice(["A", "B", "C"], 300).astype(object),
        }
    )
    y = np.where((frame["dose"] > 0.3) ^ (frame["pay"] > 300) ^ (frame["ward"] == "B"), "back", "home")
    prepare = make_column_transformer(
        (KBinsDiscretizer(5, encode="ordinal"), ["dose"]),
        (FunctionTransformer(np.log, feature_names_out="one-to-one"), ["pay"]),
        (OneHotEncoder(), ["ward"]),  # which rejects what it does not know
    )
    model = make_pipeline(prepare, DecisionTreeClassifier(random_state=0)).fit(frame, y)
    rules = in_form(form, secateur.simplify(model, frame, y, method="mismatch", each_leaf=True))
    listed = make_decision_list(rules)
    rows: list[dict[str, Any]] = frame[:60].to_dict("records")
    rows += [{**rows[0], **odd} for odd in ({"ward": "D"}, {"ward": None}, {"pay": 0.0}, {"pay": -1.0}, {"dose": None})]
    for place, column in enumerate(listed.columns):
        if column.labels is None:
            rows += [{**rows[0], column.name: value} for value in numbers_at_limits(listed, place)]
    probe = make_probe(rules, rows)
    assert run(pypmml, probe) == confidences(probe)
    assert [label for label, _, _ in probe.answers[:60]] == rules.predict(frame[:60]).tolist()
    assert [number - 1 for _, number, _ in probe.answers[:60] if number] == rules.apply(frame[:60]).tolist()


@both_forms
def test_a_category_that_a_pipeline_rejects_has_no_rule(pypmml: Any, form: str) -> None:
    probe = probe_in_form(form, closed_probe())
    assert run(pypmml, probe) == confidences(probe)


@both_forms
@pytest.mark.parametrize("numbers", [True, False])
def test_hostile_names_and_labels_are_data(pypmml: Any, numbers: bool, form: str) -> None:
    rows = []
    for chosen in range(len(HOSTILE)):  # each rule decides a row
        passed = [1.0 if numbers else HOSTILE[place - 1] for place in range(len(HOSTILE))]
        passed[chosen] = 0.0 if numbers else HOSTILE[chosen]
        rows.append(dict(zip(HOSTILE, passed, strict=True)))
    probe = make_probe(in_form(form, hostile_rules(numbers=numbers)), rows)
    assert [label for label, _, _ in probe.answers] == list(HOSTILE)
    assert run(pypmml, probe) == confidences(probe)


def test_names_that_xml_cannot_hold_are_rejected() -> None:
    rules = secateur.simplify(replace(ward_rules().tree, feature_names=("a\0b", "ward")), method="none", each_leaf=True)
    with pytest.raises(ParameterError, match="holds a character that XML cannot hold"):
        rules_to_pmml(rules)


def test_labels_of_several_types_are_rejected() -> None:
    rules = secateur.simplify(
        replace(ward_rules().tree, categories=(None, ("A", 2, "C"))), method="none", each_leaf=True
    )
    with pytest.raises(ParameterError, match="'ward' are of several types"):
        rules_to_pmml(rules)


def test_categories_that_are_fractions_are_rejected() -> None:
    rules = secateur.simplify(
        replace(ward_rules().tree, categories=(None, (0.1, 0.5, 3.0))), method="none", each_leaf=True
    )
    with pytest.raises(ParameterError, match="'ward' are fractions, which programs that run PMML do not recognise"):
        rules.to_pmml()
