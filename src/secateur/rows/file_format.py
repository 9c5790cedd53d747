"""What a file of rows is, whether its first line holds names, and what is wrong with one that DuckDB rejected.

DuckDB's own ``store_rejects`` reports lines of another length, but neither a wrong encoding nor an open quote: on those
its sniffer gives up before it stores anything.

A name differs from the values below it: a word over numbers, a word that no row repeats, or a year over numbers that
are none. A first line that looks like any other is one.
"""

import codecs
import csv
import gzip
import os
import re
import shutil
import sys
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from secateur.errors import InputError
from secateur.limits import MAX_INPUT, MAX_LINE
from secateur.rows.file_bytes import CHUNK, check_ends, check_growth, copy_stream, open_file

FORMATS = ("csv", "tsv", "json", "parquet", "arrow")
BLANKS = b"\xef\xbb\xbf \t\r\n"  # what may precede JSON or XML: UTF-8's byte order mark, and blanks
HEAD = 1 << 20  # bytes that are looked at to tell the format and the columns
MARKUP = re.compile(rb"<(!doctype|!--|html|head|body|table|\?xml|svg|pmml)\b", re.IGNORECASE)
OWN_JSON = re.compile(rb'\{\s*"format":\s*"secateur-')
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


def find_file(source: str | os.PathLike[str], room: Path) -> tuple[str, Path]:
    """Find a table's name and path; copy standard input or a pipe, which can be read only once, into ``room``.

    The path is absolute and without links: DuckDB would look for ``~/x.csv`` at home, and for ``file:/x.csv`` at the
    root.
    """
    if str(source) == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise InputError("Expected a table on standard input, but nothing is piped into it: pipe a file into it.")
        check_ends(sys.stdin.buffer, "standard input")
        return "standard input", copy_stream(sys.stdin.buffer, room / "stdin", "standard input")
    path = Path(os.path.realpath(source))  # not abspath, which takes link/.. for nothing
    name = os.fsencode(source).decode(errors="replace")  # a file's name need not be text
    with open_file(source, takes_pipes=True) as stream:
        return name, path if path.is_file() else copy_stream(stream, room / "pipe", name)


def read_head(path: Path, name: str) -> tuple[bytes, bool]:
    """Read the first bytes of a file, unpacked, and tell whether they were packed."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    if head[:2] != b"\x1f\x8b":
        return head, False
    try:
        with open_bytes(path, is_packed=True) as unpacked:
            return unpacked.read(HEAD), True
    except UNPACKING_ERRORS as error:
        raise unpacking_error(name, error) from error


def find_format(head: bytes, name: str) -> str:
    """Tell a file's format by its first bytes."""
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1" or head[:4] == b"\xff\xff\xff\xff":
        return "arrow"
    other = next((what for magic, what in OTHER_FORMATS.items() if head.startswith(magic)), None)
    if other is not None:
        raise InputError(
            f"{name} is {other}: expected CSV, TSV, JSON lines, Parquet or Arrow, plain or with gzip. Save it as CSV."
        )
    start = head.lstrip(BLANKS)
    if MARKUP.match(start):
        raise InputError(f"{name} is a web page or another XML file: expected a table. Save it as CSV.")
    if OWN_JSON.match(start):
        raise InputError(
            f"{name} holds a tree or rules of secateur, not a table: name the table. Rules are read by explain, audit, "
            "verify, export and report."
        )
    is_wide = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    if not is_wide and b"\0" in head:
        raise InputError(f"{name} holds bytes that are not text: expected CSV, TSV, JSON lines, Parquet or Arrow.")
    return "json" if start[:1] in (b"{", b"[") else "csv"


def as_utf8(path: Path, encoding: str | None, room: Path, name: str) -> Path:
    """Copy a file of another encoding to UTF-8: DuckDB knows only UTF-16 and Latin-1 without an extension."""
    if encoding is None:
        return path
    try:
        codec = codecs.lookup(encoding)
        "a".encode(encoding)  # rejects what does not encode text, such as rot13 and base64
    except (LookupError, ValueError):
        raise InputError(f"There is no encoding {encoding!r}: try utf-8, cp1252, latin-1 or utf-16.") from None
    if codec.name == "utf-8":
        return path
    copy = room / "utf8"
    is_packed = read_head(path, name)[1]
    try:
        with (
            open_bytes(path, is_packed=is_packed) as file,
            codecs.getreader(encoding)(file) as reader,
            copy.open("w", encoding="utf-8", newline="") as target,
        ):
            left = MAX_INPUT.value
            while text := reader.read(CHUNK):
                left -= len(text)
                if left < 0:
                    raise InputError(
                        f"{name} holds more than {MAX_INPUT.told}, which is as much as is copied from another "
                        f"encoding: save it as UTF-8, or {MAX_INPUT.advise()}."
                    )
                target.write(text)
    except UnicodeError as error:
        raise InputError(f"{name} is not in {encoding}: {error}. Name another --encoding.") from error
    except UNPACKING_ERRORS as error:
        raise unpacking_error(name, error) from error
    return copy


def escape_wildcards(path: Path, room: Path) -> Path:
    """Link to a file whose name DuckDB would misread: ``*``, ``?`` and ``[`` are wildcards, surrogates are errors."""
    if not any(mark in "*?[" or "\ud800" <= mark <= "\udfff" for mark in str(path)):
        return path
    link = room / "table"
    link.unlink(missing_ok=True)  # from an earlier look at the same file
    try:
        os.symlink(path.resolve(), link)
    except OSError:  # where links are not allowed
        shutil.copyfile(path, link)
    return link


# What gzip raises if a file is cut or damaged.
UNPACKING_ERRORS = (OSError, EOFError, zlib.error)


