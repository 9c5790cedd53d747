"""Measure rules against their source tree on given rows: the paper's metrics, and how good probabilities or values are.

Shares of rows, rules and conditions are in percent and their changes in percentage points. Probabilities, their scores
and a line's reliability are numbers from 0 to 1. A precision or recall that is undefined counts as 0.
"""

import math
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.counting.targets import find_moments
from secateur.errors import InputError
from secateur.methods import METHODS
from secateur.methods.contract import DEFAULT_TOLERANCE
from secateur.results import statistics
from secateur.results.audit_counts import AuditCounter, AuditCounts, cross
from secateur.results.measures import find_interest, measure_groups
from secateur.results.per_line import LineAudits, check_since
from secateur.results.shifts import LARGE_PSI, TableShift, find_table_shift
from secateur.rows.checking import NO_WEIGHT
from secateur.rows.row_source import GivenRows, RowSource
from secateur.rules.lines import without_facts
from secateur.rules.making import Unseen
from secateur.rules.rule import written_by
from secateur.rules.rules import Rules
from secateur.tree.shares import compare_reliability, divide_or_nan
from secateur.words.conditions import count_of, count_points
from secateur.words.plain_words import format_amount, format_limit

TINY = 1e-9
SEEN = "These rows fall into the leaves exactly as the {} did: they are not {}."
LEAST_CELLS = 6  # of leaves and classes: fewer may be equal by chance
NO_LIMITS = math.nan, math.nan
OF_VALUES = ("r2", "tree_r2", "mae", "tree_mae", "rmse", "tree_rmse", "max_distance", "mean_distance")


def _of_class(name: str, place: int) -> Any:
    """Make a property of an audit: by how much the precision or recall of one class changed."""
    which = ("first", "second")[place]
    about = f"Absolute change of the {which} class's {name}; 0 if there is no such class."
    return property(lambda audit: (*getattr(audit, f"abs_delta_{name}"), 0.0, 0.0)[place], doc=about)


