"""Find the rules that cover each row and the one that wins, by masks of one bit for each row, a block at a time.

A link's mask is made once and shared by all rules and trials: the rows of a rule are the intersection of its links'
masks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.counting.tile_arguments import Conditions, keep_asked, make_room, make_rule_conditions, make_tests
from secateur.kernels import tiles
from secateur.kernels.running import compile_module, is_soon_done, map_in_threads
from secateur.rows.rows import LabelledRows, Rows
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

Masks = np.ndarray[Any, np.dtype[np.uint64]]

# Rows are compared a block at a time, so that a block of the used columns stays in the processor's cache while
# every split looks at it. A multiple of 64 keeps blocks on word boundaries.
BLOCK_ROWS = 1 << 14

# Masks of all links are made for this many bytes at a time where rows can be looked at in blocks.
MASK_BYTES = 1 << 26


def count_bits(words: NDArray[Any]) -> NDArray[Any]:
    """Count the bits that are set in each word of 64, none of them negative; numpy 1 has no function for it."""
    if hasattr(np, "bitwise_count"):
        return np.asarray(np.bitwise_count(words))
    octets = np.ascontiguousarray(words).view(np.uint8).reshape(*words.shape, 8)
    return np.asarray(np.unpackbits(octets, axis=-1).sum(axis=-1, dtype=np.int64))


def pack_links(
    tree: Tree,
    matrix: NDArray[Any],
    columns: NDArray[np.int64] | None = None,
    nodes: NDArray[np.int64] | None = None,
) -> Masks:
    """Make the masks of all links over the rows of a checked matrix, shape (n_nodes, n_words).

    Bit ``r`` of mask ``b`` says whether row ``r`` satisfies the link into node ``b``. The root's mask holds every row.
    ``columns`` are the features that the matrix holds, increasing, if it does not hold all; ``nodes`` are the splits
    whose links are asked, if not all are.
    """
    n_rows = len(matrix)
    masks = np.zeros((tree.n_nodes, -(-n_rows // 64)), dtype=np.uint64)
    masks[0] = pack_bits(np.ones(n_rows, dtype=bool))
    inner = np.flatnonzero(~tree.is_leaf) if nodes is None else nodes
    if not len(inner):
        return masks
    used, column_of = np.unique(tree.feature[inner], return_inverse=True)
    used = used if columns is None else np.searchsorted(columns, used)
    limits = tree.upper[inner].astype(matrix.dtype)
    start, table = tree.category_table
    lefts = masks.view(np.uint8)
    for first in range(0, n_rows, BLOCK_ROWS):
        block = np.ascontiguousarray(matrix[first : first + BLOCK_ROWS, used].T)
        missing = np.isnan(block)
        some_missing = missing.any(axis=1)
        place = slice(first // 8, first // 8 + -(-block.shape[1] // 8))
        for node, column, limit in zip(inner.tolist(), column_of.tolist(), limits, strict=True):
            if start[node] >= 0:
                codes = np.where(missing[column], 0, block[column]).astype(np.int64)
                left = table[start[node] + codes]
            else:
                left = block[column] <= limit
            if some_missing[column]:
                left = np.where(missing[column], tree.missing_left[node], left)
            lefts[tree.children_left[node], place] = np.packbits(left, bitorder="little")
    masks[tree.children_right[inner]] = masks[0] & ~masks[tree.children_left[inner]]
    return masks


def rows_in(masks: Masks, links: NDArray[np.int32]) -> Masks:
    """Mask the rows that satisfy all the links; every row if there are none."""
    if not len(links):
        everyone: Masks = masks[0]
        return everyone
    found: Masks = np.bitwise_and.reduce(masks[links], axis=0)
    return found


def pack_bits(flags: NDArray[np.bool_]) -> Masks:
    """Pack the last axis to bits and pad it with zeros to whole words."""
    padded = np.zeros((*flags.shape[:-1], -(-flags.shape[-1] // 64) * 8), dtype=np.uint8)
    packed = np.packbits(flags, axis=-1, bitorder="little")
    padded[..., : packed.shape[-1]] = packed
    words: Masks = padded.view(np.uint64)
    return words


def unpack_bits(mask: Masks, n_rows: int) -> NDArray[np.bool_]:
    """Turn the first ``n_rows`` bits of the last axis into bools."""
    return np.unpackbits(mask.view(np.uint8), axis=-1, count=n_rows, bitorder="little").view(bool)


FEW_CELLS = 1 << 16


@dataclass(frozen=True, eq=False)
class CellCounts:
    """(Weighted) rows of the cells that are not empty.

    Cells are in increasing order, so that sums over them do not depend on the order of rows.

    Examples
    --------
    >>> one = CellCounts.of(np.array([7, 2, 7]), np.ones(3))
    >>> (one + one).counts.tolist()
    [2.0, 4.0]
    """

    cells: NDArray[np.int64]
    counts: NDArray[np.float64]

    @classmethod
    def of(cls, cells: NDArray[np.int64], weights: NDArray[np.float64], n_cells: int | None = None) -> CellCounts:
        """Count rows, or add up counts, by their cell; without sorting where there are fewer cells than rows."""
        if n_cells is not None and n_cells <= max(len(cells), FEW_CELLS):
            whole = np.bincount(cells, weights=weights, minlength=n_cells).astype(np.float64)
            found = np.flatnonzero(whole > 0)
            return cls(found, whole[found])
        found, place = np.unique(cells, return_inverse=True)
        counts = np.bincount(place, weights=weights, minlength=len(found)).astype(np.float64)
        kept = counts > 0
        return cls(found[kept], counts[kept])

    def __add__(self, other: CellCounts) -> CellCounts:
        return CellCounts.of(np.concatenate([self.cells, other.cells]), np.concatenate([self.counts, other.counts]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CellCounts):
            return NotImplemented
        return np.array_equal(self.cells, other.cells) and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content is arrays


# numpy looks at so many pairs of a row and a rule in less time than compiling takes.
PLAIN_PAIRS = 1 << 30


def cover_rows(
    tree: Tree, paths: Paths, deleted: NDArray[np.bool_], rows: Rows, rules: NDArray[np.int64] | None = None
) -> NDArray[np.bool_]:
    """Find out whether each rule, or each of some, covers each row, shape (n_rows, n_rules)."""
    listed = range(paths.n_rules) if rules is None else rules.tolist()
    covered = np.empty((rows.n_rows, len(listed)), dtype=bool)
    for span, masks in mask_blocks(tree, rows, _find_asked(paths, deleted, listed)):
        for place, rule in enumerate(listed):
            covered[span, place] = unpack_bits(rows_of_rule(paths, deleted, rule, masks), span.stop - span.start)
    return covered


def find_winners(
    tree: Tree, paths: Paths, deleted: NDArray[np.bool_], ranking: NDArray[np.int64], rows: Rows
) -> NDArray[np.int64]:
    """Find the first rule of the ranking that covers each row, else -1; a ranking of all rules covers every row."""
    if not _is_soon_done(paths, rows):
        return _cover_by_tiles(tree, paths, deleted, ranking, rows)[0]
    winners = np.full(rows.n_rows, -1, dtype=np.int64)
    for span, masks in mask_blocks(tree, rows, _find_asked(paths, deleted, ranking)):
        undecided = masks[0].copy()
        block = winners[span]
        for rule in ranking.tolist():
            won = rows_of_rule(paths, deleted, rule, masks) & undecided
            if won.any():
                block[unpack_bits(won, len(block))] = rule
                undecided ^= won
                if not undecided.any():
                    break
    return winners


def find_overlap(
    tree: Tree, paths: Paths, deleted: NDArray[np.bool_], rows: Rows, rules: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Find the rows that some rules of different classes cover, and the rows that any of them covers."""
    if not _is_soon_done(paths, rows):
        n_covering = _cover_by_tiles(tree, paths, deleted, rules, rows, np.zeros(rows.n_rows, dtype=np.int64))[1]
        return n_covering > 1, n_covering > 0
    conflict, covered = np.empty((2, rows.n_rows), dtype=bool)
    for span, masks in mask_blocks(tree, rows, _find_asked(paths, deleted, rules)):
        by_class = np.zeros((tree.n_classes, masks.shape[1]), dtype=np.uint64)
        for rule in rules.tolist():
            by_class[paths.leaf_class[rule]] |= rows_of_rule(paths, deleted, rule, masks)
        once, twice = np.zeros_like(by_class[0]), np.zeros_like(by_class[0])
        for mask in by_class:
            twice |= once & mask
            once |= mask
        conflict[span] = unpack_bits(twice, span.stop - span.start)
        covered[span] = unpack_bits(once, span.stop - span.start)
    return conflict, covered


