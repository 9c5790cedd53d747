"""Find the facts that rules depend on: without them one would meet a leaf of another class, or a leaf lie in none."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from secateur.facts.possible_rows import find_feasible
from secateur.kernels.running import run_met
from secateur.methods import Deletions, Why
from secateur.methods.leaf_masks import LeafMasks, make_mask
from secateur.tree.facts import NO_FACTS, Claim, Facts, Group, Implication

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rules.rules import Rules
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Tree

EXACT = (Why.NO_FOREIGN_LEAF, Why.FEATURE_REDUNDANT)


class FactsUsed:
    """The facts that the exact deletions of each rule depend on, found on demand.

    Facts are left out one by one as long as the rest suffice; each of those that remain is needed, given the others.
    Rules that need the same facts are tried together.
    """

    def __init__(self, tree: Tree, paths: Paths, deletions: Deletions) -> None:
        self._tree, self._paths = tree, paths
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
        """Tell whether each rule meets no leaf of another class, given some facts."""
        walked = find_feasible(replace(self._tree, facts=facts)).tree
        return run_met(walked, self._paths, self._deleted, rules) < 0


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
        contained = [0] * layout.n_sections
        for (section, links, is_otherwise), may in zip(lines, may_answer, strict=True):
            node = int(layout.nodes[section])
            own = make_mask(range(int(first[node]), int(last[node]))) & masks.possible
            edges = [masks.edge(link) for link in links]
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
