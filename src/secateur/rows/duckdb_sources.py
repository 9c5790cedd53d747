"""Read files, DuckDB relations and SQL queries as sources."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from secateur.errors import InputError, first_line
from secateur.rows.arrow_files import open_arrow
from secateur.rows.file_format import find_file
from secateur.rows.file_queries import FileRelation, check_twice, check_width, connect, open_relation
from secateur.rows.sources import BATCH_ROWS, Source, cut
from secateur.rows.staging import make_room
from secateur.rows.written_values import TRUTH_WORDS

TEXT_FORMATS = ("csv", "tsv", "json")
ARROW_READERS = ("to_arrow_reader", "fetch_record_batch", "fetch_arrow_reader")  # from new to old releases of DuckDB


@contextmanager
def open_files(
    pattern: str | os.PathLike[str],
    *,
    format: str | None = None,
    find_texts: Callable[[], Collection[str]] | None = None,
    header: bool | None = None,
) -> Iterator[Source]:
    """Open the files of a path, directory or pattern as one table.

    Every file must have the columns to read, of the same types; a file that changes meanwhile is an error. By default
    the first bytes tell a file's format. ``find_texts`` lists columns that stay text even if they look like numbers. By
    default the lines of a CSV file tell whether its first is a ``header``.
    """
    with ExitStack() as stack:
        room = stack.enter_context(make_room())
        relations = []
        for place, named in enumerate(_list_files(pattern)):
            own = room / str(place)
            own.mkdir()
            name, path = find_file(named, own)
            relation = open_relation(name, path, own, format=format, header=header)
            if relation.kind in TEXT_FORMATS and find_texts is not None:
                relation = open_relation(name, path, own, format=format, text=find_texts(), header=header)
            relations.append(relation)
        table = _Files(relations, stack.enter_context(connect(room, [one.path for one in relations])))
        name = relations[0].name if len(relations) == 1 else os.fspath(pattern)
        yield Source(name, table.schema, table.n_rows, False, table.read)
        table.check_unchanged()


def _list_files(pattern: str | os.PathLike[str]) -> list[str]:
    text = os.fspath(pattern)
    if os.path.isdir(text):
        found = sorted(_walk(text))
        if not found:
            raise InputError(f"The directory {text} holds no files: expected Parquet, CSV, JSON lines or Arrow.")
        return found
    if not has_magic(text) or os.path.exists(text):
        return [text]
    found = sorted(path for path in glob(text, recursive=True) if os.path.isfile(path))
    if not found:
        raise InputError(f"No file matches {text}.")
    n_plain = next(place for place, part in enumerate(Path(text).parts) if has_magic(part))
    for directory in {Path(path).parent for path in found}:
        below = directory.parts[n_plain:]
        above = [directory.parents[place] for place in range(len(below))]
        _check_loop(str(directory), {os.path.realpath(place) for place in above})
    return found


def _walk(directory: str, above: frozenset[str] = frozenset()) -> Iterator[str]:
    """List the files in and below a directory, without names that begin with a dot or an underscore."""
    place = _check_loop(directory, above)
    try:
        entries = list(os.scandir(directory))
    except OSError as error:
        raise InputError(f"The directory {directory} cannot be read: {error.strerror}.") from error
    for entry in entries:
        if entry.name[:1] in "._":
            continue
        if entry.is_dir():
            yield from _walk(entry.path, above | {place})
        elif entry.is_file():
            yield entry.path


def _check_loop(directory: str, above: Collection[str]) -> str:
    """Find where a directory is; reject a link to a directory above it, through which files would come many times."""
    place = os.path.realpath(directory)
    if place in above:
        raise InputError(
            f"{directory} is a link to a directory above it, so its files would be read many times: remove the link, "
            "or name the files with another pattern."
        )
    return place


class _Files:
    """Files that are read one after the other."""

    def __init__(self, relations: list[FileRelation], connection: Any) -> None:
        first = relations[0]
        other = next((one for one in relations if one.kind != first.kind), None)
        if other is not None:
            raise InputError(
                f"{first.name} is {first.kind} and {other.name} is {other.kind}: the files of one table must have one "
                "format. Choose them with a pattern, such as 'loans/*.parquet'."
            )
        self.files = [_File(relation, connection) for relation in relations]
        self.schema = self.files[0].schema

    @property
    def n_rows(self) -> int | None:
        """Number of rows, which only Parquet files know."""
        if self.files[0].relation.kind != "parquet":
            return None
        return sum(int(file.relation.read_metadata().num_rows) for file in self.files)

    def read(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read batches of some columns, file after file."""
        for file in self.files[1:]:
            file.check_alike(self.files[0], columns)
        for file in self.files:
            try:
                with file.relation.translate_errors():
                    yield from file.read(columns)
            except InputError:
                self.check_unchanged()  # a change may be why
                raise
            self.check_unchanged()

    def check_unchanged(self) -> None:
        """Reject files that were written to while they were read."""
        for file in self.files:
            if _stamp(file.relation.path) != file.stamp:
                name = file.relation.name
                raise InputError(f"{name} changed while it was read, so nothing was made of it. Try again.")


