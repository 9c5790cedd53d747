"""Audit rules that predict values: how far they are off on given rows, beside the tree, and line by line.

All that is counted are sums, which add up from any pieces of the rows: for each line, and for each leaf, of weights, of
what targets lie above its value, of squares of that, and of its size; and rows by leaf and line.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.counting.coverage import CellCounts
from secateur.counting.targets import find_moments, sum_targets
from secateur.errors import InputError, ParameterError
from secateur.rows.checking import NO_WEIGHT
from secateur.rules.lines import without_facts
from secateur.rules.unseen import Unseen
from secateur.tree.shares import none_if_nan
from secateur.words.conditions import count_of
from secateur.words.targets import read_amount, read_limit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rows.row_source import GivenRows, RowSource
    from secateur.rows.rows import LabelledRows
    from secateur.rules.rules import Rules

__all__ = ["LineValues", "ValueAudit", "ValueCounter", "ValueCounts", "audit_values", "count_unseen_values"]

TINY = 1e-9  # values are rounded


@dataclass(frozen=True)
class LineValues:
    """One line on the audited rows; what is not known is None.

    Attributes
    ----------
    line : int
        Its number, from 1.
    prediction : float
        The value that it predicts.
    text : str
        What it says.
    training_support, training_mean, training_spread : float or None
        (Weighted) training rows that it decides, mean and standard deviation of their targets.
    support, mean, spread : float, float or None, float or None
        The same of the audited rows.
    mean_error : float or None
        How far their targets lie from its value on average, either way.
    """

    line: int
    prediction: float
    text: str
    training_support: float | None
    training_mean: float | None
    training_spread: float | None
    support: float
    mean: float | None
    spread: float | None
    mean_error: float | None

    def __str__(self) -> str:
        told = f"{self.line}. {self.text}: {count_of(self.support, 'row')}"
        if self.mean is None or self.spread is None or self.mean_error is None:
            return told
        told += f", mean {read_amount(self.mean)}, spread {read_amount(self.spread)}, off by "
        told += f"{read_amount(self.mean_error)} on average"
        if self.training_mean is None or self.training_support is None:
            return told
        return f"{told} (in training {count_of(self.training_support, 'row')}, mean {read_amount(self.training_mean)})"


@dataclass(frozen=True)
class ValueAudit:
    """The metrics of rules that predict values, against their source tree.

    Attributes
    ----------
    n_rules, n_conditions : int
        Rules, without "otherwise", and their conditions as they read.
    tree_rules, tree_conditions : int
        Those of the tree's own rules, one for each leaf.
    n_rows : int
        Audited rows; those of weight 0 do not count.
    r2, tree_r2 : float
        Share of the variance of the targets that rules and tree explain; NaN if all targets are equal.
    mae, tree_mae, rmse, tree_rmse : float
        Mean absolute error and root of the mean squared error of rules and tree.
    baseline : float
        The root of the mean squared error of always saying the mean of these rows, which is their spread.
    max_distance, mean_distance : float
        How far the rules' values lie from the tree's on these rows, at most and on average.
    off : float
        Percentage of rows whose value lies further from the tree's than the tolerance.
    tolerance : float
        How far it may lie.
    per_line : tuple of LineValues
        Each line on these rows; with one rule for each leaf, on the rows that the rule decides.
    """

    n_rules: int
    n_conditions: int
    tree_rules: int
    tree_conditions: int
    n_rows: int
    r2: float
    tree_r2: float
    mae: float
    tree_mae: float
    rmse: float
    tree_rmse: float
    baseline: float
    max_distance: float
    mean_distance: float
    off: float
    tolerance: float
    per_line: tuple[LineValues, ...] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """List the numbers of all rules together by name, ready for JSON: None for those that are not defined."""
        return {name: none_if_nan(value) for name, value in vars(self).items() if name != "per_line"}

    def list_lines(self) -> list[dict[str, Any]]:
        """List the numbers of each line, ready for JSON."""
        return [asdict(line) for line in self.per_line]

    def __str__(self) -> str:
        left = 100.0 * self.n_conditions / self.tree_conditions if self.tree_conditions else 100.0
        limit = read_limit(self.tolerance)
        explained = "" if math.isnan(self.r2) else f"R² {self.r2:.3f} (tree {self.tree_r2:.3f}), "
        numbers = [read_amount(one) for one in (self.mae, self.tree_mae, self.rmse, self.tree_rmse, self.baseline)]
        return "\n".join(
            [
                f"{self.n_conditions:,} of {count_of(self.tree_conditions, 'condition')} left ({left:.1f} %), in "
                f"{self.n_rules:,} of {count_of(self.tree_rules, 'rule')}",
                f"{explained}mean absolute error {numbers[0]} (tree {numbers[1]}), root mean squared error "
                f"{numbers[2]} (tree {numbers[3]}; always saying the mean {numbers[4]}), on "
                f"{count_of(self.n_rows, 'row')}",
                f"from the tree's values: {read_amount(self.mean_distance)} on average, at most "
                f"{read_amount(self.max_distance)}; more than {limit} for {self.off:.2f} % of the rows",
                *map(str, self.per_line),
            ]
        )


@dataclass(frozen=True)
class ValueCounts:
    """What an audit of values counts; the counts of parts add up."""

    n_counted: int  # rows whose weight is not 0
    lines: NDArray[np.float64]  # weights, sums and sums of squares above the value of each line, shape (n_lines, 3)
    leaves: NDArray[np.float64]  # the same of each leaf
    sizes: NDArray[np.float64]  # sums of absolute errors: of each line, then of each leaf
    pairs: CellCounts  # rows by leaf and line
    squares: NDArray[np.float64]  # sums of the squared weights of each line's rows

    def __add__(self, other: ValueCounts) -> ValueCounts:
        return ValueCounts(*(getattr(self, name) + getattr(other, name) for name in vars(self)))


@dataclass(frozen=True)
class ValueCounter:
    """Count rows for the audit of rules that predict values."""

    rules: Rules
    features = None  # those that the tree tests

    def count(self, listed: LabelledRows) -> ValueCounts:
        """Count some rows."""
        rules, targets = self.rules, listed.targets
        assert targets is not None
        weight = np.ones(listed.rows.n_rows) if listed.weights is None else listed.weights
        line, leaf = rules.find_lines(listed.rows), rules.find_leaves(listed.rows)
        errors = [
            np.bincount(place, weight * np.abs(targets - values[place]), len(values))
            for place, values in ((line, rules.answers), (leaf, rules.leaf_answers))
        ]
        return ValueCounts(
            int(np.count_nonzero(weight)),
            sum_targets(line, rules.answers, listed),
            sum_targets(leaf, rules.leaf_answers, listed),
            np.concatenate(errors),
            CellCounts.of(leaf * rules.n_lines + line, weight),
            np.bincount(line, weight**2, rules.n_lines).astype(np.float64),
        )

    def add(self, total: ValueCounts, part: ValueCounts) -> ValueCounts:
        """Add the counts of a further piece."""
        return total + part


def count_unseen_values(rules: Rules, rows: RowSource, given: GivenRows) -> Unseen:
    """Count rows that had no part in making rules that predict values."""
    if not rules.is_list:
        raise ParameterError("Unseen rows of values are counted for a list: leave out each_leaf=True.")
    counts: ValueCounts = rows.fold(without_facts(rules.tree), ValueCounter(rules))
    if not counts.lines[:, 0].sum() > 0:
        raise InputError(NO_WEIGHT)
    squares = None if given.sample_weight is None else counts.squares
    moments = find_moments(counts.lines, rules.answers)
    return Unseen(counts.lines[:, :1].copy(), counts.leaves[:, :1].copy(), squares, rows=given, moments=moments)


def audit_values(rules: Rules, rows: RowSource, since: Any = None) -> ValueAudit:
    """Audit rules that predict values on rows of any kind."""
    if since is not None:
        raise ParameterError("since compares shares of classes, and these rules predict numbers: leave it out.")
    counts: ValueCounts = rows.fold(without_facts(rules.tree), ValueCounter(rules))
    total = float(counts.lines[:, 0].sum())
    if not total:
        raise InputError(NO_WEIGHT)
    moments = find_moments(counts.lines, rules.answers)
    weight, known = counts.lines[:, 0], np.nan_to_num(moments)
    mean = float((weight * known[:, 0]).sum() / total)
    variance = float((weight * (known[:, 1] ** 2 + (known[:, 0] - mean) ** 2)).sum() / total)
    squared, tree_squared = (float(sums[:, 2].sum() / total) for sums in (counts.lines, counts.leaves))
    leaf, line = np.divmod(counts.pairs.cells, rules.n_lines)
    distance = np.abs(rules.answers[line] - rules.leaf_answers[leaf])
    slack = TINY * max(rules.tolerance, float(np.abs(rules.leaf_answers).max()))
    share = counts.pairs.counts / total
    has_spread = variance > TINY**2 * max(mean**2, 1e-300)
    return ValueAudit(
        n_rules=len(rules),
        n_conditions=rules.n_conditions,
        tree_rules=rules.tree_rules,
        tree_conditions=rules.tree_conditions,
        n_rows=counts.n_counted,
        r2=1.0 - squared / variance if has_spread else math.nan,
        tree_r2=1.0 - tree_squared / variance if has_spread else math.nan,
        mae=float(counts.sizes[: rules.n_lines].sum() / total),
        tree_mae=float(counts.sizes[rules.n_lines :].sum() / total),
        rmse=squared**0.5,
        tree_rmse=tree_squared**0.5,
        baseline=variance**0.5,
        max_distance=float(distance[share > 0].max(initial=0.0)),
        mean_distance=float((share * distance).sum()),
        off=100.0 * float(share[distance > rules.tolerance + slack].sum()),
        tolerance=rules.tolerance,
        per_line=tuple(
            LineValues(
                line=one.index + 1,
                prediction=float(one.prediction),
                text=one.text,
                training_support=one.support,
                training_mean=one.target_mean,
                training_spread=one.target_spread,
                support=float(weight[one.index]),
                mean=none_if_nan(moments[one.index, 0]),
                spread=none_if_nan(moments[one.index, 1]),
                mean_error=none_if_nan(counts.sizes[one.index] / weight[one.index]) if weight[one.index] else None,
            )
            for one in rules.lines
        ),
    )
