"""The tests of a tree as masks of one bit for each row: one look at the rows makes them, the rest is bit arithmetic.

The rows of a rule are the intersection of its links' masks, so that counting a rule costs a few operations on 64 rows
at a time, without putting rows in any order.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.kernels.running import map_in_threads
from secateur.rows.rows import Rows
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

Masks = np.ndarray[Any, np.dtype[np.uint64]]

# Rows are compared a block at a time, so that its columns stay in the processor's cache while every split looks at
# them. A multiple of 64 keeps blocks on the boundaries of words.
BLOCK_ROWS = 1 << 15
LIMITS_AT_ONCE = 64  # a column of a block is compared with so many limits at a time
MASK_BYTES = 1 << 26  # masks of all links are made for at most so many bytes at a time,
LEAST_BYTES, LEAST_ROWS = 1 << 22, 1 << 13  # and of few rows, for so many at least
MOST_CLASS_MASKS = 64  # with more classes, rows are looked up one by one


def pack_links(
    tree: Tree,
    rows: Rows,
    nodes: NDArray[np.int64] | None = None,
    span: tuple[int, int] | None = None,
    room: Masks | None = None,
) -> Masks:
    """Make the masks of all links over checked rows, or over some of them, shape (n_nodes, n_words).

    Bit ``r`` of mask ``b`` says whether row ``r`` satisfies the link into node ``b``. The root's mask holds every row.
    ``nodes`` are the splits whose links are asked, if not all are. The masks are made in ``room`` if there is some.
    """
    start, stop = (0, rows.n_rows) if span is None else span
    n_words = -(-(stop - start) // 64)
    masks = np.zeros((tree.n_nodes, n_words), dtype=np.uint64) if room is None else room[:, :n_words]
    if room is not None:
        masks[:] = 0
    masks[0] = pack_bits(np.ones(stop - start, dtype=bool))
    inner = np.flatnonzero(~tree.is_leaf) if nodes is None else nodes
    if not len(inner):
        return masks
    features, column_of = np.unique(tree.feature[inner], return_inverse=True)
    columns = [_Column(tree, inner[column_of == column]) for column in range(len(features))]
    lefts = masks.view(np.uint8)

    def fill(first: int) -> None:
        last = min(first + BLOCK_ROWS, stop)
        block = rows.block(first, last, features)
        place = slice((first - start) // 8, (first - start) // 8 + -(-(last - first) // 8))
        for column, offset in zip(columns, (block.origin + block.columns).tolist(), strict=True):
            end = offset + (block.n_rows - 1) * block.step + 1
            column.pack(np.ascontiguousarray(block.values[offset : end : block.step]), lefts[:, place])

    for _ in map_in_threads(fill, range(start, stop, BLOCK_ROWS)):
        pass
    for some in np.array_split(inner, -(-len(inner) // LIMITS_AT_ONCE)):  # a second copy of all would take as much
        masks[tree.children_right[some]] = masks[0] & ~masks[tree.children_left[some]]
    return masks


class _Column:
    """The tests of a column: limits of numbers, each once, and sets of codes."""

    def __init__(self, tree: Tree, nodes: NDArray[np.int64]) -> None:
        start, self.table = tree.category_table
        is_number = start[nodes] < 0
        self.start = start[nodes[~is_number]].tolist()
        self.limits, place = np.unique(tree.upper[nodes[is_number]].astype(tree.dtype), return_inverse=True)
        left = tree.children_left
        self.number_links, self.set_links = left[nodes[is_number]], left[nodes[~is_number]]
        self.missing_links = left[nodes[tree.missing_left[nodes]]]
        self.place = place

    def pack(self, values: NDArray[Any], lefts: NDArray[np.uint8]) -> None:
        """Pack which values go left at each test, to the masks of the links there."""
        for first in range(0, len(self.limits), LIMITS_AT_ONCE):
            some = slice(first, first + LIMITS_AT_ONCE)
            packed = np.packbits(values <= self.limits[some, None], axis=1, bitorder="little")
            own = (self.place >= first) & (self.place < first + LIMITS_AT_ONCE)
            lefts[self.number_links[own]] = packed[self.place[own] - first]
        if len(self.set_links) or len(self.missing_links):
            missing = np.isnan(values)
            codes = np.where(missing, 0, values).astype(np.int64) if len(self.set_links) else None
            for link, start in zip(self.set_links.tolist(), self.start, strict=True):
                lefts[link] = np.packbits(self.table[start + codes] & ~missing, bitorder="little")
            lefts[self.missing_links] |= np.packbits(missing, bitorder="little")


def mask_blocks(tree: Tree, rows: Rows, nodes: NDArray[np.int64] | None = None) -> Iterator[tuple[slice, Masks]]:
    """Mask the rows of every link, or of those of some splits, in blocks whose masks take at most MASK_BYTES.

    The masks of a block are overwritten by the next.
    """
    n_bytes = max(LEAST_BYTES, 2 * rows.n_rows * rows.n_features)
    most, size = (limit // tree.n_nodes * 8 // 64 * 64 for limit in (MASK_BYTES, n_bytes))
    size = max(64, min(most, max(LEAST_ROWS, size)))
    tests = tree.feature, tree.threshold, tree.missing_left, tree.categories
    if all(one is other for one, other in zip(rows.packed.get("tests", [None] * len(tests)), tests, strict=True)):
        yield slice(0, rows.n_rows), rows.packed["masks"]
        return
    if nodes is None and rows.n_rows <= size:  # few bytes: who asks again gets the same
        rows.packed.update(masks=pack_links(tree, rows), tests=tests)
        yield slice(0, rows.n_rows), rows.packed["masks"]
        return
    if not rows.n_rows:
        return
    n_words = -(-rows.n_rows // (64 * -(-rows.n_rows // size)))  # blocks of one size take least
    room, size = np.zeros((tree.n_nodes, n_words), dtype=np.uint64), 64 * n_words
    for first in range(0, rows.n_rows, size):
        last = min(first + size, rows.n_rows)
        yield slice(first, last), pack_links(tree, rows, nodes, (first, last), room)


def mask_leaves(tree: Tree, masks: Masks) -> Iterator[Masks]:
    """Mask the rows of one leaf after another, from left to right, from the masks of all links."""
    is_leaf, left, right = tree.is_leaf.tolist(), tree.children_left.tolist(), tree.children_right.tolist()
    waiting = [(0, masks[0])]
    while waiting:
        node, passing = waiting.pop()
        if is_leaf[node]:
            yield passing
        else:
            waiting += [(child, passing & masks[child]) for child in (right[node], left[node])]


def rows_in(masks: Masks, links: NDArray[np.int32]) -> Masks:
    """Mask the rows that satisfy all the links; every row if there are none."""
    found: Masks = masks[links[0] if len(links) else 0].copy()
    for link in links[1:].tolist():
        found &= masks[link]
    return found


def rows_of_rule(paths: Paths, deleted: NDArray[np.bool_], rule: int, masks: Masks) -> Masks:
    """Mask the rows that a rule covers."""
    span = paths.entries(rule)
    return rows_in(masks, paths.links[span][~deleted[span]])


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


def list_rows(mask: Masks) -> NDArray[np.int64]:
    """List the rows of a mask; words without rows cost next to nothing."""
    words = mask.nonzero()[0]
    place = np.unpackbits(mask[words].view(np.uint8), bitorder="little").nonzero()[0]
    rows: NDArray[np.int64] = (words[place >> 6] << 6) + (place & 63)
    return rows


def number_rows(parts: Iterable[tuple[int, Masks]], n_parts: int, n_rows: int) -> NDArray[np.int64]:
    """Find the number of the part that holds each row, -1 for none; no two parts share a row.

    The bits of the numbers are masks themselves, so that a part costs what its number has bits, not what it has rows.
    """
    planes = np.zeros((max(n_parts.bit_length(), 1), -(-n_rows // 64)), dtype=np.uint64)
    for number, part in parts:
        for bit in range((number + 1).bit_length()):
            if (number + 1) >> bit & 1:
                planes[bit] |= part
    numbers = np.zeros(0, dtype=np.int64)
    for first in range(0, len(planes), 8):  # a byte of the numbers at a time
        octet = unpack_bits(planes[first], n_rows).view(np.uint8)
        for bit, plane in enumerate(planes[first + 1 : first + 8], 1):
            octet |= unpack_bits(plane, n_rows).view(np.uint8) << np.uint8(bit)
        numbers = numbers + (octet.astype(np.int64) << first) if first else octet.astype(np.int64)
    numbers -= 1
    return numbers


class ClassMasks:
    """The classes of some rows, and their weights if they have any, to count the rows of masks by class."""

    def __init__(self, class_ids: NDArray[np.int64], weights: NDArray[np.float64] | None, n_classes: int) -> None:
        self.class_ids, self.weights, self.n_classes = class_ids, weights, n_classes
        self.masks: Masks | None = None
        if weights is None and n_classes <= MOST_CLASS_MASKS:
            self.masks = np.stack([pack_bits(class_ids == class_id) for class_id in range(n_classes)])

    def add(self, mask: Masks, counts: NDArray[Any]) -> None:
        """Add the (weighted) rows of a mask to counts by class; weights are added row after row."""
        if self.masks is not None and self.n_classes > 1:
            counts += np.bitwise_count(mask & self.masks).sum(axis=1, dtype=np.int64)
        elif self.masks is not None:
            counts += np.bitwise_count(mask).sum(dtype=np.int64)
        else:
            self.add_rows(list_rows(mask), 0, counts)

    def add_rows(self, rows: NDArray[np.int64], cells: NDArray[np.int64] | int, counts: NDArray[Any]) -> None:
        """Add listed rows to counts of a cell each, by class; ``counts`` lie in one piece."""
        places = cells * self.n_classes + self.class_ids[rows]
        if self.weights is None:
            counts.reshape(-1)[:] += np.bincount(places, minlength=counts.size)
        else:  # one after another, so that sums do not depend on where a block ends
            np.add.at(counts.reshape(-1), places, self.weights[rows])
