"""Nodes as adapters read them, one record each, and the Tree that they make."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from secateur.errors import FormatError
from secateur.tree.tree import Tree, make_tree


class Node(NamedTuple):
    """One node: a leaf has a class or value, a split has children, a column and a threshold or codes that go left."""

    left: int = -1
    right: int = -1
    feature: int = -1
    threshold: float = math.nan
    missing_left: bool = False
    codes: Sequence[int] | None = None
    leaf_class: int = -1
    counts: Any = None
    value: float = math.nan  # of a leaf of a regression tree

    def with_child(self, side: str, child: int) -> Node:
        """Return the node with one of its children, "left" or "right"."""
        return self._replace(left=child) if side == "left" else self._replace(right=child)


def make_from_nodes(nodes: Sequence[Node], **tree: Any) -> Tree:
    """Make a checked tree of nodes, listed by id; the other arguments are those of ``make_tree``."""
    left, right, feature, threshold, missing_left, codes, leaf_class, counts, values = zip(*nodes, strict=True)
    if any(value == value for value in values):
        tree = {**tree, "values": values}
    return make_tree(
        children_left=left,
        children_right=right,
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        left_categories={place: some for place, some in enumerate(codes) if some is not None},
        leaf_class=leaf_class,
        counts=None if any(some is None for some in counts) else counts,
        **tree,
    )


def grow_nodes(root: Any, read: Callable[[Any], tuple[Node, Mapping[str, Any]]]) -> list[Node]:
    """Number nested nodes in preorder; ``read`` gives a node and its children by side, in the order to number them."""
    nodes: list[Node] = []
    stack: list[tuple[Any, int, str]] = [(root, -1, "")]
    while stack:
        source, parent, side = stack.pop()
        if parent >= 0:
            nodes[parent] = nodes[parent].with_child(side, len(nodes))
        node, children = read(source)
        stack += [(child, len(nodes), side) for side, child in reversed(list(children.items()))]
        nodes.append(node)
    return nodes


def order_nodes(
    root: int, children_of: Callable[[int], Sequence[int]], what: str, n_nodes: int | None = None
) -> list[int]:
    """List the nodes below a root in the order of their new ids.

    They keep the order of their numbers if every child comes after its parent and, where ``n_nodes`` is given, all of
    0, 1, … are reached. Else they come in preorder.
    """
    found: list[int] = []
    seen: set[int] = set()
    is_ordered = True
    stack = [root]
    while stack:
        node = stack.pop()
        if node in seen:
            raise FormatError(f"A node of {what} is the child of two nodes.")
        seen.add(node)
        found.append(node)
        children = children_of(node)
        if children:
            is_ordered &= min(children) > node
            stack += reversed(children)
    is_whole = n_nodes is None or sorted(found) == list(range(n_nodes))
    return sorted(found) if is_ordered and is_whole else found


def after_splits(child: int, n_splits: int) -> int:
    """Give leaf ``i``, written as child ``-1 - i``, an id after those of the splits."""
    return child if child >= 0 else n_splits - 1 - child
