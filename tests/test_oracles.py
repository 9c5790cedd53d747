"""The oracles judged by hand-made answers, by scikit-learn and by brute force."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom
from sklearn.metrics import precision_recall_fscore_support
from strategies import SklearnProblem, labelled_rows, rows, sklearn_problems, trees

from secateur.tree.builder import TreeBuilder
from secateur.tree.contract import check_tree
from secateur.tree.tree import Tree, make_tree

EXACT_METHODS = [oracles.delete_sibling, oracles.delete_exact, oracles.delete_redundancy]

# The oracles are slow on purpose, so one example may take long; the number of examples is kept small instead.
thorough = settings(deadline=None, max_examples=60)
brisk = settings(deadline=None, max_examples=35)


# --- hand-made trees --------------------------------------------------------------------------------------------------


def two_feature_tree() -> Tree:
    """A class-1 leaf beside a split.

    ::

        0: x0 <= 0.5            [5, 7]
        ├── 1: class 1          [0, 4]
        └── 2: x1 <= 0.5        [5, 3]
            ├── 3: class 1      [1, 3]
            └── 4: class 0      [4, 0]
    """
    builder = TreeBuilder(classes=[0, 1], feature_names=["x0", "x1"])
    root = builder.split("x0", 0.5)
    builder.leaf([0, 4], parent=root, side="left")
    inner = builder.split("x1", 0.5, parent=root, side="right")
    builder.leaf([1, 3], parent=inner, side="left")
    builder.leaf([4, 0], parent=inner, side="right")
    return builder.build()


def two_feature_rows() -> tuple[np.ndarray, list[int]]:
    """Rows with the counts of the tree; the four rows of leaf 1 are spread evenly over x1."""
    table = [
        *[(0, 0, 1), (0, 0, 1), (0, 1, 1), (0, 1, 1)],
        *[(1, 0, 0), (1, 0, 1), (1, 0, 1), (1, 0, 1)],
        *[(1, 1, 0), (1, 1, 0), (1, 1, 0), (1, 1, 0)],
    ]
    return np.array([row[:2] for row in table], dtype=float), [row[2] for row in table]


def one_feature_tree(low: float, high: float, classes: tuple[int, int, int], dtype: str = "float32") -> Tree:
    """Three leaves along one feature: up to ``low`` (node 1), up to ``high`` (node 3), above it (node 4)."""
    builder = TreeBuilder(classes=[0, 1], feature_names=["x0"], dtype=dtype)
    root = builder.split("x0", low)
    builder.leaf(prediction=classes[0], parent=root, side="left")
    inner = builder.split("x0", high, parent=root, side="right")
    builder.leaf(prediction=classes[1], parent=inner, side="left")
    builder.leaf(prediction=classes[2], parent=inner, side="right")
    return builder.build()


def three_feature_tree() -> Tree:
    """Leaf 5 has an exact deletion (link 2) and a mismatched link that is not exact (link 4).

    ::

        0: x0 <= 0.5             [14, 13]  p1 = 0.481
        ├── 1: class 1           [1, 3]
        └── 2: x1 <= 0.5         [13, 10]  p1 = 0.435
            ├── 3: class 0       [6, 5]
            └── 4: x2 <= 0.5     [7, 5]    p1 = 0.417
                ├── 5: class 1   [2, 4]
                └── 6: class 0   [5, 1]
    """
    builder = TreeBuilder(classes=[0, 1], feature_names=["x0", "x1", "x2"])
    root = builder.split("x0", 0.5)
    builder.leaf([1, 3], parent=root, side="left")
    second = builder.split("x1", 0.5, parent=root, side="right")
    builder.leaf([6, 5], parent=second, side="left")
    third = builder.split("x2", 0.5, parent=second, side="right")
    builder.leaf([2, 4], parent=third, side="left")
    builder.leaf([5, 1], parent=third, side="right")
    return builder.build()


def three_feature_rows(leaf_3_below: tuple[int, int]) -> tuple[np.ndarray, list[int]]:
    """Rows with the counts of the tree; of leaf 3's rows, ``leaf_3_below`` (by class) have x2 = 0."""
    below_0, below_1 = leaf_3_below
    table = [
        *[(0, 0, 1, 0), (0, 1, 0, 1), (0, 0, 0, 1), (0, 0, 1, 1)],
        *[(1, 0, 0, 0)] * below_0,
        *[(1, 0, 1, 0)] * (6 - below_0),
        *[(1, 0, 0, 1)] * below_1,
        *[(1, 0, 1, 1)] * (5 - below_1),
        *[(1, 1, 0, 0)] * 2,
        *[(1, 1, 0, 1)] * 4,
        *[(1, 1, 1, 0)] * 5,
        *[(1, 1, 1, 1)] * 1,
    ]
    return np.array([row[:3] for row in table], dtype=float), [row[3] for row in table]


def tree_from_sklearn(problem: SklearnProblem) -> Tree:
    """The arrays of a scikit-learn tree, copied field by field."""
    source = problem.model.tree_
    shares = source.value[:, 0, :]
    return make_tree(
        children_left=source.children_left,
        children_right=source.children_right,
        feature=source.feature,
        threshold=source.threshold,
        missing_left=source.missing_go_to_left,
        leaf_class=shares.argmax(axis=1),
        counts=shares * source.weighted_n_node_samples[:, None],
        classes=problem.model.classes_,
        n_features=problem.model.n_features_in_,
        accepts_missing=bool(np.isnan(problem.X).any()),
    )


# --- one row, one tree ------------------------------------------------------------------------------------------------


def test_a_value_is_rounded_to_float32_before_it_is_compared():
    # float32(0.1) is 0.100000001490116, which is above the float64 0.1; as a float64 the value is not above it.
    assert not oracles.goes_left(one_feature_tree(0.1, 2, (0, 1, 0)), 0, 0.1)
    assert oracles.goes_left(one_feature_tree(0.1, 2, (0, 1, 0), dtype="float64"), 0, 0.1)


def test_a_value_beyond_float32_goes_right():
    assert not oracles.goes_left(one_feature_tree(0.1, 2, (0, 1, 0)), 0, 1e300)


def test_nan_goes_where_the_node_sends_it():
    for side in ("left", "right"):
        builder = TreeBuilder(classes=[0, 1], feature_names=["x0"], accepts_missing=True)
        root = builder.split("x0", 0.5, missing=side)
        builder.leaf(prediction=0, parent=root, side="left")
        builder.leaf(prediction=1, parent=root, side="right")
        assert oracles.walk(builder.build(), [math.nan]) == (1 if side == "left" else 2)


@pytest.mark.parametrize(("value", "leaf"), [(0, 2), (1, 1), (2, 1), (5, 1), (-1, 1), (0.5, 1), (math.inf, 1)])
def test_a_value_that_is_no_listed_code_goes_with_the_unlisted_ones(value: float, leaf: int):
    # Codes: 0 Oslo, 1 Rome, 2 every other value. Rome and the others go left.
    builder = TreeBuilder(classes=[0, 1], feature_names=["city"], categories={"city": ["Oslo", "Rome"]})
    root = builder.split_categories("city", ["Rome"], unlisted="left")
    builder.leaf(prediction=0, parent=root, side="left")
    builder.leaf(prediction=1, parent=root, side="right")
    assert oracles.walk(builder.build(), [value]) == leaf


def test_leaves_and_paths_run_left_to_right_and_root_to_leaf():
    tree = two_feature_tree()
    assert oracles.leaves(tree) == [1, 3, 4]
    assert [oracles.path(tree, leaf) for leaf in (1, 3, 4)] == [[1], [2, 3], [2, 4]]


