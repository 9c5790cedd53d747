"""Open rows of any kind, the only place that asks which kind came: also files, DuckDB relations and SQL queries."""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from glob import glob, has_magic
from pathlib import Path
from typing import Any, Self

import numpy as np

from secateur.errors import InputError, first_line, need_library
from secateur.frames import frame_columns
from secateur.rows.batched_rows import BatchedRows, is_number
from secateur.rows.encoding import TRUTH_WORDS
from secateur.rows.file_bytes import find_file
from secateur.rows.file_queries import FileRelation, check_twice, check_width, connect, open_relation
from secateur.rows.row_source import GivenRows, MemoryRows, ModelTerms, RowSource
from secateur.rows.rows import Rows
from secateur.rows.sources import BATCH_ROWS, Source, cut, open_arrow, open_dataset, open_lazy_frame, open_reader
from secateur.rows.whole_files import make_room

TABLES = "a path, a DuckDB relation or (connection, SQL), or a table of Arrow, polars or pandas"


@contextmanager
def open_rows(
    X: Any, y: Any = None, sample_weight: Any = None, *, find_texts: Callable[[], Collection[str]] | None = None
) -> Iterator[RowSource]:
    """Open rows of any kind; ``find_texts`` gives columns of a CSV file that are text though they look like numbers."""
    given = GivenRows(X, y, sample_weight)
    if isinstance(X, (np.ndarray, Rows)):
        yield MemoryRows(*given)
    elif _is_spark(X):
        from secateur.spark.rows import SparkRows
        from secateur.spark.session import spark_failures

        with spark_failures():
            yield SparkRows(*given)
    elif isinstance(X, (str, os.PathLike, Source)) or _is_query(X) or _find_opener(X) is not None:
        with open_source(X, find_texts) as source:
            yield BatchedRows(source, given)
    else:
        yield MemoryRows(*given)


def hold_rows(X: Any, y: Any, sample_weight: Any, why: str, columns: list[str] | None = None) -> GivenRows:
    """Bring rows, labels and weights into memory for scikit-learn; without names, all columns but those two."""
    with open_rows(X, y, sample_weight) as rows:
        return rows.hold(lambda: ModelTerms(columns, None, wants_pandas=True), why).given


def check_pair(X: Any, y: Any, sample_weight: Any = None) -> None:
    """Reject rows without labels, labels without rows, and weights without either."""
    if (X is None) != (y is None):
        given, absent = ("X", "y") if y is None else ("y", "X")
        raise InputError(f"{given} was passed without {absent}: pass both, or neither.")
    if X is None and sample_weight is not None:
        raise InputError("sample_weight was passed without X and y.")


def open_source(table: Any, find_texts: Callable[[], Collection[str]] | None = None) -> AbstractContextManager[Source]:
    """Open a table or frame as record batches; it is closed with the context."""
    if _is_spark(table):
        raise InputError(
            "Rows of a Spark DataFrame stay on Spark: use rules.predict(df) and rules.audit(df, y), and df.write for "
            "their results."
        )
    if isinstance(table, Source):  # opened before
        return nullcontext(table)
    need_library("pyarrow", "tables", "A table of rows")
    if isinstance(table, (str, os.PathLike)):
        need_library("duckdb", "tables", "A file of rows")
        return open_files(table, find_texts=find_texts)
    if _is_query(table):
        return nullcontext(open_query(*table))
    opener = _find_opener(table)
    if opener is None and not hasattr(table, "__arrow_c_stream__"):
        raise InputError(f"Expected a table: {TABLES}; found {type(table).__name__}.")
    if _package(table) == "pandas":
        import pyarrow as pa

        table = pa.Table.from_pandas(table, preserve_index=False)
    return nullcontext((opener or open_reader)(table))


def _is_spark(table: Any) -> bool:
    if _package(table) != "pyspark":  # asked first: narwhals is not imported for arrays
        return False
    from narwhals.dependencies import is_pyspark_connect_dataframe, is_pyspark_dataframe

    return is_pyspark_dataframe(table) or is_pyspark_connect_dataframe(table)


def _find_opener(table: Any) -> Any:
    """Find the opener of a table that is neither an array nor a frame in memory; None for those."""
    packages = {ancestor.__module__.split(".")[0].lstrip("_") for ancestor in type(table).__mro__}
    if packages & {"duckdb", "polars"}:
        from narwhals.dependencies import is_duckdb_relation, is_polars_lazyframe

        if is_duckdb_relation(table):
            return open_relation_object
        if is_polars_lazyframe(table):
            return open_lazy_frame
    if "pyarrow" in packages:
        import pyarrow.dataset

        if isinstance(table, pyarrow.dataset.Dataset):
            return open_dataset
    is_column = type(table).__name__ == "Series"  # which pandas and polars stream as a table of one column
    streams = hasattr(table, "__arrow_c_stream__") and frame_columns(table) is None and not is_column
    return open_reader if streams else None


def _package(table: Any) -> str:
    return type(table).__module__.split(".")[0]


def _is_query(table: Any) -> bool:
    if not isinstance(table, tuple) or len(table) != 2:
        return False
    if type(table[0]).__name__ == "DuckDBPyConnection":
        return True
    if type(table[1]) is str and hasattr(table[0], "execute"):
        raise InputError(
            f"Expected (connection, SQL) with a connection of DuckDB, found one of {_package(table[0])}: attach its "
            "database to DuckDB, or fetch the rows."
        )
    return False


TEXT_FORMATS = ("csv", "tsv", "json")
READ_BYTES = 1 << 20  # of a column of a Parquet file at a time
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

    def check_alike(self, first: Self, columns: Sequence[str]) -> None:
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
        if self.relation.kind == "arrow":
            with open_arrow(self.relation.path, self.relation.name, columns) as (_, batches):
                for batch in batches:
                    yield from cut(batch)
            return
        if self.relation.kind == "parquet" and all(is_number(self.schema.field(column).type) for column in columns):
            plain = self._open_plain(columns)
            if plain is not None:
                yield from plain
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

    def _open_plain(self, columns: Sequence[str]) -> Iterator[Any] | None:
        """Read numbers of a Parquet file by Arrow, in half the time, if it knows them as DuckDB does."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        # Read ahead, the columns would be in memory as a whole.
        options = {"pre_buffer": False, "buffer_size": READ_BYTES, "page_checksum_verification": True}
        file = pq.ParquetFile(self.relation.path, **options)
        schema = file.schema_arrow
        alike = all(
            schema.names.count(name) == 1 and schema.field(name).type == self.schema.field(name).type
            for name in columns
        )
        if not alike:
            file.close()
            return None

        def read() -> Iterator[Any]:
            with file:
                for batch in file.iter_batches(BATCH_ROWS, columns=list(columns)):
                    yield pa.RecordBatch.from_arrays([batch.column(name) for name in columns], names=list(columns))

        return read()

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
