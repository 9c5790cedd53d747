"""Measure what deletion changed: the paper's metrics of a rule set against its source tree, on given rows.

Shares are in percent and changes in percentage points. A precision or recall that is undefined counts as 0.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from secateur.counting.coverage import find_overlap
from secateur.errors import InputError
from secateur.rows.checking import NO_WEIGHT
from secateur.rows.leaves import apply_tree
from secateur.rules.deciding import without_facts
from secateur.tree.shares import divide_or_nan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rows.row_source import RowSource
    from secateur.rows.rows import LabelledRows
    from secateur.rules.rule_set import RuleSet

__all__ = ["Audit", "AuditCounter", "AuditCounts", "audit_rows", "finish_audit"]


@dataclass(frozen=True)
class Audit:
    """The metrics of a rule set against its source tree.

    Attributes
    ----------
    n_rules, n_conditions, n_deleted, n_rows : int
        Size of what was audited.
    rule_irc : float
        Percentage of rules from which a condition was deleted.
    irc_per_rule : float
        Mean percentage of a rule's conditions that were deleted, over the rules with a deletion.
    removed : float
        Percentage of all conditions that were deleted.
    accuracy, tree_accuracy, delta_accuracy : float
        Accuracy of the rules and of the tree, in percent, and the difference in percentage points.
    conflict : float
        Percentage of rows covered by rules of different classes.
    coverage : float
        Percentage of rows covered by a rule.
    agreement : float
        Percentage of rows for which rules and tree predict the same.
    abs_delta_precision, abs_delta_recall : tuple of float
        Absolute change of precision and recall, class by class, in percentage points.
    macro_dev : float
        Their mean.
    assimilated : float or None
        Percentage of rules whose kept conditions are a proper prefix of their path while their training region grew.
        None when the rule set was made without rows.
    """

    n_rules: int
    n_conditions: int
    n_deleted: int
    n_rows: int
    rule_irc: float
    irc_per_rule: float
    removed: float
    accuracy: float
    tree_accuracy: float
    delta_accuracy: float
    conflict: float
    coverage: float
    agreement: float
    abs_delta_precision: tuple[float, ...]
    abs_delta_recall: tuple[float, ...]
    macro_dev: float
    assimilated: float | None

    @property
    def abs_delta_p0(self) -> float:
        """Absolute change of the first class's precision."""
        return self.abs_delta_precision[0]

    @property
    def abs_delta_r0(self) -> float:
        """Absolute change of the first class's recall."""
        return self.abs_delta_recall[0]

    @property
    def abs_delta_p1(self) -> float:
        """Absolute change of the second class's precision; 0 if there is no second class."""
        return self.abs_delta_precision[1] if len(self.abs_delta_precision) > 1 else 0.0

    @property
    def abs_delta_r1(self) -> float:
        """Absolute change of the second class's recall; 0 if there is no second class."""
        return self.abs_delta_recall[1] if len(self.abs_delta_recall) > 1 else 0.0

    def __str__(self) -> str:
        return (
            f"{self.n_deleted} of {self.n_conditions} conditions deleted ({self.removed:.2f} %), "
            f"from {self.rule_irc:.2f} % of {self.n_rules} rules ({self.irc_per_rule:.2f} % of each)\n"
            f"accuracy {self.accuracy:.2f} % (tree {self.tree_accuracy:.2f} %, change "
            f"{self.delta_accuracy:+.2f} points) "
            f"on {self.n_rows} rows; same prediction as the tree for {self.agreement:.2f} %\n"
            f"coverage {self.coverage:.2f} %, conflict {self.conflict:.2f} %, "
            f"mean class-wise deviation {self.macro_dev:.2f} points"
        )


