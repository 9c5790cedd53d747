"""Where SQL databases differ, as far as rules are concerned; the only place that knows.

Numbers: a tree of float32 compares numbers that are rounded to four bytes. A database that has such a type rounds to
it; the others compare the number itself with the last double that rounds to the limit, which is the same test.

NaN: DuckDB, PostgreSQL, Spark and Snowflake hold it equal to itself and above all numbers, BigQuery holds it equal to
nothing, SQLite and SQL Server have none.

Casts: PostgreSQL refuses to round a tiny number to zero, and DuckDB, PostgreSQL and SQL Server one that is too large.
SQLite would take any text for the number 0, so nothing is cast there.

Planning: PostgreSQL and SQLite put the expression of a subquery wherever its name stands, which would multiply the work
by the number of rules; they are told not to.
"""

from __future__ import annotations

from dataclasses import dataclass

from secateur.errors import ParameterError, did_you_mean

__all__ = ["ALIASES", "DIALECTS", "SqlDialect", "find_dialect"]


@dataclass(frozen=True)
class SqlDialect:
    """What a database has, and what it lacks.

    Attributes
    ----------
    name : str
        As sqlglot calls it.
    full_name : str
        As people call it.
    single : str or None
        The type of four-byte numbers.
    has_nan : {"equal", "unequal", "no"}
        Whether NaN exists, and whether it equals itself.
    has_infinity : bool
    refuses_tiny : bool
        Whether rounding a tiny number to zero is an error.
    casts : bool
        Whether a column has one type, so that it can be cast to the one that the rules ask.
    attach : {"exclude", "lateral"}
        How columns are brought in that do not stay: left out by name again, or in a lateral subquery.
    fence : {"", "materialized", "offset"}
        How the database is kept from working out the rule anew wherever its number is used.
    text : str
        The type of text.
    collation : str
        What makes texts equal only if all their bytes are, whatever a column says; nothing where none is known.
    type_of : str
        The function that tells the type of a value; nothing where a column of another type is not noticed.
    other_types : tuple of str
        What it says of numbers and truth values, whose texts are not those that somebody else wrote for them.
    folds_names : bool
        Whether names that differ in case alone are the same name.
    """

    name: str
    full_name: str
    single: str | None = None
    has_nan: str = "equal"
    has_infinity: bool = True
    refuses_tiny: bool = False
    casts: bool = True
    attach: str = "exclude"
    fence: str = ""
    text: str = "TEXT"
    collation: str = ""
    type_of: str = ""
    other_types: tuple[str, ...] = ()
    folds_names: bool = True


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        SqlDialect(
            "duckdb",
            "DuckDB",
            single="REAL",
            collation="C",
            type_of="TYPEOF",
            other_types=("BOOLEAN", "FLOAT", "DOUBLE"),
        ),
        SqlDialect(
            "postgres",
            "PostgreSQL",
            single="REAL",
            refuses_tiny=True,
            attach="lateral",
            fence="offset",
            collation="C",
            type_of="PG_TYPEOF",
            other_types=("boolean", "real", "double precision"),
            folds_names=False,
        ),
        SqlDialect("spark", "Spark", single="FLOAT", attach="lateral"),
        SqlDialect(
            "sqlite",
            "SQLite",
            has_nan="no",
            casts=False,
            fence="materialized",
            collation="BINARY",
            type_of="TYPEOF",
            other_types=("integer", "real", "blob"),
        ),
        SqlDialect(
            "tsql",
            "SQL Server",
            single="FLOAT(24)",
            has_nan="no",
            has_infinity=False,
            attach="lateral",
            text="NVARCHAR(MAX)",
            collation="Latin1_General_100_BIN2",
        ),
        SqlDialect("bigquery", "BigQuery", has_nan="unequal"),
        SqlDialect("snowflake", "Snowflake", folds_names=False),
    )
}
ALIASES = {
    "mssql": "tsql",
    "pg": "postgres",
    "postgresql": "postgres",
    "sparksql": "spark",
    "sql server": "tsql",
    "sqlserver": "tsql",
}


def find_dialect(name: str) -> SqlDialect:
    """The dialect of a name or alias, in any case.

    Parameters
    ----------
    name : str

    Returns
    -------
    SqlDialect

    Examples
    --------
    >>> find_dialect("PostgreSQL").name
    'postgres'
    """
    known = str(name).strip().lower()
    found = DIALECTS.get(ALIASES.get(known, known))
    if found is None:
        hint = did_you_mean(known, [*DIALECTS, *ALIASES])
        raise ParameterError(f"There is no dialect {name!r}; choose one of {', '.join(DIALECTS)}.{hint}")
    return found
