from __future__ import annotations

import copy
import gc
import inspect
import math
import pickle
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np
import oracles
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import secateur
from secateur import Tree
from secateur.errors import InvalidTreeError
from secateur.rows.checking import check_rows
from secateur.rows.rows import apply_tree
from secateur.tree.columns import ColumnParser, Columns
from secateur.tree.contract import check_tree
from secateur.tree.facts import Facts
from secateur.tree.paths import trace_paths
from secateur.tree.tree import make_tree, round_down

ROW_FREE = [name for name, method in secateur.METHODS.items() if method.is_exact and not method.needs_rows]


def stump(**changes: Any) -> Tree:
    """The tree of docs/tree-format.md: age <= 30 is no, else yes."""
    parts: dict[str, Any] = {
        "children_left": [1, -1, -1],
        "children_right": [2, -1, -1],
        "feature": [0, -1, -1],
        "threshold": [30.0, math.nan, math.nan],
        "leaf_class": [-1, 0, 1],
        "counts": [[9, 11], [8, 2], [1, 9]],
        "classes": ["no", "yes"],
        "n_features": 1,
        "feature_names": ["age"],
    }
    return make_tree(**parts | changes)


def iris_tree() -> tuple[Tree, tuple[Any, Any]]:
    """A tree that was read, and its rows."""
    X, y = load_iris(return_X_y=True)
    return secateur.from_model(DecisionTreeClassifier(random_state=0).fit(X, y)), (X, y)


def two_splits() -> Tree:
    """Node 0 splits x0 (numeric), node 2 splits x1 by category; leaves 1, 3, 4. Both features accept NaN."""
    return make_tree(
        children_left=[1, -1, 3, -1, -1],
        children_right=[2, -1, 4, -1, -1],
        feature=[0, -1, 1, -1, -1],
        threshold=[0.5, 0, 0, 0, 0],
        missing_left=[True, False, True, False, False],
        left_categories={2: [0, 2]},
        categories=[None, ("red", "green")],
        leaf_class=[-1, 0, -1, 1, 2],
        counts=[[1, 1, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0], [0, 0, 1]],
        classes=[3, 7, 11],
        n_features=2,
        accepts_missing=[True, True],
        monotone=[1, 0],
    )


def broken(tree: Tree, **changes: Any) -> Tree:
    """The tree with whole fields replaced, and not checked."""
    return replace(tree, **changes)


def altered(tree: Tree, name: str, place: Any, value: Any) -> Tree:
    """The tree with one element of one array changed, and not checked."""
    array = np.array(getattr(tree, name))
    array[place] = value
    return replace(tree, **{name: array})


