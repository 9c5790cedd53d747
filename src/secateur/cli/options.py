"""The options that several commands share, and what they mean together."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from secateur.cli.completion import complete_column, complete_dialect, complete_method


class Format(StrEnum):
    """What a table may be written as."""

    csv = "csv"
    tsv = "tsv"
    json = "json"
    parquet = "parquet"
    arrow = "arrow"


class Export(StrEnum):
    """What rules may be written as."""

    sql = "sql"
    python = "python"
    numpy = "numpy"
    json = "json"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"
    text = "text"
    html = "html"
    pmml = "pmml"
    onnx = "onnx"


Target = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="The column of the classes.", autocompletion=complete_column)
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="Columns to leave out, with commas or one option each.",
        autocompletion=complete_column,
    ),
]
DropClass = Annotated[
    list[str] | None, typer.Option("--drop-class", metavar="CLASS", help="A class whose rows are left out.")
]
Fact = Annotated[
    list[str] | None,
    typer.Option(metavar="FACT", help="What is known of a column, such as 'age is not missing' or '0 <= bmi <= 100'."),
]
NoFacts = Annotated[
    bool,
    typer.Option(
        "--no-facts", help="Do not take for granted what the table shows: whole numbers, decimals, no blanks."
    ),
]
TableFormat = Annotated[
    Format | None, typer.Option("--format", help="What DATA is written as; by default what its first bytes show.")
]
Encoding = Annotated[str | None, typer.Option(help="Encoding of a CSV or JSON file.  [default: utf-8]")]
Missing = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="A text in a CSV file that means a blank, beside NA and ?."),
]
Sample = Annotated[int | None, typer.Option(help="Take only so many rows, drawn at random.", min=2)]
Model = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A fitted model (.skops, a tree or rules as JSON, ONNX or PMML) rather than a tree fitted here.",
    ),
]
TrustPickle = Annotated[
    bool, typer.Option("--trust-pickle", help="Open a pickle, which can run any code that somebody put into it.")
]
Trust = Annotated[
    list[str] | None, typer.Option(metavar="TYPE", help="A type that a .skops file may hold, such as my.module.Step.")
]
Method = Annotated[
    str | None,
    typer.Option(
        help="How to delete; see `secateur methods`.  [default: layered; without rows: exact]",
        autocompletion=complete_method,
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(help="How far a rule's reliability may move, 0 to 1.  [default: 0.05]", show_default=False),
]
Budget = Annotated[
    float | None,
    typer.Option(help="Share of rows in conflict (budgeted), 0 to 1.  [default: 0.015]", show_default=False),
]
MaxDepth = Annotated[
    int | None, typer.Option(help="Depth limit of the tree.  [default: 5 for DATA, none for --table]", min=1)
]
MinRows = Annotated[int, typer.Option(help="Fewest rows of a leaf.", min=1)]
Seed = Annotated[int, typer.Option(help="random_state of the tree.", min=0, max=2**32 - 1)]
Holdout = Annotated[float, typer.Option(metavar="SHARE", help="Share of the rows to measure on rather than fit to.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where it goes; - is the screen.")]
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
    """Whether what is asked for goes to standard output."""
    return output is None or str(output) == "-"
