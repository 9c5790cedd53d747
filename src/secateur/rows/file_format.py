"""Find a file, tell its format by its first bytes, and bring its text to UTF-8."""

import codecs
import os
import re
import shutil
import sys
from pathlib import Path

from secateur.errors import InputError
from secateur.limits import MAX_INPUT
from secateur.rows.file_faults import UNPACKING_ERRORS, open_bytes, unpacking_error
from secateur.rows.regular_files import CHUNK, check_ends, copy_stream, open_file

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
