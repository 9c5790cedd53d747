"""Tables that are read as record batches; those of Arrow and polars.

In an Arrow file nothing is believed before it is checked: Arrow takes the lengths and offsets there for true, and a
wrong one ends the process. So each batch is validated before anybody looks into it, and its size is asked of the file
before it is unpacked. Files are not memory-mapped: one that is cut short meanwhile would end the process, too.
"""

from __future__ import annotations

import os
import re
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from secateur.errors import InputError, did_you_mean, first_line, shorten
from secateur.limits import MAX_MEMORY, format_bytes
from secateur.rows.encoding import read_features
from secateur.tree.tree import Tree

AHEAD = 2  # batches that a dataset may read ahead: its own choice takes a gigabyte

# Large enough that work once a batch costs nothing, small enough that a few batches are a few megabytes.
BATCH_ROWS = 1 << 18


@dataclass(frozen=True)
class Source:
    """A table that can be read as record batches.

    ``read(columns)`` yields batches of the named columns, in the order of the rows. ``look(columns)`` gives the first
    batch of a table that can be read only once, without using it up.
    """

    name: str  # in messages
    schema: Any  # of Arrow
    n_rows: int | None  # where it is known beforehand
    is_once: bool  # whether it can be read only once
    read: Callable[[Sequence[str]], Iterator[Any]] = field(repr=False)
    look: Callable[[Sequence[str]], Any] | None = field(default=None, repr=False)

    def peek(self, columns: Sequence[str]) -> Any:
        """Read the first batch of some columns, if there is one."""
        return next(self.read(columns), None) if self.look is None else self.look(columns)

    @property
    def inner_name(self) -> str:
        """The name inside a sentence."""
        return "the" + self.name.removeprefix("The") if self.name.startswith("The ") else self.name

    def make_empty_error(self) -> InputError:
        """Say that the table has no rows."""
        hint = " A reader can be read only once." if self.is_once else ""
        return InputError(f"{self.name} has no rows; at least one is needed.{hint}")

    def without_blanks(self, column: str, skipped: Counter[str]) -> Source:
        """Leave out rows with a blank in a column, and count them under its name."""

        def read(columns: Sequence[str]) -> Iterator[Any]:
            skipped[column] = 0
            for batch in self.read(columns):
                kept = batch.filter(batch.column(column).is_valid()) if column in columns else batch
                skipped[column] += batch.num_rows - kept.num_rows
                yield kept

        return replace(self, read=read)

    def as_floats(self, beside: str) -> Source:
        """Read whole numbers and truth values as floats, except in one column."""
        import pyarrow as pa

        def to_float(field: Any) -> Any:
            is_whole = pa.types.is_integer(field.type) or pa.types.is_boolean(field.type)
            return field.with_type(pa.float64()) if is_whole and field.name != beside else field

        schema = pa.schema(map(to_float, self.schema))

        def read(columns: Sequence[str]) -> Iterator[Any]:
            wanted = pa.schema([schema.field(column) for column in columns])
            for batch in self.read(columns):
                cast = [column.cast(field.type) for column, field in zip(batch.columns, wanted, strict=True)]
                yield pa.RecordBatch.from_arrays(cast, schema=wanted)

        return replace(self, schema=schema, read=read)

    def find(self, column: str, what: str) -> str:
        """Find a column, or say which one may be meant."""
        if column in self.schema.names:
            return column
        hint = did_you_mean(column, self.schema.names) or f" Its columns are {shorten(self.schema.names)}."
        raise InputError(f"{self.name} has no column {column!r}, which {what}.{hint}")


def cut(batch: Any) -> Iterator[Any]:
    """Cut a batch that may be too large."""
    for first in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(first, BATCH_ROWS)


def open_dataset(dataset: Any) -> Source:
    """Open a pyarrow Dataset."""

    def read(columns: Sequence[str]) -> Iterator[Any]:
        with translate_errors("The dataset"):
            sizes = {"batch_size": BATCH_ROWS, "batch_readahead": AHEAD, "fragment_readahead": 1}
            yield from checked(dataset.to_batches(columns=list(columns), **sizes))

    return Source("The dataset", dataset.schema, None, False, read)


