"""Name rows on Spark for an SQL statement, as long as it takes to parse it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

__all__ = ["name_rows"]


@contextmanager
def name_rows(rows: Any) -> Iterator[list[str]]:
    """Give a DataFrame a unique name, in parts; a statement that was parsed meanwhile outlives the name."""
    view = f"secateur_{uuid4().hex}"
    rows.createOrReplaceTempView(view)
    try:
        yield [view]
    finally:
        rows.sparkSession.catalog.dropTempView(view)
