"""Measure rules against their source tree on given rows: the paper's metrics, and how good the probabilities are.

Shares of rows, rules and conditions are in percent and their changes in percentage points. Probabilities, their scores
and a line's reliability are numbers from 0 to 1. A precision or recall that is undefined counts as 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.counting.coverage import CellCounts, find_overlap, find_winners_and_overlap
from secateur.counting.tile_arguments import Conditions
from secateur.counting.violations import count_violations
from secateur.errors import InputError
from secateur.methods import METHODS
from secateur.methods.contract import DEFAULT_TOLERANCE
from secateur.results.per_line import LineAudits, check_since
from secateur.results.shifts import find_shifts
from secateur.results.statistics import (
    check_squares,
    count_effective,
    find_distances,
    find_guess,
    find_interval,
    score_shares,
)
from secateur.rows.checking import NO_WEIGHT
from secateur.rows.row_source import GivenRows, RowSource
from secateur.rows.rows import LabelledRows, Rows
from secateur.rules.lines import without_facts
from secateur.rules.rules import Rules
from secateur.rules.unseen import Unseen
from secateur.tree.shares import compare_reliability, divide_or_nan
from secateur.words.conditions import count_of

# Sums of weights: of all rows, of those that rules of different classes cover, of those that some rule covers; of the
# squared weights of all rows; and the number of rows whose weight is not 0.
TINY = 1e-9
SEEN = (
    "These rows fall into the leaves exactly as the training rows did: they are not unseen. Pass rows that the tree "
    "was not fitted to."
)
LEAST_CELLS = 6  # of leaves and classes: fewer may be equal by chance
SUMS = ("total", "in_conflict", "covered", "squares", "n_counted")


@dataclass(frozen=True, eq=False)
class Audit:
    """The metrics of rules against their source tree.

    Attributes
    ----------
    n_rules, n_conditions : int
        Rules, without "otherwise", and their conditions as they read: bounds on one column of one rule are one.
    tree_rules, tree_conditions : int
        Those of the tree's own rules, one for each leaf, as they read.
    n_rows : int
        Audited rows; those of weight 0 do not count.
    removed : float
        Percentage of the edges on the paths of the tree that are gone.
    rule_irc : float
        Percentage of rules from which an edge was deleted.
    irc_per_rule : float
        Mean percentage of a rule's edges that were deleted, over the rules with a deletion; NaN if there is none.
    assimilated : float or None
        Percentage of rules whose kept conditions are a proper prefix of their path while their training region grew.
        None when the rules were made without rows.
    agreement : float
        Percentage of rows for which rules and tree predict the same.
    agreement_interval : tuple of float
        Its limits at the level of 95 %, by Clopper and Pearson.
    accuracy, tree_accuracy, delta_accuracy : float
        Accuracy of the rules and of the tree, and the difference.
    baseline : float
        The accuracy of always guessing the commonest class of the training rows; of these rows, if those are not known.
    baseline_class : str
        The name of that class.
    off : float
        Percentage of rows that are off: rules and tree predict different classes, or the share that a line states lies
        further from that of the row's leaf than the tolerance of the list.
    off_by_class : tuple of float
        The same of the rows for which the tree predicts each class; NaN for a class that it predicts for none.
    conflict : float
        Percentage of rows covered by rules of different classes.
    conflict_interval : tuple of float
        Its limits at the level of 95 %.
    coverage : float
        Percentage of rows covered by a rule; the others of a list are left to "otherwise".
    precision, recall : tuple of float
        Of the rules, class by class.
    abs_delta_precision, abs_delta_recall : tuple of float
        Absolute change of precision and recall against the tree's, class by class.
    macro_dev : float
        The mean of these changes.
    max_abs_d, mean_abs_d : float
        D is a rule's training reliability minus that of its leaf, from 0 to 1: what the deletions did to the share of
        its class. The largest and the mean of its absolute values, over the rules whose D is known; NaN if none is, as
        without training rows.
    max_fall : float
        How far the training reliability of a rule lies below its leaf's, at most; NaN without training rows.
    share_beyond_tolerance : float
        Percentage of these rules whose D is, either way, larger than ``tolerance``; NaN as above.
    tolerance : float
        The method's own tolerance, or 0.05 if it has none.
    has_own_tolerance : bool
        Whether it is the method's own.
    brier, tree_brier : float
        Brier score of the rules' probabilities (:meth:`Rules.predict_proba`) and of the tree's own on these rows: the
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
    per_line : LineAudits
        Each line on these rows: its support, its reliability with limits, and whether it still holds.
    shifts : tuple of str
        Columns whose rows all lie on one side of every limit that the tree asks for, a sentence each: they may be
        written in another unit. Rows that are not in memory are not looked at.

    Notes
    -----
    ``removed``, ``rule_irc``, ``irc_per_rule`` and ``assimilated`` count edges of the tree, as the paper does:
    ``x <= 5`` and ``x <= 3`` on one path are two, though a rule reads ``x <= 3``. All else counts what is read.

    The tree's own probabilities are those that its model predicts: of a tree fitted with class weights, the weighted
    shares. A line's are shares of the rows that were passed to :func:`simplify`, and differ from those even if nothing
    was deleted, unless the same weights were passed as ``sample_weight``. Rules made without rows have no
    probabilities of their own and give the tree's, so that their scores say nothing about deletion.
    """

    n_rules: int
    n_conditions: int
    tree_rules: int
    tree_conditions: int
    n_rows: int
    removed: float
    rule_irc: float
    irc_per_rule: float
    assimilated: float | None
    agreement: float
    agreement_interval: tuple[float, float]
    accuracy: float
    tree_accuracy: float
    delta_accuracy: float
    baseline: float
    baseline_class: str
    off: float
    off_by_class: tuple[float, ...]
    conflict: float
    conflict_interval: tuple[float, float]
    coverage: float
    precision: tuple[float, ...]
    recall: tuple[float, ...]
    abs_delta_precision: tuple[float, ...]
    abs_delta_recall: tuple[float, ...]
    macro_dev: float
    max_abs_d: float
    mean_abs_d: float
    max_fall: float
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
    per_line: LineAudits = field(repr=False)
    shifts: tuple[str, ...] = ()

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
        """List the numbers of all rules together by name, ready for JSON: None for those that are not defined."""
        return {name: _none_if_nan(value) for name, value in vars(self).items() if name != "per_line"}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Audit):
            return NotImplemented
        return self.to_dict() == other.to_dict() and self.per_line == other.per_line  # NaN equals NaN

    def __hash__(self) -> int:
        return hash(tuple(self.to_dict().values()))

    def __str__(self) -> str:
        return "\n".join([self._describe_size(), *self._describe_rows(), *self._describe_probabilities()])

    def _repr_html_(self) -> str:
        from secateur.export.notebook_tables import audit_to_html

        return audit_to_html(self)

    @property
    def shortened(self) -> float:
        """Percentage of the tree's conditions, as they read, that are gone."""
        return 100.0 * (1 - self.n_conditions / self.tree_conditions) if self.tree_conditions else 0.0

    def _describe_size(self) -> str:
        if self.per_line.rules.is_list:
            return (
                f"{self.n_conditions:,} of {count_of(self.tree_conditions, 'condition')} left "
                f"({100 - self.shortened:.1f} %), in {self.n_rules:,} of {count_of(self.tree_rules, 'rule')}"
            )
        if self.n_conditions == self.tree_conditions:
            return f"none of {count_of(self.tree_conditions, 'condition')} deleted: no rule was shortened"
        return (
            f"{self.tree_conditions - self.n_conditions:,} of {count_of(self.tree_conditions, 'condition')} deleted "
            f"({self.shortened:.2f} %), from {self.per_line.rules.n_shortened:,} of {count_of(self.n_rules, 'rule')}"
        )

    def _describe_rows(self) -> list[str]:
        covered = f"rows covered by a rule: {self.coverage:.2f} %"
        low, high = self.conflict_interval
        # What is proved needs no interval, which would cast doubt on it.
        is_proved = self.per_line.rules.is_exact and self.conflict == 0
        limits = "" if is_proved else f" (95 % interval {low:.2f} to {high:.2f})"
        off = []
        if self.per_line.rules.keeps_shares:
            points = f"{100 * self.per_line.rules.tolerance:g} points"
            off = [f"off (another class, or a share more than {points} from its leaf's): {self.off:.2f} %"]
        return [
            self.describe_difference(),
            *off,
            f"accuracy {self.accuracy:.2f} % (tree {self.tree_accuracy:.2f} %, change "
            f"{self.delta_accuracy:+.2f} points; always {self.baseline_class} {self.baseline:.2f} %)",
            f"{covered}; by rules that disagree (conflict): {self.conflict:.2f} %{limits}",
            f"precision and recall of a class change by {self.macro_dev:.2f} points on average",
        ]

    @property
    def difference_interval(self) -> tuple[float, float]:
        """Limits, at the level of 95 %, of the percentage of rows on which the rules differ from the tree."""
        low, high = self.agreement_interval
        return 100.0 - high, 100.0 - low

    def describe_difference(self) -> str:
        """Say on how many of the rows the rules differ from the tree."""
        low, high = self.difference_interval
        # An interval around what is proved would cast doubt on it.
        is_proved = self.per_line.rules.is_exact and self.agreement == 100
        likely = "" if is_proved else f" (95 % interval {low:.2f} to {high:.2f})"
        return f"differs from the tree on {100 - self.agreement:.2f} % of {count_of(self.n_rows, 'row')}{likely}"

    def _describe_probabilities(self) -> list[str]:
        rules = self.per_line.rules
        if not rules.is_counted:
            area = "" if math.isnan(self.tree_auc) else f"AUC {self.tree_auc:.3f}, "
            return [
                "probabilities: the rules were made without rows, so they have none of their own and give the tree's: "
                f"{area}Brier score {self.tree_brier:.3f}, log loss {self.tree_log_loss:.3f}"
            ]
        area = "" if math.isnan(self.auc) else f"AUC {self.auc:.3f} (tree {self.tree_auc:.3f}), "
        lines = [
            f"probabilities: {area}Brier score {self.brier:.3f} (tree {self.tree_brier:.3f}), "
            f"log loss {self.log_loss:.3f} (tree {self.tree_log_loss:.3f}); "
            f"{self.mean_abs_delta_p:.3f} from the tree's on average, at most {self.max_abs_delta_p:.3f}"
        ]
        if not math.isnan(self.max_abs_d) and not rules.is_list:
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
    decided: CellCounts  # rows by their leaf, the line that decides them, and their class; see find_cells
    sums: NDArray[np.float64]  # the numbers that SUMS names
    by_line: NDArray[np.float64]  # rows of each line, by class, shape (n_lines, n_classes): see Rule.support
    squares: NDArray[np.float64]  # sums of their squared weights, shape (n_lines,)

    def total(self, name: str) -> float:
        """Give one of the sums."""
        return float(self.sums[SUMS.index(name)])

    def to_cells(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """List the counts that are not zero, and their places."""
        dense = np.concatenate([self.sums, self.by_line.ravel(), self.squares])
        places = np.flatnonzero(dense)
        return (
            np.concatenate([places, self.decided.cells + len(dense)]),
            np.concatenate([dense[places], self.decided.counts]),
        )

    @classmethod
    def from_cells(
        cls, rules: Rules, n_rows: int, places: NDArray[np.int64], counts: NDArray[np.float64]
    ) -> AuditCounts:
        """Read what :meth:`to_cells` listed, in any order."""
        shape = len(rules.class_ids), rules.tree.n_classes
        dense = np.zeros(len(SUMS) + shape[0] * (shape[1] + 1))
        is_dense = places < len(dense)
        dense[places[is_dense]] = counts[is_dense]
        sums, by_line, squares = np.split(dense, [len(SUMS), len(SUMS) + shape[0] * shape[1]])
        decided = CellCounts.of(places[~is_dense] - len(dense), counts[~is_dense])
        return cls(n_rows, decided, sums, by_line.reshape(shape), squares)

    def __add__(self, other: AuditCounts) -> AuditCounts:
        return AuditCounts(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


def find_cells(
    rules: Rules, leaf: NDArray[np.int64], line: NDArray[np.int64], truth: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Number the cells of rows by their leaf, the line that decides them, and their class."""
    cells: NDArray[np.int64] = (leaf * len(rules.class_ids) + line) * rules.tree.n_classes + truth
    return cells


def n_cells(rules: Rules) -> int:
    """Count these cells."""
    return rules.paths.n_rules * len(rules.class_ids) * rules.tree.n_classes


@dataclass(frozen=True)
class AuditCounter:
    """Count rows for the audit of rules."""

    rules: Rules
    features = None  # those that the tree tests

    def count(self, listed: LabelledRows) -> AuditCounts:
        """Count some rows."""
        rules, (rows, truth, weights) = self.rules, listed[:3]
        share = np.full(rows.n_rows, 1.0) if weights is None else weights
        with np.errstate(over="ignore", under="ignore"):  # finish_audit refuses weights that cannot be squared
            squared = share**2
        leaf, line, conflict, covered, by_line = self._place(rows, truth)
        if rules.is_list:
            by_line = cross(line, truth, share, (len(rules.class_ids), rules.tree.n_classes))
            squares = np.bincount(line, squared, len(by_line)).astype(np.float64)
        else:
            by_line = self._count_covered(listed) if by_line is None or weights is not None else by_line
            again = by_line if weights is None else self._count_covered(listed._replace(weights=squared))
            squares = again.sum(axis=1)
        sums = share.sum(), share[conflict].sum(), share[covered].sum()
        return AuditCounts(
            rows.n_rows,
            CellCounts.of(find_cells(rules, leaf, line, truth), share, n_cells(rules)),
            np.array([*sums, float(squared.sum()), np.count_nonzero(share)]),
            by_line,
            squares,
        )

    def _place(
        self, rows: Rows, truth: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64] | None]:
        """Find leaf and line of each row, rows in conflict and those that a rule covers; maybe the rows of rules."""
        rules, layout = self.rules, self.rules.layout
        widened = rules.tree, rules.paths, rules.deleted
        if layout is None and rules.is_ordered:
            return rules.find_leaves(rows), *find_winners_and_overlap(*widened, rules.ranking, rows, truth)
        leaf, line = rules.find_places(rows)
        if layout is not None and rules.is_exact and not rules.tree.facts:  # no two rules of different classes meet
            is_rest = np.zeros(rules.n_lines, dtype=bool)
            is_rest[layout.rest_lines] = True
            return leaf, line, np.zeros(rows.n_rows, dtype=bool), ~is_rest[line], None
        return leaf, line, *find_overlap(*widened, rows, rules.leaves), None

    def _count_covered(self, listed: LabelledRows) -> NDArray[np.float64]:
        """Count the rows of each class that satisfy each leaf's rule."""
        rules = self.rules
        widened = rules.paths.count(rules.deleted) > 0
        conditions = Conditions(rules.deleted, np.zeros_like(rules.deleted), widened)
        return count_violations(rules.tree, rules.paths, conditions, listed).counts

    def add(self, total: AuditCounts, part: AuditCounts) -> AuditCounts:
        """Add the counts of a further piece."""
        return total + part


def audit_rows(rules: Rules, rows: RowSource, since: Any = None) -> Audit:
    """Audit rules on labelled rows of any kind."""
    check_since(rules, since)  # before the rows are read
    if since is None and rules.unseen is not None and rules.fidelity is None:
        squares = rules.unseen.support if rules.unseen.squares is None else rules.unseen.squares
        since = LineAudits(rules, rules.unseen.counts, squares, is_unseen=True)
    found = finish_audit(rules, rows.fold(without_facts(rules.tree), AuditCounter(rules)), since)
    return replace(found, shifts=tuple(find_shifts(rules, rows))) if rows.in_memory else found


def count_unseen(rules: Rules, rows: RowSource, given: GivenRows) -> Unseen:
    """Count rows that had no part in making rules; reject the training rows."""
    tree = rules.tree
    found = rows.fold(without_facts(tree), AuditCounter(rules))
    if not found.total("total") > 0:
        raise InputError(NO_WEIGHT)
    pairs, truth = np.divmod(found.decided.cells, tree.n_classes)
    leaf = pairs // len(rules.class_ids)
    leaf_counts = cross(leaf, truth, found.decided.counts, rules.leaf_counts.shape)
    if np.count_nonzero(leaf_counts) >= LEAST_CELLS and np.array_equal(leaf_counts, rules.leaf_counts):
        raise InputError(SEEN)
    is_weighted = given.sample_weight is not None
    if is_weighted:
        check_squares(found.by_line.sum(axis=1), found.squares)
    return Unseen(found.by_line, leaf_counts, found.squares if is_weighted else None, rows=given)


def finish_audit(rules: Rules, counts: AuditCounts, since: Any = None) -> Audit:
    """Compute the metrics of rules from the counts of all rows."""
    n_classes, weights = rules.tree.n_classes, counts.decided.counts
    pairs, truth = np.divmod(counts.decided.cells, n_classes)
    leaf, line = np.divmod(pairs, len(rules.class_ids))
    total = float(weights.sum())  # in the order of these sums, so that all of the rows are exactly 100 %
    if not total:
        raise InputError(NO_WEIGHT)
    check_squares(
        [counts.total("total"), *counts.by_line.sum(axis=1)], [counts.total("squares"), *counts.squares.tolist()]
    )
    by_tree, by_rules = rules.paths.leaf_class[leaf], rules.class_ids[line]
    precision, recall = _find_precision_recall(truth, by_rules, weights, n_classes)
    tree_precision, tree_recall = _find_precision_recall(truth, by_tree, weights, n_classes)
    d_precision, d_recall = np.abs(precision - tree_precision), np.abs(recall - tree_recall)
    marks = by_rules == truth, by_tree == truth, by_rules == by_tree
    accuracy, tree_accuracy, agreement = (100.0 * (float(weights[mark].sum()) / total) for mark in marks)
    off = 1.0 * ~marks[2]
    if rules.keeps_shares and rules.layout is not None:
        counted = rules.value_counts
        values = divide_or_nan(counted[np.arange(len(counted)), rules.paths.leaf_class], counted.sum(axis=1))
        # Shares are rounded; the checker decides ties on fractions.
        off = 1.0 * ((off > 0) | (np.abs(rules.layout.shares[line] - values[leaf]) > rules.tolerance + TINY))
    by_class = [np.bincount(by_tree, weights * part, minlength=n_classes) for part in (off, 1.0)]
    sizes = np.bincount(truth, weights, minlength=n_classes)
    guess = find_guess(rules, sizes)
    tree_shares = rules.leaf_shares
    scores = tree_scores = score_shares(tree_shares, cross(leaf, truth, weights, tree_shares.shape))
    apart = np.zeros(len(leaf))
    if rules.is_counted:  # else probabilities are the tree's own
        scores = score_shares(rules.shares, cross(line, truth, weights, rules.shares.shape))
        apart = find_distances(rules.shares, line, tree_shares, leaf)
    drift = rules.covered_reliability - rules.leaf_reliability
    # Without rows, only rules as they were are known.
    judged = rules.leaves[~np.isnan(drift[rules.leaves]) & rules.is_ranked]
    moved = drift[judged]
    far, tolerance = np.abs(moved), rules.parameters.get("tolerance", DEFAULT_TOLERANCE)
    own = rules.paths.leaf_class[judged]
    sides = compare_reliability(rules.covered_counts[judged], rules.leaf_counts[judged], own, tolerance)
    n_effective = count_effective(counts.total("total"), counts.total("squares"))
    conflict = counts.total("in_conflict") / counts.total("total")
    lengths = np.diff(rules.paths.offsets)[rules.leaves]
    gone = lengths - rules.lengths[rules.leaves]
    touched = gone > 0
    kept, every = rules.n_edges, len(rules.paths.links)
    return Audit(
        n_rules=len(rules),
        n_conditions=rules.n_conditions,
        tree_rules=rules.tree_rules,
        tree_conditions=rules.tree_conditions,
        n_rows=int(counts.total("n_counted")),
        removed=100.0 * float((every - kept) / every) if every else 0.0,
        rule_irc=100.0 * float(touched.mean()) if len(touched) else 0.0,
        irc_per_rule=100.0 * float((gone[touched] / lengths[touched]).mean()) if touched.any() else math.nan,
        assimilated=_find_assimilated(rules),
        agreement=agreement,
        agreement_interval=_find_limits(agreement / 100.0, n_effective),
        accuracy=accuracy,
        tree_accuracy=tree_accuracy,
        delta_accuracy=accuracy - tree_accuracy,
        baseline=100.0 * (float(sizes[guess]) / total),
        baseline_class=rules.tree.class_names[guess],
        off=100.0 * (float((weights * off).sum()) / total),
        off_by_class=tuple((100.0 * divide_or_nan(*by_class)).tolist()),
        conflict=100.0 * conflict,
        conflict_interval=_find_limits(conflict, n_effective),
        coverage=100.0 * (counts.total("covered") / counts.total("total")),
        precision=tuple(precision.tolist()),
        recall=tuple(recall.tolist()),
        abs_delta_precision=tuple(d_precision.tolist()),
        abs_delta_recall=tuple(d_recall.tolist()),
        macro_dev=float(np.concatenate([d_precision, d_recall]).mean()),
        max_abs_d=float(far.max()) if len(far) else math.nan,
        mean_abs_d=float(far.mean()) if len(far) else math.nan,
        max_fall=float((-moved).max(initial=0.0)) if rules.is_ranked else math.nan,
        share_beyond_tolerance=100.0 * float((sides != 0).mean()) if len(far) else math.nan,
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
        per_line=LineAudits(rules, counts.by_line, counts.squares, check_since(rules, since)),
    )


def _find_assimilated(rules: Rules) -> float | None:
    if not rules.is_ranked:
        return None
    into = rules.assimilated_into[rules.leaves]
    return 100.0 * float((into >= 0).mean()) if len(into) else 0.0


def _find_limits(share: float, n_effective: NDArray[np.float64]) -> tuple[float, float]:
    low, high = find_interval(share, n_effective)
    return 100.0 * float(low), 100.0 * float(high)


def _none_if_nan(value: Any) -> Any:
    """Put None for NaN, also within a tuple."""
    if isinstance(value, tuple):
        return tuple(map(_none_if_nan, value))
    return None if value != value else value


def cross(
    one: NDArray[np.int64], other: NDArray[np.int64], weights: NDArray[np.float64], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Add up weights by two numbers."""
    table = np.bincount(one * shape[1] + other, weights=weights, minlength=shape[0] * shape[1])
    return table.astype(np.float64).reshape(shape)


def _find_precision_recall(
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
