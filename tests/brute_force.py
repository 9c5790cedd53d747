"""Every kind of row that a tree can tell apart, and what rules say of each: slow, obvious, and independent.

The rows of a tree are listed one by one. A set of rows is a Python whole number, bit ``i`` of which stands for row
``i``; a rule covers the rows that are in the sets of all its links. Only the arrays of the ``Tree`` are shared with the
library, and where a value goes at a split is asked of ``oracles.goes_left``.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import oracles
import told_trees

from secateur.tree.tree import Tree


def every_kind_of_row(tree: Tree, limit: int, seed: int = 0) -> list[tuple[float, ...]]:
    """A row of every kind that splits and facts tell apart, or ``limit`` of them at random where there are more."""
    values = [told_trees.cell_values(tree, feature) for feature in range(tree.n_features)]
    if math.prod(map(len, values)) <= limit:
        return list(itertools.product(*values))
    draw = random.Random(seed)
    return [tuple(draw.choice(column) for column in values) for _ in range(limit)]


class ListedRows:
    """Rows of a tree, and which of them each link lets through."""

    def __init__(self, tree: Tree, rows: Any) -> None:
        self.tree = tree
        self.rows = [tuple(map(float, row)) for row in rows]
        self.all = (1 << len(self.rows)) - 1

    @cached_property
    def passing(self) -> dict[int, int]:
        """The rows that satisfy the condition of each link."""
        tree, found = self.tree, {}
        for node in range(tree.n_nodes):
            if tree.children_left[node] < 0:
                continue
            column = [row[tree.feature[node]] for row in self.rows]
            goes = {value: oracles.goes_left(tree, node, value) for value in column if value == value}
            missing = oracles.goes_left(tree, node, math.nan)
            left = as_bits([goes[value] if value == value else missing for value in column])
            found[int(tree.children_left[node])] = left
            found[int(tree.children_right[node])] = self.all & ~left
        return found

    @cached_property
    def paths(self) -> dict[int, list[int]]:
        """The links of each leaf, root to leaf, in source order of the leaves."""
        return {leaf: oracles.path(self.tree, leaf) for leaf in oracles.leaves(self.tree)}

    @cached_property
    def of_class(self) -> list[int]:
        """The rows to which the tree gives each class."""
        found = [0] * self.tree.n_classes
        for leaf, links in self.paths.items():
            found[self.tree.leaf_class[leaf]] |= self.covered(links)
        return found

    @cached_property
    def possible(self) -> int:
        """The rows that satisfy the facts that the tree knows."""
        return as_bits([told_trees.is_possible(self.tree, self.tree.facts, row) for row in self.rows])

    def covered(self, links: Iterable[int]) -> int:
        """The rows that satisfy all of some links."""
        rows = self.all
        for link in links:
            rows &= self.passing[link]
        return rows

    def implies(self, links: Iterable[int], c: int) -> bool:
        """Whether the tree gives all possible rows of a rule one class."""
        return not self.covered(links) & self.possible & ~self.of_class[c]


def as_bits(flags: Iterable[bool]) -> int:
    """A set of rows from a flag for each."""
    packed = np.packbits(np.fromiter(flags, dtype=bool), bitorder="little")
    return int.from_bytes(packed.tobytes(), "little")


def as_flags(rows: int, size: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """A flag for each row from a set of them."""
    packed = np.frombuffer(rows.to_bytes((size + 7) // 8 or 1, "little"), dtype=np.uint8)
    return np.unpackbits(packed, bitorder="little")[:size].astype(bool)
