"""Tables from files: CSV, TSV, JSON, Parquet and Arrow, read by DuckDB into a pandas frame.

What a file is, is told by its first bytes rather than by its name. The text of a CSV stays as it is written: ``yes`` is
text, and only what all of a column's values are, a number, a date, or ``true`` and ``false``, is read as one.
"""

from __future__ import annotations

import codecs
import csv
import os
import re
import shutil
import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import InputError
from secateur.tables.faults import (
    UNPACKING_ERRORS,
    find_encoding_fault,
    find_fault,
    long_fields,
    open_bytes,
    refuse_packed,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["FORMATS", "MISSING", "TableFile", "read_header_names", "read_table"]

FORMATS = ("csv", "tsv", "json", "parquet", "arrow")
# What a blank is written as in CSV files, beside whatever is named with --missing.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "?")
DELIMITERS = (",", ";", "\t", "|")
BLANKS = b"\xef\xbb\xbf \t\r\n"  # what may stand before JSON: a mark of UTF-8, and blanks
CHUNK = 1 << 20
# How many times its size in the file a table takes in memory, roughly; what is compressed grows more.
GROWTH = {"csv": 4, "tsv": 4, "json": 4, "parquet": 8, "arrow": 3}
GZIP_GROWTH = 5
OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an Excel workbook",
    b"BZh": "compressed with bzip2",
    b"\x28\xb5\x2f\xfd": "compressed with Zstandard",
    b"\xfd7zXZ": "compressed with xz",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF document",
    b"\x80\x04\x95": "a pickle",
    b"\x80\x05\x95": "a pickle",
}
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
DECIMAL_COMMA = re.compile(r"(^|;)-?\d+,\d+(;|\r?$)", re.MULTILINE)
DECIMAL_POINT = re.compile(r"(^|;)-?\d+\.\d+(;|\r?$)", re.MULTILINE)


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
    with ExitStack() as stack:
        room = Path(stack.enter_context(TemporaryDirectory(prefix="secateur-")))
        name, path = _find_file(source, room)
        size = path.stat().st_size
        if size == 0:
            raise InputError(f"{name} is empty: expected a table with a header line.")
        if sample is None:
            _check_memory(size, name)
        path = _as_utf8(path, encoding, room, name)
        head, is_packed = _read_head(path, name)
        kind = format or _tell_format(head, name)
        if kind not in FORMATS:
            raise InputError(f"There is no format {kind!r}; the formats are {', '.join(FORMATS)}.")
        if sample is None:
            _check_memory(size * GROWTH[kind] * (GZIP_GROWTH if is_packed else 1), name)
        reader = _Reader(name, _escape_wildcards(path, room), room, sample, seed, is_packed)
        if kind in ("csv", "tsv"):
            return reader.read_csv(head, kind, (*MISSING, *missing), text)
        if kind == "json":
            return reader.read_json(head)
        return reader.read_parquet() if kind == "parquet" else reader.read_arrow()


