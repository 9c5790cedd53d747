"""Refuse an output that is read as well, by whatever name."""

from __future__ import annotations

import os
import sys
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["check_not_read"]


def check_not_read(output: Path, sources: Iterable[Any]) -> None:
    """Refuse an output that is one of the files to read, or would be among those of a directory.

    Links, second names and names in another case are seen through. Sources that are no paths are passed over; ``-`` is
    standard input.
    """
    for source in sources:
        if not isinstance(source, (str, os.PathLike)):
            continue
        name = os.fspath(source)
        if name == "-":
            is_read = _is_standard_input(output)
        elif os.path.isdir(name):
            home = Path(os.path.realpath(name))
            if home in Path(os.path.realpath(output)).parents:
                raise InputError(f"{output} would be in {name}, where every file is read: name another place for it.")
            is_read = False
        else:
            names = glob(name, recursive=True) if has_magic(name) and not os.path.exists(name) else [name]
            is_read = output.is_file() and any(os.path.isfile(one) and output.samefile(one) for one in names)
        if is_read:
            same = "" if str(output) == name else f" ({name})"
            raise InputError(f"{output} is a file that is read{same}, so it is not written: name another output.")


def _is_standard_input(output: Path) -> bool:
    try:
        return output.is_file() and os.path.samestat(output.stat(), os.fstat(sys.stdin.fileno()))
    except (OSError, ValueError, AttributeError):  # there is none, or a stream of Python
        return False
