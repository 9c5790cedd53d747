"""`none`: the tree's own rules, the baseline that everything is compared with."""

from __future__ import annotations

from secateur.methods.contract import Deletions, Method, Problem, Why

__all__ = ["METHOD"]


def delete(problem: Problem) -> Deletions:
    """Keep every condition."""
    return Deletions.keep_all(problem.paths, Why.UNTOUCHED)


METHOD = Method(
    name="none",
    aliases=(),
    summary="deletes nothing: the paths of the tree as they are",
    preserves="everything",
    guarantee="Nothing was deleted: each row is covered by the rule of its own leaf and by no other.",
    source="the tree itself",
    needs_rows=False,
    is_exact=True,
    witness="link",
    parameters=(),
    delete=delete,
)
