"""Declare the options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from secateur.cli.completion import complete_dialect, complete_method

# What a table and rules may be written as.
Format = StrEnum("Format", ["csv", "tsv", "json", "parquet", "arrow"])
Export = StrEnum(
    "Export", ["sql", "python", "numpy", "json", "markdown", "latex", "csv", "text", "html", "pmml", "onnx"]
)

Fact = Annotated[
    list[str] | None,
    typer.Option(metavar="FACT", help="What is known of a column, such as 'age is not missing' or '0 <= bmi <= 100'."),
]
Model = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A fitted model (.skops, a tree or rules as JSON, ONNX or PMML) instead of a tree fitted here.",
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        help="How to delete; see `secateur methods`.  [default: layered; without rows: exact]",
        autocompletion=complete_method,
    ),
]
Seed = Annotated[int, typer.Option(help="random_state of the tree.", min=0, max=2**32 - 1)]
Holdout = Annotated[float, typer.Option(metavar="SHARE", help="Share of the rows to measure on instead of fitting to.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write; - is the screen.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines, and nothing else.")]
Dialect = Annotated[
    str,
    typer.Option(
        help="SQL dialect: duckdb, postgres, spark, sqlite, tsql, bigquery or snowflake.",
        autocompletion=complete_dialect,
    ),
]
SqlTable = Annotated[str, typer.Option(metavar="NAME", help="The table that the SQL statement reads.")]


def is_screen(output: Path | None) -> bool:
    """Whether an output goes to standard output."""
    return output is None or str(output) == "-"
