"""Run kernels: compiled with numba on first use, on several threads, and the walks over the rules of a tree.

The kernels' own modules stay uncompiled: second copies of them are loaded, and all functions of a copy are compiled,
with numba's cache on disk.
"""

import hashlib
import importlib.util
import itertools
import sys
import threading
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, ClassVar, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray

from secateur.kernels import walks
from secateur.kernels.walks import Box, Walkable
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

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
    """Say on a terminal what numba compiles; it compiles nothing where its cache has the code."""
    from numba.core import event

    class Teller(event.Listener):
        told: ClassVar[set[str]] = set()

        def on_start(self, compiled: Any) -> None:
            name = compiled.data["dispatcher"].py_func.__module__.removesuffix("_compiled")
            if name.startswith("secateur.") and name not in self.told and sys.stderr.isatty():
                self.told.add(name)
                sys.stderr.write(f"Compiling {name} for this machine, once: some seconds …\n")

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
    # numba's cache looks at the time of a file only: its content is part of the name.
    digest = hashlib.sha256(Path(str(spec.origin)).read_bytes()).hexdigest()[:12]
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


# Plain Python walks so many conditions in about a second; compiling for the first time takes ten.
PLAIN_ENTRIES = 200_000
PART_ENTRIES = 1 << 14  # from this many conditions on, several threads share them


def run_deletion(kernel: str, tree: Tree, paths: Paths) -> NDArray[np.bool_]:
    """Run ``delete_links`` or ``delete_features`` over all rules; return the deleted entries."""
    deleted = np.zeros(len(paths.links), dtype=bool)
    return _run(kernel, tree, paths, deleted)


def run_witnesses(
    tree: Tree, paths: Paths, deleted: NDArray[np.bool_], *, by_feature: bool, rules: slice | None = None
) -> NDArray[np.int64]:
    """Find the foreign leaf that each kept entry of some rules or all keeps out, else -1."""
    witness = np.full(len(paths.links), -1, dtype=np.int64)
    return _run("find_witnesses", tree, paths, deleted.copy(), by_feature, witness, rules=rules)


