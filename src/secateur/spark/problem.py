"""What a method is to work on, from a data frame of Spark: counts of its rows."""

from __future__ import annotations

from typing import Any

from secateur.errors import InputError
from secateur.methods import Problem
from secateur.problem import open_evidence
from secateur.rows.table_columns import Naming
from secateur.spark.collection import count_frame
from secateur.spark.session import check_frame, spark_failures

__all__ = ["open_frame"]


def open_frame(
    model: Any,
    df: Any,
    y: Any,
    sample_weight: Any,
    naming: Naming,
    *,
    method: str,
    by_rows: bool,
    rf_tol: float,
    domain_knowledge: bool,
    progress: Any,
) -> Problem:
    """Open a data frame of Spark as the problem of a method; arguments are those of ``streams.problem.open_table``.

    Spark shows its own progress, so nobody is told here.
    """
    check_frame(df)
    if by_rows:
        with spark_failures():
            n_rows = df.count()
        raise InputError(
            f"The method {method!r} looks at rows one by one, so its summary would be as large as the {n_rows:,} rows "
            "of the data frame: pass a part of them, such as df.sample(0.01).toPandas(), or use 'layered'."
        )
    evidence = count_frame(
        *(model, df, y, sample_weight, naming),
        method=None if method == "mismatch-certified" else method,
        rf_tol=rf_tol,
        domain_knowledge=domain_knowledge,
        widens=True,
    )
    return open_evidence(evidence.tree, evidence, {}, rf_tol, domain_knowledge=domain_knowledge)
