"""Why each condition went or stayed, in words a person can check.

Methods leave codes and numbers (:class:`secateur.methods.Why`); the words are made here, on demand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from secateur.methods import Why
from secateur.reading import read_link, read_share

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from secateur.annotation import Annotation
    from secateur.methods import Deletions
    from secateur.tree import Label, Tree
    from secateur.witnesses import Witnesses

__all__ = ["Reason", "make_reason"]


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
        The reliability (Quinlan: certainty factor; ``budgeted``: share of rows in conflict) that the decision compared.
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


def make_reason(
    tree: Tree,
    notes: Annotation,
    deletions: Deletions,
    entry: int,
    parameters: Mapping[str, Any],
    witnesses: Witnesses,
) -> Reason:
    """Put the codes and numbers of one entry into words."""
    witness_leaf = witnesses.leaf(entry)
    witness_point = witnesses.point(entry) if witness_leaf >= 0 else None
    why = Why(int(deletions.why[entry]))
    link = int(notes.links[entry])
    name = tree.class_names[notes.leaf_class[notes.rule[entry]]]
    before, after, number = (float(a[entry]) for a in (deletions.before, deletions.after, deletions.number))
    node = int(deletions.node[entry])
    words = _tell(tree, notes, why, link, name, before, after, number, node, parameters)
    if witness_leaf >= 0:
        feature = tree.feature_name(int(tree.feature[notes.parent[link]]))
        seen = _read_witness(tree, witness_leaf, feature, witness_point)
        words = seen if why in (Why.NOT_CERTIFIED, Why.UNTOUCHED) else f"{words}; {seen}"
    return Reason(
        link_id=link,
        deleted=why.is_deletion,
        kind=why.kind,
        text=words,
        before=_known(before),
        after=_known(after),
        number=_known(number),
        node_id=None if node < 0 else node,
        witness_leaf=None if witness_leaf < 0 else witness_leaf,
        witness_point=witness_point,
    )


def _tell(
    tree: Tree,
    notes: Annotation,
    why: Why,
    link: int,
    name: str,
    before: float,
    after: float,
    number: float,
    node: int,
    parameters: Mapping[str, Any],
) -> str:
    """The sentence of a reason; see :class:`Why` for the numbers."""
    moved = f"from {read_share(before)} to {read_share(after)}"
    leaf_to = f"from the leaf's own {read_share(before)} to {read_share(after)}"
    match why:
        case Why.SIBLING_LEAF:
            return f"the other branch is leaf {node}, which predicts {name} too"
        case Why.SAME_CLASS_SUBTREE:
            return f"every leaf of the other branch (node {node}) predicts {name} too"
        case Why.NO_FOREIGN_LEAF:
            return f"without it the rule still meets no leaf that predicts anything but {name}"
        case Why.FEATURE_REDUNDANT:
            feature = tree.feature_name(int(tree.feature[notes.parent[link]]))
            return f"without any condition on {feature} the rule still meets no leaf that predicts anything but {name}"
        case Why.FINITE_DOMAIN:
            return f"all {after:.0f} listed rows that the rule covers without its mismatched conditions are {name}"
        case Why.MONOTONE:
            return f"it only cuts off values that favour {name} by the stated monotonicity"
        case Why.RELIABILITY_JOINT:
            return (
                f"without all its mismatched conditions the rule's reliability goes {leaf_to}, within "
                f"±{parameters['tolerance']:g}"
            )
        case Why.RELIABILITY_STEP:
            return (
                f"without it, and without what was deleted before it, the rule's reliability goes {leaf_to}, within "
                f"±{parameters['tolerance']:g}"
            )
        case Why.CERTAINTY_KEPT:
            return f"certainty does not fall: it goes {moved}"
        case Why.NOT_SIGNIFICANT:
            return f"certainty goes {moved}, not significantly (Fisher p = {number:.3g} > {parameters['alpha']:g})"
        case Why.WITHIN_BUDGET:
            return (
                f"without it the rows in conflict go {moved} of training and shuffled rows together, and "
                f"{read_share(number)} of the training rows are new there: within the budget of "
                f"{_percentage(parameters['budget'])}"
            )
        case Why.UNTOUCHED:
            return "the method deletes nothing"
        case Why.NOT_CERTIFIED:
            return "the method has no certificate for it, though no leaf of another class would be met"
        case Why.MATCHED:
            return f"matched: the share of {name} rises by {number:.3g}"
        case Why.NEUTRAL:
            return f"neutral: the share of {name} does not change"
        case Why.INSIDE_H:
            return (
                f"inside H: all leaves below node {node} predict {name}, and it sets apart one of lower share "
                f"({number:+.3g})"
            )
        case Why.RELIABILITY_MOVES:
            return (
                f"without it, and without what was deleted before it, the rule's reliability would go {leaf_to}, "
                f"D = {after - before:+.3g} beyond "
                f"±{parameters['tolerance']:g}"
            )
        case Why.DOMAIN_REFUTES:
            return (
                f"the mismatched conditions cannot go together: listed row {node} would be covered, and is not {name}"
            )
        case Why.DIRECTION_REFUTES:
            return (
                "the mismatched conditions cannot go together: the stated monotonicity does not cover "
                f"{read_link(tree, notes, node)!r}"
            )
        case Why.SIGNIFICANT:
            return f"certainty would go {moved}, significantly (Fisher p = {number:.3g})"
        case Why.OVER_BUDGET | Why.FAR_OVER_BUDGET:
            counted = "" if why is Why.OVER_BUDGET else "at least "
            return (
                f"without it {counted}{read_share(after)} of training and shuffled rows together, and "
                f"{counted}{read_share(number)} of the training rows, would be in conflict: beyond the budget of "
                f"{_percentage(parameters['budget'])}"
            )
        case Why.NO_ROWS:
            return "no row satisfies this rule, so there is nothing to judge a deletion by"


def _read_witness(tree: Tree, leaf: int, feature: str, point: Mapping[str, Label | None] | None) -> str:
    place = f", e.g. at {feature} = {_read_value(point[feature], tree.dtype)}" if point else ""
    return f"keeps out leaf {leaf} ({tree.class_names[tree.leaf_class[leaf]]}){place}"


def _read_value(value: Label | None, dtype: str) -> str:
    if value is None:
        return "missing"
    return str(np.dtype(dtype).type(value)).removesuffix(".0") if isinstance(value, float) else str(value)


def _percentage(share: float) -> str:
    return f"{100 * share:.6g}%"


def _known(value: float) -> float | None:
    return None if value != value else value
