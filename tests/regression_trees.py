"""Regression trees of every shape, made of the trees of classes that strategies draw, and what they say by walking."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import oracles
import strategies
import told_trees
from hypothesis import strategies as st

from secateur.tree.contract import check_tree
from secateur.tree.tree import VALUE, Tree

# Few values, so that leaves tie, and decimals at which a tolerance ties: 0.1 + 0.2 is not 0.3 among floats.
VALUES = (0.0, 0.1, 0.2, 0.3, 0.4, 1.0, 1.5, -2.0, 3.0, 1e6, 1e6 + 0.1, -1e-9)
TOLERANCES = (0.0, 0.1, 0.2, 0.5, 1.0, 2.5)


def as_regression(tree: Tree, values: Any) -> Tree:
    """Give each leaf a value, by node id; counts are rows."""
    of_nodes = np.where(tree.is_leaf, np.asarray(values, dtype=np.float64), np.nan)
    made = replace(
        tree,
        classes=np.array([VALUE]),
        class_names=(VALUE,),
        leaf_class=np.where(tree.is_leaf, 0, -1),
        counts=None if tree.counts is None else tree.counts.sum(axis=1, keepdims=True),
        monotone=None,
        values=of_nodes,
    )
    check_tree(made)
    return made


@st.composite
def regression_trees(draw: st.DrawFn, *, facts: bool = False, **options: Any) -> Tree:
    """Checked regression trees; with facts about their columns if asked for."""
    tree = draw(told_trees.told_trees(**options) if facts else strategies.trees(**options))
    values = draw(st.lists(st.sampled_from(VALUES), min_size=tree.n_nodes, max_size=tree.n_nodes))
    return as_regression(tree, values)


def value_at(tree: Tree, row: Any) -> Fraction:
    """What the tree says of a row, by walking."""
    assert tree.values is not None
    return Fraction(float(tree.values[oracles.walk(tree, row)]))
