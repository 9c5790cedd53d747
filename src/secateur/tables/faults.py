"""What is wrong with a file of text that could not be read: its encoding, its quotes, or a line of another length."""

from __future__ import annotations

import csv
import gzip
from typing import IO, TYPE_CHECKING

from secateur.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["find_encoding_fault", "find_fault", "open_bytes"]


def find_fault(path: Path, name: str, n_names: int, delimiter: str, *, is_packed: bool) -> InputError | None:
    """Look for what is wrong with a CSV file that DuckDB refused: its encoding, or a line of another length."""
    try:
        with open_bytes(path, is_packed=is_packed) as file:
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
    return None


def find_encoding_fault(path: Path, name: str, *, is_packed: bool) -> InputError | None:
    """Whether a file is not in UTF-8, and what it may be in."""
    with open_bytes(path, is_packed=is_packed) as file:
        for line in file:
            try:
                line.decode()
            except UnicodeDecodeError as error:
                guess = _guess_encoding(line)
                return InputError(
                    f"{name} is not in UTF-8 (byte 0x{line[error.start]:02x}); it looks like {guess}: pass "
                    f"--encoding {guess}."
                )
    return None


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
