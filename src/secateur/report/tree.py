"""The tree as plain values: its nodes, to draw it and to send a row through it, and the rows at its splits.

At a split, the column that it asks for is told class by class in few bins. The page carries their counts and no rows;
bins may hold few rows or none.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.report.material import RowsAtHand, known_numbers
from secateur.rows.checking import check_labels
from secateur.rows.rows import sum_up
from secateur.rules.rules import Rules
from secateur.tree.paths import DEFAULT_RF_TOL
from secateur.tree.tree import Tree
from secateur.words.conditions import format_link, read_conditions

# Up to this many nodes the page carries the exact numbers beside the short ones.
MOST_EXACT = 1_000


def describe_tree(rules: Rules) -> dict[str, Any]:
    """List the tree's parts in parallel, one element for each node; ``docs/report.md`` describes each list."""
    tree, paths = rules.tree, rules.paths
    nodes = range(1, tree.n_nodes)
    return {
        **{name: getattr(tree, name) for name in ("dtype", "depth", "n_features")},
        "left": tree.children_left.tolist(),
        "right": tree.children_right.tolist(),
        "feature": tree.feature.tolist(),
        "about": list_subjects(rules),
        "limit": [limit if math.isfinite(limit) else None for limit in tree.upper.tolist()],
        "codes": {str(node): tree.left_codes(node).tolist() for node in np.flatnonzero(tree.is_categorical).tolist()},
        "missing_left": tree.missing_left.astype(int).tolist(),
        "leaf_class": tree.leaf_class.tolist(),
        "conditions": [None, *(read_conditions(tree, paths, [node], rules.voice)[0].text for node in nodes)],
        "exact": [None, *(format_link(tree, paths, node) for node in nodes)] if tree.n_nodes <= MOST_EXACT else None,
        "homogeneous": paths.homogeneous.tolist(),
        "counts": None if tree.counts is None else [known_numbers(row) for row in tree.counts.tolist()],
        "rows": _count_rows(rules),
        "orientation": _orient(rules),
    }


def list_subjects(rules: Rules) -> list[int]:
    """List what each link is about: a feature, or a group of them beyond the last feature; -1 of the root."""
    tree, group_of = rules.tree, rules.tree.facts.group_of
    tested = tree.feature[rules.paths.parent[1:]].tolist()
    return [-1, *(tree.n_features + group_of[one] if one in group_of else one for one in tested)]


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


N_BINS = 18
MOST_LABELS = 10  # categories that are drawn apart; the rarest go together
MOST_CLASSES = 6  # the commonest at the split; the others go together
MOST_SPLITS = 300  # of a large tree, those that most rows come to
TAIL = 0.01  # share of the rows, at either end, that the first and the last bin take in


Weights = NDArray[np.float64] | None


def describe_splits(rules: Rules, at_hand: RowsAtHand) -> dict[str, Any]:
    """Describe the rows that come to each split, by node: bins of its column, and the rows of each class in each bin.

    Bins have ``edges``; the one at ``line`` is the split's limit; or ``codes`` of labels, and whether each
    goes ``left``. ``counts`` holds a list for each bin: the rows of each class of ``classes``, where -1 stands for all
    others. A last bin beyond them, if there is one, holds missing values and rare labels.
    """
    if at_hand.training is None:
        return {}
    tree, rows = rules.tree, at_hand.training.X
    class_ids = check_labels(tree, at_hand.training.y, rows.n_rows).astype(np.min_scalar_type(tree.n_classes))
    weights = at_hand.training.sample_weight
    leaf_places = rules.find_leaves(rows).astype(np.min_scalar_type(rules.tree_rules))
    order = np.argsort(leaf_places, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(leaf_places, minlength=rules.tree_rules))])
    del leaf_places
    first, last = (ends[side] for side in tree.leaf_runs)  # where the rows of each node begin and end
    splits = np.flatnonzero(~tree.is_leaf & (last > first))
    chosen = splits[np.argsort(-(last - first)[splits], kind="stable")][:MOST_SPLITS]
    read = lru_cache(1)(lambda feature: rows.read(0, rows.n_rows, np.array([feature]))[:, 0])
    found = {}
    for node in sorted(chosen.tolist(), key=tree.feature.__getitem__):  # the splits of a column one after another
        here = order[first[node] : last[node]]
        found[node] = _describe(tree, node, read, here, class_ids[here], None if weights is None else weights[here])
    return {str(node): found[node] for node in sorted(found)}