@dataclass(frozen=True, eq=False)
class Audit:
    """The metrics of rules against their source tree. What only classes or only values have is NaN of the others.

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
    off : float
        Percentage of rows that are off: rules and tree predict different classes, or the share that a line states lies
        further from that of the row's leaf than the tolerance of the list. Of values: the value lies further from the
        tree's.
    coverage : float
        Percentage of rows covered by a rule; the others of a list are left to "otherwise".
    baseline : float
        The accuracy of always guessing the commonest class of the training rows; of these rows, if those are not known.
        Of values: the root of the mean squared error of always saying the mean of these rows, which is their spread.
    tolerance : float
        The method's own tolerance, or 0.05 if it has none; of values, that of the list.
    agreement : float
        Percentage of rows for which rules and tree predict the same.
    agreement_interval : tuple of float
        Its limits at the level of 95 %, by Clopper and Pearson.
    accuracy, tree_accuracy, delta_accuracy : float
        Accuracy of the rules and of the tree, and the difference.
    baseline_class : str
        The name of that class.
    class_shares, class_shares_before : tuple of float
        Percentage of these rows of each class, and the same before: of the earlier audit of a list, else of the
        training rows; NaN where not known.
    off_by_class : tuple of float
        The same of the rows for which the tree predicts each class; NaN for a class that it predicts for none.
    conflict : float
        Percentage of rows covered by rules of different classes.
    conflict_interval : tuple of float
        Its limits at the level of 95 %.
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
    r2, tree_r2 : float
        Of values: share of the variance of the targets that rules and tree explain; NaN if all targets are equal.
    mae, tree_mae, rmse, tree_rmse : float
        Of values: mean absolute error and root of the mean squared error of rules and tree.
    max_distance, mean_distance : float
        Of values: how far the rules' values lie from the tree's on these rows, at most and on average.
    calibration_error : float
        Mean distance, over the rows, of the share of its class that a line states from the share that these rows have:
        the expected calibration error, from 0 to 1. NaN without stated shares.
    seen : str
        A sentence if these rows fall into the leaves exactly as those that the rules were made from or measured on.
    table : TableShift or None
        Each asked column beside its training rows, broken facts, and units; None of rows that are not in memory.
    per_line : LineAudits
        Each line on these rows: its support, its reliability with limits, and whether it still holds.

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
    off: float
    coverage: float
    baseline: float
    tolerance: float
    agreement: float = math.nan
    agreement_interval: tuple[float, float] = NO_LIMITS
    accuracy: float = math.nan
    tree_accuracy: float = math.nan
    delta_accuracy: float = math.nan
    baseline_class: str = ""
    class_shares: tuple[float, ...] = ()
    class_shares_before: tuple[float, ...] = ()
    off_by_class: tuple[float, ...] = ()
    conflict: float = math.nan
    conflict_interval: tuple[float, float] = NO_LIMITS
    precision: tuple[float, ...] = ()
    recall: tuple[float, ...] = ()
    abs_delta_precision: tuple[float, ...] = ()
    abs_delta_recall: tuple[float, ...] = ()
    macro_dev: float = math.nan
    max_abs_d: float = math.nan
    mean_abs_d: float = math.nan
    max_fall: float = math.nan
    share_beyond_tolerance: float = math.nan
    has_own_tolerance: bool = False
    brier: float = math.nan
    tree_brier: float = math.nan
    log_loss: float = math.nan
    tree_log_loss: float = math.nan
    auc: float = math.nan
    tree_auc: float = math.nan
    mean_abs_delta_p: float = math.nan
    max_abs_delta_p: float = math.nan
    r2: float = math.nan
    tree_r2: float = math.nan
    mae: float = math.nan
    tree_mae: float = math.nan
    rmse: float = math.nan
    tree_rmse: float = math.nan
    max_distance: float = math.nan
    mean_distance: float = math.nan
    calibration_error: float = math.nan
    seen: str = ""
    table: TableShift | None = field(default=None, repr=False)
    per_line: LineAudits = field(repr=False, kw_only=True)

    abs_delta_p0, abs_delta_p1 = (_of_class("precision", place) for place in (0, 1))
    abs_delta_r0, abs_delta_r1 = (_of_class("recall", place) for place in (0, 1))

    def to_dict(self) -> dict[str, Any]:
        """List the numbers of all rules together by name, ready for JSON: None for those that are not defined."""
        left_out = {"per_line", "table", *OF_VALUES}
        if self.is_of_values:  # all others that may be left out are of classes
            optional = {one.name for one in fields(self) if one.default is not MISSING} - {*OF_VALUES}
            left_out = {"per_line", "table", "assimilated", *optional}
        return {name: _none_if_nan(value) for name, value in vars(self).items() if name not in left_out}

    @property
    def shifts(self) -> tuple[str, ...]:
        """What moved in the columns of these rows, a sentence each: see ``table``."""
        return () if self.table is None else tuple(self.table.describe())

    @property
    def moved(self) -> bool:
        """Whether anything moved: a line, the rows per line (PSI from 0.25 on), or a column."""
        by_line = bool(self.per_line.moved) or self.per_line.psi >= LARGE_PSI
        return by_line or (self.table is not None and self.table.moved)

    @property
    def is_of_values(self) -> bool:
        """Whether the rules predict values, not classes."""
        return self.per_line.rules.tree.is_regression

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Audit):
            return NotImplemented
        return self.to_dict() == other.to_dict() and self.per_line == other.per_line  # NaN equals NaN

    def __hash__(self) -> int:
        return hash(tuple(self.to_dict().values()))

    def __str__(self) -> str:
        rows = (
            self._describe_values() if self.is_of_values else [*self._describe_rows(), *self._describe_probabilities()]
        )
        return "\n".join(filter(None, [self.seen, self._describe_size(), *rows]))

    _repr_html_ = written_by("html:audit_to_html")

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

    def _describe_values(self) -> list[str]:
        explained = "" if math.isnan(self.r2) else f"R² {self.r2:.3f} (tree {self.tree_r2:.3f}), "
        numbers = [format_amount(one) for one in (self.mae, self.tree_mae, self.rmse, self.tree_rmse, self.baseline)]
        return [
            f"{explained}mean absolute error {numbers[0]} (tree {numbers[1]}), root mean squared error {numbers[2]} "
            f"(tree {numbers[3]}; always saying the mean {numbers[4]}), on {count_of(self.n_rows, 'row')}",
            self.describe_difference(),
        ]

    def _describe_rows(self) -> list[str]:
        low, high = self.conflict_interval
        # What is proved needs no interval, which would cast doubt on it.
        is_proved = self.per_line.rules.is_exact and self.conflict == 0
        limits = "" if is_proved else f" (95 % interval {low:.2f} to {high:.2f})"
        off = []
        if self.per_line.rules.keeps_shares:
            points = count_points(self.per_line.rules.tolerance)
            off = [f"off (another class, or a share more than {points} from its leaf's): {self.off:.2f} %"]
        which, rest = "covered by a rule", "; by"
        if self.per_line.rules.is_list:
            which, rest = "decided by a line with conditions", ", the others by “otherwise”; covered by"
        return [
            self.describe_difference(),
            *off,
            f"accuracy {self.accuracy:.2f} % (tree {self.tree_accuracy:.2f} %, change "
            f"{self.delta_accuracy:+.2f} points; always {self.baseline_class} {self.baseline:.2f} %)",
            *self._describe_outcome(),
            f"rows {which}: {self.coverage:.2f} %{rest} rules that disagree (conflict): {self.conflict:.2f} %{limits}",
            *self._describe_class(),
        ]

    def _describe_outcome(self) -> list[str]:
        """Say which class's share differs from before beyond chance: that of interest, else the one that moved most."""
        rules, since = self.per_line.rules, self.per_line.since
        then, now = (np.array(one) / 100 for one in (self.class_shares_before, self.class_shares))
        n_then = np.nansum(rules.leaf_counts if since is None or not rules.is_list else since.n_effective)
        level = 1 - (1 - statistics.LEVEL) / len(now)
        low, high = statistics.compare_shares(now, self.per_line.n_effective.sum(), then, n_then, level)
        moved = np.where((low > 0) | (high < 0), np.abs(now - then), 0.0)
        of = find_interest(rules)
        of = int(moved.argmax()) if of is None else of
        if not moved[of] > 0 or (since is None and rules.is_weighted):
            return []
        when, name = "in training" if since is None else "in the earlier audit", rules.tree.class_names[of]
        return [f"share of {name}: {100 * now[of]:.1f} % of these rows, {100 * then[of]:.1f} % {when}"]

    def _describe_class(self) -> list[str]:
        """Say how many of the class of interest a list finds, else how far precision and recall change."""
        rules, rows = self.per_line.rules, count_of(self.n_rows, "row")
        of = find_interest(rules) if rules.is_list else None
        if of is None or self.macro_dev:
            return [f"precision and recall of a class change by {self.macro_dev:.2f} points on average"]
        counts, said = self.per_line.counts, rules.class_ids
        found = measure_groups(rules.tree.class_names, rows, said, rules.shares, counts, guess=0, of=of)
        return [*filter(None, [replace(found, auc=math.nan).describe_class()])]

    @property
    def difference_interval(self) -> tuple[float, float]:
        """Limits, at the level of 95 %, of the percentage of rows on which the rules differ from the tree."""
        low, high = self.agreement_interval
        return 100.0 - high, 100.0 - low

    def describe_difference(self) -> str:
        """Say on how many of the rows the rules differ from the tree; of values, how far."""
        if self.is_of_values:
            far = f"more than {format_limit(self.tolerance)} for {self.off:.2f} % of rows"
            mean, most = format_amount(self.mean_distance), format_amount(self.max_distance)
            return f"from the tree's values: {mean} on average, at most {most}; {far}"
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
            f"{self.mean_abs_delta_p:.3f} from the tree's on average, at most {self.max_abs_delta_p:.3f}; "
            f"calibration error {self.calibration_error:.3f}"
        ]
        if not math.isnan(self.max_abs_d) and not rules.is_list:
            own = METHODS[rules.method].tolerance_of
            whose = own if self.has_own_tolerance else "the method has no tolerance of its own"
            lines.append(
                f"training reliability of a rule against its leaf's: at most {100 * self.max_abs_d:.1f} points away, "
                f"{100 * self.mean_abs_d:.1f} on average; {self.share_beyond_tolerance:.2f} % of rules beyond "
                f"{count_points(self.tolerance)} ({whose})"
            )
        return lines


