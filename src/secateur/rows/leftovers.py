"""Directories of this run that must be gone at its end, also where nothing can be unwound."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

_noted: dict[Path, Callable[[], object]] = {}  # how each directory that there is now is removed


def note(path: Path, remove: Callable[[], object]) -> None:
    """Note a directory, and how it is removed."""
    _noted[path] = remove


def forget(path: Path) -> None:
    """Forget a directory that is gone."""
    _noted.pop(path, None)


@contextmanager
def make_room() -> Iterator[Path]:
    """Make a temporary directory."""
    with TemporaryDirectory(prefix="secateur-") as created:
        room = Path(created)
        note(room, partial(shutil.rmtree, room, ignore_errors=True))
        try:
            yield room
        finally:
            forget(room)


def remove_leftovers() -> None:
    """Remove every noted directory, because the program ends here and now."""
    for remove in list(_noted.values()):
        remove()
