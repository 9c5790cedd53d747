"""Say why each condition was deleted or kept, in words that a person can check, and which facts that depends on.

Methods leave codes and numbers (:class:`secateur.methods.Why`); the words are made here, on demand.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from secateur.facts.possible_rows import find_feasible
from secateur.kernels.running import run_met, run_witnesses
from secateur.methods import Deletions, Why
from secateur.methods.covering import MANY_LEAVES
from secateur.methods.leaves import LeafMasks, LeafValues, Stated, pack_flags
from secateur.tree.columns import show_text
from secateur.tree.facts import NO_FACTS, Claim, Facts, Group, Implication
from secateur.tree.paths import Paths
from secateur.tree.regions import Region, domain_of, meet_regions, pick_value, read_links, regions_of_links
from secateur.tree.shares import SLACK, none_if_nan
from secateur.tree.tree import Label, Tree
from secateur.words.conditions import (
    count_points,
    format_change,
    format_link,
    format_share,
    format_share_beside,
    format_value,
)
from secateur.words.plain_words import format_amount, format_limit

if TYPE_CHECKING:
    from secateur.rules.rules import Rules

KINDS = {int(why): why.kind for why in Why}
EXACT = (Why.NO_FOREIGN_LEAF, Why.FEATURE_REDUNDANT)  # deletions that may depend on facts
DELETIONS = frozenset(int(why) for why in Why if why.is_deletion)

# The sentence of each kind of reason, over the terms of a reason and the method's settings; some differ for values.
_TABLE = (files("secateur.words") / "reasons.csv").read_text(encoding="utf-8").splitlines()
_SENTENCES = {row["kind"]: row for row in csv.DictReader(_TABLE)}
WORDS = {code: _SENTENCES[kind]["sentence"] for code, kind in KINDS.items()}
VALUE_WORDS = {code: told for code, kind in KINDS.items() if (told := _SENTENCES[kind]["of_values"])}


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
    own_words: Mapping[int, str] = MappingProxyType({}),
    told_shares: Callable[[int], str] | None = None,
) -> list[Reason]:
    """Put the codes and numbers of a rule's entries into words, root to leaf.

    The grounds are the facts that the rule's exact deletions depend on; a method may bring words of its own. Of a leaf
    of the rule's own class that is kept out, ``told_shares`` says why the rule may not answer for it.
    """
    span = paths.entries(rule)
    links = paths.links[span]
    name = tree.class_names[paths.leaf_class[rule]]
    reasons = []
    for link, feature, code, before, after, number, node, leaf, point in zip(
        links.tolist(),
        tree.feature[paths.parent[links]].tolist(),
        *(getattr(deletions, column)[span].tolist() for column in ("why", "before", "after", "number", "node")),
        witnesses.leaves(rule),
        witnesses.points(rule),
        strict=True,
    ):
        kind = KINDS[code]
        words = own_words.get(code, WORDS[code]).format_map(
            _Terms(tree, paths, parameters, name, link, before, after, number, node)
        )
        if grounds and code in EXACT:
            words = f"{words}, given that {'; '.join(grounds)}"
        if point is not None:
            held = format_value(tree, feature, point[tree.feature_name(feature)])
            said = tree.class_names[tree.leaf_class[leaf]] if tree.values is None else format_amount(tree.values[leaf])
            if told_shares is not None and tree.leaf_class[leaf] == paths.leaf_class[rule] and tree.values is None:
                said += told_shares(leaf)
            seen = f"it keeps out rows of leaf {leaf} ({said}), such as {held}"
            words = seen if kind in ("not-certified", "untouched", "keeps-out") else f"{words}; {seen}"
        compared = none_if_nan(before), none_if_nan(after), none_if_nan(number)
        places = None if node < 0 else node, None if leaf < 0 else leaf
        reasons.append(Reason(link, code in DELETIONS, kind, words, *compared, *places, point))
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
    "other": lambda of: repr(format_link(of.tree, of.paths, of.node)),
    "rows": lambda of: f"{of.after:.0f}",
    "moved": lambda of: f"from {format_share(of.before)} to {format_share(of.after)}",
    "moved_from_leaf": lambda of: f"from the leaf's own {format_share(of.before)} to {format_share(of.after)}",
    "points": lambda of: f"{100 * abs(of.number):.3g}",
    "tolerated": lambda of: f"{100 * of.parameters.get('tolerance', math.nan):.6g}",
    "limit": lambda of: format_limit(of.parameters.get("tolerance", 0.0)),
    "twice": lambda of: format_limit(2 * of.parameters.get("tolerance", 0.0)),
    "share_after": lambda of: format_share_beside(of.after, of.limit),
    "share_before": lambda of: format_share(of.before),
    "window": lambda of: (
        f", with shares no more than {count_points(2 * of.parameters['tolerance'])} apart"
        if "tolerance" in of.parameters
        else ""
    ),
    "kept_out": lambda of: f"leaf {of.node}" if of.node >= 0 else "a leaf that it may not answer for",
    "guarded": lambda of: (
        f"more than {count_points(of.parameters['tolerance'])} below"
        if of.before - of.after > of.parameters.get("tolerance", math.inf) + SLACK
        else "not the commonest class"
    ),
    "share": lambda of: format_share_beside(of.number, of.limit),
    "change": lambda of: format_change(of.number),
    "budget_share": lambda of: f"{100 * of.parameters.get('budget', math.nan):.6g} %",
    "conflict_share": lambda of: f"{100 * of.parameters.get('max_conflict', math.nan):.6g} %",
}


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
            rules = slice(block * SEARCHED_RULES, min((block + 1) * SEARCHED_RULES, self._paths.n_rules))
            span = slice(self._paths.offsets[rules.start], self._paths.offsets[rules.stop])
            walked, by_feature = self._feasible.tree, self._left_out == "feature"
            found = run_witnesses(walked, self._paths, ~self._kept, by_feature=by_feature, rules=rules)
            self._leaves[span] = found[span]
            self._is_searched[block] = True
        span = self._paths.entries(rule)
        made = self._deletions
        found = np.where(made.deleted[span] | (made.why[span] == Why.HEADING), -1, self._leaves[span])
        return list(np.where(made.why[span] == Why.KEEPS_OUT, made.node[span], found).tolist())

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
                point[shared] = pick_value(walked, shared, whole[shared].meet(regions[shared]))
            point[feature] = pick_value(walked, feature, rest.meet(regions.get(feature, rest)))
            found[place] = self._name_values(point, rule, leaves[place])
        return found

    def _name_values(self, picked: dict[int, Label | None], rule: int, leaf: int) -> Point:
        """Give values by column name; of linked columns, only those that the rule or the leaf tests."""
        name = self._tree.feature_name
        if not self._feasible.bundles:
            return {name(feature): value for feature, value in picked.items()}
        paths = self._paths
        asked = set(self._tree.feature[paths.parent[paths.links[paths.entries(rule)]]].tolist())
        asked |= set(self._tree.feature[paths.parent[paths.list_path(leaf)]].tolist())
        return {
            name(column): value
            for feature, state in picked.items()
            for column, value in self._feasible.read_state(feature, state).items()
            if column == feature or column in asked
        }

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
            regions = regions_of_links(walked, self._paths, self._paths.list_path(leaf))
            values = {feature: pick_value(walked, feature, region) for feature, region in regions.items()}
            known = self._of_leaf[leaf] = regions, values
        return known


class FactsUsed:
    """The facts that the exact deletions of each rule depend on, found on demand.

    Facts are left out one by one as long as the rest suffice; each of those that remain is needed, given the others.
    Rules that need the same facts are tried together.
    """

    def __init__(self, tree: Tree, paths: Paths, deletions: Deletions, values: LeafValues | None = None) -> None:
        self._tree, self._paths, self._values = tree, paths, values  # values are of a regression tree
        # Conditions deleted for other reasons, such as a tolerance, count as kept here.
        self._deleted = deletions.deleted & np.isin(deletions.why, EXACT)

    def of_rule(self, rule: int) -> tuple[str, ...]:
        """List the facts that a rule depends on, in words."""
        return self._by_rule[rule]

    @cached_property
    def used(self) -> tuple[str, ...]:
        """The facts that some rule depends on, in words, in the order in which they were stated."""
        found = {words for listed in self._by_rule for words in listed}
        return tuple(words for words, _ in self.stated if words in found)

    @cached_property
    def stated(self) -> list[tuple[str, Implication | Claim | Group | int]]:
        """Each fact and its words, in the order in which they are left out: those stated by hand first."""
        facts = self._tree.facts
        return [
            *((str(implication), implication) for implication in facts.implications),
            *((str(claim), claim) for claim in facts.claims),
            *((self._tree.describe_decimals(f), f) for f in facts.decimals_of),
            *((str(group), group) for group in facts.groups),
        ]

    @cached_property
    def _by_rule(self) -> list[tuple[str, ...]]:
        needed: list[tuple[str, ...]] = [()] * self._paths.n_rules
        facts = self._tree.facts
        widened = self._paths.count(self._deleted) > 0
        if not facts or not widened.any():
            return needed
        start = np.flatnonzero(widened)
        start = start[~self._suffice(NO_FACTS, start)]
        todo: list[tuple[NDArray[np.int64], Facts, int, tuple[str, ...]]] = [(start, facts, 0, ())]
        while todo:
            rules, known, place, kept = todo.pop()
            if not len(rules):
                continue
            if place == len(self.stated):
                for rule in rules.tolist():
                    needed[rule] = kept
                continue
            words, fact = self.stated[place]
            fewer = known.leave_out(fact, self._tree.n_features)
            enough = np.zeros(len(rules), dtype=bool) if fewer is None else self._suffice(fewer, rules)
            todo.append((rules[enough], fewer or NO_FACTS, place + 1, kept))
            todo.append((rules[~enough], known, place + 1, (*kept, words)))
        return needed

    def _suffice(self, facts: Facts, rules: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell whether each rule meets no leaf of another class, or too far away, given some facts."""
        walked, paths = find_feasible(replace(self._tree, facts=facts)).tree, self._paths
        if self._values is None:
            return run_met(walked, paths, self._deleted, rules) < 0
        enough = np.zeros(len(rules), dtype=bool)
        if paths.n_rules > MANY_LEAVES:  # all facts are named
            return enough
        masks = LeafMasks(walked, paths)
        for place, rule in enumerate(rules.tolist()):
            span, value = paths.entries(rule), self._values.values[rule]
            met = masks.met_by(map(masks.edge, paths.links[span][~self._deleted[span]].tolist()))
            enough[place] = not met & pack_flags(self._values.find_off(0, Stated(value, value, value)))
        return enough


