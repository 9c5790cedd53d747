"""The Python source of a rule set, run, decides every row as the rule set does."""

from __future__ import annotations

import ast
import builtins
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from export.forms import both_forms, in_form, probe_in_form, probes_of
from exported_rules import HOSTILE, hostile_rules, ward_rules
from hypothesis import given, settings
from hypothesis import strategies as st
from probing_rows import REJECTED, Probe, closed_probe, fitted_probe, make_probe
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import ParameterError
from secateur.export.python import RESERVED, rules_to_python

GOLDEN = Path(__file__).parent / "golden"


def load(source: str, name: str = "predict") -> Any:
    written: dict[str, Any] = {}
    exec(compile(source, "<written>", "exec"), written)
    return written[name]


def run_vectorized(probe: Probe, source: str) -> list[tuple[Any, Any, Any]]:
    columns = {name: np.array(probe.columns(name), dtype=object) for name in probe.names}
    predicted, rule, reliability = load(source)(columns)
    return [
        (label, number or None, None if math.isnan(share) else share)
        for label, number, share in zip(predicted.tolist(), rule.tolist(), reliability.tolist(), strict=True)
    ]


@pytest.mark.parametrize(("form", "golden"), [("each leaf", "ward"), ("list", "ward_list")])
@pytest.mark.parametrize(("kind", "vectorized"), [("plain", False), ("numpy", True)])
def test_a_function_reads_like_this(kind: str, vectorized: bool, form: str, golden: str) -> None:
    written = rules_to_python(in_form(form, ward_rules()), vectorized=vectorized)
    assert written == (GOLDEN / f"{golden}.{kind}.py.txt").read_text()


@both_forms
@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_a_plain_function_decides_as_the_rules_do(form: str, data: st.DataObject) -> None:
    probe = data.draw(probes_of(form))
    predict = load(rules_to_python(probe.rules))
    assert [predict(row) for row in probe.rows] == probe.answers


@both_forms
@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_a_numpy_function_decides_as_the_rules_do(form: str, data: st.DataObject) -> None:
    probe = data.draw(probes_of(form))
    assert run_vectorized(probe, rules_to_python(probe.rules, vectorized=True)) == probe.answers


@both_forms
def test_a_fitted_tree_is_the_same_in_python(form: str) -> None:
    rules, _, _, rows, _ = probe_in_form(form, fitted_probe())
    asked = pd.DataFrame(rows)
    predict = load(rules_to_python(rules))
    assert [predict(row)[:2] for row in rows] == list(zip(rules.predict(asked), rules.apply(asked) + 1, strict=True))
    predicted, number, reliability = load(rules_to_python(rules, vectorized=True))(asked)
    assert predicted.tolist() == rules.predict(asked).tolist()
    assert (number - 1 == rules.apply(asked)).all()
    assert (reliability == rules.reliability[number - 1]).all()


def test_numbers_of_any_type_are_compared_alike() -> None:
    rules = ward_rules()
    predict = load(rules_to_python(rules))
    limit = float(np.float32(0.8))
    for number in (limit, np.float32(limit), np.float64(limit), 0, np.int8(0), False):
        assert predict({"age": number, "ward": "A"}) == ("home", 1, 0.75)
        assert predict({"age": number, "ward": np.str_("A")}) == ("home", 1, 0.75)
    assert predict({"age": np.nextafter(np.float32(limit), np.float32(1)), "ward": "A"})[1] == 3


def test_a_row_that_the_tree_rejects_gets_nothing() -> None:
    predict = load(rules_to_python(ward_rules()))
    for rejected in (None, math.nan, math.inf, -math.inf, 1e39):
        assert predict({"age": rejected, "ward": "A"}) == REJECTED
    assert predict({"age": 0.1, "ward": math.nan}) == ("back", 2, 0.9)
    with pytest.raises(KeyError, match="ward"):
        predict({"age": 0.1})


@both_forms
def test_a_category_that_a_pipeline_rejects_has_no_rule(form: str) -> None:
    probe = probe_in_form(form, closed_probe())
    predict = load(rules_to_python(probe.rules))
    assert [predict(row) for row in probe.rows] == probe.answers
    assert run_vectorized(probe, rules_to_python(probe.rules, vectorized=True)) == probe.answers


def test_the_plain_function_imports_nothing() -> None:
    imports = [node for node in ast.walk(ast.parse(rules_to_python(ward_rules()))) if isinstance(node, ast.Import)]
    assert imports == []


