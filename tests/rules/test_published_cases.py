"""Cases and edits of published tables, against a search over all cells of the tree's tests.

A cell is one side of every test of the tree, so values of one cell are alike to the tree, and a grid of one value for
each cell is all that there is to try.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import oracles
import pytest
from drawing import PROFILE
from edited_lists import Plain
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur.errors import ParameterError
from secateur.tree.tree import Tree

TABLES = ("german", "adult")
N_CASES = {"quick": 6, "daily": 20, "thorough": 100}[PROFILE]  # of each table
N_EDITS = {"quick": 4, "daily": 12, "thorough": 150}[PROFILE]


@cache
def fit(name: str, data_dir: str) -> tuple[secateur.Rules, Any]:
    """The rules of a tree of depth 5, and the rows that were set aside."""
    data = secateur.datasets.load(name, data_dir)
    kept, aside, y, truth = train_test_split(data.X, data.y, test_size=0.3, stratify=data.y, random_state=0)
    model = DecisionTreeClassifier(max_depth=5, min_samples_leaf=5, random_state=0).fit(kept, y)
    rules = secateur.simplify(model, kept, y, feature_names=data.feature_names)
    return rules.measure(aside, truth), (aside, truth)


def list_values(tree: Tree, feature: int) -> list[float]:
    """One value in each cell of a column: each limit, and one beyond the last."""
    limits = np.unique(tree.upper[(tree.feature == feature) & ~tree.is_leaf]).tolist()
    return [*limits, limits[-1] + 1.0]


def is_empty(tree: Tree, links: list[int]) -> bool:
    """Whether no number satisfies all links on some column."""
    low, high = np.full(tree.n_features, -np.inf), np.full(tree.n_features, np.inf)
    for link in links:
        node = oracles.parents(tree)[link]
        feature, limit = int(tree.feature[node]), float(tree.upper[node])
        if oracles.is_left(tree, link):
            high[feature] = min(high[feature], limit)
        else:
            low[feature] = max(low[feature], limit)
    return bool((low >= high).any())


def holds(region: Any, value: float) -> bool:
    return bool(region.low < value <= region.high)


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("name", TABLES)
def test_answer_grounds_and_nearest_changes_are_those_of_a_search(name: str, data_dir: str) -> None:
    rules, (aside, _) = fit(name, data_dir)
    tree, random = rules.tree, np.random.default_rng(0)
    tested = np.unique(tree.feature[~tree.is_leaf]).tolist()
    values = {feature: list_values(tree, feature) for feature in tested}
    n_found = [0, 0, 0]  # cases whose nearest changes are of one column, of two, of more
    for place in random.choice(len(aside), N_CASES, replace=False).tolist():
        row = np.asarray(aside[place], dtype=tree.dtype).astype(float)
        locked = random.choice(tested, 2, replace=False).tolist()
        told = rules.explain(row, changes=True, locked=locked)
        leaf = oracles.walk(tree, row)
        own = int(tree.leaf_class[leaf])
        assert told.prediction == tree.classes[own]
        assert told.own_rule.leaf_id == leaf
        kept = told.own_rule.kept_ids
        assert set(kept) <= set(oracles.path(tree, leaf))
        assert oracles.satisfies(tree, row, kept)
        for other in oracles.leaves(tree):  # the grounds alone give the class: no row of another class has them
            if tree.leaf_class[other] != own:
                assert is_empty(tree, [*oracles.path(tree, other), *kept])
        free = [feature for feature in tested if feature not in locked]
        for size in (1, 2):
            flips: dict[tuple[int, ...], dict[tuple[float, ...], int]] = {}
            for columns in itertools.combinations(free, size):
                for tried in itertools.product(*(values[column] for column in columns)):
                    changed = row.copy()
                    changed[list(columns)] = tried
                    said = oracles.tree_class(tree, changed)
                    if said != own:
                        flips.setdefault(columns, {})[tried] = said
            if flips:
                break
        n_found[size - 1 if flips else 2] += 1
        if not flips:
            assert all(len(one.columns) > 2 for one in told.changes)
            continue
        names = {columns: tuple(tree.feature_name(column) for column in columns) for columns in flips}
        assert {tuple(sorted(one.columns)) for one in told.changes} == {tuple(sorted(one)) for one in names.values()}
        assert not {tree.feature_name(one) for one in locked} & {one for way in told.changes for one in way.columns}
        for columns, found in flips.items():
            ways = [one for one in told.changes if set(one.columns) == set(names[columns])]
            for tried in itertools.product(*(values[column] for column in columns)):
                at = dict(zip(names[columns], tried, strict=True))
                inside = [
                    one
                    for one in ways
                    if all(holds(region, at[named]) for named, region in zip(one.columns, one.regions, strict=True))
                ]
                said = {tree.classes.tolist().index(one.prediction) for one in inside}
                assert said == ({found[tried]} if tried in found else set()), (columns, tried)
            if size == 1:  # intervals that touch are one
                ends = sorted((one.prediction, one.regions[0].low, one.regions[0].high) for one in ways)
                for (label, _, high), (other_label, low, _) in itertools.pairwise(ends):
                    assert label != other_label or low > high
    assert n_found[0] > 0


@pytest.mark.long
@pytest.mark.drawn
@pytest.mark.parametrize("name", TABLES)
def test_prices_regions_and_journals_are_those_of_a_plain_list(name: str, data_dir: str) -> None:
    z3 = pytest.importorskip("z3", reason="z3 judges what an edited list still keeps")
    from solving import solve

    assert z3 is not None
    rules, (aside, truth) = fit(name, data_dir)
    tree, random = rules.tree, np.random.default_rng(1)
    names = [tree.feature_name(feature) for feature in np.unique(tree.feature[~tree.is_leaf]).tolist()]
    sets = [(np.asarray(rules.training.X), np.asarray(rules.training.y)), (aside, truth)]  # type: ignore[union-attr]
    made = n_kept = 0
    while made < N_EDITS:
        plain, edited = Plain(rules), rules
        for _ in range(int(random.integers(1, 4))):
            line = int(random.integers(1, edited.n_lines + 1))
            one: dict[str, Any] = [
                {"edit": "strike", "line": line},
                {"edit": "strike", "line": line, "column": str(random.choice(names))},
                {"edit": "without", "column": str(random.choice(names))},
                {"edit": "answer", "line": line, "to": int(random.choice(tree.classes))},
                {"edit": "rounded"},
            ][int(random.integers(5))]
            try:
                edited = edited.replay([{**one, "reason": "drawn"}])
            except ParameterError:
                continue
            plain.edit(one)
            plain.tree = edited.tree
        if edited is rules:
            continue
        made += 1
        regions = edited.changed()
        for (matrix, labels), price in zip(sets, (edited.price, edited.unseen_price), strict=True):
            assert price is not None
            some = random.choice(len(matrix), min(len(matrix), 400), replace=False)
            given = edited.predict(matrix)
            said = tree.classes[tree.leaf_class[apply(tree, matrix)]]
            assert price.rows == len(matrix)
            assert price.differs == (given != said).sum()
            for label, caught, lost in zip(tree.classes, price.caught, price.lost, strict=True):
                assert caught == ((given == label) & (labels == label) & (said != label)).sum()
                assert lost == ((given != label) & (labels == label) & (said == label)).sum()
            for place in some.tolist():
                row = np.asarray(matrix[place], dtype=tree.dtype).astype(float)
                assert given[place] == tree.classes[plain.decide(row)]
                inside = [r for r in regions if all(c.low < row[c.feature] <= c.high for c in r.conditions)]
                pair = (str(said[place]), str(given[place]))
                assert [(r.tree_class, r.list_class) for r in inside] == ([pair] if pair[0] != pair[1] else [])
        again = rules.replay(edited.journal)
        assert again.to_json() == edited.to_json()
        assert not edited.is_exact
        assert not edited.keeps_shares
        assert edited.guarantee.startswith("Edited ")
        if made % 10 == 1:  # is there a row at all whose class changes? z3 says the same as the regions
            text = edited.to_smtlib()
            assert "Expected: unsat" not in text
            found = solve(tree, text)
            assert found.differ == bool(regions)
            n_kept += not found.differ
            if found.row is not None:
                row = np.array(found.row)
                assert oracles.tree_class(tree, row) != plain.decide(row)
    assert n_kept < made


def apply(tree: Tree, matrix: Any) -> Any:
    from secateur.rows.rows import Rows, apply_tree

    return apply_tree(tree, Rows.of(np.asarray(matrix, dtype=tree.dtype)))
