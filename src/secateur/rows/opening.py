"""Tell what kind of table a person passed, and open it as a source."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from secateur.errors import InputError
from secateur.frames import frame_columns
from secateur.rows.arrow_sources import open_dataset, open_lazy_frame, open_reader
from secateur.rows.duckdb_sources import open_files, open_query, open_relation_object
from secateur.rows.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from contextlib import AbstractContextManager

__all__ = ["is_frame", "is_spark", "is_stream", "open_source"]


def is_spark(table: Any) -> bool:
    """Whether a table is a Spark DataFrame."""
    return _package(table) == "pyspark" and type(table).__name__ == "DataFrame"


def is_stream(table: Any) -> bool:
    """Whether a table is read as batches: whatever is no array and no frame in memory."""
    if isinstance(table, (str, os.PathLike, Source)) or _is_query(table):
        return True
    if is_spark(table):
        return False
    return _kind(table) in OPENERS or (frame_columns(table) is None and hasattr(table, "__arrow_c_stream__"))


def is_frame(table: Any) -> bool:
    """Whether a table is a data frame in memory, of any library."""
    return not is_stream(table) and not is_spark(table) and frame_columns(table) is not None


def open_source(table: Any, find_texts: Callable[[], Collection[str]] | None = None) -> AbstractContextManager[Source]:
    """Open a table to be read as batches; it is closed with the context.

    Parameters
    ----------
    table : path, relation, (connection, SQL), dataset, reader, frame or lazy frame
    find_texts : callable, default=None
        Gives the columns of a CSV file that are text even where they look like numbers.

    Returns
    -------
    context manager of Source
    """
    if is_spark(table):
        raise InputError(
            "A Spark DataFrame is not read here, so that no row comes to the driver: use rules.predict(df) and "
            "rules.audit(df, y), and df.write for what they give."
        )
    if isinstance(table, Source):  # somebody else opened it
        return nullcontext(table)
    if isinstance(table, (str, os.PathLike)):
        return open_files(table, find_texts=find_texts)
    if _is_query(table):
        return open_query(*table)
    if not hasattr(table, "__arrow_c_stream__") and _kind(table) not in OPENERS:
        raise InputError(f"Expected a table: {TABLES}; found {type(table).__name__}.")
    if _package(table) == "pandas":
        import pyarrow as pa

        table = pa.Table.from_pandas(table, preserve_index=False)
    source: AbstractContextManager[Source] = OPENERS.get(_kind(table), open_reader)(table)
    return source


TABLES = "a path, a DuckDB relation or (connection, SQL), or a table of Arrow, polars or pandas"

OPENERS: dict[tuple[str, str], Any] = {
    ("duckdb", "DuckDBPyRelation"): open_relation_object,
    ("pyarrow", "Dataset"): open_dataset,
    ("pyarrow", "RecordBatchReader"): open_reader,
    ("polars", "LazyFrame"): open_lazy_frame,
}


def _kind(table: Any) -> tuple[str, str]:
    """The library and the name of a table's class, or of the class that it derives from."""
    for ancestor in type(table).__mro__:
        kind = ancestor.__module__.split(".")[0].lstrip("_"), ancestor.__name__
        if kind in OPENERS:
            return kind
    return "", ""


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
