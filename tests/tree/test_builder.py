from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from secateur import Tree, TreeBuilder
from secateur.errors import InvalidTreeError
from secateur.rows.checking import check_rows
from secateur.rows.rows import apply_tree
from secateur.tree.tree import make_tree


def play(**options: Any) -> TreeBuilder:
    return TreeBuilder(["no", "yes"], ["age", "city"], categories={"city": ["Oslo", "Rome"]}, **options)


def full_tree() -> Tree:
    builder = play(accepts_missing=["city"])
    root = builder.split("age", 30)
    town = builder.split_categories("city", ["Rome"], parent=root, side="right", missing="left", unlisted="left")
    builder.leaf([1, 9], parent=town, side="right")
    builder.leaf([6, 4], parent=town, side="left")
    builder.leaf([9, 0.5], parent=root, side="left")
    return builder.build()


def test_a_tree_is_built_node_by_node() -> None:
    expected = make_tree(
        children_left=[4, 3, -1, -1, -1],
        children_right=[1, 2, -1, -1, -1],
        feature=[0, 1, -1, -1, -1],
        threshold=[30.0, math.nan, math.nan, math.nan, math.nan],
        missing_left=[False, True, False, False, False],
        left_categories={1: [1, 2]},
        categories=[None, ("Oslo", "Rome")],
        leaf_class=[-1, -1, 1, 0, 0],
        counts=[[16, 13.5], [7, 13], [1, 9], [6, 4], [9, 0.5]],
        classes=["no", "yes"],
        n_features=2,
        accepts_missing=[False, True],
        feature_names=["age", "city"],
    )
    assert full_tree() == expected


def test_internal_nodes_get_the_sum_of_their_leaves() -> None:
    tree = full_tree()
    assert tree.counts is not None
    assert tree.counts.tolist() == [[16, 13.5], [7, 13], [1, 9], [6, 4], [9, 0.5]]


def test_rows_go_where_the_builder_said() -> None:
    tree = full_tree()
    X = np.array([[30, 0], [31, 0], [31, 1], [31, 2], [31, 9], [31, math.nan]])
    assert apply_tree(tree, check_rows(tree, X)).tolist() == [4, 2, 3, 3, 3, 3]


def test_one_leaf_is_a_tree() -> None:
    builder = TreeBuilder([False, True], ["x"])
    assert builder.leaf([2, 3]) == 0
    tree = builder.build()
    assert (tree.n_nodes, tree.leaf_class.tolist(), tree.classes.tolist()) == (1, [1], [False, True])


def test_ids_are_given_in_the_order_of_the_calls() -> None:
    builder = play()
    assert [builder.split("age", 1), builder.leaf([1, 0], parent=0, side="right")] == [0, 1]
    assert builder.leaf([0, 1], parent=0, side="left") == 2
    assert builder.build().children_left.tolist() == [2, -1, -1]


def test_a_tie_goes_to_the_first_class_unless_the_prediction_says_otherwise() -> None:
    builder = play()
    builder.split("age", 1)
    builder.leaf([2, 2], parent=0, side="left")
    builder.leaf([2, 2], prediction="yes", parent=0, side="right")
    assert builder.build().leaf_class.tolist() == [-1, 0, 1]


def test_a_tree_may_have_no_counts() -> None:
    builder = play()
    builder.split("age", 1)
    builder.leaf(prediction="yes", parent=0, side="left")
    builder.leaf(prediction="no", parent=0, side="right")
    tree = builder.build()
    assert tree.counts is None
    assert tree.leaf_class.tolist() == [-1, 1, 0]


def test_counts_may_come_as_an_array() -> None:
    builder = TreeBuilder(["no", "yes"], ["x"])
    builder.leaf(np.array([1.0, 4.0]))
    tree = builder.build()
    assert tree.leaf_class.tolist() == [1]
    assert tree.counts is not None
    assert tree.counts.tolist() == [[1.0, 4.0]]


@pytest.mark.parametrize(
    ("accepts", "expected"),
    [(True, [True, True]), (False, [False, False]), (["city"], [False, True]), ([], [False] * 2)],
)
def test_columns_accept_missing_values_as_asked(accepts: Any, expected: list[bool]) -> None:
    builder = play(accepts_missing=accepts)
    builder.leaf([1, 0])
    assert builder.build().accepts_missing.tolist() == expected


def test_missing_values_go_right_by_default_and_left_only_where_accepted() -> None:
    builder = play(accepts_missing=["age"])
    root = builder.split("age", 1, missing="left")
    town = builder.split_categories("city", ["Oslo"], parent=root, side="left", missing="left")
    builder.leaf([1, 0], parent=town, side="left")
    builder.leaf([0, 1], parent=town, side="right")
    builder.leaf([1, 0], parent=root, side="right")
    assert builder.build().missing_left.tolist() == [True, False, False, False, False]


def test_the_dtype_is_passed_on() -> None:
    builder = play(dtype="float64")
    builder.leaf([1, 0])
    assert builder.build().dtype == "float64"


def test_building_twice_gives_equal_trees() -> None:
    builder = play()
    builder.leaf([1, 0])
    assert builder.build() == builder.build()


def with_root() -> TreeBuilder:
    builder = play()
    builder.split("age", 30)
    return builder


def with_left_leaf() -> TreeBuilder:
    builder = with_root()
    builder.leaf([1, 0], parent=0, side="left")
    return builder


def half_counted() -> TreeBuilder:
    builder = with_left_leaf()
    builder.leaf(prediction="no", parent=0, side="right")
    return builder


