"""Open rows of any kind: the only place that asks which kind came."""

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from secateur.errors import InputError, need_library
from secateur.frames import frame_columns
from secateur.rows.batched_rows import BatchedRows
from secateur.rows.duckdb_sources import open_files, open_query, open_relation_object
from secateur.rows.row_source import GivenRows, MemoryRows, ModelTerms, RowSource
from secateur.rows.rows import Rows
from secateur.rows.sources import Source, open_dataset, open_lazy_frame, open_reader

TABLES = "a path, a DuckDB relation or (connection, SQL), or a table of Arrow, polars or pandas"


@contextmanager
def open_rows(
    X: Any, y: Any = None, sample_weight: Any = None, *, find_texts: Callable[[], Collection[str]] | None = None
) -> Iterator[RowSource]:
    """Open rows of any kind, as :func:`secateur.simplify` takes them; they are closed with the context.

    ``find_texts`` gives the columns of a CSV file that are text even where they look like numbers.
    """
    given = GivenRows(X, y, sample_weight)
    if isinstance(X, (np.ndarray, Rows)):
        yield MemoryRows(*given)
    elif _is_spark(X):
        from secateur.spark.rows import SparkRows
        from secateur.spark.session import spark_failures

        with spark_failures():
            yield SparkRows(*given)
    elif isinstance(X, (str, os.PathLike, Source)) or _is_query(X) or _find_opener(X) is not None:
        with open_source(X, find_texts) as source:
            yield BatchedRows(source, given)
    else:
        yield MemoryRows(*given)


def hold_rows(X: Any, y: Any, sample_weight: Any, why: str, columns: list[str] | None = None) -> GivenRows:
    """Bring rows, labels and weights into memory for scikit-learn; without names, all columns but those two."""
    with open_rows(X, y, sample_weight) as rows:
        return rows.hold(lambda: ModelTerms(columns, None, wants_pandas=True), why).given


def check_pair(X: Any, y: Any, sample_weight: Any = None) -> None:
    """Reject rows without labels, labels without rows, and weights without either."""
    if (X is None) != (y is None):
        given, absent = ("X", "y") if y is None else ("y", "X")
        raise InputError(f"{given} was passed without {absent}: pass both, or neither.")
    if X is None and sample_weight is not None:
        raise InputError("sample_weight was passed without X and y.")


def open_source(table: Any, find_texts: Callable[[], Collection[str]] | None = None) -> AbstractContextManager[Source]:
    """Open a table or frame as record batches; it is closed with the context."""
    if _is_spark(table):
        raise InputError(
            "Rows of a Spark DataFrame stay on Spark: use rules.predict(df) and rules.audit(df, y), and df.write for "
            "their results."
        )
    if isinstance(table, Source):  # opened before
        return nullcontext(table)
    need_library("pyarrow", "tables", "A table of rows")
    if isinstance(table, (str, os.PathLike)):
        need_library("duckdb", "tables", "A file of rows")
        return open_files(table, find_texts=find_texts)
    if _is_query(table):
        return nullcontext(open_query(*table))
    opener = _find_opener(table)
    if opener is None and not hasattr(table, "__arrow_c_stream__"):
        raise InputError(f"Expected a table: {TABLES}; found {type(table).__name__}.")
    if _package(table) == "pandas":
        import pyarrow as pa

        table = pa.Table.from_pandas(table, preserve_index=False)
    return nullcontext((opener or open_reader)(table))


def _is_spark(table: Any) -> bool:
    if _package(table) != "pyspark":  # asked first: narwhals is not imported for arrays
        return False
    from narwhals.dependencies import is_pyspark_connect_dataframe, is_pyspark_dataframe

    return is_pyspark_dataframe(table) or is_pyspark_connect_dataframe(table)


def _find_opener(table: Any) -> Any:
    """Find the opener of a table that is neither an array nor a frame in memory; None for those."""
    packages = {ancestor.__module__.split(".")[0].lstrip("_") for ancestor in type(table).__mro__}
    if packages & {"duckdb", "polars"}:
        from narwhals.dependencies import is_duckdb_relation, is_polars_lazyframe

        if is_duckdb_relation(table):
            return open_relation_object
        if is_polars_lazyframe(table):
            return open_lazy_frame
    if "pyarrow" in packages:
        import pyarrow.dataset

        if isinstance(table, pyarrow.dataset.Dataset):
            return open_dataset
    is_column = type(table).__name__ == "Series"  # which pandas and polars stream as a table of one column
    streams = hasattr(table, "__arrow_c_stream__") and frame_columns(table) is None and not is_column
    return open_reader if streams else None


def _package(table: Any) -> str:
    return type(table).__module__.split(".")[0]


def _is_query(table: Any) -> bool:
    if not isinstance(table, tuple) or len(table) != 2:
        return False
    if type(table[0]).__name__ == "DuckDBPyConnection":
        return True
    if type(table[1]) is str and hasattr(table[0], "execute"):
        raise InputError(
            f"Expected (connection, SQL) with a connection of DuckDB, found one of {_package(table[0])}: attach its "
            "database to DuckDB, or fetch the rows."
        )
    return False
