"""The columns of a table: which of them a tree reads, and under which names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from secateur.errors import InputError, shorten
from secateur.rows.checking import asked_features

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from secateur.rows.source import Source
    from secateur.tree.tree import Tree

__all__ = ["find_beside", "find_texts", "fit_tree_to", "own_names"]


def fit_tree_to(tree: Tree, source: Source, beside: Sequence[str], features: Collection[int] | None = None) -> Tree:
    """A tree with the names of a table's columns; the columns that it asks for must be there.

    Parameters
    ----------
    tree : Tree
    source : Source
    beside : sequence of str
        Columns that are not for the tree, such as the labels.
    features : collection of int, default=None
        The features that are read; by default those that the tree asks for.

    Returns
    -------
    Tree
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
    if tree.columns is not None and tree.columns.derive is not None:
        asked = list(names[: tree.n_features - len(tree.columns.derived)])
    else:
        asked = [names[feature] for feature in sorted(asked_features(tree) if features is None else features)]
    for name in asked:
        if source.find(name, "the tree was fitted on") in beside:
            raise InputError(
                f"The column {name!r} of {source.name} cannot be the tree's and the labels or weights too."
            )
    return tree


def own_names(tree: Tree) -> list[str] | None:
    """The columns that a tree's rows have, without those that only its pipeline makes."""
    if tree.feature_names is None:
        return None
    n_derived = 0 if tree.columns is None else len(tree.columns.derived)
    return list(tree.feature_names[: tree.n_features - n_derived])


def find_texts(tree: Tree, y: Any = None) -> list[str]:
    """Find the columns whose values are text, whatever they look like in a file; that of the labels among them."""
    names = own_names(tree) or []
    texts = [
        name
        for name, levels in zip(names, tree.categories, strict=False)
        if levels and all(isinstance(level, str) for level in levels)
    ]
    return [*texts, y] if isinstance(y, str) and tree.classes.dtype.kind == "U" else texts


def find_beside(source: Source, name: Any, what: str) -> str:
    """A column that is not for the tree, which somebody named."""
    if not isinstance(name, str):
        raise InputError(f"Expected {what} as the name of a column of the table, found {type(name).__name__}.")
    return source.find(name, f"{what} names")
