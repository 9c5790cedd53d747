"""The lines of a list: how they are laid out in sections, what they are asked, and the rows that each decides.

Leaf and line of a row are found by masks of rows, or by one walk, which asks below each leaf of the tree what it takes
to know the line.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from secateur.counting.masks import (
    ClassMasks,
    Masks,
    mask_blocks,
    mask_leaves,
    number_rows,
    rows_in,
    rows_of_rule,
    unpack_bits,
)
from secateur.counting.targets import find_moments, sum_targets
from secateur.errors import ParameterError, did_you_mean
from secateur.methods.leaves import LeafMasks, list_places, make_mask
from secateur.rows.row_source import RowSource
from secateur.rows.rows import Routes, Rows
from secateur.tree.facts import NO_FACTS
from secateur.tree.tree import Tree

if TYPE_CHECKING:
    from secateur.rows.row_source import GivenRows
    from secateur.rows.rows import LabelledRows
    from secateur.rules.leaf_rules import LineRules
    from secateur.rules.rules import Rules

MOST_LEAVES = 2_000  # of more, masks of leaves take longer than masks of rows
MOST_NODES = 100  # times those of the tree


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
    """Counts rows of lists about one tree."""

    lists: Sequence[Rules]
    features = None  # those that the tree tests

    def count(self, listed: LabelledRows) -> list[LineCounts]:
        """Count some rows."""
        tallies = [_Tally(rules, listed) for rules in self.lists]
        masked = [tally for tally in tallies if tally.is_masked]
        if masked:
            tree, rows = masked[0].rules.tree, listed.rows
            asked = np.unique(np.concatenate([tally.list_splits() for tally in masked]))
            for span, masks in mask_blocks(tree, rows, asked):
                for tally in masked:
                    tally.add(span, masks)
        return [tally.finish() for tally in tallies]

    def add(self, total: list[LineCounts], part: list[LineCounts]) -> list[LineCounts]:
        """Add the counts of a further piece."""
        return [one + other for one, other in zip(total, part, strict=True)]


class _Tally:
    """The counts of one list, while its rows are counted."""

    def __init__(self, rules: Rules, listed: LabelledRows) -> None:
        self.rules, self._layout, self._listed = rules, rules.list_layout, listed
        n_rows, self._is_few = listed.rows.n_rows, len(rules) <= FEW_RULES
        self._decided = np.zeros((rules.n_lines, rules.tree.n_classes))
        self._covered = np.full_like(self._decided, 0.0 if self._is_few else np.nan)
        self._line = np.empty(0 if listed.targets is None else n_rows, dtype=np.min_scalar_type(-rules.n_lines))
        self.is_masked = self._is_few or len(rules) * n_rows <= MOST_MASKED

    def list_splits(self) -> NDArray[np.int64]:
        """List the splits that its lines and headings ask."""
        paths, nodes = self.rules.paths, self._layout.nodes.tolist()
        is_asked = np.isin(paths.rule, self.rules.leaves) & ~self.rules.deleted
        heading = [link for node in nodes for link in paths.list_path(node)]
        return np.unique(paths.parent[np.append(paths.links[is_asked], np.array(heading, dtype=np.int32))])

    def add(self, span: slice, masks: Masks) -> None:
        """Count a block of rows."""
        _, class_ids, weights, targets = self._listed
        own = None if weights is None else weights[span]
        classes, parts = ClassMasks(class_ids[span], own, self.rules.tree.n_classes), []
        for number, covered, won in mask_lines(self.rules, masks):
            if self._is_few:
                classes.add(covered, self._covered[number])
            classes.add(won, self._decided[number])
            if targets is not None:
                parts.append((number, won))
        if targets is not None:
            self._line[span] = number_rows(parts, self.rules.n_lines, span.stop - span.start)

    def finish(self) -> LineCounts:
        """Give what was counted; rows that were not masked are counted now."""
        rows, class_ids, weights, targets = self._listed
        if not self.is_masked:
            self._line = self.rules.find_lines(rows)
            np.add.at(self._decided, (self._line, class_ids), 1.0 if weights is None else weights)
        sums = None if targets is None else sum_targets(self._line, self.rules.answers, self._listed)
        return LineCounts(self._decided, self._covered[self._layout.rule_lines], sums)


def count_lines(made: Rules, given: GivenRows | RowSource | None) -> Rules:
    """Count the rows that each line of a list decides, and that each written rule covers."""
    return count_lists([made], given)[0]


def count_lists(lists: Sequence[Rules], given: GivenRows | RowSource | None) -> list[Rules]:
    """Count the rows of the lines of several lists about one tree, which are read once."""
    unknown = [np.full((made.n_lines, made.tree.n_classes), np.nan) for made in lists]
    if given is None or not lists:
        return [_know_lines(made, counts) for made, counts in zip(lists, unknown, strict=True)]
    counter = LineCounter([made.change(decided_counts=nan) for made, nan in zip(lists, unknown, strict=True)])
    with nullcontext(given) if isinstance(given, RowSource) else lists[0]._open(*given) as rows:
        found = rows.fold(without_facts(lists[0].tree), counter)
    return [_set_counts(made, counted) for made, counted in zip(lists, found, strict=True)]


def _know_lines(made: Rules, decided: NDArray[np.float64]) -> Rules:
    """Set what is known of lines without rows: of an "otherwise" whose class no rule of its section has, its leaves."""
    layout, covered = made.list_layout, np.array(made.covered_counts)
    assert made.choice is not None
    for section, line in enumerate(layout.rest_lines.tolist()):
        rules = made.leaves[layout.starts[section] : layout.starts[section + 1]]
        if made.is_exact and layout.defaults[section] not in made.paths.leaf_class[rules]:
            decided[line] = made.leaf_counts[layout.stands_for(line)].sum(axis=0)  # none takes rows from it
    covered[made.paths.rule[made.deleted != made.choice.deletions.deleted]] = np.nan  # rules of other rows now
    return made.change(decided_counts=decided, covered_counts=covered)


def _set_counts(made: Rules, counted: LineCounts) -> Rules:
    """Set what was counted of each line."""
    covered = np.array(made.covered_counts)
    covered[made.leaves] = counted.covered
    moments = None if counted.sums is None else find_moments(counted.sums, made.list_layout.shares)
    return made.change(decided_counts=counted.decided, covered_counts=covered, target_moments=moments)


class Placed(NamedTuple):
    """Where rows are: an element for each row."""

    leaf: NDArray[np.int64]  # place of its leaf in source order
    line: NDArray[np.int64]  # the line that decides it
    conflict: NDArray[np.bool_]  # whether rules of different classes cover it
    covered: NDArray[np.bool_]  # whether any rule does


def mask_lines(rules: LineRules, masks: Masks) -> Iterator[tuple[int, Masks, Masks]]:
    """Mask, line by line, the rows that it covers and those that it decides; which wins comes first.

    ``masks`` are those of all links.
    """
    paths, layout, undecided = rules.paths, rules.layout, masks[0].copy()
    if layout is None and not rules.is_ordered:  # the rule of the row's own leaf wins
        for rule, won in enumerate(mask_leaves(rules.tree, masks)):
            yield rule, rows_of_rule(paths, rules.deleted, rule, masks), won
        return
    if layout is None:
        for rule in rules.ranking.tolist():
            own = rows_of_rule(paths, rules.deleted, rule, masks)
            won = own & undecided
            undecided ^= won
            yield rule, own, won
        return
    for section, node in enumerate(layout.nodes.tolist()):
        first, last = layout.starts[section : section + 2].tolist()
        for place in range(first, last):
            own = rows_of_rule(paths, rules.deleted, int(rules.leaves[place]), masks)
            won = own & undecided
            undecided ^= won
            yield place + section, own, won
        rest = rows_in(masks, np.array(paths.list_path(node), dtype=np.int32)) & undecided
        yield last + section, rest, rest


def place_rows(
    rules: LineRules, rows: Rows, class_ids: NDArray[np.int64] | None = None
) -> tuple[Placed, NDArray[np.float64]]:
    """Find leaf and line of each row, and rows in conflict, in one pass.

    With their classes, also count the rows of each class beside each line, as ``Rules.counts`` does.
    """
    tree, paths, n_lines = rules.tree, rules.paths, rules.n_lines
    leaf, line = np.empty((2, rows.n_rows), dtype=np.int64)
    conflict, covered = np.empty((2, rows.n_rows), dtype=bool)
    counts = np.zeros((n_lines, tree.n_classes))
    class_of = rules.class_ids.tolist()
    rest = set() if rules.layout is None else set(rules.layout.rest_lines.tolist())
    for span, masks in mask_blocks(tree, rows):
        n_rows = span.stop - span.start
        classes = None if class_ids is None else ClassMasks(class_ids[span], None, tree.n_classes)
        by_class = np.zeros((tree.n_classes, masks.shape[1]), dtype=np.uint64)

        def find(masks: Masks = masks, classes: Any = classes, by_class: Masks = by_class) -> Iterator[Any]:
            for number, own, won in mask_lines(rules, masks):
                if number not in rest:
                    by_class[class_of[number]] |= own
                if classes is not None:
                    classes.add(own if rules.layout is None else won, counts[number])
                yield number, won

        line[span] = number_rows(find(), n_lines, n_rows)
        leaf[span] = number_rows(enumerate(mask_leaves(tree, masks)), paths.n_rules, n_rows)
        once, twice = np.zeros_like(by_class[0]), np.zeros_like(by_class[0])
        for mask in by_class:
            twice |= once & mask
            once |= mask
        conflict[span], covered[span] = unpack_bits(twice, n_rows), unpack_bits(once, n_rows)
    return Placed(leaf if rules.source_tree is tree else rules.find_leaves(rows), line, conflict, covered), counts


def find_next_lines(rules: LineRules, rows: Rows, line: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the line of a list that would decide each row without the one that does: the next that holds."""
    paths, layout = rules.paths, rules.list_layout
    lines, found = layout.rule_lines.tolist(), np.empty_like(line)
    is_asked = np.isin(paths.rule, rules.leaves) & ~rules.deleted
    for span, masks in mask_blocks(rules.tree, rows, np.unique(paths.parent[paths.links[is_asked]])):
        once, twice = np.zeros((2, masks.shape[1]), dtype=np.uint64)
        parts = []
        for number, leaf in zip(lines, rules.leaves.tolist(), strict=True):
            own = rows_of_rule(paths, rules.deleted, leaf, masks)
            parts.append((number, own & once & ~twice))
            twice |= own & once
            once |= own
        found[span] = number_rows(parts, rules.n_lines, span.stop - span.start)
    return np.where(found < 0, layout.rest_lines[layout.section_of_line][line], found)


