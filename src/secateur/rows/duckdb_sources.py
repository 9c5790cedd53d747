"""Files, DuckDB relations and SQL queries as sources."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from glob import glob, has_magic
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from secateur.errors import InputError, first_line
from secateur.rows.file_format import find_file
from secateur.rows.file_queries import check_twice, connect, open_arrow, open_relation
from secateur.rows.source import BATCH_ROWS, Source, cut

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from secateur.rows.file_queries import FileRelation

__all__ = ["open_files", "open_query", "open_relation_object", "quote"]

TRUTHS = "('true', 'True', 'TRUE', 'false', 'False', 'FALSE')"  # as secateur.cli.tables.table_file reads them


@contextmanager
def open_files(
    pattern: str | os.PathLike[str],
    *,
    format: str | None = None,
    find_texts: Callable[[], Collection[str]] | None = None,
) -> Iterator[Source]:
    """The files that a path, a directory or a pattern names, as one table.

    Every file must have the columns that are read, of the same types. A file that changes meanwhile is an error.

    Parameters
    ----------
    pattern : str or path
    format : str, default=None
        By default what the first bytes of each file show.
    find_texts : callable, default=None
        Gives the columns of a CSV file that are text even where they look like numbers.

    Yields
    ------
    Source
    """
    with ExitStack() as stack:
        room = Path(stack.enter_context(TemporaryDirectory(prefix="secateur-")))
        relations = []
        for place, named in enumerate(_list_files(pattern)):
            own = room / str(place)
            own.mkdir()
            name, path = find_file(named, own)
            relation = open_relation(name, path, own, format=format)
            if relation.kind in ("csv", "tsv", "json") and find_texts is not None:
                relation = open_relation(name, path, own, format=format, text=find_texts())
            relations.append(relation)
        table = _Files(relations, stack.enter_context(connect(room)))
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
        raise InputError(f"No file is called like {text}.")
    return found


def _walk(directory: str) -> Iterator[str]:
    """The files in a directory and below; those that begin with a dot or a line are not for readers."""
    for entry in os.scandir(directory):
        if entry.name[:1] in "._":
            continue
        if entry.is_dir():
            yield from _walk(entry.path)
        elif entry.is_file():
            yield entry.path


class _Files:
    """Files that are read one after the other."""

    def __init__(self, relations: list[FileRelation], connection: Any) -> None:
        self.relations, self.connection = relations, connection
        other = next((one for one in relations if one.kind != relations[0].kind), None)
        if other is not None:
            raise InputError(
                f"{relations[0].name} is {relations[0].kind} and {other.name} is {other.kind}: the files of one table "
                "must have one format. Name those that are meant with a pattern, such as 'loans/*.parquet'."
            )
        self.stamps = [_stamp(relation.path) for relation in relations]
        self.casts = [self._find_casts(relation) for relation in relations]
        self.schemas = [self._describe(*pair) for pair in zip(relations, self.casts, strict=True)]
        self.schema = self.schemas[0]
        for relation, schema in zip(relations, self.schemas, strict=True):
            check_twice(schema.names, relation.name)

    @property
    def n_rows(self) -> int | None:
        """Number of rows; only Parquet files tell."""
        import pyarrow.parquet as pq

        if any(relation.kind != "parquet" for relation in self.relations):
            return None
        return sum(int(pq.read_metadata(relation.path).num_rows) for relation in self.relations)

    def read(self, columns: Sequence[str]) -> Iterator[Any]:
        """Batches of some columns, file after file."""
        self._check_alike(columns)
        for relation, casts in zip(self.relations, self.casts, strict=True):
            yield from self._read_file(relation, casts, columns)
            self.check_unchanged()

    def check_unchanged(self) -> None:
        """Refuse files that somebody wrote to while they were read."""
        for relation, stamp in zip(self.relations, self.stamps, strict=True):
            if _stamp(relation.path) != stamp:
                raise InputError(f"{relation.name} changed while it was read: nothing was made of it. Try again.")

    def _check_alike(self, columns: Sequence[str]) -> None:
        """Files of one table have the same types, else a number would silently become another."""
        for relation, schema in zip(self.relations[1:], self.schemas[1:], strict=True):
            for column in columns:
                wanted = self.schema.field(column).type
                if column not in schema.names:
                    raise InputError(
                        f"{relation.name} has no column {column!r}, which {self.relations[0].name} has: the files of "
                        "one table must have the same columns."
                    )
                if schema.field(column).type != wanted:
                    raise InputError(
                        f"The column {column!r} is {schema.field(column).type} in {relation.name}, but {wanted} in "
                        f"{self.relations[0].name}: the files of one table must have the same types."
                    )

    def _find_casts(self, relation: FileRelation) -> dict[str, tuple[str, Any]]:
        """What is read otherwise than DuckDB types it: the expression and the Arrow type of some of its columns."""
        import duckdb

        if relation.kind not in ("csv", "tsv", "json"):
            return {}
        try:
            query = self.connection.sql(f"SELECT * FROM {relation.query} LIMIT 0", params=relation.values)
            types = dict(zip(query.columns, map(str, query.types), strict=True))
            wanted = _find_truths(types, relation) | _find_whole(types)
            if not wanted:
                return {}
            asked = ", ".join(test for test, _, _ in wanted.values())
            found = self.connection.sql(f"SELECT {asked} FROM {relation.query}", params=relation.values).fetchall()[0]
        except duckdb.Error as error:
            raise relation.refuse(error) from error
        held = [name for name, holds in zip(wanted, found, strict=True) if holds]
        return {name: wanted[name][1:] for name in held}

    def _describe(self, relation: FileRelation, casts: dict[str, tuple[str, Any]]) -> Any:
        import duckdb
        import pyarrow as pa

        try:
            if relation.kind == "arrow":
                with pa.memory_map(str(relation.path)) as file:
                    return open_arrow(file).schema
            query = self.connection.sql(f"SELECT * FROM {relation.query} LIMIT 0", params=relation.values)
            schema = _to_reader(query).schema
        except (duckdb.Error, OSError, pa.ArrowException) as error:
            raise relation.refuse(error) from error
        typed = [field.with_type(casts[field.name][1]) if field.name in casts else field for field in schema]
        if relation.names is None:
            return pa.schema(typed)
        if len(relation.names) != len(schema):
            raise relation.refuse(ValueError("its lines have other lengths than the header"))
        return pa.schema([field.with_name(name) for field, name in zip(typed, relation.names, strict=True)])

    def _read_file(
        self, relation: FileRelation, casts: dict[str, tuple[str, Any]], columns: Sequence[str]
    ) -> Iterator[Any]:
        import duckdb
        import pyarrow as pa

        try:
            if relation.kind == "arrow":
                with pa.memory_map(str(relation.path)) as file:
                    for batch in open_arrow(file):
                        yield from cut(batch.select(columns))
                return
            own = dict(zip(relation.names, relation.values["names"], strict=True)) if relation.names else {}
            listed = []
            for column in columns:
                name = own.get(column, column)
                value = casts[name][0] if name in casts else quote(name)
                listed.append(f"{value} AS {quote(column)}")
            query = f"SELECT {', '.join(listed)} FROM {relation.query}"
            yield from _to_reader(self.connection.sql(query, params=relation.values))
        except (duckdb.Error, OSError, pa.ArrowException) as error:
            self.check_unchanged()  # which is then why
            raise relation.refuse(error) from error


def _find_truths(types: dict[str, str], relation: FileRelation) -> dict[str, tuple[str, str, Any]]:
    """Columns of a CSV file that may say true or false in words: the test of it, the expression, the type."""
    import pyarrow as pa

    forced = relation.values.get("types", {})
    return {
        name: (f"bool_and({quote(name)} IN {TRUTHS})", f"lower({quote(name)}) = 'true'", pa.bool_())
        for name, dtype in types.items()
        if relation.names is not None and dtype == "VARCHAR" and name not in forced
    }


def _find_whole(types: dict[str, str]) -> dict[str, tuple[str, str, Any]]:
    """Whole numbers that DuckDB gives more bits than they may need, because some of them are negative."""
    import pyarrow as pa

    return {
        name: (f"bool_and({quote(name)} BETWEEN {-(2**63)} AND {2**63 - 1})", f"{quote(name)}::BIGINT", pa.int64())
        for name, dtype in types.items()
        if dtype == "HUGEINT"
    }


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def open_query(connection: Any, query: Any) -> Iterator[Source]:
    """What a query of a DuckDB connection gives."""
    import duckdb

    if not isinstance(query, str):
        raise InputError(f"Expected (connection, SQL) with the SQL as text, found {type(query).__name__}.")
    try:
        relation = connection.sql(query)
    except duckdb.Error as error:
        raise _refuse_query(error) from error
    if relation is None:
        raise InputError("Expected a query that gives rows, such as 'SELECT * FROM loans', found a statement.")
    with open_relation_object(relation) as source:
        yield source


@contextmanager
def open_relation_object(relation: Any) -> Iterator[Source]:
    """A DuckDB relation."""
    import duckdb

    def read(columns: Sequence[str]) -> Iterator[Any]:
        try:
            yield from _to_reader(relation.project(", ".join(quote(column) for column in columns)))
        except duckdb.Error as error:
            raise _refuse_query(error) from error

    try:
        schema = _to_reader(relation.limit(0)).schema
    except duckdb.Error as error:
        raise _refuse_query(error) from error
    check_twice(schema.names, "The relation")
    yield Source("The relation", schema, None, False, read)


def _refuse_query(error: Exception) -> InputError:
    return InputError(f"DuckDB refused the query: {first_line(error)}.")


def _to_reader(relation: Any) -> Any:
    """A reader of a relation's record batches; older releases of DuckDB call it otherwise."""
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    return read(BATCH_ROWS)


def quote(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
