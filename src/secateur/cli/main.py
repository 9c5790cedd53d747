"""The ``secateur`` command and how it speaks to people.

Exit status: 0 when all is well, 1 when a check failed, 2 when the input was wrong.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.text import Text

from secateur import __version__
from secateur.cli import methods, reproduce, simplify
from secateur.cli.console import errors, out
from secateur.errors import SecateurError

__all__ = ["app", "run"]

app = typer.Typer(
    name="secateur",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Short rules from decision trees, without making them lie.",
    epilog="Exit status: 0 all is well, 1 a check failed, 2 the input was wrong.",
)


@app.callback()
def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    """Short rules from decision trees, without making them lie."""
    if show:
        out.print(f"secateur {__version__}")
        raise typer.Exit


app.command("simplify")(simplify.command)
app.command("methods")(methods.command)
app.command("reproduce")(reproduce.command)


def run() -> None:
    """Run the command line; a person's mistake is one sentence, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a sign must not stop the program
    try:
        app()
    except SecateurError as error:
        errors.print(Text.assemble(("Error:", "bold red"), f" {error}"))
        sys.exit(2)
