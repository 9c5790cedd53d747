"""One frame as every kind of table that rows may come from."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds

__all__ = ["KEPT_OPEN", "KINDS", "make_table"]

KINDS = (
    *("pandas", "polars", "arrow", "lazy frame", "dataset", "reader", "relation", "query"),
    *("parquet", "glob", "directory", "csv", "json", "arrow file", "arrow stream"),
)

# A relation of DuckDB before 1.5 is gone once nobody holds its connection.
KEPT_OPEN: list[duckdb.DuckDBPyConnection] = []


def make_table(kind: str, frame: pd.DataFrame, place: Path) -> Any:
    """The rows of a frame, as a table of some kind; files go to a directory."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    cuts = np.linspace(0, len(frame), 4).astype(int)
    if kind == "pandas":
        return frame
    if kind == "polars":
        return pl.from_arrow(table)
    if kind == "arrow":
        return table
    if kind == "lazy frame":
        return pl.from_arrow(table).lazy()  # type: ignore[union-attr]
    if kind == "dataset":
        return ds.dataset(table)
    if kind == "reader":
        return table.to_reader(100)
    if kind == "relation":
        KEPT_OPEN.append(duckdb.connect())
        return KEPT_OPEN[-1].from_arrow(table)
    if kind == "query":
        connection = duckdb.connect()
        connection.register("loans", table)
        return connection, "SELECT * FROM loans"
    if kind in ("glob", "directory"):
        for part, (first, last) in enumerate(pairwise(cuts)):
            frame.iloc[first:last].to_parquet(place / f"part-{part}.parquet", index=False)
        return str(place / "part-*.parquet") if kind == "glob" else place
    path = place / {"parquet": "t.parquet", "csv": "t.csv", "json": "t.jsonl"}.get(kind, "t.arrow")
    if kind == "parquet":
        frame.to_parquet(path, index=False)
    elif kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "json":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        make = pa.ipc.new_file if kind == "arrow file" else pa.ipc.new_stream
        with make(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
    return path
