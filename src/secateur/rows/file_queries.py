"""Ask DuckDB to read a file.

The text of a CSV stays as it is written: ``yes`` and dates are text, and a column holds numbers only if all its values
do.
"""

import codecs
import csv
import json
import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateur.errors import InputError, first_line
from secateur.frames import check_unique
from secateur.limits import MAX_COLUMNS, MAX_LINE
from secateur.rows import file_bytes
from secateur.rows.sources import measure_arrow

# Texts that mean a blank in CSV files, beside those of --missing.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "?")
PADDINGS = (("", ""), (" ", ""), ("", " "), (" ", " "))
DELIMITERS = (",", ";", "\t", "|")
MOST_NESTED = 1_000
NOT_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))
CLOSING_TRIES, CLOSING_PAUSE = 100, 0.05  # times, and seconds between them
BINARY = ("parquet", "arrow")
AGAIN = "Copy it or write it again."
NO_HEADER = (
    "{name} has no header: its columns are called column_1 to column_{last} (--header takes the first line for names)."
)
DATE_TYPES = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
DECIMAL_COMMA = re.compile(r"(^|;)-?\d+,\d+(;|\r?$)", re.MULTILINE)
DECIMAL_POINT = re.compile(r"(^|;)-?\d+\.\d+(;|\r?$)", re.MULTILINE)


