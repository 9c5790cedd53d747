"""Check and count rows in Spark tasks, and let Spark add up the counts.

A task never raises for what it finds in rows. It emits the sentence that the same rows raise in memory, and the driver
raises it: otherwise Spark would try again, and the user would see Java's stack.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import InputError
from secateur.facts.checking import check_facts
from secateur.rows.checking import NO_WEIGHT, TOO_MUCH_WEIGHT, check_answers, check_labels, check_rows, check_weights
from secateur.rows.encoding import as_objects, derives
from secateur.rows.row_source import Counter
from secateur.rows.rows import LabelledRows
from secateur.spark.columns import Placement, quote
from secateur.spark.session import spark_failures
from secateur.tree.tree import Tree

# A task emits a number for a cell, with its partition; or a sentence about the rows.
SCHEMA = "cell bigint, part int, value double, problem string"
N_ROWS, PROBLEM = -1, -2
# Rows counted at once: enough that setting up the count takes no time in comparison.
CHUNK_ROWS = 1 << 17
EMITTED_ROWS = 1 << 16


@dataclass(frozen=True)
class RowReader:
    """Reads the Arrow tables that a task gets: features, label, any weight, and the length of any vectors."""

    tree: Tree  # over the features in the order in which they come
    has_weights: bool
    vector: str | None  # the column of vectors that the features come from
    n_numbers: int  # that each vector must hold
    checks_facts: bool = False
    typed: tuple[int, ...] = ()  # features whose type already says that they hold whole numbers

    def read(self, table: Any, first: int, part: int) -> LabelledRows:
        """Read a table in the tree's terms; messages count rows of the partition from ``first``."""
        name = f"partition {part} of df"
        n_features = len(table.column_names) - 1 - self.has_weights - (self.vector is not None)
        if self.vector is not None:
            self._check_lengths(table.column(table.num_columns - 1), first, name)
        X = table.select(range(n_features)).rename_columns(list((self.tree.feature_names or ())[:n_features]))
        if derives(self.tree):
            X = X.to_pandas()  # for the steps of a scikit-learn pipeline
        rows = check_rows(self.tree, X, name=name, first=first)
        if self.checks_facts:
            check_facts(self.tree, rows, typed=self.typed, name=name, first_row=first)
        targets = None
        if self.tree.is_regression:
            found = table.column(n_features).to_numpy()
            class_ids, targets = check_answers(self.tree, found, len(found), name=f"y in {name}", first=first)
        else:
            class_ids = self._find_classes(table.column(n_features), first, f"y in {name}")
        weights = None
        if self.has_weights:
            # All rows of a part may have weight 0; the driver sees whether there are others.
            found = np.asarray(table.column(n_features + 1).to_numpy(), dtype=np.float64)
            weights = check_weights(found, len(found), is_part=True, name=f"sample_weight in {name}", first=first)
        return LabelledRows(rows, class_ids, weights, targets)

    def _check_lengths(self, lengths: Any, first: int, name: str) -> None:
        found = lengths.to_numpy()
        wrong = np.flatnonzero(found != self.n_numbers)
        if len(wrong):
            holds = "no vector" if np.isnan(found[wrong[0]]) else f"a vector of {found[wrong[0]]:g} numbers"
            raise InputError(
                f"Column {self.vector!r} in {name} holds {holds} (row {first + wrong[0]}), but the tree was fitted on "
                f"{self.n_numbers}."
            )

    def _find_classes(self, column: Any, first: int, name: str) -> NDArray[np.int64]:
        import pyarrow as pa

        if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
            return check_labels(self.tree, column.to_numpy(), len(column), name=name, first=first)
        coded = column.combine_chunks().dictionary_encode()
        if coded.null_count == 0:
            try:
                codes = check_labels(self.tree, coded.dictionary.to_pylist(), len(coded.dictionary))
                return np.asarray(codes[coded.indices.to_numpy()])
            except InputError:  # said again below, with the number of the row
                pass
        return check_labels(self.tree, as_objects(column.to_pylist()), len(column), name=name, first=first)


@dataclass(frozen=True)
class CountingTask:
    """Counts the rows of one partition; ``to_cells`` of the counts lists places and numbers there that add up."""

    reader: RowReader
    counter: Counter[Any]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Emit the counts that are not zero, or a sentence about the first row that does not fit."""
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        part = context.partitionId() if context is not None else 0
        # Spark runs a task for each processor, so more threads would only get in each other's way.
        os.environ.setdefault("LOKY_MAX_CPU_COUNT", str(context.cpus() if context is not None else 1))
        total, n_rows = None, 0
        try:
            for table in _join_batches(batches):
                found = self.counter.count(self.reader.read(table, n_rows, part))
                total = found if total is None else self.counter.add(total, found)
                n_rows += table.num_rows
        except InputError as error:
            yield _make_batch([PROBLEM], part, [0.0], [str(error)])
            return
        places, numbers = ([], []) if total is None else (found.tolist() for found in total.to_cells())
        cells, values = [N_ROWS, *places], [float(n_rows), *numbers]
        for first in range(0, len(cells), EMITTED_ROWS):
            yield _make_batch(cells[first : first + EMITTED_ROWS], part, values[first : first + EMITTED_ROWS], None)


def _join_batches(batches: Iterable[Any]) -> Iterator[Any]:
    """Join the small batches that Spark sends to tables of many rows."""
    import pyarrow as pa

    waiting, n_rows = [], 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            n_rows += batch.num_rows
        if n_rows >= CHUNK_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, n_rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _make_batch(cells: list[int], part: int, values: list[float], problems: list[str] | None) -> Any:
    import pyarrow as pa

    columns = [
        pa.array(cells, type=pa.int64()),
        pa.array([part] * len(cells), type=pa.int32()),
        pa.array(values, type=pa.float64()),
        pa.nulls(len(cells), pa.string()) if problems is None else pa.array(problems, type=pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["cell", "part", "value", "problem"])


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
