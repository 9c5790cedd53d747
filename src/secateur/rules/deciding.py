"""Questions that rules answer row by row, as row sources take them, and counts of the rows that each line decides."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from secateur.counting.coverage import count_covered
from secateur.counting.targets import find_moments, sum_targets
from secateur.errors import ParameterError, did_you_mean
from secateur.rows.rows import Rows
from secateur.tree.facts import NO_FACTS
from secateur.tree.tree import Tree

if TYPE_CHECKING:
    from secateur.rows.row_source import GivenRows
    from secateur.rows.rows import LabelledRows
    from secateur.rules.rules import Rules

__all__ = ["Deciding", "LineCounter", "LineCounts", "check_of", "count_lines", "without_facts"]


@dataclass(frozen=True)
class Deciding:
    """A question that rules answer row by row."""

    rules: Any  # Rules or ForestRules
    name: str  # the method that the user called
    find: Callable[[Rows], NDArray[Any]]  # answers for rows in memory
    features: Collection[int] | None = None  # columns to read; by default those that the tree tests

    def __call__(self, rows: Rows) -> NDArray[Any]:
        """Answer for rows in memory."""
        return self.find(rows)


def without_facts(tree: Tree) -> Tree:
    """Drop a tree's facts, so that rows that contradict them are still decided."""
    return replace(tree, facts=NO_FACTS) if tree.facts else tree


def check_of(of: Any) -> None:
    """Raise unless ``of`` is "line" or "leaf"."""
    if of not in ("line", "leaf"):
        raise ParameterError(
            f"Expected of as 'line' (the rules' probabilities) or 'leaf' (the tree's own), found {of!r}."
            f"{did_you_mean(of, ('line', 'leaf'))}"
        )


FEW_RULES = 512  # of more, only the rows that they decide are counted


@dataclass(frozen=True)
class LineCounts:
    """(Weighted) rows by class."""

    decided: NDArray[np.float64]  # by each line, shape (n_lines, n_classes)
    covered: NDArray[np.float64]  # by each rule, whichever line decides them, shape (n_rules, n_classes)
    sums: NDArray[np.float64] | None = None  # of what the targets of a line's rows lie above its value, and of squares

    def __add__(self, other: LineCounts) -> LineCounts:
        sums = None if self.sums is None or other.sums is None else self.sums + other.sums
        return LineCounts(self.decided + other.decided, self.covered + other.covered, sums)


@dataclass(frozen=True)
class LineCounter:
    """Counts rows of a list."""

    rules: Rules
    features = None  # those that the tree tests

    def count(self, listed: LabelledRows) -> LineCounts:
        """Count some rows."""
        rules, n_classes = self.rules, self.rules.tree.n_classes
        rows, class_ids, weights, targets = listed
        heavy = np.ones(rows.n_rows) if weights is None else weights
        line = rules.find_lines(rows)
        size = rules.n_lines * n_classes
        decided = np.bincount(line * n_classes + class_ids, heavy, size).astype(np.float64).reshape(-1, n_classes)
        covered = np.full((len(rules), n_classes), np.nan)
        if len(rules) <= FEW_RULES:
            covered = count_covered(rules.tree, rules.paths, rules.deleted, listed, rules.leaves)
        sums = None if targets is None else sum_targets(line, rules.answers, listed)
        return LineCounts(decided, covered, sums)

    def add(self, total: LineCounts, part: LineCounts) -> LineCounts:
        """Add the counts of a further piece."""
        return total + part


def count_lines(made: Rules, given: GivenRows | None) -> Rules:
    """Count the rows that each line of a list decides, and that each written rule covers."""
    layout = made.layout
    assert layout is not None
    unknown = np.full((made.n_lines, made.tree.n_classes), np.nan)
    covered = np.array(made.covered_counts)
    if given is None:
        # Without rows it is known of an "otherwise" whose class no rule of its section has: none takes rows from it.
        for section, line in enumerate(layout.rest_lines.tolist()):
            rules = made.leaves[layout.starts[section] : layout.starts[section + 1]]
            if made.is_exact and layout.defaults[section] not in made.paths.leaf_class[rules]:
                unknown[line] = made.leaf_counts[layout.stands_for(line)].sum(axis=0)
        assert made.choice is not None
        covered[made.paths.rule[made.deleted != made.choice.deletions.deleted]] = np.nan  # rules of other rows now
        return made.change(decided_counts=unknown, covered_counts=covered)
    with made._open(*given) as rows:
        counted = rows.fold(without_facts(made.tree), LineCounter(made.change(decided_counts=unknown)))
    covered[made.leaves] = counted.covered
    moments = None if counted.sums is None else find_moments(counted.sums, layout.shares)
    return made.change(decided_counts=counted.decided, covered_counts=covered, target_moments=moments)