@dataclass(frozen=True)
class FileRelation:
    """A file, and what to ask DuckDB for it."""

    name: str  # in messages
    path: Path  # the file itself, or its copy in UTF-8
    kind: str  # one of FORMATS
    is_packed: bool  # with gzip
    values: dict[str, Any]  # the parameters of the query
    names: tuple[str, ...] | None = None  # the columns, where DuckDB gets other names for them
    notes: tuple[str, ...] = ()  # sentences for the user on how the file is read
    n_bytes: int = 0  # that it holds, unpacked

    @property
    def query(self) -> str:
        """What follows FROM; an Arrow table must be registered by this name."""
        if self.kind == "arrow":
            return "arrow_table"
        listed = "".join(f", {option} := ${option}" for option in self.values if option != "path")
        return f"read_{'csv' if self.kind == 'tsv' else self.kind}($path{listed})"

    @property
    def n_cells(self) -> int:
        """Rows times columns of a Parquet file; 0 for others."""
        found = self.read_metadata()
        return 0 if found is None else int(found.num_rows) * int(found.num_columns)

    def read_metadata(self) -> Any:
        """Read the metadata of a Parquet file; None for others."""
        if self.kind != "parquet":
            return None
        import pyarrow.parquet as pq

        with self.translate_errors():
            return pq.read_metadata(self.path)

    def select(self, connection: Any, columns: str = "*", rest: str = "") -> Any:
        """Ask for columns of the file."""
        return connection.sql(f"SELECT {columns} FROM {self.query}{rest}", params=self.values)

    def type_columns(self, connection: Any) -> dict[str, str]:
        """Ask for the types of the columns."""
        found = self.select(connection, rest=" LIMIT 0")
        return dict(zip(found.columns, map(str, found.types), strict=True))

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Turn errors of DuckDB and Arrow into a sentence about the file."""
        import duckdb
        import pyarrow as pa

        try:
            yield
        except (duckdb.Error, OSError, pa.ArrowException, UnicodeError, RuntimeError) as error:
            raise self.make_error(first_line(error), is_long="max_line_size" in str(error)) from error

    def make_error(self, reason: str, *, is_long: bool = False) -> InputError:
        """Say why the file cannot be read: what we find wrong with it, else what the library said."""
        if self.names is not None or self.kind == "json":
            asked = {} if self.names is None else {"delimiter": self.values["delim"], "n_names": len(self.names)}
            found = file_bytes.find_fault(self.path, self.name, is_packed=self.is_packed, **asked)
            if found is not None:
                return found
        if is_long:
            return InputError(
                f"{self.name} cannot be read: its lines do not all end the same way, or a quote is not closed. Save "
                "it again."
            )
        reason = re.sub(r"^[A-Z][A-Za-z ]*Error: ", "", reason).replace(str(self.path), self.name)
        if self.kind in BINARY:
            return InputError(f"{self.name} cannot be read: it is damaged ({reason}). {AGAIN}")
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
    header: bool | None = None,
) -> FileRelation:
    """Look at a file, and settle how DuckDB reads it; ``room`` is a directory for copies needed meanwhile."""
    import duckdb

    if path.stat().st_size == 0:
        raise InputError(f"{name} is empty: expected a table with a header line.")
    path = file_bytes.as_utf8(path, encoding, room, name)
    head, is_packed = file_bytes.read_head(path, name)
    kind = format or file_bytes.find_format(head, name)
    if kind not in file_bytes.FORMATS:
        raise InputError(f"There is no format {kind!r}; the formats are {', '.join(file_bytes.FORMATS)}.")
    path = file_bytes.escape_wildcards(path, room)
    if kind == "arrow":
        return FileRelation(name, path, kind, is_packed, {}, n_bytes=sum(measure_arrow(path, name)))
    n_bytes = file_bytes.check_packed(path, name) if is_packed else path.stat().st_size
    names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    # By default DuckDB tells the compression by the file's name, and takes a directory called a=1 for a column.
    options: dict[str, Any] = {} if kind == "parquet" else {"compression": "gzip" if is_packed else "uncompressed"}
    options["hive_partitioning"] = False
    if kind == "json":
        _check_nesting(head, name)
        options |= {"format": "array" if head.lstrip(file_bytes.BLANKS)[:1] == b"[" else "auto", "sample_size": -1}
    elif kind != "parquet":
        names, found, notes = _describe_csv(name, head, kind, (*MISSING, *missing), text, header)
        options |= found
    _check_cases(path, kind, head, name)
    relation = FileRelation(name, path, kind, is_packed, {"path": str(path), **options}, names, notes, n_bytes)
    if kind == "json" and text:
        with connect(room, [path]) as connection, suppress(duckdb.Error):  # the reading itself says what is wrong
            types = relation.type_columns(connection)
            if any(types.get(one) in DATE_TYPES for one in text):
                relation.values["columns"] = {one: "VARCHAR" if one in text else known for one, known in types.items()}
    return relation


def _check_cases(path: Path, kind: str, head: bytes, name: str) -> None:
    """Reject names that differ only in case: DuckDB would rename one of them, perhaps like a third column."""
    names: Iterable[str] = ()
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            names = pq.read_schema(path).names
        except (OSError, pa.ArrowException):
            return  # DuckDB says what is wrong
        except UnicodeError as error:  # which DuckDB does not tell
            raise InputError(f"{name} is damaged: a name of a column is not in UTF-8. {AGAIN}") from error
    elif kind == "json":
        names = dict.fromkeys(key for record in _read_records(head) for key in record)
    names = list(names)
    check_width(len(names), name)
    seen: dict[str, str] = {}
    for column in names:
        other = seen.setdefault(column.lower(), column)
        if other != column:
            raise InputError(
                f"{name} has the columns {other!r} and {column!r}, which DuckDB does not tell apart: rename one."
            )


def _check_nesting(head: bytes, name: str) -> None:
    """Reject records within records without end, on which older releases of DuckDB crash."""
    deepest = depth = 0
    for byte in head.translate(None, delete=NOT_BRACKETS):
        depth += 1 if byte in b"{[" else -1
        deepest = max(deepest, depth)
        if deepest > MOST_NESTED:
            raise InputError(
                f"{name} holds records within records, more than {MOST_NESTED:,} deep: expected one record of plain "
                "values for each row."
            )


def _read_records(head: bytes) -> Iterator[dict[str, Any]]:
    """Read the records in the first bytes of a JSON file that have a line of their own."""
    for line in head.split(b"\n"):
        try:
            record = json.loads(line.strip().strip(b"[],"))
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def _describe_csv(
    name: str, head: bytes, kind: str, missing: Sequence[str], text: Collection[str], header: bool | None
) -> tuple[tuple[str, ...], dict[str, Any], tuple[str, ...]]:
    """Find the columns of a CSV file, the options to read it with, and notes for the user."""
    if len(head) == file_bytes.HEAD and b"\n" not in head and b"\r" not in head:
        raise InputError(f"The first line of {name} is longer than {file_bytes.HEAD:,} bytes: expected a header line.")
    lines = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(head)
    names, delimiter = _split_header(lines, "\t" if kind == "tsv" else None)
    check_width(len(names), name)
    notes: tuple[str, ...] = ()
    if header is None:
        header = file_bytes.has_header(lines, delimiter, missing)
        notes = () if header else (NO_HEADER.format(name=name, last=len(names)),)
    if not header:
        names = [f"column_{place + 1}" for place in range(len(names))]
    check_twice(names, name)
    paddings = PADDINGS if _is_padded(lines, delimiter) else PADDINGS[:1]  # blanks around such a text do not count
    options: dict[str, Any] = {
        **{"delim": delimiter, "quote": '"', "escape": '"', "comment": "", "header": header},
        "skip": 0,  # else a header shorter than the lines below it is skipped
        "sample_size": -1,  # else a text after many numbers is an error
        "nullstr": list(dict.fromkeys(before + blank + after for blank in missing for before, after in paddings)),
        "auto_type_candidates": ["BIGINT", "DOUBLE", "VARCHAR"],  # dates are read from their texts, by one rule
        "names": [f"c{place}" for place in range(len(names))],  # DuckDB's own names depend on one another
        "max_line_size": MAX_LINE.value,
    }
    forced = {f"c{place}": "VARCHAR" for place, column in enumerate(names) if column in text}
    if forced:
        options["types"] = forced
    if delimiter == ";" and DECIMAL_COMMA.search(lines) and not DECIMAL_POINT.search(lines):
        options["decimal_separator"] = ","
        notes = (*notes, "Numbers are read with a decimal comma.")
    return tuple(names), options, notes


def _is_padded(lines: str, delimiter: str) -> bool:
    """Whether some field of a CSV file begins or ends with a blank; more texts to look for would slow the others."""
    around = (delimiter, '"', "\n", "\r")
    return lines.startswith(" ") or any(f"{sign} " in lines or f" {sign}" in lines for sign in around)


@contextmanager
def connect(room: Path, paths: Iterable[Path], *, threads: int | None = None) -> Iterator[Any]:
    """Start a DuckDB of our own that reads these files and no other, spills to a directory, and loads nothing."""
    import duckdb

    closed = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "python_enable_replacements": False,  # a name in a query is never a variable of Python
    }
    chosen = {} if threads is None else {"threads": threads}
    connection = duckdb.connect(config={"temp_directory": str(room), **closed, **chosen})
    connection.execute("SET enable_progress_bar = false")  # it would go to standard output
    listed = ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)
    connection.execute(f"SET allowed_paths = [{listed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    try:
        yield connection
    finally:
        for _ in range(CLOSING_TRIES):  # a thread of a run that was stopped may still use it
            try:
                connection.close()
                break
            except duckdb.Error:
                with suppress(duckdb.Error):  # it may be closed by now, and one of its cursors not yet
                    connection.interrupt()
                time.sleep(CLOSING_PAUSE)


def check_width(n_columns: int, table: str) -> None:
    """Reject a table of so many columns that DuckDB would take minutes."""
    if n_columns > MAX_COLUMNS.value:
        raise InputError(
            f"{table} has {n_columns:,} columns, and at most {MAX_COLUMNS.told} are taken: leave out those that the "
            f"tree does not need, or {MAX_COLUMNS.advise(n_columns)}."
        )


def check_twice(names: Sequence[str], table: str) -> None:
    """Reject two columns whose names differ in blanks around them at most."""
    check_unique(names, table, fold=str.strip, but=" (blanks around a name do not count)")


def read_header_names(path: Path) -> list[str]:
    """Read the column names of a CSV file, for completion; none if that fails."""
    try:
        with file_bytes.open_file(path) as file:
            return _split_header(file.readline(file_bytes.HEAD).decode("utf-8-sig"))[0]
    except (ValueError, csv.Error):  # an InputError is a ValueError
        return []


def _split_header(text: str, delimiter: str | None = None) -> tuple[list[str], str]:
    """Split the first record with the delimiter that gives most names, and cut blanks around them."""
    lines = text.lstrip("\r\n").splitlines(keepends=True)
    with file_bytes.long_fields():
        found = {
            sign: next(csv.reader(lines, delimiter=sign), [])
            for sign in (DELIMITERS if delimiter is None else (delimiter,))
        }
    chosen = max(found, key=lambda sign: len(found[sign]))
    return [name.strip() or f"column_{place + 1}" for place, name in enumerate(found[chosen])], chosen
