"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from secateur.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["check_outputs", "write_files", "write_whole"]


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
    """Write several files as :func:`write_whole` writes one: all of them, or none."""
    staged: list[tuple[str, Path]] = []
    place: Path | None = None
    try:
        for path, content in contents.items():
            data = content.encode() if isinstance(content, str) else content
            place = path
            if _is_device(path):
                path.write_bytes(data)
                continue
            target = Path(os.path.realpath(path))
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".secateur.")
            staged.append((temporary, target))
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(temporary, 0o666 & ~_read_umask())  # a temporary file is for its owner alone
        for temporary, target in staged:
            place = target
            os.replace(temporary, target)
    except OSError as error:
        raise InputError(f"Cannot write {place}: {error.strerror}. Name another --output.") from error
    finally:
        for temporary, _ in staged:
            Path(temporary).unlink(missing_ok=True)


def _is_device(path: Path) -> bool:
    """Whether something is there that is neither a file nor a directory, such as /dev/stdout."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _read_umask() -> int:
    """The permissions that new files do not get; the system tells them only to whoever sets them."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
