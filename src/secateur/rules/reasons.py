"""Why each condition went or stayed, in words a person can check.

Methods leave codes and numbers (:class:`secateur.methods.Why`); the words are made here, on demand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from secateur.methods import Why
from secateur.rules.wording import read_link, read_share, read_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from secateur.methods import Deletions
    from secateur.rules.witnesses import Point, Witnesses
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Label, Tree

__all__ = ["Reason", "make_reasons"]

KINDS = {int(why): why.kind for why in Why}
RESTING = (Why.NO_FOREIGN_LEAF.kind, Why.FEATURE_REDUNDANT.kind)
"""Kinds of deletions that may rest on facts."""
DELETIONS = frozenset(int(why) for why in Why if why.is_deletion)


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


def make_reasons(
    tree: Tree,
    paths: Paths,
    deletions: Deletions,
    rule: int,
    parameters: Mapping[str, Any],
    witnesses: Witnesses,
    grounds: Sequence[str] = (),
) -> list[Reason]:
    """Put the codes and numbers of a rule's entries into words, root to leaf.

    The grounds are the facts that the rule's exact deletions rest on.
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
        words = _tell(tree, paths, kind, link, name, before, after, number, node, parameters)
        if grounds and kind in RESTING:
            words = f"{words}, given that {'; '.join(grounds)}"
        if point is not None:
            seen = _read_witness(tree, leaf, feature, point)
            words = seen if kind in ("not-certified", "untouched") else f"{words}; {seen}"
        reasons.append(
            Reason(
                link_id=link,
                deleted=code in DELETIONS,
                kind=kind,
                text=words,
                before=_known(before),
                after=_known(after),
                number=_known(number),
                node_id=None if node < 0 else node,
                witness_leaf=None if leaf < 0 else leaf,
                witness_point=point,
            )
        )
    return reasons


def _tell(
    tree: Tree,
    paths: Paths,
    kind: str,
    link: int,
    name: str,
    before: float,
    after: float,
    number: float,
    node: int,
    parameters: Mapping[str, Any],
) -> str:
    """The sentence of a reason of a kind; see :class:`Why` for the numbers."""
    match kind:
        case "sibling-leaf":
            return f"the other branch is leaf {node}, which predicts {name} too"
        case "same-class-subtree":
            return f"every leaf of the other branch (node {node}) predicts {name} too"
        case "no-foreign-leaf":
            return f"without it the rule still meets no leaf that predicts anything but {name}"
        case "feature-redundant":
            feature = tree.feature_name(int(tree.feature[paths.parent[link]]))
            return f"without any condition on {feature} the rule still meets no leaf that predicts anything but {name}"
        case "finite-domain":
            return f"all {after:.0f} listed rows that the rule covers without its mismatched conditions are {name}"
        case "monotone":
            return f"it only cuts off values that favour {name} by the stated monotonicity"
        case "reliability-joint":
            return (
                f"without all its mismatched conditions the rule's reliability goes {_leaf_to(before, after)}, within "
                f"±{parameters['tolerance']:g}"
            )
        case "reliability-step":
            return (
                "without it, and without what was deleted before it, the rule's reliability goes "
                f"{_leaf_to(before, after)}, within ±{parameters['tolerance']:g}"
            )
        case "certainty-kept":
            return f"certainty does not fall: it goes {_moved(before, after)}"
        case "not-significant":
            return (
                f"certainty goes {_moved(before, after)}, not significantly (Fisher p = {number:.3g} > "
                f"{parameters['alpha']:g})"
            )
        case "within-budget":
            return (
                f"without it the rows in conflict go {_moved(before, after)} of training and shuffled rows together, "
                f"and {read_share(number)} of the training rows are new there: within the budget of "
                f"{_percentage(parameters['budget'])}"
            )
        case "untouched":
            return "the method deletes nothing"
        case "not-certified":
            return "the method has no certificate for it, though no leaf of another class would be met"
        case "matched":
            return f"matched: the share of {name} rises by {number:.3g}"
        case "neutral":
            return f"neutral: the share of {name} does not change"
        case "inside-h":
            return (
                f"inside H: all leaves below node {node} predict {name}, and it sets apart one of lower share "
                f"({number:+.3g})"
            )
        case "reliability-moves":
            return (
                "without it, and without what was deleted before it, the rule's reliability would go "
                f"{_leaf_to(before, after)}, D = {after - before:+.3g} beyond ±{parameters['tolerance']:g}"
            )
        case "domain-refutes":
            return (
                f"the mismatched conditions cannot go together: listed row {node} would be covered, and is not {name}"
            )
        case "direction-refutes":
            return (
                "the mismatched conditions cannot go together: the stated monotonicity does not cover "
                f"{read_link(tree, paths, node)!r}"
            )
        case "significant":
            return f"certainty would go {_moved(before, after)}, significantly (Fisher p = {number:.3g})"
        case "over-budget" | "far-over-budget":
            counted = "" if kind == "over-budget" else "at least "
            return (
                f"without it {counted}{read_share(after)} of training and shuffled rows together, and "
                f"{counted}{read_share(number)} of the training rows, would be in conflict: beyond the budget of "
                f"{_percentage(parameters['budget'])}"
            )
        case "no-rows":
            return "no row satisfies this rule, so there is nothing to judge a deletion by"
    raise ValueError(f"there are no words for the reason {kind!r}")


def _moved(before: float, after: float) -> str:
    return f"from {read_share(before)} to {read_share(after)}"


def _leaf_to(before: float, after: float) -> str:
    return f"from the leaf's own {read_share(before)} to {read_share(after)}"


def _read_witness(tree: Tree, leaf: int, feature: int, point: Point) -> str:
    place = read_value(tree, feature, point[tree.feature_name(feature)])
    return f"keeps out leaf {leaf} ({tree.class_names[tree.leaf_class[leaf]]}), e.g. at {place}"


def _percentage(share: float) -> str:
    return f"{100 * share:.6g}%"


def _known(value: float) -> float | None:
    return None if value != value else value
