"""Run the walks over all rules of a tree: plain Python on a small tree, compiled and on threads on a large one.

numba is imported when a tree is large enough to repay it.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.kernels import number_walks, walks
from secateur.kernels.compiling import compile_module
from secateur.kernels.number_walks import NumberRows
from secateur.kernels.threads import map_in_threads, n_threads
from secateur.kernels.walks import Box, IndexedRows, Walkable

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

    from secateur.counting.rows_by_leaf import RowIndex
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Tree

__all__ = [
    "SMALL_TREE_ENTRIES",
    "compiled_kernels",
    "make_box",
    "make_indexed_rows",
    "make_walkable",
    "run_count",
    "run_deletion",
    "run_met",
    "run_witnesses",
]

# Up to this many conditions in all, plain Python is done before numba would be imported.
SMALL_TREE_ENTRIES = 1_000
# From this many conditions on, several threads share them.
PART_ENTRIES = 1 << 14


def run_deletion(kernel: str, tree: Tree, paths: Paths) -> NDArray[np.bool_]:
    """Run ``delete_links`` or ``delete_features`` over all rules; return the deleted entries."""
    deleted = np.zeros(len(paths.links), dtype=bool)
    if kernel == "delete_links" and _suits_numbers(tree, paths):
        return _run_numbers("delete_number_links", tree, paths, deleted)
    return _run(kernel, tree, paths, deleted)


def run_witnesses(tree: Tree, paths: Paths, deleted: NDArray[np.bool_], *, by_feature: bool) -> NDArray[np.int64]:
    """For each kept entry the foreign leaf that it keeps out, else -1; see ``walks.find_witnesses``."""
    witness = np.full(len(paths.links), -1, dtype=np.int64)
    return _run("find_witnesses", tree, paths, deleted.copy(), by_feature, witness)


def run_met(tree: Tree, paths: Paths, deleted: NDArray[np.bool_], rules: NDArray[np.int64]) -> NDArray[np.int64]:
    """The leftmost leaf of another class that each of some rules meets, else -1."""
    met = np.full((paths.n_rules, 1), walks.NOT_ASKED, dtype=np.int64)
    met[rules] = -1
    found: NDArray[np.int64] = _run("find_met", tree, paths, deleted, met)[rules, 0]
    return found


def run_count(
    tree: Tree,
    paths: Paths,
    deleted: NDArray[np.bool_],
    index: RowIndex,
    class_ids: NDArray[np.int64],
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Weight of the rows of each class that each widened rule covers, shape (n_rules, n_classes); others stay 0."""
    counts = np.zeros((paths.n_rules, tree.n_classes))
    if _suits_numbers(tree, paths):
        listed = number_walks.make_number_rows(tree, index, class_ids, weights)
        return _run_numbers("count_number_rows", tree, paths, deleted, listed, counts)
    weight = np.ones(len(index.order)) if weights is None else weights[index.order]
    rows = make_indexed_rows(tree, index, class_ids[index.order], weight)
    return _run("count_rows", tree, paths, deleted, rows, counts)


def _run(kernel: str, tree: Tree, paths: Paths, *state: Any) -> NDArray[Any]:
    """Call a kernel on lists if the tree is small, else compiled, some rules at a time on several threads.

    Return the last argument as an array.
    """
    walk = make_walkable(tree, paths)
    if len(paths.links) <= SMALL_TREE_ENTRIES:  # Python indexes lists several times faster than arrays
        box = Box(*map(_as_list, make_box(tree)))
        arguments = [_as_list(argument) for argument in (paths.offsets, paths.links, paths.leaf_class, *state)]
        getattr(walks, kernel)(Walkable(*map(_as_list, walk)), box, *arguments)
        return np.asarray(arguments[-1], dtype=state[-1].dtype)
    compiled = getattr(compiled_kernels(), kernel)

    def run(rules: slice) -> None:
        own = paths.offsets[rules.start : rules.stop + 1], paths.links, paths.leaf_class[rules]
        compiled(walk, make_box(tree), *own, *(_own_part(argument, paths, rules) for argument in state))

    for _ in map_in_threads(run, _split_rules(paths)):
        pass
    result: NDArray[Any] = state[-1]
    return result


def _suits_numbers(tree: Tree, paths: Paths) -> bool:
    """Whether the kernels for trees that test numbers only, none of them missing, can do the work of a large tree."""
    if len(paths.links) <= SMALL_TREE_ENTRIES:
        return False
    tested = np.unique(tree.feature[~tree.is_leaf])
    numeric = all(tree.categories[feature] is None for feature in tested.tolist())
    return numeric and not tree.accepts_missing[tested].any()


def _run_numbers(kernel: str, tree: Tree, paths: Paths, *state: Any) -> NDArray[Any]:
    """The same as :func:`_run` for a kernel of :mod:`secateur.kernels.number_walks`."""
    compiled = getattr(compile_module(number_walks), kernel)
    nodes = number_walks.pack_nodes(tree, paths)

    def run(rules: slice) -> None:
        own = paths.offsets[rules.start : rules.stop + 1], paths.links, paths.leaf_class[rules]
        box = number_walks.make_number_box(tree)
        compiled(nodes, paths.is_left, box, *own, *(_own_part(argument, paths, rules) for argument in state))

    for _ in map_in_threads(run, _split_rules(paths)):
        pass
    result: NDArray[Any] = state[-1]
    return result