def all_left() -> TreeBuilder:
    builder = play()
    builder.split_categories("city", ["Oslo", "Rome"], unlisted="left")
    builder.leaf([1, 0], parent=0, side="left")
    builder.leaf([1, 0], parent=0, side="right")
    return builder


def threshold_nan() -> TreeBuilder:
    builder = play()
    builder.split("age", math.nan)
    builder.leaf([1, 0], parent=0, side="left")
    builder.leaf([1, 0], parent=0, side="right")
    return builder


REJECTIONS: dict[str, tuple[Callable[[], Any], str]] = {
    "unknown column": (
        lambda: play().split("agee", 1),
        r"There is no column 'agee'; the columns are \['age', 'city'\]",
    ),
    "unknown categorical column": (lambda: play().split_categories("town", ["Oslo"]), "There is no column 'town'"),
    "categories of an unknown column": (
        lambda: TreeBuilder(["a", "b"], ["x"], categories={"z": ["p", "q"]}),
        r"There is no column 'z'; the columns are \['x'\]",
    ),
    "missing values of an unknown column": (lambda: play(accepts_missing=["town"]), "There is no column 'town'"),
    "a threshold for a categorical column": (
        lambda: play().split("city", 1),
        "'city' is categorical: use split_categories",
    ),
    "categories for a numeric column": (
        lambda: play().split_categories("age", ["Oslo"]),
        r"'age' is numeric: list its categories in TreeBuilder\(categories=...\) first",
    ),
    "unknown category": (
        lambda: play().split_categories("city", ["Rome", "Paris"]),
        r"'city' has no category 'Paris'; it has \['Oslo', 'Rome'\]",
    ),
    "a leaf without anything": (lambda: play().leaf(), "A leaf needs counts, a prediction, or both"),
    "too many counts": (lambda: play().leaf([1, 2, 3]), "Expected 2 class counts for a leaf, found 3"),
    "unknown class": (lambda: play().leaf(prediction="perhaps"), r"'perhaps' is none of the classes \['no', 'yes'\]"),
    "a root with a parent": (lambda: play().split("age", 1, parent=0, side="left"), "The first node is the root"),
    "a node without a parent": (
        lambda: with_root().leaf([1, 0]),
        r"Expected the id of an earlier node \(0 to 0\) as parent, found None",
    ),
    "a parent that comes later": (lambda: with_root().leaf([1, 0], parent=7, side="left"), "as parent, found 7"),
    "a negative parent": (lambda: with_root().leaf([1, 0], parent=-1, side="left"), "as parent, found -1"),
    "a child of a leaf": (
        lambda: with_left_leaf().leaf([1, 0], parent=1, side="left"),
        "Node 1 is a leaf and cannot have children",
    ),
    "no side": (lambda: with_root().leaf([1, 0], parent=0), "Expected side='left' or side='right', found None"),
    "a strange side": (lambda: with_root().leaf([1, 0], parent=0, side="up"), "side='right', found 'up'"),
    "a side that is taken": (
        lambda: with_left_leaf().leaf([1, 0], parent=0, side="left"),
        "Node 0 already has a left child, node 1",
    ),
    "no left child": (lambda: with_root().build(), r"Node 0 has no left child yet; add one before build\(\)"),
    "no right child": (lambda: with_left_leaf().build(), r"Node 0 has no right child yet; add one before build\(\)"),
    "counts in some leaves": (lambda: half_counted().build(), "Leaf 2 has no counts, but others do"),
    "nothing": (lambda: play().build(), "a tree needs at least one node"),
    "every category left": (lambda: all_left().build(), "node 0 sends every category left"),
    "a threshold of NaN": (lambda: threshold_nan().build(), "node 0 needs a threshold for a numeric feature"),
    "a strange place for NaN": (lambda: play().split("age", 1, missing="up"), "missing='right', found 'up'"),
    "a strange place for the rest": (
        lambda: play().split_categories("city", ["Oslo"], unlisted="up"),
        "unlisted='right', found 'up'",
    ),
}


@pytest.mark.parametrize("case", REJECTIONS)
def test_a_mistake_is_rejected_and_named(case: str) -> None:
    mistake, sentence = REJECTIONS[case]
    with pytest.raises(InvalidTreeError, match=sentence):
        mistake()


@pytest.mark.parametrize("counts", [[-1, 2], [math.nan, 1], [math.inf, 1]])
def test_counts_that_are_no_counts_are_rejected(counts: list[float]) -> None:
    builder = play()
    builder.leaf(counts)
    with pytest.raises(InvalidTreeError, match="node 0 has a negative or infinite class count"):
        builder.build()


def test_equal_classes_and_equal_columns_are_rejected() -> None:
    for classes, columns, sentence in [
        (["a", "a"], ["x"], r"the classes \['a', 'a'\] are not distinct"),
        (["a", "b"], ["x", "x"], "two features have the same name"),
    ]:
        builder = TreeBuilder(classes, columns)
        builder.leaf([1, 0])
        with pytest.raises(InvalidTreeError, match=sentence):
            builder.build()


def test_a_rejected_call_leaves_the_builder_as_it_was() -> None:
    builder = with_left_leaf()
    with pytest.raises(InvalidTreeError, match="already has a left child"):
        builder.leaf([1, 0], parent=0, side="left")
    assert builder.leaf([0, 1], parent=0, side="right") == 2
    assert builder.build().children_right.tolist() == [2, -1, -1]
