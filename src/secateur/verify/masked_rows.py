"""Rows as masks: a bit for each row and split, so that what holds of rows is counted 64 at a time."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.tree.tree import Tree
from secateur.verify.boxes import Paths, left_codes_of

Mask = np.ndarray[Any, np.dtype[np.uint64]]

BLOCK_ROWS = 1 << 16
BLOCK_BYTES = 1 << 25  # of the masks of all nodes: of a large tree, fewer rows are looked at together
MOST_MEMBERS = 64  # of more classes, rows are counted one by one


class MaskedRows:
    """A block of rows: which of them go left at each split."""

    def __init__(self, tree: Tree, paths: Paths, part: Sequence[Any]) -> None:
        self.tree, self.paths = tree, paths
        matrix, class_ids, self.weights, self.targets = part
        self.n_rows, self.inner = len(matrix), np.flatnonzero(tree.children_left >= 0)
        self._lefts = np.empty((len(self.inner), -(-self.n_rows // 64)), dtype=np.uint64)
        for feature in np.unique(tree.feature[self.inner]).tolist():
            self._mask_column(np.ascontiguousarray(matrix[:, feature]), feature)
        # Masks of few classes take a small part of what numbers take.
        is_few = self.weights is None and tree.n_classes <= MOST_MEMBERS
        self._class_ids: Any = None if is_few else class_ids
        self._members = np.stack([pack(class_ids == one) for one in range(tree.n_classes)]) if is_few else None

    def _mask_column(self, values: NDArray[Any], feature: int) -> None:
        missing = np.isnan(values)
        has_missing, has_codes = bool(missing.any()), self.tree.categories[feature] is not None
        codes = np.where(missing, 0, values).astype(np.int64) if has_codes else None
        for place in np.flatnonzero(self.tree.feature[self.inner] == feature).tolist():
            node = int(self.inner[place])
            limit = values.dtype.type(self.paths.limit[node])
            left = values <= limit if codes is None else left_codes_of(self.tree, node)[codes]
            self._lefts[place] = pack(np.where(missing, self.tree.missing_left[node], left) if has_missing else left)

    @property
    def n_bytes(self) -> int:
        """Bytes that are held once what can be found again is forgotten."""
        held = self._lefts, self._members, self._class_ids, self.weights, self.targets
        return sum(getattr(one, "nbytes", 0) for one in held)

    def forget(self) -> None:
        """Forget what can be found again."""
        for name in ("links", "passing", "leaf_places"):
            vars(self).pop(name, None)

    @cached_property
    def links(self) -> Mask:
        """The rows that satisfy the link into each node; all of the root's."""
        links = np.empty((self.tree.n_nodes, self._lefts.shape[1]), dtype=np.uint64)
        links[0] = pack(np.ones(self.n_rows, dtype=bool))
        links[self.tree.children_left[self.inner]] = self._lefts
        links[self.tree.children_right[self.inner]] = ~self._lefts & links[0]
        return links

    @cached_property
    def passing(self) -> Mask:
        """The rows that pass each node."""
        passing = self.links.copy()
        for node, parent in enumerate(self.paths.parent.tolist()):  # which has the smaller id
            if node:
                passing[node] &= passing[parent]
        return passing

    def satisfying(
        self, kept: NDArray[np.bool_], rules: NDArray[np.int64], paths: Paths | None = None
    ) -> Iterator[tuple[int, Mask]]:
        """Mask the rows that satisfy the kept edges of each of some rules."""
        paths = paths or self.paths
        for rule in rules.tolist():
            own = slice(int(paths.offsets[rule]), int(paths.offsets[rule + 1]))
            path, is_kept = paths.links[own], kept[own]
            # All that passes the node where the first of them is gone satisfies those above it.
            first = len(path) if is_kept.all() else int(is_kept.argmin())
            found = self.passing[path[first - 1] if first else 0].copy()
            for link in path[first:][is_kept[first:]].tolist():
                found &= self.links[link]
            yield rule, found

    @cached_property
    def leaf_places(self) -> NDArray[np.int64]:
        """The place, among the leaves from left to right, of the leaf that each row reaches."""
        place = np.empty(self.n_rows, dtype=np.int64)
        for number, leaf in enumerate(self.paths.leaves.tolist()):
            place[list_rows(self.passing[leaf])] = number
        return place

    def count(self, mask: Mask) -> NDArray[np.float64]:
        """Count the rows of a mask, or add up their weights, by class."""
        if self._members is not None:
            return np.bitwise_count(self._members & mask).sum(axis=1, dtype=np.float64)  # type: ignore[no-any-return]
        rows = list_rows(mask)
        weights = None if self.weights is None else self.weights[rows]
        return np.bincount(self._class_ids[rows], weights, self.tree.n_classes).astype(np.float64)

    def add_squares(self, mask: Mask) -> float:
        """Add up the squares of the weights of the rows of a mask."""
        rows = list_rows(mask)
        return float(len(rows) if self.weights is None else (self.weights[rows] ** 2).sum())

    def add_powers(self, mask: Mask, value: float) -> NDArray[np.float64]:
        """Add up the weights of the rows of a mask, times their targets less a value to the powers 0, 1 and 2."""
        rows = list_rows(mask)
        above, heavy = self.targets[rows] - value, 1.0 if self.weights is None else self.weights[rows]
        return np.array([(heavy * above**power).sum() for power in range(3)])


def split_rows(tree: Tree, paths: Paths, part: tuple[Any, ...]) -> Iterator[MaskedRows]:
    """Mask rows, with their classes, weights and targets, a block at a time."""
    size = min(BLOCK_ROWS, max(1, BLOCK_BYTES // (8 * tree.n_nodes)) * 64)
    for first in range(0, len(part[0]), size):
        yield MaskedRows(tree, paths, [None if one is None else one[first : first + size] for one in part])


def pack(flags: NDArray[np.bool_]) -> Mask:
    """Pack flags to whole words, the last one padded with zeros."""
    words = np.zeros(-(-len(flags) // 64), dtype=np.uint64)
    words.view(np.uint8)[: -(-len(flags) // 8)] = np.packbits(flags, bitorder="little")
    return words


def list_rows(mask: Mask) -> NDArray[np.int64]:
    """List the rows of a mask."""
    words = np.flatnonzero(mask)
    places = np.flatnonzero(np.unpackbits(mask[words].view(np.uint8), bitorder="little"))
    return (words[places >> 6] << 6) + (places & 63)  # type: ignore[no-any-return]
