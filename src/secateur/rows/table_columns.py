"""The columns of a table: which of them a tree reads, and under which names."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from secateur.errors import InputError, shorten
from secateur.rows.sources import Source
from secateur.tree.tree import Tree


def derives(tree: Tree) -> bool:
    """Whether a pipeline at hand must make some of the tree's columns."""
    return tree.columns is not None and tree.columns.derive is not None


def own_features(tree: Tree) -> range:
    """List the features that rows hold themselves, without those that only the pipeline makes."""
    return range(tree.n_features - (0 if tree.columns is None else len(tree.columns.derived)))


def own_names(tree: Tree) -> list[str] | None:
    """List the columns that rows hold themselves; None if the tree does not name them."""
    return None if tree.feature_names is None else list(tree.feature_names[: len(own_features(tree))])


def tested_features(tree: Tree) -> set[int]:
    """Find the features that a split tests, in this tree or in others of its forest."""
    tested = np.unique(tree.feature[~tree.is_leaf]).tolist()
    return {*tested, *(() if tree.columns is None else tree.columns.asked)}


def asked_features(tree: Tree) -> set[int]:
    """Find the features that a split or a fact asks for."""
    return {*tested_features(tree), *tree.facts.features(tree.n_features)}


def read_features(tree: Tree, features: Collection[int] | None = None) -> list[int]:
    """List the features to read: all that a pipeline makes others from, else those given, else those asked for."""
    if derives(tree):
        return list(own_features(tree))
    return sorted(asked_features(tree) if features is None else features)


def fit_tree_to(tree: Tree, source: Source, beside: Sequence[str], features: Collection[int] | None = None) -> Tree:
    """Name a tree's columns as a table does, and check that the table has those to be read.

    Columns ``beside`` them, such as the labels, are not for the tree. ``features`` are those to be read, by default
    those that the tree asks for.
    """
    if tree.feature_names is None:
        rest = [name for name in source.schema.names if name not in beside]
        if len(rest) != tree.n_features:
            raise InputError(
                f"The tree was fitted on {tree.n_features} columns without names, but {source.name} has {len(rest)} "
                f"beside {' and '.join(map(repr, beside)) or 'nothing'} ({shorten(rest)}): pass feature_names."
            )
        tree = replace(tree, feature_names=tuple(rest))
    names = tree.feature_names or ()
    for feature in read_features(tree, features):
        if source.find(names[feature], "the tree was fitted on") in beside:
            raise InputError(
                f"The column {names[feature]!r} of {source.name} cannot be both the tree's and the labels or weights."
            )
    return tree


def find_texts(tree: Tree, y: Any = None) -> list[str]:
    """Find the columns that hold text, even where it looks like numbers; the column of text labels is one."""
    texts = [
        name
        for feature, (name, levels) in enumerate(zip(own_names(tree) or (), tree.categories, strict=False))
        if (levels and all(isinstance(level, str) for level in levels)) or tree.column_parser(feature) is not None
    ]
    is_text = tree.classes.dtype.kind == "U" and not tree.is_regression
    return [*texts, y] if isinstance(y, str) and is_text else texts


def find_beside(source: Source, name: Any, what: str) -> str | None:
    """Find the column that the caller named for labels or weights, if any."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise InputError(f"Expected {what} as the name of a column of the table, found {type(name).__name__}.")
    return source.find(name, f"{what} names")
