"""Work on several threads; the kernels and numpy's array functions let other threads run."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import joblib

Item = TypeVar("Item")
Result = TypeVar("Result")

_here = threading.local()


def _mark_worker() -> None:
    _here.is_worker = True


@cache
def n_threads() -> int:
    """Count the processors that this process may use; the variable ``LOKY_MAX_CPU_COUNT`` can lower it."""
    return int(joblib.cpu_count())


def map_in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Map items on several threads, in order; few results wait to be taken, so that memory stays bounded.

    A thread that maps in its turn does so alone: the processors are busy already.
    """
    if len(items) < 2 or n_threads() < 2 or getattr(_here, "is_worker", False):
        yield from map(function, items)
    else:
        yield from _map_ahead(function, items, 2 * n_threads())


def map_stream(function: Callable[[Item], Result], items: Iterator[Item]) -> Iterator[Result]:
    """Map items that come one by one, in order; a thread fetches them while others work on those before.

    A few items are in memory at a time. A caller that stops early waits for what is under way.
    """
    return _map_ahead(function, _fetch_ahead(items), n_threads())


def _map_ahead(function: Callable[[Item], Result], items: Iterable[Item], ahead: int) -> Iterator[Result]:
    """Work on up to so many items ahead of the result that is taken next."""
    with ThreadPoolExecutor(n_threads(), initializer=_mark_worker) as workers:
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(workers.submit(function, item))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _fetch_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Fetch the next item on a thread of its own while the one before is used."""
    nothing: Any = object()
    with ThreadPoolExecutor(1, thread_name_prefix="secateur-read") as fetcher:
        coming = fetcher.submit(next, items, nothing)
        while (item := coming.result()) is not nothing:
            coming = fetcher.submit(next, items, nothing)
            yield item
