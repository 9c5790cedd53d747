"""Tables from files, read by DuckDB into a pandas frame."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import InputError
from secateur.rows.file_format import find_file
from secateur.rows.file_queries import check_twice, connect, open_arrow, open_relation

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from secateur.rows.file_queries import FileRelation

__all__ = ["TableFile", "read_table"]

# How many times its size in the file a table takes in memory, roughly; what is compressed grows more.
GROWTH = {"csv": 4, "tsv": 4, "json": 4, "parquet": 8, "arrow": 3}
GZIP_GROWTH = 5
TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
KINDS = {
    "BOOLEAN": "boolean",
    "VARCHAR": "text",
    "UUID": "text",
    "DATE": "date",
    '"NULL"': "empty",
    "NULL": "empty",
    "JSON": "mixed",
}
WHOLE_TYPES = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
NUMBER_TYPES = {*WHOLE_TYPES, "UBIGINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE"}


@dataclass(frozen=True)
class TableFile:
    """A table as it came from a file.

    Attributes
    ----------
    name : str
        How the file is called in messages.
    frame : pandas.DataFrame
        Numbers as int64 or float64 with NaN, booleans as bool, texts as objects with NaN for a blank.
    kinds : mapping of str to str
        Of each column: number, text, boolean, date, empty (nothing but blanks), mixed or nested.
    whole : tuple of str
        Columns of whole numbers, those with blanks among them too.
    notes : tuple of str
        What a person should know of how the file was read, a sentence each.
    """

    name: str
    frame: Any = field(repr=False)
    kinds: dict[str, str]
    whole: tuple[str, ...]
    notes: tuple[str, ...] = ()


def read_table(
    source: str | Path,
    *,
    format: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    text: Collection[str] = (),
    sample: int | None = None,
    seed: int = 0,
) -> TableFile:
    r"""Read a table from a file, or from standard input.

    Parameters
    ----------
    source : str or Path
        The file; ``-`` is standard input.
    format : {"csv", "tsv", "json", "parquet", "arrow"}, default=None
        By default what the first bytes show.
    encoding : str, default=None
        Encoding of a CSV, TSV or JSON file; by default UTF-8.
    missing : sequence of str, default=()
        Texts of a CSV file that stand for a blank, beside the usual ones.
    text : collection of str, default=()
        Columns of a CSV file that are text even where they look like numbers.
    sample : int, default=None
        Read only so many rows, drawn at random.
    seed : int, default=0
        Seed of that draw.

    Returns
    -------
    TableFile

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     path = Path(place) / "ward.csv"
    ...     _ = path.write_text("age,ward,ill\n34,B,yes\n,A,no\n")
    ...     table = read_table(path)
    >>> table.kinds
    {'age': 'number', 'ward': 'text', 'ill': 'text'}
    >>> table.whole
    ('age',)
    """
    with TemporaryDirectory(prefix="secateur-") as created:
        room = Path(created)
        name, path = find_file(source, room)
        size = path.stat().st_size
        if sample is None:
            _check_memory(size, name)
        relation = open_relation(name, path, room, format=format, encoding=encoding, missing=missing, text=text)
        if sample is None:
            _check_memory(size * GROWTH[relation.kind] * (GZIP_GROWTH if relation.is_packed else 1), name)
        table = _take(relation, room, sample, seed)
        return _read_truths(table, text) if relation.kind in ("csv", "tsv") else table


def _take(relation: FileRelation, room: Path, sample: int | None, seed: int) -> TableFile:
    """Read all of a file, or some of its rows."""
    import duckdb

    drawn = "" if sample is None else f" USING SAMPLE reservoir({sample} ROWS) REPEATABLE ({seed})"
    with connect(room) as connection:
        if relation.kind == "arrow":
            connection.register(relation.query, _read_arrow(relation))
        try:
            if drawn:
                connection.execute("SET threads = 1")  # the same draw every time
            connection.execute(f"CREATE TEMP TABLE taken AS SELECT * FROM {relation.query}{drawn}", relation.values)
            described = connection.execute("DESCRIBE taken").fetchall()
            types = [str(column[1]) for column in described]
            columns = [str(column[0]) for column in described] if relation.names is None else list(relation.names)
            frame = connection.execute("SELECT * FROM taken").df()
        except duckdb.OutOfMemoryException as error:
            raise InputError(
                f"{relation.name} does not fit into memory: take a part of its rows, with --sample 100000."
            ) from error
        except duckdb.Error as error:
            raise relation.refuse(error) from error
    if len(types) != len(columns):
        raise relation.refuse(ValueError("its lines have other lengths than the header"))
    check_twice(columns, relation.name)
    frame.columns = columns
    if len(frame) == 0:
        raise InputError(f"{relation.name} has a header but no rows.")
    told = [*relation.notes] if sample is None else [*relation.notes, f"{len(frame):,} rows were drawn at random."]
    return _make_table(relation.name, frame, dict(zip(columns, types, strict=True)), told)


def _read_arrow(relation: FileRelation) -> Any:
    import pyarrow as pa

    try:
        with pa.memory_map(str(relation.path)) as file:
            table = open_arrow(file).read_all()
    except (OSError, pa.ArrowException) as error:
        raise relation.refuse(error) from error
    check_twice(table.column_names, relation.name)
    return table


def _make_table(name: str, frame: Any, types: dict[str, str], notes: list[str]) -> TableFile:
    """Bring DuckDB's types to a few, the same with every version of pandas."""
    import pandas as pd

    kinds: dict[str, str] = {}
    whole = []
    columns: dict[str, Any] = {}
    for column, type_ in types.items():
        values = frame[column]
        kind = _tell_kind(type_)
        absent = values.isna()
        if absent.all():
            kind = "empty"
        if kind == "number":
            if type_ in WHOLE_TYPES:
                whole.append(column)
            is_whole = type_ in WHOLE_TYPES and not absent.any()
            values = values.astype(np.int64) if is_whole else values.astype(np.float64)
        elif kind == "boolean" and not absent.any():
            values = values.astype(bool)
        elif kind in ("text", "boolean", "empty"):
            values = values.astype(object).where(~absent, np.nan)
        kinds[column] = kind
        columns[column] = values
    return TableFile(name, pd.DataFrame(columns), kinds, tuple(whole), tuple(notes))


