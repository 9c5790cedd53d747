"""Read a table from a file into a pandas frame, with DuckDB; a sheet of a workbook as the CSV file it would be."""

from __future__ import annotations

import csv
import os
import re
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import InputError, ParameterError, did_you_mean, first_line, need_library, shorten
from secateur.rows.encoding import TRUTH_WORDS, as_objects
from secateur.rows.file_bytes import check_zip_size, find_file
from secateur.rows.file_queries import FileRelation, check_twice, check_width, connect, open_relation
from secateur.rows.sources import open_arrow
from secateur.rows.whole_files import make_room

if TYPE_CHECKING:
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

PARTS = ("xl/workbook.xml", "content.xml")  # of a workbook of Excel, and of LibreOffice
MIDNIGHT = " 00:00:00"


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
    blank_unreadable: float = 0.0  # the share of a column's cells that may be blanks because they cannot be read


def read_table(
    source: str | Path,
    *,
    format: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    text: Collection[str] = (),
    header: bool | None = None,
    sheet: str | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> TableFile:
    """Read a table from a file or standard input, as :class:`secateur.cli.options.Reading` says."""
    with make_room() as room:
        name, path = find_file(source, room)
        notes: tuple[str, ...] = ()
        if format is None and _is_workbook(path):
            path, texts, notes = _copy_sheet(path, room, name, sheet)
            text = {*text, *texts}
        elif sheet is not None:
            raise InputError(f"{name} is no workbook (.xlsx or .ods): leave out --sheet.")
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
    return _make_table(name, frame, types, truths, (*notes, *relation.notes, *drawn))


def read_demo() -> TableFile:
    """Make a table that comes with scikit-learn: UCI's Breast Cancer Wisconsin (Diagnostic), CC BY 4.0."""
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer(as_frame=True)
    frame = found.data.assign(diagnosis=found.target_names[found.target].astype(object))
    kinds = {**dict.fromkeys(found.data.columns, "number"), "diagnosis": "text"}
    return TableFile("the 569 tumours that come with scikit-learn", frame, kinds, ())


def _is_workbook(path: Path) -> bool:
    """Whether a file is a zip archive with the parts of a workbook."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as packed:
        return any(part in packed.namelist() for part in PARTS)


def _copy_sheet(path: Path, room: Path, name: str, wanted: str | None) -> tuple[Path, list[str], tuple[str, ...]]:
    """Copy a sheet, by default the first, to a CSV file in ``room``; give it, its columns of texts alone, and notes."""
    need_library("python_calamine", "sheets", "A workbook")
    import python_calamine

    check_zip_size(path.read_bytes(), name)
    try:
        book = python_calamine.CalamineWorkbook.from_path(path)
        sheets = book.sheet_names
        chosen = sheets[0] if wanted is None else wanted
        lines: list[list[Any]] = book.get_sheet_by_name(chosen).to_python() if chosen in sheets else []
    except (python_calamine.CalamineError, OSError, IndexError, ValueError) as error:
        raise InputError(f"{name} cannot be read as a workbook: {first_line(error)}. Save it as CSV.") from error
    if chosen not in sheets:
        raise InputError(
            f"{name} has no sheet {chosen!r}.{did_you_mean(chosen, sheets)} Its sheets: {shorten(sheets)}."
        )
    lines = [line for line in lines if any(cell != "" for cell in line)]
    if not lines:
        raise InputError(f"The sheet {chosen!r} of {name} is empty: name another one with --sheet.")
    with (room / "sheet.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([_write_cell(cell) for cell in line] for line in lines)
    texts = [
        str(header)
        for header, *cells in zip(*lines, strict=True)
        if all(isinstance(cell, str) for cell in cells) and any(cells)
    ]
    told = () if len(sheets) == 1 else (f"Read the sheet {chosen!r} of {len(sheets)} (--sheet names another).",)
    return room / "sheet.csv", texts, told


def _write_cell(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # a workbook knows no whole numbers
    if isinstance(cell, datetime):
        return str(cell).removesuffix(MIDNIGHT)
    return str(cell.total_seconds() / 86_400) if isinstance(cell, timedelta) else str(cell)


def _read_frame(relation: FileRelation, room: Path, sample: int | None, seed: int) -> tuple[Any, dict[str, str]]:
    """Read all rows of a file or some of them, and the types of its columns."""
    import duckdb
    import pandas as pd
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
            taken = {name: _take_column(connection, name, dtype) for name, dtype, *_ in described}
        except duckdb.OutOfMemoryException as error:
            raise InputError(
                f"{relation.name} does not fit into memory: read a part of its rows with --sample 100000."
            ) from error
    columns = [str(column[0]) for column in described] if relation.names is None else list(relation.names)
    if len(described) != len(columns):
        raise relation.make_error("its lines have other lengths than the header")
    check_twice(columns, relation.name)
    frame = pd.DataFrame(taken)
    frame.columns = columns
    return frame, {name: str(column[1]) for name, column in zip(columns, described, strict=True)}


def _take_column(connection: Any, name: str, dtype: str) -> Any:
    """Take a column of the table; equal texts are one object, which is made, stored and looked up in less time."""
    import pandas as pd

    asked = '"' + name.replace('"', '""') + '"'
    if dtype != "VARCHAR":
        return connection.execute(f"SELECT {asked} FROM taken").df().iloc[:, 0]
    column = connection.sql(f"SELECT {asked} FROM taken").to_arrow_table().column(0)
    found = column.dictionary_encode().unify_dictionaries()
    texts = as_objects([*(found.chunk(0).dictionary.to_pylist() if found.num_chunks else []), np.nan])
    places = [part.indices.fill_null(len(texts) - 1).to_numpy() for part in found.chunks]
    return pd.Series(texts[np.concatenate(places or [np.zeros(0, dtype=np.int64)])], dtype=object)


def _make_table(name: str, frame: Any, types: dict[str, str], truths: set[str], notes: tuple[str, ...]) -> TableFile:
    """Bring DuckDB's types to a few, the same with every pandas; texts in ``truths`` may be truth values."""
    import pandas as pd

    kinds: dict[str, str] = {}
    columns: dict[str, Any] = {}
    for column, dtype in types.items():
        values = frame[column]
        absent = values.isna()
        is_full = not absent.any()
        first_word = re.split(r"[ (]", dtype.strip('"'), maxsplit=1)[0]
        kind = "empty" if absent.all() else "nested" if dtype.endswith("]") else KINDS.get(first_word, "nested")
        if kind == "text" and column in truths and set(values[~absent].unique()) <= TRUTH_WORDS.keys():
            kind, values = "boolean", values.astype(object).map(TRUTH_WORDS)
        if kind == "number":
            values = values.astype(np.int64 if dtype in WHOLE_TYPES and is_full else np.float64)
        elif kind == "boolean" and is_full:
            values = values.astype(bool)
        elif kind in ("text", "boolean", "empty"):
            objects = values.to_numpy(dtype=object, copy=True)
            objects[absent.to_numpy()] = np.nan  # one object for all blanks, which lookups find at once
            values = pd.Series(objects, index=values.index, dtype=object)
        kinds[column], columns[column] = kind, values
    whole = tuple(column for column, kind in kinds.items() if kind == "number" and types[column] in WHOLE_TYPES)
    return TableFile(name, pd.DataFrame(columns), kinds, whole, notes)


def _check_memory(needed: int, name: str) -> None:
    """Reject what would not fit into memory, where the system says how much is free."""
    try:
        told = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"))
    except OSError:
        return
    if told is not None and needed > (free := int(told[1]) << 10):
        raise InputError(
            f"{name} would take about {needed / 2**30:,.1f} GiB of memory, and {free / 2**30:,.1f} GiB are free: read "
            "a part of its rows with --sample 100000."
        )


UNREAD_IN_BATCHES = ("sample", "encoding", "missing", "blank_unreadable", "sheet", "text", "month_first")  # of Reading
LARGE_FILE = 256 << 20  # larger files, in bytes, are read in batches; docs/command-line.md says so too


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


@contextmanager
def open_batches(
    data: str, tree: Tree, used: Rows, reading: Reading, others: Sequence[str] = (), *, no_facts: bool = False
) -> Iterator[tuple[Source, str, list[str]]]:
    """Open labelled rows in batches, their target, and notes for the end; ``others`` are options that need all rows."""
    from secateur.rows.encoding import find_texts
    from secateur.rows.opening import open_files

    unfit = {
        others[0] if others else "": others,
        "--drop": used.drop,
        "--drop-class": used.drop_class,
        **{f"--{name.replace('_', '-')}": getattr(reading, name) for name in UNREAD_IN_BATCHES},
    }
    unread = next((name for name, value in unfit.items() if value), None)
    if unread is not None:
        raise ParameterError(
            f"{data} is read in batches (as directories, patterns and files over {LARGE_FILE >> 20} MiB are), where "
            f"{unread} does not work: leave it out, or make a smaller file."
        )
    target = used.require_target(data)
    skipped: Counter[str] = Counter()
    stated = "no fact" if no_facts else "no fact but the types of its columns"
    notes = [f"The table was read in batches; {stated} is taken from it."]
    asked: dict[str, Any] = {"format": reading.format, "header": reading.header}
    with open_files(data, find_texts=partial(find_texts, tree, target), **asked) as source:
        labelled = source.without_blanks(source.find(target, "--target names"), skipped)
        yield labelled.as_floats(target) if no_facts else labelled, target, notes
    if skipped[target]:
        notes.append(f"{skipped[target]:,} rows without a value of {target!r} were left out.")
