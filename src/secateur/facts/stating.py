"""What a caller knows of the columns, gathered into the facts of a tree."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import ParameterError
from secateur.facts.groups import read_groups
from secateur.facts.parsing import parse_facts
from secateur.frames import frame_columns
from secateur.tree.contract import check_tree
from secateur.tree.facts import NO_FACTS, Claim, Facts
from secateur.tree.regions import Region

if TYPE_CHECKING:
    from secateur.tree.tree import Tree

__all__ = ["state_facts", "whole_by_dtype"]


def state_facts(tree: Tree, X: Any, *, groups: Any = None, integers: Any = None, facts: Any = None) -> Tree:
    """The tree with what the caller says of its columns, and what the types of the columns say.

    Parameters
    ----------
    tree : Tree
    X : array-like or data frame, or None
        Rows; a frame tells by its types which columns hold whole numbers. An array has one type for all columns, which
        says nothing of any one of them.
    groups : mapping of str to list, or list of lists, default=None
        Columns that stand for one categorical each.
    integers : list of columns, default=None
        Columns that hold whole numbers.
    facts : list of str, default=None
        Bounds, lists of categories and implications, in words.

    Returns
    -------
    Tree
    """
    stated = tree.facts
    listed = () if groups is None else read_groups(tree, groups)
    taken = [tree.feature_name(f) for group in listed for f in group.features if f in stated.group_of]
    if taken:
        raise ParameterError(f"The column {taken[0]!r} is in a group already; a column belongs to one group.")
    grouped = stated.groups + listed
    said = NO_FACTS if facts is None else parse_facts(tree, grouped, facts)
    in_group = {feature for group in grouped for feature in group.features}
    typed = {feature: dtype for feature, dtype in whole_by_dtype(tree, X).items() if feature not in in_group}
    whole = {*stated.integers, *typed, *said.integers, *_find_columns(tree, integers)} - in_group
    decimals = {f: n for f, n in (*stated.decimals, *said.decimals) if f not in whole and f not in in_group}
    flags = tuple(_claim_flag(tree, feature) for feature, is_flag in typed.items() if is_flag)
    known = Facts(
        integers=tuple(sorted(whole)),
        decimals=tuple(sorted(decimals.items())),
        claims=tuple(dict.fromkeys(stated.claims + flags + said.claims)),
        groups=grouped,
        implications=tuple(dict.fromkeys(stated.implications + said.implications)),
    )
    if known == stated:
        return tree
    told = replace(tree, facts=known)
    check_tree(told)
    return told


def whole_by_dtype(tree: Tree, X: Any) -> dict[int, bool]:
    """Numeric columns whose type in a frame is an integer or a bool, and whether it is a bool."""
    if X is None or frame_columns(X) is None:
        return {}
    import narwhals as nw

    try:
        schema = nw.from_native(X, eager_only=True).schema
    except TypeError:
        return {}  # rows that do not fit are refused, with a reason, when they are checked
    names = list(schema.names()) if tree.feature_names is None else list(tree.feature_names)
    types = [schema.get(name) for name in names[: tree.n_features]]
    if tree.columns is not None:  # other columns are not looked at, and may hold anything
        types = [dtype if feature in tree.columns.asked else None for feature, dtype in enumerate(types)]
    return {
        feature: dtype == nw.Boolean
        for feature, dtype in enumerate(types)
        if dtype is not None and tree.categories[feature] is None and (dtype.is_integer() or dtype == nw.Boolean)
    }


def _claim_flag(tree: Tree, feature: int) -> Claim:
    name = tree.feature_name(feature)
    return Claim(feature, Region(-1.0, 1.0, missing=True), f"{name} is true or false")  # of whole numbers 0 and 1


def _find_columns(tree: Tree, columns: Any) -> list[int]:
    if columns is None:
        return []
    is_scalar = isinstance(columns, (str, bytes)) or (isinstance(columns, np.ndarray) and columns.ndim == 0)
    if is_scalar or not hasattr(columns, "__iter__"):
        raise ParameterError(f"Expected integers as a list of columns, found {columns!r}.")
    names = {tree.feature_name(feature): feature for feature in range(tree.n_features)}
    found = []
    for column in columns:
        is_place = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
        feature = int(column) if is_place else names.get(column, -1) if isinstance(column, str) else -1
        if not 0 <= feature < tree.n_features:
            raise ParameterError(f"integers names the column {column!r}, which the tree does not know.")
        if tree.categories[feature] is not None:
            raise ParameterError(f"integers names the column {column!r}, which holds categories, not numbers.")
        found.append(feature)
    return found
