"""Run ReliabilitySelect rule by rule, where masks of all rows for all tests fit into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from secateur.counting.bit_masks import pack_bits
from secateur.counting.row_evidence import RowEvidence
from secateur.counting.tile_arguments import Conditions, keep_asked, make_room, make_rule_conditions, make_tests
from secateur.counting.violations import find_reliability
from secateur.kernels import selection as kernels
from secateur.kernels.compiling import compile_module
from secateur.kernels.selection import Judged, Masks, Outcome, Space
from secateur.kernels.threads import map_in_threads, n_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.counting.training_evidence import TrainingEvidence
    from secateur.kernels.tiles import Tests
    from secateur.rows.rows import Rows
    from secateur.tree.paths import Paths

__all__ = ["Selection", "select_by_rule"]

# With fewer rules, one pass over the rows tells all that their trials ask for.
FEWEST_RULES = 1_000
# The masks of all tests take so many bytes at most, and what threads work with.
MASK_BYTES = 1 << 25
# A thread takes so many neighbouring rules at a time.
PART_RULES = 512


class Selection(NamedTuple):
    """What came of each rule, and of each candidate."""

    entries: NDArray[np.int64]  # the candidates
    base: NDArray[np.float64]  # reliability of each leaf
    leaf_counts: NDArray[np.float64]
    outcome: Outcome


def select_by_rule(
    evidence: TrainingEvidence,
    paths: Paths,
    deleted: NDArray[np.bool_],
    candidates: NDArray[np.bool_],
    tolerance: float,
) -> Selection | None:
    """Try the candidates of every rule against the reliability of its leaf; None where this would not pay.

    Sums of weights depend on their order, which is that of the passes over rows.
    """
    if not isinstance(evidence, RowEvidence) or evidence.weights is not None or paths.n_rules < FEWEST_RULES:
        return None
    tree, n_words = evidence.tree, -(-evidence.n_rows // 64)
    features, tests, condition_of = make_tests(tree)
    if 8 * n_words * (len(tests.slot) + tree.n_classes + n_threads() * (tree.depth + 4)) > MASK_BYTES:
        return None
    is_leading, node = _find_leading(paths, ~deleted & ~candidates)
    everyone = np.ones(paths.n_rules, dtype=bool)
    tests, rules = keep_asked(
        tests,
        make_rule_conditions(
            paths,
            condition_of,
            Conditions(deleted | is_leading, candidates, everyone),
            np.arange(paths.n_rules),
            np.zeros(paths.n_rules + 1, dtype=np.int64),
            False,
        ),
    )
    longest = int(np.diff(rules.open_offsets).max(initial=0))
    ordered, index = evidence.put_by_leaf(paths), evidence.index(paths)
    if ordered is None:
        return None
    module = compile_module(kernels)
    masks = Masks(
        _pack_tests(module, ordered.rows, features, tests, tree.n_classes),
        np.array([pack_bits(ordered.class_ids == class_id) for class_id in range(tree.n_classes)]),
    )
    leaf_counts = evidence.count_leaves(paths)
    base = find_reliability(paths, leaf_counts)
    judged = Judged(index.first[node], index.last[node], paths.leaf_class, base, tolerance)
    outcome = Outcome(
        joint=np.full(paths.n_rules, np.nan),
        is_joint=np.zeros(paths.n_rules, dtype=bool),
        counts=np.zeros((paths.n_rules, tree.n_classes)),
        after=np.full(len(rules.open), np.nan),
        is_gone=np.zeros(len(rules.open), dtype=bool),
    )

    def select(first: int) -> None:
        inside, refused = np.zeros((2, n_words), dtype=np.uint64)
        space = Space(inside, np.zeros(n_words, np.int64), np.zeros((longest + 1, n_words), np.uint64), refused)
        module.select_rules(masks, rules, judged, first, min(first + PART_RULES, paths.n_rules), space, outcome)

    for _ in map_in_threads(select, range(0, paths.n_rules, PART_RULES)):
        pass
    return Selection(np.flatnonzero(candidates), base, leaf_counts, outcome)


def _pack_tests(
    module: Any, rows: Rows, features: NDArray[np.int64], tests: Tests, n_classes: int
) -> NDArray[np.uint64]:
    """Mask the rows that go left at each test, blocks of rows on several threads."""
    left = np.zeros((len(tests.slot), -(-rows.n_rows // 64)), dtype=np.uint64)

    def pack(span: tuple[int, int]) -> None:
        block = rows.block(*span, features)
        place = block.values, block.origin, block.step, block.columns, *span
        module.pack_rows(*place, tests, make_room(tests, 0, 0, n_classes), left)

    for _ in map_in_threads(pack, rows.spans()):
        pass
    return left


def _find_leading(paths: Paths, firm: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Mark the firm entries that a path begins with, and find the node that they lead to.

    The rows of the rule are among those that pass this node, and these are neighbours in the order of leaves.
    """
    begin, place = paths.offsets[:-1], np.arange(len(firm))
    end = np.minimum.reduceat(np.where(firm, paths.offsets[1:][paths.rule], place), begin)
    leading = place < end[paths.rule]
    node = np.where(end > begin, paths.links[np.maximum(end - 1, 0)], 0)
    return leading, node.astype(np.int64)
