"""Names and labels that a database can hold, checked before any SQL is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secateur.errors import ParameterError
from secateur.export.plain_names import SHOWN_NAME, is_unicode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secateur.export.sql_dialects import SqlDialect
    from secateur.rules.decision_list import Column
    from secateur.tree.tree import Label

LINE_BREAK = "__SQLGLOT__LB__"  # of which sqlglot makes a line break, in any text; it is not loaded here
RESULT_NAMES = ("rule", "prediction", "reliability")


def check_names(dialect: SqlDialect, names: Iterable[str], labels: Iterable[Label] = ()) -> None:
    """Refuse names and labels that the database cannot hold; labels that are not text pass."""
    named = list(names)
    strange = next((name for name in named if dialect.name == "bigquery" and set(name) & {"\\", "`"}), None)
    if strange is not None:
        raise ParameterError(f"BigQuery has no name such as {strange[:SHOWN_NAME]!r}: choose another.")
    for text in (*named, *labels):
        if isinstance(text, str) and ("\0" in text or LINE_BREAK in text or not is_unicode(text)):
            raise ParameterError(
                f"The name or label {text[:SHOWN_NAME]!r} holds a character that SQL text cannot hold: rename it."
            )


def check_result_names(names: Sequence[str]) -> None:
    """Refuse anything but one name for each added column."""
    if isinstance(names, str) or len(names) != len(RESULT_NAMES):
        found = f"the text {names!r}" if isinstance(names, str) else f"{len(names)} names"
        raise ParameterError(f"Expected a name for each of {', '.join(RESULT_NAMES)}, found {found}.")


def split_table(table: str | Sequence[str]) -> list[str]:
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
    """Refuse columns that no table of the database can have."""
    first: dict[str, str] = {}
    for column in columns:
        if dialect.name == "bigquery" and any(mark in column.name for mark in "\\`"):
            raise ParameterError(f"BigQuery has no column named {column.name[:SHOWN_NAME]!r}: rename it.")
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
            _check_trailing(column, dialect)


def _check_trailing(column: Column, dialect: SqlDialect) -> None:
    """Refuse texts that differ only in trailing blanks, which the database ignores."""
    first: dict[str, Label] = {}
    for label in column.labels or ():
        short = str(label).rstrip(" ")
        if short in first:
            raise ParameterError(
                f"The categories {first[short]!r} and {label!r} of column {column.name!r} are the same in "
                f"{dialect.full_name}, which ignores blanks at the end: rename one of them."
            )
        first[short] = label
