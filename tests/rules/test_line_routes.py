"""One walk finds a row's leaf and its line, as the tree and the lines one after another do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import threshold_rows
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.rows.checking import check_rows
from secateur.rules import lines


@pytest.mark.parametrize("settings", [{}, {"budget": 0.05}, {"tolerance": 1, "sections": 1}, {"method": "mismatch"}])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_at_every_threshold_and_one_float_beside_it_the_walk_ends_where_lines_are_found_one_by_one(
    settings: dict[str, Any], missing: float
) -> None:
    for seed in range(5):
        X = threshold_rows.make_rows(seed, missing=missing)
        y = np.random.default_rng(seed).integers(0, 2 + seed % 3, len(X))
        model = DecisionTreeClassifier(max_depth=3 + seed, random_state=seed).fit(X, y)
        rules = secateur.simplify(model, X, y, **settings)
        rows = check_rows(rules.tree, threshold_rows.rows_beside(rules.tree, X))
        assert rules.line_routes is not None
        leaf, line = rules.find_places(rows)
        assert np.array_equal(leaf, rules.find_leaves(rows))
        placed, _ = lines.place_rows(rules, rows)
        assert np.array_equal(placed.line, line)
        assert np.array_equal(placed.leaf, leaf)


def test_a_list_of_very_many_leaves_is_asked_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    X = threshold_rows.make_rows(3)
    y = np.random.default_rng(3).integers(0, 2, len(X))
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    found = secateur.simplify(model, X, y).apply(X)
    monkeypatch.setattr(lines, "MOST_LEAVES", 3)
    rules = secateur.simplify(model, X, y)
    assert rules.line_routes is None
    assert np.array_equal(rules.apply(X), found)


@pytest.mark.parametrize("settings", [{}, {"budget": 0.05}, {"tolerance": 1, "sections": 1}, {"method": "mismatch"}])
def test_rows_that_the_next_line_answers_rightly_are_counted_as_one_by_one(settings: dict[str, Any]) -> None:
    for seed in range(5):
        X = threshold_rows.make_rows(seed, missing=0.1)
        y = np.random.default_rng(seed).integers(0, 2 + seed % 3, len(X))
        model = DecisionTreeClassifier(max_depth=3 + seed, random_state=seed).fit(X, y)
        rules = secateur.simplify(model, X, y, **settings)
        assert rules.layout is not None
        rows, line = check_rows(rules.tree, X), rules.apply(X)
        wanted, covers = np.zeros(rules.n_lines), rules.covers(X)
        for row, own in enumerate(line.tolist()):
            section = rules.layout.section_of_line[own]
            listed = rules.layout.rule_lines[covers[row]].tolist()
            later = [one for one in listed if one > own] if own in listed else []
            then = later[0] if later else rules.layout.rest_lines[section]
            wanted[own] += rules.class_ids[then] == y[row]
        assert np.array_equal(lines.count_struck(rules, rows, y), wanted)
        then = lines.find_next_lines(rules, rows, line)
        assert np.array_equal(np.bincount(line, rules.class_ids[then] == y, rules.n_lines), wanted)
