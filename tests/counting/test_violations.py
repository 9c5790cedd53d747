"""Rows counted by pattern, in any blocks, against walking one row at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest import mock

import numpy as np
import oracles
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import strategies
from drawing import fewer, further
from hypothesis import given, settings
from hypothesis import strategies as st
from method_settings import own_settings
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import Rules
from secateur.choosing import choose_lines
from secateur.counting import masks, training_evidence
from secateur.counting.training_evidence import RowEvidence, count_without_one
from secateur.errors import InputError
from secateur.kernels import running
from secateur.rows import rows as rows_module
from secateur.rows.checking import check_rows
from secateur.rows.rows import Rows
from secateur.tree.paths import trace_paths
from secateur.tree.tree import Tree

Problem = tuple[Tree, tuple[Any, Any, Any]]
METHODS = ["faithful", "mismatch", "budgeted", "quinlan", "exact", "none"]


def problems(**shape: Any) -> st.SearchStrategy[Problem]:
    return (
        strategies.trees(**shape)
        .flatmap(lambda tree: st.tuples(st.just(tree), strategies.labelled_rows(tree, weights=True, max_rows=80)))
        .map(lambda drawn: (drawn[0], (*drawn[1][:2], [0.1 * weight for weight in drawn[1][2]])))
    )  # sums that are rounded


@contextmanager
def in_blocks(n_rows: int = 64, mask_bytes: int = 0, **changes: int) -> Iterator[None]:
    """Have masks made of few rows at a time, rows of large trees walk, and rows of few patterns looked at singly.

    A mask is filled with so many rows at a time. It holds 64 of them, or as many as fit into the bytes.
    """
    with (
        mock.patch.multiple(masks, BLOCK_ROWS=n_rows, MASK_BYTES=mask_bytes),
        mock.patch.multiple(training_evidence, SPLIT_TESTS=1, MASKED_LEAVES=3, **changes),
    ):
        yield


@pytest.mark.parametrize("most_numbers", [0, 1 << 20])
@given(problem=problems(max_leaves=12), data=st.data())
@settings(max_examples=60, deadline=None)
def test_masks_in_blocks_and_one_row_at_a_time_agree(most_numbers: int, problem: Problem, data: st.DataObject) -> None:
    """Also sums of weights, to the last bit."""
    tree, (X, y, w) = problem
    paths = trace_paths(tree)
    size = len(paths.links)
    parts = np.array(data.draw(st.lists(st.sampled_from("dof"), min_size=size, max_size=size)))
    deleted, opened = parts == "d", parts == "o"
    for weights in (None, np.array(w)):
        evidence = RowEvidence(tree, check_rows(tree, X), y, weights)
        with mock.patch.object(training_evidence, "MOST_NUMBERS", most_numbers):
            small = evidence.count_violations(paths, deleted, opened)
            with in_blocks():
                large = evidence.count_violations(paths, deleted, opened)
        assert small.is_paired == large.is_paired == (most_numbers == 0 and bool((deleted | opened).any()))
        np.testing.assert_array_equal(small.cells, large.cells)
        np.testing.assert_array_equal(small.leaf_counts, large.leaf_counts)
        assert_same_of_every_form(evidence, large, deleted, most_numbers)
        check_against_rows(tree, small, deleted, X, y, weights, data)


def assert_same_of_every_form(evidence: RowEvidence, found: Any, deleted: Any, most_numbers: int) -> None:
    """Rows give the same counts however they lie in memory."""
    tree, matrix = evidence.tree, evidence.rows.select(0, evidence.n_rows, np.arange(evidence.tree.n_features))
    wide = np.hstack([matrix, np.zeros((len(matrix), 3 * matrix.shape[1] + 1), dtype=matrix.dtype)])
    tested = np.unique(tree.feature[tree.feature >= 0])
    listed = [
        *(evidence.rows, Rows.of(np.ascontiguousarray(matrix)), Rows.of(np.asfortranarray(matrix))),
        Rows.of(wide[:, ::-1][:, ::-1][:, : matrix.shape[1]]),  # not in one piece
        Rows.of_columns(np.ascontiguousarray(matrix[:, tested]), tested, matrix.shape[1]),
        Rows.of(np.ascontiguousarray(wide)),
    ]
    for rows in listed:
        other = RowEvidence(tree, rows, evidence.class_ids, evidence.weights)
        for way in (in_blocks(), nullcontext()):
            with way, mock.patch.object(training_evidence, "MOST_NUMBERS", most_numbers):
                same = other.count_violations(found.paths, deleted, found.opened)
            np.testing.assert_array_equal(same.cells, found.cells)
            np.testing.assert_array_equal(same.leaf_counts, found.leaf_counts)


def check_against_rows(tree: Tree, found: Any, deleted: Any, X: Any, y: Any, weights: Any, data: st.DataObject) -> None:
    """Counts of rules, and what they gain without a condition, row by row."""
    paths, opened = found.paths, found.opened
    gone = np.zeros_like(opened)
    for rule in range(paths.n_rules):
        span = paths.entries(rule)
        links = paths.links[span]

        def count(without: Any, links: Any = links) -> NDArray[np.float64]:
            kept = links[~without].tolist()
            inside = [row for row in range(len(X)) if oracles.satisfies(tree, X[row], kept)]
            weight = np.ones(len(inside)) if weights is None else weights[inside]
            return np.bincount(y[inside], weights=weight, minlength=tree.n_classes)

        np.testing.assert_array_equal(found.leaf_counts[rule], count(links < 0))
        np.testing.assert_array_equal(found.counts[rule], count(deleted[span]))
        everything = count(deleted[span] | opened[span])
        np.testing.assert_allclose(found.counts_without_open[rule], everything, rtol=1e-12)
        loose = np.flatnonzero(opened[span]) + span.start
        some = data.draw(st.permutations(loose.tolist()))
        gone[some[: 1 if found.is_paired else len(some) // 2]] = True
        for entry in loose[~gone[loose]].tolist():
            with_it = deleted | gone
            before = count(with_it[span])
            with_it[entry] = True
            gained = found.gain(np.array([entry]), gone)[0]
            np.testing.assert_allclose(gained, count(with_it[span]) - before, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@given(problem=problems(max_leaves=12), tolerance=st.sampled_from([0.0, 0.1, 0.4]))
@settings(max_examples=25, deadline=None)
def test_a_method_deletes_the_same_however_rows_are_counted(method: str, problem: Problem, tolerance: float) -> None:
    tree, (X, y, w) = problem
    labels = tree.classes[y]
    for weights in (None, w):
        given_rows = {"method": method, "sample_weight": weights, **own_settings(method, tolerance=tolerance)}
        small = secateur.simplify(tree, X, labels, each_leaf=True, **given_rows)
        with in_blocks(), mock.patch.object(rows_module, "PLAIN_ROWS", -1):
            large = secateur.simplify(tree, X, labels, each_leaf=True, **given_rows)
            winners, predicted = large.apply(X), large.predict(X)
            audit, of_list = large.audit(X, labels, sample_weight=weights), choose_lines(large).apply(X)
        assert large == small
        assert audit.to_dict() == small.audit(X, labels, sample_weight=weights).to_dict()
        np.testing.assert_array_equal(
            audit.per_line.counts, small.audit(X, labels, sample_weight=weights).per_line.counts
        )
        np.testing.assert_array_equal(of_list, choose_lines(small).apply(X))
        np.testing.assert_array_equal(winners, small.apply(X))
        np.testing.assert_array_equal(predicted, small.predict(X))


@pytest.mark.parametrize("method", ["mismatch", "faithful", "quinlan"])
@given(problem=problems(max_leaves=16), tolerance=st.sampled_from([0.0, 0.1, 0.4]))
@settings(max_examples=50, deadline=None)
def test_too_many_patterns_take_several_passes_to_the_same_answer(
    method: str, problem: Problem, tolerance: float
) -> None:
    tree, (X, y, _) = problem
    labels = tree.classes[y]
    wanted = own_settings(method, tolerance=tolerance)
    at_once = secateur.simplify(tree, X, labels, method=method, each_leaf=True, **wanted)
    with mock.patch.object(training_evidence, "MOST_NUMBERS", 0):
        in_passes = secateur.simplify(tree, X, labels, method=method, each_leaf=True, **wanted)
        with in_blocks():
            by_large_passes = secateur.simplify(
                tree, X, labels, method=method, each_leaf=True, **own_settings(method, tolerance=tolerance)
            )
    assert at_once == in_passes == by_large_passes


@pytest.fixture(scope="module")
def large() -> tuple[NDArray[np.float64], NDArray[np.int64], DecisionTreeClassifier]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 4)).round(2)
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=3_000) > 0).astype(np.int64)
    return X, y, DecisionTreeClassifier(max_leaf_nodes=200, random_state=0).fit(X, y)


@pytest.mark.drawn
@pytest.mark.parametrize("n_rows", fewer([63, 64, 65, 513, 1, 1024, *further([511, 512, 3000])]))
def test_blocks_meet_without_a_gap(n_rows: int, large: Any) -> None:
    """Row counts around the word and the block; more tests of a column than are compared at once."""
    X, y, model = large
    X, y = X[:n_rows], y[:n_rows]
    small = secateur.simplify(model, X, y, method="mismatch", each_leaf=True).to_json()
    for block_rows, mask_rows in [(64, 64), (512, 512), (128, 1024), (512, 1 << 16)]:
        with (
            in_blocks(block_rows, model.tree_.node_count * mask_rows // 8),
            mock.patch.object(masks, "LIMITS_AT_ONCE", 7),
        ):
            found = secateur.simplify(model, X, y, method="mismatch", each_leaf=True)
        assert found.to_json() == small, f"{mask_rows} rows in a mask, filled with {block_rows} at a time"


FORMS = {
    "C float64": np.ascontiguousarray,
    "F float64": np.asfortranarray,
    "C float32": lambda X: np.ascontiguousarray(X, dtype=np.float32),
    "F float32": lambda X: np.asfortranarray(X, dtype=np.float32),
    "a view": lambda X: np.repeat(X.astype(np.float32), 2, axis=1)[:, ::2],
    "every other row": lambda X: np.repeat(X.astype(np.float32), 2, axis=0)[::2],
    "pandas": lambda X: pd.DataFrame(X),
    "pandas, mixed": lambda X: pd.DataFrame({f"x{k}": X[:, k].astype(f"f{4 + 4 * (k % 2)}") for k in range(4)}),
    "polars": lambda X: pl.DataFrame({f"x{k}": X[:, k] for k in range(4)}),
    "arrow": lambda X: pa.table({f"x{k}": pa.chunked_array([X[:100, k], X[100:, k]]) for k in range(4)}),
}


@pytest.fixture(scope="module")
def of_matrix(large: Any) -> Rules:
    X, y, model = large
    return secateur.simplify(model, X, y, feature_names=list("abcd"), method="mismatch", each_leaf=True)


@pytest.mark.parametrize("form", fewer(FORMS))
def test_every_form_of_rows_gives_the_same_rules(form: str, large: Any, of_matrix: Rules) -> None:
    """In masks of 320 rows, filled with 128 at a time."""
    X, y, model = large
    table = FORMS[form](X)
    if hasattr(table, "rename_columns"):
        table = table.rename_columns(list("abcd"))
    elif hasattr(table, "columns"):
        table.columns = list("abcd")
    tree = secateur.from_model(model, feature_names=list("abcd"))
    with in_blocks(128, tree.n_nodes * 320 // 8), mock.patch.object(rows_module, "BLOCK_ROWS", 512):
        rules = secateur.simplify(tree, table, y, method="mismatch", each_leaf=True)
        predicted = rules.predict(table)
    np.testing.assert_array_equal(rules.deleted, of_matrix.deleted)
    np.testing.assert_array_equal(rules.covered_counts, of_matrix.covered_counts)
    np.testing.assert_array_equal(predicted, of_matrix.predict(X))


@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 1, 3_000)], ids=["rows", "weights"])
def test_one_thread_finds_what_several_find(weights: Any, large: Any) -> None:
    X, y, model = large
    found = []
    for number in (1, 2, 5):
        with (
            in_blocks(128),
            mock.patch.object(masks, "MASK_BYTES", 1 << 26),
            mock.patch.object(running, "n_threads", return_value=number),
        ):
            found.append(secateur.simplify(model, X, y, sample_weight=weights, method="mismatch", each_leaf=True))
    assert found[0] == found[1] == found[2]


@given(problem=problems(max_leaves=12))
@settings(max_examples=25, deadline=None)
def test_certificates_and_diagnoses_do_not_depend_on_how_rows_are_counted(problem: Problem) -> None:
    tree, (X, y, _) = problem
    X, first = np.unique(np.nan_to_num(X, nan=0.5), axis=0, return_index=True)
    labels = tree.classes[y[first]]
    try:
        small = secateur.simplify(tree, X, labels, method="mismatch-certified", each_leaf=True)
    except InputError:  # two rows are equal in the tree's own terms
        return
    diagnosis = secateur.diagnose(tree, X, labels)
    for changes in ({}, {"MOST_NUMBERS": 0}, {"MOST_NUMBERS": 30}):
        with in_blocks(**changes):
            assert secateur.simplify(tree, X, labels, method="mismatch-certified", each_leaf=True) == small
            assert list(secateur.diagnose(tree, X, labels)) == list(diagnosis)


@pytest.mark.long
def test_rules_that_do_not_fit_into_one_pass_are_counted_in_groups(large: Any) -> None:
    X, y, model = large
    X, y = X[:600], y[:600]
    at_once = {
        method: secateur.simplify(model, X, y, method=method, each_leaf=True)
        for method in ("mismatch", "faithful", "quinlan")
    }
    with mock.patch.object(training_evidence, "MOST_NUMBERS", 500):
        paths = trace_paths(secateur.from_model(model))
        groups = training_evidence.split_rules(paths, paths.mismatched, 2)
        assert len(groups) > 5
        assert np.array_equal(np.sum(groups, axis=0), np.ones(paths.n_rules))
        for method, rules in at_once.items():
            assert secateur.simplify(model, X, y, method=method, each_leaf=True) == rules


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def fail(item: int) -> int:
        if item == 3:
            raise ValueError("three")
        return item

    with mock.patch.object(running, "n_threads", return_value=2), pytest.raises(ValueError, match="three"):
        list(running.map_in_threads(fail, range(50)))


@pytest.mark.parametrize("few_classes", [0, 8])
@given(problem=problems(max_leaves=12))
@settings(max_examples=60, deadline=None)
def test_rows_of_a_rule_without_one_condition_are_those_that_satisfy_all_others(
    few_classes: int, problem: Problem
) -> None:
    tree, (X, y, _) = problem
    rows, class_ids = check_rows(tree, X), np.asarray(y)
    paths, shape = trace_paths(tree), tree.n_classes
    evidence = RowEvidence(tree, rows, class_ids, None)
    with in_blocks(FEW_CLASSES=few_classes):
        leaf_counts, counts = count_without_one(evidence, paths)
    holds = masks.unpack_bits(masks.pack_links(tree, rows), rows.n_rows)
    for rule in range(paths.n_rules):
        span = paths.entries(rule)
        links = paths.links[span].tolist()
        expected = np.bincount(class_ids[holds[[0, *links]].all(axis=0)], minlength=shape)
        assert leaf_counts[rule].tolist() == expected.tolist()
        for entry, link in zip(range(span.start, span.stop), links, strict=True):
            others = holds[[0, *(one for one in links if one != link)]].all(axis=0)
            assert counts[entry].tolist() == np.bincount(class_ids[others], minlength=shape).tolist()
