"""Write files whole or not at all, several together, and never over an input.

They are written in staging directories, ``.secateur-<token>``, one in every directory that a run writes to, and moved
to their places from there. Inside:

====================  ================================================================================================
``lock``              says that this is a staging directory, whose machine, and where the run's first one is; locked
                      as long as the run lives, because the system takes the lock away when a process ends
``0.new``, ``1.new``  the outputs, until they are moved to their places
``0.old``, ``1.old``  second names of the files that they replace
``journal``           which file goes where; only in the first one, and only while several outputs are moved
====================  ================================================================================================

A journal that a dead run left means: some outputs are new, others old. Whoever writes there next takes back the new
ones, so that all are old; if every output was moved, they stay. Nothing else is ever touched: a staging directory
belongs to a dead run only if its lock can be taken, and an output only if it is the very file that the run moved there.

Locks of :mod:`fcntl` on the output directories themselves keep two runs from moving files at once. Where a file system
has no locks, or the system no :mod:`fcntl`, files are still written whole, and nothing is taken for a dead run's.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from glob import glob, has_magic
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from secateur.errors import InputError

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
    waiting = {directory: StagingDirectory(directory, token, directories[0]) for directory in directories}
    moves: list[Move] = []
    try:
        if not replace:
            _check_new(paths)
        for directory in directories:
            directory.mkdir(parents=True, exist_ok=True)
        with lock_directories(directories) as is_locked:
            for directory, own in waiting.items():
                if is_locked:
                    clean_dead(directory)
                own.make()
        for number, target in enumerate(targets):
            held = waiting[target.parent].path
            moves.append(Move(held / f"{number}.new", held / f"{number}.old", target))
            moves[-1].staged.touch(0o600 if target.exists() else 0o666, exist_ok=False)
        yield [move.staged for move in moves]
        for move in moves:
            _finish(move)
        with lock_directories(directories):
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


def _remove(directories: Iterable[StagingDirectory]) -> None:
    for directory in directories:
        directory.remove()


def _check_new(paths: Sequence[Path]) -> None:
    for path in paths:
        if path.exists():
            raise InputError(f"{path} exists already: name another file, or delete it first.")


def _finish(move: Move) -> None:
    """Bring a staged file to the disk, with the permissions of what it replaces."""
    with move.staged.open("ab") as file:
        try:
            os.fsync(file.fileno())
        except OSError as error:
            error.filename = str(move.staged)
            raise
    if move.target.exists():
        shutil.copymode(move.target, move.staged)


def _move_all(moves: list[Move], *, replace: bool) -> None:
    """Move all files to their places; take back those that were moved if one cannot be."""
    for move in moves:
        if move.target.exists():
            _link(move.target, move.kept, shutil.copy2)
    moved = [(move, move.identify()) for move in moves]
    place = os.replace if replace else _create
    try:
        if len(moves) > 1:
            keep_journal(moves)
        for move in moves:
            place(move.staged, move.target)
        for directory in {move.target.parent for move in moves}:
            sync_directory(directory)
        drop_journal(moves)
    except BaseException as stopped:
        try:
            take_back(moved)
            drop_journal(moves)
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
    """Reject an output that is also an input, under any path, or would be in an input directory; - is stdin."""
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


_noted: dict[Path, Callable[[], object]] = {}  # how each directory that there is now is removed


@contextmanager
def make_room() -> Iterator[Path]:
    """Make a temporary directory."""
    with TemporaryDirectory(prefix="secateur-") as created:
        room = Path(created)
        _noted[room] = partial(shutil.rmtree, room, ignore_errors=True)
        try:
            yield room
        finally:
            _noted.pop(room, None)


def remove_leftovers() -> None:
    """Remove every noted directory, because the program ends here and now."""
    for remove in list(_noted.values()):
        remove()


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NAME = re.compile(r"\.secateur-[0-9a-f]{16}")
HELD = re.compile(r"lock|journal(\.part)?|\d+\.(new|old)")
MARK = "Outputs of secateur on their way; cleaned by the next run that writes to this directory."
WAIT = 60.0  # seconds for another run to move its files, which takes milliseconds
NOT_SYNCED = (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES)


class Move(NamedTuple):
    """A file that waits in a staging directory, and its way."""

    staged: Path
    kept: Path  # a second name of what it replaces
    target: Path

    def identify(self) -> list[int]:
        """Identify the staged file, also after it was moved."""
        status = self.staged.stat()
        return [status.st_ino, status.st_size, status.st_mtime_ns]

    def is_named_by(self, error: OSError) -> bool:
        """Whether an error is about this file."""
        return any(str(path) in (str(error.filename), str(error.filename2)) for path in self)


class StagingDirectory:
    """The staging directory of a run in one directory, and where the run's first one is."""

    def __init__(self, directory: Path, token: str, first: Path) -> None:
        self.path = directory / f".secateur-{token}"
        self._first = first
        self._lock: int | None = None

    def make(self) -> None:
        """Make it, while the directory around it is locked."""
        _noted[self.path] = self.remove
        os.mkdir(self.path, 0o700)
        self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        # Without a lock nobody could tell that we live: then nobody may take it for one of ours.
        mark = MARK if _take(self._lock) else "This file system has no locks: delete this directory by hand."
        os.write(self._lock, json.dumps([mark, _find_machine(), str(self._first)]).encode())

    def remove(self) -> None:
        """Delete it with what is left in it, unless its journal is needed; it can be called again after a signal."""
        if not (self.path / "journal").exists():
            _delete(self.path)
        _noted.pop(self.path, None)
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)


