"""Measure what deletion changed: the paper's metrics of a rule set against its source tree, on given rows.

Shares of rows, rules and conditions are in percent and their changes in percentage points. Probabilities, their scores
and a rule's reliability are numbers from 0 to 1. A precision or recall that is undefined counts as 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.counting.cell_counts import CellCounts
from secateur.counting.coverage import find_overlap, find_winners_and_overlap
from secateur.counting.tile_arguments import Conditions
from secateur.counting.violations import count_violations
from secateur.errors import InputError
from secateur.methods import METHODS
from secateur.methods.contract import DEFAULT_TOLERANCE
from secateur.results.guess import find_guess
from secateur.results.intervals import check_squares, count_effective, find_interval
from secateur.results.per_rule import RuleAudits, check_since
from secateur.results.scores import find_distances, score_shares
from secateur.rows.checking import NO_WEIGHT
from secateur.rules.deciding import without_facts
from secateur.tree.shares import divide_or_nan
from secateur.words.conditions import count_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rows.row_source import RowSource
    from secateur.rows.rows import LabelledRows
    from secateur.rules.rule_set import RuleSet

__all__ = [
    *("Audit", "AuditCounter", "AuditCounts"),
    *("audit_rows", "compare_classes", "cross", "find_cells", "finish_audit", "none_if_nan"),
]

# Sums of weights: of all rows, of those that rules of different classes cover, of those that some rule covers; of the
# squared weights of all rows; and the number of rows whose weight is not 0.
SUMS = ("total", "in_conflict", "covered", "squares", "n_counted")


@dataclass(frozen=True, eq=False)
class Audit:
    """The metrics of a rule set against its source tree.

    Attributes
    ----------
    n_rules, n_conditions, n_deleted, n_rows : int
        Size of what was audited; rows of weight 0 do not count.
    rule_irc : float
        Percentage of rules from which a condition was deleted.
    irc_per_rule : float
        Mean percentage of a rule's conditions that were deleted, over the rules with a deletion; NaN if there is none.
    removed : float
        Percentage of all conditions that were deleted.
    accuracy, tree_accuracy, delta_accuracy : float
        Accuracy of the rules and of the tree, in percent, and the difference in percentage points.
    baseline : float
        The accuracy of always guessing the commonest class of the training rows; of these rows, if those are not known.
    baseline_class : str
        The name of that class.
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
    max_abs_d, mean_abs_d : float
        D is a rule's training reliability minus that of its leaf, from 0 to 1: what the deletions did to the share of
        its class. The largest and the mean of its absolute values, over the rules whose D is known; NaN if none is,
        as in a rule set made without rows.
    share_beyond_tolerance : float
        Percentage of these rules whose D is, either way, larger than ``tolerance``; NaN as above. The exact deletions
        of ``layered`` are not held to its tolerance, so rules may be beyond it there.
    tolerance : float
        The method's own tolerance, or 0.05 if it has none.
    has_own_tolerance : bool
        Whether it is the method's own.
    brier, tree_brier : float
        Brier score of the rules' probabilities (:meth:`RuleSet.predict_proba`) and of the tree's own on these rows: the
        mean squared error of the second class's probability; with more than two classes, summed over all of them.
    log_loss, tree_log_loss : float
        Mean of -log of the probability given to a row's own class. Probabilities are clipped to 2.2e-16 from 0 and 1,
        as :func:`sklearn.metrics.log_loss` does it.
    auc, tree_auc : float
        Area under the ROC curve; with more than two classes, the mean of each class against the rest. NaN if these
        rows have no row of some class.
    mean_abs_delta_p, max_abs_delta_p : float
        How far the rules' probabilities are from the tree's, on average over the rows and at most: half of what all
        classes differ by, which with two classes is the difference of either class's probability.
    conflict_interval : tuple of float
        Limits of the conflict at the level of 95 %, by Clopper and Pearson, in percent.
    per_rule : RuleAudits
        Each rule on these rows: its support, its reliability with limits, and whether it still holds.

    Notes
    -----
    The tree's own probabilities are those that its model predicts: of a tree fitted with class weights, the weighted
    shares. A rule's are shares of the rows that were passed to :func:`simplify`, and differ from those even if nothing
    was deleted, unless the same weights were passed as ``sample_weight``. Rules made without rows have no
    probabilities of their own and give the tree's, so that their scores say nothing about deletion.
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
    baseline: float
    baseline_class: str
    conflict: float
    coverage: float
    agreement: float
    abs_delta_precision: tuple[float, ...]
    abs_delta_recall: tuple[float, ...]
    macro_dev: float
    assimilated: float | None
    max_abs_d: float
    mean_abs_d: float
    share_beyond_tolerance: float
    tolerance: float
    has_own_tolerance: bool
    brier: float
    tree_brier: float
    log_loss: float
    tree_log_loss: float
    auc: float
    tree_auc: float
    mean_abs_delta_p: float
    max_abs_delta_p: float
    conflict_interval: tuple[float, float]
    per_rule: RuleAudits

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

    def to_dict(self) -> dict[str, Any]:
        """List the numbers of the whole rule set by name, ready for JSON: None for those that are not defined."""
        return {name: none_if_nan(value) for name, value in vars(self).items() if name != "per_rule"}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Audit):
            return NotImplemented
        return self.to_dict() == other.to_dict() and self.per_rule == other.per_rule  # NaN equals NaN

    def __hash__(self) -> int:
        return hash(tuple(self.to_dict().values()))

    def __str__(self) -> str:
        return "\n".join([self._tell_size(), *self._tell_rows(), *self._tell_probabilities()])

    def _repr_html_(self) -> str:
        from secateur.export.notebook_tables import audit_to_html

        return audit_to_html(self)

    def _tell_size(self) -> str:
        if not self.n_deleted:
            return f"none of {count_of(self.n_conditions, 'condition')} deleted: no rule was shortened"
        return (
            f"{self.n_deleted:,} of {count_of(self.n_conditions, 'condition')} deleted ({self.removed:.2f} %), "
            f"from {round(self.rule_irc * self.n_rules / 100):,} of {count_of(self.n_rules, 'rule')}"
        )

    def _tell_rows(self) -> list[str]:
        return [
            f"accuracy {self.accuracy:.2f} % (tree {self.tree_accuracy:.2f} %, change "
            f"{self.delta_accuracy:+.2f} points; always {self.baseline_class} {self.baseline:.2f} %) "
            f"on {count_of(self.n_rows, 'row')}; same prediction as the tree for {self.agreement:.2f} %",
            f"rows covered by a rule: {self.coverage:.2f} %; by rules that disagree (conflict): {self.conflict:.2f} % "
            f"({self.conflict_interval[0]:.2f} to {self.conflict_interval[1]:.2f})",
            f"precision and recall of a class change by {self.macro_dev:.2f} points on average",
        ]

    def _tell_probabilities(self) -> list[str]:
        area = "" if math.isnan(self.auc) else f"AUC {self.auc:.3f} (tree {self.tree_auc:.3f}), "
        rules = self.per_rule.rules
        if not rules.is_ranked:
            area = "" if math.isnan(self.tree_auc) else f"AUC {self.tree_auc:.3f}, "
            return [
                "probabilities: the rules were made without rows, so they have none of their own and give the tree's: "
                f"{area}Brier score {self.tree_brier:.3f}, log loss {self.tree_log_loss:.3f}"
            ]
        lines = [
            f"probabilities: {area}Brier score {self.brier:.3f} (tree {self.tree_brier:.3f}), "
            f"log loss {self.log_loss:.3f} (tree {self.tree_log_loss:.3f}); "
            f"{self.mean_abs_delta_p:.3f} from the tree's on average, at most {self.max_abs_delta_p:.3f}"
        ]
        if not math.isnan(self.max_abs_d):
            own = METHODS[rules.method].tolerance_of
            whose = own if self.has_own_tolerance else "the method has no tolerance of its own"
            lines.append(
                f"training reliability of a rule against its leaf's: at most {100 * self.max_abs_d:.1f} points away, "
                f"{100 * self.mean_abs_d:.1f} on average; {self.share_beyond_tolerance:.2f} % of rules beyond "
                f"{100 * self.tolerance:g} points ({whose})"
            )
        return lines


