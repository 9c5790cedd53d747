"""Lists against brute force: sections are a cut, and each possible row gets its leaf's class and nearly its share."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import oracles
import pytest
import strategies
import told_trees
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import secateur
from secateur import choosing
from secateur.facts.possible_rows import find_feasible
from secateur.methods.leaves import LeafMasks, list_places
from secateur.tree.paths import trace_paths
from secateur.tree.tree import Tree

TOLERANCES = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0)
ROUNDING = Fraction(1, 10**12)  # shares are stated as floats


def share_of(tree: Tree, leaf: int) -> Fraction:
    """The share of a leaf's class among the rows that the tree counts."""
    counts = [Fraction(str(float(number))) for number in tree.counts[leaf]]  # type: ignore[index]
    return counts[tree.leaf_class[leaf]] / sum(counts) if sum(counts) else Fraction(0)


def possible_rows(tree: Tree) -> list[Any]:
    found = [row for row in told_trees.all_rows(tree) if told_trees.is_possible(tree, tree.facts, row)]
    assume(found)  # facts may contradict each other
    return found


def section_of(rules: secateur.Rules, row: Any) -> list[int]:
    """The sections whose heading a row satisfies."""
    tree = rules.tree
    assert rules.layout is not None
    return [
        number
        for number, node in enumerate(rules.layout.nodes.tolist())
        if oracles.satisfies(tree, row, oracles.path(tree, node))
    ]


def holding(rules: secateur.Rules, section: int, row: Any) -> list[secateur.results.Section | Any]:
    """The lines of a section that a row may get its answer from, whatever their order."""
    found = [line for line in rules.sections[section].rules if oracles.satisfies(rules.tree, row, line.kept_ids)]
    return found or [rules.sections[section].otherwise]


@settings(deadline=None)
@given(
    tree=told_trees.told_trees(),
    tolerance=st.sampled_from(TOLERANCES),
    sections=st.sampled_from(("auto", 1, 2, 3, 5)),
)
def test_every_possible_row_gets_its_class_and_nearly_its_share(tree: Tree, tolerance: float, sections: Any) -> None:
    rows = possible_rows(tree)
    rules = secateur.simplify(tree, tolerance=tolerance, sections=sections)
    assert rules.is_exact
    within = Fraction(str(tolerance)) + ROUNDING
    for row in rows:
        leaf = oracles.walk(tree, row)
        (section,) = section_of(rules, row)
        lines = holding(rules, section, row)
        for line in lines:
            assert line.class_id == tree.leaf_class[leaf], (line, row)
            if tolerance < 1:
                assert abs(Fraction(line.share) - share_of(tree, leaf)) <= within, (line, row)
        # The first of them answers.
        answered = rules.lines[int(rules.apply([row])[0])]
        assert answered.index == lines[0].index
        assert rules.predict([row])[0] == tree.classes[tree.leaf_class[leaf]]
        if tolerance < 1:
            stated = rules.predict_proba([row])[0]
            assert stated.sum() == pytest.approx(1)
            assert stated[answered.class_id] == answered.share


@settings(deadline=None)
@given(
    tree=told_trees.told_trees(),
    tolerance=st.sampled_from(TOLERANCES),
    sections=st.sampled_from(("auto", 1, 2, 4)),
)
def test_windows_and_what_lines_stand_for(tree: Tree, tolerance: float, sections: Any) -> None:
    rows = [(oracles.walk(tree, row), row) for row in possible_rows(tree)]
    rules = secateur.simplify(tree, tolerance=tolerance, sections=sections)
    reached = {leaf for leaf, _ in rows}
    for section in rules.sections:
        left = {leaf for leaf, row in rows if oracles.satisfies(tree, row, section.otherwise.kept_ids)}  # type: ignore[union-attr]
        for line in section.rules:
            inside = {
                leaf
                for leaf in left
                if all(oracles.satisfies(tree, row, line.kept_ids) for own, row in rows if own == leaf)
            }
            assert set(line.leaf_ids) == inside
        contained = {leaf for line in section.rules for leaf in line.leaf_ids}
        assert section.otherwise is not None
        assert set(section.otherwise.leaf_ids) == left - contained
        assert left <= reached
        for line in (*section.rules, section.otherwise):
            met = {leaf for leaf, row in rows if oracles.satisfies(tree, row, line.kept_ids) and leaf in left}
            met = left - contained if line.is_otherwise else met
            if tolerance < 1 and met:
                assert line.window is not None
                assert line.share is not None
                low, high = min(map(share_of_(tree), met)), max(map(share_of_(tree), met))
                assert line.window == (pytest.approx(float(low)), pytest.approx(float(high)))
                width = Fraction(str(tolerance))
                assert high - low <= 2 * width + ROUNDING
                assert high - width - ROUNDING <= Fraction(line.share) <= low + width + ROUNDING