@contextmanager
def lock_directories(directories: Iterable[Path], *, wait: float = WAIT) -> Iterator[bool]:
    """Keep other runs from moving files here; False without locks, BlockingIOError if another run does not end."""
    with ExitStack() as stack:
        locks: dict[tuple[int, int], int] = {}
        for directory in sorted(directories):  # in one order, so that no two runs wait for each other
            try:
                lock = os.open(directory, os.O_RDONLY)
            except OSError:  # a directory that may be written to but not read, or Windows
                continue
            stack.callback(os.close, lock)
            status = os.fstat(lock)
            locks.setdefault((status.st_dev, status.st_ino), lock)  # a directory may have two names
        ends = time.monotonic() + wait
        taken = [_take(lock, ends) for lock in locks.values()]
        yield all(taken) and len(taken) > 0


def keep_journal(moves: list[Move]) -> None:
    """Note what is about to be moved, for whoever comes after us if we are killed meanwhile."""
    noted = [[*map(str, move), move.identify()] for move in moves]
    first = moves[0].staged.parent
    part = first / "journal.part"
    with part.open("wb") as file:
        file.write(json.dumps(noted).encode())
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, first / "journal")
    for held in {first, *(move.kept.parent for move in moves)}:
        sync_directory(held)


def drop_journal(moves: list[Move]) -> None:
    """Say that nothing is left to be put right."""
    with suppress(FileNotFoundError):
        os.unlink(moves[0].staged.parent / "journal")


def take_back(moves: list[tuple[Move, list[int]]]) -> None:
    """Put back what outputs held before; an output that is not the file that was moved there is left alone."""
    for move, moved in moves:
        with suppress(FileNotFoundError):
            if Move(move.target, move.kept, move.target).identify() == moved:
                os.replace(move.kept, move.target) if move.kept.exists() else os.unlink(move.target)
    for directory in {move.target.parent for move, _ in moves}:
        sync_directory(directory)


def clean_dead(directory: Path) -> None:
    """Put right and delete what dead runs left in a directory, which must be locked."""
    for name in os.listdir(directory):
        if NAME.fullmatch(name):
            with suppress(OSError, ValueError):  # it is not ours, or another user's: leave it
                _remove_dead(directory / name)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory outlast a power cut, where the system can."""
    try:
        handle = os.open(directory, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in NOT_SYNCED:
            raise
    finally:
        os.close(handle)


def _remove_dead(staging: Path) -> None:
    """Delete the staging directory of a dead run, after what it moved in part is taken back."""
    if staging.is_symlink():
        return
    if not os.listdir(staging):  # killed before it had a lock
        os.rmdir(staging)
        return
    with ExitStack() as stack:
        first = _hold_dead(staging, stack)
        if first is None or not first.parent.is_dir():
            return
        if (first / "journal").exists():
            noted = [(Move(*map(Path, paths)), known) for *paths, known in json.loads((first / "journal").read_bytes())]
            if any(held.parent.name != staging.name for move, _ in noted for held in (move.staged, move.kept)):
                return  # no run of ours wrote that: it would have us delete what lies elsewhere
            others = {move.target.parent for move, _ in noted} - {staging.parent}
            stack.enter_context(lock_directories(others, wait=0))
            if first != staging and _hold_dead(first, stack) is None:
                return
            if not all(_is_moved(move) for move, _ in noted):
                take_back(noted)
            os.unlink(first / "journal")
            for held in {move.staged.parent for move, _ in noted}:
                _delete(held)
        _delete(staging)


def _hold_dead(staging: Path, stack: ExitStack) -> Path | None:
    """Take the lock of a staging directory, and find the first one of its run; None unless the run is dead."""
    if staging.stat().st_uid != os.geteuid():
        return None
    lock = os.open(staging / "lock", os.O_RDWR | os.O_NOFOLLOW)
    stack.callback(os.close, lock)
    if not _take(lock):
        return None
    written = os.read(lock, 1 << 16)
    if not written and os.listdir(staging) == ["lock"]:  # killed before it could write
        return staging
    mark, machine, first = json.loads(written)
    is_here = any(one and one == other for one, other in zip(machine, _find_machine(), strict=True))
    return Path(first) / staging.name if mark == MARK and is_here else None


def _is_moved(move: Move) -> bool:
    """Whether a staged file is at its place; one that was created there has its second name a moment longer."""
    return not move.staged.exists() or (move.target.exists() and move.target.samefile(move.staged))


def _delete(staging: Path) -> None:
    """Delete a staging directory and what a run puts into it; the lock last, so that it stays one if we are killed."""
    with suppress(OSError):
        for name in sorted(os.listdir(staging), key=lambda name: name == "lock"):
            if HELD.fullmatch(name):
                os.unlink(staging / name)
        os.rmdir(staging)


def _take(lock: int, ends: float = 0) -> bool:
    """Take a lock, and wait for it until a moment; False where there are no locks."""
    while fcntl is not None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= ends:
                raise
            time.sleep(0.005)
        except OSError:  # a file system without them
            return False
        else:
            return True
    return False


def _find_machine() -> list[str]:
    """Name this machine: containers on it share the second name, and restarts the first."""
    boot = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return [socket.gethostname(), boot]
