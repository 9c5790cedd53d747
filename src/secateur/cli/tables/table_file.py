"""Read a table from a file into a pandas frame, with DuckDB."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import InputError, ParameterError
from secateur.rows.arrow_files import open_arrow
from secateur.rows.file_format import find_file
from secateur.rows.file_queries import FileRelation, check_twice, check_width, connect, open_relation
from secateur.rows.staging import make_room
from secateur.rows.written_values import TRUTH_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secateur.cli.options import Reading, Rows
    from secateur.rows.sources import Source
    from secateur.tree.tree import Tree

# How many times its unpacked size in the file a table takes in memory, roughly.
GROWTH = {"csv": 4, "tsv": 4, "json": 4, "parquet": 8, "arrow": 3}
CELL = 16  # bytes of a number, in DuckDB and in pandas
WHOLE_TYPES = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
NUMBER_TYPES = {*WHOLE_TYPES, "UBIGINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL"}
# The first word of each type of DuckDB; all other types are nested.
KINDS = {
    **dict.fromkeys(NUMBER_TYPES, "number"),
    **dict.fromkeys(("VARCHAR", "UUID", "ENUM"), "text"),
    **dict.fromkeys(("DATE", "TIME", "TIME_NS", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "date"),
    **{"INTERVAL": "date", "BOOLEAN": "boolean", "NULL": "empty", "JSON": "mixed"},
}


@dataclass(frozen=True)
class TableFile:
    """A table as it came from a file."""

    name: str  # in messages
    frame: Any = field(repr=False)  # int64, or float64 with NaN; bool; objects of text with NaN for a blank
    kinds: dict[str, str]  # of each column: number, text, boolean, date, empty (only blanks), mixed or nested
    whole: tuple[str, ...]  # columns of whole numbers, with or without blanks
    notes: tuple[str, ...] = ()  # what a person should know of how the file was read, a sentence each
    as_text: tuple[str, ...] = ()  # columns to take as they are written, whatever they look like
    month_first: bool = False  # whether 03/04/2021 is the 4th of March


def read_table(
    source: str | Path,
    *,
    format: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    text: Collection[str] = (),
    header: bool | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> TableFile:
    r"""Read a table from a file, or from standard input.

    By default all rows are read, as UTF-8, in the format that the first bytes show; ``sample`` rows are drawn at
    random. ``missing`` are texts of a CSV file that mean a blank, beside the usual ones; ``text`` are columns of a CSV
    or JSON file that stay text even if they look like numbers or dates. ``header`` says whether the first line of a CSV
    file holds names; by default the lines below it tell.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     path = Path(place) / "ward.csv"
    ...     _ = path.write_text("age,ward,ill\n34,B,yes\n,A,no\n")
    ...     table = read_table(path)
    >>> table.kinds
    {'age': 'number', 'ward': 'text', 'ill': 'text'}
    >>> table.whole
    ('age',)
    """
    with make_room() as room:
        name, path = find_file(source, room)
        size = path.stat().st_size
        if sample is None:
            _check_memory(size, name)
        asked: dict[str, Any] = {"format": format, "encoding": encoding, "missing": missing, "header": header}
        relation = open_relation(name, path, room, text=text, **asked)
        if sample is None:
            _check_memory(max(relation.n_bytes * GROWTH[relation.kind], relation.n_cells * CELL), name)
        frame, types = _read_frame(relation, room, sample, seed)
    if len(frame) == 0:
        raise InputError(f"{name} has a header but no rows.")
    drawn = () if sample is None else (f"{len(frame):,} rows were drawn at random.",)
    truths = set(types) - set(text) if relation.kind in ("csv", "tsv") else set()
    return _make_table(name, frame, types, truths, (*relation.notes, *drawn))


def _read_frame(relation: FileRelation, room: Path, sample: int | None, seed: int) -> tuple[Any, dict[str, str]]:
    """Read all rows of a file or some of them, and the types of its columns."""
    import duckdb
    import pandas as pd  # noqa: F401  # where it does not fit into memory, DuckDB would say that it is not installed
    import pyarrow as pa

    drawn = "" if sample is None else f" USING SAMPLE reservoir({sample} ROWS) REPEATABLE ({seed})"
    threads = 1 if drawn else None  # one makes the same draw every time
    with ExitStack() as stack, relation.translate_errors():
        connection = stack.enter_context(connect(room, [relation.path], threads=threads))
        if relation.kind == "arrow":
            schema, batches = stack.enter_context(open_arrow(relation.path, relation.name))
            check_width(len(schema), relation.name)
            check_twice(schema.names, relation.name)
            connection.register(relation.query, pa.RecordBatchReader.from_batches(schema, batches))
        try:
            connection.execute(f"CREATE TEMP TABLE taken AS SELECT * FROM {relation.query}{drawn}", relation.values)
            described = connection.execute("DESCRIBE taken").fetchall()
            frame = connection.execute("SELECT * FROM taken").df()
        except duckdb.OutOfMemoryException as error:
            raise InputError(
                f"{relation.name} does not fit into memory: read a part of its rows with --sample 100000."
            ) from error
    columns = [str(column[0]) for column in described] if relation.names is None else list(relation.names)
    if len(described) != len(columns):
        raise relation.make_error("its lines have other lengths than the header")
    check_twice(columns, relation.name)
    frame.columns = columns
    return frame, {name: str(column[1]) for name, column in zip(columns, described, strict=True)}


def _make_table(name: str, frame: Any, types: dict[str, str], truths: set[str], notes: tuple[str, ...]) -> TableFile:
    """Bring DuckDB's types to a few, the same with every pandas; texts in ``truths`` may be truth values."""
    import pandas as pd

    kinds: dict[str, str] = {}
    columns: dict[str, Any] = {}
    for column, dtype in types.items():
        values = frame[column]
        absent = values.isna()
        is_full = not absent.any()
        kind = "empty" if absent.all() else "nested" if dtype.endswith("]") else KINDS.get(_first_word(dtype), "nested")
        if kind == "text" and column in truths and set(values[~absent].unique()) <= TRUTH_WORDS.keys():
            kind, values = "boolean", values.astype(object).map(TRUTH_WORDS)
        if kind == "number":
            values = values.astype(np.int64 if dtype in WHOLE_TYPES and is_full else np.float64)
        elif kind == "boolean" and is_full:
            values = values.astype(bool)
        elif kind in ("text", "boolean", "empty"):
            values = values.astype(object).where(~absent, np.nan)
        kinds[column], columns[column] = kind, values
    whole = tuple(column for column, kind in kinds.items() if kind == "number" and types[column] in WHOLE_TYPES)
    return TableFile(name, pd.DataFrame(columns), kinds, whole, notes)