def read_header_names(path: Path) -> list[str]:
    """The column names of a CSV file, for completion; nothing where they cannot be read."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _split_header(file.readline())[0]
    except (OSError, ValueError, csv.Error):
        return []


@dataclass(frozen=True)
class _Reader:
    """One file, known to be there, and how to read it."""

    name: str
    path: Path
    room: Path
    sample: int | None
    seed: int
    is_packed: bool

    def read_csv(self, head: bytes, kind: str, missing: Sequence[str], text: Collection[str]) -> TableFile:
        if len(head) == CHUNK and b"\n" not in head and b"\r" not in head:
            raise InputError(f"The first line of {self.name} is longer than {CHUNK:,} bytes: expected a header line.")
        lines = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(head)
        names, delimiter = _split_header(lines, "\t" if kind == "tsv" else None)
        self._check_header(names)
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
            **self._as_told(),
        }
        forced = {f"c{place}": "VARCHAR" for place, column in enumerate(names) if column in text}
        if forced:
            options["types"] = forced
        notes = []
        if delimiter == ";" and DECIMAL_COMMA.search(lines) and not DECIMAL_POINT.search(lines):
            options["decimal_separator"] = ","
            notes.append("Numbers are read with a decimal comma.")
        return _read_truths(self._fetch("read_csv", options, names, notes), text)

    def read_json(self, head: bytes) -> TableFile:
        first = head.lstrip(BLANKS)[:1]
        options = {"format": "array" if first == b"[" else "auto", "sample_size": -1, **self._as_told()}
        try:
            return self._fetch("read_json", options)
        except InputError as error:
            raise find_encoding_fault(self.path, self.name, is_packed=self.is_packed) or error from error

    def read_parquet(self) -> TableFile:
        return self._fetch("read_parquet", {})

    def read_arrow(self) -> TableFile:
        try:
            import pyarrow as pa
        except ImportError:
            raise InputError(f"{self.name} is an Arrow file, which pyarrow reads: pip install pyarrow.") from None
        try:
            with pa.memory_map(str(self.path)) as file:
                is_stream = file.read(6) != b"ARROW1"
                file.seek(0)
                table = (pa.ipc.open_stream if is_stream else pa.ipc.open_file)(file).read_all()
        except (OSError, pa.ArrowException) as error:
            raise self._refuse(error) from error
        self._check_twice(table.column_names)
        with self._connect() as connection:
            connection.register("arrow_table", table)
            return self._take(connection, "arrow_table", {}, None, [])

    def _as_told(self) -> dict[str, str]:
        """What DuckDB would else tell by a file's name rather than by its bytes."""
        return {"compression": "gzip" if self.is_packed else "none"}

    def _check_header(self, names: list[str]) -> None:
        if all(_is_number(name) for name in names):
            raise InputError(
                f"The first line of {self.name} holds numbers ({', '.join(names[:3])}), not names: add a header line."
            )
        self._check_twice(names)

    def _check_twice(self, names: Sequence[str]) -> None:
        counted = Counter(name.strip() for name in names)
        twice = next((name for name, times in counted.items() if times > 1), None)
        if twice is not None:
            raise InputError(
                f"{self.name} has two columns of the name {twice!r}, blanks around names aside: rename one of them."
            )

    def _connect(self) -> Any:
        import duckdb

        return duckdb.connect(
            config={
                "temp_directory": str(self.room),
                "autoinstall_known_extensions": False,  # nothing is fetched from anywhere
                "autoload_known_extensions": False,
            }
        )

    def _fetch(
        self, function: str, options: dict[str, Any], names: list[str] | None = None, notes: Sequence[str] = ()
    ) -> TableFile:
        options = {**options, "hive_partitioning": False}  # else a directory called a=1 is a column
        listed = "".join(f", {name} := ${name}" for name in options)
        with self._connect() as connection:
            return self._take(
                connection, f"{function}($path{listed})", {"path": str(self.path), **options}, names, notes
            )

    def _take(
        self, connection: Any, relation: str, values: dict[str, Any], names: list[str] | None, notes: Sequence[str]
    ) -> TableFile:
        import duckdb

        drawn = "" if self.sample is None else f" USING SAMPLE reservoir({self.sample} ROWS) REPEATABLE ({self.seed})"
        try:
            if drawn:
                connection.execute("SET threads = 1")  # the same draw every time
            connection.execute(f"CREATE TEMP TABLE taken AS SELECT * FROM {relation}{drawn}", values)
            described = connection.execute("DESCRIBE taken").fetchall()
            types = [str(column[1]) for column in described]
            columns = [str(column[0]) for column in described] if names is None else names
            frame = connection.execute("SELECT * FROM taken").df()
        except duckdb.OutOfMemoryException as error:
            raise InputError(
                f"{self.name} does not fit into memory: take a part of its rows, with --sample 100000."
            ) from error
        except duckdb.Error as error:
            raise self._refuse(error, names, values.get("delim")) from error
        if len(types) != len(columns):
            raise self._refuse(ValueError("its lines have other lengths than the header"), names, values.get("delim"))
        self._check_twice(columns)
        frame.columns = columns
        if len(frame) == 0:
            raise InputError(f"{self.name} has a header but no rows.")
        told = [*notes] if self.sample is None else [*notes, f"{len(frame):,} rows were drawn at random."]
        return _make_table(self.name, frame, dict(zip(columns, types, strict=True)), told)

    def _refuse(self, error: Exception, names: list[str] | None = None, delimiter: str | None = None) -> InputError:
        """Say in a sentence why DuckDB did not read a file."""
        if names is not None and delimiter is not None:
            found = find_fault(self.path, self.name, len(names), delimiter, is_packed=self.is_packed)
            if found is not None:
                return found
        if "max_line_size" in str(error):
            return InputError(f"{self.name} has a line of more than 2,000,000 bytes: shorten its texts.")
        first = str(error).strip().splitlines()[0]
        reason = re.sub(r"^[A-Z][A-Za-z ]*Error: ", "", first).replace(str(self.path), self.name).rstrip(". ")
        return InputError(f"{self.name} cannot be read: {reason}. Check the file, or name its --format.")


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


