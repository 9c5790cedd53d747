"""Judge changed files in a process of its own, which may die of them: ``python -m fuzz.worker``.

It reads lines "format first count" and writes a line before and after each file, so that whoever started it knows which
one it was. Instead of the number of a changed file, "format path" names a file that is kept.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import sys
import traceback
from pathlib import Path

from fuzz.good_files import changed_file, good_files
from fuzz.judging import BadRefusal, WrongAnswer, judge

MOST_MEMORY = 2 << 30
# What keeps the machine usable; what is counted is the memory that was really used.
MOST_ADDRESSES = 16 << 30


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is not our answer
    for line in sys.stdin:
        kind, first, *count = line.split()
        numbers = range(int(first), int(first) + int(count[0])) if count else range(1)
        if count:
            good_files(kind)
        print("ready", file=told, flush=True)
        for number in numbers:
            print(number, file=told, flush=True)
            data = changed_file(kind, number) if count else Path(first).read_bytes()
            print(json.dumps(try_file(kind, data, number)), file=told, flush=True)
            if _memory() > MOST_MEMORY:
                return


def try_file(kind: str, data: bytes, number: int) -> tuple[str, str]:
    """What came of one changed file: an outcome, and what is to be told of a failure."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            outcome, words = judge(kind, data, number), ""
    except (BadRefusal, WrongAnswer) as error:
        outcome, words = "wrong" if isinstance(error, WrongAnswer) else "no sentence", str(error)
    except Exception:
        outcome, words = "traceback", traceback.format_exc()[-3_000:]
    if _memory() > MOST_MEMORY:
        outcome, words = "memory", f"{_memory() >> 20} MiB after it"
    return outcome, words


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


if __name__ == "__main__":
    main()
