"""The audit of a rule set on rows of Spark, from counts that Spark adds up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from secateur.audit import Audit, AuditCounts, finish_audit
from secateur.rules import RuleSet
from secateur.spark.columns import check_numeric, narrow_tree, place_columns, tested_features
from secateur.spark.prediction import check_rules
from secateur.spark.session import check_frame, spark_failures
from secateur.spark.summing import sum_counts
from secateur.spark.tasks import AuditTask, RowReader

__all__ = ["audit"]


def audit(rules: RuleSet, df: Any, y: str, *, sample_weight: str | None = None) -> Audit:
    """Measure what was deleted and what it changed, on Spark; the same as ``rules.audit`` of all rows at once.

    Parameters
    ----------
    rules : RuleSet
    df : pyspark.sql.DataFrame
        As in :func:`secateur.spark.collect_evidence`; best rows that the tree was not fitted on.
    y : str
        The column of labels.
    sample_weight : str, default=None
        The column of weights.

    Returns
    -------
    Audit
    """
    check_frame(df)
    check_rules(rules)
    tree = rules.tree
    with spark_failures():
        check_numeric(df, y, "y", tree.classes)
        if sample_weight is not None:
            check_numeric(df, sample_weight, "sample_weight")
        derives = tree.columns is not None and tree.columns.derive is not None
        features = tested_features(tree)
        if derives:
            features = list(range(tree.n_features - len(tree.columns.derived)))  # type: ignore[union-attr]
        taken = [y] if sample_weight is None else [y, sample_weight]
        placement = place_columns(df, tree, features, taken=taken)
    narrow = tree if derives else narrow_tree(tree, features)
    reader = RowReader(narrow, sample_weight is not None, placement.vector, tree.n_features)
    task = AuditTask(reader, replace(rules, tree=narrow, training=None, domain=None))
    _, places, sums = sum_counts(df, placement, y, sample_weight, task)
    numbers = np.zeros(7 + 2 * tree.n_classes**2)
    numbers[places] = sums
    return finish_audit(rules, AuditCounts.from_numbers(numbers, tree.n_classes))
