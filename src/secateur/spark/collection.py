"""Evidence of rows on Spark: counted where they are, added up by Spark, and handed to the driver as counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from secateur.adapters import from_model
from secateur.counting.counted_evidence import Evidence
from secateur.counting.tile_arguments import Conditions
from secateur.counting.violations import list_patterns
from secateur.errors import InputError
from secateur.evidence_plan import plan_evidence
from secateur.facts.stating import state_facts, whole_by_dtype
from secateur.methods import METHODS, find_method
from secateur.methods.parameters import check_amount
from secateur.problem import pose_problem
from secateur.rows.table_columns import Naming
from secateur.spark.columns import check_numeric, narrow_tree, place_columns, tested_features, typed_table
from secateur.spark.session import check_frame, spark_failures
from secateur.spark.summing import sum_counts
from secateur.spark.tasks import EvidenceTask, RowReader

__all__ = ["collect_evidence", "count_frame"]


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
    naming = Naming(
        feature_names, class_names, accepts_missing, {"groups": groups, "integers": integers, "facts": facts}
    )
    return count_frame(
        *(model, df, y, sample_weight, naming),
        method=None if method is None else find_method(method).name,
        rf_tol=rf_tol,
    )


def count_frame(
    model: Any,
    df: Any,
    y: Any,
    sample_weight: Any,
    naming: Naming,
    *,
    method: str | None,
    rf_tol: float,
    domain_knowledge: bool = True,
    widens: bool = False,
) -> Evidence:
    """Count the rows of a data frame for a method, or for all that a summary can serve.

    Where the tree has no counts, what a method asks is not known before: ``widens`` then counts for all methods.
    """
    check_frame(df)
    tolerated = check_amount("rf_tol", rf_tol)
    is_spark = any(ancestor.__module__.startswith("pyspark.ml") for ancestor in type(model).__mro__)
    with spark_failures():
        tree = from_model(
            model,
            df if is_spark else None,
            feature_names=naming.feature_names,
            class_names=naming.class_names,
            accepts_missing=naming.accepts_missing,
        )
        check_numeric(df, y, "y", tree.classes)
        if sample_weight is not None:
            check_numeric(df, sample_weight, "sample_weight")
        derives = tree.columns is not None and tree.columns.derive is not None
        stated = state_facts(tree, None, **naming.knowledge)
        if derives:
            features = list(range(tree.n_features - len(tree.columns.derived)))  # type: ignore[union-attr]
        else:
            features = list(range(tree.n_features)) if stated.facts else tested_features(tree)
        taken = [y] if sample_weight is None else [y, sample_weight]
        placement = place_columns(df, tree, features, taken=taken, vector=_find_vector(model) if is_spark else None)
    table = None
    if placement.vector is None and placement.names is not None:
        if tree.feature_names is None:
            tree = replace(tree, feature_names=placement.names)
        table = typed_table(df, placement.names)
    narrows = not derives and not stated.facts
    tree = state_facts(tree, table, **naming.knowledge)
    problem = pose_problem(tree, None, tolerated, domain_knowledge=domain_knowledge)
    is_open = widens and method is not None and tree.counts is None and METHODS[method].needs_rows
    plan = plan_evidence(problem, None if is_open else method)
    narrow = narrow_tree(plan.tree, features) if narrows else plan.tree
    if narrow.feature_names is None:
        narrow = replace(narrow, feature_names=tuple(narrow.feature_name(f) for f in range(narrow.n_features)))
    reader = RowReader(
        narrow,
        sample_weight is not None,
        placement.vector,
        tree.n_features,
        checks_facts=not narrows,
        typed=tuple(whole_by_dtype(tree, table)),
    )
    task = EvidenceTask(reader, plan.ignored, plan.opened)
    n_rows, cells, sums = sum_counts(df, placement, y, sample_weight, task)
    n_leaf_numbers = plan.paths.n_rules * tree.n_classes
    conditions = Conditions(plan.ignored, plan.opened, np.ones(plan.paths.n_rules, dtype=bool))
    counts = np.zeros(n_leaf_numbers + int(list_patterns(plan.paths, conditions)[1][-1]) * tree.n_classes)
    if len(cells) and int(cells.max()) >= len(counts):
        raise InputError("The workers count other cells than the driver: they run another version of secateur.")
    counts[cells] = sums
    return Evidence(
        plan.tree,
        n_rows,
        sample_weight is not None,
        plan.method,
        plan.ignored,
        plan.opened,
        counts[:n_leaf_numbers].reshape(-1, tree.n_classes),
        counts[n_leaf_numbers:].reshape(-1, tree.n_classes),
    )


def _find_vector(model: Any) -> str | None:
    from secateur.adapters.spark_ml import find_features_column

    return find_features_column(model)