@dataclass(frozen=True)
class AuditCounts:
    """(Weighted) rows counted for an audit; the counts of parts add up."""

    n_rows: int
    by_tree: NDArray[np.float64]  # rows by class and prediction of the tree, shape (n_classes, n_classes)
    by_rules: NDArray[np.float64]  # the same for the rules
    total: float
    tree_hits: float  # rows that the tree predicts correctly
    hits: float  # rows that the rules predict correctly
    agreed: float  # rows for which both predict the same
    in_conflict: float  # rows that rules of different classes cover
    covered: float  # rows that some rule covers

    def to_numbers(self) -> NDArray[np.float64]:
        """Flatten the counts into one array."""
        sums = self.total, self.tree_hits, self.hits, self.agreed, self.in_conflict, self.covered
        return np.array([self.n_rows, *self.by_tree.ravel(), *self.by_rules.ravel(), *sums], dtype=np.float64)

    @classmethod
    def from_numbers(cls, numbers: NDArray[np.float64], n_classes: int) -> AuditCounts:
        """Read what :meth:`to_numbers` wrote."""
        tables = numbers[1 : 1 + 2 * n_classes**2].reshape(2, n_classes, n_classes)
        return cls(int(numbers[0]), *tables, *numbers[1 + 2 * n_classes**2 :].tolist())

    def __add__(self, other: AuditCounts) -> AuditCounts:
        return AuditCounts(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


@dataclass(frozen=True)
class AuditCounter:
    """Count rows for the audit of a rule set."""

    rules: RuleSet
    features = None  # those that the tree tests

    def count(self, listed: LabelledRows) -> AuditCounts:
        """Count some rows."""
        rules, (rows, truth, weights) = self.rules, listed
        tree = rules.tree
        share = np.full(rows.n_rows, 1.0) if weights is None else weights
        by_tree = tree.leaf_class[apply_tree(tree, rows)]
        by_rules = rules.paths.leaf_class[rules.apply(rows)]
        conflict, covered = find_overlap(tree, rules.paths, rules.deleted, rows)
        marks = by_tree == truth, by_rules == truth, by_rules == by_tree, conflict, covered
        return AuditCounts(
            rows.n_rows,
            _cross(truth, by_tree, share, tree.n_classes),
            _cross(truth, by_rules, share, tree.n_classes),
            float(share.sum()),
            *(float(share[mark].sum()) for mark in marks),
        )

    def add(self, total: AuditCounts, part: AuditCounts) -> AuditCounts:
        """Add the counts of a further piece."""
        return total + part


def audit_rows(rules: RuleSet, rows: RowSource) -> Audit:
    """Audit a rule set on labelled rows of any kind."""
    return finish_audit(rules, rows.fold(without_facts(rules.tree), AuditCounter(rules)))


def finish_audit(rules: RuleSet, counts: AuditCounts) -> Audit:
    """Compute the metrics of a rule set from the counts of all rows."""
    if not counts.total:
        raise InputError(NO_WEIGHT)
    old_precision, old_recall = _precision_recall(counts.by_tree)
    new_precision, new_recall = _precision_recall(counts.by_rules)
    d_precision, d_recall = np.abs(new_precision - old_precision), np.abs(new_recall - old_recall)
    accuracy, tree_accuracy = 100.0 * (counts.hits / counts.total), 100.0 * (counts.tree_hits / counts.total)
    lengths = np.diff(rules.paths.offsets)
    gone = lengths - rules.n_conditions
    touched = gone > 0
    return Audit(
        n_rules=len(rules),
        n_conditions=int(lengths.sum()),
        n_deleted=int(gone.sum()),
        n_rows=counts.n_rows,
        rule_irc=100.0 * float(touched.mean()),
        irc_per_rule=100.0 * float((gone[touched] / lengths[touched]).mean()) if touched.any() else 0.0,
        removed=100.0 * float(gone.sum() / lengths.sum()) if lengths.sum() else 0.0,
        accuracy=accuracy,
        tree_accuracy=tree_accuracy,
        delta_accuracy=accuracy - tree_accuracy,
        conflict=100.0 * (counts.in_conflict / counts.total),
        coverage=100.0 * (counts.covered / counts.total),
        agreement=100.0 * (counts.agreed / counts.total),
        abs_delta_precision=tuple(d_precision.tolist()),
        abs_delta_recall=tuple(d_recall.tolist()),
        macro_dev=float(np.concatenate([d_precision, d_recall]).mean()),
        assimilated=_assimilated(rules) if rules.is_ranked else None,
    )


def _cross(
    truth: NDArray[np.int64], predicted: NDArray[np.int64], weights: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    table = np.bincount(truth * n_classes + predicted, weights=weights, minlength=n_classes**2)
    return table.astype(np.float64).reshape(n_classes, n_classes)


def _precision_recall(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute precision and recall of each class in percent, from rows by class and prediction."""
    precision, recall = (np.nan_to_num(divide_or_nan(100.0 * np.diag(table), table.sum(axis=axis))) for axis in (0, 1))
    return precision, recall


def _assimilated(rules: RuleSet) -> float:
    """Find the percentage of rules that became the path to a proper ancestor while their region grew."""
    paths = rules.paths
    gone_before = np.cumsum(np.concatenate([[0], rules.deleted]))
    span_gone = gone_before[paths.offsets[1:]] - gone_before[paths.offsets[:-1]]
    # The kept links are a prefix exactly when the deleted ones are the last of the path.
    tail_gone = gone_before[paths.offsets[1:]] - gone_before[paths.offsets[1:] - span_gone]
    prefix = (span_gone > 0) & (tail_gone == span_gone)
    return 100.0 * float((prefix & (rules.support > rules.source_support)).mean())
