"""Work on several threads: the kernels and numpy's array functions let other threads run."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import joblib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["map_in_threads", "n_threads", "read_ahead"]

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


def read_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, of which the next is fetched while the caller works on one.

    An error of the fetching is raised where its item would come; a caller that stops early waits for one item at most.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="secateur-read") as pool:
        nothing = object()
        coming = pool.submit(next, items, nothing)
        while (item := coming.result()) is not nothing:
            coming = pool.submit(next, items, nothing)
            yield item  # type: ignore[misc]  # it is no sentinel