def audit_rows(rules: Rules, rows: RowSource, since: Any = None) -> Audit:
    """Audit rules on labelled rows of any kind."""
    check_since(rules, since)  # before the rows are read
    if since is None and rules.fidelity is None:
        since = LineAudits.of_unseen(rules)
    found = finish_audit(rules, rows.fold(without_facts(rules.tree), AuditCounter(rules)), since)
    return replace(found, table=find_table_shift(rules, rows)) if rows.in_memory else found


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
        raise InputError(f"{SEEN.format('training rows', 'unseen')} Pass rows that the tree was not fitted to.")
    squares = None if given.sample_weight is None else found.squares
    if squares is not None:
        statistics.check_squares(found.by_line.sum(axis=1), squares)
    moments = None
    if tree.is_regression and rules.is_list:
        moments = find_moments(found.targets[: rules.n_lines], rules.answers)
    return Unseen(found.by_line, leaf_counts, squares, rows=given, moments=moments)


def _find_seen(rules: Rules, leaf_counts: NDArray[np.float64]) -> str:
    """Say so if rows fall into the leaves as those that rules were made from, or measured on, or as both together."""
    known = {"training rows": rules.leaf_counts}
    if rules.unseen is not None:
        own = rules.unseen.leaf_counts
        known |= {"unseen rows": own, "training and the unseen rows together": own + rules.leaf_counts}
    if rules.fidelity is not None or np.count_nonzero(leaf_counts) < LEAST_CELLS:
        return ""
    return next((SEEN.format(name, "new") for name, one in known.items() if np.array_equal(one, leaf_counts)), "")


