"""Decide which of two possible rows is the larger, given a sign for each column.

A row lies at or above another where every column does. A column of sign +1 must not fall, one of sign -1 must not rise,
one of sign 0 must not change. NaN compares with NaN alone. A category compares with itself, and with those that a fact
ranks beside it.

The features of a feasible tree are compared one by one. Numbers are compared by their sign. Codes, which stand for
categories or for the states of columns that belong together, are compared by a table: one state lies at or above
another where each of its columns does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import ParameterError, shorten
from secateur.facts.possible_rows import Bundle, Feasible
from secateur.tree.columns import find_cuts
from secateur.tree.tree import Tree

# Every pair of the states of some columns is compared, so there must not be too many of them.
MOST_COMPARED = 1 << 13


@dataclass(frozen=True)
class Ordering:
    """Which values of a feasible tree's features favour the second class more."""

    feasible: Feasible
    signs: NDArray[np.int8]  # of each feature that holds numbers; 0 for all others
    # Of each feature that holds codes: whether code b lies at or above code a, at [a, b]. Features whose codes compare
    # with themselves alone are left out.
    above: Mapping[int, NDArray[np.bool_]]


def find_ordering(tree: Tree, signs: Sequence[int], feasible: Feasible) -> Ordering:
    """Order the values of a feasible tree's features by the signs of the tree's columns."""
    above: dict[int, NDArray[np.bool_]] = {}
    own = np.zeros(tree.n_features, dtype=np.int8)
    tied = {member for bundle in feasible.bundles.values() for member in bundle.features}
    effective = [
        0 if tree.categories[feature] is not None and find_ranks(tree, feature) is None else int(sign)
        for feature, sign in enumerate(signs)
    ]
    for first, bundle in feasible.bundles.items():
        if any(effective[member] for member in bundle.features):
            above[first] = _compare_states(tree, effective, bundle)
    for feature, sign in enumerate(effective):
        if not sign or feature in tied:
            continue
        ranks = find_ranks(tree, feature)
        if ranks is None:
            own[feature] = sign
        else:
            above[feature] = _compare(ranks, np.arange(len(ranks)), sign)
    return Ordering(feasible, own, above)


def find_ranks(tree: Tree, feature: int) -> NDArray[np.float64] | None:
    """Rank the codes of a column whose categories are ordered, NaN for those that are not; None for other columns."""
    cuts = find_cuts(tree, feature)
    if cuts is not None:  # its codes are the cells of a number, from the lowest to the highest
        return np.arange(len(cuts) + 1, dtype=np.float64)
    order = next((order for order in tree.facts.orders if order.feature == feature), None)
    if order is None:
        return None
    ranks = np.full(len(tree.categories[feature] or ()) + 1, np.nan)
    ranks[list(order.codes)] = np.arange(len(order.codes))
    return ranks


def _compare_states(tree: Tree, signs: Sequence[int], bundle: Bundle) -> NDArray[np.bool_]:
    """Compare every two states of some columns."""
    n_states = len(bundle.values[bundle.features[0]])
    if n_states > MOST_COMPARED:
        names = shorten([tree.feature_name(feature) for feature in bundle.features])
        raise ParameterError(
            f"The facts tie {names} together in {n_states:,} states, some by columns with a sign; at most "
            f"{MOST_COMPARED:,} can be compared. Leave out a sign or a fact."
        )
    above = np.ones((n_states, n_states), dtype=bool)
    for member in bundle.features:
        values = _number_values(tree, member, bundle.values[member])
        ranks = find_ranks(tree, member)
        if ranks is None:
            ranked = values
        else:
            ranked = np.where(np.isnan(values), np.nan, ranks[np.nan_to_num(values).astype(np.int64)])
        above &= _compare(ranked, values, signs[member])
    return above


def _compare(ranks: NDArray[np.float64], values: NDArray[Any], sign: int) -> NDArray[np.bool_]:
    """Whether the value of each column is equal to that of each row, or ranks above it; NaN equals NaN."""
    missing = np.isnan(values)
    same: NDArray[np.bool_] = (values[:, None] == values) | (missing[:, None] & missing)
    if sign == 0:
        return same
    low, high = (ranks[:, None], ranks) if sign > 0 else (ranks, ranks[:, None])
    same |= low <= high  # a comparison with NaN is false
    return same


def _number_values(tree: Tree, feature: int, values: list[Any]) -> NDArray[np.float64]:
    """Turn the values of a column in each state into numbers: categories into codes, missing ones into NaN."""
    levels = tree.categories[feature]
    if levels is None:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    codes = {label: code for code, label in enumerate(levels)}
    return np.array([np.nan if value is None else codes.get(value, len(levels)) for value in values], dtype=np.float64)
