"""Rule: a view of one rule of a rule set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secateur.methods import METHODS
from secateur.tree.shares import none_if_nan
from secateur.words.conditions import Condition, join_conditions, read_conditions
from secateur.words.plain_words import read_asked, say_rule
from secateur.words.reasons import make_reasons

if TYPE_CHECKING:
    from secateur.rules.rule_set import RuleSet
    from secateur.tree.tree import Label
    from secateur.words.reasons import Reason

__all__ = ["Rule"]


class Rule:
    """One rule of a :class:`RuleSet`, as a view that is made on demand.

    Parameters
    ----------
    rules : RuleSet
    index : int
        Place in the rule set, in source order.
    """

    __slots__ = ("_rules", "index")

    def __init__(self, rules: RuleSet, index: int) -> None:
        self._rules = rules
        self.index = index

    @property
    def leaf_id(self) -> int:
        """Node id of the leaf that the rule comes from."""
        return int(self._rules.paths.leaf_ids[self.index])

    @property
    def prediction(self) -> Label:
        """The class that the rule predicts, as the model labels it."""
        label: Label = self._rules.tree.classes[self._rules.paths.leaf_class[self.index]].item()
        return label

    @property
    def class_name(self) -> str:
        """The name of the predicted class."""
        return self._rules.tree.class_names[int(self._rules.paths.leaf_class[self.index])]

    @property
    def kept_ids(self) -> tuple[int, ...]:
        """Links that were kept, by child node id, root to leaf."""
        return tuple(self._links(deleted=False))

    @property
    def deleted_ids(self) -> tuple[int, ...]:
        """Links that were deleted, by child node id, root to leaf."""
        return tuple(self._links(deleted=True))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The kept conditions as a person reads them: the bounds of one feature merged."""
        return read_conditions(self._rules.tree, self._rules.paths, self.kept_ids)

    @property
    def source_conditions(self) -> tuple[Condition, ...]:
        """The conditions of the leaf's own rule, before anything was deleted."""
        return read_conditions(self._rules.tree, self._rules.paths, self._links(deleted=None))

    @property
    def support(self) -> float | None:
        """(Weighted) training rows that satisfy the rule; None where not known."""
        return none_if_nan(self._rules.support[self.index])

    @property
    def reliability(self) -> float | None:
        """Share of those rows in the rule's class; None where not known."""
        return none_if_nan(self._rules.reliability[self.index])

    @property
    def source_support(self) -> float | None:
        """(Weighted) training rows that reach the leaf; None where not known."""
        return none_if_nan(self._rules.source_support[self.index])

    @property
    def source_reliability(self) -> float | None:
        """Share of the leaf's rows in its class; None where not known."""
        return none_if_nan(self._rules.source_reliability[self.index])

    @property
    def class_counts(self) -> tuple[float, ...] | None:
        """(Weighted) training rows of each class that satisfy the rule; None where not known."""
        counts = self._rules.class_counts[self.index]
        return None if np.isnan(counts).any() else tuple(counts.tolist())

    @property
    def assimilated_into(self) -> int | None:
        """The ancestor node whose rule this one became: it asks what the path to that node asks, and covers more rows.

        The root is node 0. None where the rule became no ancestor's, or where its rows are not known.
        """
        node = int(self._rules.assimilated_into[self.index])
        return None if node < 0 else node

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
        """Whether support is a sum of weights, not a number of rows."""
        return self._rules.is_weighted

    @property
    def text(self) -> str:
        """The rule in a line with exact numbers, such as ``age <= 30 and income > 1000 => yes``."""
        return f"{join_conditions(self.conditions)} => {self.class_name}"

    @property
    def asks(self) -> tuple[str, ...]:
        """What the rule asks, a condition each, as people say it: ``income > 1,000``, ``city is not Oslo``."""
        return read_asked(self._rules, self.kept_ids)

    @property
    def words(self) -> str:
        """The rule as people say it, such as ``yes if age ≤ 30 and income > 1,000``, also its ``str()``.

        Its numbers are short; :attr:`text` has the exact ones.
        """
        return say_rule(self._rules, self.kept_ids, self.class_name)

    def _links(self, *, deleted: bool | None) -> list[int]:
        span = self._rules.paths.entries(self.index)
        links = self._rules.paths.links[span]
        chosen: list[int] = links.tolist() if deleted is None else links[self._rules.deleted[span] == deleted].tolist()
        return chosen

    def __str__(self) -> str:
        return self.words

    def __repr__(self) -> str:
        return f"<rules[{self.index}] of leaf {self.leaf_id}: {self.text}>"
