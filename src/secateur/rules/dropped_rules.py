"""Say why a rule of a leaf is not among compact rules: which rule says it too, or what leaving it out cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secateur.rules.array_sequence import ArraySequence
from secateur.rules.rule import Rule
from secateur.tree.shares import none_if_nan
from secateur.words.conditions import read_change, read_share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rules.compact_rules import CompactRules
    from secateur.tree.tree import Label

__all__ = ["DroppedRule", "DroppedRules", "find_covering_rules"]


def find_covering_rules(rules: CompactRules) -> NDArray[np.int64]:
    """Find the first written rule that stands for each leaf; -1 where none does."""
    offsets, leaves = rules.stand_ins
    written = np.repeat(np.arange(len(rules)), np.diff(offsets))
    first = np.full(len(rules.rules), len(rules), dtype=np.int64)
    np.minimum.at(first, leaves, written)
    return np.where(first < len(rules), first, -1)


class DroppedRule:
    """The rule of a leaf that is not written, as a view that is made on demand.

    Parameters
    ----------
    rules : CompactRules
    place : int
        Place of its leaf in source order.
    """

    __slots__ = ("_rules", "place")

    def __init__(self, rules: CompactRules, place: int) -> None:
        self._rules = rules
        self.place = place

    @property
    def source(self) -> Rule:
        """The rule as it was before some were chosen."""
        return Rule(self._rules.source, self.place)

    @property
    def leaf_id(self) -> int:
        """Node id of its leaf."""
        return self.source.leaf_id

    @property
    def prediction(self) -> Label:
        """The class that it predicts, as the model labels it."""
        return self.source.prediction

    @property
    def text(self) -> str:
        """The rule in a line with exact numbers."""
        return self.source.text

    @property
    def words(self) -> str:
        """The rule as people say it."""
        return self.source.words

    @property
    def covered_by(self) -> int | None:
        """Index of the first written rule that covers every row of its leaf; None where there is none."""
        found = int(self._rules.covering_rules[self.place])
        return None if found < 0 else found

    @property
    def before(self) -> float | None:
        """Share of training and shuffled rows decided otherwise before it was dropped; None without a budget."""
        return none_if_nan(self._rules.drop_costs[0, self.place])

    @property
    def after(self) -> float | None:
        """The same after it was dropped."""
        return none_if_nan(self._rules.drop_costs[1, self.place])

    @property
    def number(self) -> float | None:
        """Share of the training rows that dropping it added; None without a budget."""
        return none_if_nan(self._rules.drop_costs[2, self.place])

    @property
    def reason(self) -> str:
        """Why it is not written, in a sentence."""
        before, after, number = self._rules.drop_costs[:, self.place].tolist()
        cost = ""
        if before == after and number == 0:
            cost = "dropping it left as many training and shuffled rows decided as by the tree"
        elif before == before:
            cost = (
                f"when it was dropped, the rows decided otherwise than by the tree went from {read_share(before)} to "
                f"{read_share(after)} of training and shuffled rows together (of the training rows alone, "
                f"{read_change(number)}): within the budget of {100 * self._rules.budget:.6g}%"
            )
        if self.covered_by is not None:
            covered = f"rule {self.covered_by + 1} covers every row of its leaf"
            return covered if before == after or not cost else f"{covered}; {cost}"
        return cost or "no possible row reaches its leaf"

    def __str__(self) -> str:
        return f"{self.words}: {self.reason}"

    def __repr__(self) -> str:
        return f"<dropped rule of leaf {self.leaf_id}: {self.text}>"


class DroppedRules(ArraySequence[DroppedRule]):
    """The rules of leaves that compact rules do not write, though their class is written; in source order.

    Parameters
    ----------
    rules : CompactRules
    """

    nouns = "dropped rules"

    def __init__(self, rules: CompactRules) -> None:
        self._rules = rules
        is_dropped = rules.rules.paths.leaf_class != rules.otherwise_id
        is_dropped[rules.chosen] = False
        self.places = np.flatnonzero(is_dropped)

    @property
    def leaf_ids(self) -> NDArray[np.int64]:
        """Node ids of their leaves."""
        return self._rules.rules.paths.leaf_ids[self.places].astype(np.int64)

    @property
    def covered_by(self) -> NDArray[np.int64]:
        """Index of the first written rule that covers every row of each leaf; -1 where there is none."""
        return self._rules.covering_rules[self.places]

    @property
    def costs(self) -> NDArray[np.float64]:
        """``before``, ``after`` and ``number`` of each, shape (3, n_dropped); NaN without a budget."""
        return self._rules.drop_costs[:, self.places]

    def __len__(self) -> int:
        return len(self.places)

    def _make(self, place: int) -> DroppedRule:
        return DroppedRule(self._rules, int(self.places[place]))

    def __repr__(self) -> str:
        return f"<DroppedRules: {len(self)} rules that are not written>"
