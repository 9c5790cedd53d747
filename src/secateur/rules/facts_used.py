"""Find the facts that a rule rests on: without them it would meet a leaf of another class."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from secateur.facts.possible_rows import find_feasible
from secateur.kernels.run_walks import run_met
from secateur.methods import Why
from secateur.tree.facts import NO_FACTS, Facts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.methods import Deletions
    from secateur.tree.facts import Claim, Group, Implication
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Tree

__all__ = ["FactsUsed"]

EXACT = (Why.NO_FOREIGN_LEAF, Why.FEATURE_REDUNDANT)


class FactsUsed:
    """The facts that the exact deletions of each rule rest on, found on demand.

    Facts are left out one by one as long as the rest suffice; each of those that remain is needed, given the others.
    Rules that need the same facts are tried together.

    Parameters
    ----------
    tree : Tree
    paths : Paths
    deletions : Deletions
    """

    def __init__(self, tree: Tree, paths: Paths, deletions: Deletions) -> None:
        self._tree, self._paths = tree, paths
        # Conditions deleted for other reasons, such as a tolerance, count as kept here.
        self._deleted = deletions.deleted & np.isin(deletions.why, EXACT)

    def of_rule(self, rule: int) -> tuple[str, ...]:
        """List the facts that a rule rests on, in words."""
        return self._by_rule[rule]

    @cached_property
    def used(self) -> tuple[str, ...]:
        """The facts that some rule rests on, in words, in the order in which they were stated."""
        found = {words for listed in self._by_rule for words in listed}
        return tuple(words for words, _ in self._stated if words in found)

    @cached_property
    def _stated(self) -> list[tuple[str, Implication | Claim | Group | int]]:
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
        widened = np.bincount(self._paths.rule[self._deleted], minlength=self._paths.n_rules) > 0
        if not facts or not widened.any():
            return needed
        start = np.flatnonzero(widened)
        start = start[~self._suffice(NO_FACTS, start)]
        todo: list[tuple[NDArray[np.int64], Facts, int, tuple[str, ...]]] = [(start, facts, 0, ())]
        while todo:
            rules, known, place, kept = todo.pop()
            if not len(rules):
                continue
            if place == len(self._stated):
                for rule in rules.tolist():
                    needed[rule] = kept
                continue
            words, fact = self._stated[place]
            fewer = known.leave_out(fact, self._tree.n_features)
            enough = np.zeros(len(rules), dtype=bool) if fewer is None else self._suffice(fewer, rules)
            todo.append((rules[enough], fewer or NO_FACTS, place + 1, kept))
            todo.append((rules[~enough], known, place + 1, (*kept, words)))
        return needed

    def _suffice(self, facts: Facts, rules: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell whether each rule meets no leaf of another class, given some facts."""
        walked = find_feasible(replace(self._tree, facts=facts)).tree
        return run_met(walked, self._paths, self._deleted, rules) < 0
