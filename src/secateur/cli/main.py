"""The ``secateur`` command.

Exit status: 0: success, 1: a check failed, 2: bad input, 130: stopped, 141: the output pipe was closed.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from importlib import import_module
from inspect import cleandoc
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from secateur import __version__
from secateur.cli.console import PipeClosed
from secateur.errors import SecateurError

if TYPE_CHECKING:
    app: typer.Typer

__all__ = ["COMMANDS", "app", "make_app", "run"]

STOPPED, PIPE_CLOSED = 130, 141  # 128 and the number of the signal, as in shells
SHOWN_PATH = 80
_stops: list[bool] = []  # one for each time that Ctrl-C was pressed
EXAMPLES = "For example:"
STATUS = "Exit status: 0 all is well, 1 a check failed, 2 the input was wrong."
EPILOGS = {
    "audit": "Exit status: 0 no rule moved, 1 a rule moved, 2 the input was wrong.",
    "diff": "Exit status: 0 the same rules, 1 different rules, 2 the input was wrong.",
}
HELP = """Short rules from decision trees, without making them lie.

Try it on embedded data with `secateur simplify`, then on a table of yours:

\b
secateur simplify loans.csv --target outcome
secateur simplify loans.csv --target outcome --report page.html
secateur simplify loans.csv --target outcome --export sql > rules.sql
"""
# Each is a module of this package that is loaded when it is called; to list them takes only these words.
COMMANDS = {
    "simplify": "Fit a tree to a table and delete the conditions that do not matter.",
    "explain": "Say which rule decides a row, and why.",
    "verify": "Prove again what rules promise; status 1 if they do not hold.",
    "audit": "Say which rules still hold on new rows; status 1 if one moved.",
    "export": "Write rules as SQL, Python, JSON, Markdown, LaTeX, CSV, PMML or ONNX.",
    "report": "Write a page about rules, one HTML file.",
    "diagnose": "Say what each condition of each rule does, in three layers.",
    "compare": "Use every method on one tree, side by side.",
    "diff": "Say what changed between the rules of two trainings.",
    "methods": "List the methods, from the strictest guarantee to none.",
    "reproduce": "Run experiments of the paper again.",
}


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'secateur.cli.main' has no attribute {name!r}")
    globals()["app"] = made = make_app()
    return made


def make_app(only: str | None = None) -> typer.Typer:
    """Make the command line; with ``only`` one command is loaded, or none if it is empty, which halves the start."""
    made = typer.Typer(
        name="secateur",
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
            command = import_module(f"secateur.cli.{name}").command
            text = _keep_lines(command.__doc__ or words)  # python -OO drops docstrings
            made.command(name, help=text, short_help=words, epilog=EPILOGS.get(name, STATUS))(command)
        else:
            made.command(name, short_help=words)(_call_whole)
    return made


def _keep_lines(text: str) -> str:
    """Turn a docstring into help with a line for each example."""
    return cleandoc(text).replace(f"{EXAMPLES}\n\n", f"{EXAMPLES}\n\n\b\n")


def _answer(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    if version:
        from secateur.cli.console import print_text

        print_text(f"secateur {__version__}")
        raise typer.Exit


def _call_whole() -> None:
    """Load all commands if the guess which one is called was wrong."""
    make_app()()


class _Stopped(BaseException):
    """Ctrl-C, in a form that no library catches."""


def run() -> None:
    """Run the command line; answer a person's mistake with one sentence, never with a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a character that the terminal cannot show must not stop the program
    before = signal.signal(signal.SIGINT, _stop)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            make_app(_guess_command(sys.argv[1:]))()
    except (_Stopped, KeyboardInterrupt):
        _end_stopped()
    except (PipeClosed, BrokenPipeError):
        # The reader of our output has closed it, as `head` does. Python would complain again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(PIPE_CLOSED)
    except (SecateurError, OSError, RuntimeError) as error:
        if _stops:  # a library turned Ctrl-C into an error of its own
            _end_stopped()
        if not isinstance(error, (SecateurError, OSError)):
            raise
        _complain(error)
        sys.exit(2)
    finally:
        signal.signal(signal.SIGINT, before)


def _guess_command(arguments: list[str]) -> str | None:
    """Guess which command is called: empty for none, None if the shell asks for completions."""
    if any(name.endswith("_COMPLETE") for name in os.environ):
        return None
    named = next((word for word in arguments if not word.startswith("-")), "")
    return named if named in COMMANDS else ""


def _stop(*_: Any) -> NoReturn:
    _stops.append(True)
    raise _Stopped


def _end_stopped() -> NoReturn:
    sys.stderr.write("\nStopped.\n")
    sys.exit(STOPPED)


def _complain(error: SecateurError | OSError) -> None:
    from rich.text import Text

    from secateur.cli.console import errors

    sentence = str(error)
    if isinstance(error, OSError):
        name = f"{str(error.filename)[:SHOWN_PATH]}: " if error.filename else ""
        sentence = f"{name}{error.strerror or error}. Name another file."
    errors.print(Text.assemble(("Error:", "bold red"), f" {sentence}"))


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a library's warning in one line beside the results."""
    from secateur.cli.console import tell

    tell(f"Note: {' '.join(str(message).split())}")
