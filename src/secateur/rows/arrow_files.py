"""Read Arrow files of any origin: nothing in them is believed before it is checked.

Arrow takes the lengths and offsets in a file for true, and a wrong one ends the process. So each batch is validated
before anybody looks into it, and its size is asked of the file before it is unpacked. Files are not memory-mapped: one
that is cut short meanwhile would end the process, too.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from secateur.errors import InputError
from secateur.limits import MAX_MEMORY, format_bytes

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
    """Open an Arrow file, in the file format or the stream format: give its schema and its batches.

    With ``columns``, the batches hold these only. The schema has no metadata: pandas would read its own notes there.
    """
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
    """Tell the bytes that a message takes, unpacked."""
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
        """The outermost table."""
        return cls(data, struct.unpack_from("<I", data)[0])

    def number(self, field: int, code: str) -> int:
        """A number; 0 if it is absent."""
        place = self._find(field)
        return 0 if place is None else int(self._unpack(code, place)[0])

    def table(self, field: int) -> _Table | None:
        """A table inside."""
        place = self._find(field)
        return None if place is None else _Table(self.data, place + self._unpack("<I", place)[0])

    def structs(self, field: int, width: int, code: str) -> Iterator[tuple[int, ...]]:
        """A list of structures."""
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