def _find_file(source: str | Path, room: Path) -> tuple[str, Path]:
    """What the table is called and where it is; standard input is put into a file first."""
    if str(source) == "-":
        if sys.stdin.isatty():
            raise InputError("Expected a table on standard input, but it is a terminal: pipe a file into it.")
        path = room / "stdin"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, CHUNK)
        return "standard input", path
    path = Path(source)
    name = os.fsencode(path).decode(errors="replace")  # a name of a file need not be text
    try:
        if path.is_dir():
            raise InputError(f"{path} is a directory: name a file in it.")
        if not path.exists():
            raise InputError(f"There is no file {source}.{_suggest_file(source)}")
        if not path.is_file():  # a pipe can be read once only
            copy = room / "pipe"
            with path.open("rb") as stream, copy.open("wb") as file:
                shutil.copyfileobj(stream, file, CHUNK)
            return name, copy
        with path.open("rb"):
            pass
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    return name, path


def _suggest_file(source: str | Path) -> str:
    from difflib import get_close_matches

    if "://" in str(source):
        return " Only files on this machine are read: download it first."
    path = Path(source)
    beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    close = get_close_matches(path.name, beside, n=1, cutoff=0.75)
    return f" Did you mean {path.parent / close[0]}?" if close else ""


def _read_head(path: Path, name: str) -> tuple[bytes, bool]:
    """The first bytes of a file, unpacked, and whether they were packed."""
    with path.open("rb") as file:
        head = file.read(CHUNK)
    if head[:2] != b"\x1f\x8b":
        return head, False
    try:
        with open_bytes(path, is_packed=True) as unpacked:
            return unpacked.read(CHUNK), True
    except UNPACKING_ERRORS as error:
        raise refuse_packed(name, error) from error


def _tell_format(head: bytes, name: str) -> str:
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1" or head[:4] == b"\xff\xff\xff\xff":
        return "arrow"
    other = next((what for magic, what in OTHER_FORMATS.items() if head.startswith(magic)), None)
    if other is not None:
        raise InputError(
            f"{name} is {other}: expected CSV, TSV, JSON lines, Parquet or Arrow, plain or with gzip. Save it as CSV."
        )
    is_wide = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    if not is_wide and b"\0" in head:
        raise InputError(f"{name} holds bytes that are no text: expected CSV, TSV, JSON lines, Parquet or Arrow.")
    return "json" if head.lstrip(BLANKS)[:1] in (b"{", b"[") else "csv"


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


def _as_utf8(path: Path, encoding: str | None, room: Path, name: str) -> Path:
    """The file itself, or a copy in UTF-8 of one that has another encoding."""
    if encoding is None:
        return path
    try:
        codec = codecs.lookup(encoding)
        "a".encode(encoding)  # refuses what is no encoding of text, such as rot13 and base64
    except (LookupError, ValueError):
        raise InputError(f"There is no encoding {encoding!r}: try utf-8, cp1252, latin-1 or utf-16.") from None
    if codec.name == "utf-8":
        return path
    copy = room / "utf8"
    is_packed = _read_head(path, name)[1]
    try:
        with (
            open_bytes(path, is_packed=is_packed) as file,
            codecs.getreader(encoding)(file) as reader,
            copy.open("w", encoding="utf-8", newline="") as target,
        ):
            shutil.copyfileobj(reader, target, CHUNK)
    except UnicodeError as error:
        raise InputError(f"{name} is not in {encoding}: {error}. Name another --encoding.") from error
    except UNPACKING_ERRORS as error:
        raise refuse_packed(name, error) from error
    return copy


def _escape_wildcards(path: Path, room: Path) -> Path:
    """A path that DuckDB takes for one file: ``*``, ``?`` and ``[`` are wildcards, and half a character is an error."""
    if not any(mark in "*?[" or "\ud800" <= mark <= "\udfff" for mark in str(path)):
        return path
    link = room / "table"
    try:
        os.symlink(path.resolve(), link)
    except OSError:  # where links are not allowed
        shutil.copyfile(path, link)
    return link


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