def run_met(tree: Tree, paths: Paths, deleted: NDArray[np.bool_], rules: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the leftmost leaf of another class that each of some rules meets, else -1."""
    met = np.full((paths.n_rules, 1), walks.NOT_ASKED, dtype=np.int64)
    met[rules] = -1
    found: NDArray[np.int64] = _run("find_met", tree, paths, deleted, met)[rules, 0]
    return found


def run_above(
    tree: Tree, paths: Paths, signs: NDArray[np.int8], above: Mapping[int, NDArray[np.bool_]]
) -> NDArray[np.int64]:
    """Find the leftmost leaf of the first class that a row above some row of each leaf of the second reaches, else -1.

    ``above[feature][a, b]`` says whether code ``b`` of a feature lies at or above code ``a``.
    """
    start = np.full(tree.n_features, -1, dtype=np.int64)
    words, filled = [np.zeros(0, dtype=np.uint64)], 0
    for feature, table in above.items():
        wide = np.zeros((len(table), -(-len(table) // 64) * 64), dtype=bool)
        wide[:, : len(table)] = table
        words.append(np.packbits(wide, axis=1, bitorder="little").view(np.uint64).ravel())
        start[feature], filled = filled, filled + len(words[-1])
    met = np.full((paths.n_rules, 1), -1, dtype=np.int64)
    found: NDArray[np.int64] = _run("find_above", tree, paths, signs, start, np.concatenate(words), met)[:, 0]
    return found


def _run(kernel: str, tree: Tree, paths: Paths, *state: Any, rules: slice | None = None) -> NDArray[Any]:
    """Run a kernel for some rules or all, in plain Python if that is soon done, else compiled and on threads.

    The last argument is an array, which is returned.
    """
    walk, rules = make_walkable(tree, paths), rules or slice(0, paths.n_rules)
    n_entries = int(paths.offsets[rules.stop] - paths.offsets[rules.start])
    if is_soon_done(kernel, n_entries, PLAIN_ENTRIES):  # Python indexes lists several times faster than arrays
        own = paths.offsets[rules.start : rules.stop + 1], paths.links, paths.leaf_class[rules]
        arguments = [as_lists(argument) for argument in (walk, make_box(tree), *own, *state)]
        getattr(walks, kernel)(*arguments)
        return np.asarray(arguments[-1], dtype=state[-1].dtype)
    compiled = getattr(compile_module(walks), kernel)
    return _share_rules(paths, rules, state, lambda *own: compiled(walk, make_box(tree), *own))


def _share_rules(paths: Paths, rules: slice, state: tuple[Any, ...], run: Callable[..., None]) -> NDArray[Any]:
    """Run a kernel for some rules at a time on several threads; return the last argument."""

    def run_part(part: slice) -> None:
        own = paths.offsets[part.start : part.stop + 1], paths.links, paths.leaf_class[part]
        # What has a row for each rule is shared out, too.
        run(*own, *(one[part] if isinstance(one, np.ndarray) and one.ndim == 2 else one for one in state))

    first, last = paths.offsets[rules.start], paths.offsets[rules.stop]
    n_parts = 1 if last - first < PART_ENTRIES else 4 * n_threads()
    bounds = np.searchsorted(paths.offsets, np.linspace(first, last, n_parts + 1))  # about as many entries each
    parts = [slice(first, last) for first, last in itertools.pairwise(bounds.tolist()) if last > first]
    for _ in map_in_threads(run_part, parts):
        pass
    result: NDArray[Any] = state[-1]
    return result


def make_walkable(tree: Tree, paths: Paths) -> Walkable:
    """Gather the arrays that a walk reads, category sets packed to words."""
    widths, domain_words = _pack_domains(tree)
    set_start = np.full(tree.n_nodes, -1, dtype=np.int64)
    sets, filled = [np.zeros(0, dtype=np.uint64)], 0
    asked = np.flatnonzero(tree.is_categorical)
    for feature in np.unique(tree.feature[asked]).tolist():
        nodes = asked[tree.feature[asked] == feature]
        width = widths[feature]
        lengths = tree.category_offsets[nodes + 1] - tree.category_offsets[nodes]
        row = np.repeat(np.arange(len(nodes)), lengths)
        place = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        marked = np.zeros((len(nodes), width * 64), dtype=bool)
        marked[row, tree.category_codes[tree.category_offsets[nodes][row] + place]] = True
        set_start[nodes] = filled + width * np.arange(len(nodes))
        filled += width * len(nodes)
        sets.append(np.packbits(marked, axis=1, bitorder="little").view(np.uint64).ravel())
    return Walkable(
        children_left=tree.children_left,
        children_right=tree.children_right,
        feature=tree.feature,
        upper=tree.upper,
        missing_left=tree.missing_left,
        homogeneous=paths.homogeneous,
        parent=paths.parent,
        is_left=paths.is_left,
        set_start=set_start,
        set_words=np.concatenate(sets),
        word_start=np.concatenate([[0], np.cumsum(widths, dtype=np.int64)]),
        domain_words=domain_words,
        accepts_missing=tree.accepts_missing,
    )


def _pack_domains(tree: Tree) -> tuple[list[int], NDArray[np.uint64]]:
    """How many words the category set of each feature takes, and the words of all sets that hold every code."""
    sizes = [0 if levels is None else len(levels) + 1 for levels in tree.categories]
    widths = [-(-size // 64) for size in sizes]
    bits = [np.arange(64 * width) < size for size, width in zip(sizes, widths, strict=True) if size]
    return widths, np.packbits(np.concatenate([np.zeros(0, bool), *bits]), bitorder="little").view(np.uint64)


def make_box(tree: Tree) -> Box:
    """Make a box of the whole domain, with room for a walk to the tree's deepest leaf."""
    levels = tree.depth + 2
    widths, domain_words = _pack_domains(tree)
    width = max(widths, default=0)
    return Box(
        low=np.full(tree.n_features, -np.inf),
        high=np.full(tree.n_features, np.inf),
        missing=tree.accepts_missing.copy(),
        words=domain_words,
        forks=np.zeros(levels, dtype=np.int64),
        saved_low=np.zeros(levels),
        saved_high=np.zeros(levels),
        saved_missing=np.zeros(levels, dtype=bool),
        saved_words=np.zeros(levels * width, dtype=np.uint64),
        width=width,
        later_low=np.zeros(levels),
        later_high=np.zeros(levels),
        later_missing=np.zeros(levels, dtype=bool),
        kept_low=np.full(tree.n_features, -np.inf),
        kept_high=np.full(tree.n_features, np.inf),
        kept_missing=tree.accepts_missing.copy(),
    )


def as_lists(value: Any) -> Any:
    """Turn an array, or the arrays of a tuple, into lists, which Python indexes faster."""
    if isinstance(value, tuple):
        return value._make(map(as_lists, value))  # type: ignore[attr-defined]
    return value.tolist() if isinstance(value, np.ndarray) else value
