"""Methods that judge by rows, as the paper's complexity analysis describes them: masks, intersected for every trial."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import fisher_exact

from benchmarks.naive.plain_tree import Deletion, PlainTree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from secateur import Tree

__all__ = ["RowMasks", "count_rules", "delete_mismatch", "delete_quinlan", "predict"]

Rows = NDArray[np.float32]
Labels = NDArray[np.int64]
Mask = NDArray[np.bool_]
Leaves = list[int] | None


class RowMasks:
    """Which rows satisfy links: masks that are kept, as the paper keeps them for M1-P, or made anew for every trial."""

    def __init__(self, plain: PlainTree, X: Rows, *, keep: bool = True) -> None:
        self.plain, self.X, self.keep = plain, X, keep
        self.kept: dict[int, Mask] = {}

    def of_link(self, link: int) -> Mask:
        """The rows that satisfy one link."""
        if link in self.kept:
            return self.kept[link]
        parent = self.plain.parent[link]
        column, limit = self.X[:, self.plain.feature[parent]], np.float32(self.plain.limit[parent])
        mask: Mask = column <= limit if link == self.plain.left[parent] else column > limit
        if self.keep:
            self.kept[link] = mask
        return mask

    def of_links(self, links: Iterable[int]) -> Mask:
        """The rows that satisfy every link."""
        mask = np.ones(len(self.X), dtype=bool)
        for link in links:
            mask &= self.of_link(link)
        return mask


def delete_mismatch(tree: Tree, X: Rows, y: Labels, tolerance: float, leaves: Leaves = None) -> Deletion:
    """M1-P: mismatched links outside H, together or else leaf to root."""
    plain = PlainTree(tree)
    masks = RowMasks(plain, X)
    counts = np.asarray(tree.counts)
    share = counts / counts.sum(axis=1, keepdims=True)

    within = Fraction(str(tolerance))  # the decimal number that was written

    def reliability(leaf: int, deleted: Collection[int]) -> Fraction:
        hits = y[masks.of_links(plain.path(leaf, without=deleted))] == plain.label[leaf]
        return Fraction(int(hits.sum()), len(hits))

    def is_candidate(link: int, label: int) -> bool:
        parent = plain.parent[link]
        return share[link, label] - share[parent, label] < -1e-12 and plain.labels_below(parent) != {label}

    found = {}
    for leaf in leaves or plain.leaves:
        chosen: list[int] = []
        candidates = [link for link in reversed(plain.path(leaf)) if is_candidate(link, plain.label[leaf])]
        base = reliability(leaf, [])
        if abs(reliability(leaf, candidates) - base) <= within:
            chosen = candidates
        else:
            for link in candidates:
                if abs(reliability(leaf, [*chosen, link]) - base) <= within:
                    chosen.append(link)
        found[leaf] = [link for link in plain.path(leaf) if link in chosen]
    return found


def delete_quinlan(
    tree: Tree, X: Rows, y: Labels, alpha: float, leaves: Leaves = None, *, keep_masks: bool = False
) -> Deletion:
    """Quinlan 1987: every round rescores every condition that is left, with all of the others: d³ in a path's length.

    The paper keeps masks of conditions for its own method only; ``keep_masks`` gives Quinlan's that advantage, too.
    """
    plain = PlainTree(tree)
    masks = RowMasks(plain, X, keep=keep_masks)

    def right_and_all(leaf: int, deleted: Collection[int]) -> tuple[int, int]:
        mask = masks.of_links(plain.path(leaf, without=deleted))
        return int((y[mask] == plain.label[leaf]).sum()), int(mask.sum())

    found = {}
    for leaf in leaves or plain.leaves:
        deleted: list[int] = []
        while True:
            k, n = right_and_all(leaf, deleted)
            deletable = []
            for link in plain.path(leaf, without=deleted):
                wide_k, wide_n = right_and_all(leaf, [*deleted, link])
                new_k, new_n = wide_k - k, wide_n - n
                p = float(fisher_exact([[k, n - k], [new_k, new_n - new_k]], alternative="greater").pvalue)
                if wide_k / wide_n >= k / n - 1e-12 or p > alpha:
                    deletable.append((wide_k / wide_n, p, link))
            if not deletable:
                break
            certainty = max(c for c, _, _ in deletable)
            best = max(p for c, p, _ in deletable if c == certainty)
            # Two sums of one p-value differ in their last digits; of equal ones the link nearest the root goes.
            deleted.append(next(link for c, p, link in deletable if c == certainty and p >= best * (1 - 1e-9)))
        found[leaf] = [link for link in plain.path(leaf) if link in deleted]
    return found


def count_rules(tree: Tree, X: Rows, y: Labels, deletion: Deletion) -> NDArray[np.float64]:
    """Rows of each class that satisfy each rule, shape (n_rules, n_classes)."""
    plain = PlainTree(tree)
    masks = RowMasks(plain, X)
    covered = [masks.of_links(plain.path(leaf, without=gone)) for leaf, gone in deletion.items()]
    return np.array([np.bincount(y[rows], minlength=tree.n_classes) for rows in covered], dtype=np.float64)


def predict(tree: Tree, X: Rows, y: Labels, deletion: Deletion) -> Labels:
    """Class of each row by the first of the rules that cover it: reliability, support, fewer conditions, place."""
    plain = PlainTree(tree)
    masks = RowMasks(plain, X)
    ranked = []
    for place, (leaf, gone) in enumerate(deletion.items()):
        kept, label = plain.path(leaf, without=gone), plain.label[leaf]
        rows = masks.of_links(kept)
        ranked.append((-float((y[rows] == label).mean()), -int(rows.sum()), len(kept), place, label, kept))
    found = np.full(len(X), -1, dtype=np.int64)
    for *_, label, kept in sorted(ranked, reverse=True):  # the best writes last
        found[masks.of_links(kept)] = label
    return found