def test_a_deep_chain_needs_no_recursion():
    builder = TreeBuilder(classes=[0, 1], feature_names=["x0"])
    node = builder.split("x0", 0)
    for depth in range(1, 1100):
        builder.leaf(prediction=0, parent=node, side="left")
        node = builder.split("x0", depth, parent=node, side="right")
    builder.leaf(prediction=1, parent=node, side="left")
    builder.leaf(prediction=0, parent=node, side="right")
    tree = builder.build()
    last = oracles.leaves(tree)[-1]
    assert len(oracles.path(tree, last)) == 1100
    assert oracles.walk(tree, [1e6]) == last
    assert oracles.labels_below(tree, 0) == {0, 1}
    assert oracles.homogeneous_top(tree, last) == last


# --- annotations ------------------------------------------------------------------------------------------------------


def test_orientation_follows_the_share_of_the_class():
    # p1: 7/12 at the root, 4/4 at node 1, 3/8 at node 2, 3/4 at node 3, 0 at node 4.
    tree = two_feature_tree()
    assert [oracles.orientation(tree, link, 1) for link in (1, 2, 3, 4)] == [
        "matched",
        "mismatched",
        "matched",
        "mismatched",
    ]
    assert oracles.orientation(tree, 2, 0) == "matched"
    assert oracles.orientation(tree, 2, 1, rf_tol=0.5) == "neutral"


def test_orientation_is_neutral_where_a_share_is_undefined():
    builder = TreeBuilder(classes=[0, 1], feature_names=["x0"])
    root = builder.split("x0", 0.5)
    builder.leaf([0, 0], parent=root, side="left")
    builder.leaf([1, 2], parent=root, side="right")
    tree = builder.build()
    assert oracles.proportion(tree, 1, 0) is None
    assert oracles.orientation(tree, 1, 0) == "neutral"


def test_h_is_the_largest_subtree_of_one_label():
    # Node 2 holds two class-1 leaves below a class-0 leaf's sibling: H of leaves 3 and 4 is node 2, H of leaf 1 itself.
    tree = one_feature_tree(0, 1, (0, 1, 1))
    assert [oracles.homogeneous_top(tree, leaf) for leaf in (1, 3, 4)] == [1, 2, 2]
    assert oracles.inside_h(tree, 3, 3)
    assert not oracles.inside_h(tree, 3, 2)  # its parent, the root, is outside
    assert not oracles.inside_h(tree, 1, 1)


def test_h_is_the_whole_tree_when_there_is_one_label():
    tree = one_feature_tree(0, 1, (1, 1, 1))
    assert [oracles.homogeneous_top(tree, leaf) for leaf in (1, 3, 4)] == [0, 0, 0]
    assert oracles.inside_h(tree, 3, 2)


def test_sib_takes_links_into_internal_nodes_only():
    # Leaf 3's path passes leaf 1 of the same class; leaf 1's own link leads to a leaf.
    tree = two_feature_tree()
    assert [oracles.sib(tree, leaf) for leaf in (1, 3, 4)] == [[], [2], []]
    # All leaves of class 1: links 3 and 4 have same-class sibling leaves, but lead to leaves themselves.
    assert [oracles.sib(one_feature_tree(0, 1, (1, 1, 1)), leaf) for leaf in (1, 3, 4)] == [[], [2], [2]]


def test_counts_are_filled_in_by_routing_rows():
    tree = one_feature_tree(0, 1, (0, 1, 0))
    filled = oracles.fill_counts(tree, np.array([[-1.0], [0.5], [0.5], [9.0]]), [0, 1, 0, 1], [1, 2, 3, 4])
    assert filled.counts.tolist() == [[4, 6], [1, 0], [3, 6], [3, 2], [0, 4]]


# --- rules on rows ----------------------------------------------------------------------------------------------------


def test_support_and_reliability_count_weights():
    tree = two_feature_tree()
    X, y = two_feature_rows()
    assert oracles.support_and_reliability(tree, X, y, None, [2, 3], 1) == (4, 3 / 4)
    assert oracles.support_and_reliability(tree, X, y, None, [3], 1) == (6, 5 / 6)
    weights = [1.0] * 4 + [3.0, 1.0, 1.0, 1.0] + [0.0] * 4
    assert oracles.support_and_reliability(tree, X, y, weights, [2, 3], 1) == (6, 3 / 6)
    assert oracles.support_and_reliability(tree, X, y, weights, [2, 4], 0) == (0, None)


# --- regions ----------------------------------------------------------------------------------------------------------


def test_two_thresholds_between_neighbouring_float32_numbers_enclose_nothing():
    # The float32 numbers around 0.1 are 0.09999999403953552 and 0.10000000149011612.
    narrow = one_feature_tree(0.1, 0.1000000001, (0, 1, 0))
    assert not oracles.meets(narrow, [2, 3], [])
    assert oracles.meets(one_feature_tree(0.1, 0.1000000001, (0, 1, 0), dtype="float64"), [2, 3], [])
    assert oracles.meets(one_feature_tree(0.1, 0.1000000015, (0, 1, 0)), [2, 3], [])


def test_a_box_intersects_the_conditions_of_a_feature():
    tree = one_feature_tree(0, 1, (0, 1, 0))
    assert oracles.box_of(tree, [2, 3]) == {0: oracles.Region(0.0, 1.0, None, False)}
    assert oracles.box_of(tree, [1]) == {0: oracles.Region(None, 0.0, None, False)}
    assert not oracles.meets(tree, [1], [2])
    assert oracles.meets(tree, [], [])


def test_only_nan_is_above_infinity():
    builder = TreeBuilder(classes=[0, 1], feature_names=["x0", "x1"], accepts_missing=["x0"])
    root = builder.split("x0", math.inf, missing="right")
    builder.leaf(prediction=0, parent=root, side="left")
    inner = builder.split("x0", 5, parent=root, side="right", missing="left")
    builder.leaf(prediction=0, parent=inner, side="left")
    builder.leaf(prediction=1, parent=inner, side="right")
    tree = builder.build()
    assert oracles.meets(tree, [2], [3])
    assert not oracles.meets(tree, [2], [4])
    # x1 takes no NaN, so nothing at all would be above +inf there.
    assert oracles.is_empty(tree, oracles.Region(math.inf, math.inf, None, False))


def test_infinite_values_are_numbers():
    tree = one_feature_tree(float(np.finfo(np.float32).min), float(np.finfo(np.float32).max), (0, 1, 0))
    assert oracles.meets(tree, [1], [])
    assert oracles.meets(tree, [2, 4], [])
    assert oracles.walk(tree, [-math.inf]) == 1
    assert oracles.walk(tree, [math.inf]) == 4


def test_categorical_regions_are_sets_of_codes():
    builder = TreeBuilder(classes=[0, 1], feature_names=["city"], categories={"city": ["Oslo", "Rome"]})
    root = builder.split_categories("city", ["Rome"])
    builder.leaf(prediction=0, parent=root, side="left")
    inner = builder.split_categories("city", ["Oslo", "Rome"], parent=root, side="right")
    builder.leaf(prediction=1, parent=inner, side="left")
    builder.leaf(prediction=0, parent=inner, side="right")
    tree = builder.build()
    assert oracles.box_of(tree, [2, 3])[0].codes == {0}
    assert oracles.box_of(tree, [2, 4])[0].codes == {2}
    assert not oracles.meets(tree, [1], [2])


# --- methods, by hand -------------------------------------------------------------------------------------------------


def test_methods_without_rows_on_the_two_feature_tree():
    # Leaf 3 without link 2 (x1 <= 0.5) reaches leaves 1 and 3, both of class 1; every other deletion reaches the other
    # class: leaf 1 without link 1 and leaf 3 without link 3 reach leaf 4, leaf 4 without 2 leaf 1, without 4 leaf 3.
    tree = two_feature_tree()
    assert oracles.delete_none(tree) == {1: [], 3: [], 4: []}
    for method in EXACT_METHODS:
        assert method(tree) == {1: [], 3: [2], 4: []}


