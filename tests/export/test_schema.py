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
from exported_rules import hostile_rules, ward_rules
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from referencing import Registry, Resource
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.methods import Why
from secateur.tree.tree import Tree

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA, COMPACT = (json.loads((DOCS / name).read_text()) for name in ("rules.schema.json", "compact.schema.json"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
BESIDE = Registry().with_resource("rules.schema.json", Resource.from_contents(SCHEMA))
COMPACT_VALIDATOR = jsonschema.Draft202012Validator(COMPACT, registry=BESIDE)


def check(rules: secateur.RuleSet) -> None:
    VALIDATOR.validate(json.loads(rules.to_json()))


def check_compact(rules: secateur.CompactRules) -> None:
    COMPACT_VALIDATOR.validate(json.loads(rules.to_json()))


@pytest.mark.parametrize("schema", [SCHEMA, COMPACT], ids=["rules", "compact"])
def test_the_schema_is_one(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


def test_rules_that_approximate_a_model_fit_and_only_they_may_say_so() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    for labels in (None, X[:, 0] > 0.1):
        rules = secateur.approximate(lambda rows: rows[:, 0] > 0, X, labels, fidelity=0.8 if labels is None else None)
        check_compact(rules)
    content = json.loads(rules.to_json())
    for broken in ({"version": 1}, {"approximation": {**content["approximation"], "fidelity": 1.5}}):
        assert not COMPACT_VALIDATOR.is_valid({**content, **broken})
    del content["approximation"]
    assert not COMPACT_VALIDATOR.is_valid(content)


def test_the_schema_knows_every_method_and_every_reason() -> None:
    assert SCHEMA["properties"]["method"]["enum"] == list(secateur.METHODS)
    assert SCHEMA["$defs"]["reason"]["properties"]["kind"]["enum"] == sorted({why.kind for why in Why})


@given(tree=strategies.trees(), data=st.data(), method=st.sampled_from(list(secateur.METHODS)))
@settings(max_examples=100, deadline=None)
def test_rules_of_every_tree_and_method_fit(tree: Tree, data: st.DataObject, method: str) -> None:
    X, y, weights = data.draw(strategies.labelled_rows(tree, weights=True))
    rows = {"X": X, "y": tree.classes[y], "sample_weight": weights} if data.draw(st.booleans()) else {}
    try:
        rules = secateur.simplify(tree, method=method, **rows)
        check(rules)
        with mock.patch("secateur.export.json.WORDED_CONDITIONS", -1):
            check(rules)
    except secateur.InputError:  # no rows, or rows that contradict themselves
        assume(False)


@given(tree=strategies.trees(), data=st.data(), budget=st.sampled_from([0.0, 0.02, 0.3]))
@settings(max_examples=60, deadline=None)
def test_compact_rules_of_every_tree_fit(tree: Tree, data: st.DataObject, budget: float) -> None:
    X, y, weights = data.draw(strategies.labelled_rows(tree, weights=True))
    known = budget or data.draw(st.booleans())
    rows = {"X": X, "y": tree.classes[y], "sample_weight": weights} if known else {}
    rules = secateur.compact(tree, **rows, budget=budget)
    check_compact(rules)
    assert secateur.CompactRules.from_json(rules.to_json()) == rules


def test_hostile_names_fit() -> None:
    for rules in (hostile_rules(), hostile_rules(numbers=False)):
        check(rules)
        check_compact(rules.compact())


def test_rules_before_a_pipeline_fit() -> None:
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
    rules = secateur.simplify(
        make_pipeline(prepare, DecisionTreeClassifier(random_state=0)).fit(frame, y), frame, y, method="faithful"
    )
    assert json.loads(rules.to_json())["tree"]["columns"]["ranges"] != [None, None, None]
    check(rules)
    check_compact(rules.compact())


def test_rules_with_facts_fit() -> None:
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
        method="faithful",
    )
    assert "facts" in json.loads(rules.to_json())["tree"]
    check(rules)
    check_compact(rules.compact(budget=0.02))


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(version=2),
        lambda c: c.update(format="other"),
        lambda c: c.update(extra=1),
        lambda c: c.pop("digest"),
        lambda c: c.update(digest="abc"),
        lambda c: c.update(method="magic"),
        lambda c: c.update(is_ranked=1),
        lambda c: c.update(rules=[]),
        lambda c: c["rules"][0].update(reliability=1.5),
        lambda c: c["rules"][0].update(prediction=None),
        lambda c: c["rules"][0].pop("reasons"),
        lambda c: c["rules"][0]["reasons"][0].update(kind="whim"),
        lambda c: c["tree"].update(dtype="float16"),
        lambda c: c["tree"]["threshold"].__setitem__(0, "-inf"),
        lambda c: c["tree"]["children_left"].__setitem__(0, -2),
    ],
)
def test_what_was_never_written_does_not_fit(change: Callable[[dict[str, Any]], Any]) -> None:
    content = json.loads(ward_rules().to_json())
    VALIDATOR.validate(content)
    change(content)
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(content)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(version=2),
        lambda c: c.update(format="secateur-rules"),
        lambda c: c.update(extra=1),
        lambda c: c.pop("digest"),
        lambda c: c.update(budget=1.5),
        lambda c: c.update(otherwise=None),
        lambda c: c.update(otherwise_counts=[-1]),
        lambda c: c["source"].update(method="magic"),
        lambda c: c["rules"][0].update(prediction=None),
        lambda c: c["rules"][0].pop("decided_counts"),
        lambda c: c["rules"][0].update(leaf_ids=[1, 1]),
        lambda c: c["rules"][0]["reasons"][0].update(kind="whim"),
        lambda c: c["dropped"][0].update(covered_by=-1),
        lambda c: c["dropped"][0].pop("text"),
    ],
)
def test_compact_rules_that_were_never_written_do_not_fit(change: Callable[[dict[str, Any]], Any]) -> None:
    X, y = load_iris(return_X_y=True)
    rules = secateur.compact(DecisionTreeClassifier(random_state=0).fit(X, y), X, y, budget=0.05)
    content = json.loads(rules.to_json())
    assert content["dropped"]
    COMPACT_VALIDATOR.validate(content)
    change(content)
    with pytest.raises(jsonschema.ValidationError):
        COMPACT_VALIDATOR.validate(content)


def test_an_infinite_threshold_fits() -> None:
    tree = ward_rules().tree
    tree = replace(tree, threshold=np.array([np.inf, *tree.threshold[1:]]), accepts_missing=np.array([True, True]))
    check(secateur.simplify(tree, method="none"))
