"""Write a table with the predictions of rules, a batch at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.errors import InputError, first_line
from secateur.rows.batched_rows import BatchReader
from secateur.rows.encoding import find_texts
from secateur.rows.opening import open_source, quote
from secateur.rows.sources import fit_tree_to
from secateur.rows.whole_files import check_not_read, stage_file
from secateur.rules.lines import without_facts

if TYPE_CHECKING:
    from secateur.rows.rows import Rows
    from secateur.rows.sources import Source
    from secateur.rules.rules import Rules

ADDED = ("prediction", "rule", "share")
OTHER_SUFFIXES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".arrow", ".feather", ".ipc", ".xlsx")


def write_predictions(rules: Rules, table: Any, to: Any) -> int:
    """Write a table with prediction, rule and share to a new file or DuckDB table, and count its rows."""
    if isinstance(to, (str, os.PathLike)):
        check_not_read(Path(to), [table])
    with open_source(table, partial(find_texts, rules.tree)) as source:
        taken = next((name for name in ADDED if name in source.schema.names), None)
        if taken is not None:
            raise InputError(f"{source.name} already has a column {taken!r}: rename it first.")
        batches = _Predicted(rules, source)
        if isinstance(to, (str, os.PathLike)):
            if Path(to).suffix.lower() in OTHER_SUFFIXES:
                raise InputError(f"Predictions are written as Parquet, not {Path(to).suffix}: name a .parquet file.")
            import pyarrow.parquet as pq

            with stage_file(Path(to)) as temporary, pq.ParquetWriter(temporary, batches.schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
        elif isinstance(to, tuple) and len(to) == 2 and type(to[0]).__name__ == "DuckDBPyConnection":
            _write_table(batches, *to)
        else:
            raise InputError(f"Expected the path of a Parquet file or (connection, table name), found {to!r}.")
    return batches.n_rows


class _Predicted:
    """The batches of a table with the predictions of rules."""

    def __init__(self, rules: Rules, source: Source) -> None:
        import pyarrow as pa

        self.rules, self.source, self.n_rows = rules, source, 0
        self._answers = pa.array(rules.answers.tolist())
        self.schema = source.schema
        for name, dtype in zip(ADDED, (self._answers.type, pa.int64(), pa.float64()), strict=True):
            self.schema = self.schema.append(pa.field(name, dtype))

    def __iter__(self) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        rules = self.rules
        shares = pa.array(rules.stated_shares, from_pandas=True)

        def add(batch: Any, rows: Rows) -> Any:
            lines = pa.array(rules.find_lines(rows))
            added = [self._answers.take(lines), pc.add(lines, 1), shares.take(lines)]
            return pa.RecordBatch.from_arrays([*batch.columns, *added], schema=self.schema)

        reader = BatchReader(fit_tree_to(without_facts(rules.tree), self.source, ()), self.source)
        for batch in reader.map_rows(add, self.source.schema.names):
            self.n_rows += batch.num_rows
            yield batch


def _write_table(batches: _Predicted, connection: Any, name: str) -> None:
    import duckdb
    import pyarrow as pa

    reader = pa.RecordBatchReader.from_batches(batches.schema, iter(batches))
    writer = connection.cursor()  # the connection itself may be busy reading the table
    writer.register("secateur_predictions", reader)
    try:
        place = ".".join(quote(part) for part in str(name).split("."))
        writer.execute(f"CREATE TABLE {place} AS SELECT * FROM secateur_predictions")
    except duckdb.Error as error:
        raise InputError(f"DuckDB could not create the table {name!r}: {first_line(error)}.") from error
    finally:
        writer.close()