def test_redundancy_drops_a_feature_whole_or_not_at_all():
    # Leaf 3 is 0 < x0 <= 1. Without the lower bound it reaches leaf 1 of its class; without both also leaf 4. Leaf 4 is
    # x0 > 0 and x0 > 1, so that its first bound says nothing; without both it reaches class 1.
    tree = one_feature_tree(0, 1, (1, 1, 0))
    assert oracles.delete_sibling(tree) == {1: [], 3: [2], 4: []}
    assert oracles.delete_exact(tree) == {1: [], 3: [2], 4: [2]}
    assert oracles.delete_redundancy(tree) == {1: [], 3: [], 4: []}


def test_exact_and_redundancy_go_from_the_root_to_the_leaf():
    # Class 1 is "x0 or x1". Leaf 6 (both) needs one of its conditions: the one nearer the root goes.
    builder = TreeBuilder(classes=[0, 1], feature_names=["x0", "x1"])
    root = builder.split("x0", 0.5)
    without_x0 = builder.split("x1", 0.5, parent=root, side="left")
    builder.leaf(prediction=0, parent=without_x0, side="left")
    builder.leaf(prediction=1, parent=without_x0, side="right")
    with_x0 = builder.split("x1", 0.5, parent=root, side="right")
    builder.leaf(prediction=1, parent=with_x0, side="left")
    builder.leaf(prediction=1, parent=with_x0, side="right")
    tree = builder.build()
    assert oracles.delete_exact(tree) == {2: [], 3: [1], 5: [5], 6: [4]}
    assert oracles.delete_redundancy(tree) == {2: [], 3: [1], 5: [5], 6: [4]}
    assert oracles.delete_sibling(tree) == {2: [], 3: [], 5: [], 6: []}


def test_exact_sees_that_a_leaf_is_out_of_reach():
    # No float32 number reaches leaf 3, so class 0 holds everywhere. Leaf 3 without link 2 reaches leaf 1, and
    # without link 3 leaf 4.
    tree = one_feature_tree(0.1, 0.1000000001, (0, 1, 0))
    assert oracles.delete_exact(tree) == {1: [1], 3: [], 4: [2, 4]}


def test_mismatch_deletes_within_the_tolerance_only():
    # Leaf 3: link 2 is mismatched; reliability 3/4 with it, 5/6 without it, 1/12 apart.
    tree = two_feature_tree()
    X, y = two_feature_rows()
    assert oracles.delete_mismatch(tree, X, y, None, 0.05) == {1: [], 3: [], 4: []}
    assert oracles.delete_mismatch(tree, X, y, None, 0.09) == {1: [], 3: [2], 4: []}
    # No row of leaf 3: nothing to compare with.
    elsewhere = [i for i, row in enumerate(X) if oracles.walk(tree, row) != 3]
    assert oracles.delete_mismatch(tree, X[elsewhere], [y[i] for i in elsewhere], None, 1.0)[3] == []


def test_mismatch_protects_links_inside_h():
    # Leaves 3 and 4 are both of class 1, so H is node 2; link 3 is mismatched (3/4 after 7/8) but inside H.
    builder = TreeBuilder(classes=[0, 1], feature_names=["x0"])
    root = builder.split("x0", 0)
    builder.leaf([8, 0], parent=root, side="left")
    inner = builder.split("x0", 1, parent=root, side="right")
    builder.leaf([1, 3], parent=inner, side="left")
    builder.leaf([0, 4], parent=inner, side="right")
    tree = builder.build()
    assert oracles.mismatched_links(tree, 3, 1e-12) == [3]
    X = np.array([[-1.0], [0.5], [2.0]])
    assert oracles.delete_mismatch(tree, X, [0, 1, 1], None, 1.0) == {1: [], 3: [], 4: []}


@pytest.mark.parametrize(
    ("tolerance", "gone"),
    [(0.0, []), (0.1, [2]), (0.13, [2, 4])],
)
def test_mismatch_takes_what_is_mismatched_whether_it_is_exact_or_not(tolerance: float, gone: list[int]):
    # Leaf 5 (class 1) is right in 4 of 6 rows.
    # Without link 2 (exact drops it) leaf 1's row (0, 1, 0) of class 1 joins: 5/7, 0.048 away.
    # Without links 2 and 4 all rows with x2 = 0 join, two of class 1 from leaf 1, four of class 0 and one of class 1
    # from leaf 3: 7/13, 0.128 away. Without link 4 alone only those from leaf 3: 5/11, 0.21 away.
    X, y = three_feature_rows((4, 1))
    assert oracles.delete_exact(three_feature_tree())[5] == [2]
    assert oracles.delete_mismatch(three_feature_tree(), X, y, None, tolerance)[5] == gone


def test_mismatch_compares_the_final_rule_with_the_leaf():
    # Now leaf 3 brings two rows of each class: 8/12 without links 2 and 4, which is exactly the leaf's own 4/6,
    # although either alone moves it.
    X, y = three_feature_rows((2, 2))
    assert oracles.delete_mismatch(three_feature_tree(), X, y, None, 0.0)[5] == [2, 4]


@pytest.mark.parametrize(("tolerance", "gone"), [(0.04, []), (0.05, [2]), (1.0, [2])])
def test_faithful_takes_an_exact_link_only_within_the_tolerance(tolerance: float, gone: list[int]):
    # Without link 2 leaf 5 goes from 4/6 to 5/7, 0.048 away. Link 4 keeps leaf 3 out, and link 5 leaf 6: both stay.
    X, y = three_feature_rows((4, 1))
    assert oracles.delete_faithful(three_feature_tree(), X, y, None, tolerance)[5] == gone


def test_candidates_are_tried_leaf_to_root():
    # Leaf 3 brings one row of class 1. Without link 2, 5/7; without link 4, 5/7; either is 0.048 away from 4/6. Without
    # both 7/9, 0.11 away. So mismatch takes link 4, the one nearer the leaf.
    X, y = three_feature_rows((0, 1))
    assert oracles.delete_mismatch(three_feature_tree(), X, y, None, 0.1)[5] == [4]


def test_the_finite_certificate_asks_every_listed_row():
    # Leaf 3 without its mismatched link 2 is x1 <= 0.5.
    tree = two_feature_tree()
    assert oracles.delete_mismatch_certified(tree, np.array([[0.0, 0], [1, 0], [1, 1]]), [1, 1, 0])[3] == [2]
    assert oracles.delete_mismatch_certified(tree, np.array([[0.0, 0], [1, 0], [1, 1]]), [0, 1, 0])[3] == []
    # A rule that is wrong itself passes no certificate, and one without rows has nothing to certify.
    assert oracles.delete_mismatch_certified(tree, np.array([[0.0, 0], [1, 0], [1, 1]]), [1, 0, 0])[3] == []
    assert oracles.delete_mismatch_certified(tree, np.array([[0.0, 0], [1, 1]]), [1, 0])[3] == []


@pytest.mark.parametrize(("sign", "deleted"), [(-1, [2]), (0, []), (1, [])])
def test_the_monotone_certificate_lets_a_bound_cut_off_favourable_values(sign: int, deleted: list[int]):
    # Link 2 of leaf 3 (class 1) is x0 > 0.5: it cuts off small values, so small values must favour class 1.
    assert oracles.delete_mismatch_monotone(two_feature_tree(), [sign, 0]) == {1: [], 3: deleted, 4: []}


