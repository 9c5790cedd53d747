"""`none`: the tree's own rules, the baseline that everything is compared with."""

from __future__ import annotations

from dataclasses import dataclass

from secateur.methods.contract import Deletions, Method, Problem, Why

__all__ = ["METHOD"]


@dataclass(frozen=True)
class NoDeletion(Method):
    """The tree's own rules."""

    name = "none"
    summary = "deletes nothing: the paths of the tree as they are"
    preserves = "everything"
    guarantee = "Nothing was deleted: each row is covered by the rule of its own leaf and by no other."
    source = "the tree itself"
    is_exact = True
    witness = "link"
    rung = 0
    gives = frozenset({Why.UNTOUCHED})

    def delete(self, problem: Problem) -> Deletions:
        """Keep every condition."""
        return Deletions.keep_all(problem.paths, Why.UNTOUCHED, has_numbers=False)


METHOD = NoDeletion()
