"""The JSON Schema in the documentation fits what is written, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import jsonschema
import numpy as np
import pandas as pd
import pytest
import strategies
from export.forms import FORMS, both_forms, in_form, list_settings
from exported_rules import hostile_rules, ward_rules
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import InputError
from secateur.methods import Why
from secateur.tree.tree import Tree
from secateur.verify.fields import FIELDS, REASONS

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = json.loads((DOCS / "rules.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def check(rules: secateur.Rules) -> None:
    """The JSON fits, with its words, and as it is written of very many conditions."""
    for most in (10**6, -1):
        with mock.patch("secateur.export.json.WORDED_CONDITIONS", most):
            VALIDATOR.validate(json.loads(rules.to_json()))


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_table_of_fields_has_those_of_the_schema() -> None:
    parts = {"": SCHEMA, "lines[].reasons[].": "reason", "leaves.": "leaves", "written.": "written"}
    parts |= {"lines[].": "rule", "approximation.": "approximation", "unseen.": "unseen"}
    for prefix, part in parts.items():
        shape = SCHEMA["$defs"][part] if isinstance(part, str) else part
        inside = {path.removeprefix(prefix) for path in FIELDS if path.startswith(prefix)}
        assert {*shape["properties"]} == {name for name in inside if "." not in name}
    assert {*SCHEMA["$defs"]["otherwise"]["properties"]} == {*SCHEMA["$defs"]["rule"]["properties"]}
    assert {*SCHEMA["$defs"]["kind"]["enum"]} == {*REASONS}


def test_rules_that_approximate_a_model_fit_and_only_lists_may_say_so() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    for labels in (None, X[:, 0] > 0.1):
        rules = secateur.approximate(lambda rows: rows[:, 0] > 0, X, labels, fidelity=0.8 if labels is None else None)
        check(rules)
    content = json.loads(rules.to_json())
    rules_alone = [line for line in content["lines"] if line["leaf_id"] is not None]
    for broken in (
        {"lines": rules_alone},
        {"sections": None},
        {"approximation": {**content["approximation"], "fidelity": 1.5}},
    ):
        assert not VALIDATOR.is_valid({**content, **broken})
    del content["approximation"]
    assert not VALIDATOR.is_valid(content)


def test_the_schema_knows_every_method_and_every_reason() -> None:
    assert SCHEMA["properties"]["method"]["enum"] == list(secateur.METHODS)
    assert SCHEMA["$defs"]["kind"]["enum"] == sorted({why.kind for why in Why})


@both_forms
@given(tree=strategies.trees(), data=st.data(), method=st.sampled_from(list(secateur.METHODS)))
@settings(max_examples=100, deadline=None)
def test_rules_of_every_tree_and_method_fit(form: str, tree: Tree, data: st.DataObject, method: str) -> None:
    X, y, weights = data.draw(strategies.labelled_rows(tree, weights=True))
    rows = {"X": X, "y": tree.classes[y], "sample_weight": weights} if data.draw(st.booleans()) else {}
    asked = data.draw(list_settings(tree, method, has_rows=bool(rows))) if form == "list" else {}
    try:
        rules = secateur.simplify(tree, method=method, each_leaf=form == "each leaf", **rows, **asked)
    except InputError:  # no rows, rows that contradict themselves, or a budget that was exceeded before
        reject()
    check(rules)
    assert secateur.Rules.from_json(rules.to_json()) == rules


@both_forms
def test_hostile_names_fit(form: str) -> None:
    for numbers in (True, False):
        check(in_form(form, hostile_rules(numbers=numbers)))


@both_forms
def test_rules_before_a_pipeline_fit(form: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "dose": rng.normal(size=300),
            "pay": rng.uniform(1, 1000, 300),
            "ward": rng.choice(["A", "B", "C"], 300).astype(object),
        }
    )
    y = (frame["dose"] > 0.3) ^ (frame["pay"] > 300) ^ (frame["ward"] == "B")
    prepare = make_column_transformer(
        (KBinsDiscretizer(5, encode="ordinal"), ["dose"]),
        (FunctionTransformer(np.log, feature_names_out="one-to-one"), ["pay"]),
        (OneHotEncoder(), ["ward"]),
    )
    model = make_pipeline(prepare, DecisionTreeClassifier(random_state=0)).fit(frame, y)
    rules = secateur.simplify(model, frame, y, method="faithful", each_leaf=form == "each leaf")
    assert json.loads(rules.to_json())["tree"]["columns"]["ranges"] != [None, None, None]
    check(rules)


@both_forms
def test_rules_with_facts_fit(form: str) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 300)
    X = np.column_stack([np.eye(3)[codes], rng.integers(0, 9, 300), np.round(rng.uniform(0, 9, 300), 1)])
    y = (codes == 1) ^ (X[:, 3] > 4) ^ (X[:, 4] > 3.3)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    rules = secateur.simplify(
        model,
        X,
        y,
        feature_names=["ward_A", "ward_B", "ward_C", "age", "dose"],
        groups={"ward": ["ward_A", "ward_B", "ward_C"]},
        integers=["age"],
        facts=["0 <= age <= 9", "age > 5 => dose <= 9.5"],
        **({"budget": 0.02} if form == "list" else {"each_leaf": True, "method": "faithful"}),
    )
    assert "facts" in json.loads(rules.to_json())["tree"]
    check(rules)


CHANGES: list[Callable[[dict[str, Any]], Any]] = [
    lambda c: c.update(version=2),
    lambda c: c.update(format="secateur-compact"),
    lambda c: c.update(extra=1),
    lambda c: c.pop("digest"),
    lambda c: c.pop("of"),
    lambda c: c.pop("sections"),
    lambda c: c.pop("written"),
    lambda c: c.update(before_budget=None),
    lambda c: c.update(unwritten=[]),
    lambda c: c.update(of=[]),
    lambda c: c.update(digest="abc"),
    lambda c: c.update(method="magic"),
    lambda c: c.update(is_ranked=1),
    lambda c: c.update(budget=1.5),
    lambda c: c.update(tolerance=None),
    lambda c: c.update(lines=[]),
    lambda c: c["lines"][0].update(prediction=None),
    lambda c: c["lines"][0].update(leaf_id=-1),
    lambda c: c["lines"][0].update(stands_for=[1, 1]),
    lambda c: c["lines"][0].update(stands_for=None),
    lambda c: c["lines"][0].update(class_counts=[-1]),
    lambda c: c["lines"][0].update(share=1.5),
    lambda c: c["lines"][0].update(window=[0.5]),
    lambda c: c["lines"][0].update(section=-1),
    lambda c: c["lines"][0].pop("section"),
    lambda c: c["lines"][0].pop("share"),
    lambda c: c["lines"][0].pop("window"),
    lambda c: c["lines"][0].pop("class_counts"),
    lambda c: c["lines"][0].pop("reasons"),
    lambda c: c["lines"][0].pop("text"),
    lambda c: c["lines"][0]["reasons"][0].update(kind="whim"),
    lambda c: c["leaves"]["kinds"].append("whim"),
    lambda c: c["leaves"]["deleted"].__setitem__(0, 2),
    lambda c: c["leaves"]["deleted"].__setitem__(0, True),
    lambda c: c["leaves"]["node"].__setitem__(0, -2),
    lambda c: c["leaves"].update(before=["0.5"]),
    lambda c: c["leaves"].update(words=[]),
    lambda c: c["leaves"].pop("leaf_counts"),
    lambda c: c["leaves"]["class_counts"].__setitem__(0, ["1", "2"]),
    lambda c: c["tree"].update(version=2),
    lambda c: c["tree"].update(dtype="float16"),
    lambda c: c["tree"]["threshold"].__setitem__(0, "-inf"),
    lambda c: c["tree"]["children_left"].__setitem__(0, -2),
]
CHANGES_OF_LEAVES: list[Callable[[dict[str, Any]], Any]] = [
    lambda c: c.update(budget=0.1),
    lambda c: c.update(sections=[0]),
    lambda c: c.update(written={**c["leaves"]}),
    lambda c: c["lines"][0].update(section=0),
    lambda c: c["lines"][0].update(share=0.5),
    lambda c: c["lines"][0].update(window=[0.5, 0.6]),
    lambda c: c["lines"][-1].update(leaf_id=None, section=0),
]
CHANGES_OF_LISTS: list[Callable[[dict[str, Any]], Any]] = [
    lambda c: c.update(sections=None),
    lambda c: c.update(sections=[]),
    lambda c: c.update(sections=[-1]),
    lambda c: c.update(sections=[*c["sections"], c["sections"][0]]),
    lambda c: c.update(written=None),
    lambda c: c["written"].update(leaf_ids=[1]),
    lambda c: c["written"].pop("kinds"),
    lambda c: c["written"]["kinds"].append("whim"),
    lambda c: c["written"]["deleted"].__setitem__(0, 2),
    lambda c: c["written"]["class_counts"].__setitem__(0, [-1]),
    lambda c: c.update(lines=[line for line in c["lines"] if line["leaf_id"] is not None]),
    lambda c: c["lines"][0].update(section=None),
    lambda c: c["lines"][-1].update(section=None),
    lambda c: c["lines"][-1].update(prediction=None),
    lambda c: c["lines"][-1].update(stands_for=None),
    lambda c: c["lines"][-1].update(stands_for=[1, 1]),
    lambda c: c["lines"][-1].update(share=-0.1),
    lambda c: c["lines"][-1].pop("window"),
    lambda c: c["lines"][-1]["reasons"].append({"link_id": 1, "deleted": True, "text": ""}),
]


@pytest.mark.parametrize(
    ("form", "change"),
    [
        *((form, change) for form in FORMS for change in CHANGES),
        *(("each leaf", change) for change in CHANGES_OF_LEAVES),
        *(("list", change) for change in CHANGES_OF_LISTS),
    ],
)
def test_what_was_never_written_does_not_fit(form: str, change: Callable[[dict[str, Any]], Any]) -> None:
    rules = ward_rules()
    if form == "list":
        X, y = load_iris(return_X_y=True)
        rules = secateur.simplify(DecisionTreeClassifier(random_state=0).fit(X, y), X, y, budget=0.05)
        assert len(rules) > 1
        assert rules.keeps_shares
    content = json.loads(rules.to_json())
    VALIDATOR.validate(content)
    change(content)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(content)


def test_an_infinite_threshold_fits() -> None:
    tree = ward_rules().tree
    tree = replace(tree, threshold=np.array([np.inf, *tree.threshold[1:]]), accepts_missing=np.array([True, True]))
    check(secateur.simplify(tree, method="none", each_leaf=True))
