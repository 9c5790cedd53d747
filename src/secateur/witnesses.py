"""What a kept condition keeps out: a leaf of another class that its rule would meet without it, and a point there."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from secateur.compiled import run_witnesses
from secateur.methods import Why
from secateur.regions import Region, domain_of, pick_value, regions_of_links

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.annotation import Annotation
    from secateur.methods import Deletions
    from secateur.tree import Label, Tree

__all__ = ["Witnesses"]


class Witnesses:
    """The witnesses of a rule set, found when they are first asked for.

    Parameters
    ----------
    tree : Tree
    notes : Annotation
    deletions : Deletions
    left_out : {"link", "feature"} or None
        What is left out of a rule to find its witness; None where rules may meet leaves of other classes anyway.
    """

    def __init__(self, tree: Tree, notes: Annotation, deletions: Deletions, left_out: str | None) -> None:
        self._tree, self._notes, self._left_out = tree, notes, left_out
        # `layered` judges its further deletions by rows: witnesses are those of the exactly shortened rule.
        judged = np.isin(deletions.why, (Why.RELIABILITY_JOINT, Why.RELIABILITY_STEP))
        self._kept = ~np.logical_and(deletions.deleted, ~judged)
        self._deleted = deletions.deleted
        self._leaf_regions: dict[int, dict[int, Region]] = {}
        self._rule_regions: tuple[int, dict[int, Region]] = (-1, {})

    def leaf(self, entry: int) -> int:
        """The leaf of another class that a kept entry keeps out, else -1."""
        return -1 if self._deleted[entry] else int(self._leaves[entry])

    def point(self, entry: int) -> dict[str, Label | None]:
        """A row, as far as it matters, that reaches the witness leaf and satisfies the rest of the rule.

        The entry's own feature is always in it, even where the leaf does not test it (an impossible rule keeps out
        everything).
        """
        tree, notes = self._tree, self._notes
        own = int(tree.feature[notes.parent[notes.links[entry]]])
        rule = {**self._regions_of_rule(int(notes.rule[entry])), own: self._rest_of_feature(entry, own)}
        leaf = self._regions_of_leaf(self.leaf(entry))
        point = {}
        for feature in dict.fromkeys([*rule, *leaf]):
            domain = domain_of(tree, feature)
            region = rule.get(feature, domain).meet(leaf.get(feature, domain))
            point[tree.feature_name(feature)] = pick_value(tree, feature, region)
        return point

    @cached_property
    def _leaves(self) -> NDArray[np.int64]:
        if self._left_out is None:
            return np.full(len(self._notes.links), -1, dtype=np.int64)
        return run_witnesses(self._tree, self._notes, ~self._kept, by_feature=self._left_out == "feature")

    def _regions_of_rule(self, rule: int) -> dict[int, Region]:
        if self._rule_regions[0] != rule:
            span = self._notes.entries(rule)
            links = self._notes.links[span][self._kept[span]].tolist()
            self._rule_regions = (rule, regions_of_links(self._tree, self._notes, links))
        return self._rule_regions[1]

    def _rest_of_feature(self, entry: int, feature: int) -> Region:
        """What the rule allows the entry's feature when the entry, or all of the feature, is left out."""
        domain = domain_of(self._tree, feature)
        if self._left_out == "feature":
            return domain
        span = self._notes.entries(int(self._notes.rule[entry]))
        links = self._notes.links[span]
        same = self._tree.feature[self._notes.parent[links]] == feature
        rest = links[self._kept[span] & same & (links != self._notes.links[entry])].tolist()
        return regions_of_links(self._tree, self._notes, rest).get(feature, domain)

    def _regions_of_leaf(self, leaf: int) -> dict[int, Region]:
        if leaf not in self._leaf_regions:
            place = int(np.flatnonzero(self._notes.leaf_ids == leaf)[0])
            links = self._notes.links[self._notes.entries(place)].tolist()
            self._leaf_regions[leaf] = regions_of_links(self._tree, self._notes, links)
        return self._leaf_regions[leaf]
