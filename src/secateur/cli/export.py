"""``secateur export``: write rules for other programs and for documents."""

from pathlib import Path
from typing import Annotated

import typer

from secateur.cli.options import Dialect, Export, Force, Output, Quiet, SqlTable
from secateur.cli.writing import check_outputs, choose_export, deliver, make_export
from secateur.errors import ParameterError


def command(
    rules_file: Annotated[Path, typer.Argument(metavar="RULES", help="Rules as --export json wrote them.")],
    format: Annotated[
        Export | None, typer.Option("--format", "-f", help="Format to write; by default what --output's ending says.")
    ] = None,
    output: Output = None,
    dialect: Dialect = "duckdb",
    sql_table: SqlTable = "rows",
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write rules as SQL, Python, JSON, Markdown, LaTeX, CSV, a page, PMML or ONNX.

    For example:

    secateur export rules.json --format sql --dialect postgres --sql-table loans > rules.sql
    secateur export rules.json -o rules.py
    """
    from secateur.cli.model_files import load_rules

    kind = choose_export(format, output, "--format")
    if kind is None:
        raise ParameterError("Say what to write with --format, such as --format sql.")
    check_outputs(output, inputs=(rules_file,), force=force)
    made = make_export(load_rules(rules_file), kind, dialect, sql_table)
    deliver(made, output, force=force, quiet=quiet)
