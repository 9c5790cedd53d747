"""Run Quinlan's deletion rule by rule."""

from __future__ import annotations

from queue import SimpleQueue
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from secateur.counting.bit_masks import pack_bits
from secateur.counting.row_evidence import RowEvidence
from secateur.counting.violations import PLAIN_PAIRS
from secateur.kernels import quinlan as kernels
from secateur.kernels.compiling import compile_module, is_soon_done
from secateur.kernels.quinlan import BLOCK_WORDS, TILE_WORDS, Outcome, Rounds, Rows, Rules
from secateur.kernels.threads import map_in_threads, n_threads
from secateur.rows.coded_columns import CodedColumns, code_columns
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

__all__ = ["Limits", "is_suited", "shorten_by_rule"]

# A thread takes so many neighbouring rules at a time; they share the masks of where their paths begin.
PART_RULES = 256
# Threads may hold so many bytes of masks together, one mask for each condition of a path.
MASK_BYTES = 1 << 28
# Each class begins a tile of its own: so many classes may there be that one place in so many holds a row.
MOST_EMPTY = 16
TILE_ROWS = 64 * TILE_WORDS


class Limits(NamedTuple):
    """What is tolerated: see :mod:`secateur.methods.quinlan`."""

    alpha: float
    certainty_tolerance: float
    p_tolerance: float
    to_leaf: bool  # of conditions that are equally good, the one nearest the leaf goes first, not the root
    # The kernels' p-values differ from numpy's by less than this, relatively. Who needs to know better asks numpy.
    doubt: float = 1e-11


def is_suited(evidence: RowEvidence, paths: Paths) -> bool:
    """Whether rules should be shortened one by one: not where numpy is soon done with all of them.

    Sums of weights depend on their order, which is that of the passes.
    """
    n_rows, n_classes = evidence.n_rows, evidence.tree.n_classes
    has_few_classes = n_rows + TILE_ROWS * n_classes <= MOST_EMPTY * n_rows
    if evidence.weights is not None or not has_few_classes or _count_workers(evidence) == 0:
        return False
    return not is_soon_done("shorten_rules", n_rows * (paths.n_rules + len(paths.links)), PLAIN_PAIRS)


