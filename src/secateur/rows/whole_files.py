"""Write files whole or not at all: into a temporary file beside them that is then renamed."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from secateur.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["encode_text", "is_device", "stage_file", "write_whole"]


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that a killed run leaves the old file or the new one, never half of it.

    Missing directories are made. A device or pipe is written to directly, and a link stays a link.
    """
    data = encode_text(path, content)
    if not is_device(path):
        with stage_file(path, replace=True) as temporary:
            temporary.write_bytes(data)
        return
    try:
        path.write_bytes(data)
    except OSError as error:
        raise _refuse(path, error) from error


@contextmanager
def stage_file(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Open an empty file beside a path, and move it to that path unless an error stops the writing.

    With ``replace`` the path may exist already, and keeps its permissions.
    """
    if path.exists() and not replace:
        raise InputError(f"{path} exists already: name another file, or delete it first.")
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".secateur.{token_hex(8)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(0o600 if target.exists() else 0o666, exist_ok=False)
        yield temporary
        with temporary.open("ab") as file:
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:
        raise _refuse(path, error) from error
    finally:
        with suppress(OSError):  # it is gone if all went well
            temporary.unlink()


def encode_text(path: Path, content: str | bytes) -> bytes:
    """Encode text as UTF-8; refuse half a character, naming the file."""
    try:
        return content.encode() if isinstance(content, str) else content
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise InputError(
            f"Cannot write {path}: its text holds {half!r}, half of a character, which UTF-8 cannot hold. Rename the "
            "column, category or file that it comes from."
        ) from error


def is_device(path: Path) -> bool:
    """Whether a path exists but is neither a file nor a directory, such as /dev/stdout."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _refuse(path: Path, error: OSError) -> InputError:
    return InputError(f"Cannot write {path}: {error.strerror or error}. Name another place.")