@pytest.mark.parametrize(("inner_side", "reachable"), [("left", True), ("right", False)])
def test_the_monotone_certificate_needs_a_number_to_move_to(inner_side: str, reachable: bool):
    # Leaf 3 (class 1) is x0 > 0.5 and x0 <= 0.2: NaN alone may reach it. Its mismatched link 2 (x0 > 0.5 or missing)
    # keeps NaN and cuts off small values, which favour class 1, but no number of the rule is left to move to.
    builder = TreeBuilder(classes=[0, 1], feature_names=["x0"], accepts_missing=True)
    root = builder.split("x0", 0.5, missing="right")
    builder.leaf([0, 4], parent=root, side="left")
    inner = builder.split("x0", 0.2, parent=root, side="right", missing=inner_side)
    builder.leaf([1, 3], parent=inner, side="left")
    builder.leaf([4, 0], parent=inner, side="right")
    tree = builder.build()
    assert oracles.meets(tree, [2, 3], []) == reachable
    assert oracles.mismatched_links(tree, 3, 1e-12) == [2]
    assert oracles.delete_mismatch_monotone(tree, [-1])[3] == []


def test_the_monotone_certificate_rejects_a_condition_that_excludes_nan():
    for missing, deleted in (("right", [2]), ("left", [])):
        builder = TreeBuilder(classes=[0, 1], feature_names=["x0", "x1"], accepts_missing=["x0"])
        root = builder.split("x0", 0.5, missing=missing)
        builder.leaf([0, 4], parent=root, side="left")
        inner = builder.split("x1", 0.5, parent=root, side="right")
        builder.leaf([1, 3], parent=inner, side="left")
        builder.leaf([4, 0], parent=inner, side="right")
        assert oracles.delete_mismatch_monotone(builder.build(), [-1, 0])[3] == deleted


def test_the_monotone_certificate_rejects_a_categorical_condition():
    builder = TreeBuilder(classes=[0, 1], feature_names=["city", "x1"], categories={"city": ["Oslo", "Rome"]})
    root = builder.split_categories("city", ["Rome"])
    builder.leaf([0, 4], parent=root, side="left")
    inner = builder.split("x1", 0.5, parent=root, side="right")
    builder.leaf([1, 3], parent=inner, side="left")
    builder.leaf([4, 0], parent=inner, side="right")
    assert oracles.mismatched_links(builder.build(), 3, 1e-12) == [2]
    for sign in (-1, 0, 1):
        assert oracles.delete_mismatch_monotone(builder.build(), [sign, 0])[3] == []


def test_quinlan_by_hand():
    # Leaf 1, 4/4: without link 1 all rows, 7/12; Fisher [[4, 0], [3, 5]]: C(7,4) / C(12,4) = 0.0707.
    # Leaf 3, 3/4: without 2, 5/6, no fall; without 3, 3/8, p = 5/70 = 0.0714. Link 2 first, by certainty.
    #   Then 5/6 against 7/12: [[5, 1], [2, 4]]: (21 * 5 + 7) / C(12,6) = 0.121.
    # Leaf 4, 4/4: without 2, 4/6, p = 1/15 = 0.067; without 4, 5/8, p = 5/70 = 0.0714. Link 2 first, by certainty.
    #   Then 4/6 against 5/12: [[4, 2], [1, 5]]: (5 * 21 + 7) / C(12,6) = 0.121.
    #   Where alpha forbids link 2 at first, link 4 goes; then 5/8 against 5/12: C(7,3) / C(12,8) = 0.0707.
    tree = two_feature_tree()
    X, y = two_feature_rows()
    assert oracles.delete_quinlan(tree, X, y, None, 0.01) == {1: [1], 3: [2, 3], 4: [2, 4]}
    assert oracles.delete_quinlan(tree, X, y, None, 0.069) == {1: [1], 3: [2, 3], 4: [2, 4]}
    assert oracles.delete_quinlan(tree, X, y, None, 0.0708) == {1: [], 3: [2, 3], 4: [4]}
    assert oracles.delete_quinlan(tree, X, y, None, 0.2) == {1: [], 3: [2], 4: []}


def test_quinlan_breaks_ties_by_p_and_then_by_nearness_to_the_root():
    # Leaf 4 (x0 > 0.5, link 2; x1 > 0.5, link 4) is right in 2 of 2 rows. Link 2 keeps (0, 1) out, link 4 (1, 0).
    tree = two_feature_tree()
    common = [(1, 1, 0)] * 2 + [(0, 1, 1)] * 2 + [(0, 0, 1)] * 4
    # Without 2, 2/4, [[2, 0], [0, 2]]: p = 1/6. Without 4, 3/6, [[2, 0], [1, 3]]: p = C(3,2) / C(6,2) = 0.2, so 4 goes.
    # Then 3/6 against 3/12: [[3, 3], [0, 6]]: C(6,3) / C(12,3) = 0.09, so 2 stays.
    by_p = common + [(1, 0, 0)] + [(1, 0, 1)] * 3
    # Without either, 2/4 and p = 1/6, so 2 goes. Then 2/4 against 2/10: [[2, 2], [0, 6]]: 6 / 45 = 0.13, so 4 stays.
    by_nearness = common + [(1, 0, 1)] * 2
    for table, deleted in ((by_p, [4]), (by_nearness, [2])):
        X = np.array([row[:2] for row in table], dtype=float)
        assert oracles.delete_quinlan(tree, X, [row[2] for row in table], None, 0.15)[4] == deleted


def test_quinlan_counts_whole_weights_as_repeated_rows():
    tree = two_feature_tree()
    X, y = two_feature_rows()
    w = [1.0, 2.0, 0.0, 3.0, 1.0, 1.0, 2.0, 1.0, 0.0, 1.0, 1.0, 2.0]
    repeated = [i for i, weight in enumerate(w) for _ in range(int(weight))]
    for alpha in (0.01, 0.1, 0.5):
        assert oracles.delete_quinlan(tree, X, y, w, alpha) == oracles.delete_quinlan(
            tree, X[repeated], [y[i] for i in repeated], None, alpha
        )
    with pytest.raises(ValueError, match="whole numbers"):
        oracles.delete_quinlan(tree, X, y, [0.5] * 12, 0.01)


# --- a budget of conflicting rows, by hand ----------------------------------------------------------------------------

# The first draws of RandomState(0).permutation(2); a permutation of one row draws nothing.
#     [1 0] [0 1] [0 1] [1 0]


def test_features_are_shuffled_one_by_one_within_a_predicted_class():
    # Rows 0 and 2 are of class 1, row 1 of class 0; four rows asked for, so two copies of three.
    # Copy 1: class 0 has one row. Class 1: x0 in the order [1 0], so 1, 0; x1 in the order [0 1], so 1, 0.
    # Copy 2: x0 in the order [0 1], so 0, 1; x1 in the order [1 0], so 0, 1.
    X = np.array([[0.0, 1], [1, 1], [1, 0]])
    found = oracles.shuffled_rows(two_feature_tree(), X, np.ones(3), {0: [1], 1: [0, 2]}, 2)
    assert [(c, cells.tolist()) for c, cells in found] == [
        *[(0, [1, 1]), (1, [1, 1]), (1, [0, 0])],
        *[(0, [1, 1]), (1, [0, 0]), (1, [1, 1])],
    ]
    # The training rows have n / (n + n0) = 3 / 9 of the mixed weight, the two copies share the other 6 / 9.
    mixed = oracles.mixed_rows(two_feature_tree(), X, None, 6, pool=4)
    assert [row.cells.tolist() for row in mixed] == [*X.tolist(), *(cells.tolist() for _, cells in found)]
    assert [row.mixed for row in mixed] == [Fraction(1, 9)] * 9
    assert [row.real for row in mixed] == [Fraction(1, 3)] * 3 + [0] * 6


