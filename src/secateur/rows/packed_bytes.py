"""Pack bytes with gzip, and unpack gzip and zip up to a limit: a small file can hold a very large one."""

import gzip
import io
import os
import zipfile
import zlib
from io import BytesIO

from secateur.errors import FormatError, InputError
from secateur.limits import JSON_MARKS, MAX_GROWTH, MAX_MODEL, Limit, check_parsed_size, format_bytes

MAGIC = b"\x1f\x8b"
ENDING = ".gz"
SMALL = 256 << 20  # bytes that any packed file may unpack to
WITH_GZIP = 31  # for zlib: a gzip header, and the largest window


def has_packed_name(path: str | os.PathLike[str]) -> bool:
    """Whether a file's name says that it is packed."""
    return str(path).lower().endswith(ENDING)


def is_packed(content: bytes) -> bool:
    """Whether bytes begin as gzip's do."""
    return content.startswith(MAGIC)


def pack(content: bytes) -> bytes:
    """Pack bytes, equal ones always alike.

    Examples
    --------
    >>> unpack(pack(b"rules"), "rules.json.gz")
    b'rules'
    """
    return gzip.compress(content, mtime=0)


def peek(content: bytes, n_bytes: int = 64) -> bytes:
    """Unpack the first bytes; nothing where they are damaged."""
    try:
        return zlib.decompressobj(WITH_GZIP).decompress(content, n_bytes)
    except zlib.error:
        return b""


def unpack(content: bytes, source: str | os.PathLike[str], limit: Limit = MAX_MODEL) -> bytes:
    """Unpack bytes, unless they become too many or are damaged."""
    try:
        with gzip.GzipFile(fileobj=BytesIO(content)) as file:  # many small members in a row take no longer than one
            unpacked = file.read(min(limit.value, _most_unpacked(len(content))) + 1)
    except EOFError:
        raise InputError(f"{source} is no whole gzip file: it was cut. Write it again.") from None
    except (OSError, zlib.error):
        raise InputError(f"{source} is no whole gzip file: it was damaged. Write it again.") from None
    if len(unpacked) > limit.value:
        raise InputError(
            f"{source} unpacks to more than {limit.told}, and no more is read of such a file: {limit.advise()}."
        )
    check_growth(str(source), len(content), len(unpacked))
    return unpacked


def check_growth(name: str, size: int, unpacked: int) -> None:
    """Reject a packed file that holds far more than it takes."""
    most = _most_unpacked(size)
    if unpacked > most:
        raise InputError(
            f"{name} has {format_bytes(size)} and unpacks to more than {format_bytes(most)}, and at most "
            f"{MAX_GROWTH.told} times its size is taken: unpack it yourself, or {MAX_GROWTH.advise()}."
        )


def _most_unpacked(size: int) -> int:
    return max(SMALL, size * MAX_GROWTH.value)


def check_zip_size(content: bytes, name: str, parsed: str = "") -> None:
    """Reject a zip file that holds too much, also once its ``parsed`` part of JSON is read.

    Python unpacks no more of a part than the file's list says.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        total = sum(part.file_size for part in packed.infolist())
        if total > MAX_MODEL.value:
            raise FormatError(
                f"{name} unpacks to {format_bytes(total)}, and at most {MAX_MODEL.told} are read of such a file: "
                f"{MAX_MODEL.advise(total)}."
            )
        check_growth(name, len(content), total)
        if parsed:
            check_parsed_size(packed.read(parsed), JSON_MARKS, name)
