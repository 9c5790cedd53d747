"""What is wrong with a file of text that could not be read: its encoding, its quotes, or a line of another length."""

from __future__ import annotations

import csv
import gzip
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from secateur.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "UNPACKING_ERRORS",
    "check_packed",
    "find_encoding_fault",
    "find_fault",
    "has_long_line",
    "long_fields",
    "open_bytes",
    "refuse_packed",
]

# What the library for gzip raises where a file is cut or damaged.
UNPACKING_ERRORS = (OSError, EOFError, zlib.error)
LONGEST_FIELD = (1 << 31) - 1


def find_fault(path: Path, name: str, n_names: int, delimiter: str, *, is_packed: bool) -> InputError | None:
    """Look for what is wrong with a CSV file that DuckDB refused: its encoding, or a line of another length."""
    try:
        with open_bytes(path, is_packed=is_packed) as file, long_fields():
            for line, fields in _read_records(file, delimiter):
                if fields and len(fields) != n_names:
                    return InputError(
                        f"Line {line} of {name} has {len(fields)} fields, but the header has {n_names} "
                        f"(separated by {delimiter!r}): repair the line, or quote texts that hold a separator."
                    )
    except UnicodeDecodeError:
        return find_encoding_fault(path, name, is_packed=is_packed)
    except csv.Error as error:
        return InputError(f"{name} cannot be read as CSV: {error}. Check its quotes.")
    except UNPACKING_ERRORS as error:
        return refuse_packed(name, error)
    return None


def find_encoding_fault(path: Path, name: str, *, is_packed: bool) -> InputError | None:
    """Whether a file is not in UTF-8, and what it may be in; or whether it cannot be unpacked."""
    line = b""
    try:
        with open_bytes(path, is_packed=is_packed) as file:
            for line in file:
                line.decode()
    except UnicodeDecodeError as error:
        guess = _guess_encoding(line)
        return InputError(
            f"{name} is not in UTF-8 (byte 0x{line[error.start]:02x}); it looks like {guess}: save it as UTF-8, "
            f"or pass --encoding {guess} on the command line."
        )
    except UNPACKING_ERRORS as error:
        return refuse_packed(name, error)
    return None


def has_long_line(path: Path, n_bytes: int, *, is_packed: bool) -> bool:
    """Whether a line of a file is longer than so many bytes."""
    try:
        with open_bytes(path, is_packed=is_packed) as file:
            return any(len(line) > n_bytes for line in file)
    except UNPACKING_ERRORS:
        return False


def check_packed(path: Path, name: str) -> None:
    """Read a packed file to its end: DuckDB before 2.0 takes the rows of one that is cut for all of them."""
    try:
        with open_bytes(path, is_packed=True) as file:
            while file.read(1 << 20):
                pass
    except UNPACKING_ERRORS as error:
        raise refuse_packed(name, error) from error


def refuse_packed(name: str, error: Exception) -> InputError:
    """Say that a file is cut or damaged, or what else kept the system from reading it."""
    if isinstance(error, OSError) and error.strerror:
        return InputError(f"{name} cannot be read: {error.strerror}.")
    return InputError(f"{name} cannot be unpacked: {str(error).rstrip('.')}. Copy or download it again.")


@contextmanager
def long_fields() -> Iterator[None]:
    """Let Python's reader of CSV take fields of any length; by itself it stops at 131,072 characters."""
    before = csv.field_size_limit(LONGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def open_bytes(path: Path, *, is_packed: bool) -> IO[bytes]:
    """Open a file, unpacked."""
    return gzip.GzipFile(path) if is_packed else path.open("rb")  # type: ignore[return-value]


def _read_records(file: IO[bytes], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a CSV file, each with the number of its last line."""
    reader = csv.reader((line.decode("utf-8-sig") for line in file), delimiter=delimiter, strict=True)
    for fields in reader:
        yield reader.line_num, fields


def _guess_encoding(line: bytes) -> str:
    if line[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    try:
        line.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"
