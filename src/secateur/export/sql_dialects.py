"""Where SQL databases differ, as far as rules are concerned, and which names they hold.

Numbers: a tree of float32 compares numbers that are rounded to four bytes. A database that has such a type rounds to
it; the others compare the number itself with the last double that rounds to the limit, which is the same test.

NaN: DuckDB, PostgreSQL, Spark, Databricks, Redshift and Snowflake hold it equal to itself and above all numbers,
BigQuery, Trino and ClickHouse hold it equal to nothing, SQLite, SQL Server and MySQL have none.

Casts: PostgreSQL rejects to round a tiny number to zero, and DuckDB, PostgreSQL and SQL Server one that is too large.
SQLite would take any text for the number 0, so nothing is cast there.

Planning: PostgreSQL and SQLite put the expression of a subquery wherever its name stands, which would multiply the work
by the number of rules; they are told not to.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, TypeAlias

from secateur.errors import ParameterError, did_you_mean
from secateur.export.plain_names import SHOWN_NAME, is_unicode
from secateur.rules.decision_list import Column
from secateur.tree.tree import Label

LINE_BREAK = "__SQLGLOT__LB__"  # sqlglot turns it into a line break, in any text; it is not loaded here
TRUTHS = {"true": True, "false": False}
RESULT_NAMES = ("rule", "prediction", "share")
TableName: TypeAlias = "str | Sequence[str]"  # parted by dots, or a list of the parts


@dataclass(frozen=True)
class SqlDialect:
    """What a database has, and what it lacks."""

    name: str  # as sqlglot calls it
    full_name: str  # as people call it
    single: str | None = None  # type of four-byte numbers
    has_nan: str = "equal"  # "equal" or "unequal" to itself, or "no" NaN at all
    has_infinity: bool = True
    rejects_tiny: bool = False  # raises an error instead of rounding a tiny number to zero
    casts: bool = True  # a column has one type, so it can be cast to the one that the rules ask for
    attach: str = "exclude"  # how helper columns come in: dropped again by name, or in a "lateral" subquery
    fence: str = ""  # what stops the planner from repeating the CASE of the rules: "materialized" or "offset"
    text: str = "TEXT"  # type of text
    collation: str = ""  # compares texts byte by byte, whatever a column says; empty where none is known
    type_of: str = ""  # function that tells the type of a value; empty where a wrong type goes unnoticed
    other_types: Sequence[str] = ()  # what it says of values that are no texts, where a row has a type of its own
    truth_type: str = ""  # what it calls a column of truth values, where such a column may stand for texts
    number_types: str = ""  # what it calls one of numbers, as a regular expression, where it can read amounts and dates
    ignores_trailing: bool = False  # texts that differ only in blanks at their end are equal
    folds_names: bool = True  # names that differ only in case are the same name
    plain_only: bool = False  # nothing but plain statements can be written for it


def _read_dialects() -> dict[str, SqlDialect]:
    """Read the table of dialects, in which an empty cell is the default."""
    text = (files("secateur.export") / "dialects.csv").read_text(encoding="utf-8")
    found = [{name: cell for name, cell in row.items() if cell} for row in csv.DictReader(text.splitlines())]
    made: list[dict[str, Any]] = [{name: TRUTHS.get(cell, cell) for name, cell in row.items()} for row in found]
    return {row["name"]: SqlDialect(**row | {"other_types": row.get("other_types", "").split()}) for row in made}


DIALECTS = _read_dialects()
ALIASES = {
    **{"mssql": "tsql", "sql server": "tsql", "sqlserver": "tsql"},
    **{"pg": "postgres", "postgresql": "postgres", "sparksql": "spark"},
}


def find_dialect(name: str) -> SqlDialect:
    """Find a dialect by its name or alias, in any case."""
    known = str(name).strip().lower()
    found = DIALECTS.get(ALIASES.get(known, known))
    if found is None:
        hint = did_you_mean(known, [*DIALECTS, *ALIASES])
        raise ParameterError(f"There is no dialect {name!r}; choose one of {', '.join(DIALECTS)}.{hint}")
    return found


def check_names(dialect: SqlDialect, names: Iterable[str], labels: Sequence[Label] = ()) -> None:
    """Reject names and labels that the database cannot hold; labels that are not text pass."""
    named = list(names)
    strange = next((name for name in named if dialect.name == "bigquery" and set(name) & {"\\", "`"}), None)
    if strange is not None:
        raise ParameterError(f"BigQuery has no name such as {strange[:SHOWN_NAME]!r}: rename it.")
    if dialect.name == "oracle" and (any('"' in name for name in named) or "" in labels):
        raise ParameterError("Oracle has no name with a double quote, and takes an empty text for NULL: rename it.")
    for text in (*named, *labels):
        if isinstance(text, str) and ("\0" in text or LINE_BREAK in text or not is_unicode(text)):
            raise ParameterError(
                f"The name or label {text[:SHOWN_NAME]!r} holds a character that SQL text cannot hold: rename it."
            )


def check_result_names(names: Sequence[str]) -> None:
    """Reject anything but one name for each added column."""
    if isinstance(names, str) or len(names) != len(RESULT_NAMES):
        found = f"the text {names!r}" if isinstance(names, str) else f"{len(names)} names"
        raise ParameterError(f"Expected a name for each of {', '.join(RESULT_NAMES)}, found {found}.")
    if len({str(name).casefold() for name in names}) < len(names):  # a database may not tell "A" from "a"
        raise ParameterError(f"Expected {len(names)} different names, found {', '.join(map(repr, names))}.")


def split_table(table: TableName) -> list[str]:
    """Split the name of a table into catalog, schema and table, as far as they are given."""
    path = table.split(".") if isinstance(table, str) else [str(part) for part in table]
    if not 1 <= len(path) <= 3 or not all(path):
        raise ParameterError(
            f"Expected a table such as 'rows', 'schema.rows' or 'catalog.schema.rows', found {table!r}. "
            "Pass a list of these parts if one of them holds a dot."
        )
    return path


def is_text(column: Column) -> bool:
    """Whether a column holds text."""
    return any(isinstance(label, str) for label in column.labels or ())


def check_columns(columns: Iterable[Column], dialect: SqlDialect) -> None:
    """Reject columns that no table of the database can have."""
    first: dict[str, str] = {}
    for column in columns:
        check_names(dialect, [column.name], column.labels or ())
        if not column.name:
            raise ParameterError("A rule asks for a column without a name, and SQL needs one: rename it.")
        known = column.name.casefold() if dialect.folds_names else column.name
        if known in first:
            raise ParameterError(
                f"The columns {first[known]!r} and {column.name!r} have the same name in {dialect.full_name}, "
                "where case does not matter: rename one of them."
            )
        first[known] = column.name
        if len({isinstance(label, str) + 2 * isinstance(label, bool) for label in column.labels or ()}) > 1:
            raise ParameterError(
                f"The categories of column {column.name!r} are of several types, but a column of a table has one: "
                "fit the tree on labels of one type."
            )
        if dialect.ignores_trailing and is_text(column):
            shortened: dict[str, Label] = {}
            for label in column.labels or ():
                other = shortened.setdefault(str(label).rstrip(" "), label)
                if other != label:
                    raise ParameterError(
                        f"The categories {other!r} and {label!r} of column {column.name!r} are the same in "
                        f"{dialect.full_name}, which ignores blanks at the end: rename one of them."
                    )
