"""Measure compact rules against their source tree, on given rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.counting.cell_counts import CellCounts
from secateur.errors import InputError
from secateur.results.audit import compare_classes, cross, none_if_nan
from secateur.results.decided_audits import DecidedAudits, check_since_compact
from secateur.results.guess import find_guess
from secateur.results.intervals import check_squares, count_effective, find_interval
from secateur.results.scores import find_distances, score_shares
from secateur.rows.checking import NO_WEIGHT
from secateur.rules.deciding import without_facts
from secateur.words.conditions import count_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rows.row_source import RowSource
    from secateur.rows.rows import LabelledRows
    from secateur.rules.compact_rules import CompactRules

__all__ = ["CompactAudit", "CompactCounter", "CompactCounts", "audit_compact"]


@dataclass(frozen=True)
class CompactAudit:
    """The metrics of compact rules against their source tree; shares in percent, changes in percentage points.

    Attributes
    ----------
    n_rules, n_conditions, source_n_rules, source_n_conditions, n_rows : int
        Size of the rules without "otherwise", of the tree's own, and of the rows; those of weight 0 do not count.
    conditions_left, rules_left : float
        Percentage of the tree's conditions and rules that are left.
    disagreement : float
        Percentage of rows decided otherwise than by the tree.
    disagreement_interval : tuple of float
        Its limits, at 95 % (Clopper–Pearson).
    accuracy, tree_accuracy, delta_accuracy : float
        Accuracy of the rules and of the tree, and the difference.
    baseline, baseline_class : float, str
        As in :class:`Audit`.
    abs_delta_precision, abs_delta_recall : tuple of float
        Absolute change of precision and recall, class by class.
    macro_dev : float
        Their mean.
    left_to_otherwise : float
        Percentage of rows that no rule covers.
    max_fall : float
        How far the training reliability of a rule lies below its leaf's, at most, from 0 to 1; NaN without rows.
    brier, tree_brier, log_loss, tree_log_loss, auc, tree_auc, mean_abs_delta_p : float
        As in :class:`Audit`.
    per_rule : DecidedAudits
        Each rule, and "otherwise", on the rows that it decides: whether the share of its class is still what it was.
    """

    n_rules: int
    n_conditions: int
    source_n_rules: int
    source_n_conditions: int
    n_rows: int
    conditions_left: float
    rules_left: float
    disagreement: float
    disagreement_interval: tuple[float, float]
    accuracy: float
    tree_accuracy: float
    delta_accuracy: float
    baseline: float
    baseline_class: str
    abs_delta_precision: tuple[float, ...]
    abs_delta_recall: tuple[float, ...]
    macro_dev: float
    left_to_otherwise: float
    max_fall: float
    brier: float
    tree_brier: float
    log_loss: float
    tree_log_loss: float
    auc: float
    tree_auc: float
    mean_abs_delta_p: float
    per_rule: DecidedAudits = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """List the numbers by name, without those of single rules, ready for JSON: None for those not defined."""
        return {name: none_if_nan(value) for name, value in vars(self).items() if name != "per_rule"}

    def _repr_html_(self) -> str:
        from secateur.export.notebook_tables import compact_audit_to_html

        return compact_audit_to_html(self)

    def __str__(self) -> str:
        low, high = self.disagreement_interval
        # Of what is proved there is no doubt that an interval would tell of.
        is_proved = self.per_rule.rules.is_exact and self.disagreement == 0
        likely = "" if is_proved else f" (on such rows likely {low:.2f} to {high:.2f})"
        area = "" if math.isnan(self.auc) else f"AUC {self.auc:.3f} (tree {self.tree_auc:.3f}), "
        return "\n".join(
            [
                f"{self.n_conditions:,} of {count_of(self.source_n_conditions, 'condition')} left "
                f"({self.conditions_left:.1f} %), in {self.n_rules:,} of {count_of(self.source_n_rules, 'rule')}",
                f"decided otherwise than by the tree: {self.disagreement:.2f} % of {count_of(self.n_rows, 'row')}"
                f"{likely}",
                f"accuracy {self.accuracy:.2f} % (tree {self.tree_accuracy:.2f} %, change "
                f"{self.delta_accuracy:+.2f} points; always {self.baseline_class} {self.baseline:.2f} %)",
                f"precision and recall of a class change by {self.macro_dev:.2f} points on average",
                f"probabilities: {area}Brier score {self.brier:.3f} (tree {self.tree_brier:.3f}), log loss "
                f"{self.log_loss:.3f} (tree {self.tree_log_loss:.3f})",
            ]
        )


@dataclass(frozen=True)
class CompactCounts:
    """Rows counted for the audit of compact rules."""

    n_rows: int  # those whose weight is not 0
    decided: CellCounts  # rows by leaf, by what decides them, and by class
    squares: float  # sum of squared weights

    @classmethod
    def of(
        cls,
        rules: CompactRules,
        n_rows: int,
        places: tuple[NDArray[np.int64], ...],
        weights: NDArray[np.float64],
        squares: float,
    ) -> CompactCounts:
        """Count rows, or groups of them, by the places of their leaf and of what decides them, and by their class."""
        leaf, decider, truth = places
        cells = (leaf * (len(rules) + 1) + decider) * rules.tree.n_classes + truth
        return cls(n_rows, CellCounts.of(cells, weights), squares)

    def count_decided(self, rules: CompactRules) -> NDArray[np.float64]:
        """Sum up the rows of each class that each rule, and at the end "otherwise", decides."""
        pairs, truth = np.divmod(self.decided.cells, rules.tree.n_classes)
        return cross(pairs % (len(rules) + 1), truth, self.decided.counts, rules.decided_counts.shape)

    def to_cells(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """List places and numbers there; the first two places are for the number of rows and for the squares."""
        cells, counts = self.decided.cells, self.decided.counts
        return np.concatenate([[0, 1], cells + 2]), np.concatenate([[self.n_rows, self.squares], counts])

    @classmethod
    def from_cells(cls, cells: NDArray[np.int64], numbers: NDArray[np.float64]) -> CompactCounts:
        """Take the sums of what :meth:`to_cells` lists."""
        own = cells > 1
        n_rows, squares = (float(numbers[cells == place].sum()) for place in (0, 1))
        return cls(int(n_rows), CellCounts.of(cells[own] - 2, numbers[own]), squares)


@dataclass(frozen=True)
class CompactCounter:
    """Count rows for the audit of compact rules."""

    rules: CompactRules
    features = None  # those that the tree tests

    def count(self, listed: LabelledRows) -> CompactCounts:
        """Count some rows."""
        rules, (rows, truth, weights) = self.rules, listed
        share = np.ones(rows.n_rows) if weights is None else weights
        decider = rules.find_deciding(rows) % (len(rules) + 1)  # "otherwise" comes last
        places = rules.rules._find_leaves(rows), decider, truth
        with np.errstate(over="ignore", under="ignore"):  # audit_compact refuses weights that cannot be squared
            squares = float(share @ share)
        return CompactCounts.of(rules, int(np.count_nonzero(share)), places, share, squares)

    def add(self, total: CompactCounts, part: CompactCounts) -> CompactCounts:
        """Add the counts of a further piece."""
        return CompactCounts(total.n_rows + part.n_rows, total.decided + part.decided, total.squares + part.squares)


def audit_compact(rules: CompactRules, rows: RowSource, since: Any = None) -> CompactAudit:
    """Audit compact rules on labelled rows of any kind."""
    earlier = check_since_compact(rules, since)  # before the rows are read
    counts: CompactCounts = rows.fold(without_facts(rules.tree), CompactCounter(rules))
    n_classes, weights = rules.tree.n_classes, counts.decided.counts
    total = float(weights.sum())
    if not total:
        raise InputError(NO_WEIGHT)
    check_squares(total, counts.squares)
    pairs, truth = np.divmod(counts.decided.cells, n_classes)
    leaf, decider = np.divmod(pairs, len(rules) + 1)
    by_tree = rules.rules.paths.leaf_class[leaf]
    by_rules = np.append(rules.class_ids, rules.otherwise_id)[decider]
    d_precision, d_recall = compare_classes(truth, by_tree, by_rules, weights, n_classes)
    marks = by_rules == truth, by_tree == truth, by_rules != by_tree, decider == len(rules)
    accuracy, tree_accuracy, differ, left = (100.0 * (float(weights[mark].sum()) / total) for mark in marks)
    sizes = np.bincount(truth, weights, minlength=n_classes)
    guess = find_guess(rules.rules, sizes)
    limits = find_interval(differ / 100.0, count_effective(total, counts.squares))
    tree_shares = rules.rules._find_shares("leaf")
    by_decider = cross(decider, truth, weights, rules.decided_counts.shape)
    tree_scores = score_shares(tree_shares, cross(leaf, truth, weights, tree_shares.shape))
    if rules.is_counted:
        distances, scores = (
            find_distances(rules.shares, decider, tree_shares, leaf),
            score_shares(rules.shares, by_decider),
        )
    else:  # then probabilities are the tree's own
        distances, scores = np.zeros(len(leaf)), tree_scores
    fall = (rules.rules.source_reliability - rules.rules.reliability)[rules.chosen]
    fall = fall[~np.isnan(fall)]
    return CompactAudit(
        n_rules=len(rules),
        n_conditions=rules.n_conditions,
        source_n_rules=rules.source_n_rules,
        source_n_conditions=rules.source_n_conditions,
        n_rows=counts.n_rows,
        conditions_left=100.0 * rules.n_conditions / max(rules.source_n_conditions, 1),
        rules_left=100.0 * len(rules) / rules.source_n_rules,
        disagreement=differ,
        disagreement_interval=(100.0 * float(limits[0]), 100.0 * float(limits[1])),
        accuracy=accuracy,
        tree_accuracy=tree_accuracy,
        delta_accuracy=accuracy - tree_accuracy,
        baseline=100.0 * (float(sizes[guess]) / total),
        baseline_class=rules.tree.class_names[guess],
        abs_delta_precision=tuple(d_precision.tolist()),
        abs_delta_recall=tuple(d_recall.tolist()),
        macro_dev=float(np.concatenate([d_precision, d_recall]).mean()),
        left_to_otherwise=left,
        max_fall=float(fall.max(initial=0.0)) if rules.rules.is_ranked else math.nan,
        brier=scores.brier,
        tree_brier=tree_scores.brier,
        log_loss=scores.log_loss,
        tree_log_loss=tree_scores.log_loss,
        auc=scores.auc,
        tree_auc=tree_scores.auc,
        mean_abs_delta_p=float(weights @ distances) / total,
        # Weights are taken to vary as much among the rows of one rule as among all.
        per_rule=DecidedAudits(rules, by_decider, by_decider.sum(axis=1) * (counts.squares / total), earlier),
    )
