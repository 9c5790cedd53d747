"""How DuckDB is asked to read a file.

The text of a CSV stays as it is written: ``yes`` is text, and only what all of a column's values are, a number or a
date, is read as one.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from secateur.errors import InputError, first_line
from secateur.rows.file_faults import check_packed, find_encoding_fault, find_fault, has_long_line, long_fields
from secateur.rows.file_format import BLANKS, CHUNK, FORMATS, as_utf8, escape_wildcards, read_head, tell_format

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

__all__ = ["MISSING", "FileRelation", "check_twice", "connect", "open_arrow", "open_relation", "read_header_names"]

# What a blank is written as in CSV files, beside whatever is named with --missing.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "?")
DELIMITERS = (",", ";", "\t", "|")
LONGEST_LINE = 2_000_000  # what DuckDB takes
CLOSING_TRIES, CLOSING_PAUSE = 100, 0.05  # times, and seconds between them
DATE_TYPES = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
DECIMAL_COMMA = re.compile(r"(^|;)-?\d+,\d+(;|\r?$)", re.MULTILINE)
DECIMAL_POINT = re.compile(r"(^|;)-?\d+\.\d+(;|\r?$)", re.MULTILINE)


@dataclass(frozen=True)
class FileRelation:
    """A file that is there, and what DuckDB is asked for it.

    Attributes
    ----------
    name : str
        How the file is called in messages.
    path : Path
        Where it is read from: itself, or a copy in UTF-8.
    kind : str
        Its format, one of ``FORMATS``.
    is_packed : bool
        Whether it is packed with gzip.
    query : str
        What stands behind FROM; for an Arrow file the name that its table must be registered by.
    values : dict of str to object
        The parameters of the query.
    names : tuple of str or None
        The columns, where DuckDB gets them without names.
    notes : tuple of str
        What a person should know of how the file is read, a sentence each.
    """

    name: str
    path: Path
    kind: str
    is_packed: bool
    query: str = "arrow_table"
    values: dict[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    def refuse(self, error: Exception) -> InputError:
        """Say in a sentence why DuckDB or Arrow did not read the file."""
        if self.names is not None:
            found = find_fault(self.path, self.name, len(self.names), self.values["delim"], is_packed=self.is_packed)
            if found is not None:
                return found
        elif self.kind == "json":
            found = find_encoding_fault(self.path, self.name, is_packed=self.is_packed)
            if found is not None:
                return found
        if "max_line_size" in str(error):
            if has_long_line(self.path, LONGEST_LINE, is_packed=self.is_packed):
                return InputError(f"{self.name} has a line of more than {LONGEST_LINE:,} bytes: shorten its texts.")
            return InputError(
                f"{self.name} cannot be read: its lines do not all end the same way, or a quote is not closed. Save "
                "it anew."
            )
        reason = re.sub(r"^[A-Z][A-Za-z ]*Error: ", "", first_line(error)).replace(str(self.path), self.name)
        return InputError(f"{self.name} cannot be read: {reason}. Check the file, or name its --format.")


def open_relation(
    name: str,
    path: Path,
    room: Path,
    *,
    format: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    text: Collection[str] = (),
) -> FileRelation:
    """Look at a file, and settle how DuckDB is to read it.

    Parameters
    ----------
    name : str
        How the file is called in messages.
    path : Path
    room : Path
        A directory for copies, which is there as long as the file is read.
    format, encoding, missing, text
        As in :func:`secateur.cli.tables.table_file.read_table`.

    Returns
    -------
    FileRelation
    """
    if path.stat().st_size == 0:
        raise InputError(f"{name} is empty: expected a table with a header line.")
    path = as_utf8(path, encoding, room, name)
    head, is_packed = read_head(path, name)
    kind = format or tell_format(head, name)
    if kind not in FORMATS:
        raise InputError(f"There is no format {kind!r}; the formats are {', '.join(FORMATS)}.")
    path = escape_wildcards(path, room)
    if kind == "arrow":
        return FileRelation(name, path, kind, is_packed)
    if is_packed and _is_duckdb_1():
        check_packed(path, name)
    names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    # What DuckDB would else tell by a file's name rather than by its bytes.
    options: dict[str, Any] = {} if kind == "parquet" else {"compression": "gzip" if is_packed else "uncompressed"}
    if kind == "json":
        options |= {"format": "array" if head.lstrip(BLANKS)[:1] == b"[" else "auto", "sample_size": -1}
    elif kind != "parquet":
        names, found, notes = _describe_csv(name, head, kind, (*MISSING, *missing), text)
        options |= found
    options["hive_partitioning"] = False  # else a directory called a=1 is a column
    _check_cases(path, kind, head, name)
    if kind == "json" and text:
        types = _type_json(path, options, room, name)
        if any(types.get(column, "VARCHAR") in DATE_TYPES for column in text):
            options["columns"] = {column: "VARCHAR" if column in text else known for column, known in types.items()}
    function = {"tsv": "csv"}.get(kind, kind)
    listed = "".join(f", {option} := ${option}" for option in options)
    query, values = f"read_{function}($path{listed})", {"path": str(path), **options}
    return FileRelation(name, path, kind, is_packed, query, values, names, notes)


def _is_duckdb_1() -> bool:
    import duckdb

    return duckdb.__version__.startswith("1.")


def _check_cases(path: Path, kind: str, head: bytes, name: str) -> None:
    """Refuse names that differ in case only: DuckDB would call one of them otherwise, perhaps like a third column."""
    names: Iterable[str] = ()
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            names = pq.read_schema(path).names
        except (OSError, pa.ArrowException):
            return  # DuckDB says what is wrong
    elif kind == "json":
        names = dict.fromkeys(key for record in _read_records(head) for key in record)
    seen: dict[str, str] = {}
    for column in names:
        other = seen.setdefault(column.lower(), column)
        if other != column:
            raise InputError(
                f"{name} has the columns {other!r} and {column!r}, which DuckDB does not tell apart: rename one of "
                "them."
            )


def _read_records(head: bytes) -> Iterator[dict[str, Any]]:
    """The records of the first bytes of a JSON file, as far as they stand on lines of their own."""
    for line in head.split(b"\n"):
        try:
            record = json.loads(line.strip().strip(b"[],"))
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def _type_json(path: Path, options: dict[str, Any], room: Path, name: str) -> dict[str, str]:
    """The columns of a JSON file and their types, as DuckDB finds them."""
    import duckdb

    listed = "".join(f", {option} := ${option}" for option in options)
    with connect(room) as connection:
        try:
            found = connection.sql(
                f"SELECT * FROM read_json($path{listed}) LIMIT 0", params={"path": str(path), **options}
            )
            return dict(zip(found.columns, map(str, found.types), strict=True))
        except duckdb.Error:
            return {}  # the reading itself says what is wrong


def _describe_csv(
    name: str, head: bytes, kind: str, missing: Sequence[str], text: Collection[str]
) -> tuple[tuple[str, ...], dict[str, Any], tuple[str, ...]]:
    """The columns of a CSV file, the options that DuckDB reads it with, and what a person should know of them."""
    if len(head) == CHUNK and b"\n" not in head and b"\r" not in head:
        raise InputError(f"The first line of {name} is longer than {CHUNK:,} bytes: expected a header line.")
    lines = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(head)
    names, delimiter = _split_header(lines, "\t" if kind == "tsv" else None)
    if all(_is_number(column) for column in names):
        raise InputError(
            f"The first line of {name} holds numbers ({', '.join(names[:3])}), not names: add a header line."
        )
    check_twice(names, name)
    options: dict[str, Any] = {
        "delim": delimiter,
        "quote": '"',
        "escape": '"',
        "comment": "",
        "header": True,
        "skip": 0,  # else a header that is shorter than the lines below it is passed over
        "sample_size": -1,  # else a text after many numbers is an error
        "nullstr": list(dict.fromkeys(missing)),
        "auto_type_candidates": ["BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR"],
        "names": [f"c{place}" for place in range(len(names))],  # DuckDB's own names depend on one another
    }
    forced = {f"c{place}": "VARCHAR" for place, column in enumerate(names) if column in text}
    if forced:
        options["types"] = forced
    notes: tuple[str, ...] = ()
    if delimiter == ";" and DECIMAL_COMMA.search(lines) and not DECIMAL_POINT.search(lines):
        options["decimal_separator"] = ","
        notes = ("Numbers are read with a decimal comma.",)
    return tuple(names), options, notes


def open_arrow(file: Any) -> Any:
    """A reader of the record batches of an Arrow file that is open, be it a file or a stream by its format."""
    import pyarrow as pa

    is_stream = file.read(6) != b"ARROW1"
    file.seek(0)
    if is_stream:
        return pa.ipc.open_stream(file)
    opened = pa.ipc.open_file(file)
    batches = (opened.get_batch(place) for place in range(opened.num_record_batches))
    return pa.RecordBatchReader.from_batches(opened.schema, batches)


@contextmanager
def connect(room: Path) -> Iterator[Any]:
    """A DuckDB of our own, which fetches nothing from anywhere and puts what it cannot hold into a directory."""
    import duckdb

    connection = duckdb.connect(
        config={
            "temp_directory": str(room),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
    )
    connection.execute("SET enable_progress_bar = false")  # it would go to standard output
    try:
        yield connection
    finally:
        for _ in range(CLOSING_TRIES):  # where a run is stopped, a thread may still be at work with it
            try:
                connection.close()
                break
            except duckdb.Error:
                connection.interrupt()
                time.sleep(CLOSING_PAUSE)


def check_twice(names: Sequence[str], table: str) -> None:
    """Refuse a table with two columns of one name."""
    counted = Counter(name.strip() for name in names)
    twice = next((name for name, times in counted.items() if times > 1), None)
    if twice is not None:
        raise InputError(
            f"{table} has two columns of the name {twice!r}, blanks around names aside: rename one of them."
        )


def read_header_names(path: Path) -> list[str]:
    """The column names of a CSV file, for completion; nothing where they cannot be read."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _split_header(file.readline())[0]
    except (OSError, ValueError, csv.Error):
        return []


def _split_header(text: str, delimiter: str | None = None) -> tuple[list[str], str]:
    """The names of the first record, blanks around them cut, and the delimiter that splits it into most names."""
    candidates = DELIMITERS if delimiter is None else (delimiter,)
    text = text.lstrip("\r\n")
    best: tuple[list[str], str] = ([], candidates[0])
    for candidate in candidates:
        with long_fields():
            names = next(csv.reader(text.splitlines(keepends=True), delimiter=candidate), [])
        if len(names) > len(best[0]):
            best = names, candidate
    names, chosen = best
    return [name.strip() or f"column_{place + 1}" for place, name in enumerate(names)], chosen


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