def find_winners_and_overlap(
    tree: Tree,
    paths: Paths,
    deleted: NDArray[np.bool_],
    ranking: NDArray[np.int64],
    rows: Rows,
    class_ids: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64] | None]:
    """Do what :func:`find_winners` and :func:`find_overlap` do, for the rules of a ranking.

    Where one pass over many rows does both, it also counts the rows of each class that each rule covers, in the order
    of the rules.
    """
    if not _is_soon_done(paths, rows):
        winners, n_covering, counts = _cover_by_tiles(tree, paths, deleted, ranking, rows, class_ids)
        return winners, n_covering > 1, n_covering > 0, counts
    return find_winners(tree, paths, deleted, ranking, rows), *find_overlap(tree, paths, deleted, rows, ranking), None


def _is_soon_done(paths: Paths, rows: Rows) -> bool:
    return is_soon_done("cover_block", rows.n_rows * paths.n_rules, PLAIN_PAIRS)


def _cover_by_tiles(
    tree: Tree,
    paths: Paths,
    deleted: NDArray[np.bool_],
    ranking: NDArray[np.int64],
    rows: Rows,
    class_ids: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.float64]]:
    """Find the winners of a ranking in compiled code on several threads.

    With the classes of the rows, find how many classes cover each row, and count the rows of each rule, too.
    """
    is_counted = class_ids is not None
    labels = np.zeros(0, dtype=np.int64) if class_ids is None else class_ids
    best = np.full(rows.n_rows, len(ranking), dtype=np.int64)
    n_covering = np.zeros(rows.n_rows if is_counted else 0, dtype=np.uint8)
    cover_block = compile_module(tiles).cover_block
    features, every, condition_of = make_tests(tree)
    rules = np.sort(ranking)
    kept = Conditions(deleted, np.zeros_like(deleted), np.ones(paths.n_rules, dtype=bool))
    tests, conditions = keep_asked(
        every, make_rule_conditions(paths, condition_of, kept, rules, np.arange(len(rules) + 1), False)
    )
    rank, class_of = np.argsort(ranking), paths.leaf_class[rules]
    n_classes = tree.n_classes if is_counted else 0

    def find(span: tuple[int, int]) -> NDArray[np.int64]:
        block = rows.block(*span, features)
        place = block.values, block.origin, block.step, block.columns, block.n_rows
        room = make_room(tests, conditions.longest, 0, n_classes)
        own = slice(*span)
        counts = np.zeros((len(rules) if is_counted else 0, n_classes), dtype=np.int64)
        given = tests, conditions, rank, class_of, room
        cover_block(*place, *given, best[own], n_covering[own], labels[own], counts)
        return counts

    total = np.zeros((len(rules) if is_counted else 0, n_classes))
    for counts in map_in_threads(find, rows.spans()):
        total += counts
    return np.append(ranking, -1)[best], n_covering, total