def share_of_(tree: Tree) -> Any:
    return lambda leaf: share_of(tree, leaf)


@settings(deadline=None)
@given(tree=told_trees.told_trees(), data=st.data())
def test_masks_know_which_leaves_conditions_meet_and_contain(tree: Tree, data: st.DataObject) -> None:
    rows = [(oracles.walk(tree, row), row) for row in possible_rows(tree)]
    paths = trace_paths(tree)
    masks = LeafMasks(find_feasible(tree).tree, paths)
    leaf_ids = paths.leaf_ids.tolist()
    assert {leaf_ids[place] for place in list_places(masks.possible)} == {leaf for leaf, _ in rows}
    place = data.draw(st.integers(0, paths.n_rules - 1))
    links = paths.links[paths.entries(place)].tolist()
    kept = [link for link in links if data.draw(st.booleans())]
    edges = [masks.edge(link) for link in kept]
    passed = [(leaf, oracles.satisfies(tree, row, kept)) for leaf, row in rows]
    met = {leaf for leaf, holds in passed if holds}
    inside = met - {leaf for leaf, holds in passed if not holds}
    if not {leaf_ids[place]} & {leaf for leaf, _ in rows}:
        return  # the leaf's own path contradicts itself: nothing is asked of it
    assert {leaf_ids[place] for place in list_places(masks.met_by(edges))} == met
    assert {leaf_ids[place] for place in list_places(masks.inside(edges))} == inside


@settings(deadline=None)
@given(tree=told_trees.told_trees(), data=st.data(), size=st.sampled_from((1, 3, 1 << 20)))
def test_walks_find_the_leaves_that_conditions_contain(tree: Tree, data: st.DataObject, size: int) -> None:
    possible_rows(tree)  # facts that leave no row are not looked at
    paths = trace_paths(tree)
    masks = LeafMasks(find_feasible(tree).tree, paths)
    kept = np.array([data.draw(st.booleans()) for _ in paths.links], dtype=bool)
    wanted = []
    for rule in range(paths.n_rules):
        links = paths.links[paths.entries(rule)][kept[paths.entries(rule)]].tolist()
        wanted += [(rule, place) for place in list_places(masks.inside(masks.edge(link) for link in links))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("secateur.methods.leaves.MOST_ENTRIES", size)  # pairs that are looked at together
        rules, places = masks.find_inside(kept)
    assert list(zip(rules.tolist(), places.tolist(), strict=True)) == wanted


@settings(deadline=None)
@given(tree=strategies.trees(max_leaves=10), sections=st.integers(1, 4))
def test_sections_are_a_cut(tree: Tree, sections: int) -> None:
    rules = secateur.simplify(tree, sections=sections)
    assert rules.layout is not None
    assert 1 <= len(rules.sections) <= sections
    for leaf in oracles.leaves(tree):
        above = {leaf, 0, *oracles.path(tree, leaf)}
        assert len(above & set(rules.layout.nodes.tolist())) == 1
    rows = [section.support for section in rules.sections]
    assert rows == sorted(rows, reverse=True)
    assert len(rules.lines) == len(rules) + len(rules.sections)
    assert [line.index for line in rules.lines] == list(range(len(rules.lines)))
    assert all(line.section.otherwise.index >= line.index for line in rules.lines)


def test_ties_at_the_tolerance_are_within_it() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["x"], accepts_missing=True)
    root = builder.split("x", 0.5)
    builder.leaf([2, 3], parent=root, side="left")
    builder.leaf([2, 8], parent=root, side="right")
    rules = secateur.simplify(builder.build(), tolerance=0.1)
    assert [(line.text, line.share, line.window) for line in rules.lines] == [("always => yes", 0.7, (0.6, 0.8))]
    assert len(secateur.simplify(builder.build(), tolerance=0.0999).lines) > 1


