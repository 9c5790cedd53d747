"""What became of the rule of each leaf of a tree, and the lines that are written of them, as arrays."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.counting.coverage import cover_rows
from secateur.facts.possible_rows import find_feasible
from secateur.methods import METHODS, Deletions
from secateur.methods.leaves import CLASSES_ONLY, LeafValues, Stated, pack_flags
from secateur.rows.rows import Rows, apply_tree, follow
from secateur.rules.lines import Layout, LineRoutes, are_apart, grow_routes, place_rows, without_facts
from secateur.rules.making import Making
from secateur.tree.columns import BESIDE_A_LIMIT
from secateur.tree.paths import DEFAULT_RF_TOL, Paths, trace_paths
from secateur.tree.shares import divide_or_nan
from secateur.tree.tree import Tree
from secateur.words.conditions import Condition, count_conditions, count_points, format_share, read_conditions
from secateur.words.reasons import VALUE_WORDS, FactsUsed, Reason, Witnesses, make_reasons


@dataclass(frozen=True, eq=False)
class LeafRules:
    """The rules of all leaves, in source order, with what was deleted from each."""

    tree: Tree
    making: Making
    deletions: Deletions
    leaf_counts: NDArray[np.float64]
    covered_counts: NDArray[np.float64]

    @property
    def method(self) -> str:
        """Name of the method that deleted."""
        return self.making.method

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The method's parameters."""
        return self.making.parameters

    @property
    def budget(self) -> float:
        """Of a list: fraction of the training rows of each class, and of all, that may be off."""
        return self.making.budget

    @property
    def tolerance(self) -> float:
        """Of a list: how far a line's stated share may lie from that of a row's own leaf; 1 keeps classes only."""
        return self.making.tolerance

    @property
    def is_ranked(self) -> bool:
        """Whether the counts come from rows, so that overlapping rules can be ranked."""
        return self.making.is_ranked

    @property
    def is_weighted(self) -> bool:
        """Whether the counts are sums of weights, not numbers of rows."""
        return self.making.is_weighted

    @cached_property
    def paths(self) -> Paths:
        """The path of each leaf."""
        return trace_paths(self.tree, float(self.parameters.get("rf_tol", DEFAULT_RF_TOL)))

    @property
    def deleted(self) -> NDArray[np.bool_]:
        """Mark of each (leaf, edge) that was deleted, shape (n_entries,)."""
        return self.deletions.deleted

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Number of kept edges of each leaf's rule, shape (n_leaves,)."""
        return self.paths.count(~self.deleted)

    @cached_property
    def leaf_support(self) -> NDArray[np.float64]:
        """(Weighted) training rows that reach each leaf; NaN where not known."""
        return self.leaf_counts.sum(axis=1)  # type: ignore[no-any-return]

    @cached_property
    def leaf_reliability(self) -> NDArray[np.float64]:
        """Share of each leaf's rows in its class; NaN where not known or no row reaches it."""
        return self.find_shares(self.leaf_counts, self.paths.leaf_class)

    @cached_property
    def covered_support(self) -> NDArray[np.float64]:
        """(Weighted) training rows that satisfy each leaf's rule after deletion; NaN where not known."""
        return self.covered_counts.sum(axis=1)  # type: ignore[no-any-return]

    @cached_property
    def covered_reliability(self) -> NDArray[np.float64]:
        """Share of those rows in the leaf's class; NaN where not known or no row satisfies the rule."""
        return self.find_shares(self.covered_counts, self.paths.leaf_class)

    def find_shares(self, counts: NDArray[np.float64], class_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Find the share of a class among each row of counts; NaN without rows, and of a regression tree."""
        if self.tree.is_regression:
            return np.full(len(counts), np.nan)
        return divide_or_nan(counts[np.arange(len(counts)), class_ids], counts.sum(axis=1))

    @cached_property
    def leaf_shares(self) -> NDArray[np.float64]:
        """Class shares of each leaf by the tree's own counts, shape (n_leaves, n_classes).

        They are what its model predicts, but for ``monotonic_cst``, which makes scikit-learn clip shares: with rows,
        the counts are those of the rows.
        """
        own = self.leaf_counts if self.tree.counts is None else self.tree.counts[self.paths.leaf_ids]
        return spread_shares(own, self.paths.leaf_class)

    @property
    def value_counts(self) -> NDArray[np.float64]:
        """The rows by class that the share of each leaf comes from: those that reach it, else the tree's own counts."""
        if self.tree.counts is None:
            return self.leaf_counts
        own = self.tree.counts[self.paths.leaf_ids]
        return np.where((self.leaf_support > 0)[:, None], self.leaf_counts, own)

    @cached_property
    def leaf_answers(self) -> NDArray[Any]:
        """What each leaf predicts, a label or a value, shape (n_leaves,)."""
        return self.tree.answers[self.paths.leaf_ids]

    def make_leaf_values(self, tolerance: float) -> LeafValues:
        """Gather what leaves say, as lines of a list with this tolerance answer for them."""
        values = self.leaf_answers if self.tree.is_regression else None
        looks = tolerance < CLASSES_ONLY and values is None
        counts = np.nan_to_num(self.value_counts) if looks else np.zeros_like(self.leaf_counts)
        return LeafValues(self.paths.leaf_class, counts, np.nan_to_num(self.leaf_support), tolerance, values)

    @cached_property
    def assimilated_into(self) -> NDArray[np.int64]:
        """The ancestor whose rule each leaf's rule became, by node id, shape (n_leaves,); -1 where it did not.

        A rule is assimilated when its kept conditions are exactly the path to a proper ancestor of its leaf (0, the
        root, if none is kept) and it covers more training rows than its leaf.
        """
        paths = self.paths
        ends = paths.offsets[1:]
        gone_before = np.cumsum(np.concatenate([[0], self.deleted]))
        n_gone = gone_before[ends] - gone_before[paths.offsets[:-1]]
        # The kept edges are a prefix of the path exactly when the deleted ones are its last.
        is_prefix = (n_gone > 0) & (gone_before[ends] - gone_before[ends - n_gone] == n_gone)
        last_kept = np.concatenate([[0], paths.links])[ends - n_gone]  # behind the root, edges are shifted by one
        into = np.where(n_gone == np.diff(paths.offsets), 0, last_kept)
        return np.where(is_prefix & (self.covered_support > self.leaf_support), into, -1)

    @cached_property
    def place_of_leaf(self) -> NDArray[np.int64]:
        """Place of each leaf in source order, by node id; -1 for other nodes."""
        place = np.full(self.tree.n_nodes, -1, dtype=np.int64)
        place[self.paths.leaf_ids] = np.arange(self.paths.n_rules)
        return place

    @cached_property
    def ranking(self) -> NDArray[np.int64]:
        """Rank the rules of all leaves: by reliability, then support, then fewer conditions, then source order."""
        known = (self.covered_support, self.covered_reliability)
        support, reliability = (np.nan_to_num(values, nan=-1.0) for values in known)
        return np.lexsort((self.lengths, -support, -reliability))

    @cached_property
    def read_lengths(self) -> NDArray[np.int64]:
        """Number of conditions of each leaf's rule as it reads: bounds on one column are one, shape (n_leaves,)."""
        return count_conditions(self.tree, self.paths, ~self.deleted)

    @cached_property
    def tree_lengths(self) -> NDArray[np.int64]:
        """The same of the tree's own rules, shape (n_leaves,)."""
        return count_conditions(self.tree, self.paths, np.ones_like(self.deleted))

    @property
    def tree_conditions(self) -> int:
        """Number of conditions of the tree's own rules, one for each leaf, as they read: what merging bounds leaves."""
        return int(self.tree_lengths.sum())

    @property
    def n_shortened(self) -> int:
        """Number of leaves whose rule reads shorter than the tree's."""
        return int(np.count_nonzero(self.read_lengths < self.tree_lengths))

    @property
    def tree_rules(self) -> int:
        """Number of leaves of the tree."""
        return self.paths.n_rules

    @property
    def source_tree(self) -> Tree:
        """The tree before limits were rounded."""
        return self.tree if self.making.edits is None else self.making.edits.restore(self.tree)

    def find_leaves(self, rows: Rows) -> NDArray[np.int64]:
        """Find the leaf of each row by the source tree, as a place in source order, for rows in its own terms."""
        return self.place_of_leaf[apply_tree(self.source_tree, rows)]

    def reasons_of(self, place: int) -> dict[int, Reason]:
        """Why each edge of the rule of a leaf was deleted or kept."""
        making = self.making
        spending = {"budget": making.budget} if making.budget else {}
        is_told = making.tolerance < CLASSES_ONLY or making.budget or self.tree.is_regression
        spending |= {"tolerance": making.tolerance} if is_told else {}
        found = make_reasons(
            self.tree,
            self.paths,
            self.deletions,
            place,
            {**self.parameters, **spending},
            self._witnesses,
            self.facts_used.of_rule(place),
            VALUE_WORDS if self.tree.is_regression else METHODS[self.method].words,
            self._tell_shares(place),
        )
        return {reason.link_id: reason for reason in found}

    def _tell_shares(self, place: int) -> Callable[[int], str] | None:
        """Find how to say why a line may not answer for a leaf of its own class; None of one rule for each leaf."""
        return None

    @cached_property
    def _witnesses(self) -> Witnesses:
        # Reasons name the leaves that conditions of a regression tree keep out.
        if self.budget or self.making.edits or self.tree.is_regression:
            return Witnesses(self.tree, self.paths, self.deletions, None)
        known = self.tree if self.parameters.get("domain_knowledge", True) else without_facts(self.tree)
        return Witnesses(known, self.paths, self.deletions, METHODS[self.method].witness)

    @cached_property
    def walked(self) -> Tree:
        """The tree over possible rows, or over all rows where nothing may be known about the columns."""
        tree = self.tree
        if self.parameters.get("domain_knowledge", True):
            return find_feasible(tree).tree
        if tree.columns is not None and tree.columns.encoded is not None:
            return tree.columns.encoded
        return without_facts(tree)

    @cached_property
    def facts_used(self) -> FactsUsed:
        """The facts that exact deletions depend on, rule by rule."""
        values = self.make_leaf_values(self.tolerance) if self.tree.is_regression else None
        return FactsUsed(self.tree, self.paths, self.deletions, values)

    @property
    def exceptions(self) -> tuple[str, ...]:
        """Sentences on rows beside a limit: the pipeline's rounding lets nothing be promised of them."""
        remarks = () if self.tree.columns is None else self.tree.columns.remarks
        return tuple(f"Except: {remark}" for remark in remarks if remark.endswith(BESIDE_A_LIMIT))

    @property
    def own_remarks(self) -> tuple[str, ...]:
        """Remarks of the method, on facts that are not used, and of the pipeline, a sentence each."""
        unused = [f"The tree does not ask for the column of the fact {fact!r}." for fact in self.tree.facts.unused]
        return (*self.making.notes, *unused, *(() if self.tree.columns is None else self.tree.columns.remarks))


@dataclass(frozen=True, eq=False)
class LineRules(LeafRules):
    """The lines that are written, as they are printed, and what they state and decide."""

    leaves: NDArray[np.int64]
    layout: Layout | None = None
    decided_counts: NDArray[np.float64] | None = None
    target_moments: NDArray[np.float64] | None = None

    @property
    def is_list(self) -> bool:
        """Whether the rules are a list, in which "otherwise" answers, too; else there is one for each leaf."""
        return self.layout is not None

    @property
    def list_layout(self) -> Layout:
        """The layout of a list; whoever asks knows that it is one."""
        assert self.layout is not None
        return self.layout

    @property
    def is_exact(self) -> bool:
        """Whether the rules give every possible row the tree's answer."""
        return self.budget == 0 and METHODS[self.method].is_exact and self.making.edits is None

    @cached_property
    def is_clear(self) -> bool:
        """Whether rules of different classes are known to share no row, not even one that violates a fact."""
        return (self.is_exact and not self.tree.facts) or are_apart(self)

    @property
    def keeps_shares(self) -> bool:
        """Whether each line states a share, which lies within the tolerance of that of a row's own leaf."""
        return self.layout is not None and (self.tolerance < CLASSES_ONLY or self.tree.is_regression)

    def __len__(self) -> int:
        return len(self.leaves)

    @property
    def n_lines(self) -> int:
        """Number of lines that answer: rules, and "otherwise" of each section."""
        return len(self) if self.layout is None else len(self) + self.layout.n_sections

    @cached_property
    def line_of_place(self) -> NDArray[np.int64]:
        """The line of the written rule of each leaf, by its place; -1 for others."""
        line = np.full(self.paths.n_rules, -1, dtype=np.int64)
        line[self.leaves] = np.arange(len(self)) if self.layout is None else self.layout.rule_lines
        return line

    @cached_property
    def section_of_leaf(self) -> NDArray[np.int64]:
        """The section of each leaf, by place; 0 where there is a rule for each leaf."""
        if self.layout is None:
            return np.zeros(self.paths.n_rules, dtype=np.int64)
        return self.layout.find_sections(self.tree)

    @cached_property
    def class_ids(self) -> NDArray[np.int64]:
        """Index of the class that each line predicts, shape (n_lines,)."""
        own = self.paths.leaf_class[self.leaves]
        if self.layout is None:
            return own
        own = own if self.layout.answers is None else self.layout.answers
        every = np.empty(self.n_lines, dtype=np.int64)
        every[self.layout.rule_lines], every[self.layout.rest_lines] = own, self.layout.defaults
        return every

    @cached_property
    def answers(self) -> NDArray[Any]:
        """What each line predicts, a label or a value, shape (n_lines,)."""
        if not self.tree.is_regression:
            return self.tree.classes[self.class_ids]
        return self.leaf_answers[self.leaves] if self.layout is None else self.layout.shares

    @property
    def counts(self) -> NDArray[np.float64]:
        """(Weighted) training rows of each class beside each line, shape (n_lines, n_classes): see ``Rule.support``."""
        return self.covered_counts if self.decided_counts is None else self.decided_counts

    @cached_property
    def support(self) -> NDArray[np.float64]:
        """(Weighted) training rows beside each line; NaN where not known."""
        return self.counts.sum(axis=1)  # type: ignore[no-any-return]

    @cached_property
    def reliability(self) -> NDArray[np.float64]:
        """Share of those rows in the line's class; NaN where not known, or without rows."""
        return self.find_shares(self.counts, self.class_ids)

    @property
    def stated_shares(self) -> NDArray[np.float64]:
        """The share of its class that each line gives a row: the one that it states, else that of its rows."""
        if self.layout is None or self.tree.is_regression:
            return self.reliability
        return np.where(np.isnan(self.layout.shares), self.reliability, self.layout.shares)

    @property
    def is_counted(self) -> bool:
        """Whether lines have probabilities of their own: they state shares, or their training rows are known."""
        if self.keeps_shares:
            return True
        return self.is_ranked if self.decided_counts is None else not bool(np.isnan(self.decided_counts).any())

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Class shares that each line states, shape (n_lines, n_classes).

        The line's class has the stated share, and the others the rest, as they share the rows that the line decides;
        without a stated share, all classes have that of these rows, and without rows the line's class has all.
        """
        spread = spread_shares(self.counts, self.class_ids)
        if not self.keeps_shares or self.layout is None or self.tree.is_regression:
            return spread
        every, stated = np.arange(self.n_lines), self.layout.shares
        others = np.nan_to_num(self.counts)
        others[every, self.class_ids] = 0.0
        others = np.where(others.sum(axis=1, keepdims=True) > 0, others, self._count_other_classes())
        # Where no row has another class, all classes are alike.
        others = np.where(others.sum(axis=1, keepdims=True) > 0, others, 1.0)
        others[every, self.class_ids] = 0.0
        total = np.maximum(others.sum(axis=1, keepdims=True), 1e-300)
        found = others / total * (1.0 - stated[:, None])
        found[every, self.class_ids] = stated
        return np.where(np.isnan(stated)[:, None], spread, found)

    def _count_other_classes(self) -> NDArray[np.float64]:
        """Count the training rows of each line's leaves by class, where rows are not known line by line."""
        layout = self.list_layout
        line = np.repeat(np.arange(self.n_lines), np.diff(layout.offsets))
        counts = np.zeros((self.n_lines, self.tree.n_classes))
        np.add.at(counts, line, np.nan_to_num(self.leaf_counts)[layout.contained])
        counts[np.arange(self.n_lines), self.class_ids] = 0.0
        return counts

    def _tell_shares(self, place: int) -> Callable[[int], str] | None:
        line = int(self.line_of_place[place])
        if line < 0 or self.layout is None or np.isnan(self.layout.windows[line]).any():
            return None
        low, high = (format_share(end) for end in self.layout.windows[line].tolist())
        shares = self.find_shares(self.value_counts, self.paths.leaf_class)
        span, points = low if low == high else f"{low} to {high}", count_points(2 * self.tolerance)

        def tell(leaf: int) -> str:
            own = format_share(float(shares[self.place_of_leaf[leaf]]))
            return f" too, but {own} of its rows; the leaves of this line have {span}, and may differ by {points}"

        return tell

    def find_answerable(self) -> list[int]:
        """Find the leaves that each line of a list may answer for: of its class, and near its share; as bit masks."""
        layout, values = self.list_layout, self.make_leaf_values(self.tolerance)
        lines = zip(self.class_ids.tolist(), layout.shares.tolist(), layout.windows.tolist(), strict=True)
        return [
            pack_flags(~values.find_off(class_id, None if share != share else Stated(share, *window)))
            for class_id, share, window in lines
        ]

    @property
    def order(self) -> NDArray[np.int64]:
        """The lines in the order in which the first that holds decides a row: as printed, or by rank."""
        return np.arange(self.n_lines) if self.is_list else self.ranking

    @property
    def is_ordered(self) -> bool:
        """Whether that order is sure: rows ranked the rules, or no two rules of different classes overlap."""
        is_sure = self.is_ranked or self.is_exact or self.making.edits is not None
        return is_sure or len(np.unique(self.paths.leaf_class[self.leaves])) < 2

    @property
    def n_conditions(self) -> int:
        """Number of conditions as they are printed: bounds on one column of a line are one; headings count once."""
        if self.layout is None or self.layout.n_sections == 1:
            return int(self.read_lengths[self.leaves].sum())
        depth = np.zeros(self.paths.n_rules, dtype=np.int64)
        depth[self.leaves] = self.tree.node_depth[self.layout.nodes][self.layout.section_of_rule]
        place = np.arange(len(self.deleted)) - self.paths.offsets[self.paths.rule]
        own = count_conditions(self.tree, self.paths, ~self.deleted & (place >= depth[self.paths.rule]))
        return int(own[self.leaves].sum()) + sum(len(self.read_heading(node)) for node in self.layout.nodes.tolist())

    @property
    def n_edges(self) -> int:
        """Number of kept edges of all rules together, which is what the paper counts; headings count once."""
        if self.layout is None:
            return int(self.lengths[self.leaves].sum())
        own = self.lengths[self.leaves] - self.tree.node_depth[self.layout.nodes][self.layout.section_of_rule]
        return int(own.sum() + (2 * (self.layout.n_sections - 1)))

    def read_heading(self, node: int) -> tuple[Condition, ...]:
        """Read what all rows of a section have in common: the path of its node."""
        return read_conditions(self.tree, self.paths, self.paths.list_path(node))

    def rest_word(self, section: int = 0) -> str:
        """What "otherwise" of a section is called: "always" where the section has no rule."""
        starts = np.array([0, len(self)]) if self.layout is None else self.layout.starts
        return "otherwise" if starts[section + 1] > starts[section] else "always"

    @property
    def line_word(self) -> str:
        """What its lines are called, whose numbers are those of a list or of the rules of leaves."""
        return "line" if self.layout is not None else "rule"

    def stands_for(self, index: int) -> NDArray[np.int64]:
        """The leaves that a line stands for, as places in source order."""
        return self.leaves[index : index + 1] if self.layout is None else self.layout.stands_for(index)

    def decide(self, rows: Rows) -> NDArray[np.int64]:
        """Find the class index of each row, for rows in the tree's own terms; :meth:`predict` takes any rows."""
        if self.is_exact and not self.tree.facts:  # rows that violate a fact get what the rules say, everywhere
            return self.tree.leaf_class[apply_tree(self.tree, rows)]
        return self.class_ids[self.find_lines(rows)]

    def find_lines(self, rows: Rows) -> NDArray[np.int64]:
        """Do what :meth:`apply` does, for rows in the tree's own terms."""
        return self.find_places(rows)[1]

    def find_places(self, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find the leaf of each row, as a place in source order, and the line that decides it."""
        if self.line_routes is None:
            return place_rows(self, rows)[0][:2]
        end = follow(self.line_routes.routes, rows)
        leaf = self.line_routes.leaf[end] if self.source_tree is self.tree else self.find_leaves(rows)
        return leaf, self.line_routes.line[end]

    @cached_property
    def line_routes(self) -> LineRoutes | None:
        """What to ask of a row to know its leaf and its line in one walk; None where lines are asked one by one."""
        return grow_routes(self) if self.is_list else None

    def _cover(self, rows: Rows) -> NDArray[np.bool_]:
        return cover_rows(self.tree, self.paths, self.deleted, rows, self.leaves)

    def find_active(self, rows: Rows) -> NDArray[np.bool_]:
        """Find the lines that hold for each row, in the tree's own terms: rules that cover it, else "otherwise"."""
        covered = self._cover(rows)
        if self.layout is None:
            return covered
        active: NDArray[np.bool_] = self.find_lines(rows)[:, None] == np.arange(self.n_lines)
        active[:, self.layout.rule_lines] = covered
        return active


def spread_shares(counts: NDArray[np.float64], class_ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Find the shares of all classes; where no row was counted, only the class is known."""
    shares = np.zeros(counts.shape)
    shares[np.arange(len(counts)), class_ids] = 1.0
    total = counts.sum(axis=1, keepdims=True)
    np.divide(counts, total, out=shares, where=total > 0)
    return shares
