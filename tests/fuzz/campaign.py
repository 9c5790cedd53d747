"""Try changed files of every format, for as long as you like: ``make fuzz MINUTES=60``.

The files of a format are numbered from 0, and a number gives the same file with the same versions of secateur and its
libraries. A run goes on where the last one ended. In the directory of the run:

- ``log.jsonl`` has a line for each chunk of numbers: how many files ended how, and how long it took;
- ``findings/`` has each file that failed, with what happened. ``--again`` tries those once more after a repair, and
  notes what came of it; ``--file`` judges any one file.
- ``--store docs/reliability_inputs.json`` sums the log up.

A failure is a process that died (signal), took more than ten seconds (hang) or two gigabytes (memory), an error that is
no SecateurError (traceback), one that is no sentence, or an answer that the reference contradicts (wrong).
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

GOOD = ("rejected", "agreed", "not compared")
FAILURES = ("signal", "hang", "memory", "traceback", "no sentence", "wrong")
HANG = 10  # seconds
STARTING = 120  # seconds until the good files are made
CHUNK = 200
# Of a thousand files, how many are of a format: tables take a hundred times longer than trees.
SHARES = {
    **{"tree": 300, "rules": 300, "packed": 30, "iai": 125, "pmml": 105, "onnx": 60, "skops": 40},
    **{"csv": 10, "jsonl": 10, "parquet": 10, "arrow": 10},
}


class Worker:
    """A process that judges files, started anew when it ends."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._text = b""

    def judge(self, kind: str, first: int, count: int) -> Iterator[tuple[int, str, str]]:
        """Judge some files: the number, the outcome and the words for each."""
        number = first
        while number < first + count:
            self._ask(f"{kind} {number} {first + count - number}")
            while number < first + count:
                if self._read_line(HANG) != str(number):
                    break  # it ended between two files, to begin with little memory again
                answer = self._read_line(HANG)
                if answer is None:
                    yield number, *self._bury()
                    number += 1
                    break
                outcome, words = json.loads(answer)
                yield number, outcome, words
                number += 1

    def judge_file(self, kind: str, path: Path) -> tuple[str, str]:
        """Judge a file that is kept."""
        self._ask(f"{kind} {path}")
        self._read_line(HANG)
        answer = self._read_line(HANG)
        if answer is None:
            return self._bury()
        outcome, words = json.loads(answer)
        return outcome, words

    def _ask(self, words: str) -> None:
        process = self._start()
        assert process.stdin is not None
        process.stdin.write(f"{words}\n".encode())
        process.stdin.flush()
        if self._read_line(STARTING) != "ready":
            raise RuntimeError(f"The worker does not start: try python -m fuzz.worker with {words!r}.")

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            with self._process:  # which closes its pipes
                self._process.wait()
        self._process, self._text = None, b""

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            command = [sys.executable, "-m", "fuzz.worker"]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
            environment = {**os.environ, "PYTHONPATH": path}
            self._process = subprocess.Popen(command, env=environment, **pipes)  # type: ignore[call-overload]
        return self._process

    def _read_line(self, seconds: float) -> str | None:
        """The next line of the worker; None if it ended, or if none comes in time."""
        assert self._process is not None
        assert self._process.stdout is not None
        descriptor, end = self._process.stdout.fileno(), time.monotonic() + seconds
        while b"\n" not in self._text:
            if not select.select([descriptor], [], [], max(0, end - time.monotonic()))[0]:
                return None
            piece = os.read(descriptor, 1 << 16)
            if not piece:
                return None
            self._text += piece
        line, _, self._text = self._text.partition(b"\n")
        return line.decode()

    def _bury(self) -> tuple[str, str]:
        """Say how the worker ended, and end it if it did not."""
        assert self._process is not None
        try:
            code = self._process.wait(5)
            outcome = ("signal", signal.Signals(-code).name) if code < 0 else ("traceback", f"it ended with {code}")
        except subprocess.TimeoutExpired:
            outcome = ("hang", f"no answer in {HANG} seconds")
        self.close()
        return outcome