@pytest.mark.parametrize(
    ("budget", "n_steps"), [(0.0, 0), (0.33, 0), (0.34, 1), (0.66, 1), (0.67, 2), (0.99, 2), (1, 4)]
)
def test_a_budget_by_hand(budget: float, n_steps: int):
    # The rows of the last test; the exact deletion is link 2 of leaf 3. What each further deletion would bring:
    #     leaf 1 (x0 <= 0.5 -> 1) without 1: the rows (1, 1), of class 0: one real, four shuffled; 5/9 mixed, 1/3 real
    #     leaf 3 (x1 <= 0.5 -> 1) without 3: the same
    #     leaf 4 (x0 > 0.5, x1 > 0.5 -> 0) without 2: the row (0, 1); 1/9 mixed, 1/3 real; and leaf 1
    #     leaf 4 without 4: the row (1, 0); 1/9 mixed, 1/3 real; and leaf 3
    # So link 2 of leaf 4 goes, the one nearer the root. Now leaf 4 without 4 would bring (1, 0) and two shuffled rows
    # (0, 0): 3/9 mixed, 1/3 real. Then every row of class 1 is in conflict; leaf 1 comes before leaf 3, and leaf 3
    # finds nothing new any more.
    X = np.array([[0.0, 1], [1, 1], [1, 0]])
    third = Fraction(1, 3)
    steps = [(4, 2, Fraction(1, 9), third), (4, 4, third, third), (1, 1, Fraction(5, 9), third), (3, 3, 0, 0)]
    tree = two_feature_tree()
    assert oracles.budgeted_steps(tree, X, None, budget, 6, None, pool=4) == steps[:n_steps]
    deleted = {1: [1], 3: [2, 3], 4: [2, 4]} if n_steps == 4 else {1: [], 3: [2], 4: [2, 4][:n_steps]}
    assert oracles.delete_budgeted(tree, X, None, budget, 6, None, pool=4) == deleted


@pytest.mark.parametrize(("budget", "deleted"), [(0.24, {1: [], 3: [2]}), (0.25, {1: [1], 3: [2, 3]})])
def test_shuffled_rows_alone_can_exhaust_a_budget(budget: float, deleted: dict[int, list[int]]):
    # Two rows of class 1, shuffled into (1, 1), which is of class 0, and (0, 0); each of the four has 1/4. Leaf 1
    # without 1 brings (1, 1) into conflict and no real row; leaf 3 without 3 the same. Leaf 4 without 2 or 4 brings a
    # real row, half of all, at the same mixed price, but leaf 1 comes first.
    X = np.array([[0.0, 1], [1, 0]])
    assert oracles.delete_budgeted(two_feature_tree(), X, None, budget, 2, None, pool=2) == {**deleted, 4: []}


def test_a_budget_is_the_decimal_number_that_was_typed():
    # Three of ten rows are of class 0, and 0.3 as a binary number is below 3/10.
    assert Fraction(0.3) < Fraction(3, 10)
    tree = one_feature_tree(0, 1, (0, 1, 1))
    X = np.array([[-1.0]] * 3 + [[0.5]] + [[2.0]] * 6)
    assert oracles.delete_exact(tree) == {1: [], 3: [3], 4: [2]}
    three = Fraction(3, 10)
    assert oracles.budgeted_steps(tree, X, None, 0.3, 0, None) == [(3, 2, three, three), (4, 4, 0, 0)]
    assert oracles.budgeted_steps(tree, X, None, 0.29, 0, None) == []


def test_of_two_deletions_at_one_price_the_one_that_meets_fewer_foreign_leaves_goes_first():
    # Leaves along x0: 1 (class 0) up to 0, 3 (class 1) up to 1, 5 (class 1) up to 2, 6 (class 0) above. Of leaf 5, link
    # 2 is exact; of leaf 6, 2 and 4. Every other deletion brings two of the six rows into conflict. Leaf 1 without 1
    # meets two leaves, 3 and 5, so leaf 3 without 2 goes first, which meets leaf 1 only; then leaf 5 without 4 is free.
    builder = TreeBuilder(classes=[0, 1], feature_names=["x0"])
    node = builder.split("x0", 0)
    for prediction, threshold in ((0, 1), (1, 2)):
        builder.leaf(prediction=prediction, parent=node, side="left")
        node = builder.split("x0", threshold, parent=node, side="right")
    builder.leaf(prediction=1, parent=node, side="left")
    builder.leaf(prediction=0, parent=node, side="right")
    tree = builder.build()
    assert oracles.delete_exact(tree) == {1: [], 3: [], 5: [2], 6: [2, 4]}
    X = np.array([[-1.0], [-2.0], [0.5], [1.5], [3.0], [4.0]])
    steps = oracles.budgeted_steps(tree, X, None, 0.34, 0, None)
    assert steps == [(3, 2, Fraction(1, 3), Fraction(1, 3)), (5, 4, 0, 0)]


def test_a_systematic_sample_takes_a_row_as_often_as_its_weight_asks_for():
    # Weights 1, 1, 4 are cumulated to 1, 2, 6; the middles of three steps are 1, 3, 5, and 1 belongs to the second row.
    weights = np.array([9.0, 1, 1, 4])
    assert oracles.systematic_sample(weights, [1, 2, 3]) == [2, 3, 3]
    assert oracles.systematic_sample(weights, [0]) == [0]
    assert oracles.systematic_sample(np.full(4, 0.1), [0, 2, 3]) == [0, 2, 3]


def test_unequal_weights_share_by_weight_in_steps_of_two_to_the_minus_52():
    # Rows 0 and 2 (weights 1, 4) are of class 1, row 1 (weight 1) of class 0; the last row has no weight and is no row.
    # Weights 1, 4 are cumulated to 1, 5; the middles 1.25 and 3.75 both take row 2, so both shuffled rows are (1, 0).
    X = np.array([[0.0, 1], [1, 1], [1, 0], [0, 0]])
    found = oracles.mixed_rows(two_feature_tree(), X, [1, 1, 4, 0], 1, pool=3)
    assert [row.cells.tolist() for row in found] == [[0, 1], [1, 1], [1, 0], [1, 1], [1, 0], [1, 0]]
    # Training rows share 3/4, shuffled rows 1/4: of class 0 a sixth of it, of class 1 five sixths of it by two.
    expected = [3 / 24, 3 / 24, 12 / 24, 1 / 24, 5 / 48, 5 / 48]
    assert [float(row.mixed) for row in found] == pytest.approx(expected, abs=2**-52)
    assert [float(row.real) for row in found] == pytest.approx([1 / 6, 1 / 6, 4 / 6, 0, 0, 0], abs=2**-52)
    assert all((row.mixed * 2**52).denominator == (row.real * 2**52).denominator == 1 for row in found)
    assert oracles.to_52_bits(1 / 6) == Fraction(750599937895083, 2**52)  # 2**52 / 6 ends in .67


def test_a_fraction_as_smoothing_rounds_the_mixed_shares_only():
    X = np.array([[0.0, 1], [1, 1], [1, 0]])
    found = oracles.mixed_rows(two_feature_tree(), X, [2, 2, 2], 1.5, pool=3)
    assert [row.real for row in found] == [Fraction(1, 3)] * 3 + [0] * 3
    assert [row.mixed for row in found] == [oracles.to_52_bits(2 / 9)] * 3 + [oracles.to_52_bits(1 / 9)] * 3


# --- rules, by hand ---------------------------------------------------------------------------------------------------


