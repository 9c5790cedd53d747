"""What the tree says about its links: paths, orientation, Λ, H and SIB, as array passes over a Tree.

Conventions used everywhere below and by all methods:

- A *link* is named by its child node's id.
- A rule's path is a run of *entries*. Entry arrays have one element for each (leaf, link on its path), leaf after
  leaf in source order and root to leaf within a path; ``offsets[r]:offsets[r + 1]`` are the entries of rule ``r``.
- Link orientation is relative to the class of the leaf under study (with two classes: the paper's C1/C0 annotation).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.tree import Tree

__all__ = ["DEFAULT_RF_TOL", "Annotation", "annotate", "find_runs"]

DEFAULT_RF_TOL = 1e-12


@dataclass(frozen=True)
class Annotation:
    """Everything structural that the methods ask of a tree, computed once.

    Attributes
    ----------
    parent : ndarray of int64, shape (n_nodes,)
        -1 at the root.
    sibling : ndarray of int64, shape (n_nodes,)
        The parent's other child; -1 at the root.
    is_left : ndarray of bool, shape (n_nodes,)
        Whether the node is its parent's left child.
    labels_below : ndarray of bool, shape (n_nodes, n_classes)
        Λ: the classes that leaves below the node predict.
    homogeneous : ndarray of int64, shape (n_nodes,)
        The class of all leaves below the node; -1 where they differ.
    homogeneous_top : ndarray of int64, shape (n_nodes,)
        The highest homogeneous ancestor (or the node itself); the root of H for a leaf.
    share : ndarray of float64, shape (n_nodes, n_classes), or None
        p_c(N); NaN where the node has no rows; None when the tree has no counts.
    leaf_ids : ndarray of int64, shape (n_leaves,)
        Leaves in source order.
    leaf_class : ndarray of int64, shape (n_leaves,)
    offsets : ndarray of int64, shape (n_leaves + 1,)
    links, rule : ndarray of int64, shape (n_entries,)
        The link of each entry, and the index of its rule.
    shift : ndarray of float64, shape (n_entries,)
        d_c: change of the leaf's class share along the link; 0 where a share is undefined.
    matched, mismatched, inside_h, sibling_certified : ndarray of bool, shape (n_entries,)
        Neutral entries are neither matched nor mismatched.
    """

    parent: NDArray[np.int64]
    sibling: NDArray[np.int64]
    is_left: NDArray[np.bool_]
    labels_below: NDArray[np.bool_]
    homogeneous: NDArray[np.int64]
    homogeneous_top: NDArray[np.int64]
    share: NDArray[np.float64] | None
    leaf_ids: NDArray[np.int64]
    leaf_class: NDArray[np.int64]
    offsets: NDArray[np.int64]
    links: NDArray[np.int64]
    rule: NDArray[np.int64]
    shift: NDArray[np.float64]
    matched: NDArray[np.bool_]
    mismatched: NDArray[np.bool_]
    inside_h: NDArray[np.bool_]
    sibling_certified: NDArray[np.bool_]

    @property
    def n_rules(self) -> int:
        """Number of rules, one for each leaf."""
        return len(self.leaf_ids)

    def entries(self, rule: int) -> slice:
        """The entries of one rule, root to leaf."""
        return slice(int(self.offsets[rule]), int(self.offsets[rule + 1]))


def annotate(tree: Tree, rf_tol: float = DEFAULT_RF_TOL) -> Annotation:
    """Annotate a tree in O(n_nodes + n_entries).

    Parameters
    ----------
    tree : Tree
    rf_tol : float, default=1e-12
        A class share that changes by no more than this along a link counts as unchanged.

    Returns
    -------
    Annotation
    """
    parent, sibling, is_left = _relatives(tree)
    labels_below = _labels_below(tree)
    homogeneous = np.where(labels_below.sum(axis=1) == 1, labels_below.argmax(axis=1), -1)
    leaf_ids = _source_order(tree)
    leaf_class = tree.leaf_class[leaf_ids]
    offsets, links = _paths(tree, leaf_ids, parent)
    rule = np.repeat(np.arange(len(leaf_ids)), np.diff(offsets))
    wanted = leaf_class[rule]
    share = _shares(tree)
    shift = np.zeros(len(links))
    if share is not None:
        shift = np.nan_to_num(share - share[parent])[links, wanted]  # the root's own row is not looked at
    other = sibling[links]
    return Annotation(
        parent=parent,
        sibling=sibling,
        is_left=is_left,
        labels_below=labels_below,
        homogeneous=homogeneous,
        homogeneous_top=_homogeneous_top(tree, homogeneous),
        share=share,
        leaf_ids=leaf_ids,
        leaf_class=leaf_class,
        offsets=offsets,
        links=links,
        rule=rule,
        shift=shift,
        matched=shift > rf_tol,
        mismatched=shift < -rf_tol,
        # Both ends of a link lie in H exactly when its parent end does: all below a homogeneous node is homogeneous.
        inside_h=homogeneous[parent[links]] >= 0,
        sibling_certified=~tree.is_leaf[links] & (tree.leaf_class[other] == wanted),
    )


def _relatives(tree: Tree) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    inner = np.flatnonzero(~tree.is_leaf)
    left, right = tree.children_left[inner], tree.children_right[inner]
    parent = np.full(tree.n_nodes, -1, dtype=np.int64)
    sibling = np.full(tree.n_nodes, -1, dtype=np.int64)
    is_left = np.zeros(tree.n_nodes, dtype=bool)
    parent[left] = parent[right] = inner
    sibling[left], sibling[right] = right, left
    is_left[left] = True
    return parent, sibling, is_left


def _labels_below(tree: Tree) -> NDArray[np.bool_]:
    below = np.zeros((tree.n_nodes, tree.n_classes), dtype=bool)
    leaves = np.flatnonzero(tree.is_leaf)
    below[leaves, tree.leaf_class[leaves]] = True
    for inner in reversed(tree.inner_levels):
        below[inner] = below[tree.children_left[inner]] | below[tree.children_right[inner]]
    return below


def _homogeneous_top(tree: Tree, homogeneous: NDArray[np.int64]) -> NDArray[np.int64]:
    top = np.arange(tree.n_nodes)
    for level in tree.inner_levels:
        inner = level[homogeneous[level] >= 0]
        top[tree.children_left[inner]] = top[inner]
        top[tree.children_right[inner]] = top[inner]
    return top


def _shares(tree: Tree) -> NDArray[np.float64] | None:
    if tree.counts is None:
        return None
    total = tree.counts.sum(axis=1, keepdims=True)
    share = np.full(tree.counts.shape, np.nan)
    np.divide(tree.counts, total, out=share, where=total > 0)
    return share


def _source_order(tree: Tree) -> NDArray[np.int64]:
    """Leaves left to right, from the number of leaves that lie to the left of each subtree."""
    before, _ = find_runs(tree, tree.is_leaf.astype(np.int64))
    leaves = np.flatnonzero(tree.is_leaf)
    return leaves[np.argsort(before[leaves])]


def find_runs(tree: Tree, at_leaf: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each node's run begins and ends when things that lie in leaves are put from left to right.

    ``at_leaf`` says how many lie in each leaf, and is 0 at internal nodes.
    """
    below = at_leaf.copy()
    for inner in reversed(tree.inner_levels):
        below[inner] = below[tree.children_left[inner]] + below[tree.children_right[inner]]
    first = np.zeros(tree.n_nodes, dtype=np.int64)
    for inner in tree.inner_levels:
        first[tree.children_left[inner]] = first[inner]
        first[tree.children_right[inner]] = first[inner] + below[tree.children_left[inner]]
    return first, first + below


def _paths(
    tree: Tree, leaf_ids: NDArray[np.int64], parent: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Offsets and links of all paths, filled from the leaves upward for all rules at once."""
    depth = np.zeros(tree.n_nodes, dtype=np.int64)
    for d, level in enumerate(tree.levels):
        depth[level] = d
    offsets = np.concatenate([[0], np.cumsum(depth[leaf_ids])])
    links = np.empty(offsets[-1], dtype=np.int64)
    climbing, place = leaf_ids, offsets[1:] - 1
    for _ in range(tree.depth):
        below_root = climbing > 0
        climbing, place = climbing[below_root], place[below_root]
        links[place] = climbing
        climbing, place = parent[climbing], place - 1
    return offsets, links
