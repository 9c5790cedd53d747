"""What the shell may complete: names that are known without loading anything heavy."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

__all__ = ["DIALECTS", "METHOD_NAMES", "complete_column", "complete_dialect", "complete_method"]

# Held equal to `secateur.METHODS` by a test: importing them takes longer than a person waits for a completion.
METHOD_NAMES = (
    *("none", "sibling", "subtree", "redundancy", "exact"),
    *("mismatch-certified", "layered", "mismatch", "budgeted", "quinlan"),
)
DIALECTS = ("duckdb", "postgres", "spark", "sqlite", "tsql", "bigquery", "snowflake")


def complete_method(incomplete: str) -> list[str]:
    """Methods that begin so."""
    return [name for name in METHOD_NAMES if name.startswith(incomplete.lower())]


def complete_dialect(incomplete: str) -> list[str]:
    """SQL dialects that begin so."""
    return [name for name in DIALECTS if name.startswith(incomplete.lower())]


def complete_column(incomplete: str) -> list[str]:
    """Columns of the CSV file that stands on the line, that begin so."""
    from secateur.rows.file_queries import read_header_names

    # A line that ends in an option without a value is not parsed, so the words of the shell are looked at.
    words = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    file = next((Path(word) for word in _split(words)[1:] if Path(word).is_file()), None)
    names = [] if file is None else read_header_names(file)
    return [name for name in names if name.startswith(incomplete)]


def _split(line: str) -> list[str]:
    """The words of a line that may not be finished."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()
