"""Audit a rule set on Spark by SQL, without secateur on the workers.

Tasks audit rules that ask for columns which only a scikit-learn pipeline can make.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from secateur.errors import InputError
from secateur.export.plain_names import FreeNames
from secateur.rows.table_columns import derives, own_features
from secateur.rules.audit import Audit, AuditCounter, AuditCounts, finish_audit
from secateur.rules.per_rule import check_since
from secateur.rules.rule_set import RuleSet
from secateur.spark.columns import check_beside, has_length, list_tested, place_columns, quote
from secateur.spark.prediction import check_rules
from secateur.spark.session import check_frame, in_small_methods, spark_failures
from secateur.spark.summing import sum_counts, sum_in_order
from secateur.spark.tasks import CountingTask, RowReader
from secateur.spark.views import name_rows

__all__ = ["audit", "count_audit"]

RULES_AT_ONCE = 100  # that a pass over the rows counts the coverage of: each is a column of a statement


def audit(rules: RuleSet, df: Any, y: str, *, sample_weight: str | None = None, since: Audit | None = None) -> Audit:
    """Measure what was deleted and what it changed, on Spark; the same as ``rules.audit`` of all rows at once.

    SQL does it, as in :func:`predict`. Only columns that a scikit-learn pipeline makes need secateur on the workers.

    Parameters
    ----------
    rules : RuleSet
    df : pyspark.sql.DataFrame
        As in :func:`secateur.spark.collect_evidence`; best rows that the tree was not fitted on.
    y : str
        The column of labels.
    sample_weight : str, default=None
        The column of weights.
    since : Audit, default=None
        As in :meth:`secateur.RuleSet.audit`.

    Returns
    -------
    Audit
    """
    check_frame(df)
    check_rules(rules)
    check_since(rules, since)
    return finish_audit(rules, count_audit(rules, df, y, sample_weight), since)


def count_audit(rules: RuleSet, df: Any, y: str, sample_weight: str | None) -> AuditCounts:
    """Count the rows of a DataFrame for an audit."""
    tree = rules.tree
    with spark_failures():
        taken = check_beside(df, y, sample_weight, tree.classes)
        if not derives(tree):
            return _count_in_sql(rules, df, y, sample_weight, taken)
        placement = place_columns(df, tree, own_features(tree), taken=taken)
    reader = RowReader(tree, sample_weight is not None, placement.vector, tree.n_features)
    task = CountingTask(reader, AuditCounter(replace(rules, training=None, domain=None)))
    return AuditCounts.from_cells(rules, *sum_counts(df, placement, y, sample_weight, task))


def _count_in_sql(rules: RuleSet, df: Any, y: str, sample_weight: str | None, beside: Sequence[str]) -> AuditCounts:
    """Count by a statement that shares its parts with ``rules.to_sql``; the driver gets a few groups of rows."""
    from pyspark.sql import functions as F

    from secateur.export.sql_audit import GROUPED, audit_to_sql, coverage_to_sql
    from secateur.spark.audit_groups import add_coverage, count_groups

    tree = rules.tree
    features = list_tested(tree)
    taken = FreeNames(tree.feature_name(feature) for feature in features)
    label, weight, part, fits = (taken.take(name) for name in ("label", "weight", "part", "fits"))
    placement = place_columns(df, tree, features, taken=beside)
    made = [column.alias(tree.feature_name(f)) for f, column in zip(features, placement.columns, strict=True)]
    made.append(_read_labels(df, y).alias(label))
    by = []
    if sample_weight is not None:
        made += [F.col(quote(sample_weight)).cast("double").alias(weight), F.spark_partition_id().alias(part)]
        by.append(part)
    if placement.vector is not None:
        made.append(has_length(placement.vector, tree.n_features).alias(fits))
        by.append(fits)
    told: dict[str, Any] = {
        "sample_weight": None if sample_weight is None else weight,
        "labels": [int(known) if isinstance(known, bool) else known for known in tree.classes.tolist()],
    }
    rows = df.select(*made)
    with name_rows(rows) as table:
        statement = audit_to_sql(rules, label, "spark", table, **told, by=by)
        counted = df.sparkSession.sql(statement.text)
    if sample_weight is not None:
        sums = [F.sum(name).alias(name) for name in ("n_rows", "odd_weights", "n_counted")]
        kept = [name for name in (*by, *GROUPED) if name != part]
        in_order = [sum_in_order(part, name).alias(name) for name in ("weight", "squares")]
        counted = counted.groupBy(*kept).agg(*sums, F.min("label").alias("label"), *in_order)
    with in_small_methods(df.sparkSession, statement.text):
        groups = counted.toArrow().to_pylist()
    unfit = sum(group["n_rows"] for group in groups if placement.vector is not None and not group[fits])
    if unfit:
        raise InputError(
            f"Column {placement.vector!r} of df holds no vector of {tree.n_features} numbers, on which the tree was "
            f"fitted, in {unfit} of its rows."
        )
    counts = count_groups(rules, statement.refusals, groups)
    widened = np.unique(rules.paths.rule[rules.deleted]).tolist()
    for first in range(0, len(widened), RULES_AT_ONCE):
        asked = widened[first : first + RULES_AT_ONCE]
        own = [] if sample_weight is None else [part]
        with name_rows(rows) as table:
            text = coverage_to_sql(rules, asked, label, "spark", table, **told, by=own)
            covered = df.sparkSession.sql(text)
        with in_small_methods(df.sparkSession, text):
            found = covered.toArrow().to_pylist()
        add_coverage(counts, asked, sorted(found, key=lambda group: (group.get(part, 0), group["truth"])))
    return counts


def _read_labels(df: Any, y: str) -> Any:
    """Read the labels; a truth value counts as 0 or 1, as it does in memory."""
    from pyspark.sql import functions as F

    types = {"boolean": "int", "decimal": "double"}
    found = df.schema[y].dataType.typeName()
    return F.col(quote(y)).cast(types[found]) if found in types else F.col(quote(y))
