"""Rule: a view of one line of a rule list."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from secateur.tree.shares import none_if_nan
from secateur.words.conditions import Condition, join_conditions, read_change, read_conditions, read_share
from secateur.words.plain_words import join_asked, read_asked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rules.rules import Rules
    from secateur.tree.tree import Label
    from secateur.words.reasons import Reason

__all__ = ["Rule", "Section", "UnwrittenRule"]


class Rule:
    """One line of :class:`Rules`, as a view that is made on demand: a rule, or "otherwise", which has no conditions.

    Parameters
    ----------
    rules : Rules
    index : int
        Place in ``rules.lines``, as they are printed.
    """

    __slots__ = ("_rules", "index")

    def __init__(self, rules: Rules, index: int) -> None:
        self._rules = rules
        self.index = index

    @property
    def is_otherwise(self) -> bool:
        """Whether this is the line of the rows that no rule covers."""
        return self.index == len(self._rules.leaves)

    @property
    def place(self) -> int:
        """Place of the rule's leaf in source order; -1 of "otherwise"."""
        return -1 if self.is_otherwise else int(self._rules.leaves[self.index])

    @property
    def leaf_id(self) -> int | None:
        """Node id of the leaf that the rule comes from; None of "otherwise"."""
        return None if self.is_otherwise else int(self._rules.paths.leaf_ids[self.place])

    @property
    def leaf_ids(self) -> tuple[int, ...]:
        """Node ids of the leaves that the line stands for: their regions lie in its own, or it is left with them."""
        return tuple(self._rules.paths.leaf_ids[self._rules.stands_for(self.index)].tolist())

    @property
    def class_id(self) -> int:
        """Index of the class that the line predicts."""
        return int(self._rules.class_ids[self.index])

    @property
    def prediction(self) -> Label:
        """The class that the line predicts, as the model labels it."""
        label: Label = self._rules.tree.classes[self.class_id].item()
        return label

    @property
    def class_name(self) -> str:
        """The name of the predicted class."""
        return self._rules.tree.class_names[self.class_id]

    @property
    def kept_ids(self) -> tuple[int, ...]:
        """Edges that were kept, by child node id, root to leaf."""
        return tuple(self._edges(deleted=False))

    @property
    def deleted_ids(self) -> tuple[int, ...]:
        """Edges that were deleted, by child node id, root to leaf."""
        return tuple(self._edges(deleted=True))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The kept conditions as a person reads them: the bounds of one feature merged."""
        return read_conditions(self._rules.tree, self._rules.paths, self.kept_ids)

    @property
    def source_conditions(self) -> tuple[Condition, ...]:
        """The conditions of the leaf's own rule, before anything was deleted."""
        return read_conditions(self._rules.tree, self._rules.paths, self._edges(deleted=None))

    @property
    def support(self) -> float | None:
        """(Weighted) training rows of the line; None where not known.

        Those of a list's line are the rows that it decides, so that all lines add up to all rows; with one rule for
        each leaf, the rows that satisfy the rule.
        """
        return none_if_nan(self._rules.support[self.index])

    @property
    def reliability(self) -> float | None:
        """Share of those rows in the line's class; None where not known."""
        return none_if_nan(self._rules.reliability[self.index])

    @property
    def class_counts(self) -> tuple[float, ...] | None:
        """(Weighted) training rows of each class among them; None where not known."""
        counts = self._rules.counts[self.index]
        return None if np.isnan(counts).any() else tuple(counts.tolist())

    @property
    def covered_support(self) -> float | None:
        """(Weighted) training rows that satisfy the line's conditions, whichever line decides them."""
        return self.support if self.is_otherwise else none_if_nan(self._rules.covered_support[self.place])

    @property
    def covered_reliability(self) -> float | None:
        """Share of the rows that satisfy the line's conditions in its class."""
        return self.reliability if self.is_otherwise else none_if_nan(self._rules.covered_reliability[self.place])

    @property
    def source_support(self) -> float | None:
        """(Weighted) training rows that reach the rule's leaf; None where not known, and of "otherwise"."""
        return None if self.is_otherwise else none_if_nan(self._rules.leaf_support[self.place])

    @property
    def source_reliability(self) -> float | None:
        """Share of the leaf's rows in its class; None where not known, and of "otherwise"."""
        return None if self.is_otherwise else none_if_nan(self._rules.leaf_reliability[self.place])

    @property
    def assimilated_into(self) -> int | None:
        """The ancestor node whose rule this one became: it asks what the path to that node asks, and covers more rows.

        The root is node 0. None where the rule became no ancestor's, or where its rows are not known.
        """
        node = -1 if self.is_otherwise else int(self._rules.assimilated_into[self.place])
        return None if node < 0 else node

    @property
    def reasons(self) -> dict[int, Reason]:
        """Why each edge was deleted or kept, by edge id."""
        return {} if self.is_otherwise else self._rules.reasons_of(self.place)

    @property
    def is_weighted(self) -> bool:
        """Whether support is a sum of weights, not a number of rows."""
        return self._rules.is_weighted

    @property
    def section(self) -> Section:
        """The section that the line belongs to."""
        return self._rules.sections[0]

    @property
    def text(self) -> str:
        """The line with exact numbers, such as ``age <= 30 and income > 1000 => yes``."""
        asked = self._rules.rest_word if self.is_otherwise else join_conditions(self.conditions)
        return f"{asked} => {self.class_name}"

    @property
    def asks(self) -> tuple[str, ...]:
        """What the rule asks, a condition each, as people say it: ``income > 1,000``, ``city is not Oslo``."""
        return read_asked(self._rules, self.kept_ids)

    @property
    def asked(self) -> str:
        """What the line asks, as people say it, joined; ``otherwise`` of the last line of a list."""
        return self._rules.rest_word if self.is_otherwise else join_asked(self.asks)

    @property
    def words(self) -> str:
        """The line as people say it, such as ``yes if age ≤ 30 and income > 1,000``, also its ``str()``.

        Its numbers are short; :attr:`text` has the exact ones.
        """
        if self.is_otherwise or not self.kept_ids:
            return f"{self.asked} {self.class_name}"
        return f"{self.class_name} if {self.asked}"

    def _edges(self, *, deleted: bool | None) -> list[int]:
        if self.is_otherwise:
            return []
        span = self._rules.paths.entries(self.place)
        edges = self._rules.paths.links[span]
        chosen: list[int] = edges.tolist() if deleted is None else edges[self._rules.deleted[span] == deleted].tolist()
        return chosen

    def __str__(self) -> str:
        return self.words

    def __repr__(self) -> str:
        return f"<line {self.index + 1} of {len(self._rules.class_ids)}: {self.text}>"


