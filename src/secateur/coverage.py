"""Which rules cover which rows, and which of them wins, by bit masks a block of rows at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.masks import MASK_BYTES, Masks, pack_bits, pack_links, rows_in, unpack_bits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from secateur.annotation import Annotation
    from secateur.tree import Tree

__all__ = ["count_rules", "cover_rows", "find_overlap", "find_winners"]


def cover_rows(tree: Tree, notes: Annotation, deleted: NDArray[np.bool_], matrix: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each rule covers each row, shape (n_rows, n_rules)."""
    covered = np.empty((len(matrix), notes.n_rules), dtype=bool)
    for rows, masks in _blocks(tree, matrix):
        for rule in range(notes.n_rules):
            covered[rows, rule] = unpack_bits(_rows_of(notes, deleted, rule, masks), rows.stop - rows.start)
    return covered


def find_winners(
    tree: Tree,
    notes: Annotation,
    deleted: NDArray[np.bool_],
    ranking: NDArray[np.int64],
    matrix: NDArray[Any],
) -> NDArray[np.int64]:
    """For each row the first rule of the ranking that covers it; every row is covered, for deletion only widens."""
    winners = np.empty(len(matrix), dtype=np.int64)
    for rows, masks in _blocks(tree, matrix):
        undecided = masks[0].copy()
        block = winners[rows]
        for rule in ranking.tolist():
            won = _rows_of(notes, deleted, rule, masks) & undecided
            if won.any():
                block[unpack_bits(won, len(block))] = rule
                undecided ^= won
                if not undecided.any():
                    break
    return winners


def find_overlap(
    tree: Tree, notes: Annotation, deleted: NDArray[np.bool_], matrix: NDArray[Any]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Rows covered by rules of different classes, and rows covered at all."""
    conflict, covered = np.empty(len(matrix), dtype=bool), np.empty(len(matrix), dtype=bool)
    for rows, masks in _blocks(tree, matrix):
        by_class = np.zeros((tree.n_classes, masks.shape[1]), dtype=np.uint64)
        for rule, class_id in enumerate(notes.leaf_class.tolist()):
            by_class[class_id] |= _rows_of(notes, deleted, rule, masks)
        once, twice = np.zeros_like(by_class[0]), np.zeros_like(by_class[0])
        for mask in by_class:
            twice |= once & mask
            once |= mask
        conflict[rows] = unpack_bits(twice, rows.stop - rows.start)
        covered[rows] = unpack_bits(once, rows.stop - rows.start)
    return conflict, covered


def count_rules(
    tree: Tree,
    notes: Annotation,
    deleted: NDArray[np.bool_],
    matrix: NDArray[Any],
    class_ids: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """(Weighted) rows of each class that each widened rule covers, shape (n_rules, n_classes); others stay 0."""
    counts = np.zeros((notes.n_rules, tree.n_classes))
    widened = np.unique(notes.rule[deleted]).tolist()
    for rows, masks in _blocks(tree, matrix) if widened else ():
        ids = class_ids[rows]
        members = pack_bits(ids == np.arange(tree.n_classes)[:, None])
        for rule in widened:
            mask = _rows_of(notes, deleted, rule, masks)
            if weights is None:
                counts[rule] += np.bitwise_count(members & mask).sum(axis=1)
            elif mask.any():
                inside = unpack_bits(mask, len(ids))
                counts[rule] += np.bincount(ids[inside], weights=weights[rows][inside], minlength=tree.n_classes)
    return counts


def _rows_of(notes: Annotation, deleted: NDArray[np.bool_], rule: int, masks: Masks) -> Masks:
    span = notes.entries(rule)
    return rows_in(masks, notes.links[span][~deleted[span]])


def _blocks(tree: Tree, matrix: NDArray[Any]) -> Iterator[tuple[slice, Masks]]:
    """Link masks of the rows, a bounded block at a time."""
    size = max(64, MASK_BYTES // tree.n_nodes * 8 // 64 * 64)
    for first in range(0, len(matrix), size):
        rows = slice(first, min(first + size, len(matrix)))
        yield rows, pack_links(tree, matrix[rows])
