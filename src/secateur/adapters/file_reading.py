"""Reading model files: the bytes, the optional libraries, and errors of damaged content."""

from __future__ import annotations

from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from secateur.errors import FormatError, InputError, InvalidTreeError, ParameterError, SecateurError, first_line
from secateur.rows.regular_files import read_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["need_library", "read_bytes", "refuse_damage"]


def need_library(library: str, extra: str, what: str) -> None:
    """Say what to install where an optional library is absent."""
    if find_spec(library) is None:
        raise ParameterError(
            f"{what} needs {library}, which is not installed. Get it with: pip install secateur[{extra}]."
        )


def read_bytes(path: Any, what: str) -> bytes:
    """Read a file."""
    try:
        return read_whole(path)
    except InputError as error:
        raise FormatError(f"{what} cannot be read. {error}") from error


@contextmanager
def refuse_damage(what: str) -> Iterator[None]:
    """Turn the errors that a damaged file causes into FormatErrors."""
    try:
        yield
    except InvalidTreeError as error:
        raise FormatError(f"{what} does not hold a tree. {error}") from error
    except SecateurError:
        raise
    except KeyError as error:
        raise FormatError(f"{what} has no field {error.args[0]!r}; it was cut or edited.") from error
    except (AttributeError, IndexError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise FormatError(f"{what} has the wrong type or length in a field: {first_line(error)}.") from error