def find_fault(
    path: Path, name: str, *, is_packed: bool, delimiter: str | None = None, n_names: int = 0
) -> InputError | None:
    """Look for damage, another encoding and, with a delimiter, for open quotes and lines of another length."""
    line = b""

    def decode(file: IO[bytes]) -> Iterator[str]:
        nonlocal line
        decoder = codecs.getincrementaldecoder("utf-8-sig")()  # a line may come in parts
        while line := file.readline(longest + 1):
            if delimiter is not None and len(line) > longest:
                raise _LongLineError
            yield decoder.decode(line)

    longest = MAX_LINE.value
    try:
        with open_bytes(path, is_packed=is_packed) as file, long_fields():
            records: Any = decode(file)
            if delimiter is not None:
                records = csv.reader(records, delimiter=delimiter, strict=True)
            for fields in records:
                if delimiter is not None and fields and len(fields) != n_names:
                    found = f"{len(fields)} field{'s' * (len(fields) != 1)}"
                    return InputError(
                        f"Line {records.line_num} of {name} has {found}, but the header has {n_names} "
                        f"(separated by {delimiter!r}): repair the line, or quote texts that hold a separator."
                    )
    except _LongLineError:
        return InputError(
            f"{name} has a line of more than {longest:,} bytes: shorten its texts, or {MAX_LINE.advise()}."
        )
    except UnicodeDecodeError as error:
        guess = _guess_encoding(line)
        return InputError(
            f"{name} is not in UTF-8 (byte 0x{error.object[error.start]:02x}); it looks like {guess}: save it as "
            f"UTF-8, or pass --encoding {guess} on the command line."
        )
    except csv.Error as error:
        return InputError(f"{name} cannot be read as CSV: {error}. Check its quotes.")
    except UNPACKING_ERRORS as error:
        return unpacking_error(name, error)
    return None


class _LongLineError(Exception):
    """A line of a CSV file is longer than DuckDB takes."""


def check_packed(path: Path, name: str) -> int:
    """Read a packed file to its end, and tell the bytes that it holds; reject one that holds far more than it takes.

    DuckDB before 2.0 would take the rows of one that is cut for all of them.
    """
    size = path.stat().st_size
    total = 0
    try:
        with open_bytes(path, is_packed=True) as file:
            while n_read := len(file.read(CHUNK)):
                total += n_read
                check_growth(name, size, total)
    except UNPACKING_ERRORS as error:
        raise unpacking_error(name, error) from error
    return total


def unpacking_error(name: str, error: Exception) -> InputError:
    """Say that a file is cut or damaged, or that the system rejected to read it."""
    if isinstance(error, OSError) and error.strerror:
        return InputError(f"{name} cannot be read: {error.strerror}.")
    return InputError(f"{name} cannot be unpacked: {str(error).rstrip('.')}. Copy or download it again.")


@contextmanager
def long_fields() -> Iterator[None]:
    """Let Python's CSV reader take fields as long as a line may be; its own limit is 131,072 characters."""
    before = csv.field_size_limit(MAX_LINE.value)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def open_bytes(path: Path, *, is_packed: bool) -> IO[bytes]:
    """Open a file, unpacked."""
    return gzip.GzipFile(path) if is_packed else path.open("rb")  # type: ignore[return-value]


def _guess_encoding(line: bytes) -> str:
    if line[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    try:
        line.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


LOOKED_AT = 1_000  # lines
YEAR = re.compile("(19|20)[0-9]{2}")
DIGITS = frozenset("0123456789")
MARKS = frozenset("+-.,:/%$€£ eET'")


def has_header(text: str, delimiter: str, missing: Collection[str] = ()) -> bool:
    r"""Tell whether the first of some lines holds names; ``missing`` are texts that mean a blank.

    Examples
    --------
    >>> has_header("age,ward\n34,A\n51,B\n", ",")
    True
    >>> has_header("34,A\n51,B\n27,A\n", ",")
    False
    >>> has_header("country,2019,2020\nPeru,1,2\nChile,3,4\n", ",")
    True
    """
    lines = text.lstrip("\r\n").splitlines(keepends=True)[: LOOKED_AT + 1]
    with long_fields():
        try:
            first, *rest = [
                [field.strip() for field in line] for line in csv.reader(lines, delimiter=delimiter) if line
            ]
        except csv.Error:
            return True  # the reading itself says what is wrong
    if len(lines) <= LOOKED_AT and not text.endswith(("\n", "\r")) and len(rest) > 1:
        rest = rest[:-1]  # the bytes that were looked at may end within a line
    if not rest:
        return not all(_is_number(field) for field in first)
    n_words, n_repeated, numbers, n_years = 0, 0, [], 0
    for place, name in enumerate(first):
        below = [line[place] for line in rest if place < len(line) and line[place] not in missing]
        if not below or name in missing:
            continue
        are_numbers = all(map(_is_number, below))
        if are_numbers and not _is_number(name):
            return True  # a word over numbers is a name
        if are_numbers:
            numbers.append(name)
            n_years += YEAR.fullmatch(name) is not None and not any(map(YEAR.fullmatch, below))
        elif 2 * len(set(below)) <= len(below):  # else a value need not come twice
            n_words += 1
            n_repeated += name in below
    if n_words:
        return 2 * n_repeated < n_words
    return n_years == len(numbers) == len(set(numbers))


def _is_number(field: str) -> bool:
    """Whether a field is a number, an amount or a date: it has digits, and nothing but marks beside them."""
    return bool(field) and not DIGITS.isdisjoint(field) and all(sign in DIGITS or sign in MARKS for sign in field)
