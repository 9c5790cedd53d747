"""`quinlan`: antecedent deletion by certainty factor and Fisher's exact test (Quinlan, 1987).

For each remaining condition the rule is compared with and without it. k of n rows are right with it; deletion admits n'
further rows, k' of them right. The condition is deletable if the certainty factor k/n does not fall, or if
Fisher's one-sided exact test of [[k, n - k], [k', n' - k']] gives p > α. The deletable condition whose removal leaves
the highest certainty factor goes (then highest p, then nearest the root, or the leaf with ``ties="leaf"``), and so on
until none is deletable. In memory, on many rows, compiled code shortens rule by rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from secateur.counting.masks import pack_bits
from secateur.counting.training_evidence import RowEvidence, TrainingEvidence
from secateur.kernels import quinlan as kernels
from secateur.kernels.running import compile_module, is_soon_done, map_in_threads, n_threads
from secateur.methods.contract import Asks, Deletions, Method, Problem, Why, choice, share
from secateur.rows.rows import CodedColumns, code_columns
from secateur.tree.paths import Paths
from secateur.tree.shares import fisher_greater
from secateur.tree.tree import Tree

CERTAINTY_TOLERANCE = 1e-12
# numpy looks at so many pairs of a row and a rule, or one of its conditions, in less time than compiling takes.
PLAIN_PAIRS = 1 << 29
# Two p-values this close (relatively) are one value computed twice: ``ties`` then says which condition goes first, and
# 3/10 is not above 0.3, whichever way its last digits fall.
P_TOLERANCE = 1e-9
TABLES_AT_ONCE = 1 << 16  # a test takes some two hundred bytes for a while


def _shorten(
    result: Deletions, paths: Paths, evidence: TrainingEvidence, among: NDArray[np.bool_], limits: Limits
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shorten a group of rules; return the counts of the new rules, and of leaves."""
    violations = evidence.count_violations(paths, result.deleted, among[paths.rule], among)
    counts, leaf_counts = violations.counts.copy(), violations.leaf_counts
    has_rows = leaf_counts.sum(axis=1) > 0
    result.keep(violations.opened & ~has_rows[paths.rule], Why.NO_ROWS)
    left = np.flatnonzero(violations.opened & has_rows[paths.rule])
    n_rounds = 0
    while len(left):
        if violations.is_paired and n_rounds == 2:
            violations, n_rounds = evidence.count_violations_left(paths, result.deleted, left), 0
        rule, gained = paths.rule[left], violations.gain(left, result.deleted)
        wanted, total, more = paths.leaf_class[rule], counts[rule].sum(axis=1), gained.sum(axis=1)
        right, more_right = counts[rule, wanted], gained[np.arange(len(left)), wanted]
        certainty, widened = right / total, (right + more_right) / (total + more)
        p = fisher_greater(right, total, more_right, more)
        holds = widened >= certainty - CERTAINTY_TOLERANCE
        result.before[left], result.after[left], result.number[left] = certainty, widened, p
        result.keep(left, Why.SIGNIFICANT)
        best = _choose(rule, holds | (p > limits.alpha * (1 + P_TOLERANCE)), widened, p, to_leaf=limits.to_leaf)
        result.delete(left[best[holds[best]]], Why.CERTAINTY_KEPT)
        result.delete(left[best[~holds[best]]], Why.NOT_SIGNIFICANT)
        counts[rule[best]] += gained[best]
        is_active = np.zeros(paths.n_rules, dtype=bool)
        is_active[rule[best]] = True
        left = left[is_active[rule] & ~result.deleted[left]]
        n_rounds += 1
    return counts, leaf_counts


