"""Make boxes of what rules allow, and find the leaves that they meet.

All rules go down the tree together. With a node come those whose boxes meet its cell, which is what its path allows; a
rule is dropped where its box and the cell have no value of a feature in common, or where all leaves below have its
class. Boxes and cells are products of one set a feature, so a rule that is dropped for its box meets no leaf below, and
one that arrives at a leaf meets it: every pair is decided.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.tree.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secateur.verify.possible import Possible


class Paths(NamedTuple):
    """Every leaf, left to right, with the links of its path, root to leaf, path after path."""

    leaves: NDArray[np.int64]
    offsets: NDArray[np.int64]  # links[offsets[i]:offsets[i + 1]] lead to leaves[i]
    links: NDArray[np.int32]
    rule: NDArray[np.int32]  # the i of each link
    parent: NDArray[np.int64]  # by node
    is_left: NDArray[np.bool_]
    limit: NDArray[np.float64]  # by node: the largest number of the tree's dtype that goes left


def walk_paths(tree: Tree) -> Paths:
    """Walk the tree once, from left to right."""
    lefts, rights = tree.children_left.tolist(), tree.children_right.tolist()
    leaves, offsets, path = [], [0], [0]
    links = array("i")  # the longest of all, four bytes each
    stack = [(0, 0)]
    while stack:
        node, depth = stack.pop()
        path[depth:] = [node]
        if lefts[node] < 0:
            leaves.append(node)
            links.extend(path[1:])
            offsets.append(len(links))
        else:
            stack += [(rights[node], depth + 1), (lefts[node], depth + 1)]
    inner = np.flatnonzero(tree.children_left >= 0)
    parent, is_left = np.full(tree.n_nodes, -1, dtype=np.int64), np.zeros(tree.n_nodes, dtype=bool)
    parent[tree.children_left[inner]] = parent[tree.children_right[inner]] = inner
    is_left[tree.children_left[inner]] = True
    return Paths(
        leaves=np.array(leaves),
        offsets=np.array(offsets),
        links=np.asarray(links),
        rule=np.repeat(np.arange(len(leaves), dtype=np.int32), np.diff(offsets)),
        parent=parent,
        is_left=is_left,
        limit=largest_not_above(tree.threshold, tree.dtype),
    )


def left_codes_of(tree: Tree, node: int | np.integer[Any]) -> NDArray[np.bool_]:
    """Mark the codes of a categorical split's feature that go left."""
    marked = np.zeros(len(tree.categories[tree.feature[node]] or ()) + 1, dtype=bool)
    marked[tree.left_codes(node)] = True
    return marked


