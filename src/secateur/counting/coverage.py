"""Find the rules that cover each row and the one that wins, by bit masks, a block of rows at a time."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from secateur.counting.bit_masks import MASK_BYTES, Masks, pack_links, rows_in, unpack_bits
from secateur.counting.tile_arguments import Conditions, keep_asked, make_room, make_rule_conditions, make_tests
from secateur.kernels import tiles
from secateur.kernels.compiling import compile_module, is_soon_done
from secateur.kernels.threads import map_in_threads
from secateur.rows.rows import Rows
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

# numpy looks at so many pairs of a row and a rule in less time than compiling takes.
PLAIN_PAIRS = 1 << 28


def cover_rows(
    tree: Tree, paths: Paths, deleted: NDArray[np.bool_], rows: Rows, rules: NDArray[np.int64] | None = None
) -> NDArray[np.bool_]:
    """Find out whether each rule, or each of some, covers each row, shape (n_rows, n_rules)."""
    listed = range(paths.n_rules) if rules is None else rules.tolist()
    covered = np.empty((rows.n_rows, len(listed)), dtype=bool)
    for span, masks in mask_blocks(tree, rows):
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
    for span, masks in mask_blocks(tree, rows):
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
    for span, masks in mask_blocks(tree, rows):
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


def mask_blocks(tree: Tree, rows: Rows) -> Iterator[tuple[slice, Masks]]:
    """Mask the rows of every link, a bounded block of rows at a time."""
    size = max(64, MASK_BYTES // tree.n_nodes * 8 // 64 * 64)
    for first in range(0, rows.n_rows, size):
        span = slice(first, min(first + size, rows.n_rows))
        yield span, pack_links(tree, rows.select(span.start, span.stop, np.arange(rows.n_features)))