def finish_audit(rules: Rules, counts: AuditCounts, since: Any = None) -> Audit:
    """Compute the metrics of rules from the counts of all rows."""
    total = float(counts.decided.counts.sum())  # in the order of these sums, so that all of the rows are exactly 100 %
    if not total:
        raise InputError(NO_WEIGHT)
    statistics.check_squares(
        [counts.total("total"), *counts.by_line.sum(axis=1)], [counts.total("squares"), *counts.squares.tolist()]
    )
    lengths = np.diff(rules.paths.offsets)[rules.leaves]
    gone = lengths - rules.lengths[rules.leaves]
    touched = gone > 0
    merged = rules.assimilated_into[rules.leaves] >= 0 if rules.is_ranked else None
    kept, every = rules.n_edges, len(rules.paths.links)
    find_numbers = _measure_values if rules.tree.is_regression else _measure_classes
    lines: dict[str, Any] = {}
    if rules.tree.is_regression:
        own = counts.targets[: rules.n_lines] if rules.is_list else counts.targets[-rules.n_lines :]
        lines = {"moments": find_moments(own, rules.answers), "errors": divide_or_nan(own[:, 3], own[:, 0])}
    lines |= {"struck": counts.struck} if len(counts.struck) else {}
    per_line = LineAudits(rules, counts.by_line, counts.squares, check_since(rules, since), **lines)
    return Audit(
        n_rules=len(rules),
        n_conditions=rules.n_conditions,
        tree_rules=rules.tree_rules,
        tree_conditions=rules.tree_conditions,
        n_rows=int(counts.total("n_counted")),
        removed=100.0 * float((every - kept) / every) if every else 0.0,
        rule_irc=100.0 * float(touched.mean()) if len(touched) else 0.0,
        irc_per_rule=100.0 * float((gone[touched] / lengths[touched]).mean()) if touched.any() else math.nan,
        assimilated=None if merged is None else 100.0 * float(merged.mean()) if len(merged) else 0.0,
        coverage=100.0 * (counts.total("covered") / counts.total("total")),
        per_line=per_line,
        **find_numbers(per_line, counts, total),
    )