def largest_not_above(thresholds: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """Find the largest number of the dtype that does not exceed each threshold."""
    kind = np.dtype(dtype).type
    with np.errstate(over="ignore"):
        nearest = thresholds.astype(kind)
        below = np.nextafter(nearest, kind(-np.inf))
    return np.where(nearest.astype(np.float64) > thresholds, below, nearest).astype(np.float64)


class Boxes:
    """What the kept links of some rules allow each feature that the tree tests.

    Rules are meant by their place among these. ``low``, ``high``, ``missing`` and ``is_restricted`` have a row for each
    tested feature and a column for each rule; a categorical feature's numbers are unbounded and its codes are marked in
    ``codes``, a row for each rule.
    """

    def __init__(self, tree: Tree, paths: Paths, kept: NDArray[np.bool_], rules: NDArray[np.int64]) -> None:
        self.rules = rules
        self.place_of = np.full(len(paths.leaves), -1, dtype=np.int64)
        self.place_of[rules] = np.arange(len(rules))
        self.features = np.unique(tree.feature[tree.feature >= 0])
        self.row_of = np.full(tree.n_features, -1, dtype=np.int64)
        self.row_of[self.features] = np.arange(len(self.features))
        own = kept & (self.place_of >= 0)[paths.rule]
        links, place = paths.links[own], self.place_of[paths.rule[own]]
        nodes, to_left = paths.parent[links], paths.is_left[links]
        row, limit = self.row_of[tree.feature[nodes]], paths.limit[nodes]
        shape = len(self.features), len(rules)
        self.low, self.high = np.full(shape, -np.inf), np.full(shape, np.inf)
        numeric = ~np.isnan(limit)
        left, right = numeric & to_left, numeric & ~to_left
        np.minimum.at(self.high, (row[left], place[left]), limit[left])
        np.maximum.at(self.low, (row[right], place[right]), limit[right])
        self.missing = np.repeat(tree.accepts_missing[self.features][:, None], len(rules), axis=1)
        refuses = tree.missing_left[nodes] != to_left
        self.missing[row[refuses], place[refuses]] = False
        self.codes: dict[int, NDArray[np.bool_]] = {}
        has_value = self.missing | (self.low < self.high)
        self.is_restricted = (self.low > -np.inf) | (self.high < np.inf)
        for feature in self.features.tolist():
            if tree.categories[feature] is None:
                continue
            codes = self.codes[feature] = np.ones((len(rules), len(tree.categories[feature] or ()) + 1), dtype=bool)
            tested = np.flatnonzero(tree.feature[nodes] == feature)
            tested = tested[np.argsort(nodes[tested])]
            # A path passes a node once, so the links of one node belong to different rules.
            for same in np.split(tested, np.flatnonzero(np.diff(nodes[tested])) + 1) if len(tested) else ():
                codes[place[same]] &= left_codes_of(tree, nodes[same[0]]) == to_left[same][:, None]
            has_value[self.row_of[feature]] = self.missing[self.row_of[feature]] | codes.any(axis=1)
            self.is_restricted[self.row_of[feature]] = ~codes.all(axis=1)
        self.is_restricted |= ~self.missing & tree.accepts_missing[self.features][:, None]
        self.is_possible = np.asarray(has_value.all(axis=0))

    def meet(self, feature: int, places: NDArray[np.int64], cell: Allowed, possible: Possible) -> NDArray[np.bool_]:
        """Mark the boxes that share a possible value of the feature with the cell."""
        row = self.row_of[feature]
        if cell.codes is None:
            low = np.maximum(self.low[row].take(places), cell.low)
            high = np.minimum(self.high[row].take(places), cell.high)
            some = possible.has_number(feature, low, high)
        else:
            some = (self.codes[feature][places] & cell.codes).any(axis=1)
        met: NDArray[np.bool_] = some | self.missing[row, places] if cell.missing else some
        return met


class Allowed(NamedTuple):
    """What a cell allows one feature: numbers ``low < x <= high`` or marked category codes, and NaN or not."""

    low: float
    high: float
    codes: NDArray[np.bool_] | None
    missing: bool


def find_foreign_leaves(
    tree: Tree, paths: Paths, boxes: Boxes, classes: NDArray[np.int64], possible: Possible
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """List leaves, each with the rules of another class whose boxes meet its cell in a possible row."""
    only = _only_class_below(tree)
    lefts, rights, features = tree.children_left.tolist(), tree.children_right.tolist(), tree.feature.tolist()
    start = np.flatnonzero(boxes.is_possible & (classes != only[0]))
    start = start[meet_domains(boxes, start, possible)]
    todo: list[tuple[int, dict[int, Allowed], NDArray[np.int64]]] = [(0, {}, start)]
    while todo:
        node, cell, places = todo.pop()
        if lefts[node] < 0:
            met = places[possible.find_rows(boxes, places, cell)]
            if len(met):
                yield node, boxes.rules[met]
            continue
        feature = features[node]
        whole = cell.get(feature) or Allowed(*possible.domain(feature))
        own = classes[places]
        sides = [(lefts[node], True), (rights[node], False)]
        # A leaf is done next, so that it does not wait, with its rules, for all that lies below its sibling.
        for child, to_left in sides if lefts[lefts[node]] >= 0 else sides[::-1]:
            others = places[own != only[child]]
            if not len(others):
                continue
            part = cut_cell(tree, paths, node, to_left, whole)
            met = others[boxes.meet(feature, others, part, possible)]
            if not len(met):
                continue
            narrowed = {**cell, feature: part}
            if possible.groups:
                met = met[possible.find_states(boxes, met, narrowed, feature)]
            if len(met):
                todo.append((child, narrowed, met))


def _only_class_below(tree: Tree) -> list[int]:
    """Find the class of all leaves below each node; -1 where they differ."""
    only: list[int] = tree.leaf_class.tolist()
    lefts, rights = tree.children_left.tolist(), tree.children_right.tolist()
    for node in range(tree.n_nodes - 1, -1, -1):  # a child's id is larger than its parent's
        if lefts[node] >= 0:
            only[node] = only[lefts[node]] if only[lefts[node]] == only[rights[node]] else -1
    return only


def meet_domains(boxes: Boxes, places: NDArray[np.int64], possible: Possible) -> NDArray[np.bool_]:
    """Mark the boxes that hold a possible value of every feature; a leaf's cell need not ask all of them."""
    met = possible.find_states(boxes, places, {})
    for feature in boxes.features.tolist():
        met &= boxes.meet(feature, places, Allowed(*possible.domain(feature)), possible)
    return met


def cut_cell(tree: Tree, paths: Paths, node: int, to_left: bool, whole: Allowed) -> Allowed:
    """Cut what a cell allows the feature of a split down to one side of the split."""
    missing = whole.missing and bool(tree.missing_left[node]) == to_left
    if whole.codes is not None:
        return Allowed(whole.low, whole.high, whole.codes & (left_codes_of(tree, node) == to_left), missing)
    limit = float(paths.limit[node])
    low, high = (whole.low, min(whole.high, limit)) if to_left else (max(whole.low, limit), whole.high)
    return Allowed(low, high, None, missing)
