"""Ask below each leaf of a tree what it takes to know the line of a list: one walk of a row finds leaf and line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.methods.leaf_masks import LeafMasks, list_places, make_mask
from secateur.rows.rows import Routes

if TYPE_CHECKING:
    from secateur.rules.rules import Rules

__all__ = ["MOST_LEAVES", "LineRoutes", "find_open", "grow_routes"]

MOST_LEAVES = 2_000  # of more, masks of leaves take longer than masks of rows
MOST_NODES = 100  # times those of the tree


class LineRoutes(NamedTuple):
    """Tests that lead a row to its leaf and on to its line; branches that differ in nothing any more meet again."""

    routes: Routes
    leaf: NDArray[np.int64]  # place of the leaf, by the node where a row ends; -1 elsewhere
    line: NDArray[np.int64]  # the line that decides it


def grow_routes(rules: Rules) -> LineRoutes | None:
    """Find the tests; None for a list of so many lines and leaves that looking at lines one by one takes less.

    A leaf that lies in a line, or meets none, needs no test. Where a line holds for a part of a leaf, the conditions
    that the leaf leaves open are asked; a row that fails one goes on to the next line.
    """
    tree, paths, layout = rules.tree, rules.paths, rules.layout
    assert layout is not None
    if paths.n_rules > MOST_LEAVES:
        return None
    decided_by, asked = find_open(rules)
    test = np.where(tree.is_leaf, -1, np.arange(tree.n_nodes)).tolist()
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    leaf_of, line_of = [-1] * tree.n_nodes, [-1] * tree.n_nodes
    parent, is_left = paths.parent.tolist(), paths.is_left.tolist()

    def add(*node: int) -> int:
        for column, value in zip((test, left, right, leaf_of, line_of), node, strict=True):
            column.append(value)
        return len(test) - 1

    for place, node in enumerate(paths.leaf_ids.tolist()):
        head = (-1, -1, -1, place, decided_by[place])
        for line, links in reversed(asked.get(place, [])):
            fails, holds = add(*head), (-1, -1, -1, place, line)
            for link in reversed(links):
                then = add(*holds)
                holds = (parent[link], *((then, fails) if is_left[link] else (fails, then)), -1, -1)
            head = holds
        test[node], left[node], right[node], leaf_of[node], line_of[node] = head
        if len(test) > MOST_NODES * tree.n_nodes:
            return None
    source = np.array(test)
    is_end, starts = source < 0, tree.category_table[0]
    routes = Routes(
        np.array(left),
        np.array(right),
        np.where(is_end, -1, tree.feature[source]),
        tree.upper[source],
        tree.missing_left[source],
        np.where(is_end, -1, starts[source]),
        tree.category_table[1],
    )
    return LineRoutes(routes, np.array(leaf_of), np.array(line_of))


def find_open(rules: Rules) -> tuple[list[int], dict[int, list[tuple[int, list[int]]]]]:
    """Find the line of each leaf's rows that no line before it takes, and the lines before it, with what they ask."""
    tree, paths, layout = rules.tree, rules.paths, rules.layout
    assert layout is not None
    masks, (first, last) = LeafMasks(tree, paths), tree.leaf_runs
    decided_by = layout.rest_lines[rules.section_of_leaf].tolist()
    asked: dict[int, list[tuple[int, list[int]]]] = {}
    inside_of: dict[int, int] = {}
    sections = zip(layout.nodes.tolist(), layout.starts[:-1].tolist(), layout.starts[1:].tolist(), strict=True)
    for section, (node, begin, end) in enumerate(sections):
        undecided = make_mask(range(int(first[node]), int(last[node])))
        for rule in range(begin, end):
            span = paths.entries(int(rules.leaves[rule]))
            links = paths.links[span][~rules.deleted[span]].tolist()
            for link in links:
                if link not in inside_of:
                    inside_of[link] = masks.inside([masks.edge(link)])
            met = masks.met_by(masks.edge(link) for link in links) & undecided
            inside = met
            for link in links:
                inside &= inside_of[link]
            for place in list_places(met & ~inside):
                still = [link for link in links if not inside_of[link] >> place & 1]
                asked.setdefault(place, []).append((rule + section, still))
            for place in list_places(inside):
                decided_by[place] = rule + section
            undecided &= ~inside
    return decided_by, asked
