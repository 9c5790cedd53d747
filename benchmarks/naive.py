"""The paper's M1-P as its complexity analysis describes it: boolean masks, intersected anew for every trial."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur import Tree

__all__ = ["naive_mismatch"]


def naive_mismatch(
    tree: Tree, X: NDArray[np.float32], class_ids: NDArray[np.int64], tolerance: float
) -> dict[int, list[int]]:
    """Deleted links of each leaf by M1-P, from row masks of single links."""
    share = tree.counts / tree.counts.sum(axis=1, keepdims=True)
    masks: dict[int, Any] = {}
    found = {}
    for leaf, path in _paths(tree):
        c = int(tree.leaf_class[leaf])
        candidates = []
        for parent, link in reversed(path):
            if link not in masks:
                left = X[:, tree.feature[parent]] <= tree.threshold[parent]
                masks[link] = left if link == tree.children_left[parent] else ~left
            if share[link, c] - share[parent, c] < -1e-12 and _classes_below(tree, parent) != {c}:
                candidates.append(link)
        links = [link for _, link in path]
        base = _reliability(masks, links, class_ids, c)
        if abs(_reliability(masks, set(links) - set(candidates), class_ids, c) - base) <= tolerance:
            chosen = candidates
        else:
            chosen = []
            for link in candidates:
                rest = set(links) - {*chosen, link}
                if abs(_reliability(masks, rest, class_ids, c) - base) <= tolerance:
                    chosen = [*chosen, link]
        found[leaf] = [link for link in links if link in chosen]
    return found


def _reliability(masks: dict[int, Any], links: Any, class_ids: NDArray[np.int64], c: int) -> float:
    rows = np.ones(len(class_ids), dtype=bool)
    for link in links:
        rows &= masks[link]
    return float((class_ids[rows] == c).mean())


def _paths(tree: Tree) -> list[tuple[int, list[tuple[int, int]]]]:
    found, stack = [], [(0, [])]
    while stack:
        node, path = stack.pop()
        if tree.is_leaf[node]:
            found.append((node, path))
            continue
        for child in (int(tree.children_right[node]), int(tree.children_left[node])):
            stack.append((child, [*path, (node, child)]))
    return found


def _classes_below(tree: Tree, node: int) -> set[int]:
    classes, stack = set(), [node]
    while stack:
        node = stack.pop()
        if tree.is_leaf[node]:
            classes.add(int(tree.leaf_class[node]))
        else:
            stack += [int(tree.children_left[node]), int(tree.children_right[node])]
    return classes