def list_facts(tree: Tree) -> list[str]:
    """List all stated facts about the columns, in words."""
    facts = tree.facts
    texts = [str(fact) for fact in (*facts.implications, *facts.claims, *facts.groups, *facts.orders)]
    return [*texts, *(tree.describe_decimals(feature) for feature in facts.decimals_of)]


def find_facts_of_list(rules: Rules) -> tuple[str, ...]:
    """List the facts that the lines of a list depend on.

    Without one of them a line would meet a leaf of its section that it must not answer for, or such a leaf would be
    left to "otherwise".
    """
    tree, layout = rules.tree, rules.layout
    if not tree.facts or layout is None or not rules.parameters.get("domain_knowledge", True):
        return ()
    if not rules.is_exact:
        return rules.each_leaf.facts_used.used
    paths, first, last = rules.paths, *tree.leaf_runs
    may_answer = rules.find_answerable()
    lines = [(int(layout.section_of_line[line.index]), line.kept_ids, line.is_otherwise) for line in rules.lines]

    def suffice(facts: Facts) -> bool:
        masks = LeafMasks(find_feasible(replace(tree, facts=facts)).tree, paths)
        contained, edge = [0] * layout.n_sections, cache(masks.edge)  # many lines keep the same edges
        for (section, links, is_otherwise), may in zip(lines, may_answer, strict=True):
            node = int(layout.nodes[section])
            own = ((1 << int(last[node])) - (1 << int(first[node]))) & masks.possible
            edges = [edge(link) for link in links]
            met = own & ~contained[section] if is_otherwise else own & masks.met_by(edges)
            if met & ~may:
                return False
            contained[section] |= 0 if is_otherwise else masks.inside(edges)
        return True

    known, needed = tree.facts, set()
    for words, fact in rules.facts_used.stated:
        fewer = known.leave_out(fact, tree.n_features)
        if fewer is not None and suffice(fewer):
            known = fewer
        else:
            needed.add(words)
    return tuple(words for words, _ in rules.facts_used.stated if words in needed)
