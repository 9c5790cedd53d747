"""Reject stored reasons that a method cannot have given."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from secateur.errors import FormatError
from secateur.methods import METHODS
from secateur.methods.contract import Deletions, Why
from secateur.tree.paths import Paths
from secateur.verify.fields import REASONS, Check

# Reasons that the lines of a list give beside those of the method.
TINY = 1e-9  # shares are rounded
OF_A_LIST = (Why.PAID, Why.TOO_DEAR, Why.WITHIN_WINDOW, Why.KEEPS_OUT, Why.HEADING, Why.STRUCK)


def check_reasons(method: str, paths: Paths, deletions: Deletions, also: Collection[Why] = ()) -> None:
    """Reject a reason of another method, one that says kept of a deleted condition, and one about another node."""
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
    _check_numbers(method, paths, deletions)
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
        paths, (deletions.why == Why.DIRECTION_REFUTES) & ~np.isin(own + node, own + links), "points outside its path"
    )
    _refuse(
        paths,
        (deletions.why == Why.INSIDE_H) & (node != paths.homogeneous_top[links]),
        "points at another node than the one below which all leaves have one class",
    )


def _check_numbers(method: str, paths: Paths, deletions: Deletions) -> None:
    """Reject numbers that reasons of a kind do not have, and reasons that lack theirs."""
    for code in np.unique(deletions.why).tolist():
        why = Why(code)
        behind = REASONS[why.kind]
        if why is Why.NO_FOREIGN_LEAF and method != "faithful":
            behind = type(behind)()
        for name in ("before", "after", "number", "node"):
            values, check = getattr(deletions, name), getattr(behind, name)
            is_known = values >= 0 if name == "node" else ~np.isnan(values)
            if check is None:
                _refuse(paths, (deletions.why == why) & is_known, f"has a {name!r}, which {why.kind!r} does not have")
            elif check is not Check.PROVED:
                _refuse(paths, (deletions.why == why) & ~is_known, f"has no {name!r}, which {why.kind!r} has")


def check_spending(deletions: Deletions, budget: float) -> None:
    """Reject deletions that went beyond a budget, or were paid for without one."""
    paid = np.isin(deletions.why, (Why.PAID, Why.TOO_DEAR))
    shares = np.stack([deletions.before[paid], deletions.after[paid]])
    went = deletions.why[paid] == Why.PAID
    if (
        not ((shares >= 0) & (shares <= 1)).all()
        or (paid.any() and not budget)
        or (shares[1][went] > budget + TINY).any()
    ):
        raise FormatError(
            f"The rules JSON has a deletion that went beyond its budget of {100 * budget:.6g} %; it was edited."
        )


def _refuse(paths: Paths, is_wrong: NDArray[np.bool_], what: str) -> None:
    if is_wrong.any():
        rule = int(paths.rule[int(is_wrong.argmax())])
        raise FormatError(
            f"A reason of the rule of leaf {paths.leaf_ids[rule]} in the rules JSON {what}; it was edited."
        )
