"""Run commands of secateur in forks of one process that has loaded everything; system calls fail or kill in them.

Run as a program, it reads a request per line and answers in a line; :class:`Server` talks to it.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).parent
KILL, TERM = -signal.SIGKILL, -signal.SIGTERM  # instead of an errno
TIMEOUT = 60.0


@dataclass(frozen=True)
class Ended:
    """How a run ended: its status as subprocess gives it, what it printed and said, and a letter for each call."""

    status: int
    printed: str
    said: str  # to standard error
    calls: str


class Server:
    """A process whose forks run commands."""

    def __init__(self, *, preload: Path | None = None, columns: int = 250) -> None:
        environment = {**os.environ, "COLUMNS": str(columns), "LOKY_MAX_CPU_COUNT": "1"}
        if preload is not None:
            environment |= {"LD_PRELOAD": str(preload), "SECATEUR_FAULTS": str(preload)}
        self._run = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def warm(self, commands: list[list[str]]) -> None:
        """Run commands in the process itself, so that its forks have loaded and compiled what they need."""
        for arguments in commands:
            assert self.ask(arguments, warm=True).status == 0

    def ask(
        self,
        arguments: list[str],
        *,
        place: Path = Path("/"),
        nth: int = 0,
        fault: int = 0,
        lasting: bool = False,
        kill_after: float | None = None,
        signal: int = signal.SIGKILL,
        warm: bool = False,
    ) -> Ended:
        """Run a command, or Python after -c, in a directory; the Nth call below it fails, or a signal comes."""
        request = {"arguments": arguments, "place": str(place), "nth": nth, "fault": fault, "lasting": lasting}
        request |= {"kill_after": kill_after, "signal": int(signal), "warm": warm}
        for stream in (self._run.stdin, self._run.stdout):
            assert stream is not None
        self._run.stdin.write(json.dumps(request) + "\n")  # type: ignore[union-attr]
        self._run.stdin.flush()  # type: ignore[union-attr]
        return Ended(**json.loads(self._run.stdout.readline()))  # type: ignore[union-attr]

    def close(self) -> None:
        """End the process."""
        self._run.communicate()


def compile_faults(room: Path) -> Path | None:
    """Compile what makes calls fail; None where there is no C compiler, or another system than Linux."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    made = room / "faults.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-w", HERE / "faults.c", "-o", made, "-ldl"], check=True)
    return made


def _run_command(arguments: list[str]) -> int:
    from secateur.cli.main import run
    from secateur.errors import SecateurError

    sys.argv = ["secateur", *arguments]
    try:
        if arguments[0] != "-c":
            run()
            return 0
        try:
            exec(arguments[1], {})
        except SecateurError as error:
            print(f"Error: {error}", file=sys.stderr)
            return 2
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def _run_fork(request: dict[str, Any], printed: IO[bytes], said: IO[bytes], told: IO[bytes]) -> None:
    """Run a command in this process, which ends with it."""
    os.chdir(request["place"])
    os.dup2(printed.fileno(), 1)
    os.dup2(said.fileno(), 2)
    status = 70
    faults = ctypes.CDLL(os.environ["SECATEUR_FAULTS"]) if "SECATEUR_FAULTS" in os.environ else None
    try:
        if faults is not None:
            faults.faults_arm(request["place"].encode(), request["nth"], request["fault"], request["lasting"])
        status = _run_command(request["arguments"])
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        if faults is not None:
            faults.faults_arm(b"", 0, 0, 0)
            faults.faults_kinds.restype = ctypes.c_char_p
            told.write(faults.faults_kinds())
            told.flush()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    if request["warm"]:
        with tempfile.TemporaryDirectory() as room:
            os.chdir(room)
            status = _run_command(request["arguments"])
            os.chdir("/")
        return {"status": status, "printed": "", "said": "", "calls": ""}
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as told:
        child = os.fork()
        if not child:
            _run_fork(request, printed, said, told)
        if request["kill_after"] is not None:
            time.sleep(request["kill_after"])
            os.kill(child, request["signal"])
        watch = threading.Timer(TIMEOUT, os.kill, (child, signal.SIGABRT))
        watch.start()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        watch.cancel()
        texts = {}
        for name, file in (("printed", printed), ("said", said), ("calls", told)):
            file.seek(0)
            texts[name] = file.read().decode(errors="replace")
        return {"status": status, **texts}


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), file=answers, flush=True)