def test_ranking_and_metrics_by_hand():
    # Rules: 0 "everything -> 1", 7/12; 1 "x1 <= 0.5 -> 1", 5/6; 2 "x1 > 0.5 -> 0", 4/6. So the order is 1, 2, 0.
    tree = two_feature_tree()
    X, y = two_feature_rows()
    deleted = {1: [1], 3: [2], 4: [2]}
    test_rows = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    assert oracles.covers(tree, deleted, test_rows) == [
        [True, True, False],
        [True, False, True],
        [True, True, False],
        [True, False, True],
    ]
    assert oracles.winning_rule(tree, deleted, X, y, None, test_rows) == [1, 2, 1, 2]
    assert oracles.predict(tree, deleted, X, y, None, test_rows) == [1, 0, 1, 0]
    # The tree says 1, 1, 1, 0 and the truth is 1, 0, 1, 0: the tree gets 3 of 4, the rules 4 of 4. Class 0: precision 1
    # and 1, recall 1/2 and 1. Class 1: precision 2/3 and 1, recall 1 and 1. Rule 0 kept the empty prefix and grew.
    assert oracles.metrics(tree, deleted, X, y, None, test_rows, [1, 0, 1, 0]) == {
        "rule_irc": 100.0,
        "irc_per_rule": pytest.approx(100 * (1 + 1 / 2 + 1 / 2) / 3),
        "removed": pytest.approx(60.0),
        "delta_accuracy": pytest.approx(25.0),
        "conflict": pytest.approx(50.0),
        "coverage": 100.0,
        "assimilated": pytest.approx(100 / 3),
        "abs_delta_precision": [0.0, pytest.approx(100 / 3)],
        "abs_delta_recall": [pytest.approx(50.0), 0.0],
        "macro_dev": pytest.approx((100 / 3 + 50) / 4),
    }


def test_a_prefix_is_assimilated_only_if_its_rows_grew():
    # Rule 0 kept the empty prefix, but all rows that count are its own already.
    tree = two_feature_tree()
    X, y = np.array([[0.0, 0], [1, 1]]), [1, 0]
    deleted = {1: [1], 3: [], 4: []}
    assert oracles.metrics(tree, deleted, X, y, None, X, y)["assimilated"] == pytest.approx(100 / 3)
    assert oracles.metrics(tree, deleted, X, y, [1.0, 0.0], X, y)["assimilated"] == 0.0


def test_a_tie_goes_to_more_support_then_fewer_conditions_then_source_order():
    # Labels are the tree's own, so every rule is right. Leaf 3 without link 2 has 6 rows, leaf 1 has 4.
    tree = two_feature_tree()
    X, _ = two_feature_rows()
    y = [oracles.tree_class(tree, row) for row in X]
    assert oracles.winning_rule(tree, {1: [], 3: [2], 4: []}, X, y, None, np.array([[0.0, 0]])) == [1]
    # Two rows (0, 1) and two rows (1, 0): both rules have support 2 and one condition, and leaf 1 comes first.
    half = [2, 3, 4, 5]
    assert oracles.winning_rule(
        tree, {1: [], 3: [2], 4: []}, X[half], [y[i] for i in half], None, np.array([[0.0, 0]])
    ) == [0]
    # Of the rows (1, 0), one of each class, "x0 > 0.5 and x1 <= 0.5 -> 1" and "everything -> 0" both get half.
    assert oracles.winning_rule(
        tree, {1: [], 3: [], 4: [2, 4]}, np.array([[1.0, 0], [1, 0]]), [1, 0], None, np.array([[1.0, 0]])
    ) == [2]


def test_a_rule_without_support_ranks_last():
    # Only class-0 rows: rule 1 (x1 <= 0.5 -> 1) has reliability 0, rule 0 has no rows and None. Zero beats None.
    tree = two_feature_tree()
    assert oracles.winning_rule(
        tree, {1: [], 3: [2], 4: []}, np.array([[1.0, 0]]), [0], None, np.array([[0.0, 0]])
    ) == [1]


def test_metrics_of_a_tree_with_one_leaf():
    builder = TreeBuilder(classes=[0, 1], feature_names=["x0"])
    builder.leaf([3, 1])
    X = np.array([[0.0], [1.0]])
    found = oracles.metrics(builder.build(), {0: []}, X, [0, 1], None, X, [0, 1])
    assert found["coverage"] == 100.0
    assert found["removed"] == found["rule_irc"] == found["macro_dev"] == 0.0
    assert math.isnan(found["irc_per_rule"])  # no rule lost a condition


# --- against scikit-learn ---------------------------------------------------------------------------------------------


@thorough
@given(st.data())
def test_walk_is_sklearns_apply(data: st.DataObject):
    problem = data.draw(sklearn_problems())
    tree = tree_from_sklearn(problem)
    X = np.concatenate([problem.X.astype(np.float64), data.draw(rows(tree))])
    found = [oracles.walk(tree, row) for row in X]
    assert found == problem.model.apply(X).tolist()
    assert tree.classes[tree.leaf_class[found]].tolist() == problem.model.predict(X).tolist()


@thorough
@given(sklearn_problems())
def test_routing_rows_gives_sklearns_counts(problem: SklearnProblem):
    tree = tree_from_sklearn(problem)
    w = None if problem.sample_weight is None else problem.sample_weight.tolist()
    labels = problem.model.classes_.tolist()
    y = [labels.index(label) for label in problem.y.tolist()]
    bare = make_tree(
        children_left=tree.children_left,
        children_right=tree.children_right,
        feature=tree.feature,
        threshold=tree.threshold,
        missing_left=tree.missing_left,
        leaf_class=tree.leaf_class,
        classes=tree.classes,
        n_features=tree.n_features,
        accepts_missing=tree.accepts_missing,
    )
    # scikit-learn stores shares; multiplying them back rounds.
    np.testing.assert_allclose(oracles.fill_counts(bare, problem.X, y, w).counts, tree.counts, atol=1e-9)


@thorough
@given(st.data())
def test_precision_and_recall_are_sklearns(data: st.DataObject):
    tree = data.draw(trees(max_leaves=6))
    X, y, w = data.draw(labelled_rows(tree, weights=True))
    deleted = oracles.delete_mismatch(tree, X, y, w, 0.2)
    found = oracles.metrics(tree, deleted, X, y, w, X, y)
    by_rules, by_tree = (
        precision_recall_fscore_support(y, predicted, labels=range(tree.n_classes), zero_division=0)
        for predicted in (
            oracles.predict(tree, deleted, X, y, w, X),
            [oracles.tree_class(tree, row) for row in X],
        )
    )
    np.testing.assert_allclose(found["abs_delta_precision"], 100 * np.abs(by_rules[0] - by_tree[0]), atol=1e-9)
    np.testing.assert_allclose(found["abs_delta_recall"], 100 * np.abs(by_rules[1] - by_tree[1]), atol=1e-9)


# --- against brute force ----------------------------------------------------------------------------------------------


def small_trees() -> st.SearchStrategy[Tree]:
    """Trees whose whole grid can be walked."""
    return trees(max_leaves=7, n_classes=2).filter(lambda tree: len(oracles.grid_rows(tree, 1500)) < 1500)


@thorough
@given(small_trees(), st.data())
def test_meets_agrees_with_the_grid(tree: Tree, data: st.DataObject):
    grid = oracles.grid_rows(tree, 1500)
    if tree.n_nodes == 1:
        assert oracles.meets(tree, [], [])
        return
    some_links = st.lists(st.integers(1, tree.n_nodes - 1), max_size=4)
    for _ in range(5):
        one, two = data.draw(some_links), data.draw(some_links)
        assert oracles.meets(tree, one, two) == any(oracles.satisfies(tree, row, [*one, *two]) for row in grid)


@thorough
@given(small_trees())
def test_each_row_satisfies_one_path_and_it_is_its_leafs(tree: Tree):
    for row in oracles.grid_rows(tree, 300):
        assert [leaf for leaf in oracles.leaves(tree) if oracles.satisfies(tree, row, oracles.path(tree, leaf))] == [
            oracles.walk(tree, row)
        ]


