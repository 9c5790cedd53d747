"""What the page is made of: the rows at hand, numbers as JSON holds them, and sentences that it carries once."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.results.audit import Audit
from secateur.rows.checking import check_labels
from secateur.rows.opening import check_pair
from secateur.rows.row_source import GivenRows, ModelTerms
from secateur.rows.rows import Rows, apply_tree, count_classes
from secateur.rules.rule import Rule
from secateur.rules.rules import Rules
from secateur.words.conditions import count_of


@dataclass(frozen=True)
class RowsAtHand:
    """The rows that a report can use, checked once."""

    training: GivenRows | None  # that the rules were made from
    measured: GivenRows | None  # that rules are audited on

    @property
    def n_rows(self) -> int | None:
        """Number of rows measured on."""
        return None if self.measured is None else self.measured.X.n_rows

    @property
    def is_training(self) -> bool:
        """Whether the rows measured on are the training rows."""
        return self.measured is not None and self.measured is self.training

    @property
    def is_new(self) -> bool:
        """Whether the rows measured on are known to be others than the training rows."""
        return self.measured is not None and self.training is not None and not self.is_training

    @property
    def words(self) -> str:
        """Which rows a number was measured on, after "of"; empty if there are none."""
        if self.n_rows is None:
            return ""
        number = count_of(self.n_rows, "row")
        if self.is_training:
            return f"the {number.replace(' row', ' training row')}"
        if self.is_new:
            return number.replace(" row", " unseen row")
        return f"{number}, some of which the tree may have been fitted to"

    @property
    def note(self) -> str:
        """A sentence on what the numbers were measured on."""
        if not self.words:
            return "No rows were at hand, so nothing was measured on rows."
        return f"Measured on {self.words}{'; new rows usually do worse' if self.is_training else ''}."

    def measure(self, rules: Rules) -> Rules:
        """Count the unseen rows of each line, if there are such rows."""
        rows = self.measured
        if rows is None or not self.is_new or rules.fidelity is not None:
            return rules
        return rules.measure(rows.X, rows.y, rows.sample_weight)

    def audit(self, rules: Rules) -> Audit | None:
        """Audit rules on the rows to measure on; None if there are none."""
        rows = self.measured
        return None if rows is None else rules.audit(rows.X, rows.y, sample_weight=rows.sample_weight)


def find_rows(rules: Rules, X: Any = None, y: Any = None, sample_weight: Any = None) -> RowsAtHand:
    """Find the training rows, and the rows to measure on: those passed, else the training rows.

    Rows that give every leaf its counts are taken for the training rows: those of rules from a file, and of a caller
    who passes them once more.
    """
    check_pair(X, y, sample_weight)
    own = rules.training if rules.is_ranked else None
    training = None if own is None else _check(rules, own)
    if X is None:
        return RowsAtHand(training, training)
    passed = _check(rules, GivenRows(X, y, sample_weight))
    class_ids = check_labels(rules.tree, passed.y, passed.X.n_rows)
    counts = count_classes(rules.tree, apply_tree(rules.tree, passed.X), class_ids, passed.sample_weight)
    is_same = rules.is_ranked and np.array_equal(counts[rules.paths.leaf_ids], rules.leaf_counts)
    return RowsAtHand(passed if is_same else training, passed)


def _check(rules: Rules, given: GivenRows) -> GivenRows:
    """Bring rows into memory and into the tree's terms, so that they are read once."""
    tree = rules.tree
    with rules._open(*given) as rows:
        held = rows.hold(lambda: ModelTerms.of(tree), "A report reads its rows many times")
    listed = held.read_labelled(tree)
    return GivenRows(Rows.of(listed.rows.matrix), tree.classes[listed.class_ids], listed.weights)


PHRASE_END = re.compile(r"(?<=[;:,]) ")


@dataclass
class Texts:
    """Sentences, each listed once, as places of phrases: sentences of a kind share most of them."""

    listed: list[list[int]] = field(default_factory=list)
    _phrases: dict[str, int] = field(default_factory=dict)
    _places: dict[str, int] = field(default_factory=dict)

    @property
    def phrases(self) -> list[str]:
        """The phrases, to be joined by blanks."""
        return list(self._phrases)

    def place(self, text: str) -> int:
        """List a sentence once, and give its place."""
        if text not in self._places:
            self._places[text] = len(self.listed)
            parts = PHRASE_END.split(text)
            self.listed.append([self._phrases.setdefault(part, len(self._phrases)) for part in parts])
        return self._places[text]

    def place_reasons(self, rule: Rule) -> list[int]:
        """List why each condition of a rule was deleted or kept, and give the places."""
        return [self.place(reason.text) for reason in rule.reasons.values()]


def known_numbers(values: Iterable[float]) -> list[float | int | None]:
    """Write numbers for JSON: whole ones short, unknown ones as None."""
    return [None if v != v else int(v) if v == int(v) else float(v) for v in values]


def pair_limits(limits: tuple[NDArray[np.float64], NDArray[np.float64]]) -> list[list[float] | None]:
    """Pair lower and upper limits, to a tenth of a percent as they are shown; None where they are not known."""
    low, high = (np.round(side, 3) + 0.0 for side in limits)
    return [None if a != a else [a, b] for a, b in zip(low.tolist(), high.tolist(), strict=True)]
