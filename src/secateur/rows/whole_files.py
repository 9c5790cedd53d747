"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from secateur.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["check_outputs", "stage_file", "write_files", "write_whole"]


def check_outputs(paths: Iterable[Path], *, force: bool = False) -> None:
    """Refuse paths that cannot be written, before any work is done for them.

    Parameters
    ----------
    paths : iterable of Path
    force : bool, default=False
        Whether a file that is there may be replaced.
    """
    seen: set[str] = set()
    for path in paths:
        if path.is_dir():
            raise InputError(f"{path} is a directory: name a file in it.")
        if not path.parent.is_dir():
            raise InputError(f"Cannot write {path}: there is no directory {path.parent}. Make it first.")
        if path.exists() and not _is_device(path) and not force:
            raise InputError(f"{path} exists already: pass --force to replace it, or name another file.")
        if not os.access(path if _is_device(path) else path.parent, os.W_OK):
            raise InputError(f"Cannot write {path}: you may not write to {path.parent}. Name another place.")
        if (place := os.path.realpath(path)) in seen and not _is_device(path):
            raise InputError(f"Two outputs would go to {path}: name a file for each.")
        seen.add(place)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file beside its place and move it there, so that a killed run leaves no half of it.

    Directories that are not there are made. A device or pipe is written to as it is, and a link stays a link.
    """
    write_files({path: content})


def write_files(contents: Mapping[Path, str | bytes]) -> None:
    """Write several files as :func:`write_whole` writes one: all of them, or none where an error stops it.

    Devices and pipes come last, because what they were sent cannot be taken back.
    """
    data = {path: _encode(path, content) for path, content in contents.items()}
    devices = [path for path in data if _is_device(path)]
    staged: dict[Path, Path] = {}
    backups: dict[Path, Path | None] = {}
    place: Path | None = None
    try:
        for place in data:
            if place not in devices:
                target = Path(os.path.realpath(place))
                if target in staged:
                    raise InputError(f"Two outputs would go to {place}: name a file for each.")
                staged[target] = _stage(target, data[place])
        for place in staged:
            backups[place] = _back_up(place) if len(data) > 1 else None
        for place, temporary in staged.items():
            os.replace(temporary, place)
        for place in devices:
            place.write_bytes(data[place])
    except BaseException as error:
        if len(data) > 1:
            _take_back(staged, backups)
        if isinstance(error, OSError):
            raise InputError(f"Cannot write {place}: {error.strerror or error}. Name another place.") from error
        raise
    finally:
        for leftover in (*staged.values(), *backups.values()):
            if leftover is not None:
                leftover.unlink(missing_ok=True)


@contextmanager
def stage_file(path: Path) -> Iterator[Path]:
    """A place beside a new file to write it to; it is moved to its place at the end, unless an error stops the writing.

    Parameters
    ----------
    path : Path
        A file that must not be there yet.

    Yields
    ------
    Path
    """
    if path.exists():
        raise InputError(f"{path} exists already: name another file, or delete it first.")
    try:
        temporary = _stage(path, b"")
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror or error}. Name another place.") from error
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror or error}. Name another place.") from error
    finally:
        temporary.unlink(missing_ok=True)


def _encode(path: Path, content: str | bytes) -> bytes:
    try:
        return content.encode() if isinstance(content, str) else content
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise InputError(
            f"Cannot write {path}: its text holds {half!r}, half of a character, which UTF-8 cannot hold. Rename the "
            "column, category or file that it comes from."
        ) from error


def _stage(target: Path, data: bytes) -> Path:
    """Write a file beside its place, with the permissions of the file that is there."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    target.parent.mkdir(parents=True, exist_ok=True)
    # A temporary file is for its owner alone.
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_read_umask()
    temporary = _name_beside(target)
    try:
        temporary.write_bytes(data)
        temporary.chmod(mode)
    except BaseException:
        temporary.unlink()
        raise
    return temporary


def _back_up(target: Path) -> Path | None:
    """A second name, or a copy, of a file that is about to be replaced; None if there is none."""
    if not target.exists():
        return None
    backup = _name_beside(target)
    backup.unlink()
    try:
        os.link(target, backup)
    except OSError:  # where files cannot have two names
        try:
            shutil.copy2(target, backup)
        except BaseException:
            backup.unlink(missing_ok=True)
            raise
    return backup


def _take_back(staged: Mapping[Path, Path], backups: Mapping[Path, Path | None]) -> None:
    """Put back what was replaced, as far as that can be done."""
    for target, backup in backups.items():
        if not staged[target].exists():  # it is in its place
            with suppress(OSError):
                target.unlink() if backup is None else os.replace(backup, target)


def _name_beside(target: Path) -> Path:
    """An empty file in the same directory."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".secateur.")
    os.close(handle)
    return Path(name)


def _is_device(path: Path) -> bool:
    """Whether something is there that is neither a file nor a directory, such as /dev/stdout."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _read_umask() -> int:
    """The permissions that new files do not get; the system tells them only to whoever sets them."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