@pytest.mark.parametrize("method", EXACT_METHODS)
@thorough
@given(tree=trees(max_leaves=8))
def test_exact_methods_keep_every_prediction(method: Callable[[Tree], oracles.Deletion], tree: Tree):
    deleted = method(tree)
    grid = oracles.grid_rows(tree, 300)
    for row, covered in zip(grid, oracles.covers(tree, deleted, grid), strict=True):
        own = oracles.walk(tree, row)
        covering = [leaf for leaf, is_covered in zip(oracles.leaves(tree), covered, strict=True) if is_covered]
        assert own in covering
        assert {int(tree.leaf_class[leaf]) for leaf in covering} == {int(tree.leaf_class[own])}


@thorough
@given(small_trees())
def test_exact_leaves_nothing_that_could_go(tree: Tree):
    grid = oracles.grid_rows(tree, 1500)
    answers = [oracles.tree_class(tree, row) for row in grid]
    for leaf, deleted in oracles.delete_exact(tree).items():
        kept = oracles.without(oracles.path(tree, leaf), deleted)
        for link in kept:
            wider = oracles.without(kept, [link])
            reached = {c for row, c in zip(grid, answers, strict=True) if oracles.satisfies(tree, row, wider)}
            assert reached - {int(tree.leaf_class[leaf])}


def dominates(tree: Tree, row: np.ndarray, other: np.ndarray, favourable: list[int]) -> bool:
    """Whether every value of ``row`` is at least as favourable as that of ``other``; NaN and categories must agree."""
    for feature, sign in enumerate(favourable):
        one, two = row[feature], other[feature]
        if sign == 0 or tree.categories[feature] is not None or math.isnan(one) or math.isnan(two):
            if str(one) != str(two):
                return False
        elif sign * (one - two) < 0:
            return False
    return True


@thorough
@given(small_trees(), st.data())
def test_the_monotone_certificate_is_sound(tree: Tree, data: st.DataObject):
    # The least that monotonicity and a valid rule imply is the leaf's class on every row that dominates a row of the
    # rule. The wider rule must stay within that; the grid holds the extreme numbers of every cell, so it decides.
    signs = data.draw(st.lists(st.sampled_from((-1, 0, 1)), min_size=tree.n_features, max_size=tree.n_features))
    grid = oracles.grid_rows(tree, 1500)
    for leaf, deleted in oracles.delete_mismatch_monotone(tree, signs).items():
        if deleted:
            rule = oracles.path(tree, leaf)
            favourable = signs if tree.leaf_class[leaf] == 1 else [-sign for sign in signs]
            witnesses = [row for row in grid if oracles.satisfies(tree, row, rule)]
            for row in grid:
                if oracles.satisfies(tree, row, oracles.without(rule, deleted)):
                    assert any(dominates(tree, row, witness, favourable) for witness in witnesses)


@thorough
@given(st.data())
def test_reliability_select_stays_within_its_tolerance(data: st.DataObject):
    tree = data.draw(trees(max_leaves=8, with_counts=data.draw(st.booleans())))
    X, y, w = data.draw(labelled_rows(tree, weights=data.draw(st.booleans())))
    tolerance = data.draw(st.sampled_from((0.0, 0.05, 0.3)))
    for leaf, deleted in oracles.delete_mismatch(tree, X, y, w, tolerance).items():
        move = oracles.find_move(tree, X, y, w, leaf, oracles.without(oracles.path(tree, leaf), deleted))
        if move is None:
            assert deleted == []
            continue
        assert oracles.is_at_most(abs(move), tolerance)


@thorough
@given(st.data())
def test_quinlan_stops_only_when_nothing_is_deletable(data: st.DataObject):
    tree = data.draw(trees(max_leaves=6))
    X, y, w = data.draw(labelled_rows(tree, weights=data.draw(st.booleans())))
    for leaf, deleted in oracles.delete_quinlan(tree, X, y, w, 0.1).items():
        c = int(tree.leaf_class[leaf])
        if oracles.support_and_reliability(tree, X, y, w, oracles.path(tree, leaf), c)[0] == 0:
            assert deleted == []
            continue
        kept = oracles.without(oracles.path(tree, leaf), deleted)
        n, certainty = oracles.support_and_reliability(tree, X, y, w, kept, c)
        k = round(n * certainty)
        for link in kept:
            n_wide, wider = oracles.support_and_reliability(tree, X, y, w, oracles.without(kept, [link]), c)
            k_wide = round(n_wide * wider)
            assert wider < certainty
            # P(at least k of the n drawn are right), drawn from the wider rule's rows.
            assert hypergeom.sf(k - 1, int(n_wide), k_wide, int(n)) <= 0.1 + 1e-9


# --- a budget, against its definition ---------------------------------------------------------------------------------


class BudgetProblem(NamedTuple):
    """What the budgeted oracles take."""

    tree: Tree
    X: np.ndarray
    w: list[float] | None
    budget: float
    smoothing: float
    pool: int
    guard: oracles.Guard | None = None

    def rows(self) -> list[oracles.SharedRow]:
        return oracles.mixed_rows(self.tree, self.X, self.w, self.smoothing, self.pool)

    def steps(self) -> list[oracles.BudgetStep]:
        return oracles.budgeted_steps(
            self.tree, self.X, self.w, self.budget, self.smoothing, self.guard, pool=self.pool
        )

    def deleted(self) -> oracles.Deletion:
        return oracles.delete_budgeted(
            self.tree, self.X, self.w, self.budget, self.smoothing, self.guard, pool=self.pool
        )

    def supported(self) -> list[int]:
        """Leaves that a row of some weight reaches."""
        X = self.X if self.w is None else self.X[np.array(self.w) > 0]
        return [
            leaf
            for leaf in oracles.leaves(self.tree)
            if any(oracles.satisfies(self.tree, row, oracles.path(self.tree, leaf)) for row in X)
        ]

    def fits(self, spent: tuple[Fraction, Fraction], found: list[oracles.SharedRow]) -> bool:
        """Whether mixed and real shares in conflict are within the budget of all rows, whose shares are rounded."""
        share = Fraction(str(self.budget))
        return spent[0] <= share * sum(row.mixed for row in found) and spent[1] <= share * sum(
            row.real for row in found
        )


@st.composite
def budget_problems(draw: st.DrawFn, **fixed: Any) -> BudgetProblem:
    tree = draw(trees(max_leaves=8))
    X, _, w = draw(labelled_rows(tree, weights=draw(st.booleans()), max_rows=25))
    if w is not None and draw(st.booleans()):
        w = [weight * draw(st.sampled_from((0.1, 1.0, 0.7))) for weight in w]
    drawn = BudgetProblem(
        tree,
        X,
        w,
        budget=draw(st.sampled_from((0.0, 0.015, 0.1, 0.3, 0.5, 0.8))),
        smoothing=draw(st.sampled_from((0, 1, 10, 1000, 2.5))),
        pool=draw(st.sampled_from((1, 10, 40))),
    )
    return drawn._replace(**fixed)


def in_conflict(tree: Tree, deleted: oracles.Deletion, found: list[oracles.SharedRow]) -> list[bool]:
    """Whether a rule of another class than the tree's covers each row."""
    classes = [int(tree.leaf_class[leaf]) for leaf in oracles.leaves(tree)]
    cells = np.array([row.cells for row in found])
    return [
        any(is_covered and c != oracles.tree_class(tree, row) for c, is_covered in zip(classes, covered, strict=True))
        for row, covered in zip(cells, oracles.covers(tree, deleted, cells), strict=True)
    ]


