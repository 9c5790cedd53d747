"""The lines of a list: how they are laid out in sections, what they are asked, and the rows that each decides."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from secateur.counting.masks import ClassMasks, mask_blocks, number_rows
from secateur.counting.targets import find_moments, sum_targets
from secateur.errors import ParameterError, did_you_mean
from secateur.rows.row_source import RowSource
from secateur.rows.rows import Rows
from secateur.tree.facts import NO_FACTS
from secateur.tree.tree import Tree

if TYPE_CHECKING:
    from secateur.rows.row_source import GivenRows
    from secateur.rows.rows import LabelledRows
    from secateur.rules.rules import Rules


@dataclass(frozen=True, eq=False)
class Layout:
    """The sections of a list, and what its lines state, as arrays.

    Lines are the rules of the first section, its "otherwise", the rules of the second section, and so on.
    """

    nodes: NDArray[np.int64]  # at which each section begins; the root where there is one
    defaults: NDArray[np.int64]  # index of the class of each "otherwise"
    starts: NDArray[np.int64]  # rules starts[i] to starts[i + 1] - 1 are those of section i
    shares: NDArray[np.float64]  # of its class that each line states; NaN where it states none
    windows: NDArray[np.float64]  # the least and the largest share of the leaves that it may answer for; NaN as above
    # contained[offsets[i]:offsets[i + 1]] are the leaves that line i stands for, by place: those that lie in it; of
    # "otherwise", those of its section that lie in no rule.
    offsets: NDArray[np.int64]
    contained: NDArray[np.int64]
    answers: NDArray[np.int64] | None = None  # class of each rule, where an edit gave one another than its leaf's

    def __post_init__(self) -> None:
        for array in (getattr(self, one.name) for one in fields(self)):
            if array is not None:
                array.flags.writeable = False

    @property
    def n_sections(self) -> int:
        """Number of sections."""
        return len(self.nodes)

    @cached_property
    def section_of_rule(self) -> NDArray[np.int64]:
        """The section of each rule."""
        return np.repeat(np.arange(self.n_sections), np.diff(self.starts))

    @cached_property
    def rule_lines(self) -> NDArray[np.int64]:
        """The line of each rule."""
        return np.arange(int(self.starts[-1])) + self.section_of_rule

    @cached_property
    def rest_lines(self) -> NDArray[np.int64]:
        """The line of each "otherwise"."""
        return self.starts[1:] + np.arange(self.n_sections)

    @cached_property
    def section_of_line(self) -> NDArray[np.int64]:
        """The section of each line."""
        return np.repeat(np.arange(self.n_sections), np.diff(self.starts) + 1)

    def find_sections(self, tree: Tree) -> NDArray[np.int64]:
        """Find the section of each leaf, by place."""
        first, last = tree.leaf_runs
        found = np.zeros(tree.n_leaves, dtype=np.int64)
        for section, node in enumerate(self.nodes.tolist()):
            found[first[node] : last[node]] = section
        return found

    def stands_for(self, line: int) -> NDArray[np.int64]:
        """The leaves that a line stands for, by place."""
        return self.contained[self.offsets[line] : self.offsets[line + 1]]


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
MOST_MASKED = 1 << 26  # pairs of a rule and a row; beyond, it takes less to find out how to route rows


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
        from secateur.rules.line_routes import mask_lines

        rules, tree = self.rules, self.rules.tree
        rows, class_ids, weights, targets = listed
        assert rules.layout is not None
        is_few, decided = len(rules) <= FEW_RULES, np.zeros((rules.n_lines, tree.n_classes))
        covered = np.full_like(decided, 0.0 if is_few else np.nan)
        line = np.empty(0 if targets is None else rows.n_rows, dtype=np.int64)
        if is_few or len(rules) * rows.n_rows <= MOST_MASKED:
            for span, masks in mask_blocks(tree, rows):
                classes = ClassMasks(class_ids[span], None if weights is None else weights[span], tree.n_classes)
                parts = []
                for number, own, won in mask_lines(rules, masks):
                    if is_few:
                        classes.add(own, covered[number])
                    classes.add(won, decided[number])
                    if targets is not None:
                        parts.append((number, won))
                if targets is not None:
                    line[span] = number_rows(parts, rules.n_lines, span.stop - span.start)
        else:
            line = rules.find_lines(rows)
            np.add.at(decided, (line, class_ids), 1.0 if weights is None else weights)
        sums = None if targets is None else sum_targets(line, rules.answers, listed)
        return LineCounts(decided, covered[rules.layout.rule_lines], sums)

    def add(self, total: LineCounts, part: LineCounts) -> LineCounts:
        """Add the counts of a further piece."""
        return total + part


def count_lines(made: Rules, given: GivenRows | RowSource | None) -> Rules:
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
    with nullcontext(given) if isinstance(given, RowSource) else made._open(*given) as rows:
        counted = rows.fold(without_facts(made.tree), LineCounter(made.change(decided_counts=unknown)))
    covered[made.leaves] = counted.covered
    moments = None if counted.sums is None else find_moments(counted.sums, layout.shares)
    return made.change(decided_counts=counted.decided, covered_counts=covered, target_moments=moments)