class Log:
    """What was tried so far."""

    def __init__(self, place: Path) -> None:
        self.place = place
        (place / "findings").mkdir(parents=True, exist_ok=True)
        self.path = place / "log.jsonl"
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        self.chunks: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def next_number(self, kind: str) -> int:
        return sum(chunk["n"] for chunk in self.chunks if chunk["format"] == kind)

    def next_format(self, kinds: list[str]) -> str:
        """The format that is furthest behind its share."""
        return min(kinds, key=lambda kind: self.next_number(kind) / SHARES[kind])

    def add(self, chunk: dict[str, Any]) -> None:
        self.chunks.append(chunk)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(chunk) + "\n")

    def keep(self, kind: str, number: int, outcome: str, words: str) -> None:
        from fuzz.good_files import changed_file

        name = self.place / "findings" / f"{kind}-{number}"
        name.with_suffix(".data").write_bytes(changed_file(kind, number))
        name.with_suffix(".txt").write_text(f"{outcome}\n{words}\n", encoding="utf-8", errors="replace")
        print(f"{kind} {number}: {outcome}. {words[-300:]}", flush=True)

    def failed(self) -> dict[tuple[str, int], str]:
        """The outcome of each file that failed, as it was last."""
        found: dict[tuple[str, int], str] = {}
        for chunk in self.chunks:
            for number, outcome in chunk["failed"]:
                found[chunk["format"], number] = outcome
        return found


def run(log: Log, kinds: list[str], *, minutes: float, most: int) -> None:
    """Try chunks of files until the time is over or so many files were tried."""
    worker, end = Worker(), time.monotonic() + 60 * minutes
    while time.monotonic() < end and sum(chunk["n"] for chunk in log.chunks) < most:
        kind = log.next_format(kinds)
        first, begun, count = log.next_number(kind), time.monotonic(), CHUNK if SHARES[kind] > 10 else CHUNK // 10
        outcomes: Counter[str] = Counter()
        failed: list[tuple[int, str]] = []
        for number, outcome, words in worker.judge(kind, first, count):
            outcomes[outcome] += 1
            if outcome not in GOOD:
                failed.append((number, outcome))
                log.keep(kind, number, outcome, words)
        seconds = round(time.monotonic() - begun, 2)
        log.add(
            {"format": kind, "first": first, "n": count, "outcomes": outcomes, "failed": failed, "seconds": seconds}
        )
    worker.close()


def try_again(log: Log) -> None:
    """Judge the files that failed once more."""
    worker = Worker()
    for (kind, number), before in log.failed().items():
        if before in GOOD:
            continue
        for _, outcome, words in worker.judge(kind, number, 1):
            print(f"{kind} {number}: {before}, now {outcome}. {words[-300:]}", flush=True)
            log.add(
                {"format": kind, "first": number, "n": 0, "outcomes": {}, "failed": [[number, outcome]], "seconds": 0}
            )
    worker.close()


def sum_up(log: Log) -> dict[str, Any]:
    """Count files by format and outcome; what failed once and is mended counts as what it gives now."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in SHARES}
    mended: Counter[str] = Counter()
    for chunk in log.chunks:
        counts[chunk["format"]].update(chunk["outcomes"])
    first: dict[tuple[str, int], str] = {}
    for chunk in log.chunks:
        for number, outcome in chunk["failed"]:
            first.setdefault((chunk["format"], number), outcome)
    for (kind, number), now in log.failed().items():
        before = first[kind, number]
        if now != before:
            counts[kind].update({before: -1, now: 1})
            mended[f"{kind}: {before}"] += now in GOOD
    return {
        "inputs": sum(sum(count.values()) for count in counts.values()),
        "version": version("secateur"),
        "hours": round(sum(chunk["seconds"] for chunk in log.chunks) / 3600, 2),
        "formats": {
            kind: {"numbers": [0, sum(count.values()) - 1], **{name: count[name] for name in (*GOOD, *FAILURES)}}
            for kind, count in counts.items()
            if sum(count.values())
        },
        "found_and_mended": dict(sorted(mended.items())),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument(
        "--inputs", type=int, default=10**9, help="end when so many files were tried, earlier runs among them"
    )
    parser.add_argument("--place", type=Path, default=Path("fuzz-runs"))
    parser.add_argument("--formats", nargs="*", default=list(SHARES), choices=list(SHARES))
    parser.add_argument("--again", action="store_true", help="only try what failed once more")
    parser.add_argument("--file", nargs=2, metavar=("FORMAT", "PATH"), help="only judge this file")
    parser.add_argument("--store", type=Path, help="only write the sums of the log to this file")
    asked = parser.parse_args()
    if asked.file:
        print(*Worker().judge_file(asked.file[0], Path(asked.file[1])), sep="\n")
        return
    log = Log(asked.place)
    if asked.store:
        asked.store.write_text(json.dumps(sum_up(log), indent=1) + "\n", encoding="utf-8")
    elif asked.again:
        try_again(log)
    else:
        run(log, asked.formats, minutes=asked.minutes, most=asked.inputs)
    print(json.dumps(sum_up(log), indent=1))


if __name__ == "__main__":
    main()
