"""Find a file, tell its format by its first bytes, and bring its text to UTF-8."""

from __future__ import annotations

import codecs
import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from secateur.errors import InputError, did_you_mean
from secateur.rows.file_faults import UNPACKING_ERRORS, open_bytes, refuse_packed

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FORMATS", "as_utf8", "escape_wildcards", "find_file", "open_file", "read_head", "tell_format"]

FORMATS = ("csv", "tsv", "json", "parquet", "arrow")
BLANKS = b"\xef\xbb\xbf \t\r\n"  # what may precede JSON or XML: UTF-8's byte order mark, and blanks
CHUNK = 1 << 20
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


def find_file(source: str | Path, room: Path) -> tuple[str, Path]:
    """Find a table's name and path; copy standard input or a pipe, which can be read only once, into ``room``."""
    if str(source) == "-":
        if sys.stdin.isatty():
            raise InputError("Expected a table on standard input, but it is a terminal: pipe a file into it.")
        return "standard input", _copy(sys.stdin.buffer, room / "stdin")
    path = Path(source)
    name = os.fsencode(path).decode(errors="replace")  # a file's name need not be text
    with open_file(source) as stream:
        return name, path if path.is_file() else _copy(stream, room / "pipe")


@contextmanager
def open_file(source: str | Path) -> Iterator[IO[bytes]]:
    """Open a file, or say in a sentence why it cannot be read."""
    path = Path(source)
    try:
        if path.is_dir():
            raise InputError(f"{path} is a directory: name a file in it.")
        if not path.exists():
            raise InputError(f"There is no file {source}.{_suggest_file(source)}")
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error


def _copy(stream: IO[bytes], path: Path) -> Path:
    with path.open("wb") as file:
        shutil.copyfileobj(stream, file, CHUNK)
    return path


def _suggest_file(source: str | Path) -> str:
    if "://" in str(source):
        return " Only files on this machine are read: download it first."
    path = Path(source)
    beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    return did_you_mean(path.name, beside, cutoff=0.75)


def read_head(path: Path, name: str) -> tuple[bytes, bool]:
    """Read the first bytes of a file, unpacked, and tell whether they were packed."""
    with path.open("rb") as file:
        head = file.read(CHUNK)
    if head[:2] != b"\x1f\x8b":
        return head, False
    try:
        with open_bytes(path, is_packed=True) as unpacked:
            return unpacked.read(CHUNK), True
    except UNPACKING_ERRORS as error:
        raise refuse_packed(name, error) from error


def tell_format(head: bytes, name: str) -> str:
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
    is_wide = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    if not is_wide and b"\0" in head:
        raise InputError(f"{name} holds bytes that are not text: expected CSV, TSV, JSON lines, Parquet or Arrow.")
    return "json" if head.lstrip(BLANKS)[:1] in (b"{", b"[") else "csv"


def as_utf8(path: Path, encoding: str | None, room: Path, name: str) -> Path:
    """Copy a file of another encoding to UTF-8: DuckDB knows only UTF-16 and Latin-1 without an extension."""
    if encoding is None:
        return path
    try:
        codec = codecs.lookup(encoding)
        "a".encode(encoding)  # refuses what does not encode text, such as rot13 and base64
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
            shutil.copyfileobj(reader, target, CHUNK)
    except UnicodeError as error:
        raise InputError(f"{name} is not in {encoding}: {error}. Name another --encoding.") from error
    except UNPACKING_ERRORS as error:
        raise refuse_packed(name, error) from error
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
