"""Rows that rules cover, and where rows are, by masks in any blocks, against one row at a time."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import oracles
import pytest
import strategies
from drawing import fewer
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.counting import masks
from secateur.rows import row_source
from secateur.rows import rows as rows_module
from secateur.rows.checking import check_rows
from secateur.rules.lines import place_rows


@given(tree=strategies.trees(max_leaves=12), data=st.data())
@settings(max_examples=60, deadline=None)
def test_places_and_overlap_are_those_of_one_row_at_a_time(tree: Any, data: st.DataObject) -> None:
    X, y, _ = data.draw(strategies.labelled_rows(tree, max_rows=150))
    method = data.draw(st.sampled_from(["exact", "mismatch", "none"]))
    each_leaf = secateur.simplify(tree, X, tree.classes[y], method=method, each_leaf=True)
    made = [each_leaf, secateur.simplify(tree, X, tree.classes[y], method=method)]
    if method == "exact":
        made.append(secateur.simplify(tree, each_leaf=True))  # without rows, that of a row's own leaf wins
    rows = check_rows(tree, X)
    for rules in made:
        kept = [rule.kept_ids for rule in rules]
        covers = np.array([[oracles.satisfies(tree, row, links) for links in kept] for row in X], dtype=bool)
        np.testing.assert_array_equal(rules.covers(X), covers.reshape(len(X), len(rules)))
        classes = rules.class_ids[rules.line_of_place[rules.leaves]]
        of_class = [covers[:, classes == class_id].any(axis=1) for class_id in range(tree.n_classes)]
        leaf = [rules.place_of_leaf[oracles.walk(tree, row)] for row in X]
        for mask_bytes in (0, 1 << 26):
            rows.packed.clear()
            with mock.patch.object(masks, "MASK_BYTES", mask_bytes):
                placed, counts = place_rows(rules, rows, y)
            assert placed.leaf.tolist() == leaf
            np.testing.assert_array_equal(placed.covered, covers.any(axis=1))
            np.testing.assert_array_equal(placed.conflict, np.sum(of_class, axis=0) > 1)
            np.testing.assert_array_equal(counts, rules.counts if rules.is_ranked else counts)
            np.testing.assert_array_equal(placed.line, rules.apply(X))
            for row, line in enumerate(placed.line.tolist()):
                assert line in (rules.line_of_place[rules.leaves[covers[row]]]) or rules.lines[line].is_otherwise


FORMS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "converted": lambda X: X.astype(np.float64),
    "wide": lambda X: np.column_stack([X, *[X] * 4]),
}


@pytest.mark.parametrize("form", fewer(FORMS))
@pytest.mark.parametrize("each_leaf", [True, False])
def test_blocks_of_every_form_are_covered_alike(form: str, each_leaf: bool) -> None:
    """Several blocks and pieces, the last of them not full; of a wide table the model uses few columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 4)).round(2).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=3_000) > 0).astype(np.int64)
    table = FORMS[form](X)
    seen = table * (np.arange(table.shape[1]) < 4)  # a constant column is never split
    model = DecisionTreeClassifier(max_leaf_nodes=200, random_state=0).fit(seen, y)
    rules = secateur.simplify(model, table, y, each_leaf=each_leaf)
    found = rules.audit(table, y).to_dict(), rules.predict(table).tolist(), rules.counts.tolist()
    with (
        mock.patch.multiple(masks, BLOCK_ROWS=512, MASK_BYTES=1 << 16),
        mock.patch.object(rows_module, "BLOCK_ROWS", 512),
        mock.patch.object(row_source, "PIECE_ROWS", 700),
    ):
        again = secateur.simplify(model, table, y, each_leaf=each_leaf)
        assert found == (rules.audit(table, y).to_dict(), rules.predict(table).tolist(), again.counts.tolist())