def count_struck(rules: LineRules, rows: Rows, class_ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Count the rows of each line whose class is that of the next line which holds; of at most 64 classes."""
    layout, class_of, found = rules.list_layout, rules.class_ids.tolist(), np.zeros(rules.n_lines)
    rest_of = layout.rest_lines[layout.section_of_line].tolist()
    for span, masks in mask_blocks(rules.tree, rows):
        members = ClassMasks(class_ids[span], None, rules.tree.n_classes).masks
        assert members is not None
        (once, twice, good), decided = np.zeros((3, masks.shape[1]), dtype=np.uint64), []
        for number, own, won in mask_lines(rules, masks):
            decided.append((number, won))
            if number != rest_of[number]:
                good |= own & once & ~twice & members[class_of[number]]
                twice |= own & once
                once |= own
        for number, won in decided:
            left = members[class_of[rest_of[number]]] & ~twice
            found[number] += np.bitwise_count(won & (good | left)).sum(dtype=np.int64)
    return found


class LineRoutes(NamedTuple):
    """Tests that lead a row to its leaf and on to its line; branches that differ in nothing any more meet again."""

    routes: Routes
    leaf: NDArray[np.int64]  # place of the leaf, by the node where a row ends; -1 elsewhere
    line: NDArray[np.int64]  # the line that decides it


def grow_routes(rules: LineRules) -> LineRoutes | None:
    """Find the tests; None for a list of so many lines and leaves that looking at lines one by one takes less.

    A leaf that lies in a line, or meets none, needs no test. Where a line holds for a part of a leaf, the conditions
    that the leaf leaves open are asked; a row that fails one goes on to the next line.
    """
    tree, paths = rules.tree, rules.paths
    if paths.n_rules > MOST_LEAVES:
        return None
    decided_by, asked = find_open(rules)
    test = np.where(tree.is_leaf, -1, np.arange(tree.n_nodes)).tolist()
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    leaf_of, line_of = [-1] * tree.n_nodes, [-1] * tree.n_nodes
    parent, is_left = paths.parent.tolist(), paths.is_left.tolist()

    def add(*node: int) -> int:
        for column, value in zip((test, left, right, leaf_of, line_of), node, strict=True):
            column.append(value)
        return len(test) - 1

    for place, node in enumerate(paths.leaf_ids.tolist()):
        head = (-1, -1, -1, place, decided_by[place])
        for line, links in reversed(asked.get(place, [])):
            fails, holds = add(*head), (-1, -1, -1, place, line)
            for link in reversed(links):
                then = add(*holds)
                holds = (parent[link], *((then, fails) if is_left[link] else (fails, then)), -1, -1)
            head = holds
        test[node], left[node], right[node], leaf_of[node], line_of[node] = head
        if len(test) > MOST_NODES * tree.n_nodes:
            return None
    source = np.array(test)
    is_end, starts = source < 0, tree.category_table[0]
    routes = Routes(
        np.array(left),
        np.array(right),
        np.where(is_end, -1, tree.feature[source]),
        tree.upper[source],
        tree.missing_left[source],
        np.where(is_end, -1, starts[source]),
        tree.category_table[1],
    )
    return LineRoutes(routes, np.array(leaf_of), np.array(line_of))


def find_open(rules: LineRules) -> tuple[list[int], dict[int, list[tuple[int, list[int]]]]]:
    """Find the line of each leaf's rows that no line before it takes, and the lines before it, with what they ask."""
    tree, paths, layout, line_of = rules.tree, rules.paths, rules.layout, rules.line_of_place.tolist()
    masks, (first, last) = LeafMasks(tree, paths), tree.leaf_runs
    decided_by, sections = line_of.copy(), [(0, rules.ranking)]
    if layout is not None:
        decided_by = layout.rest_lines[rules.section_of_leaf].tolist()
        sections = list(zip(layout.nodes.tolist(), np.split(rules.leaves, layout.starts[1:-1]), strict=True))
    asked: dict[int, list[tuple[int, list[int]]]] = {}
    inside_of: dict[int, int] = {}
    for node, own in sections:
        undecided = make_mask(range(int(first[node]), int(last[node])))
        for rule in own.tolist():
            span = paths.entries(rule)
            links = paths.links[span][~rules.deleted[span]].tolist()
            for link in links:
                if link not in inside_of:
                    inside_of[link] = masks.inside([masks.edge(link)])
            met = masks.met_by(masks.edge(link) for link in links) & undecided
            inside = met
            for link in links:
                inside &= inside_of[link]
            for place in list_places(met & ~inside):
                still = [link for link in links if not inside_of[link] >> place & 1]
                asked.setdefault(place, []).append((line_of[rule], still))
            for place in list_places(inside):
                decided_by[place] = line_of[rule]
            undecided &= ~inside
    return decided_by, asked


def are_apart(rules: LineRules) -> bool:
    """Whether each rule meets leaves of its class alone, so that rules of different classes share no row."""
    paths = rules.paths
    if paths.n_rules > MOST_LEAVES:
        return False
    masks = LeafMasks(rules.tree, paths)
    others = [make_mask(np.flatnonzero(paths.leaf_class != one).tolist()) for one in range(rules.tree.n_classes)]
    kept = (paths.links[span][~rules.deleted[span]] for span in map(paths.entries, rules.leaves.tolist()))
    classes = rules.class_ids[rules.line_of_place[rules.leaves]].tolist()
    return not any(
        masks.met_by(map(masks.edge, links.tolist())) & others[own] for own, links in zip(classes, kept, strict=True)
    )
