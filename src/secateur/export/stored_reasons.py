"""Refuse stored reasons that the method of a rule set cannot have given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secateur.errors import FormatError
from secateur.methods import METHODS
from secateur.methods.contract import Why

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from secateur.methods.contract import Deletions
    from secateur.tree.paths import Paths

__all__ = ["OF_A_BUDGET", "check_reasons"]

# What compact rules give beside the reasons of the method that they were chosen from.
OF_A_BUDGET = (Why.DECIDED_OTHERWISE, Why.TOO_MANY_OTHERWISE, Why.TOO_UNRELIABLE, Why.NO_ROWS)


def check_reasons(method: str, paths: Paths, deletions: Deletions, also: Collection[Why] = ()) -> None:
    """Refuse a reason of another method, one that says kept of a deleted condition, and one about another node."""
    may_give = METHODS[method].gives | set(also)
    foreign = [Why(code) for code in np.unique(deletions.why).tolist() if code not in may_give]
    if foreign:
        raise FormatError(
            f"The rules JSON has the reason {foreign[0].kind!r}, which {method!r} never gives; it was edited."
        )
    _refuse(
        paths,
        deletions.deleted != (deletions.why < Why.UNTOUCHED),
        "says that a deleted condition stays, or that a kept one went",
    )
    other_branch = deletions.why == Why.SIBLING_LEAF
    node, links = deletions.node, paths.links
    _refuse(paths, other_branch & (node != paths.sibling[links]), "points at another node than the other branch")
    _refuse(
        paths,
        other_branch & (paths.homogeneous[paths.sibling[links]] != paths.leaf_class_of_entry),
        "says that the other branch has one class, and it has not",
    )
    own = paths.rule.astype(np.int64) * len(paths.sibling)  # a number for each pair of a rule and a node
    _refuse(
        paths,
        (deletions.why == Why.DIRECTION_REFUTES) & ~np.isin(own + node, own + links),
        "points outside its path",
    )
    _refuse(
        paths,
        (deletions.why == Why.INSIDE_H) & (node != paths.homogeneous_top[links]),
        "points at another node than the one below which all leaves have one class",
    )


def _refuse(paths: Paths, is_wrong: NDArray[np.bool_], what: str) -> None:
    if is_wrong.any():
        rule = int(paths.rule[int(is_wrong.argmax())])
        raise FormatError(
            f"A reason of the rule of leaf {paths.leaf_ids[rule]} in the rules JSON {what}; it was edited."
        )