def _measure_values(lines: LineAudits, counts: AuditCounts, total: float) -> dict[str, Any]:
    """Find how far values are off, beside those of the tree and their mean."""
    rules = lines.rules
    n_lines, n_leaves = rules.n_lines, rules.paths.n_rules
    own, tree = np.split(counts.targets[: n_lines + n_leaves], [n_lines])
    known = np.nan_to_num(find_moments(own, rules.answers))
    mean = float((own[:, 0] * known[:, 0]).sum() / total)
    variance = float((own[:, 0] * (known[:, 1] ** 2 + (known[:, 0] - mean) ** 2)).sum() / total)
    squared, tree_squared = (float(sums[:, 2].sum() / total) for sums in (own, tree))
    leaf, line = np.divmod(counts.decided.cells, rules.n_lines)
    distance, share = np.abs(rules.answers[line] - rules.leaf_answers[leaf]), counts.decided.counts / total
    slack = TINY * max(rules.tolerance, float(np.abs(rules.leaf_answers).max()))
    has_spread = variance > TINY**2 * max(mean**2, 1e-300)
    return {
        "seen": _find_seen(rules, tree[:, :1]),
        "off": 100.0 * float(share[distance > rules.tolerance + slack].sum()),
        "baseline": variance**0.5,
        "tolerance": rules.tolerance,
        "r2": 1.0 - squared / variance if has_spread else math.nan,
        "tree_r2": 1.0 - tree_squared / variance if has_spread else math.nan,
        "mae": float(own[:, 3].sum() / total),
        "tree_mae": float(tree[:, 3].sum() / total),
        "rmse": squared**0.5,
        "tree_rmse": tree_squared**0.5,
        "max_distance": float(distance[share > 0].max(initial=0.0)),
        "mean_distance": float((share * distance).sum()),
    }


