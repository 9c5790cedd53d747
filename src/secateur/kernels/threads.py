"""Work on several threads: the kernels and numpy's array functions let other threads run."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import joblib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

__all__ = ["map_in_threads", "map_stream", "n_threads"]

Item = TypeVar("Item")
Result = TypeVar("Result")


_here = threading.local()


def _mark_worker() -> None:
    _here.is_worker = True


@cache
def n_threads() -> int:
    """Number of processors that this process may use; the variable ``LOKY_MAX_CPU_COUNT`` can lower it."""
    return int(joblib.cpu_count())


def map_in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Results in the order of the items; at most a few wait to be taken, so that memory stays bounded.

    What such a thread maps in its turn it does alone: the processors are busy already.
    """
    if len(items) < 2 or n_threads() < 2 or getattr(_here, "is_worker", False):
        yield from map(function, items)
        return
    ahead = 2 * n_threads()
    with ThreadPoolExecutor(n_threads(), initializer=_mark_worker) as pool:
        waiting = [pool.submit(function, item) for item in items[:ahead]]
        for place in range(len(items)):
            yield waiting.pop(0).result()
            if place + ahead < len(items):
                waiting.append(pool.submit(function, items[place + ahead]))


def map_stream(function: Callable[[Item], Result], items: Iterator[Item]) -> Iterator[Result]:
    """Results in the order of items that come one by one; a thread fetches them while others work on those before.

    A few items are in memory at a time. An error is raised where its result would come; a caller that stops early
    waits for what is under way.
    """
    nothing = object()
    with (
        ThreadPoolExecutor(1, thread_name_prefix="secateur-read") as fetcher,
        ThreadPoolExecutor(n_threads(), initializer=_mark_worker) as pool,
    ):
        coming = fetcher.submit(next, items, nothing)
        waiting: deque[Future[Result]] = deque()
        while (item := coming.result()) is not nothing:
            coming = fetcher.submit(next, items, nothing)
            waiting.append(pool.submit(function, item))  # type: ignore[arg-type]  # it is no sentinel
            if len(waiting) > n_threads():
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