def rows_of_rule(paths: Paths, deleted: NDArray[np.bool_], rule: int, masks: Masks) -> Masks:
    """Mask the rows that a rule covers."""
    span = paths.entries(rule)
    return rows_in(masks, paths.links[span][~deleted[span]])


def count_covered(
    tree: Tree, paths: Paths, deleted: NDArray[np.bool_], listed: LabelledRows, rules: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Count the (weighted) rows of each class that each of some rules covers, shape (n_rules, n_classes)."""
    rows, class_ids, weights = listed[:3]
    counts = np.zeros((len(rules), tree.n_classes))
    for span, masks in mask_blocks(tree, rows, _find_asked(paths, deleted, rules)):
        labels = class_ids[span]
        classes = pack_bits(labels == np.arange(tree.n_classes)[:, None])
        for place, rule in enumerate(rules.tolist()):
            mask = rows_of_rule(paths, deleted, rule, masks)
            if weights is None:
                counts[place] += count_bits(mask & classes).sum(axis=1)
            else:
                own = unpack_bits(mask, len(labels))
                counts[place] += np.bincount(labels[own], weights[span][own], tree.n_classes)
    return counts


def _find_asked(paths: Paths, deleted: NDArray[np.bool_], rules: Any) -> NDArray[np.int64]:
    """Find the splits that some rules still ask."""
    is_listed = np.zeros(paths.n_rules, dtype=bool)
    is_listed[rules] = True
    asked: NDArray[np.int64] = np.unique(paths.parent[paths.links[~deleted & is_listed[paths.rule]]])
    return asked


def mask_blocks(tree: Tree, rows: Rows, nodes: NDArray[np.int64] | None = None) -> Iterator[tuple[slice, Masks]]:
    """Mask the rows of every link, or of those of some splits, a bounded block of rows at a time."""
    size = max(64, MASK_BYTES // tree.n_nodes * 8 // 64 * 64)
    for first in range(0, rows.n_rows, size):
        span = slice(first, min(first + size, rows.n_rows))
        yield span, pack_links(tree, rows.select(span.start, span.stop, np.arange(rows.n_features)), nodes=nodes)
