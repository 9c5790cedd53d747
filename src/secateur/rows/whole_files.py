"""Write files whole or not at all, several together, and never over an input.

They are written in staging directories beside their places, and moved from there.
"""

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from glob import glob, has_magic
from pathlib import Path
from secrets import token_hex
from typing import Any

from secateur.errors import InputError
from secateur.rows import staging

NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)


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
        raise _make_error(path, error) from error


@contextmanager
def stage_file(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Open an empty file that becomes the one at a path, unless an error stops the writing."""
    with stage_files([path], replace=replace) as [staged]:
        yield staged


@contextmanager
def stage_files(paths: Sequence[Path], *, replace: bool = False) -> Iterator[list[Path]]:
    """Open an empty file for each path; at the end all are moved to their paths, or none if an error stops it.

    With ``replace`` a path may exist already, and keeps its permissions; without, it is created, by one run only.
    """
    if not paths:
        yield []
        return
    targets = [Path(os.path.realpath(path)) for path in paths]
    directories = list(dict.fromkeys(target.parent for target in targets))
    token = token_hex(8)
    waiting = {directory: staging.StagingDirectory(directory, token, directories[0]) for directory in directories}
    moves: list[staging.Move] = []
    try:
        if not replace:
            _check_new(paths)
        for directory in directories:
            directory.mkdir(parents=True, exist_ok=True)
        with staging.lock_directories(directories) as is_locked:
            for directory, own in waiting.items():
                if is_locked:
                    staging.clean_dead(directory)
                own.make()
        for number, target in enumerate(targets):
            held = waiting[target.parent].path
            moves.append(staging.Move(held / f"{number}.new", held / f"{number}.old", target))
            moves[-1].staged.touch(0o600 if target.exists() else 0o666, exist_ok=False)
        yield [move.staged for move in moves]
        for move in moves:
            _finish(move)
        with staging.lock_directories(directories):
            if not replace:
                _check_new(paths)
            _move_all(moves, replace=replace)
    except BlockingIOError as error:
        raise InputError(f"Another run of secateur is writing beside {paths[0]}: try again after it.") from error
    except OSError as error:
        named = (one for one, move in zip(paths, moves, strict=False) if move.is_named_by(error))
        raise _make_error(next(named, paths[0]), error) from error
    finally:
        last_to_first = list(reversed(waiting.values()))  # the first one is the last to go: it may have the journal
        try:
            _remove(last_to_first)
        except BaseException:  # Ctrl-C or SIGTERM came meanwhile: what is left goes first
            _remove(last_to_first)
            raise


def _remove(directories: Iterable[staging.StagingDirectory]) -> None:
    for directory in directories:
        directory.remove()


def _check_new(paths: Sequence[Path]) -> None:
    for path in paths:
        if path.exists():
            raise InputError(f"{path} exists already: name another file, or delete it first.")


def _finish(move: staging.Move) -> None:
    """Bring a staged file to the disk, with the permissions of what it replaces."""
    with move.staged.open("ab") as file:
        try:
            os.fsync(file.fileno())
        except OSError as error:
            error.filename = str(move.staged)
            raise
    if move.target.exists():
        shutil.copymode(move.target, move.staged)


def _move_all(moves: list[staging.Move], *, replace: bool) -> None:
    """Move all files to their places; take back those that were moved if one cannot be."""
    for move in moves:
        if move.target.exists():
            _link(move.target, move.kept, shutil.copy2)
    moved = [(move, move.identify()) for move in moves]
    place = os.replace if replace else _create
    try:
        if len(moves) > 1:
            staging.keep_journal(moves)
        for move in moves:
            place(move.staged, move.target)
        for directory in {move.target.parent for move in moves}:
            staging.sync_directory(directory)
        staging.drop_journal(moves)
    except BaseException as stopped:
        try:
            staging.take_back(moved)
            staging.drop_journal(moves)
        except OSError as error:
            raise InputError(
                f"Some files in {moves[0].target.parent} may be new and others old ({error.strerror or error}): the "
                "next command that writes there takes the new ones back."
            ) from stopped
        raise


def _create(staged: Path, target: Path) -> None:
    """Move a file to a name that nobody has; of two that try, one fails."""
    _link(staged, target, os.replace)
    with suppress(FileNotFoundError):
        os.unlink(staged)


def _link(source: Path, target: Path, fallback: Callable[[Path, Path], object]) -> None:
    """Give a file a second name; do something else on file systems that know only one."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        fallback(source, target)


def encode_text(path: Path, content: str | bytes) -> bytes:
    """Encode text as UTF-8; reject half a character, and name the file."""
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


def _make_error(path: Path, error: OSError) -> InputError:
    if isinstance(error, FileExistsError):
        return InputError(f"{path} exists already: name another file, or delete it first.")
    return InputError(f"Cannot write {path}: {error.strerror or error}. Name another place.")


def check_not_read(output: Path, sources: Iterable[Any]) -> None:
    """Reject an output file that is also an input, under any path, or would be among those of an input directory.

    Sources other than paths are passed over; ``-`` is standard input.
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
