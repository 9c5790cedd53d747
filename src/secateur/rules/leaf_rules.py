"""LeafRules: what became of the rule of each leaf of a tree, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.facts.possible_rows import find_feasible
from secateur.methods import METHODS
from secateur.methods.leaf_values import CLASSES_ONLY, LeafValues
from secateur.rows.rows import apply_tree
from secateur.rules.lines import without_facts
from secateur.tree.columns import BESIDE_A_LIMIT
from secateur.tree.paths import DEFAULT_RF_TOL, trace_paths
from secateur.tree.shares import divide_or_nan
from secateur.words.assumptions import FactsUsed
from secateur.words.conditions import count_conditions
from secateur.words.reasons import VALUE_WORDS, Witnesses, make_reasons

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from secateur.methods import Deletions
    from secateur.rows.rows import Rows
    from secateur.rules.making import Making
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Tree
    from secateur.words.reasons import Reason

__all__ = ["LeafRules", "spread_shares"]


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
        """Find the share of a class among each row of counts; NaN without rows, and of a regression tree.

        Parameters
        ----------
        counts : ndarray of float64, shape (n, n_classes)
        class_ids : ndarray of int64, shape (n,)
        """
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
        """Gather what leaves say, as lines of a list with this tolerance answer for them.

        Parameters
        ----------
        tolerance : float
        """
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

    def find_leaves(self, rows: Rows) -> NDArray[np.int64]:
        """Find the leaf of each row, as a place in source order, for rows in the tree's own terms.

        Parameters
        ----------
        rows : Rows

        Returns
        -------
        ndarray of int64, shape (n_rows,)
        """
        return self.place_of_leaf[apply_tree(self.tree, rows)]

    def reasons_of(self, place: int) -> dict[int, Reason]:
        """Why each edge of the rule of a leaf was deleted or kept.

        Parameters
        ----------
        place : int
            Place of its leaf in source order.
        """
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
        )
        return {reason.link_id: reason for reason in found}

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
        return FactsUsed(self.tree, self.paths, self.deletions)

    @property
    def exceptions(self) -> tuple[str, ...]:
        """Sentences on rows beside a limit, of which the pipeline's rounding lets nothing be promised."""
        remarks = () if self.tree.columns is None else self.tree.columns.remarks
        return tuple(f"Except: {remark}" for remark in remarks if remark.endswith(BESIDE_A_LIMIT))

    @property
    def own_remarks(self) -> tuple[str, ...]:
        """Remarks of the method, on facts that are not used, and of the pipeline, a sentence each."""
        unused = [f"The tree does not ask for the column of the fact {fact!r}." for fact in self.tree.facts.unused]
        return (*self.making.notes, *unused, *(() if self.tree.columns is None else self.tree.columns.remarks))


def spread_shares(counts: NDArray[np.float64], class_ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Find the shares of all classes; where no row was counted, only the class is known."""
    shares = np.zeros(counts.shape)
    shares[np.arange(len(counts)), class_ids] = 1.0
    total = counts.sum(axis=1, keepdims=True)
    np.divide(counts, total, out=shares, where=total > 0)
    return shares