class Section(NamedTuple):
    """Lines that answer together: those of the whole tree.

    Attributes
    ----------
    heading : tuple of Condition
        What all rows of the section have in common; empty, because there is one section.
    rules : tuple of Rule
        Its rules, as they are printed.
    otherwise : Rule or None
        The line of rows that no rule covers; None if there is a rule for each leaf.
    support : float or None
        (Weighted) training rows of the section; None where not known.
    """

    heading: tuple[Condition, ...]
    rules: tuple[Rule, ...]
    otherwise: Rule | None
    support: float | None


class UnwrittenRule(NamedTuple):
    """The rule of a leaf that a list does not write, and why it need not be.

    Attributes
    ----------
    rule : Rule
        The rule as it was before lines were chosen.
    covered_by : int or None
        Index of the first written rule that covers every row of its leaf; None where there is none.
    before, after : float or None
        Share of training and shuffled rows that differ from the tree before and after it was dropped; None without a
        budget.
    number : float or None
        Share of the training rows that dropping it added; None without a budget.
    budget : float
        Fraction of training rows whose answer may differ.
    """

    rule: Rule
    covered_by: int | None
    before: float | None
    after: float | None
    number: float | None
    budget: float

    @property
    def reason(self) -> str:
        """Why it is not written, in a sentence."""
        cost = ""
        is_free = self.before == self.after and not self.number
        if is_free and self.before is not None:
            cost = "dropping it left as many training and shuffled rows answered as by the tree"
        elif self.before is not None and self.number is not None:
            cost = (
                f"when it was dropped, the rows that differ from the tree went from {read_share(self.before)} to "
                f"{read_share(self.after)} of training and shuffled rows together (of the training rows alone, "
                f"{read_change(self.number)}): within the budget of {100 * self.budget:.6g}%"
            )
        if self.covered_by is not None:
            covered = f"rule {self.covered_by + 1} covers every row of its leaf"
            return covered if self.before == self.after or not cost else f"{covered}; {cost}"
        return cost or "no possible row reaches its leaf"

    def __str__(self) -> str:
        return f"{self.rule.words}: {self.reason}"


def find_covering_rules(rules: Rules) -> NDArray[np.int64]:
    """Find the first written rule that stands for each leaf, in source order; -1 where none does."""
    if rules.choice is None:
        return np.arange(rules.paths.n_rules)
    offsets, leaves = rules.choice.stand_ins
    written = np.repeat(np.arange(len(rules)), np.diff(offsets))
    first = np.full(rules.paths.n_rules, len(rules), dtype=np.int64)
    np.minimum.at(first, leaves, written)
    return np.where(first < len(rules), first, -1)


def list_unwritten(rules: Rules) -> list[UnwrittenRule]:
    """List the rules of leaves that are not written though their class is, in source order."""
    if rules.choice is None:
        return []
    is_left = rules.paths.leaf_class != rules.default
    is_left[rules.leaves] = False
    before, covering = rules.before_choice, find_covering_rules(rules)
    listed = []
    for place in np.flatnonzero(is_left).tolist():
        covered_by = int(covering[place])
        first, last, number = map(none_if_nan, rules.choice.drop_costs[:, place].tolist())
        by = None if covered_by < 0 else covered_by
        listed.append(UnwrittenRule(before[place], by, first, last, number, rules.budget))
    return listed
