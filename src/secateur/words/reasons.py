"""Say why each condition was deleted or kept, in words that a person can check.

Methods leave codes and numbers (:class:`secateur.methods.Why`); the words are made here, on demand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secateur.facts.possible_rows import find_feasible
from secateur.kernels.running import run_witnesses
from secateur.methods import Deletions, Why
from secateur.tree.columns import show_text
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
from secateur.tree.shares import SLACK, none_if_nan
from secateur.tree.tree import Label, Tree
from secateur.words.conditions import read_change, read_link, read_share, read_share_beside, read_value
from secateur.words.targets import read_amount, read_limit

KINDS = {int(why): why.kind for why in Why}
RESTING = (Why.NO_FOREIGN_LEAF.kind, Why.FEATURE_REDUNDANT.kind)
"""Kinds of deletions that may depend on facts."""
DELETIONS = frozenset(int(why) for why in Why if why.is_deletion)

# The sentence of each reason, over the terms of a reason and the method's settings.
WORDS: dict[int, str] = {
    Why.SIBLING_LEAF: "the other branch is leaf {node}, which predicts {name} too",
    Why.NO_FOREIGN_LEAF: "without it the tree still says {name} wherever the rule holds",
    Why.FEATURE_REDUNDANT: ("without any condition on {feature} the tree still says {name} wherever the rule holds"),
    Why.FINITE_DOMAIN: (
        "without the conditions that point away from {name}, all {rows} listed rows that the rule covers are {name}"
    ),
    Why.MONOTONE: "it only cuts off values that favour {name}, by the signs in which the tree is monotone",
    Why.RELIABILITY_JOINT: (
        "without all conditions that point away from {name} the rule's reliability goes {moved_from_leaf}, within "
        "{tolerated} points"
    ),
    Why.RELIABILITY_STEP: (
        "without it, and without what was deleted before it, the rule's reliability goes {moved_from_leaf}, within "
        "{tolerated} points"
    ),
    Why.CERTAINTY_KEPT: "certainty does not fall: it goes {moved}",
    Why.NOT_SIGNIFICANT: "certainty goes {moved}, not significantly (Fisher p = {number:.3g} > {alpha:g})",
    Why.WITHIN_BUDGET: (
        "without it the rows in conflict go {moved} of training and shuffled rows together, and {share} of the "
        "training rows are new there: within the {conflict_share} that may be"
    ),
    Why.PAID: (
        "without it the rows that are off go {moved} of training and shuffled rows together (of the training rows "
        "alone, {change}): within the budget of {budget_share}"
    ),
    Why.WITHIN_WINDOW: "without it every leaf of the section that the line meets still says {name}{window}",
    Why.STRUCK: "an edit struck it",
    Why.UNTOUCHED: "the method deletes nothing",
    Why.NOT_CERTIFIED: "the method has no certificate for it, though no leaf of another class would be met",
    Why.MATCHED: "it points to {name}, whose share rises by {points} points",
    Why.NEUTRAL: "it points to no class: the share of {name} does not change",
    Why.INSIDE_H: (
        "all leaves below node {node} predict {name}, and it sets apart a part where the share of {name} is {points} "
        "points lower"
    ),
    Why.RELIABILITY_MOVES: (
        "without it, and without what was deleted before it, the rule's reliability would go {moved_from_leaf}, more "
        "than {tolerated} points away"
    ),
    Why.DOMAIN_REFUTES: (
        "the conditions that point away from {name} cannot go together: listed row {node} would be covered, and is not "
        "{name}"
    ),
    Why.DIRECTION_REFUTES: (
        "the conditions that point away from {name} cannot go together: the monotone signs do not cover {other}"
    ),
    Why.SIGNIFICANT: "certainty would go {moved}, significantly (Fisher p = {number:.3g})",
    Why.NO_ROWS: "no row satisfies this rule, so there is nothing to judge a deletion by",
    Why.OVER_BUDGET: (
        "without it {share_after} of training and shuffled rows together, and {share} of the training rows, would be "
        "in conflict: beyond the {conflict_share} that may be"
    ),
    Why.TOO_DEAR: (
        "without it {share_after} of training and shuffled rows together, and {share} of the training rows, would be "
        "off: beyond the budget of {budget_share}, of all rows or of one class"
    ),
    Why.KEEPS_OUT: "without it the line would meet {kept_out}",
    Why.HEADING: "it belongs to the heading",
    Why.TOO_UNRELIABLE: (
        "without it {share_after} of the rule's rows would be {name}, where its leaf has {share_before}: {guarded}"
    ),
    Why.CONTRADICTED: (
        "without it the rule would have the same conditions as the rule of leaf {node}, which predicts another class"
    ),
}
NO_WORDS: Mapping[int, str] = {}
# Of a regression tree, whose leaves have values.
VALUE_WORDS: Mapping[int, str] = {
    Why.NO_FOREIGN_LEAF: "without it every leaf that the rule meets has a value within {limit} of its own",
    Why.WITHIN_WINDOW: (
        "without it the values of all leaves of the section that the line meets lie no more than {twice} apart"
    ),
    Why.TOO_DEAR: (
        "without it {share_after} of training and shuffled rows together, and {share} of the training rows, would be "
        "off: beyond the budget of {budget_share}"
    ),
}


@dataclass(frozen=True)
class Reason:
    """Why one condition of one rule was deleted or kept.

    Attributes
    ----------
    link_id : int
        The condition's link (its child node id).
    deleted : bool
    kind : str
        A short name of the reason, such as ``"sibling-leaf"`` or ``"matched"``.
    text : str
        The reason in a sentence, also its ``str()``.
    before, after : float or None
        The reliability (Quinlan: certainty factor; ``budgeted``: share of rows in conflict, unless its guard decided)
        that the decision compared.
    number : float or None
        The shift of the class share along the link, Fisher's p, or for ``budgeted`` the share of the training rows that
        the deletion brought into conflict, or that would be in conflict without the kept condition.
    node_id : int or None
        The node (for a finite domain: the row) that the reason points at.
    witness_leaf : int or None
        For a kept condition: a leaf of another class that the rule would meet without it.
    witness_point : mapping of str to label, or None
        Values of a row that would reach the witness leaf and satisfy the rest of the rule; None stands for missing.
    """

    link_id: int
    deleted: bool
    kind: str
    text: str
    before: float | None = None
    after: float | None = None
    number: float | None = None
    node_id: int | None = None
    witness_leaf: int | None = None
    witness_point: Mapping[str, Label | None] | None = None

    def __str__(self) -> str:
        return self.text


def make_reasons(
    tree: Tree,
    paths: Paths,
    deletions: Deletions,
    rule: int,
    parameters: Mapping[str, Any],
    witnesses: Witnesses,
    grounds: Sequence[str] = (),
    own_words: Mapping[int, str] = NO_WORDS,
) -> list[Reason]:
    """Put the codes and numbers of a rule's entries into words, root to leaf.

    The grounds are the facts that the rule's exact deletions depend on; a method may bring words of its own.
    """
    span = paths.entries(rule)
    links = paths.links[span]
    name = tree.class_names[paths.leaf_class[rule]]
    reasons = []
    for link, feature, code, before, after, number, node, leaf, point in zip(
        links.tolist(),
        tree.feature[paths.parent[links]].tolist(),
        deletions.why[span].tolist(),
        deletions.before[span].tolist(),
        deletions.after[span].tolist(),
        deletions.number[span].tolist(),
        deletions.node[span].tolist(),
        witnesses.leaves(rule),
        witnesses.points(rule),
        strict=True,
    ):
        kind = KINDS[code]
        words = own_words.get(code, WORDS[code]).format_map(
            _Terms(tree, paths, parameters, name, link, before, after, number, node)
        )
        if grounds and kind in RESTING:
            words = f"{words}, given that {'; '.join(grounds)}"
        if point is not None:
            seen = _read_witness(tree, leaf, feature, point)
            words = seen if kind in ("not-certified", "untouched", "keeps-out") else f"{words}; {seen}"
        reasons.append(
            Reason(
                link_id=link,
                deleted=code in DELETIONS,
                kind=kind,
                text=words,
                before=none_if_nan(before),
                after=none_if_nan(after),
                number=none_if_nan(number),
                node_id=None if node < 0 else node,
                witness_leaf=None if leaf < 0 else leaf,
                witness_point=point,
            )
        )
    return reasons


@dataclass(frozen=True, slots=True)
class _Terms:
    """The terms that the words of a reason may name, each made on demand."""

    tree: Tree
    paths: Paths
    parameters: Mapping[str, Any]
    name: str
    link: int
    before: float
    after: float
    number: float
    node: int

    @property
    def limit(self) -> float:
        """The share of rows that a budget, or a ceiling of conflict, allows."""
        return float(self.parameters.get("budget", self.parameters.get("max_conflict", math.nan)))

    def __getitem__(self, term: str) -> Any:
        # A forged file may hold reasons that its method does not give.
        return TERMS[term](self) if term in TERMS else self.parameters.get(term, math.nan)


TERMS: dict[str, Callable[[_Terms], Any]] = {
    "name": lambda of: of.name,
    "node": lambda of: of.node,
    "number": lambda of: of.number,
    "feature": lambda of: show_text(of.tree.feature_name(int(of.tree.feature[of.paths.parent[of.link]]))),
    "other": lambda of: repr(read_link(of.tree, of.paths, of.node)),
    "rows": lambda of: f"{of.after:.0f}",
    "moved": lambda of: f"from {read_share(of.before)} to {read_share(of.after)}",
    "moved_from_leaf": lambda of: f"from the leaf's own {read_share(of.before)} to {read_share(of.after)}",
    "points": lambda of: f"{100 * abs(of.number):.3g}",
    "tolerated": lambda of: f"{100 * of.parameters.get('tolerance', math.nan):.6g}",
    "limit": lambda of: read_limit(of.parameters.get("tolerance", 0.0)),
    "twice": lambda of: read_limit(2 * of.parameters.get("tolerance", 0.0)),
    "share_after": lambda of: read_share_beside(of.after, of.limit),
    "share_before": lambda of: read_share(of.before),
    "window": lambda of: (
        f", with shares no more than {200 * of.parameters['tolerance']:.6g} points apart"
        if "tolerance" in of.parameters
        else ""
    ),
    "kept_out": lambda of: f"leaf {of.node}" if of.node >= 0 else "a leaf that it may not answer for",
    "guarded": lambda of: (
        f"more than {100 * of.parameters['tolerance']:.6g} points below"
        if of.before - of.after > of.parameters.get("tolerance", math.inf) + SLACK
        else "not the commonest class"
    ),
    "share": lambda of: read_share_beside(of.number, of.limit),
    "change": lambda of: read_change(of.number),
    "budget_share": lambda of: f"{100 * of.parameters.get('budget', math.nan):.6g}%",
    "conflict_share": lambda of: f"{100 * of.parameters.get('max_conflict', math.nan):.6g}%",
}


def _read_witness(tree: Tree, leaf: int, feature: int, point: Point) -> str:
    place = read_value(tree, feature, point[tree.feature_name(feature)])
    said = tree.class_names[tree.leaf_class[leaf]] if tree.values is None else read_amount(float(tree.values[leaf]))
    return f"it keeps out rows of leaf {leaf} ({said}), such as {place}"


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
