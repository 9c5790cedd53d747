"""Run kernels: compile them with numba on first use, tell a person who waits for it, and work on several threads.

The kernels' own modules stay uncompiled: second copies of them are loaded, and all functions of a copy are compiled,
with numba's cache on disk.
"""

import hashlib
import importlib.util
import sys
import threading
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar

import joblib

done: Counter[str] = Counter()  # work of each kind by plain code in this process
CANNOT_KEEP = (
    "secateur cannot keep compiled code here, so that every new process compiles it again: set NUMBA_CACHE_DIR to a "
    "directory that can be written."
)


def is_soon_done(what: str, work: int, most: int) -> bool:
    """Whether plain code should do more work of a kind.

    It should until it has worked in this process for about as long as compiled code takes to come: who calls once does
    not wait for a compiler, and who calls a thousand times waits for it once.
    """
    done[what] += work
    return done[what] <= most or not _has_numba()


@cache
def _has_numba() -> bool:
    return importlib.util.find_spec("numba") is not None


def compile_module(kernels: ModuleType) -> ModuleType:
    """Copy a module of kernels and compile every function in the copy, once; without numba they stay as they are."""
    return _compile(kernels.__name__) if _has_numba() else kernels


@cache
def _tell_who_waits() -> None:
    """Say once on a terminal that numba compiles; it does not where its cache has the code."""
    from numba.core import event

    class Teller(event.Listener):
        is_told = False

        def on_start(self, compiled: Any) -> None:
            name = compiled.data["dispatcher"].py_func.__module__
            if name.startswith("secateur.kernels.") and not self.is_told and sys.stderr.isatty():
                self.is_told = True
                sys.stderr.write("Compiling for this machine, once: some seconds …\n")

        def on_end(self, compiled: Any) -> None:
            """Say nothing."""

    event.register("numba:compile", Teller())


@cache
def _warn_of_no_cache() -> None:
    warnings.warn(CANNOT_KEEP, RuntimeWarning, stacklevel=2)


@cache
def _compile(name: str) -> ModuleType:
    import numba

    _tell_who_waits()
    source = importlib.util.find_spec(name)
    copy_name = f"{name}_compiled"
    spec = importlib.util.spec_from_file_location(copy_name, source.origin if source else None)
    if spec is None or spec.loader is None:
        raise ImportError(f"The source of {name} cannot be read, so it cannot be compiled.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[copy_name] = module
    spec.loader.exec_module(module)
    functions = [value for value in vars(module).values() if isinstance(value, FunctionType)]
    sources = {str(spec.origin)}
    for function in functions:
        if function.__module__.startswith("secateur.kernels.") and function.__module__ != copy_name:
            setattr(module, function.__name__, getattr(_compile(function.__module__), function.__name__))
            sources.add(function.__code__.co_filename)
    # numba's cache looks at the file of a function only, but imported kernels are compiled into it: their sources are
    # part of its name.
    digest = hashlib.sha256(b"".join(Path(source).read_bytes() for source in sorted(sources))).hexdigest()[:12]
    for function in functions:
        if function.__module__ == copy_name:
            function.__qualname__ = f"{function.__name__}_{digest}"
            # Inlining everything would multiply the time to compile; LLVM inlines what is small.
            inlined: Any = "always" if function in getattr(module, "INLINED", ()) else "never"
            setattr(module, function.__name__, _compile_function(numba, function, inlined))
    return module


def _compile_function(numba: ModuleType, function: FunctionType, inlined: Any) -> Any:
    try:
        return numba.njit(cache=True, nogil=True, inline=inlined)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        _warn_of_no_cache()
        return numba.njit(nogil=True, inline=inlined)(function)


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
