"""Staging directories, in which files wait to be put in their places, and whatever else must be gone at the end.

A run makes a staging directory, ``.secateur-<token>``, in every directory that it writes to. Inside:

====================  ================================================================================================
``lock``              says that this is a staging directory, of which machine, and where the run's first one is; locked
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

import errno
import json
import os
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

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
        note(self.path, self.remove)
        os.mkdir(self.path, 0o700)
        self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        # Without a lock nobody could tell that we live: then nobody may take it for one of ours.
        mark = MARK if _take(self._lock) else "This file system has no locks: delete this directory by hand."
        os.write(self._lock, json.dumps([mark, _find_machine(), str(self._first)]).encode())

    def remove(self) -> None:
        """Delete it with what is left in it, unless outputs have to be put right with its journal.

        What a signal stopped can be called again.
        """
        if not (self.path / "journal").exists():
            _delete(self.path)
        forget(self.path)
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)


@contextmanager
def lock_directories(directories: Iterable[Path], *, wait: float = WAIT) -> Iterator[bool]:
    """Keep other runs from moving files in these directories; False where there are no locks.

    Raises
    ------
    BlockingIOError
        Another run does not end.
    """
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
            noted = [
                (Move(*map(Path, paths)), identity) for *paths, identity in json.loads((first / "journal").read_bytes())
            ]
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
