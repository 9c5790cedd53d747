"""What differs between the tree of rules and the tree of a model is told, all of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import strategies
from hypothesis import given, settings

from secateur import Tree, TreeBuilder
from secateur.tree.difference import find_tree_differences


def grown(n_leaves: int = 2, **changes: Any) -> Tree:
    """A tree that cuts age at 1, 2, …"""
    builder = TreeBuilder(["no", "yes"], ["age", "city"], categories={"city": ["Oslo", "Rome"]}, accepts_missing=True)
    place: dict[str, Any] = {}
    for limit in range(1, n_leaves):
        split = builder.split("age", limit, **place)
        builder.leaf([2, 1], parent=split, side="left")
        place = {"parent": split, "side": "right"}
    builder.leaf([1, 2], **place)
    return replace(builder.build(), **changes)


@settings(max_examples=30, deadline=None)
@given(strategies.trees())
def test_a_tree_does_not_differ_from_what_was_stored_of_it(tree: Tree) -> None:
    assert find_tree_differences(tree, Tree.from_json(tree.to_json())) == []


NOT_THE_TREE = "The model's tree is not the tree of the rules: "
DIFFERENT: dict[str, tuple[Tree, list[str]]] = {
    "leaves": (grown(3), ["The model has 3 leaves, but the rules are of a tree with 2."]),
    "classes": (
        grown(classes=np.array(["no", "maybe"])),
        ["The model's classes are no, maybe, but the rules are about no, yes."],
    ),
    "columns": (grown(n_features=3), ["The model has 3 columns, but the rules are of a tree with 2."]),
    "names": (
        grown(feature_names=("city", "age")),
        ["The model's columns have other names or another order than those of the rules."],
    ),
    "no names": (grown(feature_names=None), []),
    "categories": (
        grown(categories=(None, ("Rome", "Oslo"))),
        ["The model's columns have other categories than those of the rules."],
    ),
    "dtype": (grown(dtype="float64"), [f"{NOT_THE_TREE}it rounds numbers differently."]),
    "classes and leaves": (
        grown(3, classes=np.array([0, 1])),
        [
            "The model's classes are 0, 1, but the rules are about no, yes.",
            "The model has 3 leaves, but the rules are of a tree with 2.",
        ],
    ),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_what_differs_is_told(case: str) -> None:
    other, expected = DIFFERENT[case]
    assert find_tree_differences(grown(), other) == expected


def test_every_array_that_a_prediction_rests_on_is_compared() -> None:
    tree = grown()
    for name, value in {"threshold": 7.0, "leaf_class": 0, "feature": 1, "missing_left": True}.items():
        changed = np.array(getattr(tree, name))
        changed[2 if name == "leaf_class" else 0] = value
        assert find_tree_differences(tree, replace(tree, **{name: changed}))[0].startswith(NOT_THE_TREE)
