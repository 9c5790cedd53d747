"""The ``secateur`` command and how it speaks to people.

Exit status: 0 when all is well, 1 when a check failed, 2 when the input was wrong.
"""

from __future__ import annotations

import sys

import typer

from secateur.cli import methods, reproduce, simplify
from secateur.cli.console import errors
from secateur.errors import SecateurError

__all__ = ["app", "run"]

app = typer.Typer(
    name="secateur",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Short rules from decision trees, without making them lie.",
    epilog="Exit status: 0 all is well, 1 a check failed, 2 the input was wrong.",
)
app.command("simplify")(simplify.command)
app.command("methods")(methods.command)
app.command("reproduce")(reproduce.command)


def run() -> None:
    """Run the command line; a person's mistake is one sentence, never a traceback."""
    try:
        app()
    except SecateurError as error:
        errors.print(f"[bold red]Error:[/] {error}", highlight=False)
        sys.exit(2)
