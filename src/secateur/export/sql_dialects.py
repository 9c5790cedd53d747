"""Where SQL databases differ, as far as rules are concerned; the only place that knows.

Numbers: a tree of float32 compares numbers that are rounded to four bytes. A database that has such a type rounds to
it; the others compare the number itself with the last double that rounds to the limit, which is the same test.

NaN: DuckDB, PostgreSQL, Spark, Databricks, Redshift and Snowflake hold it equal to itself and above all numbers,
BigQuery, Trino and ClickHouse hold it equal to nothing, SQLite, SQL Server and MySQL have none.

Casts: PostgreSQL refuses to round a tiny number to zero, and DuckDB, PostgreSQL and SQL Server one that is too large.
SQLite would take any text for the number 0, so nothing is cast there.

Planning: PostgreSQL and SQLite put the expression of a subquery wherever its name stands, which would multiply the work
by the number of rules; they are told not to.
"""

from dataclasses import dataclass

from secateur.errors import ParameterError, did_you_mean


@dataclass(frozen=True)
class SqlDialect:
    """What a database has, and what it lacks."""

    name: str  # as sqlglot calls it
    full_name: str  # as people call it
    single: str | None = None  # type of four-byte numbers
    has_nan: str = "equal"  # "equal" or "unequal" to itself, or "no" NaN at all
    has_infinity: bool = True
    refuses_tiny: bool = False  # raises an error instead of rounding a tiny number to zero
    casts: bool = True  # a column has one type, so it can be cast to the one that the rules ask for
    attach: str = "exclude"  # how helper columns come in: dropped again by name, or in a "lateral" subquery
    fence: str = ""  # what stops the planner from repeating the CASE of the rules: "materialized" or "offset"
    text: str = "TEXT"  # type of text
    collation: str = ""  # compares texts byte by byte, whatever a column says; empty where none is known
    type_of: str = ""  # function that tells the type of a value; empty where a wrong type goes unnoticed
    other_types: tuple[str, ...] = ()  # what it says of values that are no texts, where a row has a type of its own
    truth_type: str = ""  # what it calls a column of truth values, where such a column may stand for texts
    number_types: str = ""  # what it calls one of numbers, as a regular expression, where it can read amounts and dates
    ignores_trailing: bool = False  # texts that differ only in blanks at their end are equal
    folds_names: bool = True  # names that differ only in case are the same name


DUCKDB = SqlDialect(
    *("duckdb", "DuckDB", "REAL"),
    collation="C",
    type_of="TYPEOF",
    truth_type="BOOLEAN",
    number_types="[A-Z]*INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*",
)
POSTGRES = SqlDialect(
    *("postgres", "PostgreSQL", "REAL"),
    refuses_tiny=True,
    attach="lateral",
    fence="offset",
    collation="C",
    type_of="PG_TYPEOF",
    truth_type="boolean",
    number_types="smallint|integer|bigint|numeric|real|double precision",
    folds_names=False,
)
SPARK = SqlDialect(
    *("spark", "Spark", "FLOAT"),
    attach="lateral",
    type_of="TYPEOF",
    number_types="tinyint|smallint|int|bigint|float|double|decimal.*",
)
SQLITE = SqlDialect(
    *("sqlite", "SQLite"),
    has_nan="no",
    casts=False,
    fence="materialized",
    collation="BINARY",
    type_of="TYPEOF",
    other_types=("integer", "real", "blob"),
)
SQL_SERVER = SqlDialect(
    *("tsql", "SQL Server", "FLOAT(24)"),
    has_nan="no",
    has_infinity=False,
    attach="lateral",
    text="NVARCHAR(MAX)",
    collation="Latin1_General_100_BIN2",
    ignores_trailing=True,
)
BIGQUERY = SqlDialect("bigquery", "BigQuery", has_nan="unequal")
SNOWFLAKE = SqlDialect("snowflake", "Snowflake", folds_names=False)
DATABRICKS = SqlDialect("databricks", "Databricks", "FLOAT", attach="lateral")
REDSHIFT = SqlDialect("redshift", "Redshift", text="VARCHAR(MAX)", ignores_trailing=True)
MYSQL = SqlDialect(
    *("mysql", "MySQL"),
    has_nan="no",
    has_infinity=False,
    attach="lateral",
    text="CHAR",
    collation="utf8mb4_0900_bin",  # of connections with the character set utf8mb4, which is the default
)
TRINO = SqlDialect("trino", "Trino", has_nan="unequal", attach="lateral")
CLICKHOUSE = SqlDialect("clickhouse", "ClickHouse", has_nan="unequal", folds_names=False)

DIALECTS = {
    dialect.name: dialect
    for dialect in (
        *(DUCKDB, POSTGRES, SPARK, SQLITE, SQL_SERVER, BIGQUERY, SNOWFLAKE),
        *(DATABRICKS, REDSHIFT, MYSQL, TRINO, CLICKHOUSE),
    )
}
ALIASES = {
    **{"mssql": "tsql", "sql server": "tsql", "sqlserver": "tsql"},
    **{"pg": "postgres", "postgresql": "postgres", "sparksql": "spark"},
}


def find_dialect(name: str) -> SqlDialect:
    """Find a dialect by its name or alias, in any case.

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