class _File:
    """One file, its schema, and the columns that are read with another type than DuckDB's."""

    def __init__(self, relation: FileRelation, connection: Any) -> None:
        import pyarrow as pa

        self.relation, self.connection = relation, connection
        self.stamp = _stamp(relation.path)
        with relation.translate_errors():
            self.casts = self._find_casts() if relation.kind in TEXT_FORMATS else {}
            if relation.kind == "arrow":
                with open_arrow(relation.path, relation.name) as (schema, _):
                    pass
            else:
                schema = _to_reader(relation.select(connection, rest=" LIMIT 0")).schema
        check_width(len(schema), relation.name)
        if relation.names is not None and len(relation.names) != len(schema):
            raise relation.make_error("its lines have other lengths than the header")
        self.schema = pa.schema(
            field.with_name(name).with_type(self.casts.get(field.name, ("", field.type))[1])
            for name, field in zip(relation.names or schema.names, schema, strict=True)
        )
        check_twice(self.schema.names, relation.name)

    def check_alike(self, first: _File, columns: Sequence[str]) -> None:
        """Reject other columns or types than the first file's: a cast could silently change a number."""
        name = self.relation.name
        for column in columns:
            if column not in self.schema.names:
                raise InputError(
                    f"{name} has no column {column!r}, which {first.relation.name} has: the files of one table must "
                    "have the same columns."
                )
            found, wanted = self.schema.field(column).type, first.schema.field(column).type
            if found != wanted:
                raise InputError(
                    f"The column {column!r} is {found} in {name}, but {wanted} in {first.relation.name}: the files of "
                    "one table must have the same types."
                )

    def read(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read batches of some columns."""
        if self.relation.kind == "arrow":
            with open_arrow(self.relation.path, self.relation.name, columns) as (_, batches):
                for batch in batches:
                    yield from cut(batch)
            return
        names = self.relation.names
        own = {} if names is None else dict(zip(names, self.relation.values["names"], strict=True))
        listed = []
        for column in columns:
            name = own.get(column, column)
            listed.append(f"{self.casts[name][0] if name in self.casts else quote(name)} AS {quote(column)}")
        # A cursor of its own: a connection whose reader was left before its end may reject a further query for a while.
        cursor = self.connection.cursor()  # older releases close it when nobody holds it any more
        reader = _to_reader(self.relation.select(cursor, ", ".join(listed)))
        try:
            yield from reader
        finally:
            reader.close()
            cursor.close()

    def _find_casts(self) -> dict[str, tuple[str, Any]]:
        """Find the columns to cast: an expression and an Arrow type for each."""
        wanted = _list_casts(self.relation.type_columns(self.connection), self.relation)
        if not wanted:
            return {}
        tests = ", ".join(test for test, _, _ in wanted.values())
        held = self.relation.select(self.connection, tests).fetchall()[0]
        return {name: cast[1:] for (name, cast), holds in zip(wanted.items(), held, strict=True) if holds}


def _list_casts(types: dict[str, str], relation: FileRelation) -> dict[str, tuple[str, str, Any]]:
    """List possible casts by column: a test of its values, the expression, and the Arrow type."""
    import pyarrow as pa

    words = ", ".join(f"'{word}'" for word in TRUTH_WORDS)
    kept = relation.values.get("types", {})
    casts = {}
    for name, dtype in types.items():
        column = quote(name)
        if dtype == "VARCHAR" and relation.names is not None and name not in kept:
            casts[name] = (f"bool_and({column} IN ({words}))", f"lower({column}) = 'true'", pa.bool_())
        elif dtype == "HUGEINT":  # DuckDB's type for whole numbers if some are negative
            test = f"bool_and({column} BETWEEN {-(2**63)} AND {2**63 - 1})"
            casts[name] = (test, f"{column}::BIGINT", pa.int64())
        elif dtype == "JSON":  # values of several types: a text would keep the quotes that it has in the file
            casts[name] = ("true", f"{column} ->> '$'", pa.string())
    return casts


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return found.st_ino, found.st_size, found.st_mtime_ns


def open_query(connection: Any, query: Any) -> Source:
    """Open the result of a query on a DuckDB connection."""
    if not isinstance(query, str):
        raise InputError(f"Expected (connection, SQL) with the SQL as text, found {type(query).__name__}.")
    with _translate_query_errors():
        relation = connection.sql(query)
    if relation is None:
        raise InputError("Expected a query that returns rows, such as 'SELECT * FROM loans', found a statement.")
    return open_relation_object(relation)


def open_relation_object(relation: Any) -> Source:
    """Open a DuckDB relation."""

    def read(columns: Sequence[str]) -> Iterator[Any]:
        with _translate_query_errors():
            yield from _to_reader(relation.project(", ".join(quote(column) for column in columns)))

    with _translate_query_errors():
        schema = _to_reader(relation.limit(0)).schema
    check_twice(schema.names, "The relation")
    return Source("The relation", schema, None, False, read)


@contextmanager
def _translate_query_errors() -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise InputError(f"DuckDB rejected the query: {first_line(error)}.") from error


def _to_reader(relation: Any) -> Any:
    """Read a relation as record batches, by the method that this release of DuckDB has."""
    name = next(name for name in ARROW_READERS if hasattr(relation, name))
    return getattr(relation, name)(BATCH_ROWS)


def quote(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'
