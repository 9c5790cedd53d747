"""The clock: calls that take turns, so that a noisy moment hits all of them; and how much memory a call needs."""

from __future__ import annotations

import ctypes
import time
import timeit
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

__all__ = ["FULL", "QUICK", "Rounds", "peak_bytes", "race"]

Key = TypeVar("Key")
SHORT = 0.01  # seconds; shorter calls are repeated within a turn, because a single one is mostly noise
CLEAR_REFS, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


@dataclass(frozen=True)
class Rounds:
    """How often everyone has a turn: at least and at most so often, in between as long as the seconds last."""

    least: int
    most: int
    seconds: float


FULL, QUICK = Rounds(3, 15, 20.0), Rounds(2, 3, 0.5)


def race(
    calls: Mapping[Key, Callable[[], object]], rounds: Rounds, once: Collection[Key] = ()
) -> dict[Key, list[float]]:
    """Seconds of each call in each round; the calls in ``once`` are too slow to be timed in more than the first."""
    seconds: dict[Key, list[float]] = {key: [] for key in calls}
    loops = dict.fromkeys(calls, 1)
    order = list(calls)
    began = 0.0
    for turn in range(rounds.most):
        if turn == 1:
            began = time.perf_counter()  # what is timed once takes no time from the others
        if turn >= rounds.least and time.perf_counter() - began > rounds.seconds:
            break
        for key in order[turn % len(order) :] + order[: turn % len(order)] if order else ():
            if turn and key in once:
                continue
            took = timeit.timeit(calls[key], number=loops[key]) / loops[key]
            if not turn and took < SHORT:
                loops[key] = min(100, 1 + int(SHORT / took))
                took = timeit.timeit(calls[key], number=loops[key]) / loops[key]
            seconds[key].append(took)
    return seconds


def peak_bytes(call: Callable[[], object]) -> int:
    """How much memory a call needs at most beyond what was there before, its result included.

    Linux tells the largest resident set, which also counts what compiled code allocates. Elsewhere tracemalloc counts
    what Python and numpy allocate.
    """
    if CLEAR_REFS.exists():
        # Memory that was freed but not given back would be used again unseen.
        getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)(0)
        CLEAR_REFS.write_text("5")  # the largest resident set starts anew
        before = _status("VmRSS")
        result = call()
        peak = _status("VmHWM") - before
        del result
        return max(0, peak)
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _status(field: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])