def _count_workers(evidence: RowEvidence) -> int:
    """How many threads may work at a time, so that their masks fit in memory."""
    n_places = evidence.n_rows + TILE_ROWS * evidence.tree.n_classes
    return min(n_threads(), 8 * MASK_BYTES // (n_places * max(1, evidence.tree.depth)))


def shorten_by_rule(evidence: RowEvidence, paths: Paths, limits: Limits) -> tuple[Outcome, NDArray[np.float64]]:
    """Shorten every rule; return what came of its conditions, and the counts of leaves."""
    tree = evidence.tree
    index, leaf_counts = evidence.index(paths), evidence.count_leaves(paths)
    # Within a class, rows come in the order of their leaves: rows that violate the same conditions are near.
    order = index.order[np.argsort(evidence.class_ids[index.order], kind="stable")]
    coded, rows = _code_rows(evidence, order)
    rules = _make_rules(tree, paths, coded, leaf_counts)
    outcome = Outcome(
        what=np.zeros(len(paths.links), dtype=np.uint8),
        tables=np.zeros((len(paths.links), 4), dtype=np.int32),
        counts=np.zeros((paths.n_rules, tree.n_classes)),
        is_unsure=np.zeros(paths.n_rules, dtype=bool),
    )
    log_gamma = gammaln(np.arange(evidence.n_rows + 2, dtype=np.float64))
    shorten_rules = compile_module(kernels).shorten_rules

    n_workers = max(1, _count_workers(evidence))
    waiting: SimpleQueue[int | None] = SimpleQueue()
    for part in [*range(0, paths.n_rules, PART_RULES), *[None] * n_workers]:
        waiting.put(part)

    def work(_: int) -> None:
        """Shorten whatever rules are next, so that threads end at about the same time."""
        rounds = _make_rounds(tree, len(rows.valid), limits, log_gamma)
        while (first := waiting.get()) is not None:
            shorten_rules(rows, rules, rounds, outcome, first, min(first + PART_RULES, paths.n_rules))

    for _ in map_in_threads(work, range(n_workers)):
        pass
    return outcome, leaf_counts


def _make_rules(tree: Tree, paths: Paths, coded: CodedColumns, leaf_counts: NDArray[np.float64]) -> Rules:
    """Write the tests of a tree in codes of its columns: a link has the test of its parent."""
    start, flat = tree.category_table
    by_code = [np.zeros(0, dtype=bool)]
    column, table_start = np.full((2, tree.n_nodes), -1, dtype=np.int64)
    filled = 0
    for number, feature in enumerate(coded.features.tolist()):
        nodes, size = np.flatnonzero(tree.feature == feature), len(coded.limits(number))
        column[nodes] = number
        for node in nodes[tree.is_categorical[nodes]].tolist():
            table_start[node] = filled
            # Nothing lies beyond the last category, and whether NaN goes left is asked apart.
            by_code += [flat[start[node] : start[node] + size], np.zeros(2, dtype=bool)]
            filled += size + 2
    limit, missing = coded.find_limits(tree)
    return Rules(
        offsets=paths.offsets,
        links=paths.links,
        leaf_class=paths.leaf_class,
        leaf_counts=leaf_counts,
        column=column[paths.parent],
        limit=limit[paths.parent].astype(np.int64),
        missing=missing[paths.parent].astype(np.int64),
        table_start=table_start[paths.parent],
        table=np.concatenate(by_code),
        is_left=paths.is_left,
    )


def _code_rows(evidence: RowEvidence, order: NDArray[np.int64]) -> tuple[CodedColumns, Rows]:
    """Code the columns of rows, and put them class by class."""
    n_rows = evidence.n_rows
    place, class_of_tile = _place_rows(np.bincount(evidence.class_ids, minlength=evidence.tree.n_classes))
    valid = np.zeros(class_of_tile.size * TILE_ROWS, dtype=bool)
    valid[place] = True
    coded = code_columns(evidence.tree, evidence.rows, np.arange(n_rows), len(valid))
    for codes in coded.codes:
        by_class = codes[:n_rows][order]
        codes[:] = 0
        codes[place] = by_class
    return coded, Rows(coded.codes, pack_bits(valid).reshape(-1, BLOCK_WORDS), class_of_tile)


def _place_rows(n_of_class: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Place rows that come class by class so that a class begins a tile, and find the class of each tile of a block."""
    n_tiles = -(-n_of_class // TILE_ROWS)
    begin, ends = TILE_ROWS * (np.cumsum(n_tiles) - n_tiles), np.cumsum(n_of_class)
    place = np.arange(ends[-1]) + np.repeat(begin - (ends - n_of_class), n_of_class)
    classes = np.repeat(np.arange(len(n_of_class)), n_tiles)
    tiles_in_block = BLOCK_WORDS // TILE_WORDS
    class_of_tile = np.zeros((-(-len(classes) // tiles_in_block), tiles_in_block), dtype=np.int64)
    class_of_tile.ravel()[: len(classes)] = classes
    return place, class_of_tile


def _make_rounds(tree: Tree, n_blocks: int, limits: Limits, log_gamma: NDArray[np.float64]) -> Rounds:
    """Make room to shorten rules in."""
    depth, n_planes = tree.depth, tree.depth.bit_length()
    return Rounds(
        limit=limits.alpha * (1 + limits.p_tolerance),
        certainty_tolerance=limits.certainty_tolerance,
        p_tolerance=limits.p_tolerance,
        to_leaf=limits.to_leaf,
        doubt=limits.doubt,
        log_gamma=log_gamma,
        violates=np.zeros((n_blocks, depth, BLOCK_WORDS), dtype=np.uint64),
        path_planes=np.zeros((n_blocks, n_planes, BLOCK_WORDS), dtype=np.uint64),
        planes=np.zeros((n_blocks, n_planes, BLOCK_WORDS), dtype=np.uint64),
        newly=np.zeros(BLOCK_WORDS, dtype=np.uint64),
        spare=np.zeros(BLOCK_WORDS, dtype=np.uint64),
        gained=np.zeros((depth, tree.n_classes), dtype=np.int64),
        left=np.zeros(depth, dtype=np.int64),
        widened=np.zeros(depth),
        p=np.zeros(depth),
        is_refused=np.zeros(depth, dtype=bool),
    )
