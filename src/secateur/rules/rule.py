"""Rule: one rule of a rule set, a view made when it is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secateur.methods import METHODS
from secateur.rules.reasons import make_reasons
from secateur.rules.wording import Condition, join_conditions, read_conditions

if TYPE_CHECKING:
    from secateur.rules.reasons import Reason
    from secateur.rules.rule_set import RuleSet
    from secateur.tree.tree import Label

__all__ = ["Rule"]


class Rule:
    """One rule of a :class:`RuleSet`: a view, made when it is looked at.

    Parameters
    ----------
    rules : RuleSet
    index : int
        Place in the rule set (source order).

    Attributes
    ----------
    leaf_id : int
        Node id of the leaf that the rule comes from.
    prediction : label
        The class that the rule predicts, as the model labels it.
    class_name : str
        How that class reads.
    kept_ids, deleted_ids : tuple of int
        Links, by child node id, root to leaf.
    conditions : tuple of Condition
        What a person reads: the kept links with the bounds of one feature merged.
    support, reliability : float or None
        (Weighted) training rows that satisfy the rule, and the share of them in its class. None when it is not known.
    source_support, source_reliability : float or None
        The same for the leaf's own rule.
    class_counts : tuple of float, or None
        (Weighted) training rows of each class that satisfy the rule.
    reasons : mapping of int to Reason
        Why each link was deleted or kept.
    """

    __slots__ = ("_rules", "index")

    def __init__(self, rules: RuleSet, index: int) -> None:
        self._rules = rules
        self.index = index

    @property
    def leaf_id(self) -> int:
        """Node id of the leaf."""
        return int(self._rules.paths.leaf_ids[self.index])

    @property
    def prediction(self) -> Label:
        """The class label."""
        label: Label = self._rules.tree.classes[self._rules.paths.leaf_class[self.index]].item()
        return label

    @property
    def class_name(self) -> str:
        """How the class reads."""
        return self._rules.tree.class_names[int(self._rules.paths.leaf_class[self.index])]

    @property
    def kept_ids(self) -> tuple[int, ...]:
        """Links that were kept, root to leaf."""
        return tuple(self._links(deleted=False))

    @property
    def deleted_ids(self) -> tuple[int, ...]:
        """Links that were deleted, root to leaf."""
        return tuple(self._links(deleted=True))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What is kept, the bounds of one feature merged."""
        return read_conditions(self._rules.tree, self._rules.paths, self.kept_ids)

    @property
    def source_conditions(self) -> tuple[Condition, ...]:
        """The conditions of the leaf's own rule, before anything was deleted."""
        return read_conditions(self._rules.tree, self._rules.paths, self._links(deleted=None))

    @property
    def support(self) -> float | None:
        """(Weighted) training rows that satisfy the rule."""
        return _number(self._rules.support[self.index])

    @property
    def reliability(self) -> float | None:
        """Share of those rows in the rule's class."""
        return _number(self._rules.reliability[self.index])

    @property
    def source_support(self) -> float | None:
        """(Weighted) training rows of the leaf's own rule."""
        return _number(self._rules.source_support[self.index])

    @property
    def source_reliability(self) -> float | None:
        """Share of the leaf's rows in its class."""
        return _number(self._rules.source_reliability[self.index])

    @property
    def class_counts(self) -> tuple[float, ...] | None:
        """(Weighted) training rows of each class that satisfy the rule."""
        counts = self._rules.class_counts[self.index]
        return None if np.isnan(counts).any() else tuple(counts.tolist())

    @property
    def reasons(self) -> dict[int, Reason]:
        """Why each link was deleted or kept, by link id."""
        rules = self._rules
        found = make_reasons(
            rules.tree,
            rules.paths,
            rules.deletions,
            self.index,
            rules.parameters,
            rules._witnesses,
            rules.facts_used.of_rule(self.index),
            METHODS[rules.method].words,
        )
        return {reason.link_id: reason for reason in found}

    @property
    def is_weighted(self) -> bool:
        """Whether support is a sum of weights rather than a number of rows."""
        return self._rules.is_weighted

    @property
    def text(self) -> str:
        """The rule in a line, such as ``age <= 30 and income > 1000 => yes``."""
        return f"{join_conditions(self.conditions)} => {self.class_name}"

    def _links(self, *, deleted: bool | None) -> list[int]:
        span = self._rules.paths.entries(self.index)
        links = self._rules.paths.links[span]
        chosen: list[int] = links.tolist() if deleted is None else links[self._rules.deleted[span] == deleted].tolist()
        return chosen

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<rules[{self.index}] of leaf {self.leaf_id}: {self.text}>"


def _number(value: float) -> float | None:
    """A stored count or share; None where it is not known."""
    return None if np.isnan(value) else float(value)
