"""Collect evidence on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from secateur.counting.counted_evidence import Evidence
from secateur.methods import find_method
from secateur.methods.settings import check_amount
from secateur.problem import Knowledge, count_evidence
from secateur.spark.rows import SparkRows
from secateur.spark.session import spark_failures

__all__ = ["collect_evidence"]


def collect_evidence(
    model: Any,
    df: Any,
    y: str,
    *,
    sample_weight: str | None = None,
    method: str | None = None,
    rf_tol: float = 1e-12,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    accepts_missing: bool | None = None,
    groups: Any = None,
    integers: Any = None,
    facts: Any = None,
) -> Evidence:
    """Count what rule methods need of the training rows, on Spark.

    The same as :func:`secateur.collect_evidence` of all rows at once; no row comes to the driver. Pass the result to
    ``secateur.simplify(model, evidence=…)``.

    Parameters
    ----------
    model : fitted tree, pipeline or Tree
        Of pyspark.ml or of any other library that ``docs/adapters.md`` lists.
    df : pyspark.sql.DataFrame
        Has the tree's columns by name, in any order and among others; or, for a tree that names none, those columns
        alone beside y and sample_weight; or one column of vectors. Columns that neither a split nor a fact asks for
        are not read.
    y : str
        The column of labels, as the model knows them.
    sample_weight : str, default=None
        The column of weights. Sums of whole weights are exact; others are added up in the order of the partitions.
    method : str, default=None
        By default the evidence serves every method that a summary can serve.
    rf_tol : float, default=1e-12
        As in :func:`secateur.simplify`; read where a method is named.
    feature_names, class_names, accepts_missing, groups, integers, facts : default=None
        As in :func:`secateur.simplify`.

    Returns
    -------
    Evidence
    """
    known = Knowledge(feature_names, class_names, accepts_missing, groups, integers, facts)
    chosen = None if method is None else find_method(method)
    with spark_failures():
        return count_evidence(model, SparkRows(df, y, sample_weight), known, chosen, check_amount("rf_tol", rf_tol))