def _read_truths(table: TableFile, text: Collection[str]) -> TableFile:
    """A table in which texts that all say true or false are truth values, as other readers of the file take them."""
    frame, kinds = table.frame.copy(deep=False), dict(table.kinds)
    for column, kind in table.kinds.items():
        present = frame[column].dropna()
        if kind != "text" or column in text or not set(present.unique()) <= TRUTHS.keys():
            continue
        frame[column] = (
            frame[column].map(TRUTHS) if len(present) < len(frame) else frame[column].map(TRUTHS).astype(bool)
        )
        kinds[column] = "boolean"
    return replace(table, frame=frame, kinds=kinds)


def _tell_kind(type_: str) -> str:
    if type_ in NUMBER_TYPES or type_.startswith("DECIMAL"):
        return "number"
    if type_.startswith(("TIMESTAMP", "TIME", "INTERVAL")):
        return "date"
    if type_.startswith("ENUM"):
        return "text"
    return KINDS.get(type_, "nested")


def _check_memory(needed: int, name: str) -> None:
    free = _free_memory()
    if free is not None and needed > free:
        raise InputError(
            f"{name} would take about {needed / 2**30:,.1f} GiB of memory, and {free / 2**30:,.1f} GiB are free: take "
            "a part of its rows, with --sample 100000."
        )


def _free_memory() -> int | None:
    """Bytes of memory that programs may still take; None where the system does not tell."""
    try:
        told = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(r"MemAvailable:\s+(\d+) kB", told)
    return None if found is None else int(found[1]) << 10
