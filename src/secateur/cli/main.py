"""The ``secateur`` command.

Exit status: 0: success, 1: a check failed, 2: bad input, 129: the terminal was closed, 130: Ctrl-C, 141: the output
pipe was closed, 143: ended by another program (SIGTERM). However it ends, outputs are whole and nothing half-written is
left. A signal is answered within two seconds, also in the middle of a library's long call.

Little is imported here: Ctrl-C is answered from the first moment on, and the libraries come after it.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from secateur.cli.console import PipeClosed

if TYPE_CHECKING:
    import typer

    from secateur.errors import SecateurError

    app: typer.Typer

HUNG_UP, STOPPED, PIPE_CLOSED, ENDED = 129, 130, 141, 143  # 128 and the number of the signal, as in shells
STOPS: dict[int, tuple[int, str]] = {
    signal.SIGINT: (STOPPED, "\nStopped."),
    signal.SIGTERM: (ENDED, "Stopped by a signal (SIGTERM)."),
}
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores it
    STOPS[signal.SIGHUP] = (HUNG_UP, "Stopped: the terminal was closed.")
PATIENCE = 1.0  # seconds for cleaning up, in which further signals do nothing
SHOWN_PATH = 80
LIBRARIES = ("duckdb", "jinja2", "pandas", "pyarrow", "rich", "skops", "sqlglot", "typer")  # of the extra "cli"
NO_MEMORY = (
    "There is not enough memory: close other programs, or pass smaller files; of a table's rows, --sample 100000 reads "
    "a part."
)
FEW_COLLECTIONS = 100_000  # new objects between two searches for garbage; loading libraries leaves none
_stops: list[tuple[int, float]] = []  # signals that came, and when
_told: list[str] = []  # what was said of them


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'secateur.cli.main' has no attribute {name!r}")
    from secateur.cli.app import app

    return app


class _Stopped(BaseException):
    """Ctrl-C or SIGTERM, in a form that no library catches."""


def start() -> None:
    """Run the command line as a program: it seldom looks for garbage, and does not take itself apart at its end."""
    gc.set_threshold(FEW_COLLECTIONS)
    _watch_signals()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed before the start
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  # as long as we live
    try:
        run()
        status = 0
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            raise
        status = end.code or 0
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        sys.exit(status)  # Python waits for what a library still has to do
    atexit._run_exitfuncs()  # no public name does it, and multiprocessing calls it as well
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # Python tells it, and ends with a status of its own
        sys.exit(status)
    os._exit(status)  # or Python takes every library apart, object by object, for 0.3 s


def _watch_signals() -> None:
    """End soon after a signal, also while a library works on millions of rows and Python cannot answer."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))  # what it gets is not for us

    def end() -> None:
        while (number := os.read(reader, 1)[0]) not in STOPS:
            pass
        time.sleep(PATIENCE)
        if rows := sys.modules.get("secateur.rows.whole_files"):
            rows.remove_leftovers()
        status, words = STOPS[number]
        if not _told:
            with suppress(OSError):  # there may be no terminal any more
                os.write(2, f"{words}\n".encode())
        os._exit(status)

    threading.Thread(target=end, daemon=True).start()


def run() -> None:
    """Run the command line; answer a person's mistake with one sentence, never with a traceback."""
    _stops.clear()
    before = {number: signal.signal(number, _stop) for number in STOPS}
    try:
        _run_command()
    except (_Stopped, KeyboardInterrupt):
        _end_stopped()
    except (PipeClosed, BrokenPipeError):
        # The reader of our output has closed it, as `head` does. Python would complain again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(PIPE_CLOSED)
    except SystemExit:
        # Where rich leaves a closed pipe to typer, it puts this in place of the stream and ends as if a check failed.
        if type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):
            sys.exit(PIPE_CLOSED)
        raise
    except (MemoryError, ImportError) as error:
        if isinstance(error, ModuleNotFoundError) and (library := str(error.name).split(".")[0]) in LIBRARIES:
            sys.stderr.write(f"Error: The command line needs {library}: pip install 'secateur[cli]'.\n")
            sys.exit(2)
        if not isinstance(error, MemoryError) and "memory" not in str(error):  # a library that does not fit any more
            raise
        sys.stderr.write(f"Error: {NO_MEMORY}\n")
        sys.exit(2)
    except (ValueError, OSError, RuntimeError) as error:
        from secateur.errors import SecateurError

        if _stops:  # a library turned it into an error of its own
            _end_stopped()
        if not isinstance(error, (SecateurError, OSError)):
            raise
        _complain(error)
        sys.exit(2)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run_command() -> None:
    import warnings

    from secateur.cli.app import guess_command, make_app

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a character that the terminal cannot show must not stop the program
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        make_app(guess_command(sys.argv[1:]))()


def _stop(number: int, _: Any) -> None:
    now = time.monotonic()
    if _stops and now - _stops[-1][1] < PATIENCE:
        return
    _stops.append((number, now))
    raise _Stopped


def _end_stopped() -> NoReturn:
    status, words = STOPS[_stops[0][0] if _stops else signal.SIGINT]
    _told.append(words)
    with suppress(OSError):  # there may be no terminal any more
        sys.stderr.write(f"{words}\n")
        sys.stderr.flush()
    sys.exit(status)


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
