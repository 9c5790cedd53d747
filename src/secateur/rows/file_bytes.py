"""The bytes of a file: of regular files only, up to a limit, packed with gzip or not."""

import errno
import gzip
import io
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO

from secateur.errors import FormatError, InputError, did_you_mean
from secateur.limits import JSON_MARKS, MAX_GROWTH, MAX_INPUT, MAX_MODEL, Limit, check_parsed_size, format_bytes

CHUNK = 1 << 20
# Pipes that the shell opened for us, as in `secateur simplify <(zcat loans.csv.gz)`: somebody holds the other end.
OPEN_PIPES = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
KINDS = {
    stat.S_IFIFO: "a named pipe, whose other end may never be opened",
    stat.S_IFCHR: "a device, which may never end",
    stat.S_IFBLK: "a disk",
    stat.S_IFSOCK: "a socket",
}


@contextmanager
def open_file(source: str | os.PathLike[str], *, takes_pipes: bool = False) -> Iterator[IO[bytes]]:
    """Open a file, or say in a sentence why it cannot be read; with ``takes_pipes`` also a pipe that is open."""
    path = Path(source)
    if "\0" in str(path):
        raise InputError(f"There is no file {str(path)!r}: a path holds no null character.")
    try:
        if path.is_dir():
            raise InputError(f"{path} is a directory: name a file in it.")
        if not path.exists():
            raise InputError(f"There is no file {source}.{_suggest_file(path)}")
        # Without this flag a pipe that nobody writes to would hold us here for ever.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                if not (takes_pipes and stat.S_ISFIFO(mode) and str(path).startswith(OPEN_PIPES)):
                    raise _make_kind_error(path, mode, takes_pipes)
                os.set_blocking(file.fileno(), True)
            yield file
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, which cannot be opened at all
            raise _make_kind_error(path, stat.S_IFSOCK, takes_pipes) from None
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def read_whole(source: str | os.PathLike[str], limit: Limit = MAX_MODEL) -> bytes:
    """Read a file that must be in memory at once, unless it is too large."""
    with open_file(source) as file:
        size = os.fstat(file.fileno()).st_size
        content = b"" if size > limit.value else file.read(limit.value + 1)  # it may grow meanwhile
        if max(size, len(content)) > limit.value:
            raise InputError(
                f"{source} has {format_bytes(max(size, len(content)))}, and at most {limit.told} are read of such a "
                f"file: {limit.advise(size)}."
            )
    return content


def check_ends(stream: IO[bytes], name: str) -> None:
    """Reject a stream from a device that gives anything, for it may never end."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except OSError:  # a stream of Python
        return
    if stat.S_ISCHR(mode) and stream.read(1):  # /dev/null gives nothing
        raise InputError(f"{name} is {KINDS[stat.S_IFCHR]}: pipe a file into it.")


def copy_stream(stream: IO[bytes], path: Path, name: str) -> Path:
    """Copy what can be read only once, unless it does not end."""
    left = MAX_INPUT.value
    with path.open("wb") as file:
        while chunk := stream.read(CHUNK):
            left -= len(chunk)
            if left < 0:
                raise InputError(
                    f"{name} gives more than {MAX_INPUT.told}, which is as much as is copied of it: save it as a file, "
                    f"or {MAX_INPUT.advise()}."
                )
            file.write(chunk)
    return path


def _make_kind_error(path: Path, mode: int, takes_pipes: bool) -> InputError:
    kind = KINDS.get(stat.S_IFMT(mode), "no regular file")
    hint = " What another program writes can be piped into standard input, which is named -." if takes_pipes else ""
    return InputError(f"{path} is {kind}: expected a file.{hint}")


def _suggest_file(path: Path) -> str:
    if "://" in str(path) or ":/" in str(path):
        return " Only files on this machine are read: download it first."
    beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    return did_you_mean(path.name, beside, cutoff=0.75)


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
