"""Count the targets of regression rows on Spark by SQL, without secateur on the workers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.counting.coverage import CellCounts
from secateur.counting.targets import TargetCounter
from secateur.errors import InputError
from secateur.methods import Deletions, Why
from secateur.results.value_audit import ValueCounts
from secateur.rules.lines import LineCounts
from secateur.spark.columns import check_beside, list_tested, place_columns, quote
from secateur.spark.session import name_rows, spark_failures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rules.rules import Rules

__all__ = ["count_value_lines", "count_values", "sum_all_targets"]

TARGET, WEIGHT = "secateur_target", "secateur_weight"


def sum_all_targets(counter: TargetCounter, df: Any, y: str, sample_weight: str | None) -> NDArray[np.float64]:
    """Add up all targets of a DataFrame."""
    from pyspark.sql import functions as F

    check_beside(df, y, sample_weight, None)
    with spark_failures():
        rows = _weigh(df, y, sample_weight)
        above = F.col(TARGET) - F.lit(counter.pivot)
        powers = [F.sum(F.col(WEIGHT) * above**power) for power in range(3)]
        (found,) = rows.agg(F.sum(F.col(TARGET).isNull().cast("long")), *powers).collect()
    _check_blank(found[0], y)
    return np.array([[float(number or 0.0) for number in found[1:]]])


def count_values(rules: Rules, df: Any, y: str, sample_weight: str | None) -> ValueCounts:
    """Count the rows of a DataFrame for an audit of values."""
    from pyspark.sql import functions as F

    taken = check_beside(df, y, sample_weight, None)
    tree = rules.tree
    features = list_tested(tree)
    with spark_failures():
        placement = place_columns(df, tree, features, taken=taken)
        named = [made.alias(tree.feature_name(f)) for f, made in zip(features, placement.columns, strict=True)]
        rows = _weigh(df, y, sample_weight).select(*named, TARGET, WEIGHT)
        rows = _decide(rows, rules, "line", "u")
        rows = _decide(rows, _own_rules(rules), "leaf", "v")
        sums = [F.count(F.lit(1)), F.sum((F.col(WEIGHT) != 0).cast("long")), F.sum(F.col(WEIGHT) ** 2), F.sum(WEIGHT)]
        for value in ("u", "v"):
            above = F.col(TARGET) - F.col(value)
            sums += [F.sum(F.col(WEIGHT) * one) for one in (above, above**2, F.abs(above))]
        blank = F.sum(F.col(TARGET).isNull().cast("long"))
        groups = rows.groupBy("leaf", "line").agg(*sums, blank).collect()
    n_lines, n_leaves = rules.n_lines, rules.tree_rules
    lines, leaves = np.zeros((n_lines, 3)), np.zeros((n_leaves, 3))
    sizes, pairs, n_counted = np.zeros(n_lines + n_leaves), {}, 0
    squares = np.zeros(n_lines)
    for leaf, line, n_rows, n_heavy, square, weight, *rest, n_blank in groups:
        _check_blank(n_blank, y)
        if leaf is None or line is None:
            raise InputError(
                f"{n_rows:,} rows of df hold values that the tree does not take: see rules.to_sql_check()."
            )
        place, at = int(line) - 1, int(leaf) - 1
        lines[place] += [weight, *rest[:2]]
        leaves[at] += [weight, *rest[3:5]]
        sizes[place] += rest[2]
        sizes[n_lines + at] += rest[5]
        pairs[at * n_lines + place] = float(weight)
        n_counted += int(n_heavy)
        squares[place] += square
    cells = np.array(sorted(pairs), dtype=np.int64)
    weights = np.array([pairs[one] for one in cells.tolist()])
    return ValueCounts(n_counted, lines, leaves, sizes, CellCounts(cells, weights), squares)


def count_value_lines(rules: Rules, df: Any, y: str, sample_weight: str | None) -> LineCounts:
    """Count the rows that each line decides, and their targets; what each rule covers is not counted."""
    counts = count_values(rules, df, y, sample_weight)
    return LineCounts(counts.lines[:, :1], np.full((len(rules), 1), np.nan), counts.lines)


def _weigh(df: Any, y: str, sample_weight: str | None) -> Any:
    from pyspark.sql import functions as F

    weight = F.lit(1.0) if sample_weight is None else F.col(quote(sample_weight)).cast("double")
    return df.withColumns({TARGET: F.col(quote(y)).cast("double"), WEIGHT: weight})


def _decide(rows: Any, rules: Rules, number: str, value: str) -> Any:
    """Add the number of the line that decides each row, and its value."""
    with name_rows(rows) as table:
        said = rows.sparkSession.sql(rules.to_sql("spark", table=table, names=(number, value, f"{value}_share")))
    return said.drop(f"{value}_share")


def _own_rules(rules: Rules) -> Rules:
    """Take the tree's own rules, one for each leaf."""
    whole = rules.each_leaf
    kept = Deletions.keep_all(rules.paths, Why.UNTOUCHED)
    making = replace(whole.making, method="none", tolerance=0.0)
    return whole.change(deletions=kept, covered_counts=np.array(rules.leaf_counts), making=making)


def _check_blank(n_blank: Any, y: str) -> None:
    if n_blank:
        raise InputError(f"Column {y!r} of df has {int(n_blank):,} blanks: every row needs a target.")
