"""How the lines of a list are laid out: in sections, each with its rules and an "otherwise" of its own."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from secateur.tree.tree import Tree

__all__ = ["Layout"]


@dataclass(frozen=True, eq=False)
class Layout:
    """The sections of a list, and what its lines state, as arrays.

    Lines are the rules of the first section, its "otherwise", the rules of the second section, and so on.

    Attributes
    ----------
    nodes : ndarray of int64, shape (n_sections,)
        The node of the tree at which each section begins; the root where there is one.
    defaults : ndarray of int64, shape (n_sections,)
        Index of the class of each "otherwise".
    starts : ndarray of int64, shape (n_sections + 1,)
        Rules ``starts[i]`` to ``starts[i + 1]`` are those of section ``i``.
    shares : ndarray of float64, shape (n_lines,)
        The share of its class that each line states; NaN where it states none.
    windows : ndarray of float64, shape (n_lines, 2)
        The least and the largest share of the leaves that it may answer for; NaN where it states none.
    offsets, contained : ndarray of int64
        ``contained[offsets[i]:offsets[i + 1]]`` are the leaves that line ``i`` stands for, by place: those that lie in
        it; of "otherwise", those of its section that lie in no rule.
    answers : ndarray of int64, shape (n_rules,), or None
        Index of the class of each rule, where an edit gave one another class than that of its leaf.
    """

    nodes: NDArray[np.int64]
    defaults: NDArray[np.int64]
    starts: NDArray[np.int64]
    shares: NDArray[np.float64]
    windows: NDArray[np.float64]
    offsets: NDArray[np.int64]
    contained: NDArray[np.int64]
    answers: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        for array in (getattr(self, one.name) for one in fields(self)):
            if array is not None:
                array.flags.writeable = False

    @property
    def n_sections(self) -> int:
        """Number of sections."""
        return len(self.nodes)

    @cached_property
    def section_of_rule(self) -> NDArray[np.int64]:
        """The section of each rule."""
        return np.repeat(np.arange(self.n_sections), np.diff(self.starts))

    @cached_property
    def rule_lines(self) -> NDArray[np.int64]:
        """The line of each rule."""
        return np.arange(int(self.starts[-1])) + self.section_of_rule

    @cached_property
    def rest_lines(self) -> NDArray[np.int64]:
        """The line of each "otherwise"."""
        return self.starts[1:] + np.arange(self.n_sections)

    @cached_property
    def section_of_line(self) -> NDArray[np.int64]:
        """The section of each line."""
        return np.repeat(np.arange(self.n_sections), np.diff(self.starts) + 1)

    def find_sections(self, tree: Tree) -> NDArray[np.int64]:
        """Find the section of each leaf, by place."""
        first, last = tree.leaf_runs
        found = np.zeros(tree.n_leaves, dtype=np.int64)
        for section, node in enumerate(self.nodes.tolist()):
            found[first[node] : last[node]] = section
        return found

    def stands_for(self, line: int) -> NDArray[np.int64]:
        """The leaves that a line stands for, by place."""
        return self.contained[self.offsets[line] : self.offsets[line + 1]]
