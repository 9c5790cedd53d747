"""What a tree says about its edges: paths, orientation, Λ, H and SIB, as array passes over a Tree.

Conventions used below and by all methods:

- An edge is named by its child node's id; arrays call it a *link*.
- A rule's path is a run of (rule, edge) pairs, which arrays call *entries*: leaf after leaf in source order, root to
  leaf within a path; ``offsets[r]:offsets[r + 1]`` are those of rule ``r``.
- An edge's orientation is relative to the class of the leaf under study (with two classes: the paper's C1/C0).
"""

from collections.abc import Callable, Iterator
from functools import cached_property, wraps
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError
from secateur.limits import MAX_CONDITIONS
from secateur.tree.shares import divide_or_nan
from secateur.tree.tree import Tree

DEFAULT_RF_TOL = 1e-12
KEPT_NODES = 4_096  # the paths of a larger tree take as much space as all else, and working on them more time
PART_ENTRIES = 1 << 20  # that are worked on at once, because a number beside each would take more than all else

Array = TypeVar("Array")


def _kept(make: Callable[[Any], Array]) -> cached_property[Array]:
    """Make an array once, and for reading only, because rules of one tree share it."""

    @wraps(make)
    def freeze(paths: Any) -> Array:
        made = make(paths)
        if isinstance(made, np.ndarray):
            made.flags.writeable = False
        return made

    return cached_property(freeze)


