"""A tree as plain lists, which Python reads several times faster than arrays: the slow versions are no straw men."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from secateur import Tree

__all__ = ["Deletion", "PlainTree"]

Deletion = dict[int, list[int]]


class PlainTree:
    """Children, parents, tests and classes of nodes, and what can be read off by walking."""

    def __init__(self, tree: Tree) -> None:
        self.left: list[int] = tree.children_left.tolist()
        self.right: list[int] = tree.children_right.tolist()
        self.feature: list[int] = tree.feature.tolist()
        self.limit: list[float] = tree.upper.tolist()  # a number goes left when it is not above this one
        self.label: list[int] = tree.leaf_class.tolist()
        self.parent = [-1] * len(self.left)
        self.leaves: list[int] = []
        stack = [0]
        while stack:
            node = stack.pop()
            if self.left[node] < 0:
                self.leaves.append(node)
                continue
            for child in (self.right[node], self.left[node]):  # the left one is popped first
                self.parent[child] = node
                stack.append(child)

    def path(self, leaf: int, without: Collection[int] = ()) -> list[int]:
        """Links from the root to a leaf, some left out."""
        links = []
        while leaf != 0:
            links.append(leaf)
            leaf = self.parent[leaf]
        return [link for link in reversed(links) if link not in without]

    def other_child(self, link: int) -> int:
        """The sibling of the node that a link leads to."""
        parent = self.parent[link]
        return self.right[parent] if link == self.left[parent] else self.left[parent]

    def labels_below(self, node: int) -> set[int]:
        """The classes that the leaves below a node predict."""
        found, stack = set(), [node]
        while stack:
            node = stack.pop()
            if self.left[node] < 0:
                found.add(self.label[node])
            else:
                stack += [self.left[node], self.right[node]]
        return found
