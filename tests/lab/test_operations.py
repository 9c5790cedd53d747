"""The twins that count: they delete what the methods delete, and count what can be counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import secateur
from benchmarks.paper import operations
from benchmarks.paper.operations import PROCEDURES, WITH_ROWS, count_work
from secateur.lab import runtime
from secateur.lab.summary import load_counted


@given(seed=st.integers(0, 10_000), n_classes=st.sampled_from([2, 3]), n_leaves=st.integers(2, 24))
@settings(max_examples=60)
@pytest.mark.parametrize("procedure", PROCEDURES)
def test_a_twin_deletes_what_its_method_deletes(procedure: str, seed: int, n_classes: int, n_leaves: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(150, 5)).astype(np.float32)
    y = rng.integers(0, n_classes, size=150) * (X[:, 0] > 1)
    tree = secateur.from_model(DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=seed).fit(X, y))
    tolerance = {"tolerance": 0.0437} if procedure == "M1-P" else {}
    method = "M2-P" if procedure == WITH_ROWS else procedure
    rules = secateur.simplify(tree, X, y, method=method, each_leaf=True, **tolerance)
    work = count_work(tree, X, y, procedure, **tolerance)
    assert work.deleted == {(rule.leaf_id, link) for rule in rules for link in rule.deleted_ids}
    assert work.operations <= work.bound


def stump_below_a_leaf() -> tuple[secateur.Tree, Any, Any]:
    """Three leaves; M2 deletes the second edge from the rule of the third node, which has the class of the first."""
    builder = secateur.TreeBuilder(classes=[0, 1], feature_names=["a", "b"])
    root = builder.split("a", 0)
    builder.leaf([4, 0], parent=root, side="left")
    inner = builder.split("b", 0, parent=root, side="right")
    builder.leaf([3, 1], parent=inner, side="left")
    builder.leaf([0, 2], parent=inner, side="right")
    X = np.repeat([[-1.0, 0.0], [1.0, -1.0], [1.0, 1.0]], (4, 4, 2), axis=0)
    return builder.build(), X, np.array([0] * 7 + [1] * 3)


def test_counts_by_hand() -> None:
    tree, X, y = stump_below_a_leaf()  # 10 rows, 5 nodes, paths of 1, 2 and 2 edges
    found = {procedure: count_work(tree, X, y, procedure) for procedure in PROCEDURES}
    assert {work.entries for work in found.values()} == {10}  # 5 nodes and 5 entries
    bare, ranked = found["M2-P"], found[WITH_ROWS]
    assert (bare.trials, bare.row_tests, bare.comparisons, bare.deleted) == (0, 0, 0, {(3, 2)})
    assert (ranked.trials, ranked.row_tests) == (3, 10 * 4 + 10 * (1 + 1 + 2))  # masks of 4 edges; kept conditions
    # Izza. Leaf 1 without a: 2 conditions of leaf 4, met. Leaf 3 without a: 2 of leaf 4, b parts them; then without b:
    # 2, met. Leaf 4 without a: 1 of leaf 1, met; without b: 1 of leaf 1, which a parts, and 2 of leaf 3, met.
    assert (found["Izza"].comparisons, found["Izza"].deleted) == (2 + 2 + 2 + 1 + 3, {(3, 2)})
    # M1-P: leaf 3 alone has a candidate, the edge into node 2. Its rule as it is (2 conditions), without the whole set
    # (1; 3/4 becomes 7/8), and step by step (1).
    assert (found["M1-P"].trials, found["M1-P"].row_tests) == (3, 10 * 4 + 10 * (2 + 1 + 1))


def test_twice_the_rows_are_twice_the_row_tests_and_no_more_of_anything_else() -> None:
    tree, X, y = stump_below_a_leaf()
    for procedure in PROCEDURES:
        once, twice = count_work(tree, X, y, procedure), count_work(tree, np.vstack([X, X]), [*y, *y], procedure)
        if procedure != "Quinlan":  # whose test is surer with more rows
            assert twice.row_tests == 2 * once.row_tests
            assert (twice.entries, twice.trials, twice.comparisons) == (once.entries, once.trials, once.comparisons)


@pytest.mark.long
def test_the_stored_counts_are_those_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "LEAF_TARGETS", (4, 16))
    found = operations.run_operations(lambda what: None, row_counts=runtime.ROW_COUNTS[:1])
    # The rows of a smaller sample are the first of a larger one only if as many are drawn: the first panel is compared.
    first = [row for row in found if row["panel"] == "leaves"]
    assert first == [row for row in load_counted("operations") if row["panel"] == "leaves" and row["size"] in (4, 16)]