# Each case breaks one invariant of docs/tree-format.md, and the sentence that must name it.
BROKEN = {
    "no classes": (
        lambda t: broken(t, classes=np.array([])),
        r"classes must be a non-empty list, found shape \(0,\)",
    ),
    "classes as a table": (
        lambda t: broken(t, classes=np.array([["a", "b"]])),
        r"classes must be a non-empty list, found shape \(1, 2\)",
    ),
    "a label that is bytes": (
        lambda t: broken(t, classes=np.array([b"a", b"b", b"c"])),
        "a class label must be a text, finite number or bool, found b'a'",
    ),
    "a label that is None": (
        lambda t: broken(t, classes=np.array([None, "b", "c"], dtype=object)),
        "a class label must be a text, finite number or bool, found None",
    ),
    "a label twice": (lambda t: broken(t, classes=np.array([3, 7, 3])), r"the classes \[3, 7, 3\] are not distinct"),
    "too few class names": (lambda t: broken(t, class_names=("a", "b")), "2 class names for 3 classes"),
    "too many feature names": (lambda t: broken(t, feature_names=("a", "b", "c")), "3 feature names for 2 features"),
    "a feature name twice": (lambda t: broken(t, feature_names=("a", "a")), "two features have the same name"),
    "an unknown dtype": (lambda t: broken(t, dtype="float16"), "dtype must be float32 or float64, found 'float16'"),
    "accepts_missing too short": (
        lambda t: broken(t, accepts_missing=np.array([True])),
        "accepts_missing must have one entry per feature",
    ),
    "categories too short": (lambda t: broken(t, categories=(None,)), "categories must have one entry per feature"),
    "no category": (
        lambda t: broken(t, categories=(None, ())),
        "the categories of feature 1 are empty or not distinct",
    ),
    "a category twice": (
        lambda t: broken(t, categories=(None, ("red", "red"))),
        "the categories of feature 1 are empty or not distinct",
    ),
    "monotone too short": (lambda t: broken(t, monotone=np.array([1], np.int8)), "monotone must have one sign"),
    "a sign of 2": (lambda t: broken(t, monotone=np.array([1, 2], np.int8)), "monotone must have one sign of -1, 0"),
    "no nodes": (
        lambda t: broken(t, children_left=np.zeros(0, np.int64)),
        "a tree needs at least one node",
    ),
    "children_right too short": (
        lambda t: broken(t, children_right=t.children_right[:3]),
        r"children_right has shape \(3,\), but there are 5 nodes",
    ),
    "feature too short": (lambda t: broken(t, feature=t.feature[:3]), r"feature has shape \(3,\)"),
    "threshold too short": (lambda t: broken(t, threshold=t.threshold[:3]), r"threshold has shape \(3,\)"),
    "missing_left too short": (
        lambda t: broken(t, missing_left=t.missing_left[:3]),
        r"missing_left has shape \(3,\)",
    ),
    "leaf_class too short": (lambda t: broken(t, leaf_class=t.leaf_class[:3]), r"leaf_class has shape \(3,\)"),
    "a left child only": (lambda t: altered(t, "children_right", 2, -1), "node 2 has one child"),
    "a right child only": (lambda t: altered(t, "children_left", 2, -1), "node 2 has one child"),
    "a leaf with the child -2": (
        lambda t: altered(altered(t, "children_left", 3, -2), "children_right", 3, -2),
        "node 3 is a leaf, so both its children must be -1",
    ),
    "a node that is its own child": (
        lambda t: altered(t, "children_left", 2, 2),
        "node 2 has a child whose id is not larger than its own",
    ),
    "a child above its parent": (
        lambda t: altered(t, "children_right", 2, 0),
        "node 2 has a child whose id is not larger than its own",
    ),
    "a child that does not exist": (
        lambda t: altered(t, "children_right", 2, 5),
        "node 2 has a child that does not exist",
    ),
    "a child of two nodes": (
        lambda t: altered(t, "children_left", 0, 3),
        r"node 1 is not the child of exactly one node .* \(2 nodes do\)",
    ),
    "twins that are one node": (
        lambda t: altered(t, "children_right", 2, 3),
        "node 3 is not the child of exactly one node",
    ),
    "a leaf that tests": (lambda t: altered(t, "feature", 3, 0), "node 3 is a leaf, so its feature must be -1"),
    "a feature that does not exist": (lambda t: altered(t, "feature", 2, 2), "node 2 tests a feature outside 0 to 1"),
    "a split without a feature": (lambda t: altered(t, "feature", 0, -1), "node 0 tests a feature outside 0 to 1"),
    "a leaf with a threshold": (
        lambda t: altered(t, "threshold", 4, 1.0),
        "node 4 is a leaf, so its threshold must be NaN",
    ),
    "a numeric split without threshold": (
        lambda t: altered(t, "threshold", 0, math.nan),
        "node 0 needs a threshold for a numeric feature",
    ),
    "a categorical split with a threshold": (
        lambda t: altered(t, "threshold", 2, 0.5),
        "node 2 needs a threshold for a numeric feature, and a set of categories for a categorical one",
    ),
    "a threshold of -inf": (lambda t: altered(t, "threshold", 0, -math.inf), "node 0 has the threshold -inf"),
    "NaN left where there is none": (
        lambda t: broken(t, accepts_missing=np.array([False, True])),
        "node 0 sends NaN left, but its feature takes no missing values",
    ),
    "NaN left at a leaf": (lambda t: altered(t, "missing_left", 1, True), "node 1 sends NaN left"),
    "a leaf without class": (lambda t: altered(t, "leaf_class", 3, -1), "node 3 must have a class if it is a leaf"),
    "a split with a class": (
        lambda t: altered(t, "leaf_class", 2, 0),
        "node 2 must have a class if it is a leaf, and -1",
    ),
    "a class that does not exist": (
        lambda t: altered(t, "leaf_class", 4, 3),
        "node 4 predicts a class outside 0 to 2",
    ),
    "offsets too short": (
        lambda t: broken(t, category_offsets=t.category_offsets[:-1]),
        "category_offsets must start at 0",
    ),
    "offsets that start late": (lambda t: altered(t, "category_offsets", 0, 1), "category_offsets must start at 0"),
    "offsets that end early": (lambda t: altered(t, "category_offsets", -1, 1), "end at len\\(category_codes\\)"),
    "offsets that fall": (
        lambda t: altered(t, "category_offsets", 3, -1),
        "node 2 has a category offset smaller than the one before it",
    ),
    "codes at a numeric split": (
        lambda t: altered(t, "category_offsets", [1, 2], 1),
        "node 0 lists categories, but does not split by category",
    ),
    "codes at a leaf": (
        lambda t: altered(t, "category_offsets", 3, 1),
        "node 3 lists categories, but does not split by category",
    ),
    "no codes": (
        lambda t: broken(
            t,
            category_offsets=np.zeros(6, np.int64),
            category_codes=np.zeros(0, np.int64),
            missing_left=np.zeros(5, bool),  # else the side would be left to NaN alone
        ),
        r"node 2 must list increasing category codes between 0 and 2, found \[\]",
    ),
    "codes that fall": (
        lambda t: broken(t, category_codes=np.array([2, 0])),
        r"node 2 must list increasing .* \[2, 0\]",
    ),
    "a code twice": (
        lambda t: broken(t, category_codes=np.array([1, 1])),
        r"node 2 must list increasing .* \[1, 1\]",
    ),
    "a code too large": (
        lambda t: broken(t, category_codes=np.array([0, 3])),
        r"node 2 must list .* 0 and 2, found \[0, 3\]",
    ),
    "a negative code": (
        lambda t: broken(t, category_codes=np.array([-1, 0])),
        r"node 2 must list .* found \[-1, 0\]",
    ),
    "every code left": (
        lambda t: broken(t, category_offsets=np.array([0, 0, 0, 3, 3, 3]), category_codes=np.array([0, 1, 2])),
        "node 2 sends every category left",
    ),
    "counts of another shape": (
        lambda t: broken(t, counts=np.ones((5, 2))),
        r"counts has shape \(5, 2\), expected \(5, 3\)",
    ),
    "a negative count": (
        lambda t: altered(t, "counts", (3, 1), -1.0),
        "node 3 has a negative or infinite class count",
    ),
    "an infinite count": (lambda t: altered(t, "counts", (4, 2), math.inf), "node 4 has a negative or infinite"),
    "a count that is NaN": (lambda t: altered(t, "counts", (1, 0), math.nan), "node 1 has a negative or infinite"),
    "columns of another tree": (
        lambda t: broken(t, columns=Columns(cuts=(None,), closed=(False,))),
        "columns must describe each feature once",
    ),
    "ranges of another tree": (
        lambda t: broken(t, columns=Columns((None, None), (False, False), ranges=(None,))),
        "columns must describe each feature once",
    ),
    "a derived column before others": (
        lambda t: broken(t, feature_names=("pca", "colour"), columns=Columns((None,) * 2, (False,) * 2, (), ("pca",))),
        "derived columns must be the last features, by name",
    ),
    "a closed number": (
        lambda t: broken(t, columns=Columns((None, None), (True, False))),
        "feature 0 is closed but has no categories",
    ),
    "no cuts": (
        lambda t: broken(t, columns=Columns((None, ()), (False, False))),
        "feature 1 needs one category for each of its cuts",
    ),
    "cuts that fall": (
        lambda t: broken(t, columns=Columns((None, (2.0, 1.0)), (False, False))),
        "the cuts of feature 1 must be increasing numbers",
    ),
    "a cut twice": (
        lambda t: broken(t, columns=Columns((None, (2.0, 2.0)), (False, False))),
        "the cuts of feature 1 must be increasing numbers",
    ),
    "an infinite cut": (
        lambda t: broken(t, columns=Columns((None, (2.0, math.inf)), (False, False))),
        "the cuts of feature 1 must be increasing numbers",
    ),
    "cuts of a number without cells": (
        lambda t: broken(t, columns=Columns(((1.0, 2.0), None), (False, False))),
        "feature 0 needs one category for each of its cuts",
    ),
    "a column parser too few": (
        lambda t: broken(t, column_parsers=(ColumnParser("number"),)),
        "column_parsers must have one entry per feature, or none",
    ),
    "a number read from categories": (
        lambda t: broken(t, column_parsers=(None, ColumnParser("number"))),
        "feature 1 has a column parser, but it does not hold numbers",
    ),
    "blanks cut from a number": (
        lambda t: broken(t, column_parsers=(ColumnParser("text"), None)),
        "feature 0 is read without blanks around texts, but its categories are others",
    ),
    "blanks around a category that is read without them": (
        lambda t: broken(t, categories=(None, ("red", " green")), column_parsers=(None, ColumnParser("text"))),
        "feature 1 is read without blanks around texts, but its categories are others",
    ),
    **{
        f"a column parser with {what}": (
            lambda t, reading=reading: broken(t, column_parsers=(reading, None)),
            f"the column parser of feature 0 is wrong: {fault}",
        )
        for what, reading, fault in (
            ("another kind", ColumnParser("money"), "there is no kind 'money'"),
            ("another order", ColumnParser("date", order="dym"), "'dym' and 'day' are not order and step of dates"),
            ("another step", ColumnParser("date", step="week"), "'ymd' and 'week' are not order and step of dates"),
            (
                "another decimal",
                ColumnParser("number", decimal=";"),
                "numbers cannot have '' between thousands and ';'",
            ),
            ("another separator", ColumnParser("number", thousands="_"), "numbers cannot have '_' between thousands"),
            ("one mark for both", ColumnParser("number", thousands="."), r"numbers cannot have '\.' between thousands"),
            ("a pattern as its unit", ColumnParser("number", unit="(a+)+"), r"'\(a\+\)\+' is not the sign of a number"),
        )
    },
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_invariant_is_named_with_its_node(case: str) -> None:
    breaks, sentence = BROKEN[case]
    tree = two_splits()
    with pytest.raises(InvalidTreeError, match=sentence):
        check_tree(breaks(tree))


def test_an_unbroken_tree_passes() -> None:
    tree = two_splits()
    check_tree(tree)
    check_tree(stump())
    check_tree(broken(tree, columns=Columns((None, (1.0, 2.0)), (False, True), ranges=(None, (0.0, 3.0)))))
    for kind in ("number", "date", "clock"):
        check_tree(broken(tree, column_parsers=(ColumnParser(kind), ColumnParser("text"))))


@settings(max_examples=60, deadline=None)
@given(strategies.trees())
def test_every_drawn_tree_passes(tree: Tree) -> None:
    check_tree(tree)


def test_make_tree_rejects_arrays_of_different_length() -> None:
    with pytest.raises(InvalidTreeError, match=r"threshold has shape \(2,\), but there are 3 nodes"):
        stump(threshold=[30.0, 0.0])


def test_make_tree_fills_the_slots_that_a_node_does_not_use() -> None:
    tree = stump(
        feature=[0, -2, -2], threshold=[30.0, -2.0, -2.0], leaf_class=[1, 0, 1], missing_left=[True, True, True]
    )
    assert tree == stump()
    assert tree.feature.tolist() == [0, -1, -1]
    assert np.isnan(tree.threshold[1:]).all()
    assert tree.leaf_class.tolist() == [-1, 0, 1]
    assert not tree.missing_left.any()


def test_make_tree_copies_what_it_is_given() -> None:
    thresholds = np.array([30.0, math.nan, math.nan])
    tree = stump(threshold=thresholds)
    thresholds[0] = 99.0
    assert tree.threshold[0] == 30.0


def test_a_child_may_be_smaller_on_the_right() -> None:
    tree = stump(children_left=[2, -1, -1], children_right=[1, -1, -1])
    assert apply_tree(tree, check_rows(tree, [[10.0], [50.0]])).tolist() == [2, 1]


@pytest.mark.parametrize("name", [field.name for field in fields(Tree)])
def test_arrays_are_read_only(name: str) -> None:
    value = getattr(two_splits(), name)
    if isinstance(value, np.ndarray):
        with pytest.raises(ValueError, match="read-only"):
            value[...] = value
    else:
        assert isinstance(value, (int, str, tuple, type(None), Facts))  # Facts are frozen


@pytest.mark.parametrize("name", ["is_leaf", "upper", "left_codes", "levels", "category_table"])
def test_derived_arrays_are_read_only(name: str) -> None:
    tree = two_splits()
    value = tree.left_codes(2) if name == "left_codes" else getattr(tree, name)
    for array in value if isinstance(value, tuple) else (value,):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array


def test_fields_cannot_be_assigned() -> None:
    with pytest.raises(AttributeError, match="cannot assign to field 'dtype'"):
        stump().dtype = "float64"


def test_trees_are_equal_by_content() -> None:
    assert stump() == stump()
    assert two_splits() == two_splits()
    assert two_splits() != stump()


@pytest.mark.parametrize("name", ["counts", "monotone"])
def test_a_tree_with_and_one_without_an_optional_array_are_not_equal(name: str) -> None:
    without = replace(two_splits(), **{name: None})
    assert two_splits() != without
    assert without != two_splits()
    assert without == replace(two_splits(), **{name: None})


@pytest.mark.parametrize(
    "changes",
    [
        {"threshold": [31.0, 0, 0]},
        {"counts": None},
        {"counts": [[9, 11], [8, 2], [1, 9.5]]},
        {"leaf_class": [-1, 1, 1]},
        {"classes": ["no", "oui"]},
        {"class_names": ["No", "Yes"]},
        {"feature_names": None},
        {"feature_names": ["years"]},
        {"dtype": "float64"},
        {"accepts_missing": True},
        {"accepts_missing": True, "missing_left": [True, False, False]},
        {"monotone": [1]},
        {"n_features": 2, "feature_names": None},
        {"children_left": [2, -1, -1], "children_right": [1, -1, -1]},
    ],
    ids=str,
)
def test_trees_that_differ_in_anything_are_not_equal(changes: dict[str, Any]) -> None:
    assert stump(**changes) != stump()


def test_a_tree_equals_nothing_else() -> None:
    assert stump() != "tree"
    assert stump() != 3


def test_a_tree_cannot_be_hashed() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(stump())


def test_the_repr_counts_leaves_depth_and_features() -> None:
    assert repr(stump()) == "<Tree: 2 leaves, depth 1, 1 feature, classes no, yes>"
    assert repr(two_splits()) == "<Tree: 3 leaves, depth 2, 2 features, classes 3, 7, 11>"


def test_the_repr_of_a_single_leaf_is_singular_and_shows_five_classes() -> None:
    leaf = make_tree(
        children_left=[-1],
        children_right=[-1],
        feature=[-1],
        threshold=[0],
        leaf_class=[0],
        classes=list("abcdef"),
        n_features=1,
    )
    assert repr(leaf) == "<Tree: 1 leaf, depth 0, 1 feature, classes a, b, c, d, e, …>"
    assert (leaf.n_nodes, leaf.n_leaves, leaf.depth, leaf.n_classes) == (1, 1, 0, 6)


def test_features_without_names_read_x0_x1() -> None:
    assert [two_splits().feature_name(i) for i in range(2)] == ["x0", "x1"]
    assert stump().feature_name(0) == "age"


def test_category_sets_are_read_back() -> None:
    tree = two_splits()
    assert tree.is_categorical.tolist() == [False, False, True, False, False]
    assert tree.left_codes(2).tolist() == [0, 2]
    assert tree.left_codes(0).tolist() == []
    start, table = tree.category_table
    assert start.tolist() == [-1, -1, 0, -1, -1]
    assert table.tolist() == [True, False, True]


@settings(max_examples=40, deadline=None)
@given(strategies.trees())
def test_levels_list_every_node_once_below_its_parent(tree: Tree) -> None:
    nodes = np.concatenate(tree.levels)
    assert sorted(nodes.tolist()) == list(range(tree.n_nodes))
    above = oracles.parents(tree)
    depth = {int(node): d for d, level in enumerate(tree.levels) for node in level}
    assert all(depth[child] == depth[parent] + 1 for child, parent in above.items() if parent >= 0)
    assert tree.depth == max(len(oracles.path(tree, leaf)) for leaf in oracles.leaves(tree))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_rows_reach_the_leaf_that_a_walk_by_hand_reaches(data: st.DataObject) -> None:
    tree = data.draw(strategies.trees())
    X = data.draw(strategies.rows(tree))
    assert apply_tree(tree, check_rows(tree, X)).tolist() == [oracles.walk(tree, row) for row in X]


# upper: the threshold rounded down to the dtype that rows are compared in.

AWKWARD = [0.0, -0.0, 0.1, -0.1, 1 / 3, 1e-45, -1e-45, 1e-46, -1e-46, 5e-324, -5e-324, 3.4e38, -3.4e38]
LARGEST = float(np.finfo(np.float32).max)
AWKWARD += [LARGEST, -LARGEST, 3.5e38, -3.5e38, 1e308, -1e308, 16777217.0, -16777217.0, 1.0000000000000002, math.inf]


def largest_float32_not_above(value: float) -> float:
    """By brute force: the largest of the float32 numbers around the value that is not above it."""
    down, up = np.float32(-np.inf), np.float32(np.inf)
    with np.errstate(over="ignore"):
        near = np.float32(value)
        candidates = [near, np.nextafter(near, down), np.nextafter(near, up), down]
    return max(float(c) for c in candidates if float(c) <= value)


@settings(max_examples=400, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.floats(-1e39, 1e39) | st.sampled_from(AWKWARD))
def test_upper_is_the_largest_float32_that_is_not_above_the_threshold(threshold: float) -> None:
    found = float(stump(threshold=[threshold, 0, 0]).upper[0])
    assert found == largest_float32_not_above(threshold)


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e38, 1e38), st.floats(width=32, allow_nan=False, allow_infinity=False), st.integers(-3, 3))
def test_comparing_with_upper_is_comparing_with_the_threshold(threshold: float, far: float, steps: int) -> None:
    near = np.float32(threshold)
    for _ in range(abs(steps)):
        near = np.nextafter(near, np.float32(math.copysign(math.inf, steps)))
    upper = stump(threshold=[threshold, 0, 0]).upper[0]
    for x in (float(near), far):
        assert (x <= threshold) == (x <= upper)