def _shorten_by_rule(
    result: Deletions, paths: Paths, evidence: RowEvidence, limits: Limits
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """Shorten rules without counting them together; return those still to do, the counts of the others, of leaves."""
    (what, tables, counts, is_unsure), leaf_counts = shorten_by_rule(evidence, paths, limits)
    has_rows = (leaf_counts.sum(axis=1) > 0)[paths.rule]
    result.keep(~has_rows, Why.NO_ROWS)
    judged = np.flatnonzero(has_rows & ~is_unsure[paths.rule])
    for first in range(0, len(judged), TABLES_AT_ONCE):
        some = judged[first : first + TABLES_AT_ONCE]
        right, total, more_right, more = tables[some].T.astype(np.float64)
        result.before[some], result.after[some] = right / total, (right + more_right) / (total + more)
        result.number[some] = fisher_greater(right, total, more_right, more)
    result.keep(judged, Why.SIGNIFICANT)
    result.delete(judged[what[judged] == kernels.CERTAINTY_KEPT], Why.CERTAINTY_KEPT)
    result.delete(judged[what[judged] == kernels.NOT_SIGNIFICANT], Why.NOT_SIGNIFICANT)
    return is_unsure, counts, leaf_counts


def _choose(
    rule: NDArray[np.int32],
    deletable: NDArray[np.bool_],
    certainty: NDArray[np.float64],
    p: NDArray[np.float64],
    *,
    to_leaf: bool,
) -> NDArray[np.int64]:
    """Choose each rule's condition that leaves the highest certainty, then the highest p, then by the place."""
    best = np.flatnonzero(deletable)
    for value, slack in ((certainty, 0.0), (p, P_TOLERANCE)):
        highest = np.zeros(rule[-1] + 1)
        np.maximum.at(highest, rule[best], value[best])
        best = best[value[best] >= highest[rule[best]] * (1 - slack)]
    best = best[::-1] if to_leaf else best
    return best[np.unique(rule[best], return_index=True)[1]]


@dataclass(frozen=True)
class Quinlan(Method):
    """Greedy deletion, one condition at a time."""

    alpha: float = share(0.01)
    ties: str = choice("root", "leaf")  # which of two equally good conditions goes first

    name = "quinlan"
    summary = "deletes conditions while certainty does not fall or the loss is not significant"
    preserves = "nothing"
    guarantee = (
        "None: rules are shortened one by one on the training rows, and rules of different classes may overlap "
        "freely. Every row stays covered."
    )
    source = "Quinlan (1987)"
    asks = Asks.COUNTS
    strictness = 90
    gives = frozenset({Why.CERTAINTY_KEPT, Why.NOT_SIGNIFICANT, Why.UNTOUCHED, Why.SIGNIFICANT, Why.NO_ROWS})

    def open_conditions(self, problem: Problem) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Leave every condition open."""
        every = np.ones(len(problem.paths.links), dtype=bool)
        return ~every, every

    def delete(self, problem: Problem) -> Deletions:
        """Delete conditions greedily, one at a time from every rule that has a deletable one."""
        paths, evidence = problem.paths, problem.rows
        result = Deletions.keep_all(paths, Why.UNTOUCHED)
        counts, to_do = np.zeros((paths.n_rules, problem.tree.n_classes)), np.ones(paths.n_rules, dtype=bool)
        limits = Limits(self.alpha, self.ties == "leaf")
        if isinstance(evidence, RowEvidence) and is_suited(evidence, paths):
            to_do, counts, leaf_counts = _shorten_by_rule(result, paths, evidence, limits)
        for group in evidence.split_rules(paths, to_do[paths.rule]) if to_do.any() else ():
            among = group & to_do
            found, leaf_counts = _shorten(result, paths, evidence, among, limits)
            counts[among] = found[among]
        evidence.remember(result.deleted, counts, leaf_counts)
        return result


PART_RULES = 256  # a thread takes so many neighbouring rules at a time; they share the masks of where their paths begin
MASK_BYTES = 1 << 28  # threads may hold so many bytes of masks together, one mask for each condition of a path
# Each class begins a tile of its own: so many classes may there be that one place in so many holds a row.
MOST_EMPTY = 16
TILE_ROWS = 64 * kernels.TILE_WORDS


class Limits(NamedTuple):
    """What is tolerated: see :mod:`secateur.methods.quinlan`."""

    alpha: float
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


def shorten_by_rule(evidence: RowEvidence, paths: Paths, limits: Limits) -> tuple[kernels.Outcome, NDArray[np.float64]]:
    """Shorten every rule; return what came of its conditions, and the counts of leaves."""
    tree = evidence.tree
    index, leaf_counts = evidence.index(paths), evidence.count_leaves(paths)
    # Within a class, rows come in the order of their leaves: rows that violate the same conditions are near.
    order = index.order[np.argsort(evidence.class_ids[index.order], kind="stable")]
    coded, rows = _code_rows(evidence, order)
    rules = _make_rules(tree, paths, coded, leaf_counts)
    outcome = kernels.Outcome(
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


def _make_rules(tree: Tree, paths: Paths, coded: CodedColumns, leaf_counts: NDArray[np.float64]) -> kernels.Rules:
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
    return kernels.Rules(
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


def _code_rows(evidence: RowEvidence, order: NDArray[np.int64]) -> tuple[CodedColumns, kernels.Rows]:
    """Code the columns of rows, and put them class by class."""
    n_rows = evidence.n_rows
    place, class_of_tile = _place_rows(np.bincount(evidence.class_ids, minlength=evidence.tree.n_classes))
    valid = np.zeros(class_of_tile.size * TILE_ROWS, dtype=bool)
    valid[place] = True
    coded = code_columns(evidence.tree, evidence.rows, np.arange(n_rows), len(valid), takes_bytes=False)
    for codes in coded.codes:
        by_class = codes[:n_rows][order]
        codes[:] = 0
        codes[place] = by_class
    return coded, kernels.Rows(coded.codes, pack_bits(valid).reshape(-1, kernels.BLOCK_WORDS), class_of_tile)


def _place_rows(n_of_class: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Place rows that come class by class so that a class begins a tile, and find the class of each tile of a block."""
    n_tiles = -(-n_of_class // TILE_ROWS)
    begin, ends = TILE_ROWS * (np.cumsum(n_tiles) - n_tiles), np.cumsum(n_of_class)
    place = np.arange(ends[-1]) + np.repeat(begin - (ends - n_of_class), n_of_class)
    classes = np.repeat(np.arange(len(n_of_class)), n_tiles)
    tiles_in_block = kernels.BLOCK_WORDS // kernels.TILE_WORDS
    class_of_tile = np.zeros((-(-len(classes) // tiles_in_block), tiles_in_block), dtype=np.int64)
    class_of_tile.ravel()[: len(classes)] = classes
    return place, class_of_tile


def _make_rounds(tree: Tree, n_blocks: int, limits: Limits, log_gamma: NDArray[np.float64]) -> kernels.Rounds:
    """Make room to shorten rules in."""
    depth, n_planes = tree.depth, tree.depth.bit_length()
    return kernels.Rounds(
        limit=limits.alpha * (1 + P_TOLERANCE),
        certainty_tolerance=CERTAINTY_TOLERANCE,
        p_tolerance=P_TOLERANCE,
        to_leaf=limits.to_leaf,
        doubt=limits.doubt,
        log_gamma=log_gamma,
        violates=np.zeros((n_blocks, depth, kernels.BLOCK_WORDS), dtype=np.uint64),
        path_planes=np.zeros((n_blocks, n_planes, kernels.BLOCK_WORDS), dtype=np.uint64),
        planes=np.zeros((n_blocks, n_planes, kernels.BLOCK_WORDS), dtype=np.uint64),
        newly=np.zeros(kernels.BLOCK_WORDS, dtype=np.uint64),
        spare=np.zeros(kernels.BLOCK_WORDS, dtype=np.uint64),
        gained=np.zeros((depth, tree.n_classes), dtype=np.int64),
        left=np.zeros(depth, dtype=np.int64),
        widened=np.zeros(depth),
        p=np.zeros(depth),
        is_rejected=np.zeros(depth, dtype=bool),
    )


METHODS = (Quinlan(),)