def _split_rules(paths: Paths) -> list[slice]:
    """Runs of rules that have about as many entries each."""
    n_parts = 1 if len(paths.links) < PART_ENTRIES else 4 * n_threads()
    bounds = np.searchsorted(paths.offsets, np.linspace(0, paths.offsets[-1], n_parts + 1))
    return [slice(first, last) for first, last in itertools.pairwise(bounds.tolist()) if last > first]


def _own_part(argument: Any, paths: Paths, rules: slice) -> Any:
    """What a thread gets of a kernel's argument: its rules of what has a row a rule, and room of its own to work in."""
    if isinstance(argument, IndexedRows):
        return argument._replace(
            kept=argument.kept.copy(), kept_column=argument.kept_column.copy(), kept_limit=argument.kept_limit.copy()
        )
    if isinstance(argument, NumberRows):
        return argument._replace(
            kept_left=argument.kept_left.copy(),
            kept_column=argument.kept_column.copy(),
            kept_limit=argument.kept_limit.copy(),
        )
    return argument[rules] if isinstance(argument, np.ndarray) and argument.ndim == 2 else argument


def make_walkable(tree: Tree, paths: Paths) -> Walkable:
    """The arrays that a walk reads, category sets packed to words."""
    sizes = [0 if levels is None else len(levels) + 1 for levels in tree.categories]
    word_counts = np.array([-(-size // 64) for size in sizes], dtype=np.int64)
    word_start = np.concatenate([[0], np.cumsum(word_counts)])
    domain = [_words(range(size)) for size in sizes if size]
    set_start = np.full(tree.n_nodes, -1, dtype=np.int64)
    sets, filled = [], 0
    asked = np.flatnonzero(tree.is_categorical)
    for feature in np.unique(tree.feature[asked]).tolist():
        nodes = asked[tree.feature[asked] == feature]
        width = int(word_counts[feature])
        lengths = tree.category_offsets[nodes + 1] - tree.category_offsets[nodes]
        row = np.repeat(np.arange(len(nodes)), lengths)
        place = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        marked = np.zeros((len(nodes), width * 64), dtype=bool)
        marked[row, tree.category_codes[tree.category_offsets[nodes][row] + place]] = True
        set_start[nodes] = filled + width * np.arange(len(nodes))
        filled += width * len(nodes)
        sets.append(np.packbits(marked, axis=1, bitorder="little").view(np.uint64).ravel())
    empty = [np.zeros(0, dtype=np.uint64)]
    return Walkable(
        children_left=tree.children_left,
        children_right=tree.children_right,
        feature=tree.feature,
        upper=tree.upper,
        missing_left=tree.missing_left,
        homogeneous=paths.homogeneous,
        parent=paths.parent,
        is_left=paths.is_left,
        set_start=set_start,
        set_words=np.concatenate(empty + sets),
        word_start=word_start,
        domain_words=np.concatenate(empty + domain),
        accepts_missing=tree.accepts_missing,
    )


def make_indexed_rows(tree: Tree, index: RowIndex, class_ids: NDArray[np.int64], weights: NDArray[Any]) -> IndexedRows:
    """The rows of an index as a walk reads them; classes and weights in the index's order."""
    column_of = np.full(tree.n_features, -1, dtype=np.int64)
    column_of[index.columns] = np.arange(len(index.columns))
    table_start, table = tree.category_table
    return IndexedRows(
        values=index.values.ravel(),
        n_columns=len(index.columns),
        column_of=column_of,
        first=index.first,
        last=index.last,
        class_ids=class_ids,
        weights=weights,
        table_start=table_start,
        table=table,
        kept=np.zeros(tree.depth + 1, dtype=np.int64),
        kept_column=np.zeros(tree.depth + 1, dtype=np.int64),
        kept_limit=np.zeros(tree.depth + 1),
    )


def make_box(tree: Tree) -> Box:
    """The whole domain as a box, with room for a walk to the tree's deepest leaf."""
    levels = tree.depth + 2
    sizes = [-(-(len(c) + 1) // 64) for c in tree.categories if c is not None]
    whole = [_words(range(len(c) + 1)) for c in tree.categories if c is not None]
    return Box(
        low=np.full(tree.n_features, -np.inf),
        high=np.full(tree.n_features, np.inf),
        missing=tree.accepts_missing.copy(),
        words=np.concatenate([np.zeros(0, dtype=np.uint64), *whole]),
        forks=np.zeros(levels, dtype=np.int64),
        saved_low=np.zeros(levels),
        saved_high=np.zeros(levels),
        saved_missing=np.zeros(levels, dtype=bool),
        saved_words=np.zeros(levels * max(sizes, default=0), dtype=np.uint64),
        width=max(sizes, default=0),
        later_low=np.zeros(levels),
        later_high=np.zeros(levels),
        later_missing=np.zeros(levels, dtype=bool),
        kept_low=np.full(tree.n_features, -np.inf),
        kept_high=np.full(tree.n_features, np.inf),
        kept_missing=tree.accepts_missing.copy(),
    )


def compiled_kernels() -> ModuleType:
    """The walking kernels, compiled."""
    return compile_module(walks)


def _words(codes: Any, n_words: int | None = None) -> NDArray[np.uint64]:
    listed = np.asarray(list(codes), dtype=np.int64)
    size = -(-(int(listed.max()) + 1) // 64) if n_words is None else n_words
    bits = np.zeros(size * 64, dtype=bool)
    bits[listed] = True
    return np.packbits(bits, bitorder="little").view(np.uint64)


def _as_list(value: Any) -> Any:
    if isinstance(value, IndexedRows):
        return IndexedRows(*map(_as_list, value))
    return value.tolist() if isinstance(value, np.ndarray) else value
