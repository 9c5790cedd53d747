"""Evidence that adds up: rules from counts are the rules from rows, however the rows were cut."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from method_settings import own_settings
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import collect_evidence
from secateur.errors import FormatError, InputError, ParameterError
from secateur.results import Evidence
from secateur.tree.tree import Tree

SERVED = ("none", "sibling", "redundancy", "exact", "faithful", "mismatch", "quinlan")


@st.composite
def chunked_rows(draw: st.DrawFn) -> tuple[Tree, Any, Any, Any, list[Any]]:
    tree = draw(strategies.trees(with_counts=draw(st.booleans())))
    X, y, w = draw(strategies.labelled_rows(tree, weights=draw(st.booleans())))
    part = np.array(draw(st.lists(st.integers(0, 2), min_size=len(X), max_size=len(X))))
    return (
        tree,
        X,
        tree.classes[y],
        None if w is None else np.array(w),
        [part == k for k in range(3) if (part == k).any()],
    )


@given(problem=chunked_rows(), method=st.sampled_from(SERVED))
@settings(max_examples=60, deadline=None)
def test_merged_evidence_gives_the_rules_of_all_rows(problem: tuple[Any, ...], method: str) -> None:
    tree, X, y, w, parts = problem
    chunks = [collect_evidence(tree, X[p], y[p], sample_weight=None if w is None else w[p]) for p in parts]
    merged = Evidence.from_bytes(chunks[0].merge(*chunks[1:]).to_bytes())
    assert merged.n_rows == len(X)
    rules = secateur.simplify(
        tree, evidence=merged, method=method, each_leaf=True, **own_settings(method, tolerance=0.2)
    )
    assert (
        rules.to_json()
        == secateur.simplify(
            tree, X, y, sample_weight=w, method=method, each_leaf=True, **own_settings(method, tolerance=0.2)
        ).to_json()
    )


@given(problem=chunked_rows(), method=st.sampled_from(SERVED))
@settings(max_examples=50, deadline=None)
def test_evidence_for_one_method_serves_it(problem: tuple[Any, ...], method: str) -> None:
    tree, X, y, w, _ = problem
    if tree.counts is None:
        return
    evidence = collect_evidence(tree, X, y, sample_weight=w, method=method)
    rules = secateur.simplify(
        tree, evidence=evidence, method=method, each_leaf=True, **own_settings(method, tolerance=0.2)
    )
    assert (
        rules.to_json()
        == secateur.simplify(
            tree, X, y, sample_weight=w, method=method, each_leaf=True, **own_settings(method, tolerance=0.2)
        ).to_json()
    )
    assert evidence.n_numbers <= collect_evidence(tree, X, y, sample_weight=w).n_numbers


@pytest.fixture(scope="module")
def fitted() -> tuple[Any, Any, Any]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y), X, y


def test_chunks_may_come_in_any_order_and_are_not_changed(fitted: tuple[Any, Any, Any]) -> None:
    model, X, y = fitted
    parts = [collect_evidence(model, X[i::4], y[i::4]) for i in range(4)]
    before = parts[0].cells.copy()
    one, other = parts[0].merge(*parts[1:]), parts[3] + parts[1] + parts[0] + parts[2]
    assert np.array_equal(one.cells, other.cells)
    assert np.array_equal(parts[0].cells, before)
    assert secateur.simplify(model, evidence=one, method="mismatch", each_leaf=True) == secateur.simplify(
        model, X, y, method="mismatch", each_leaf=True
    )


def test_facts_and_names_are_part_of_the_evidence() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(0, 90, 300), "dose": rng.normal(size=300)})
    y = np.where((X["age"] > 40) ^ (X["dose"] > 0), "a", "b")
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    known = {"facts": ["0 <= age <= 120"], "class_names": ["A", "B"]}
    parts = [collect_evidence(model, X[i::2], y[i::2], **known) for i in range(2)]
    rules = secateur.simplify(model, evidence=parts[0] + parts[1], method="mismatch", each_leaf=True)
    assert rules == secateur.simplify(model, X, y, method="mismatch", each_leaf=True, **known)
    assert "age is a whole number" in {rules.tree.facts.describe_decimals(0, "age")}
    with pytest.raises(InputError, match="facts was passed beside evidence"):
        secateur.simplify(model, evidence=parts[0], facts=["age <= 100"], method="mismatch", each_leaf=True)


def test_evidence_for_faithful_does_not_tell_what_is_protected_apart(tmp_path: Path) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    wide = {"method": "faithful", "protect": False, "tolerance": 0.2}
    expected = secateur.simplify(model, X, y, each_leaf=True, **wide)
    assert (
        expected.deleted & ~secateur.simplify(model, X, y, method="faithful", tolerance=0.2, each_leaf=True).deleted
    ).any()
    narrow = collect_evidence(model, X, y, method="faithful")
    with pytest.raises(ParameterError, match="default settings and its rf_tol then"):
        secateur.simplify(model, evidence=narrow, each_leaf=True, **wide)
    assert secateur.simplify(model, evidence=collect_evidence(model, X, y), each_leaf=True, **wide) == expected
    X.assign(outcome=y).to_parquet(tmp_path / "rows.parquet")
    assert secateur.simplify(model, tmp_path / "rows.parquet", "outcome", each_leaf=True, **wide) == expected


def test_methods_that_look_at_single_rows_say_how_large_their_summary_would_be(fitted: tuple[Any, Any, Any]) -> None:
    model, X, y = fitted
    evidence = collect_evidence(model, X, y)
    for method in ("budgeted", "mismatch-certified"):
        with pytest.raises(InputError, match="as large as the 569 rows"):
            secateur.simplify(model, evidence=evidence, method=method, each_leaf=True)
        with pytest.raises(ParameterError, match="looks at rows one by one"):
            collect_evidence(model, X, y, method=method)
    signs = [0] * X.shape[1]
    rules = secateur.simplify(model, evidence=evidence, method="mismatch-certified", monotone=signs, each_leaf=True)
    assert rules.is_ranked


def test_a_summary_that_would_be_too_large_says_how_large() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = rng.integers(0, 2, 3000)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    with pytest.raises(ParameterError, match=r"would hold .* numbers, more than the 16,777,216"):
        collect_evidence(model, X, y)
    rules = secateur.simplify(
        model, evidence=collect_evidence(model, X, y, method="exact"), method="exact", each_leaf=True
    )
    assert rules == secateur.simplify(model, X, y, method="exact", each_leaf=True)


def test_evidence_of_another_tree_or_method_is_rejected(fitted: tuple[Any, Any, Any]) -> None:
    model, X, y = fitted
    other = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    evidence = collect_evidence(model, X, y)
    with pytest.raises(InputError, match="different trees, methods or facts"):
        evidence.merge(collect_evidence(other, X, y))
    with pytest.raises(InputError, match="different trees, methods or facts"):
        evidence.merge(collect_evidence(model, X, y, method="mismatch"))
    with pytest.raises(InputError, match="The evidence is of another tree"):
        secateur.simplify(other, evidence=evidence, method="mismatch", each_leaf=True)
    with pytest.raises(InputError, match="X was passed beside evidence"):
        secateur.simplify(model, X, evidence=evidence, method="mismatch", each_leaf=True)
    with pytest.raises(ParameterError, match="collected for the method 'mismatch'"):
        secateur.simplify(
            model, evidence=collect_evidence(model, X, y, method="mismatch"), method="quinlan", each_leaf=True
        )
    with pytest.raises(InputError, match="Expected evidence from collect_evidence, found dict"):
        secateur.simplify(model, evidence={}, method="mismatch", each_leaf=True)


def test_a_damaged_file_of_evidence_is_rejected(fitted: tuple[Any, Any, Any]) -> None:
    model, X, y = fitted
    content = collect_evidence(model, X, y).to_bytes()
    for damaged in (b"", b"PK", content[:-40], content[:200] + b"x" + content[201:]):
        with pytest.raises(FormatError, match=re.escape("evidence")):
            Evidence.from_bytes(damaged)


def test_weights_that_are_no_whole_numbers_add_up_as_far_as_floats_do() -> None:
    X, y = load_iris(return_X_y=True)
    w = np.random.default_rng(0).random(len(y))
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y, sample_weight=w)
    parts = [collect_evidence(model, X[i::2], y[i::2], sample_weight=w[i::2]) for i in range(2)]
    rules, whole = (
        secateur.simplify(model, evidence=parts[0] + parts[1], method="mismatch", each_leaf=True),
        secateur.simplify(model, X, y, sample_weight=w, method="mismatch", each_leaf=True),
    )
    assert np.array_equal(rules.deleted, whole.deleted)
    assert np.allclose(rules.covered_counts, whole.covered_counts, rtol=1e-12)


def test_evidence_is_saved_and_loaded(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    path = tmp_path / "iris.evidence"
    collect_evidence(model, X, y).save(path)
    loaded = Evidence.load(path)
    assert secateur.simplify(model, evidence=loaded, method="mismatch", each_leaf=True) == secateur.simplify(
        model, X, y, method="mismatch", each_leaf=True
    )
    with pytest.raises(InputError, match="There is no file"):
        Evidence.load(tmp_path / "none")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(FormatError, match="not an evidence file, or it is damaged"):
        Evidence.load(path)
