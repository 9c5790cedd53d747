"""The bytes of a file: of regular files only, up to a limit, packed or not; and what a file of rows is.

DuckDB's own ``store_rejects`` reports lines of another length, but neither a wrong encoding nor an open quote: on those
its sniffer gives up before it stores anything. So :func:`find_fault` looks itself.
"""

import codecs
import csv
import errno
import gzip
import io
import os
import re
import shutil
import stat
import sys
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from secateur import limits
from secateur.errors import FormatError, InputError, did_you_mean

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


def read_whole(source: str | os.PathLike[str], limit: limits.Limit = limits.MAX_MODEL) -> bytes:
    """Read a file that must be in memory at once, unless it is too large."""
    with open_file(source) as file:
        size = os.fstat(file.fileno()).st_size
        content = b"" if size > limit.value else file.read(limit.value + 1)  # it may grow meanwhile
        if max(size, len(content)) > limit.value:
            raise InputError(
                f"{source} has {limits.format_bytes(max(size, len(content)))}, and at most {limit.told} are read of "
                f"such a file: {limit.advise(size)}."
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
    left = limits.MAX_INPUT.value
    with path.open("wb") as file:
        while chunk := stream.read(CHUNK):
            left -= len(chunk)
            if left < 0:
                raise InputError(
                    f"{name} gives more than {limits.MAX_INPUT.told}, which is as much as is copied of it: save it as "
                    f"a file, or {limits.MAX_INPUT.advise()}."
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
    """Pack bytes, equal ones always alike."""
    return gzip.compress(content, mtime=0)


def peek(content: bytes, n_bytes: int = 64) -> bytes:
    """Unpack the first bytes; nothing where they are damaged."""
    try:
        return zlib.decompressobj(WITH_GZIP).decompress(content, n_bytes)
    except zlib.error:
        return b""


def unpack(content: bytes, source: str | os.PathLike[str], limit: limits.Limit = limits.MAX_MODEL) -> bytes:
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
            f"{name} has {limits.format_bytes(size)} and unpacks to more than {limits.format_bytes(most)}, and at most "
            f"{limits.MAX_GROWTH.told} times its size is taken: unpack it yourself, or {limits.MAX_GROWTH.advise()}."
        )


def _most_unpacked(size: int) -> int:
    return max(SMALL, size * limits.MAX_GROWTH.value)


def check_zip_size(content: bytes, name: str, parsed: str = "") -> None:
    """Reject a zip file that holds too much, also once its ``parsed`` part of JSON is read."""
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        total = sum(part.file_size for part in packed.infolist())
        if total > limits.MAX_MODEL.value:
            raise FormatError(
                f"{name} unpacks to {limits.format_bytes(total)}, and at most {limits.MAX_MODEL.told} are read of such "
                f"a file: {limits.MAX_MODEL.advise(total)}."
            )
        check_growth(name, len(content), total)
        if parsed:
            limits.check_parsed_size(packed.read(parsed), limits.JSON_MARKS, name)


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
            left = limits.MAX_INPUT.value
            while text := reader.read(CHUNK):
                left -= len(text)
                if left < 0:
                    raise InputError(
                        f"{name} holds more than {limits.MAX_INPUT.told}, which is as much as is copied from another "
                        f"encoding: save it as UTF-8, or {limits.MAX_INPUT.advise()}."
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


UNPACKING_ERRORS = (OSError, EOFError, zlib.error)  # what gzip raises if a file is cut or damaged


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

    longest = limits.MAX_LINE.value
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
            f"{name} has a line of more than {longest:,} bytes: shorten its texts, or {limits.MAX_LINE.advise()}."
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
    """Read a packed file to its end and count its bytes: DuckDB before 2.0 would take a cut one for whole."""
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
    before = csv.field_size_limit(limits.MAX_LINE.value)
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
    """Tell whether the first of some lines holds names; ``missing`` are texts that mean a blank."""
    lines = text.lstrip("\r\n").splitlines(keepends=True)[: LOOKED_AT + 1]
    with long_fields():
        try:
            first, *rest = [[cell.strip() for cell in line] for line in csv.reader(lines, delimiter=delimiter) if line]
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
