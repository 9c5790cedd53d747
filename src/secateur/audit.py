"""What deletion changed: the paper's metrics of a rule set against its source tree, on given rows.

Shares are in percent and changes in percentage points. A precision or recall that is undefined counts as 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from secateur.coverage import find_overlap
from secateur.routing import apply_tree
from secateur.rows import check_labels, check_rows, check_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.row_blocks import Rows
    from secateur.rules import RuleSet

__all__ = ["Audit", "Judged", "audit_rules", "judge_rows", "make_audit"]


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


def audit_rules(rules: RuleSet, X: Any, y: Any, sample_weight: Any) -> Audit:
    """Audit a rule set on labelled rows."""
    rows = check_rows(rules.tree, X)
    truth = check_labels(rules.tree, y, rows.n_rows)
    weights = check_weights(sample_weight, rows.n_rows)
    share = np.full(rows.n_rows, 1.0) if weights is None else weights
    return make_audit(rules, rows.n_rows, judge_rows(rules, rows, truth), share)


class Judged(NamedTuple):
    """What tree and rules say of some rows, row by row, or of kinds of rows that they judge alike.

    Attributes
    ----------
    truth, by_tree, by_rules : ndarray of int64
        Class ids.
    conflict, covered : ndarray of bool
        Whether rules of different classes cover a row, and whether any rule does.
    """

    truth: NDArray[np.int64]
    by_tree: NDArray[np.int64]
    by_rules: NDArray[np.int64]
    conflict: NDArray[np.bool_]
    covered: NDArray[np.bool_]


def judge_rows(rules: RuleSet, rows: Rows, truth: NDArray[np.int64]) -> Judged:
    """Ask tree and rules about labelled rows."""
    tree = rules.tree
    conflict, covered = find_overlap(tree, rules.notes, rules.deleted, rows)
    by_tree = tree.leaf_class[apply_tree(tree, rows)]
    return Judged(truth, by_tree, rules.notes.leaf_class[rules.apply(rows)], conflict, covered)


def make_audit(rules: RuleSet, n_rows: int, judged: Judged, share: NDArray[np.float64]) -> Audit:
    """The metrics, from what was said of rows and how much each counts."""
    truth, by_tree, by_rules, conflict, covered = judged
    n_classes = rules.tree.n_classes
    old_precision, old_recall = _precision_recall(truth, by_tree, share, n_classes)
    new_precision, new_recall = _precision_recall(truth, by_rules, share, n_classes)
    d_precision, d_recall = np.abs(new_precision - old_precision), np.abs(new_recall - old_recall)
    accuracy, tree_accuracy = _percent(by_rules == truth, share), _percent(by_tree == truth, share)
    lengths = np.diff(rules.notes.offsets)
    gone = lengths - rules.n_conditions
    touched = gone > 0
    return Audit(
        n_rules=len(rules),
        n_conditions=int(lengths.sum()),
        n_deleted=int(gone.sum()),
        n_rows=n_rows,
        rule_irc=100.0 * float(touched.mean()),
        irc_per_rule=100.0 * float((gone[touched] / lengths[touched]).mean()) if touched.any() else 0.0,
        removed=100.0 * float(gone.sum() / lengths.sum()) if lengths.sum() else 0.0,
        accuracy=accuracy,
        tree_accuracy=tree_accuracy,
        delta_accuracy=accuracy - tree_accuracy,
        conflict=_percent(conflict, share),
        coverage=_percent(covered, share),
        agreement=_percent(by_rules == by_tree, share),
        abs_delta_precision=tuple(d_precision.tolist()),
        abs_delta_recall=tuple(d_recall.tolist()),
        macro_dev=float(np.concatenate([d_precision, d_recall]).mean()),
        assimilated=_assimilated(rules) if rules.is_ranked else None,
    )


def _precision_recall(
    truth: NDArray[np.int64], predicted: NDArray[np.int64], weights: NDArray[np.float64], n_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Precision and recall of each class in percent."""
    table = np.bincount(truth * n_classes + predicted, weights=weights, minlength=n_classes**2)
    table = table.reshape(n_classes, n_classes)
    hits = np.diag(table)
    precision, recall = np.zeros(n_classes), np.zeros(n_classes)
    np.divide(100.0 * hits, table.sum(axis=0), out=precision, where=table.sum(axis=0) > 0)
    np.divide(100.0 * hits, table.sum(axis=1), out=recall, where=table.sum(axis=1) > 0)
    return precision, recall


def _percent(flags: NDArray[np.bool_], weights: NDArray[np.float64]) -> float:
    return 100.0 * float(weights[flags].sum() / weights.sum())


def _assimilated(rules: RuleSet) -> float:
    """Ancestor-rule assimilation: what is kept is the path down to a proper ancestor, and the region grew."""
    notes = rules.notes
    gone_before = np.cumsum(np.concatenate([[0], rules.deleted]))
    span_gone = gone_before[notes.offsets[1:]] - gone_before[notes.offsets[:-1]]
    # The kept links are a prefix exactly when the deleted ones are the last of the path.
    tail_gone = gone_before[notes.offsets[1:]] - gone_before[notes.offsets[1:] - span_gone]
    prefix = (span_gone > 0) & (tail_gone == span_gone)
    return 100.0 * float((prefix & (rules.support > rules.source_support)).mean())