def _first_word(dtype: str) -> str:
    return re.split(r"[ (]", dtype.strip('"'), maxsplit=1)[0]


def _check_memory(needed: int, name: str) -> None:
    """Refuse what would not fit into memory, where the system says how much is free."""
    try:
        told = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"))
    except OSError:
        return
    if told is not None and needed > (free := int(told[1]) << 10):
        raise InputError(
            f"{name} would take about {needed / 2**30:,.1f} GiB of memory, and {free / 2**30:,.1f} GiB are free: read "
            "a part of its rows with --sample 100000."
        )


# Larger files, in bytes, are read in batches; docs/command-line.md says so too.
LARGE_FILE = 256 << 20


def in_batches(data: str, tree: Tree | None) -> bool:
    """Whether to read a table in batches; a tree that must be fitted first needs all rows in memory."""
    is_many = os.path.isdir(data) or (has_magic(data) and not os.path.exists(data))
    if tree is None:
        if is_many:
            raise ParameterError(
                f"{data} names several files, which are read in batches, but a tree is fitted in memory: name one "
                "file, or pass a tree with --model."
            )
        return False
    return is_many or (os.path.isfile(data) and os.path.getsize(data) > LARGE_FILE)


def check_batch_options(data: str, used: Rows, reading: Reading, splitting: Sequence[str] = ()) -> None:
    """Reject options that need all rows at once."""
    asked = {
        splitting[0] if splitting else "": splitting,
        "--drop": used.drop,
        "--drop-class": used.drop_class,
        "--sample": reading.sample,
        "--encoding": reading.encoding,
        "--missing": reading.missing,
        "--text": reading.text,
        "--month-first": reading.month_first,
    }
    unread = next((name for name, value in asked.items() if value), None)
    if unread is not None:
        raise ParameterError(
            f"{data} is read in batches (as directories, patterns and files over {LARGE_FILE >> 20} MiB are), where "
            f"{unread} does not work: leave it out, or make a smaller file."
        )


@contextmanager
def open_batches(
    data: str, tree: Tree, target: str, reading: Reading, *, no_facts: bool = False
) -> Iterator[tuple[Source, list[str]]]:
    """Open the labelled rows of a table to read in batches, and a list that has notes about it at the end."""
    from secateur.rows.duckdb_sources import open_files
    from secateur.rows.sources import find_texts

    skipped: Counter[str] = Counter()
    stated = "no fact" if no_facts else "no fact but the types of its columns"
    notes = [f"The table was read in batches; {stated} is taken from it."]
    asked: dict[str, Any] = {"format": reading.format, "header": reading.header}
    with open_files(data, find_texts=partial(find_texts, tree, target), **asked) as source:
        labelled = source.without_blanks(source.find(target, "--target names"), skipped)
        yield labelled.as_floats(target) if no_facts else labelled, notes
    if skipped[target]:
        notes.append(f"{skipped[target]:,} rows without a value of {target!r} were left out.")
