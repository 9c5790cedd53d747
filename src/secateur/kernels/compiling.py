"""Compile kernels with numba on first use, and tell a person who waits for it.

The kernels' own modules stay uncompiled: second copies of them are loaded, and all functions of a copy are compiled,
with numba's cache on disk.
"""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import sys
import warnings
from collections import Counter
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["compile_module", "is_soon_done"]

# About how long each module takes the first time, with what it calls, in seconds of one processor; others take one.
SECONDS = {
    "local_search_kernel": 10,
    "walks": 5,
    "tiles": 4,
    "quinlan": 5,
    "containment": 4,
    "order_walks": 4,
}
done: Counter[str] = Counter()  # work of each kind by plain code in this process
CANNOT_KEEP = (
    "secateur cannot keep compiled code here, so that every new process compiles it again: set NUMBA_CACHE_DIR to a "
    "directory that can be written."
)


def is_soon_done(what: str, work: int, most: int) -> bool:
    """Whether plain code should do more work of a kind.

    It should until it has done as much in this process as takes about as long as to load compiled code: who calls once
    does not wait for a compiler, and who calls a thousand times waits for it once.
    """
    done[what] += work
    return done[what] <= most


def compile_module(kernels: ModuleType) -> ModuleType:
    """Copy a module of kernels and compile every function in the copy; the copy is made once."""
    return _compile(kernels.__name__)


@cache
def _tell_who_waits() -> None:
    """Say on a terminal, once for each module, that numba compiles; it does not where its cache has the code.

    Nor does Python search for garbage meanwhile, which would take a fifth of the time.
    """
    from numba.core import event

    told: set[str] = set()

    class Teller(event.Listener):
        n_open = 0  # a function is compiled while its caller is; numba does both under one lock
        pauses = False

        def on_start(self, compiled: Any) -> None:
            name = compiled.data["dispatcher"].py_func.__module__
            is_ours = self.n_open == 0 and name.startswith("secateur.")
            self.n_open += 1
            if is_ours and gc.isenabled():
                self.pauses = True
                gc.disable()
            if is_ours and name not in told and sys.stderr.isatty():
                what = "another part for this machine" if told else "for this machine"
                told.add(name)
                seconds = SECONDS.get(name.rpartition(".")[2].removesuffix("_compiled"), 1)
                sys.stderr.write(f"Compiling {what}, once: about {seconds} s …\n")

        def on_end(self, compiled: Any) -> None:
            self.n_open -= 1
            if self.n_open == 0 and self.pauses:
                self.pauses = False
                gc.enable()

    event.register("numba:compile", Teller())


@cache
def _warn_of_no_cache() -> None:
    warnings.warn(CANNOT_KEEP, RuntimeWarning, stacklevel=2)


def _import_numba() -> ModuleType:
    """Import numba; Python does not search for garbage among what it loads."""
    was_searching = gc.isenabled()
    gc.disable()
    try:
        import numba
    finally:
        if was_searching:
            gc.enable()
    return numba


@cache
def _compile(name: str) -> ModuleType:
    numba = _import_numba()
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
