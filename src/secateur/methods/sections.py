"""Cut a tree into sections, each with lines and an "otherwise" of its own, so that all are short together.

A *cut* is a set of nodes such that every path from the root meets exactly one. For each number of sections the cut with
the fewest conditions is found by dynamic programming over the first splits; a split between sections prints two.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from secateur.errors import ParameterError
from secateur.methods.covering import Cover, cover_leaves
from secateur.methods.leaf_masks import LeafMasks
from secateur.methods.leaf_values import LeafValues
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

__all__ = ["HEADING", "Cut", "Sections", "choose_cut", "count_sections", "find_cuts"]

FEW_SECTIONS, MOST_SECTIONS = 4, 8  # with "auto": as many as there are classes, between these
HEADING = 2  # conditions that a split between sections prints
LEAST_SAVING = 3  # printed conditions that a split must save with "auto"


class Sections(NamedTuple):
    """How many sections there may be, and how many conditions each split between them must save."""

    most: int
    saving: int


def count_sections(asked: Any, n_classes: int) -> Sections:
    """Check the number of sections that was asked for, or find one."""
    if isinstance(asked, str) and asked == "auto":
        return Sections(min(max(n_classes, FEW_SECTIONS), MOST_SECTIONS), LEAST_SAVING)
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
        raise ParameterError(f"Expected sections as 'auto' or a number from 1, found {asked!r}.")
    return Sections(asked, 0)


class Cut(NamedTuple):
    """Sections, by the node that each begins at, left to right, and what each of them writes."""

    nodes: tuple[int, ...]
    covers: tuple[Cover, ...]
    n_conditions: int  # headings among them
    n_lines: int

    @property
    def cost(self) -> tuple[int, int]:
        """Conditions, then lines."""
        return self.n_conditions, self.n_lines


def find_cuts(
    masks: LeafMasks, tree: Tree, paths: Paths, leaves: LeafValues, most: int, default: int | None = None
) -> dict[int, Cut]:
    """Find the shortest cut for each number of sections up to a most; the tree is one over possible rows."""
    offsets, links = paths.offsets.tolist(), paths.links.tolist()
    edges = [[masks.edge(link) for link in links[first:last]] for first, last in pairwise(offsets)]
    first_leaf, last_leaf = tree.leaf_runs

    def find(node: int, depth: int, most: int) -> dict[int, Cut]:
        places = range(int(first_leaf[node]), int(last_leaf[node]))
        cover = cover_leaves(masks, edges, depth, places, leaves, default)
        n_conditions, n_lines = cover.cost
        found = {1: Cut((node,), (cover,), n_conditions, n_lines + 1)}
        if most < 2 or not n_conditions:
            return found
        left, right = (
            find(int(children[node]), depth + 1, most - 1) for children in (tree.children_left, tree.children_right)
        )
        for i, one in left.items():
            for j, other in right.items():
                joined = Cut(
                    one.nodes + other.nodes,
                    one.covers + other.covers,
                    one.n_conditions + other.n_conditions + HEADING,
                    one.n_lines + other.n_lines,
                )
                if i + j <= most and (i + j not in found or joined.cost < found[i + j].cost):
                    found[i + j] = joined
        return found

    return find(0, 0, most)


def choose_cut(cuts: dict[int, Cut], *, saving: int) -> Cut:
    """Choose the shortest cut, where each split between sections must save so many conditions."""
    costs = {number: cut.n_conditions + saving * (number - 1) for number, cut in cuts.items()}
    return cuts[min(cuts, key=lambda number: (costs[number], -number if saving else number, cuts[number].n_lines))]
