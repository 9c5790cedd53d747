"""`budgeted` from its definition: the price of every condition that is left, anew for every deletion."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.naive.all_pairs import box_of, delete_exact, meet, opposing_boxes
from benchmarks.naive.by_rows import Labels, RowMasks, Rows
from benchmarks.naive.plain_tree import Deletion, PlainTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur import Tree

__all__ = ["count_conflicts", "delete_budgeted"]


def delete_budgeted(
    tree: Tree, X: Rows, y: Labels, budget: float, *, smoothing: int = 1000, tolerance: float = 0.05
) -> Deletion:
    """Exact deletion, then the cheapest condition that the guard allows, while the conflict fits; equal weights."""
    plain = PlainTree(tree)
    opposing = opposing_boxes(plain)
    n = len(X)
    copies = -(-4000 // n)
    rows = np.concatenate([X, _shuffle(plain, X, copies)])
    # In units of 1 / (n · copies · (n + smoothing)), all weights are whole.
    weight = np.repeat([n * copies, smoothing], [n, len(rows) - n])
    share = Fraction(str(budget))  # the decimal number that was written
    mixed_limit, real_limit = int(share * int(weight.sum())), int(share * n)
    masks, labels = RowMasks(plain, rows), _label(plain, rows)
    deleted = delete_exact(tree)
    supported = [leaf for leaf in plain.leaves if masks.of_links(plain.path(leaf))[:n].any()]
    in_conflict = np.zeros(len(rows), dtype=bool)

    def n_met(leaf: int, without: list[int]) -> int:
        box = box_of(plain, plain.path(leaf, without))
        return sum(meet(box, other) for other in opposing[plain.label[leaf]])

    def count_own(links: list[int]) -> NDArray[np.int64]:
        return np.bincount(y[masks.of_links(links)[:n]], minlength=tree.n_classes)

    def may_widen(leaf: int, links: list[int]) -> bool:
        before, after, own = count_own(plain.path(leaf)), count_own(links), plain.label[leaf]
        shares = [Fraction(int(some[own]), int(some.sum())) for some in (before, after)]
        if shares[0] - shares[1] > Fraction(str(tolerance)) or after[own] < after.max():
            return False
        box = box_of(plain, links)
        others = [other for other in plain.leaves if plain.label[other] != own]
        return not any(box == box_of(plain, plain.path(other, without=deleted[other])) for other in others)

    while True:
        spent, really_spent = int(weight[in_conflict].sum()), int(in_conflict[:n].sum())
        best = None
        for leaf in supported:
            foreign = (labels != plain.label[leaf]) & ~in_conflict
            for link in plain.path(leaf, without=deleted[leaf]):
                new = foreign & masks.of_links(plain.path(leaf, without=[*deleted[leaf], link]))
                price = int(weight[new].sum())
                if spent + price > mixed_limit or really_spent + int(new[:n].sum()) > real_limit:
                    continue
                if best is None or price <= best[0]:
                    if not may_widen(leaf, plain.path(leaf, without=[*deleted[leaf], link])):
                        continue
                    met = n_met(leaf, [*deleted[leaf], link]) - n_met(leaf, deleted[leaf])
                    if best is None or (price, met) < best[:2]:  # of equal ones the first stays
                        best = (price, met, leaf, link, new)
        if best is None:
            return {leaf: [link for link in plain.path(leaf) if link in deleted[leaf]] for leaf in plain.leaves}
        _, _, leaf, link, new = best
        deleted[leaf].append(link)
        in_conflict |= new


def count_conflicts(tree: Tree, X: Rows, deletion: Deletion) -> int:
    """How many rows are covered by rules of different classes; a bit a row, because a large tree has many masks."""
    plain = PlainTree(tree)
    columns = np.asfortranarray(X)
    inner = [node for node in range(tree.n_nodes) if plain.left[node] >= 0]
    goes_left = {node: np.packbits(columns[:, plain.feature[node]] <= np.float32(plain.limit[node])) for node in inner}
    covered = np.zeros((tree.n_classes, -(-len(X) // 8)), dtype=np.uint8)
    for leaf, gone in deletion.items():
        rows = np.full(covered.shape[1], 255, dtype=np.uint8)
        for link in plain.path(leaf, without=gone):
            parent = plain.parent[link]
            rows &= goes_left[parent] if link == plain.left[parent] else ~goes_left[parent]
        covered[plain.label[leaf]] |= rows
    return int((np.unpackbits(covered, axis=1, count=len(X)).sum(axis=0) > 1).sum())


def _label(plain: PlainTree, rows: Rows) -> Labels:
    """Class that the tree predicts for each row."""
    masks, labels = RowMasks(plain, rows), np.full(len(rows), -1, dtype=np.int64)
    for leaf in plain.leaves:
        labels[masks.of_links(plain.path(leaf))] = plain.label[leaf]
    return labels


def _shuffle(plain: PlainTree, X: Rows, copies: int) -> Rows:
    """Copies of the rows, each tested feature permuted within each predicted class."""
    labels, draw, made = _label(plain, X), np.random.RandomState(0), []
    for _ in range(copies):
        for label in np.unique(labels):
            members = X[labels == label]
            block = np.zeros_like(members)
            for feature in sorted({feature for feature in plain.feature if feature >= 0}):
                block[:, feature] = members[draw.permutation(len(members)), feature]
            made.append(block)
    return np.concatenate(made)
