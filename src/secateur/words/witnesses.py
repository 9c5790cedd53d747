"""Find what a kept condition keeps out: a leaf of another class that its rule would meet without it."""

from __future__ import annotations

from typing import Any

import numpy as np

from secateur.facts.possible_rows import find_feasible
from secateur.kernels.run_walks import run_witnesses
from secateur.methods import Deletions, Why
from secateur.tree.paths import Paths
from secateur.tree.regions import (
    Region,
    domain_of,
    meet_regions,
    pick_common_value,
    pick_value,
    read_links,
    regions_of_links,
)
from secateur.tree.tree import Label, Tree

Point = dict[str, "Label | None"]
"""Values of a row, by column name; None stands for missing."""

# Rules are searched this many at a time: few enough to show one rule fast, enough to be worth a call.
SEARCHED_RULES = 64

# Neighbouring rules have their witnesses in the same leaves, so the regions of leaves are kept for a while.
REMEMBERED_LEAVES = 4096


class Witnesses:
    """The witnesses of a rule set, found on demand."""

    def __init__(self, tree: Tree, paths: Paths, deletions: Deletions, left_out: str | None) -> None:
        self._tree, self._paths, self._deletions, self._left_out = tree, paths, deletions, left_out
        # `redundancy` looks at each feature alone, so implications do not count there.
        self._feasible = find_feasible(tree, linked=left_out != "feature")
        self._kept = ~deletions.deleted
        self._leaves = np.full(len(paths.links), -1, dtype=np.int64)
        self._is_searched = np.full(-(-paths.n_rules // SEARCHED_RULES), left_out is None)
        self._of_leaf: dict[int, tuple[dict[int, Region], dict[int, Label | None]]] = {}

    def __reduce__(self) -> tuple[type[Witnesses], tuple[Any, ...]]:  # what was found is found again
        return Witnesses, (self._tree, self._paths, self._deletions, self._left_out)

    def leaves(self, rule: int) -> list[int]:
        """Find the leaf of another class that each entry of a rule keeps out; -1 if it is deleted or keeps none out."""
        block = rule // SEARCHED_RULES
        if not self._is_searched[block]:
            self._search(block)
            self._is_searched[block] = True
        span = self._paths.entries(rule)
        made = self._deletions
        found = np.where(made.deleted[span] | (made.why[span] == Why.HEADING), -1, self._leaves[span])
        leaves: list[int] = np.where(made.why[span] == Why.KEEPS_OUT, made.node[span], found).tolist()
        return leaves

    def points(self, rule: int) -> list[Point | None]:
        """Find values of a row that reaches the witness of each entry and satisfies the rest of the rule.

        The entry's own feature is always among them, even if the leaf does not test it (an impossible rule keeps out
        everything).
        """
        walked, paths = self._feasible.tree, self._paths
        leaves = self.leaves(rule)
        found: list[Point | None] = [None] * len(leaves)
        if max(leaves, default=-1) < 0:
            return found
        span = paths.entries(rule)
        kept = np.flatnonzero(self._kept[span])
        tested = read_links(walked, paths, paths.links[span][kept])
        whole = meet_regions(tested)
        own_values = {feature: pick_value(walked, feature, region) for feature, region in whole.items()}
        for place, (feature, _), rest in zip(kept.tolist(), tested, self._without_each(tested), strict=True):
            if leaves[place] < 0:
                continue
            regions, values = self._regions_of_leaf(leaves[place])
            point = {**own_values, **values}
            for shared in whole.keys() & regions.keys():
                point[shared] = pick_common_value(walked, shared, whole[shared], regions[shared])
            point[feature] = pick_common_value(walked, feature, rest, regions.get(feature, rest))
            found[place] = self._name_values(point, rule, leaves[place])
        return found

    def _name_values(self, picked: dict[int, Label | None], rule: int, leaf: int) -> Point:
        """Give values by column name; of linked columns, only those that the rule or the leaf tests."""
        name = self._tree.feature_name
        if not self._feasible.bundles:
            return {name(feature): value for feature, value in picked.items()}
        paths = self._paths
        asked = set(self._tree.feature[paths.parent[paths.links[paths.entries(rule)]]].tolist())
        asked |= set(self._tree.feature[paths.parent[self._path(leaf)]].tolist())
        return {
            name(column): value
            for feature, state in picked.items()
            for column, value in self._feasible.read_state(feature, state).items()
            if column == feature or column in asked
        }

    def _search(self, block: int) -> None:
        """Find the witness leaves of a block of rules."""
        tree, paths, by_feature = self._feasible.tree, self._paths, self._left_out == "feature"
        rules = slice(block * SEARCHED_RULES, min((block + 1) * SEARCHED_RULES, paths.n_rules))
        span = slice(paths.offsets[rules.start], paths.offsets[rules.stop])
        self._leaves[span] = run_witnesses(tree, paths, ~self._kept, by_feature=by_feature, rules=rules)[span]

    def _without_each(self, tested: list[tuple[int, Region]]) -> list[Region]:
        """Find what the links allow the feature of each link if it, or every link of the feature, is left out."""
        rest = [domain_of(self._feasible.tree, feature) for feature, _ in tested]
        if self._left_out == "feature":
            return rest
        for order in (range(len(tested)), range(len(tested) - 1, -1, -1)):  # what is above each link, then below it
            passed: dict[int, Region] = {}
            for place in order:
                feature, region = tested[place]
                if feature in passed:
                    rest[place] = rest[place].meet(passed[feature])
                    region = region.meet(passed[feature])
                passed[feature] = region
        return rest

    def _regions_of_leaf(self, leaf: int) -> tuple[dict[int, Region], dict[int, Label | None]]:
        """Find what the path of a leaf allows each feature that it tests, and a value of each."""
        known = self._of_leaf.get(leaf)  # another thread may forget it at any time
        if known is None:
            if len(self._of_leaf) >= REMEMBERED_LEAVES:
                self._of_leaf.clear()
            walked = self._feasible.tree
            regions = regions_of_links(walked, self._paths, self._path(leaf))
            values = {feature: pick_value(walked, feature, region) for feature, region in regions.items()}
            known = self._of_leaf[leaf] = regions, values
        return known

    def _path(self, leaf: int) -> list[int]:
        """List the links from the root to a leaf."""
        links = []
        while leaf > 0:
            links.append(leaf)
            leaf = int(self._paths.parent[leaf])
        return links[::-1]