def _measure_classes(lines: LineAudits, counts: AuditCounts, total: float) -> dict[str, Any]:
    """Find how often classes are right and agree with the tree's, and how good the probabilities are."""
    rules, since = lines.rules, lines.since
    n_classes, weights = rules.tree.n_classes, counts.decided.counts
    pairs, truth = np.divmod(counts.decided.cells, n_classes)
    leaf, line = np.divmod(pairs, len(rules.class_ids))
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
    guess = statistics.find_guess(rules, sizes)
    before = np.full(n_classes, np.nan)
    if since is not None and rules.is_list:
        before = since.counts.sum(axis=0)
    elif rules.is_ranked and rules.fidelity is None:
        before = rules.leaf_counts.sum(axis=0)
    tree_shares = rules.leaf_shares
    scores = tree_scores = statistics.score_shares(tree_shares, cross(leaf, truth, weights, tree_shares.shape))
    apart = np.zeros(len(leaf))
    if rules.is_counted:  # else probabilities are the tree's own
        scores = statistics.score_shares(rules.shares, cross(line, truth, weights, rules.shares.shape))
        apart = statistics.find_distances(rules.shares, line, tree_shares, leaf)
    calibrated = np.bincount(line, weights, rules.n_lines) / total
    stated = np.abs(
        rules.stated_shares - divide_or_nan(np.bincount(line, weights * marks[0], rules.n_lines), calibrated * total)
    )
    drift = rules.covered_reliability - rules.leaf_reliability
    # Without rows, only rules as they were are known.
    judged = rules.leaves[~np.isnan(drift[rules.leaves]) & rules.is_ranked]
    moved = drift[judged]
    far, tolerance = np.abs(moved), rules.parameters.get("tolerance", DEFAULT_TOLERANCE)
    own = rules.paths.leaf_class[judged]
    sides = compare_reliability(rules.covered_counts[judged], rules.leaf_counts[judged], own, tolerance)
    n_effective = statistics.count_effective(counts.total("total"), counts.total("squares"))
    conflict = counts.total("in_conflict") / counts.total("total")
    return {
        "seen": _find_seen(rules, cross(leaf, truth, weights, rules.leaf_counts.shape)),
        "agreement": agreement,
        "agreement_interval": _find_limits(agreement / 100.0, n_effective),
        "accuracy": accuracy,
        "tree_accuracy": tree_accuracy,
        "delta_accuracy": accuracy - tree_accuracy,
        "baseline": 100.0 * (float(sizes[guess]) / total),
        "baseline_class": rules.tree.class_names[guess],
        "class_shares": tuple((100.0 * sizes / total).tolist()),
        "class_shares_before": tuple((100.0 * divide_or_nan(before, np.full(n_classes, before.sum()))).tolist()),
        "off": 100.0 * (float((weights * off).sum()) / total),
        "off_by_class": tuple((100.0 * divide_or_nan(*by_class)).tolist()),
        "conflict": 100.0 * conflict,
        "conflict_interval": _find_limits(conflict, n_effective),
        "precision": tuple(precision.tolist()),
        "recall": tuple(recall.tolist()),
        "abs_delta_precision": tuple(d_precision.tolist()),
        "abs_delta_recall": tuple(d_recall.tolist()),
        "macro_dev": float(np.concatenate([d_precision, d_recall]).mean()),
        **{f"{name}_abs_d": float(getattr(far, name)()) if len(far) else math.nan for name in ("max", "mean")},
        "max_fall": float((-moved).max(initial=0.0)) if rules.is_ranked else math.nan,
        "share_beyond_tolerance": 100.0 * float((sides != 0).mean()) if len(far) else math.nan,
        "tolerance": float(tolerance),
        "has_own_tolerance": "tolerance" in rules.parameters,
        **scores._asdict(),
        **{f"tree_{name}": one for name, one in tree_scores._asdict().items()},
        "calibration_error": float(np.nansum(calibrated * stated)) if rules.is_counted else math.nan,
        "mean_abs_delta_p": float((weights * apart).sum()) / total,
        "max_abs_delta_p": float(apart[weights > 0].max()),
    }


def _find_limits(share: float, n_effective: NDArray[np.float64]) -> tuple[float, float]:
    low, high = statistics.find_interval(share, n_effective)
    return 100.0 * float(low), 100.0 * float(high)


def _none_if_nan(value: Any) -> Any:
    """Put None for NaN, also within a tuple."""
    if isinstance(value, tuple):
        return tuple(map(_none_if_nan, value))
    return None if value != value else value


def _find_precision_recall(
    truth: NDArray[np.int64], predicted: NDArray[np.int64], weights: NDArray[np.float64], n_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute precision and recall of each class in percent; a table of all pairs of classes may not fit."""
    right = truth == predicted
    hits = np.bincount(truth[right], weights[right], minlength=n_classes)
    sizes = (np.bincount(named, weights, minlength=n_classes) for named in (predicted, truth))
    precision, recall = (np.nan_to_num(divide_or_nan(100.0 * hits, size)) for size in sizes)
    return precision, recall
