"""The tree as plain values: what a page needs to draw it and to send a row through it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from secateur.report.plain_values import known_numbers
from secateur.rows.leaves import sum_up
from secateur.rules.rules import Rules
from secateur.tree.paths import DEFAULT_RF_TOL
from secateur.words.conditions import read_conditions, read_link

__all__ = ["describe_tree"]

# Up to this many nodes the page carries the exact numbers beside the short ones.
MOST_EXACT = 1_000


def describe_tree(rules: Rules) -> dict[str, Any]:
    """List the tree's parts in parallel, one element for each node; ``docs/report.md`` describes each list."""
    tree, paths = rules.tree, rules.paths
    nodes = range(1, tree.n_nodes)
    group_of = tree.facts.group_of
    tested = tree.feature.tolist()
    subject = [tree.n_features + group_of[feature] if feature in group_of else feature for feature in tested]
    return {
        "dtype": tree.dtype,
        "depth": tree.depth,
        "n_features": tree.n_features,
        "left": tree.children_left.tolist(),
        "right": tree.children_right.tolist(),
        "feature": tested,
        "about": [-1, *(subject[parent] for parent in paths.parent[1:].tolist())],
        "limit": [limit if math.isfinite(limit) else None for limit in tree.upper.tolist()],
        "codes": {str(node): tree.left_codes(node).tolist() for node in np.flatnonzero(tree.is_categorical).tolist()},
        "missing_left": tree.missing_left.astype(int).tolist(),
        "leaf_class": tree.leaf_class.tolist(),
        "conditions": [None, *(read_conditions(tree, paths, [node], rules.voice)[0].text for node in nodes)],
        "exact": [None, *(read_link(tree, paths, node) for node in nodes)] if tree.n_nodes <= MOST_EXACT else None,
        "homogeneous": paths.homogeneous.tolist(),
        "counts": None if tree.counts is None else [known_numbers(row) for row in tree.counts.tolist()],
        "rows": _count_rows(rules),
        "orientation": _orient(rules),
    }


def _count_rows(rules: Rules) -> list[float | int | None] | None:
    """Count the (weighted) training rows that come to each node; None where not known."""
    tree = rules.tree
    if not rules.is_ranked:
        return None if tree.counts is None else known_numbers(np.asarray(tree.counts).sum(axis=1))
    rows = np.zeros(tree.n_nodes)
    rows[rules.paths.leaf_ids] = rules.leaf_support
    return known_numbers(sum_up(tree, rows))


def _orient(rules: Rules) -> list[str] | None:
    """Write for each class a text with a sign for each node: whether the class's share rises (+) or falls (-) there."""
    tree, paths = rules.tree, rules.paths
    if paths.share is None:
        return None
    change = np.nan_to_num(paths.share - paths.share[paths.parent])
    change[0] = 0.0  # no link leads to the root
    tolerated = float(rules.parameters.get("rf_tol", DEFAULT_RF_TOL))
    signs = np.where(change > tolerated, "+", np.where(change < -tolerated, "-", "0"))
    return ["".join(signs[:, place]) for place in range(tree.n_classes)]
