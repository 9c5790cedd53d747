"""Audit rules on Spark by SQL, of classes and of values, without secateur on the workers.

Tasks audit rules that ask for columns which only a scikit-learn pipeline can make; and many rules, if the workers have
secateur, because Spark plans a statement of hundreds of rules for a minute.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.counting.targets import TargetCounter
from secateur.errors import InputError
from secateur.export.plain_names import FreeNames
from secateur.methods import Deletions, Why
from secateur.results.audit import Audit, finish_audit
from secateur.results.audit_counts import AuditCounter, AuditCounts, CellCounts
from secateur.results.per_line import check_since
from secateur.rows.encoding import derives, own_features
from secateur.rules.lines import LineCounts
from secateur.rules.rules import Rules
from secateur.spark.columns import check_beside, has_length, list_tested, place_columns, quote
from secateur.spark.session import check_frame, check_rules, has_secateur, in_small_methods, name_rows, spark_failures
from secateur.spark.tasks import CountingTask, RowReader, sum_counts, sum_in_order

MOST_IN_SQL = 100  # rules, beyond which tasks are faster
RULES_AT_ONCE = 60  # that a pass over the rows counts the coverage of: each is a bit of a number


def audit(rules: Rules, df: Any, y: str, *, sample_weight: str | None = None, since: Audit | None = None) -> Audit:
    """Measure what was deleted and what it changed, on Spark; the same as ``rules.audit`` of all rows at once.

    SQL does it, as in :func:`predict`. Only columns that a scikit-learn pipeline makes need secateur on the workers;
    where it is there, more than a hundred rules are audited by it, much sooner.

    Parameters
    ----------
    rules : Rules
    df : pyspark.sql.DataFrame
        As in :func:`secateur.spark.collect_evidence`; best rows that the tree was not fitted on.
    y : str
        The column of labels.
    sample_weight : str, default=None
        The column of weights.
    since : Audit, default=None
        As in :meth:`secateur.Rules.audit`.
    """
    check_frame(df)
    check_rules(rules)
    check_since(rules, since)
    return finish_audit(rules, count_audit(rules, df, y, sample_weight), since)


def count_audit(rules: Rules, df: Any, y: str, sample_weight: str | None) -> AuditCounts:
    """Count the rows of a DataFrame for an audit."""
    if derives(rules.tree) or _can_count_many(rules, df) or rules.source_tree is not rules.tree:
        counter = AuditCounter(rules.without_rows())
        return AuditCounts.from_cells(rules, *_count_in_tasks(counter, df, y, sample_weight))
    widened = [] if rules.is_list else np.unique(rules.paths.rule[rules.deleted]).tolist()
    return _count_in_sql(rules, df, y, sample_weight, widened)[0]


def count_lines(rules: Rules, df: Any, y: str, sample_weight: str | None) -> LineCounts:
    """Count the rows of a DataFrame that each line decides, and that each rule covers where SQL can tell."""
    if derives(rules.tree) or _can_count_many(rules, df):
        covered = np.full((len(rules), rules.tree.n_classes), np.nan)
        return LineCounts(count_audit(rules, df, y, sample_weight).by_line, covered)
    counts, covered = _count_in_sql(rules, df, y, sample_weight, rules.leaves.tolist())
    return LineCounts(counts.by_line, covered)


def _count_in_sql(
    rules: Rules, df: Any, y: str, sample_weight: str | None, asked: list[int]
) -> tuple[AuditCounts, NDArray[np.float64]]:
    """Count rows for an audit, and those of each class that some rules cover."""
    from secateur.spark.audit_groups import count_covered, count_groups

    parts = [asked[first : first + RULES_AT_ONCE] for first in range(0, len(asked), RULES_AT_ONCE)] or [[]]
    with spark_failures():
        found = list(_fetch_groups(rules, df, y, sample_weight, parts))
    counts = count_groups(rules, *found[0])
    covered, squares = count_covered(rules, list(map(len, parts)), [groups for _, groups in found])
    if not rules.is_list:
        counts.by_line[asked], counts.squares[asked] = covered, squares
    return counts, covered


def _can_count_many(rules: Rules, df: Any) -> bool:
    """Whether there are many rules, and tasks would find the same."""
    tree = rules.tree
    if len(rules) <= MOST_IN_SQL or tree.feature_names is None or any(tree.column_parsers):
        return False
    # Tasks read every column of the tree, SQL those that it tests: both must reject the same rows.
    return len(list_tested(tree)) == tree.n_features and has_secateur(df.sparkSession)


def _count_in_tasks(counter: Any, df: Any, y: str, sample_weight: str | None) -> Any:
    """Count in tasks, which read all columns of the tree, and have any pipeline that makes them."""
    tree = counter.rules.tree
    with spark_failures():
        taken = check_beside(df, y, sample_weight, tree.classes)
        placement = place_columns(df, tree, own_features(tree), taken=taken)
    reader = RowReader(tree, sample_weight is not None, placement.vector, tree.n_features)
    return sum_counts(df, placement, y, sample_weight, CountingTask(reader, counter))


def _fetch_groups(
    rules: Rules, df: Any, y: str, sample_weight: str | None, parts: Sequence[Sequence[int]]
) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """Count a DataFrame in SQL, once for each part of the rules that are asked for.

    The tree's columns, labels and weights get names of our own; weights are added up partition by partition.
    """
    from pyspark.sql import functions as F

    from secateur.export.sql import GROUPED, UNKNOWN, audit_to_sql

    tree = rules.tree
    beside, features = check_beside(df, y, sample_weight, tree.classes), list_tested(tree)
    taken = FreeNames(tree.feature_name(feature) for feature in features)
    label, weight, part, fits = (taken.take(name) for name in ("label", "weight", "part", "fits"))
    placement, by = place_columns(df, tree, features, taken=beside), list[str]()
    made = [column.alias(tree.feature_name(f)) for f, column in zip(features, placement.columns, strict=True)]
    made.append(_read_labels(df, y).alias(label))
    if sample_weight is not None:
        made += [F.col(quote(sample_weight)).cast("double").alias(weight), F.spark_partition_id().alias(part)]
        by.append(part)
    if placement.vector is not None:
        made.append(has_length(placement.vector, tree.n_features).alias(fits))
        by.append(fits)
    labels = [int(known) if isinstance(known, bool) else known for known in tree.classes.tolist()]
    told: dict[str, Any] = {"sample_weight": None if sample_weight is None else weight, "labels": labels, "by": by}
    rows = df.select(*made)
    for asked in parts:
        with name_rows(rows) as table:
            statement = audit_to_sql(rules, label, "spark", table, **told, asked=asked)
            counted = df.sparkSession.sql(statement.text)
        if sample_weight is not None:
            sums = [F.sum(name).alias(name) for name in ("n_rows", "odd_weights", "n_counted")]
            kept = [name for name in (*by, *GROUPED) if name != part and name in counted.columns]
            in_order = [sum_in_order(part, name).alias(name) for name in ("weight", "squares")]
            counted = counted.groupBy(*kept).agg(*sums, *in_order)
        with in_small_methods(df.sparkSession, statement.text):
            groups = counted.toArrow().to_pylist()
        unfit = sum(group["n_rows"] for group in groups if not group.get(fits, True))
        if unfit:
            raise InputError(
                f"Column {placement.vector!r} of df holds no vector of {tree.n_features} numbers, on which the tree "
                f"was fitted, in {unfit} of its rows."
            )
        if any(group["truth"] == UNKNOWN for group in groups):
            unknown = rows.where(~F.col(quote(label)).isin(labels))
            (found,) = unknown.agg(F.min(quote(label))).collect()
            groups = [{**group, "label": found[0]} for group in groups]
        yield statement.rejections, groups


def _read_labels(df: Any, y: str) -> Any:
    """Read the labels; a truth value counts as 0 or 1, as it does in memory."""
    from pyspark.sql import functions as F

    types = {"boolean": "int", "decimal": "double"}
    found = df.schema[y].dataType.typeName()
    return F.col(quote(y)).cast(types[found]) if found in types else F.col(quote(y))


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


def count_values(rules: Rules, df: Any, y: str, sample_weight: str | None) -> AuditCounts:
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
    targets, pairs, n_all, n_counted = np.zeros((n_lines + n_leaves, 4)), {}, 0, 0
    squares = np.zeros(n_lines)
    for leaf, line, n_rows, n_heavy, square, weight, *rest, n_blank in groups:
        _check_blank(n_blank, y)
        if leaf is None or line is None:
            raise InputError(
                f"{n_rows:,} rows of df hold values that the tree does not take: see rules.to_sql_check()."
            )
        place, at = int(line) - 1, int(leaf) - 1
        targets[place] += [weight, *rest[:3]]
        targets[n_lines + at] += [weight, *rest[3:]]
        pairs[at * n_lines + place] = float(weight)
        n_all += int(n_rows)
        n_counted += int(n_heavy)
        squares[place] += square
    cells = np.array(sorted(pairs), dtype=np.int64)
    weights = np.array([pairs[one] for one in cells.tolist()])
    by_line = targets[:n_lines, :1].copy()
    covered = by_line.sum() if rules.layout is None else by_line.sum() - by_line[rules.layout.rest_lines].sum()
    totals = np.array([by_line.sum(), 0.0, covered, squares.sum(), n_counted])
    return AuditCounts(n_all, CellCounts(cells, weights), totals, by_line, squares, targets)


def count_value_lines(rules: Rules, df: Any, y: str, sample_weight: str | None) -> LineCounts:
    """Count the rows that each line decides, and their targets; what each rule covers is not counted."""
    counts = count_values(rules, df, y, sample_weight)
    return LineCounts(counts.by_line, np.full((len(rules), 1), np.nan), counts.targets[: rules.n_lines, :3])


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
    whole = rules.each_leaf
    kept = Deletions.keep_all(rules.paths, Why.UNTOUCHED)
    making = replace(whole.making, method="none", tolerance=0.0)
    return whole.change(deletions=kept, covered_counts=np.array(rules.leaf_counts), making=making)


def _check_blank(n_blank: Any, y: str) -> None:
    if n_blank:
        raise InputError(f"Column {y!r} of df has {int(n_blank):,} blanks: every row needs a target.")