def test_upper_is_the_threshold_itself_in_float64() -> None:
    tree = stump(threshold=[0.1, 0, 0], dtype="float64")
    assert tree.upper[0] == 0.1
    assert stump(threshold=[0.1, 0, 0]).upper[0] == np.float64(np.nextafter(np.float32(0.1), np.float32(0)))


def test_upper_of_an_infinite_threshold_is_infinite_and_of_a_leaf_nan() -> None:
    tree = stump(threshold=[math.inf, 0, 0], accepts_missing=True)
    assert tree.upper[0] == math.inf
    assert np.isnan(tree.upper[1:]).all()


def test_rounding_down_leaves_its_input_alone() -> None:
    values = np.array([0.1, math.nan, 1e308])
    for dtype in ("float32", "float64"):
        round_down(values, dtype)[:] = 0
    assert values[0] == 0.1


# Deep trees.

DEEPER_THAN_THE_STACK = 1500


def chain(depth: int, n_features: int = 3) -> Tree:
    """A tree that is one long path of splits, each with a leaf on its left."""
    n_nodes = 2 * depth + 1
    nodes = np.arange(n_nodes)
    inner = (nodes % 2 == 0) & (nodes < n_nodes - 1)
    leaf_class = np.where(nodes // 2 % 3 == 0, 1, 0)
    counts = np.where(inner[:, None], 0.0, np.eye(2)[leaf_class] + 1)
    counts = np.where(inner[:, None], np.cumsum(counts[::-1], axis=0)[::-1], counts)
    return make_tree(
        children_left=np.where(inner, nodes + 1, -1),
        children_right=np.where(inner, nodes + 2, -1),
        feature=nodes // 2 % n_features,
        threshold=nodes / 4,
        leaf_class=leaf_class,
        counts=counts,
        classes=["no", "yes"],
        n_features=n_features,
    )


@pytest.fixture(scope="module")
def deep_chain() -> Tree:
    return chain(DEEPER_THAN_THE_STACK)


def rows_of(tree: Tree, n_rows: int = 50) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng(0)
    return generator.uniform(-1, tree.n_nodes / 4, size=(n_rows, tree.n_features))


def walk_all(tree: Tree, X: np.ndarray[Any, Any]) -> list[str]:
    return [tree.classes[oracles.tree_class(tree, row)] for row in X]


@contextmanager
def shallow_stack(frames: int) -> Iterator[None]:
    """Allow only so many further Python frames."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + frames)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def test_a_tree_deeper_than_the_stack_is_annotated(deep_chain: Tree) -> None:
    assert sys.getrecursionlimit() < DEEPER_THAN_THE_STACK
    assert deep_chain.depth == DEEPER_THAN_THE_STACK
    paths = trace_paths(deep_chain)
    assert paths.n_rules == DEEPER_THAN_THE_STACK + 1
    assert len(paths.links) == DEEPER_THAN_THE_STACK * (DEEPER_THAN_THE_STACK + 3) // 2
    assert paths.leaf_ids.tolist() == [*range(1, deep_chain.n_nodes, 2), deep_chain.n_nodes - 1]


def test_rules_of_one_tree_share_its_paths_which_cannot_be_changed() -> None:
    tree, (X, y) = iris_tree()
    one, other = (secateur.simplify(tree, X, y, method=method) for method in ("faithful", "mismatch"))
    strict = secateur.simplify(tree, X, y, method="mismatch", rf_tol=0.2)
    assert one.paths is other.paths
    assert strict.paths is not one.paths
    assert strict.paths.mismatched.sum() < one.paths.mismatched.sum()
    for array in (one.paths.links, one.paths.offsets, one.paths.sibling, one.paths.mismatched):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]


def test_a_tree_that_keeps_its_paths_can_be_copied_and_stored() -> None:
    tree, (X, y) = iris_tree()
    rules = secateur.simplify(tree, X, y, method="faithful")
    assert rules.paths is not None
    assert len(pickle.dumps(rules.tree)) == len(pickle.dumps(iris_tree()[0]))
    for again in (pickle.loads(pickle.dumps(rules.tree)), copy.deepcopy(rules.tree)):
        assert again == rules.tree
        assert secateur.simplify(again, X, y, method="faithful") == rules


def test_paths_do_not_outlive_their_rules() -> None:
    """Nor do they wait for the garbage collector, which a server may have stopped."""
    gc.disable()
    try:
        tree, (X, y) = iris_tree()
        rules = secateur.simplify(tree, X, y, method="faithful")
        known, paths = weakref.ref(tree), weakref.ref(rules.paths)
        del tree, rules
        assert known() is None
        assert paths() is None
    finally:
        gc.enable()


def test_a_tree_deeper_than_the_stack_survives_json(deep_chain: Tree) -> None:
    assert Tree.from_json(deep_chain.to_json()) == deep_chain


@pytest.mark.long
@pytest.mark.parametrize("method", ["none", "sibling", "redundancy"])
def test_a_tree_deeper_than_the_stack_is_simplified(deep_chain: Tree, method: str) -> None:
    rules = secateur.simplify(deep_chain, method=method, each_leaf=True)
    X = rows_of(deep_chain)
    assert rules.predict(X).tolist() == walk_all(deep_chain, X)
    assert rules.deleted.any() == (method != "none")


@pytest.mark.parametrize("method", ROW_FREE)
def test_no_row_free_method_and_no_check_of_it_needs_a_frame_per_level(method: str) -> None:
    tree = chain(300)
    # What is compiled on first use is compiled here, with frames of its own.
    secateur.simplify(tree, method=method, each_leaf=True)
    X = rows_of(tree, 20)
    with shallow_stack(150):
        rules = secateur.simplify(tree, method=method, each_leaf=True)
        found = rules.predict(X)
        covering = rules.covers(X)
        proof = rules.verify()
    assert proof.ok
    assert found.tolist() == walk_all(tree, X)
    assert covering.any(axis=1).all()


@pytest.mark.long
@pytest.mark.parametrize("method", ["faithful", "mismatch", "mismatch-certified", "budgeted", "quinlan"])
def test_no_row_based_method_and_no_check_of_it_needs_a_frame_per_level(method: str) -> None:
    tree = chain(140)
    X = rows_of(tree, 100)
    y = walk_all(tree, X)
    secateur.simplify(tree, X, y, method=method, each_leaf=True)  # compiles what is compiled on first use
    with shallow_stack(120):
        rules = secateur.simplify(tree, X, y, method=method, each_leaf=True)
        covering = rules.covers(X)
        proof = rules.verify()
    assert proof.ok
    assert covering.any(axis=1).all()


@pytest.mark.parametrize(("name", "is_taken"), [("value", True), ("€{}", True), ("€", False), ("{} to {}", False)])
def test_the_class_of_a_regression_tree_is_named_by_its_unit(name: str, is_taken: bool) -> None:
    X = np.arange(6.0).reshape(-1, 1)
    tree = replace(secateur.from_model(DecisionTreeRegressor(max_depth=1).fit(X, X[:, 0] > 2)), class_names=(name,))
    if is_taken:
        check_tree(tree)
        return
    with pytest.raises(InvalidTreeError, match="a regression tree has the one class"):
        check_tree(tree)