def open_reader(stream: Any) -> Source:
    """Open a pyarrow RecordBatchReader, or anything with Arrow's stream interface."""
    import pyarrow as pa

    with translate_errors("The reader"):
        reader = stream if isinstance(stream, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(stream)
    waiting: list[Any] = []

    def read(columns: Sequence[str]) -> Iterator[Any]:
        with translate_errors("The reader"):
            for batch in checked(batch.select(columns) for batch in chain(waiting, reader)):
                yield from cut(batch)

    def look(columns: Sequence[str]) -> Any:
        with translate_errors("The reader"):
            waiting.extend(checked(islice(reader, 0 if waiting else 1)))
        return waiting[0].select(columns) if waiting else None

    return Source("The reader", reader.schema, None, True, read, look)


def open_lazy_frame(frame: Any) -> Source:
    """Open a polars LazyFrame."""
    import polars as pl
    import polars.selectors

    def read(columns: Sequence[str]) -> Iterator[Any]:
        # Older releases of polars take a name for a pattern, even in by_name().
        chosen = frame.select(pl.selectors.matches(f"^(?:{'|'.join(map(re.escape, columns))})$"))
        with translate_errors("The LazyFrame", pl.exceptions.PolarsError):
            # Older releases of polars have no batches: they read the chosen columns at once.
            parts = chosen.collect_batches() if hasattr(chosen, "collect_batches") else [chosen.collect()]
            for part in parts:
                yield from part.to_arrow().select(list(columns)).to_batches(BATCH_ROWS)

    with translate_errors("The LazyFrame", pl.exceptions.PolarsError):
        empty = frame.limit(0).collect()
    return Source("The LazyFrame", empty.to_arrow().schema, None, False, read)


@contextmanager
def translate_errors(name: str, *kinds: type[Exception]) -> Iterator[None]:
    """Turn an error of Arrow or another library into a sentence."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException, *kinds) as error:
        raise InputError(f"{name} cannot be read: {first_line(error)}.") from error


def fit_tree_to(tree: Tree, source: Source, beside: Sequence[str], features: Collection[int] | None = None) -> Tree:
    """Name a tree's columns as a table does, but for those ``beside``; check that it has the ``features`` to read."""
    if tree.feature_names is None:
        rest = [name for name in source.schema.names if name not in beside]
        if len(rest) != tree.n_features:
            raise InputError(
                f"The tree was fitted on {tree.n_features} columns without names, but {source.name} has {len(rest)} "
                f"beside {' and '.join(map(repr, beside)) or 'nothing'} ({shorten(rest)}): pass feature_names."
            )
        tree = replace(tree, feature_names=tuple(rest))
    names = tree.feature_names or ()
    for feature in read_features(tree, features):
        if source.find(names[feature], "the tree was fitted on") in beside:
            raise InputError(
                f"The column {names[feature]!r} of {source.name} cannot be both the tree's and the labels or weights."
            )
    return tree


def find_beside(source: Source, name: Any, what: str) -> str | None:
    """Find the column that the caller named for labels or weights, if any."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise InputError(f"Expected {what} as the name of a column of the table, found {type(name).__name__}.")
    return source.find(name, f"{what} names")


MAGIC = b"ARROW1"
CONTINUATION = b"\xff\xff\xff\xff"
# Numbers of fields in Arrow's Message.fbs and File.fbs.
MESSAGE_TYPE, MESSAGE_HEADER, MESSAGE_BODY = 1, 2, 3
DICTIONARY, BATCH = 2, 3  # types of messages
DICTIONARY_DATA, BATCH_BUFFERS, BATCH_COMPRESSION = 1, 2, 3
FOOTER_DICTIONARIES, FOOTER_BATCHES = 2, 3
BLOCK_BYTES, BUFFER_BYTES = 24, 16
NOT_PACKED = -1


def checked(batches: Any) -> Iterator[Any]:
    """Validate record batches, one after the other: offsets, codes of categories and UTF-8."""
    for batch in batches:
        batch.validate(full=True)
        yield batch


@contextmanager
def open_arrow(path: Path, name: str, columns: Sequence[str] | None = None) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Open an Arrow file or stream: give its schema, without pandas' own notes, and its batches of ``columns``."""
    import pyarrow as pa

    size = max(measure_arrow(path, name), default=0)
    if size > MAX_MEMORY.value:
        raise InputError(
            f"A batch of {name} takes {format_bytes(size)}, and at most {MAX_MEMORY.told} are taken into memory at "
            f"once: write the file with smaller batches, or {MAX_MEMORY.advise(size)}."
        )
    with pa.OSFile(str(path)) as file:
        is_file = file.read(len(MAGIC)) == MAGIC

        def open_reader(options: Any = None) -> Any:
            file.seek(0)
            return (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file, options=options)

        reader = open_reader()
        schema = reader.schema.remove_metadata()
        if columns is not None:
            places = sorted(schema.get_field_index(column) for column in columns)
            reader = open_reader(pa.ipc.IpcReadOptions(included_fields=places))  # the others are not even read

        def read() -> Iterator[Any]:
            for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
                plain = batch.replace_schema_metadata(None)
                yield plain if columns is None else plain.select(list(columns))

        yield schema, checked(read())


def measure_arrow(path: Path, name: str) -> list[int]:
    """Tell the bytes that each message of an Arrow file takes, unpacked, without unpacking any."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            return [_measure(file, size, *found) for found in _list_messages(file, size)]
    except (struct.error, ValueError, OverflowError) as error:
        raise InputError(
            f"{name} cannot be read: it is no Arrow file, or it is damaged. Copy it or write it again."
        ) from error


def _list_messages(file: IO[bytes], size: int) -> Iterator[tuple[int, bytes]]:
    """List the messages of a file that hold rows: where each begins, and its metadata."""
    if file.read(len(MAGIC)) == MAGIC:
        file.seek(size - 10)
        (length,) = struct.unpack("<i", file.read(4))
        if not 0 < length <= size - 10:
            raise ValueError("a footer of no length")
        file.seek(size - 10 - length)
        footer = _Table.root(file.read(length))
        for field in (FOOTER_DICTIONARIES, FOOTER_BATCHES):
            for offset, _, _ in footer.structs(field, BLOCK_BYTES, "<qixxxxq"):
                yield from _read_metadata(file, offset, size)
        return
    offset = 0
    while offset < size:
        found = list(_read_metadata(file, offset, size))
        if not found:
            return  # the mark of the end
        yield from found
        start, metadata = found[0]
        offset = start + max(0, _Table.root(metadata).number(MESSAGE_BODY, "<q"))


def _read_metadata(file: IO[bytes], offset: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Read the metadata of the message at an offset, and tell where its body begins; nothing at the end."""
    if not 0 <= offset < size:
        raise ValueError("a message outside the file")
    file.seek(offset)
    head = file.read(4)
    prefix = 8 if head == CONTINUATION else 4  # old releases wrote the length alone
    (length,) = struct.unpack("<i", file.read(4) if prefix == 8 else head)
    if length == 0:
        return
    if not 0 < length <= size - offset:
        raise ValueError("a message of no length")
    yield offset + prefix + length, file.read(length)


def _measure(file: IO[bytes], size: int, start: int, metadata: bytes) -> int:
    message = _Table.root(metadata)
    body = message.number(MESSAGE_BODY, "<q")
    kind, header = message.number(MESSAGE_TYPE, "<B"), message.table(MESSAGE_HEADER)
    if not 0 <= body <= size - start:
        raise ValueError("a body outside the file")
    if kind not in (DICTIONARY, BATCH) or header is None:
        return body
    data = header.table(DICTIONARY_DATA) if kind == DICTIONARY else header
    if data is None or data.table(BATCH_COMPRESSION) is None:
        return body
    total = 0
    for offset, length in data.structs(BATCH_BUFFERS, BUFFER_BYTES, "<qq"):
        if length == 0:
            continue
        if not 0 <= offset <= body - 8:
            raise ValueError("a buffer outside its message")
        file.seek(start + offset)
        (unpacked,) = struct.unpack("<q", file.read(8))
        total += length if unpacked == NOT_PACKED else max(unpacked, length)
    return total


class _Table:
    """A table of a flatbuffer: fields are found through a list of offsets, and an absent one has none."""

    def __init__(self, data: bytes, place: int) -> None:
        self.data, self.place = data, place
        (back,) = self._unpack("<i", place)
        self.fields = place - back

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, struct.unpack_from("<I", data)[0])

    def number(self, field: int, code: str) -> int:
        """A number; 0 if it is absent."""
        place = self._find(field)
        return 0 if place is None else int(self._unpack(code, place)[0])

    def table(self, field: int) -> _Table | None:
        place = self._find(field)
        return None if place is None else _Table(self.data, place + self._unpack("<I", place)[0])

    def structs(self, field: int, width: int, code: str) -> Iterator[tuple[int, ...]]:
        place = self._find(field)
        if place is None:
            return
        place += self._unpack("<I", place)[0]
        (length,) = self._unpack("<I", place)
        for item in range(length):
            yield self._unpack(code, place + 4 + item * width)

    def _find(self, field: int) -> int | None:
        (width,) = self._unpack("<H", self.fields)
        if 4 + 2 * field >= width:
            return None
        (offset,) = self._unpack("<H", self.fields + 4 + 2 * field)
        return self.place + offset if offset else None

    def _unpack(self, code: str, place: int) -> tuple[Any, ...]:
        if place < 0:  # which Python would count from the end
            raise ValueError("an offset outside the message")
        return struct.unpack_from(code, self.data, place)
