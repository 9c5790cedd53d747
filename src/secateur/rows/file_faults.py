"""Find what is wrong with a text file that DuckDB rejected.

DuckDB's own ``store_rejects`` reports lines of another length, but neither a wrong encoding nor an open quote: on those
its sniffer gives up before it stores anything.
"""

import codecs
import csv
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from secateur.errors import InputError
from secateur.limits import MAX_LINE
from secateur.rows.packed_bytes import check_growth
from secateur.rows.regular_files import CHUNK

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