@both_forms
@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("numbers", [False, True])
def test_hostile_names_and_labels_are_data(tmp_path: Path, vectorized: bool, numbers: bool, form: str) -> None:
    rules = in_form(form, hostile_rules(numbers=numbers))
    source = rules_to_python(rules, vectorized=vectorized)
    rows = []
    for chosen in range(len(HOSTILE)):  # each rule decides a row
        passed = [1.0 if numbers else HOSTILE[place - 1] for place in range(len(HOSTILE))]
        passed[chosen] = 0.0 if numbers else HOSTILE[chosen]
        rows.append(dict(zip(HOSTILE, passed, strict=True)))
    probe = make_probe(rules, rows)
    assert [label for label, _, _ in probe.answers] == list(HOSTILE)
    if vectorized:
        assert run_vectorized(probe, source) == probe.answers
    else:
        assert [load(source)(row) for row in rows] == probe.answers
    # Nothing but the function is in the file, and a comment on one of the first lines cannot set its encoding.
    body = ast.parse(source).body
    kinds = [type(node) for node in body]
    assert kinds in (
        [ast.Expr, ast.FunctionDef],
        [ast.Expr, ast.Import, ast.FunctionDef],
        [ast.Expr, ast.Import, ast.FunctionDef, ast.FunctionDef],
    )
    file = tmp_path / "written.py"
    file.write_text(source, encoding="utf-8")
    subprocess.run([sys.executable, "-W", "error", str(file)], check=True, timeout=60)


@pytest.mark.long
@both_forms
def test_two_thousand_rules_compile(form: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = rng.integers(0, 3, 6000)
    model = DecisionTreeClassifier(max_leaf_nodes=2000, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, method="exact", each_leaf=form == "each leaf")
    assert rules.tree_rules == 2000
    _, number, _ = load(rules_to_python(rules, vectorized=True))({f"x{place}": X[:, place] for place in range(4)})
    assert (number - 1 == rules.apply(X)).all()
    predict, asked = load(rules_to_python(rules)), X[:200]
    rows = [{f"x{place}": value for place, value in enumerate(row)} for row in asked.tolist()]
    assert [predict(row)[1] - 1 for row in rows] == rules.apply(asked).tolist()


@pytest.mark.long
@both_forms
def test_a_deep_tree_compiles(form: str) -> None:
    depth = 1_100
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["age"])
    node, side = builder.split("age", 0), "right"
    builder.leaf([1, 2], parent=node, side="left")
    for step in range(1, depth):
        below = builder.split("age", step, parent=node, side=side)
        builder.leaf([2, 1] if step % 2 else [1, 2], parent=below, side="left")
        node = below
    builder.leaf([1, 3], parent=node, side="right")
    rules = secateur.simplify(builder.build(), method="exact", each_leaf=form == "each leaf")
    predict = load(rules_to_python(rules))
    asked = np.arange(-1.0, depth + 1, 37).reshape(-1, 1)
    assert [predict({"age": value})[0] for (value,) in asked.tolist()] == rules.predict(asked).tolist()


def test_the_function_has_the_name_that_was_asked_for() -> None:
    assert load(rules_to_python(ward_rules(), name="age_number"), "age_number")({"age": 1, "ward": "A"})[1] == 3
    assert load(rules_to_python(ward_rules(), name="np_", vectorized=True), "np_")({"age": [1], "ward": ["A"]})[1] == [
        3
    ]


@pytest.mark.parametrize("name", ["", "a b", "class", "x=1;import os", 3, "_find_codes", *RESERVED])
def test_a_name_that_no_function_can_have_is_rejected(name: Any) -> None:
    with pytest.raises(ParameterError, match="Expected a name that a Python function can have"):
        rules_to_python(ward_rules(), name=name)


@pytest.mark.parametrize("name", ["len", "next", "iter", "object", "bool"])
def test_a_function_cannot_take_the_name_of_what_it_uses(name: str) -> None:
    with pytest.raises(ParameterError, match="Expected a name that a Python function can have"):
        rules_to_python(ward_rules(), name=name, vectorized=True)


def test_all_that_a_function_uses_is_reserved() -> None:
    for rules in (ward_rules(), hostile_rules(), hostile_rules(numbers=False)):
        for vectorized in (False, True):
            nodes = ast.walk(ast.parse(rules_to_python(rules, vectorized=vectorized)))
            used = {node.id for node in nodes if isinstance(node, ast.Name)}
            assert used.intersection(dir(builtins)) <= set(RESERVED)


@pytest.mark.parametrize("name", ["__debug__", "\ufb02oat", "\uff4e\uff50", "1st", "class"])
def test_names_that_python_reads_otherwise_are_rejected(name: str) -> None:
    with pytest.raises(ParameterError, match="Expected a name that a Python function can have"):
        ward_rules().to_python(name=name)


def test_blanks_of_nullable_columns_are_blanks() -> None:
    codes = pd.array([0, 1, None, 2, None, 1, 0, 3] * 10, dtype="Int64")
    frame = pd.DataFrame({"k": codes, "v": pd.array([1, None, 3, 4, 5, 6, 7, 8] * 10, dtype="Int64")})
    steps = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")), ["k"]),
        (SimpleImputer(), ["v"]),
    )
    y = ((frame["k"].fillna(0) == 0) ^ (frame["v"].fillna(0) > 4)).to_numpy(bool)
    rules = secateur.simplify(
        make_pipeline(steps, DecisionTreeClassifier(random_state=0)).fit(frame, y), frame, y, each_leaf=True
    )
    written: dict[str, Any] = {}
    exec(rules.to_python(vectorized=True), written)
    assert written["predict"](frame)[0].tolist() == rules.predict(frame).tolist()