class Paths:
    """Everything structural that methods ask of a tree; each is computed when it is first asked for.

    A class share that changes by no more than ``rf_tol`` along an edge counts as unchanged.
    """

    def __init__(self, tree: Tree, rf_tol: float) -> None:
        self._tree = tree
        self.rf_tol = rf_tol
        self._first_leaf, self._last_leaf = tree.leaf_runs
        leaves = np.flatnonzero(tree.is_leaf)
        self.leaf_ids: NDArray[np.int64] = np.empty(len(leaves), dtype=np.int64)
        self.leaf_ids[self._first_leaf[leaves]] = leaves
        self.leaf_class: NDArray[np.int64] = tree.leaf_class[self.leaf_ids]
        self.offsets, self.links = self._make_paths()
        for shared in (self.leaf_ids, self.leaf_class, self.offsets, self.links):
            shared.flags.writeable = False

    def _make_paths(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """List the edges of all paths: a node is on the path of every leaf below it, at its own depth."""
        tree = self._tree
        offsets = np.zeros(len(self.leaf_ids) + 1, dtype=np.int64)
        np.cumsum(tree.node_depth[self.leaf_ids], out=offsets[1:])
        n_entries = int(offsets[-1])
        if n_entries > MAX_CONDITIONS.value:
            raise InputError(
                f"The rules of this tree have {n_entries:,} conditions in all, and at most {MAX_CONDITIONS.told} are "
                f"taken: fit a tree of less depth, or {MAX_CONDITIONS.advise(n_entries)}."
            )
        # This is the longest array of all: numbers of four bytes, made a part at a time.
        links = np.empty(n_entries, dtype=np.int32)
        first = self._first_leaf[1:]
        n_leaves = self._last_leaf[1:] - first
        begins = np.concatenate([[0], np.cumsum(n_leaves)])
        for start, stop in _split(begins):
            times = n_leaves[start:stop]
            node = np.repeat(np.arange(start + 1, stop + 1, dtype=np.int32), times)
            leaf = np.arange(begins[start], begins[stop]) + np.repeat((first - begins[:-1])[start:stop], times)
            links[offsets[leaf] + tree.node_depth[node] - 1] = node
        return offsets, links

    @property
    def n_rules(self) -> int:
        """Number of rules, one for each leaf."""
        return len(self.leaf_ids)

    def entries(self, rule: int) -> slice:
        """Slice the (rule, edge) pairs of one rule, root to leaf."""
        return slice(int(self.offsets[rule]), int(self.offsets[rule + 1]))

    def list_path(self, node: int) -> list[int]:
        """List the edges from the root to a node."""
        links = []
        while node > 0:
            links.append(node)
            node = int(self.parent[node])
        return links[::-1]

    def count(self, marked: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count the marked (rule, edge) pairs of each rule."""
        counts, offsets = np.zeros(self.n_rules, dtype=np.int64), self.offsets
        for first, last in _split(offsets):
            own = marked[offsets[first] : offsets[last]]
            np.add.reduceat(own, offsets[first:last] - offsets[first], out=counts[first:last])
        return counts

    @_kept
    def parent(self) -> NDArray[np.int64]:
        """The parent of each node; -1 at the root."""
        return self._set_children(self._inner, self._inner)

    @_kept
    def sibling(self) -> NDArray[np.int64]:
        """The other child of each node's parent; -1 at the root."""
        return self._set_children(self._tree.children_right[self._inner], self._tree.children_left[self._inner])

    @_kept
    def _inner(self) -> NDArray[np.int64]:
        return np.flatnonzero(~self._tree.is_leaf)

    def _set_children(self, of_left: NDArray[np.int64], of_right: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the left and right children of internal nodes a number each; the root gets -1."""
        tree, inner = self._tree, self._inner
        numbers = np.full(tree.n_nodes, -1, dtype=np.int64)
        numbers[tree.children_left[inner]], numbers[tree.children_right[inner]] = of_left, of_right
        return numbers

    @_kept
    def is_left(self) -> NDArray[np.bool_]:
        """Whether each node is its parent's left child."""
        is_left = np.zeros(self._tree.n_nodes, dtype=bool)
        is_left[self._tree.children_left[self._inner]] = True
        return is_left

    @_kept
    def homogeneous(self) -> NDArray[np.int64]:
        """The class of all leaves below each node; -1 where they differ."""
        changes = np.concatenate([[0], np.cumsum(self.leaf_class[1:] != self.leaf_class[:-1])])
        differ = changes[self._last_leaf - 1] != changes[self._first_leaf]
        return np.where(differ, -1, self.leaf_class[self._first_leaf])

    @_kept
    def homogeneous_top(self) -> NDArray[np.int64]:
        """The highest homogeneous ancestor of each node, or the node itself; for a leaf, the root of H."""
        tree = self._tree
        top = np.arange(tree.n_nodes)
        for level in tree.inner_levels:
            inner = level[self.homogeneous[level] >= 0]
            top[tree.children_left[inner]] = top[inner]
            top[tree.children_right[inner]] = top[inner]
        return top

    @_kept
    def rule(self) -> NDArray[np.int32]:
        """The rule of each (rule, edge) pair."""
        return np.repeat(np.arange(self.n_rules, dtype=np.int32), self._lengths)

    @property
    def leaf_class_of_entry(self) -> NDArray[np.int64]:
        """The class of the leaf of each (rule, edge) pair. Made anew each time."""
        return np.repeat(self.leaf_class, self._lengths)

    @_kept
    def _lengths(self) -> NDArray[np.int64]:
        return self.offsets[1:] - self.offsets[:-1]

    @_kept
    def share(self) -> NDArray[np.float64] | None:
        """p_c(N), shape (n_nodes, n_classes); NaN where the node has no rows, None when the tree has no counts."""
        counts = self._tree.counts
        return None if counts is None else divide_or_nan(counts, counts.sum(axis=1, keepdims=True))

    @property
    def shift(self) -> NDArray[np.float64]:
        """d_c: change of the leaf's class share along each edge; 0 where a share is undefined. Made anew each time."""
        if self.share is None:
            return np.zeros(len(self.links))
        change: NDArray[np.float64] = np.nan_to_num(self.share - self.share[self.parent])  # the root's is not looked at
        return change[self.links, self.leaf_class_of_entry]

    @_kept
    def matched(self) -> NDArray[np.bool_]:
        """Whether the share of the leaf's class rises along the edge."""
        return self.shift > self.rf_tol

    @_kept
    def mismatched(self) -> NDArray[np.bool_]:
        """Whether the share of the leaf's class falls along the edge."""
        return self.shift < -self.rf_tol

    @_kept
    def inside_h(self) -> NDArray[np.bool_]:
        """Whether both ends of the edge lie in H, which is where its parent end does."""
        return (self.homogeneous >= 0)[self.parent[self.links]]

    @_kept
    def sibling_certified(self) -> NDArray[np.bool_]:
        """Whether the edge leads to an internal node whose sibling is a leaf of the rule's class."""
        tree = self._tree
        of_sibling = np.where(tree.is_leaf, -1, tree.leaf_class[self.sibling])
        return np.asarray(of_sibling[self.links] == self.leaf_class_of_entry)


def _split(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Cut runs that follow one another into parts of about ``PART_ENTRIES`` or one run."""
    cuts = np.searchsorted(offsets, np.arange(0, offsets[-1], PART_ENTRIES))
    return pairwise(np.unique([*cuts.tolist(), len(offsets) - 1]).tolist())


def trace_paths(tree: Tree, rf_tol: float = DEFAULT_RF_TOL) -> Paths:
    """Trace the paths of a tree, in O(n_nodes + n_entries); a small tree keeps the last that were asked for."""
    if tree.n_nodes > KEPT_NODES:
        return Paths(tree, rf_tol)
    kept: Paths | None = vars(tree).get("_paths")
    if kept is None or kept.rf_tol != rf_tol:
        _ = tree.leaf_runs  # found once for both
        same = object.__new__(type(tree))  # paths that refer to their own keeper would wait for the garbage collector
        vars(same).update({name: value for name, value in vars(tree).items() if name != "_paths"})
        kept = vars(tree)["_paths"] = Paths(same, rf_tol)
    return kept


def find_runs(tree: Tree, at_leaf: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find where each node's run begins and ends when the things in the leaves are put from left to right.

    ``at_leaf`` counts the things in each leaf, and is 0 at internal nodes.
    """
    first, last = tree.leaf_runs
    ends = np.zeros(tree.n_leaves + 1, dtype=np.int64)
    ends[first[tree.is_leaf] + 1] = at_leaf[tree.is_leaf]
    np.cumsum(ends, out=ends)
    return ends[first], ends[last]
