"""Work out the paths and splits of a tree anew."""

from array import array
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.tree.tree import Tree


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
