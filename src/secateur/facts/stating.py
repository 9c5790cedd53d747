"""Gather what a caller states about the columns into the facts of a tree."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from secateur.errors import ParameterError, did_you_mean
from secateur.facts.groups import find_feature, is_listing, read_groups
from secateur.facts.parsing import parse_facts
from secateur.facts.possible_rows import check_possible
from secateur.frames import frame_columns
from secateur.tree.contract import check_tree
from secateur.tree.fact_words import word_facts
from secateur.tree.facts import NO_FACTS, Claim, Facts
from secateur.tree.regions import Region
from secateur.tree.tree import Tree


def state_facts(tree: Tree, X: Any, *, groups: Any = None, integers: Any = None, facts: Any = None) -> Tree:
    """Add to a tree what the caller and the types of the columns state about its columns.

    ``groups``, ``integers`` and ``facts`` are those of :func:`secateur.simplify`. The types of a frame ``X`` tell which
    columns hold whole numbers; an array has one type for all columns, which says nothing about any one of them.
    """
    stated = tree.facts
    listed = () if groups is None else read_groups(tree, groups)
    taken = [tree.feature_name(f) for group in listed for f in group.features if f in stated.group_of]
    if taken:
        raise ParameterError(f"The column {taken[0]!r} is in a group already; a column belongs to one group.")
    grouped = stated.groups + listed
    columns = () if X is None or (found := frame_columns(X)) is None else [str(name) for name in found]
    said = NO_FACTS if facts is None else parse_facts(tree, grouped, facts, columns)
    in_group = {feature for group in grouped for feature in group.features}
    typed = {feature: dtype for feature, dtype in whole_by_dtype(tree, X).items() if feature not in in_group}
    whole = {*stated.integers, *typed, *said.integers, *_find_columns(tree, integers, columns)} - in_group
    decimals = {f: n for f, n in (*stated.decimals, *said.decimals) if f not in whole and f not in in_group}
    flags = tuple(
        Claim(feature, Region(-1.0, 1.0, missing=True), "")
        for feature, is_flag in typed.items()
        if is_flag  # of the whole numbers above -1 and up to 1 there are 0 and 1
    )
    known = Facts(
        integers=tuple(sorted(whole)),
        decimals=tuple(sorted(decimals.items())),
        claims=stated.claims + flags + said.claims,
        groups=grouped,
        implications=stated.implications + said.implications,
        orders=tuple({order.feature: order for order in stated.orders + said.orders}.values()),  # the last one counts
        unused=tuple(dict.fromkeys(stated.unused + said.unused)),
    )
    known = word_facts(tree, known)
    if known == stated and known.unused == stated.unused:
        return tree
    told = replace(tree, facts=known)
    check_tree(told)
    if listed or facts is not None:
        check_possible(told)
    return told


def whole_by_dtype(tree: Tree, X: Any) -> dict[int, bool]:
    """Find the numeric columns whose type in a frame is an integer or a bool, and whether it is a bool."""
    if X is None or frame_columns(X) is None:
        return {}
    import narwhals as nw

    try:
        schema = nw.from_native(X, eager_only=True).schema
    except TypeError:
        return {}  # rows that do not fit are rejected when they are checked
    names = list(schema.names()) if tree.feature_names is None else list(tree.feature_names)
    types = [schema.get(name) for name in names[: tree.n_features]]
    if tree.columns is not None:  # other columns are not looked at, and may hold anything
        types = [dtype if feature in tree.columns.asked else None for feature, dtype in enumerate(types)]
    return {
        feature: dtype == nw.Boolean
        for feature, dtype in enumerate(types)
        if dtype is not None and tree.categories[feature] is None and (dtype.is_integer() or dtype == nw.Boolean)
    }


def _find_columns(tree: Tree, columns: Any, table: Collection[str]) -> list[int]:
    if columns is None:
        return []
    if not is_listing(columns):
        raise ParameterError(f"Expected integers as a list of columns, found {columns!r}.")
    names = {tree.feature_name(feature): feature for feature in range(tree.n_features)}
    found = []
    for column in columns:
        feature = find_feature(names, column)
        if feature is None and column in table:
            continue  # nothing depends on it
        if feature is None:
            hint = did_you_mean(column, names)
            raise ParameterError(f"integers names the column {column!r}, which the tree does not have.{hint}")
        if tree.categories[feature] is not None:
            raise ParameterError(f"integers names the column {column!r}, which holds categories, not numbers.")
        found.append(feature)
    return found