def conflict_shares(tree: Tree, deleted: oracles.Deletion, found: list[oracles.SharedRow]) -> tuple[Fraction, Fraction]:
    """Mixed and real share of the rows in conflict."""
    hit = [row for row, conflicts in zip(found, in_conflict(tree, deleted, found), strict=True) if conflicts]
    return sum((row.mixed for row in hit), Fraction(0)), sum((row.real for row in hit), Fraction(0))


@brisk
@given(budget_problems())
def test_a_budget_is_kept_and_no_further_deletion_fits_it(problem: BudgetProblem):
    tree, found, deleted, steps = problem.tree, problem.rows(), problem.deleted(), problem.steps()
    spent = conflict_shares(tree, deleted, found)
    assert problem.fits(spent, found)
    assert spent == (sum(step.mixed for step in steps), sum(step.real for step in steps))
    for leaf, links in oracles.delete_exact(tree).items():
        assert sorted(deleted[leaf]) == sorted([*links, *(step.link for step in steps if step.leaf == leaf)])
    for leaf in problem.supported():
        for link in oracles.without(oracles.path(tree, leaf), deleted[leaf]):
            wider = {**deleted, leaf: [*deleted[leaf], link]}
            assert not problem.fits(conflict_shares(tree, wider, found), found)


@brisk
@given(budget_problems())
def test_each_step_is_the_cheapest_that_fits(problem: BudgetProblem):
    tree, found = problem.tree, problem.rows()
    deleted = oracles.delete_exact(tree)
    for step in problem.steps()[:3]:  # later ones are no different
        spent = conflict_shares(tree, deleted, found)
        prices = {}
        for leaf in problem.supported():
            for link in oracles.without(oracles.path(tree, leaf), deleted[leaf]):
                after = conflict_shares(tree, {**deleted, leaf: [*deleted[leaf], link]}, found)
                if problem.fits(after, found):
                    prices[leaf, link] = (after[0] - spent[0], after[1] - spent[1])
        assert prices[step.leaf, step.link] == (step.mixed, step.real)
        assert step.mixed == min(mixed for mixed, _ in prices.values())
        deleted = {**deleted, step.leaf: [*deleted[step.leaf], step.link]}


@brisk
@given(budget_problems(budget=0.0))
def test_no_budget_deletes_at_least_what_exact_deletes(problem: BudgetProblem):
    tree, found, deleted = problem.tree, problem.rows(), problem.deleted()
    for leaf, links in oracles.delete_exact(tree).items():
        assert set(links) <= set(deleted[leaf])
    for row, conflicts in zip(found, in_conflict(tree, deleted, found), strict=True):
        assert not (conflicts and max(row.mixed, row.real) > 0)


@brisk
@given(budget_problems(budget=1.0))
def test_the_whole_budget_deletes_everything_from_rules_that_have_rows(problem: BudgetProblem):
    everything = {leaf: oracles.path(problem.tree, leaf) for leaf in problem.supported()}
    assert problem.deleted() == {**oracles.delete_exact(problem.tree), **everything}


@brisk
@given(budget_problems())
def test_shares_add_up_to_one_and_shuffling_keeps_every_column(problem: BudgetProblem):
    tree, found = problem.tree, problem.rows()
    n = len(problem.X) if problem.w is None else sum(weight > 0 for weight in problem.w)
    copies = math.ceil(problem.pool / n)
    assert len(found) == n + copies * n
    for total in (sum(row.mixed for row in found), sum(row.real for row in found)):
        assert abs(total - 1) <= Fraction(len(found), 2**52)
    if problem.w is not None:
        return
    tested = sorted({int(feature) for feature in tree.feature if feature >= 0})
    by_class = sorted(range(n), key=lambda i: oracles.tree_class(tree, found[i].cells))  # stable
    sizes = np.bincount([oracles.tree_class(tree, row.cells) for row in found[:n]])
    for copy in range(copies):
        start = n + copy * n
        for size, end in zip(sizes, np.cumsum(sizes), strict=True):
            shuffled = np.array([row.cells for row in found[start + end - size : start + end]])
            own = np.array([found[i].cells for i in by_class[end - size : end]])
            for feature in tested if size else []:
                np.testing.assert_array_equal(np.sort(shuffled[:, feature]), np.sort(own[:, feature]))


@brisk
@given(budget_problems())
def test_rows_without_weight_are_no_rows_and_equal_weights_are_no_weights(problem: BudgetProblem):
    if problem.w is not None:
        weighty = [i for i, weight in enumerate(problem.w) if weight > 0]
        fewer = problem._replace(X=problem.X[weighty], w=[problem.w[i] for i in weighty])
        assert fewer.steps() == problem.steps()
    equal = problem._replace(w=[0.1] * len(problem.X), smoothing=int(problem.smoothing))
    assert equal.steps() == equal._replace(w=None).steps()


@brisk
@given(budget_problems(smoothing=0))
def test_without_smoothing_the_shuffled_rows_count_nothing(problem: BudgetProblem):
    assert problem.steps() == problem._replace(pool=problem.pool + 13).steps()


@brisk
@given(st.lists(st.sampled_from((0.1, 0.2, 0.5, 1.0, 3.0, 17.0)) | st.floats(1e-3, 1e3), min_size=2, max_size=30))
def test_a_systematic_sample_is_a_search_in_the_cumulated_weights(drawn: list[float]):
    weights = np.array([*drawn, drawn[0] + 1.0])  # unequal for certain
    ids = list(range(len(drawn)))
    cum = np.cumsum(drawn)
    middles = (np.arange(len(drawn)) + 0.5) * (cum[-1] / len(drawn))
    found = oracles.systematic_sample(weights, ids)
    assert found == np.minimum(np.searchsorted(cum, middles, side="right"), len(drawn) - 1).tolist()
    for i in ids:  # as often as the weight asks for, rounded one way or the other
        assert abs(found.count(i) - drawn[i] / cum[-1] * len(drawn)) < 1 + 1e-9


# --- the strategies themselves ----------------------------------------------------------------------------------------


@thorough
@given(st.data())
def test_drawn_trees_and_rows_keep_the_contract(data: st.DataObject):
    tree = data.draw(trees(with_counts=data.draw(st.booleans())))
    check_tree(tree)
    assert 1 <= tree.n_leaves <= 12
    X, y, w = data.draw(labelled_rows(tree, weights=True))
    assert X.shape == (len(y), tree.n_features)
    assert len(w) == len(y)
    assert sum(w) > 0
    assert not np.isnan(X[:, ~tree.accepts_missing]).any()
    assert set(y.tolist()) <= set(range(tree.n_classes))
    if tree.counts is not None:
        inner = ~tree.is_leaf
        children = tree.counts[tree.children_left[inner]] + tree.counts[tree.children_right[inner]]
        np.testing.assert_array_equal(tree.counts[inner], children)


def test_a_grid_beyond_its_limit_is_sampled():
    tree = three_feature_tree()
    assert len(oracles.grid_rows(tree)) == 5**3  # -1, 0, 0.5 and its float32 neighbours make five values a feature
    assert oracles.grid_rows(tree, 20).shape == (20, 3)
    np.testing.assert_array_equal(oracles.grid_rows(tree, 20), oracles.grid_rows(tree, 20))


def test_values_at_beside_and_between_thresholds():
    found = oracles.values_at_and_beside(one_feature_tree(0.1, 0.7, (0, 1, 0)), 0)
    # 0.1 is between two float32 numbers, nearer the upper one; 0.7 is nearer the lower one.
    assert {0.09999999403953552, 0.1, 0.10000000149011612, 0.7, 0.699999988079071} <= set(found)
    assert {np.nextafter(0.1, -1), np.nextafter(0.1, 1), np.nextafter(0.7, -1), np.nextafter(0.7, 1)} <= set(found)
    assert any(value < 0.09 for value in found)
    assert any(0.11 < value < 0.69 for value in found)
    assert any(value > 0.71 for value in found)
