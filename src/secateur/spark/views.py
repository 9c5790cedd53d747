"""Rows of Spark under a name that SQL can ask, as long as it takes to read a statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

__all__ = ["name_rows"]


@contextmanager
def name_rows(rows: Any) -> Iterator[list[str]]:
    """Give a data frame a name that nothing else has; a statement that was read by then outlives it.

    Parameters
    ----------
    rows : pyspark.sql.DataFrame

    Yields
    ------
    list of str
        The name, in its parts.
    """
    view = f"secateur_{uuid4().hex}"
    rows.createOrReplaceTempView(view)
    try:
        yield [view]
    finally:
        rows.sparkSession.catalog.dropTempView(view)