def test_classes_only_needs_no_counts() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["x"], accepts_missing=True)
    root = builder.split("x", 0.5)
    builder.leaf(prediction="no", parent=root, side="left")
    builder.leaf(prediction="yes", parent=root, side="right")
    tree = builder.build()
    rules = secateur.simplify(tree)
    assert rules.tolerance == 1
    assert [line.share for line in rules.lines] == [None, None]
    with pytest.raises(secateur.errors.InputError, match="which this tree does not know: pass X and y, or tolerance=1"):
        secateur.simplify(tree, tolerance=0.1)


def test_the_class_of_interest_orders_lines() -> None:
    from sklearn.datasets import load_breast_cancer
    from sklearn.tree import DecisionTreeClassifier

    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=5, min_samples_leaf=10, random_state=0).fit(X, y)
    for of in (None, 0, 1):
        rules = secateur.simplify(model, X, y, of=of, tolerance=0.05)
        chosen = 0 if of is None else of  # the rarer class
        for section in rules.sections:
            shares = [line.share if line.class_id == chosen else 1 - line.share for line in section.rules]  # type: ignore[operator]
            assert shares == sorted(shares, reverse=True)
    with pytest.raises(secateur.errors.ParameterError, match="There is no class 7 of interest"):
        secateur.simplify(model, X, y, of=7)


def test_headings_are_kept_and_named() -> None:
    from sklearn.datasets import load_breast_cancer
    from sklearn.tree import DecisionTreeClassifier

    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y, sections=4)
    assert len(rules.sections) > 1
    for line in rules.lines:
        heading = rules.paths.list_path(int(rules.layout.nodes[rules.sections.index(line.section)]))  # type: ignore[union-attr]
        assert list(line.kept_ids[: len(heading)]) == heading
        for condition in line.section.heading:
            assert any(one in line.text for one in (condition.text, *condition.text.split(" <= "))), line.text
        assert not line.is_otherwise or not line.conditions
    assert np.array_equal(rules.predict(X), model.predict(X))


@settings(deadline=None, max_examples=60)
@given(tree=told_trees.told_trees(), tolerance=st.sampled_from(TOLERANCES))
def test_a_list_made_by_walks_keeps_the_promise(tree: Tree, tolerance: float) -> None:
    rows = possible_rows(tree)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choosing, "MANY_LEAVES", 0)
        rules = secateur.simplify(tree, tolerance=tolerance)
    assert len(rules.sections) == 1
    assert rules.verify().ok
    for row in rows:
        leaf = oracles.walk(tree, row)
        for line in holding(rules, 0, row):
            assert line.class_id == tree.leaf_class[leaf]
            if tolerance < 1:
                assert abs(Fraction(line.share) - share_of(tree, leaf)) <= Fraction(str(tolerance)) + ROUNDING


def test_a_line_for_missing_values_alone_contains_no_leaf_beyond_the_last_limit() -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=["x", "z"], accepts_missing=["x"])
    root = builder.split("z", 0)
    low = builder.split("x", 5, parent=root, side="left")
    builder.leaf([10, 0], parent=low, side="left")
    rest = builder.split("x", 3, missing="left", parent=low, side="right")
    builder.leaf([0, 10], parent=rest, side="left")  # z is not asked: the other leaf takes missing values, too
    builder.leaf([10, 0], parent=rest, side="right")
    high = builder.split("x", 5, parent=root, side="right")
    builder.leaf([10, 0], parent=high, side="left")
    builder.leaf([0, 10], parent=high, side="right")
    rules = secateur.simplify(builder.build(), sections=1, otherwise="no")
    rows = np.array([[x, z] for x in (1.0, 4.0, 6.0, np.nan) for z in (0.0, 1.0)])
    assert rules.predict(rows).tolist() == ["no", "no", "no", "no", "no", "yes", "yes", "yes"]
    assert rules.verify().ok


def test_as_many_sections_are_made_as_are_asked_for_and_shorten_the_list() -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 12, size=(1_500, 4)).astype(float)
    y = (X[:, 0] > 5) ^ (X[:, 1] > 5) ^ (X[:, 2] > 7) ^ (rng.random(1_500) < 0.05)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    lists = [secateur.simplify(model, X, y, tolerance=1, sections=most) for most in range(1, 6)]
    assert [len(rules.sections) for rules in lists] == [1, 2, 3, 4, 5]
    lengths = [rules.n_conditions for rules in lists]
    assert lengths == sorted(lengths, reverse=True)
