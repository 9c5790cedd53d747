"""Let Spark add up the counts of partitions, so that the driver gets one number for each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError
from secateur.rows.checking import NO_WEIGHT, TOO_MUCH_WEIGHT
from secateur.spark.columns import Placement, quote
from secateur.spark.session import spark_failures
from secateur.spark.tasks import N_ROWS, PROBLEM, SCHEMA, CountingTask

__all__ = ["sum_counts", "sum_in_order"]


def sum_counts(
    df: Any, placement: Placement, label: str, weight: str | None, task: CountingTask
) -> tuple[int, NDArray[np.int64], NDArray[np.float64]]:
    """Run a task on every partition; return the number of rows, the cells that are not zero, and their sums.

    Sums of whole numbers are exact in any order. Fractional weights are added in the order of the partitions, so that
    the same partitions give the same sums.
    """
    from pyspark.sql import functions as F

    with spark_failures():
        selected = df.select(*_list_columns(df, placement, label, weight))
        counted = selected.mapInArrow(task, SCHEMA)
        value = F.sum("value") if weight is None else sum_in_order("part", "value")
        summed = counted.groupBy("cell").agg(value.alias("value"), F.min_by("problem", "part").alias("problem"))
        table = summed.toArrow()
    cells, sums = table["cell"].to_numpy(), table["value"].to_numpy()
    if PROBLEM in cells:
        raise InputError(table["problem"][int(np.flatnonzero(cells == PROBLEM)[0])].as_py())
    n_rows = int(sums[cells == N_ROWS].sum())
    if n_rows == 0:
        raise InputError("df has no rows; at least one is needed.")
    kept = cells >= 0
    sums = sums[kept]
    if weight is not None and not np.any(sums):
        raise InputError(NO_WEIGHT)
    if not np.isfinite(sums).all():
        raise InputError(TOO_MUCH_WEIGHT)
    return n_rows, cells[kept], sums


def sum_in_order(part: str, value: str) -> Any:
    """Sum a column in the order of another, so that the order of rows does not matter."""
    from pyspark.sql import functions as F

    ordered = F.array_sort(F.collect_list(F.struct(F.col(quote(part)), F.col(quote(value)).alias("value"))))
    return F.aggregate(ordered, F.lit(0.0), lambda total, one: total + one["value"])


def _list_columns(df: Any, placement: Placement, label: str, weight: str | None) -> Sequence[Any]:
    """List features, label, weight and the length of vectors under our own names: the user's may hold anything."""
    from pyspark.sql import functions as F

    is_decimal = df.schema[label].dataType.typeName() == "decimal"
    columns = [*placement.columns, F.col(quote(label)).cast("double") if is_decimal else F.col(quote(label))]
    if weight is not None:
        columns.append(F.col(quote(weight)).cast("double"))
    if placement.vector is not None:
        from pyspark.ml.functions import vector_to_array

        columns.append(F.size(vector_to_array(F.col(quote(placement.vector)))).cast("double"))
    return [column.alias(f"c{place}") for place, column in enumerate(columns)]