@dataclass(frozen=True)
class AuditCounts:
    """(Weighted) rows counted for an audit; the counts of parts add up."""

    n_rows: int
    decided: CellCounts  # rows by the rule of their leaf, the rule that decides, and their class; see find_cells
    sums: NDArray[np.float64]  # the numbers that SUMS names
    by_rule: NDArray[np.float64]  # rows that satisfy each rule, by class, shape (n_rules, n_classes)
    squares: NDArray[np.float64]  # sums of their squared weights, shape (n_rules,)

    def total(self, name: str) -> float:
        """Give one of the sums."""
        return float(self.sums[SUMS.index(name)])

    def to_cells(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """List the counts that are not zero, and their places."""
        dense = np.concatenate([self.sums, self.by_rule.ravel(), self.squares])
        places = np.flatnonzero(dense)
        return (
            np.concatenate([places, self.decided.cells + len(dense)]),
            np.concatenate([dense[places], self.decided.counts]),
        )

    @classmethod
    def from_cells(
        cls, rules: RuleSet, n_rows: int, places: NDArray[np.int64], counts: NDArray[np.float64]
    ) -> AuditCounts:
        """Read what :meth:`to_cells` listed, in any order."""
        shape = len(rules), rules.tree.n_classes
        dense = np.zeros(len(SUMS) + shape[0] * (shape[1] + 1))
        is_dense = places < len(dense)
        dense[places[is_dense]] = counts[is_dense]
        sums, by_rule, squares = np.split(dense, [len(SUMS), len(SUMS) + shape[0] * shape[1]])
        decided = CellCounts.of(places[~is_dense] - len(dense), counts[~is_dense])
        return cls(n_rows, decided, sums, by_rule.reshape(shape), squares)

    def __add__(self, other: AuditCounts) -> AuditCounts:
        return AuditCounts(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


def find_cells(
    rules: RuleSet, leaf: NDArray[np.int64], decider: NDArray[np.int64], truth: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Number the cells of rows by the rule of their leaf, the rule that decides them, and their class."""
    cells: NDArray[np.int64] = (leaf * len(rules) + decider) * rules.tree.n_classes + truth
    return cells


@dataclass(frozen=True)
class AuditCounter:
    """Count rows for the audit of a rule set."""

    rules: RuleSet
    features = None  # those that the tree tests

    def count(self, listed: LabelledRows) -> AuditCounts:
        """Count some rows."""
        rules, (rows, truth, weights) = self.rules, listed
        share = np.full(rows.n_rows, 1.0) if weights is None else weights
        widened, by_rule, leaf = (rules.tree, rules.paths, rules.deleted), None, rules._find_leaves(rows)
        if rules.is_ranked:
            found = find_winners_and_overlap(*widened, rules.ranking, rows, truth)
            decider, conflict, covered, by_rule = found
        else:
            decider, (conflict, covered) = leaf, find_overlap(*widened, rows)
        if by_rule is None or weights is not None:
            by_rule = self._count_rules(listed)
        sums = share.sum(), share[conflict].sum(), share[covered].sum()
        with np.errstate(over="ignore", under="ignore"):  # finish_audit refuses weights that cannot be squared
            squared = share**2
        return AuditCounts(
            rows.n_rows,
            CellCounts.of(find_cells(rules, leaf, decider, truth), share),
            np.array([*sums, float(squared.sum()), np.count_nonzero(share)]),
            by_rule,
            (by_rule if weights is None else self._count_rules(listed._replace(weights=squared))).sum(axis=1),
        )

    def _count_rules(self, listed: LabelledRows) -> NDArray[np.float64]:
        """Count the rows of each class that satisfy each rule."""
        rules = self.rules
        widened = np.bincount(rules.paths.rule[rules.deleted], minlength=len(rules)) > 0
        conditions = Conditions(rules.deleted, np.zeros_like(rules.deleted), widened)
        return count_violations(rules.tree, rules.paths, conditions, listed).counts

    def add(self, total: AuditCounts, part: AuditCounts) -> AuditCounts:
        """Add the counts of a further piece."""
        return total + part


def audit_rows(rules: RuleSet, rows: RowSource, since: Any = None) -> Audit:
    """Audit a rule set on labelled rows of any kind."""
    check_since(rules, since)  # before the rows are read
    return finish_audit(rules, rows.fold(without_facts(rules.tree), AuditCounter(rules)), since)


def finish_audit(rules: RuleSet, counts: AuditCounts, since: Any = None) -> Audit:
    """Compute the metrics of a rule set from the counts of all rows."""
    paths, n_classes, weights = rules.paths, rules.tree.n_classes, counts.decided.counts
    pairs, truth = np.divmod(counts.decided.cells, n_classes)
    leaf, decider = np.divmod(pairs, len(rules))
    total = float(weights.sum())  # in the order of these sums, so that all of the rows are exactly 100 %
    if not total:
        raise InputError(NO_WEIGHT)
    check_squares(
        [counts.total("total"), *counts.by_rule.sum(axis=1)], [counts.total("squares"), *counts.squares.tolist()]
    )
    by_tree, by_rules = paths.leaf_class[leaf], paths.leaf_class[decider]
    d_precision, d_recall = compare_classes(truth, by_tree, by_rules, weights, n_classes)
    marks = by_rules == truth, by_tree == truth, by_rules == by_tree
    accuracy, tree_accuracy, agreement = (100.0 * (float(weights[mark].sum()) / total) for mark in marks)
    sizes = np.bincount(truth, weights, minlength=n_classes)
    guess = find_guess(rules, sizes)
    shares, tree_shares = rules._find_shares("rule"), rules._find_shares("leaf")
    scores = score_shares(shares, cross(decider, truth, weights, shares.shape))
    tree_scores = score_shares(tree_shares, cross(leaf, truth, weights, shares.shape))
    apart = find_distances(shares, decider, tree_shares, leaf)
    moved = np.abs(rules.reliability - rules.source_reliability)
    moved = moved[~np.isnan(moved)] if rules.is_ranked else moved[:0]  # without rows, only rules as they were are known
    tolerance = rules.parameters.get("tolerance", DEFAULT_TOLERANCE)
    conflict = counts.total("in_conflict") / counts.total("total")
    limits = find_interval(conflict, count_effective(counts.total("total"), counts.total("squares")))
    lengths = np.diff(rules.paths.offsets)
    gone = lengths - rules.n_conditions
    touched = gone > 0
    return Audit(
        n_rules=len(rules),
        n_conditions=int(lengths.sum()),
        n_deleted=int(gone.sum()),
        n_rows=int(counts.total("n_counted")),
        rule_irc=100.0 * float(touched.mean()),
        irc_per_rule=100.0 * float((gone[touched] / lengths[touched]).mean()) if touched.any() else math.nan,
        removed=100.0 * float(gone.sum() / lengths.sum()) if lengths.sum() else 0.0,
        accuracy=accuracy,
        tree_accuracy=tree_accuracy,
        delta_accuracy=accuracy - tree_accuracy,
        baseline=100.0 * (float(sizes[guess]) / total),
        baseline_class=rules.tree.class_names[guess],
        conflict=100.0 * conflict,
        coverage=100.0 * (counts.total("covered") / counts.total("total")),
        agreement=agreement,
        abs_delta_precision=tuple(d_precision.tolist()),
        abs_delta_recall=tuple(d_recall.tolist()),
        macro_dev=float(np.concatenate([d_precision, d_recall]).mean()),
        assimilated=100.0 * float((rules.assimilated_into >= 0).mean()) if rules.is_ranked else None,
        max_abs_d=float(moved.max()) if len(moved) else math.nan,
        mean_abs_d=float(moved.mean()) if len(moved) else math.nan,
        share_beyond_tolerance=100.0 * float((moved > tolerance).mean()) if len(moved) else math.nan,
        tolerance=float(tolerance),
        has_own_tolerance="tolerance" in rules.parameters,
        brier=scores.brier,
        tree_brier=tree_scores.brier,
        log_loss=scores.log_loss,
        tree_log_loss=tree_scores.log_loss,
        auc=scores.auc,
        tree_auc=tree_scores.auc,
        mean_abs_delta_p=float((weights * apart).sum()) / total,
        max_abs_delta_p=float(apart[weights > 0].max()),
        conflict_interval=(100.0 * float(limits[0]), 100.0 * float(limits[1])),
        per_rule=RuleAudits(rules, counts.by_rule, counts.squares, check_since(rules, since)),
    )


def none_if_nan(value: Any) -> Any:
    """Put None for NaN, also within a tuple."""
    if isinstance(value, tuple):
        return tuple(map(none_if_nan, value))
    return None if value != value else value


def compare_classes(
    truth: NDArray[np.int64],
    by_tree: NDArray[np.int64],
    by_rules: NDArray[np.int64],
    weights: NDArray[np.float64],
    n_classes: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Find how far precision and recall of each class differ between tree and rules, in percentage points."""
    old_precision, old_recall = _precision_recall(truth, by_tree, weights, n_classes)
    new_precision, new_recall = _precision_recall(truth, by_rules, weights, n_classes)
    return np.abs(new_precision - old_precision), np.abs(new_recall - old_recall)


def cross(
    one: NDArray[np.int64], other: NDArray[np.int64], weights: NDArray[np.float64], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Add up weights by two numbers."""
    table = np.bincount(one * shape[1] + other, weights=weights, minlength=shape[0] * shape[1])
    return table.astype(np.float64).reshape(shape)


def _precision_recall(
    truth: NDArray[np.int64], predicted: NDArray[np.int64], weights: NDArray[np.float64], n_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute precision and recall of each class in percent; a table of all pairs of classes may not fit."""
    right = truth == predicted
    hits = np.bincount(truth[right], weights[right], minlength=n_classes)
    precision, recall = (
        np.nan_to_num(divide_or_nan(100.0 * hits, np.bincount(named, weights, minlength=n_classes)))
        for named in (predicted, truth)
    )
    return precision, recall
