"""Find what is wrong with a text file that DuckDB refused.

DuckDB's own ``store_rejects`` reports lines of another length, but neither a wrong encoding nor an open quote: on those
its sniffer gives up before it stores anything.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from secateur.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["UNPACKING_ERRORS", "check_packed", "find_fault", "long_fields", "open_bytes", "refuse_packed"]

# What gzip raises if a file is cut or damaged.
UNPACKING_ERRORS = (OSError, EOFError, zlib.error)
LONGEST_FIELD = (1 << 31) - 1


def find_fault(
    path: Path, name: str, *, is_packed: bool, delimiter: str | None = None, n_names: int = 0
) -> InputError | None:
    """Look for damage, another encoding and, with a delimiter, for open quotes and lines of another length."""
    line = b""

    def decode(file: IO[bytes]) -> Iterator[str]:
        nonlocal line
        for line in file:
            yield line.decode("utf-8-sig")

    try:
        with open_bytes(path, is_packed=is_packed) as file, long_fields():
            records: Any = decode(file)
            if delimiter is not None:
                records = csv.reader(records, delimiter=delimiter, strict=True)
            for fields in records:
                if delimiter is not None and fields and len(fields) != n_names:
                    return InputError(
                        f"Line {records.line_num} of {name} has {len(fields)} fields, but the header has {n_names} "
                        f"(separated by {delimiter!r}): repair the line, or quote texts that hold a separator."
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
        return refuse_packed(name, error)
    return None


def check_packed(path: Path, name: str) -> None:
    """Read a packed file to its end: DuckDB before 2.0 takes the rows of one that is cut for all of them."""
    try:
        with open_bytes(path, is_packed=True) as file:
            while file.read(1 << 20):
                pass
    except UNPACKING_ERRORS as error:
        raise refuse_packed(name, error) from error


def refuse_packed(name: str, error: Exception) -> InputError:
    """Say that a file is cut or damaged, or that the system refused to read it."""
    if isinstance(error, OSError) and error.strerror:
        return InputError(f"{name} cannot be read: {error.strerror}.")
    return InputError(f"{name} cannot be unpacked: {str(error).rstrip('.')}. Copy or download it again.")


@contextmanager
def long_fields() -> Iterator[None]:
    """Let Python's CSV reader take fields of any length; its own limit is 131,072 characters."""
    before = csv.field_size_limit(LONGEST_FIELD)
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
