"""The errors that secateur raises for a person's input.

::

    SecateurError (ValueError)
    ├── InvalidTreeError        an invariant of the tree contract is broken
    ├── UnsupportedModelError   a model that no adapter can read exactly
    ├── InputError              rows, labels, weights or names that do not fit the tree
    ├── ParameterError          an argument outside its range, or an unknown method
    └── FormatError             a file that is not ours, is newer than we are, or is damaged

Every message says what was expected, what was found and what to do.
"""

from __future__ import annotations

__all__ = [
    "FormatError",
    "InputError",
    "InvalidTreeError",
    "ParameterError",
    "SecateurError",
    "UnsupportedModelError",
]


def first_line(error: Exception) -> str:
    """The first line of what another library says of an error, without its full stop."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(". ")


class SecateurError(ValueError):
    """Base class of every error that secateur raises on purpose."""


class InvalidTreeError(SecateurError):
    """A tree breaks an invariant of the contract in ``docs/tree-format.md``."""


class UnsupportedModelError(SecateurError):
    """A model cannot be read exactly, so it is refused."""


class InputError(SecateurError):
    """Rows, labels, weights or names do not fit the tree."""


class ParameterError(SecateurError):
    """An argument is outside its range, or names nothing that exists."""


class FormatError(SecateurError):
    """A file was not written by secateur, is newer than it, or was damaged."""
