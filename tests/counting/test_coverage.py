"""Rows that rules cover, found tile by tile in the rows' own order and in that of leaves, against one row at a time."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.counting import coverage
from secateur.counting.coverage import find_overlap, find_winners, find_winners_and_overlap
from secateur.rows import rows as rows_module
from secateur.rows.checking import check_rows
from secateur.rows.rows import Rows
from secateur.tree.paths import trace_paths


def by_tiles() -> Any:
    """Have rows covered by compiled tiles."""
    return mock.patch.object(coverage, "PLAIN_PAIRS", -1)


@given(tree=strategies.trees(max_leaves=12), data=st.data())
@settings(max_examples=60, deadline=None)
def test_winners_and_overlap_are_those_of_one_row_at_a_time(tree: Any, data: st.DataObject) -> None:
    X, y, _ = data.draw(strategies.labelled_rows(tree, max_rows=80))
    paths = trace_paths(tree)
    deleted = np.array(data.draw(strategies.lists_of(st.booleans(), len(paths.links))), dtype=bool)
    ranking = np.array(data.draw(st.permutations(range(paths.n_rules))))
    rows = Rows.of(np.ascontiguousarray(check_rows(tree, X).matrix))
    kept = [paths.links[paths.entries(rule)][~deleted[paths.entries(rule)]].tolist() for rule in range(paths.n_rules)]
    covers = np.array([[oracles.satisfies(tree, row, links) for links in kept] for row in rows.matrix], dtype=bool)
    of_class = [covers[:, paths.leaf_class == class_id].any(axis=1) for class_id in range(tree.n_classes)]
    with by_tiles():
        winners, conflict, covered, counts = find_winners_and_overlap(tree, paths, deleted, ranking, rows, y)
        some = find_winners(tree, paths, deleted, ranking[:2], rows)
        overlap = find_overlap(tree, paths, deleted, rows, ranking)
        of_some = find_winners_and_overlap(tree, paths, deleted, ranking[:2], rows, y)
        overlap_of_some = find_overlap(tree, paths, deleted, rows, ranking[:2])
    np.testing.assert_array_equal(winners, ranking[covers[:, ranking].argmax(axis=1)])
    np.testing.assert_array_equal(conflict, np.sum(of_class, axis=0) > 1)
    np.testing.assert_array_equal(covered, covers.any(axis=1))
    np.testing.assert_array_equal(overlap, [conflict, covered])
    first_two = np.where(covers[:, ranking[:2]].any(axis=1), ranking[:2][covers[:, ranking[:2]].argmax(axis=1)], -1)
    np.testing.assert_array_equal(some, first_two)
    np.testing.assert_array_equal(of_some[0], first_two)
    some_covers, some_classes = covers[:, ranking[:2]], paths.leaf_class[ranking[:2]]
    in_conflict = some_covers.all(axis=1) & (len(set(some_classes.tolist())) > 1)
    np.testing.assert_array_equal(of_some[1:3], [in_conflict, some_covers.any(axis=1)])
    np.testing.assert_array_equal(overlap_of_some, of_some[1:3])
    by_class = [covers[y == class_id].sum(axis=0) for class_id in range(tree.n_classes)]
    np.testing.assert_array_equal(counts, np.transpose(by_class))


FORMS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "converted": lambda X: X.astype(np.float64),
    "wide": lambda X: np.column_stack([X, *[X] * 4]),
}


@pytest.mark.parametrize("form", FORMS)
def test_blocks_of_every_form_are_covered_alike(form: str) -> None:
    """Several blocks, the last of them not full; of a wide table the model uses few columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 4)).round(2).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=3_000) > 0).astype(np.int64)
    table = FORMS[form](X)
    seen = table * (np.arange(table.shape[1]) < 4)  # a constant column is never split
    rules = secateur.simplify(
        DecisionTreeClassifier(max_leaf_nodes=200, random_state=0).fit(seen, y), table, y, each_leaf=True
    )
    found = rules.audit(table, y).to_dict(), rules.predict(table).tolist()
    with by_tiles(), mock.patch.object(rows_module, "BLOCK_ROWS", 512):
        assert found == (rules.audit(table, y).to_dict(), rules.predict(table).tolist())
