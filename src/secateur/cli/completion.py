"""Complete names in the shell, without loading anything heavy."""

import os
import re
import shlex
from pathlib import Path

NAMED = re.compile(r'^    name = "(.+)"$', re.MULTILINE)
DIALECTS = (
    *("duckdb", "postgres", "spark", "sqlite", "tsql", "bigquery", "snowflake"),
    *("databricks", "redshift", "mysql", "trino", "clickhouse"),
)


def complete_method(incomplete: str) -> list[str]:
    """List the methods that begin so, as their files name them: importing those takes longer than a person waits."""
    texts = (file.read_text(encoding="utf-8") for file in (Path(__file__).parents[1] / "methods").glob("*.py"))
    names = sorted(name for text in texts if "\nMETHODS = " in text for name in NAMED.findall(text))
    return [name for name in names if name.startswith(incomplete.lower())]


def complete_dialect(incomplete: str) -> list[str]:
    """List the SQL dialects that begin so."""
    return [name for name in DIALECTS if name.startswith(incomplete.lower())]


def complete_column(incomplete: str) -> list[str]:
    """List the columns that begin so of the CSV file on the line."""
    from secateur.rows.file_queries import read_header_names

    # The parser gives up on a line that ends in an option without a value, so read the words of the shell.
    words = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    try:
        listed = shlex.split(words)
    except ValueError:  # a quote is still open
        listed = words.split()
    # Rules and models stand before the table, and are not it.
    paths = (Path(word) for word in listed[1:])
    file = next((path for path in paths if path.suffix.lower() != ".json" and path.is_file()), None)
    names = [] if file is None else read_header_names(file)
    return [name for name in names if name.startswith(incomplete)]
