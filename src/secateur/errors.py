"""The errors that secateur raises for a person's input: what was expected, what was found and what to do."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib.util import find_spec

SHOWN_NAMES = 5
MOST_CHARACTERS = 2_000  # of a message: a damaged file can hold a "number" of any length
# What says nothing to the reader of a sentence: where an object lies in memory, and where Python was.
INNARDS = re.compile(r"<[\w. ]+ object at 0x[0-9a-f]+>|\.? Detail: Python exception: .*")


def first_line(error: Exception) -> str:
    """Take the first line of another library's error message, without its full stop."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return INNARDS.sub("", lines[0]).rstrip(". ")


def shorten(items: Sequence[object]) -> str:
    """List the first few items and count the rest; a single one more is listed, too."""
    n_shown = SHOWN_NAMES if len(items) > SHOWN_NAMES + 1 else len(items)
    shown = ", ".join(repr(item) for item in items[:n_shown])
    return shown if len(items) == n_shown else f"{shown} and {len(items) - n_shown} more"


def did_you_mean(name: object, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Suggest the known name nearest to a misspelt one, after a blank; an empty text if none is near."""
    lowered = {one.lower(): one for one in known}
    close = get_close_matches(str(name).lower(), lowered, n=1, cutoff=cutoff)
    return f" Did you mean {lowered[close[0]]!r}?" if close else ""


class SecateurError(ValueError):
    r"""Base class of every error that secateur raises on purpose.

    A message may quote what a file holds. It is one line of limited length, without characters that a terminal would
    obey.

    Examples
    --------
    >>> print(SecateurError("Expected a tree, found an \x1b[2J."))
    Expected a tree, found an \x1b[2J.
    """

    def __init__(self, message: object = "") -> None:
        text = str(message)
        if len(text) > MOST_CHARACTERS:
            half = MOST_CHARACTERS // 2
            text = f"{text[:half]} … {text[-half:]}"
        if not text.isprintable():
            text = "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)
        super().__init__(text)


class InvalidTreeError(SecateurError):
    """A tree breaks an invariant of the contract in ``docs/tree-format.md``."""


class UnsupportedModelError(SecateurError):
    """A model cannot be read exactly, so it is rejected."""


class EnsembleError(UnsupportedModelError):
    """A model of several trees that decide together; :func:`secateur.approximate` takes it."""


class InputError(SecateurError):
    """Rows, labels, weights or names do not fit the tree."""


class ParameterError(SecateurError):
    """An argument is outside its range, or names nothing that exists."""


class FormatError(SecateurError):
    """A file was not written by secateur, is newer than it, or was damaged."""


def need_library(library: str, extra: str, what: str) -> None:
    """Say what to install where an optional library is absent."""
    if find_spec(library) is None:
        raise ParameterError(f"{what} needs {library}: pip install 'secateur[{extra}]'.")


__all__ = sorted(name for name in globals() if name.endswith("Error"))
