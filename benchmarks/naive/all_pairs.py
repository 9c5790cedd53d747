"""Methods that need no rows: what links say of the tree, and boxes of leaves compared pair by pair."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from benchmarks.naive.plain_tree import Deletion, PlainTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secateur import Tree

__all__ = [
    "box_of",
    "delete_exact",
    "delete_redundancy",
    "delete_sibling",
    "is_monotone",
    "meet",
    "opposing_boxes",
]

Box = dict[int, tuple[float, float]]  # feature -> (low, high): the numbers above low and not above high


def delete_sibling(tree: Tree, leaves: Iterable[int] | None = None) -> Deletion:
    """The links into an internal node whose sibling is a leaf of the rule's class."""
    plain = PlainTree(tree)

    def is_certified(link: int, label: int) -> bool:
        return plain.left[link] >= 0 and plain.label[plain.other_child(link)] == label

    listed = leaves or plain.leaves
    return {leaf: [link for link in plain.path(leaf) if is_certified(link, plain.label[leaf])] for leaf in listed}


def delete_redundancy(tree: Tree, leaves: Iterable[int] | None = None, *, keep_boxes: bool = False) -> Deletion:
    """Izza's procedure: a feature goes if the box without it meets no leaf of another class; all pairs of leaves.

    The paper's analysis counts comparisons of paths, so the box of the other leaf is made from its path every time;
    ``keep_boxes`` makes it once.
    """
    plain = PlainTree(tree)
    paths = {leaf: plain.path(leaf) for leaf in plain.leaves}
    boxes = {leaf: box_of(plain, links) for leaf, links in paths.items()} if keep_boxes else {}
    found = {}
    for leaf in leaves or plain.leaves:
        box = box_of(plain, paths[leaf])
        for feature in list(box):  # in the order in which the path first tests them
            wider = {tested: interval for tested, interval in box.items() if tested != feature}
            for other, links in paths.items():
                if plain.label[other] != plain.label[leaf] and meet(wider, boxes.get(other) or box_of(plain, links)):
                    break
            else:
                box = wider
        found[leaf] = [link for link in paths[leaf] if plain.feature[plain.parent[link]] not in box]
    return found


def delete_exact(tree: Tree, leaves: Iterable[int] | None = None) -> Deletion:
    """Single links, root to leaf: each goes if the box without it meets no leaf of another class; all pairs."""
    plain = PlainTree(tree)
    opposing = opposing_boxes(plain)
    found = {}
    for leaf in leaves or plain.leaves:
        deleted: list[int] = []
        for link in plain.path(leaf):
            box = box_of(plain, plain.path(leaf, without=[*deleted, link]))
            if not any(meet(box, other) for other in opposing[plain.label[leaf]]):
                deleted.append(link)
        found[leaf] = deleted
    return found


def is_monotone(tree: Tree, signs: Sequence[int], n_leaves: int | None = None) -> bool:
    """Whether no row above a row of the second class is given the first; all pairs of leaves, or of so many of them."""
    plain = PlainTree(tree)
    boxes = {leaf: box_of(plain, plain.path(leaf)) for leaf in plain.leaves}
    reached = [leaf for leaf, box in boxes.items() if all(low < high for low, high in box.values())]
    lower, upper = ([leaf for leaf in reached if plain.label[leaf] == label] for label in (1, 0))
    step = 1 if n_leaves is None else -(-len(lower) // n_leaves)
    return not any(_lies_below(boxes[one], boxes[other], signs) for one in lower[::step] for other in upper)


def _lies_below(one: Box, other: Box, signs: Sequence[int]) -> bool:
    """Whether some row of one box lies at or below some row of another."""
    for feature, (low, high) in one.items():
        if feature in other:
            other_low, other_high = other[feature]
            if (signs[feature] >= 0 and low >= other_high) or (signs[feature] <= 0 and other_low >= high):
                return False
    return True


def box_of(plain: PlainTree, links: Iterable[int]) -> Box:
    """The interval of each feature that the links test."""
    box: Box = {}
    for link in links:
        parent = plain.parent[link]
        feature, limit = plain.feature[parent], plain.limit[parent]
        low, high = box.get(feature, (-math.inf, math.inf))
        box[feature] = (low, min(high, limit)) if link == plain.left[parent] else (max(low, limit), high)
    return box


def opposing_boxes(plain: PlainTree) -> dict[int, list[Box]]:
    """For each class the boxes of the leaves that predict another one."""
    boxes = [(plain.label[leaf], box_of(plain, plain.path(leaf))) for leaf in plain.leaves]
    return {label: [box for other, box in boxes if other != label] for label in {label for label, _ in boxes}}


def meet(one: Box, other: Box) -> bool:
    """Whether some row is in both boxes."""
    for feature, (low, high) in one.items():
        if feature in other:
            other_low, other_high = other[feature]
            if low >= other_high or other_low >= high:
                return False
    return True