def _describe(
    tree: Tree, node: int, read: Any, here: NDArray[np.int64], class_ids: NDArray[Any], weight: Weights
) -> dict[str, Any]:
    feature = int(tree.feature[node])
    place = tree.facts.group_of.get(feature)
    if place is not None:
        group = tree.facts.groups[place]
        held = np.nan_to_num(np.stack([read(one)[here] for one in group.features], axis=1))
        codes = np.where(held.any(axis=1), held.argmax(axis=1), len(group.labels))
        own = np.array([group.features.index(feature)])
        listed, bins = _bin_codes(codes, weight, len(group.labels), own, missing=None)
        left_of_all = {code: code not in own.tolist() for code in range(len(group.labels) + 1)}
    elif tree.categories[feature] is not None:
        levels = tree.categories[feature] or ()
        values = read(feature)[here]
        missing = np.isnan(values)
        codes = np.where(missing, 0, np.minimum(np.nan_to_num(values), len(levels))).astype(np.int64)
        listed, bins = _bin_codes(codes, weight, len(levels), np.zeros(0, np.int64), missing=missing)
        left = set(tree.left_codes(node).tolist())
        left_of_all = {code: code in left for code in range(len(levels) + 1)}
    else:
        values = read(feature)[here].astype(np.float64)
        edges, line, bins = _bin_numbers(values, float(tree.upper[node]))
        return {"edges": edges, "line": line, **_count(bins, len(edges), class_ids, weight, tree.n_classes)}
    counted = _count(bins, len(listed) + 1, class_ids, weight, tree.n_classes)
    return {"codes": listed, "left": [int(left_of_all[code]) for code in listed], **counted}


def _bin_numbers(values: NDArray[np.float64], limit: float) -> tuple[list[float], int, NDArray[np.int64]]:
    """Cut numbers into bins, with the limit as an edge, and count the bins up to it.

    The bin after the last is for missing values.
    """
    known = values[np.isfinite(values)]
    low, high = np.quantile(known, [TAIL, 1 - TAIL], overwrite_input=True) if len(known) else (limit, limit)
    del known
    low, high = min(float(low), limit), max(float(high), limit)
    width = high / N_BINS - low / N_BINS
    # Beyond all sense, or within a hair of the limit, there is only this side and that.
    if not np.isfinite([low, high, high - low]).all() or limit - width == limit or limit + width == limit:
        only = limit if np.isfinite(limit) else 0.0
        return [only, only, only], 1, np.where(np.isnan(values), 2, values > limit)
    n_left = min(max(round((limit - low) / width), 1), N_BINS - 1)
    # The limit is an edge, so that every bar lies on one side of it; both sides have bins of nearly the same width.
    start, end = min(low, limit - width), max(high, limit + width)
    edges = np.concatenate([np.linspace(start, limit, n_left + 1), np.linspace(limit, end, N_BINS - n_left + 1)[1:]])
    bins = np.searchsorted(edges, values, side="left")
    bins -= 1
    np.clip(bins, 0, N_BINS - 1, out=bins)
    bins[np.isnan(values)] = N_BINS
    return [float(f"{edge:.6g}") for edge in edges], n_left, bins


def _bin_codes(
    codes: NDArray[np.int64],
    weight: Weights,
    n_labels: int,
    asked: NDArray[np.int64],
    *,
    missing: NDArray[np.bool_] | None,
) -> tuple[list[int], NDArray[np.int64]]:
    """List the commonest codes, and those that are asked for; give each row its place in the list.

    Codes that are not listed, and missing values, come after the last.
    """
    known = np.ones(len(codes), dtype=bool) if missing is None else ~missing
    totals = np.bincount(codes[known], None if weight is None else weight[known], n_labels + 1).astype(np.float64)
    totals[asked] = np.inf
    common = np.argsort(-totals, kind="stable")[:MOST_LABELS]
    listed = np.sort(common[totals[common] > 0])
    place = np.full(n_labels + 2, len(listed), dtype=np.int64)
    place[listed] = np.arange(len(listed))
    return listed.tolist(), np.where(known, place[codes], len(listed))


def _count(
    bins: NDArray[np.int64], n_bins: int, class_ids: NDArray[Any], weight: Weights, n_classes: int
) -> dict[str, Any]:
    """Count the rows of each class in each bin, rare classes together."""
    place = bins * n_classes
    place += class_ids
    counts = np.bincount(place, weight, n_bins * n_classes).reshape(n_bins, n_classes)
    common = np.argsort(-counts.sum(axis=0), kind="stable")
    shown = np.sort(common[:MOST_CLASSES]) if n_classes > MOST_CLASSES else np.arange(n_classes)
    columns, classes = [counts[:, shown]], shown.tolist()
    if n_classes > len(shown):
        columns.append((counts.sum(axis=1) - counts[:, shown].sum(axis=1))[:, None])
        classes.append(-1)
    whole = np.concatenate(columns, axis=1)
    whole = whole if whole[-1].any() else whole[:-1]
    return {"classes": classes, "counts": [known_numbers(np.round(row, 4)) for row in whole.tolist()]}
