"""One rule of compact rules, as a view that is made on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secateur.rules.rule import Rule
from secateur.tree.shares import none_if_nan

if TYPE_CHECKING:
    from secateur.rules.compact_rules import CompactRules
    from secateur.tree.tree import Label
    from secateur.words.conditions import Condition
    from secateur.words.reasons import Reason

__all__ = ["CompactRule"]


class CompactRule:
    """One rule of a :class:`CompactRules`, as a view that is made on demand.

    Parameters
    ----------
    rules : CompactRules
    index : int
        Place in the compact rules, as they are printed.
    """

    __slots__ = ("_rules", "index")

    def __init__(self, rules: CompactRules, index: int) -> None:
        self._rules = rules
        self.index = index

    @property
    def source(self) -> Rule:
        """The rule of one leaf that this rule is, with its path and what was deleted from it."""
        return Rule(self._rules.rules, int(self._rules.chosen[self.index]))

    @property
    def leaf_id(self) -> int:
        """Node id of the leaf from whose path the rule comes."""
        return self.source.leaf_id

    @property
    def leaf_ids(self) -> tuple[int, ...]:
        """Node ids of the leaves that the rule stands for: their regions lie in its own."""
        return tuple(self._rules.rules.paths.leaf_ids[self._rules.stands_for(self.index)].tolist())

    @property
    def prediction(self) -> Label:
        """The class that the rule predicts, as the model labels it."""
        return self.source.prediction

    @property
    def class_name(self) -> str:
        """The name of the predicted class."""
        return self.source.class_name

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The kept conditions as a person reads them: the bounds of one feature merged."""
        return self.source.conditions

    @property
    def kept_ids(self) -> tuple[int, ...]:
        """Links that were kept, by child node id, root to leaf."""
        return self.source.kept_ids

    @property
    def deleted_ids(self) -> tuple[int, ...]:
        """Links that were deleted, by child node id, root to leaf."""
        return self.source.deleted_ids

    @property
    def support(self) -> float | None:
        """(Weighted) training rows that satisfy the rule; None where not known."""
        return self.source.support

    @property
    def reliability(self) -> float | None:
        """Share of those rows in the rule's class; None where not known."""
        return self.source.reliability

    @property
    def decided_support(self) -> float | None:
        """(Weighted) training rows that the rule decides; those of all rules and "otherwise" add up to all rows."""
        return none_if_nan(self._rules.decided_counts[self.index].sum())

    @property
    def decided_reliability(self) -> float | None:
        """Share of the rows that it decides in the rule's class; None where not known."""
        return none_if_nan(self._rules.decided_reliability[self.index])

    @property
    def reasons(self) -> dict[int, Reason]:
        """Why each link was deleted or kept, by link id."""
        return self._rules.reasons_of(int(self._rules.chosen[self.index]))

    @property
    def is_weighted(self) -> bool:
        """Whether support is a sum of weights, not a number of rows."""
        return self._rules.rules.is_weighted

    @property
    def text(self) -> str:
        """The rule in a line with exact numbers, such as ``age <= 30 and income > 1000 => yes``."""
        return self.source.text

    @property
    def asks(self) -> tuple[str, ...]:
        """What the rule asks, a condition each, as people say it: ``income > 1,000``, ``city is not Oslo``."""
        return self.source.asks

    @property
    def words(self) -> str:
        """The rule as people say it, such as ``yes if age ≤ 30 and income > 1,000``, also its ``str()``."""
        return self.source.words

    def __str__(self) -> str:
        return self.words

    def __repr__(self) -> str:
        return f"<rule {self.index + 1} of compact rules: {self.text}>"
