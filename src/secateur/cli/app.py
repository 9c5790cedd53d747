"""Put the commands together; each is loaded when it is called."""

import os
import re
from importlib import import_module
from inspect import cleandoc
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from secateur import __version__

if TYPE_CHECKING:
    app: typer.Typer

EXAMPLES = "For example:"
STATUS = "Exit status: 0 all is well, 1 a check failed, 2 the input was wrong."  # but for those below
EPILOGS = {
    "audit": "Exit status: 0 nothing moved, 1 a line or the table moved, 2 the input was wrong.",
    "bench": "Exit status: 0 all data sets were run, 2 some were left out, or the input was wrong.",
    "diff": "Exit status: 0 the same rules, 1 different rules, 2 the input was wrong.",
    "verify": "Exit status: 0 verified, 1 something is wrong, 2 not everything was checked, or the input was wrong.",
}
HELP = """Short rules from decision trees, without making them lie.

Try it on embedded data with `secateur simplify`, then on a table of yours:

\b
secateur simplify loans.csv --target outcome
secateur simplify loans.csv --target outcome --report page.html
secateur simplify loans.csv --target outcome --export sql > rules.sql
"""
# Each is loaded when it is called; to list them takes only these words.
COMMANDS = {
    "simplify": "Turn a table's decision tree, or one of yours, into a short rule list.",
    "approximate": "Approximate a forest or any other model by a short rule list.",
    "explain": "Say which rule decides a row, and why.",
    "verify": "Prove again what rules promise; status 1 if they do not hold.",
    "audit": "Say which rules still hold on new rows; status 1 if one or the table moved.",
    "apply": "Make the edits of a journal again on a list, and say what they cost.",
    "export": "Write rules as SQL, Python, JSON, Markdown, LaTeX, CSV, PMML or ONNX.",
    "report": "Write a page about rules, one HTML file.",
    "open": "Show a page about rules with the rows behind it: edits, refits, two trainings side by side.",
    "diagnose": "Say what each condition of each rule does, in three layers.",
    "compare": "Use every method on one tree, side by side.",
    "diff": "Say what changed between the rules of two trainings, or a policy.",
    "methods": "List the methods, from the strictest guarantee to none.",
    "reproduce": "Run experiments of the paper again.",
    "bench": "Run methods that shorten rules, or one of yours, on many data sets.",
}
MODULES = {  # of this package; other commands have one of their own name
    **dict.fromkeys(("apply", "diff", "export"), "rules_files"),
    **dict.fromkeys(("verify", "audit"), "checks"),
    **dict.fromkeys(("report", "open"), "pages"),
    **dict.fromkeys(("reproduce", "bench"), "studies"),
    "methods": "compare",
}
# What the library that parses options says, and what a person can use.
PLAIN_WORDS = {
    r"^Value error, ": "",
    r"^Input should be a valid number.*": "expected a number, such as 0.01.",
    r"^Input should be a valid integer.*": "expected a whole number.",
    r"^Input should be greater than or equal to (\S+)$": r"expected at least \1.",
    r"^Input should be less than or equal to (\S+)$": r"expected at most \1.",
}


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'secateur.cli.app' has no attribute {name!r}")
    globals()["app"] = made = make_app()
    return made


def make_app(only: str | None = None) -> typer.Typer:
    """Make the command line; with ``only`` one command is loaded, or none if it is empty, which halves the start."""
    made = typer.Typer(
        name="secateur",
        cls=_PlainGroup,
        no_args_is_help=True,
        invoke_without_command=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain help appears in half the time
        help=HELP,
        epilog=STATUS,
    )
    made.callback()(_answer)
    for name, words in COMMANDS.items():
        if only is None or name == only:
            command = getattr(import_module(f"secateur.cli.{MODULES.get(name, name)}"), f"{name}_command")
            text = cleandoc(command.__doc__ or words)  # python -OO drops docstrings
            text = text.replace(f"{EXAMPLES}\n\n", f"{EXAMPLES}\n\n\b\n")  # a line for each example
            made.command(name, help=text, short_help=words, epilog=EPILOGS.get(name, STATUS))(command)
        else:
            made.command(name, short_help=words)(lambda: make_app()())  # which loads all, if the guess was wrong
    return made


class _PlainGroup(TyperGroup):
    """Commands whose options are rejected in plain words."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            for theirs, ours in PLAIN_WORDS.items():
                error.message = re.sub(theirs, ours, error.message)
            raise


def _answer(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    if version:
        from secateur.cli.console import print_text

        print_text(f"secateur {__version__}")
        raise typer.Exit


def guess_command(arguments: list[str]) -> str | None:
    """Guess which command is called: empty for none, None if the shell asks for completions."""
    if any(name.endswith("_COMPLETE") for name in os.environ):
        return None
    named = next((word for word in arguments if not word.startswith("-")), "")
    return named if named in COMMANDS else ""
