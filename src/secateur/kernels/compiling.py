"""Compile kernels with numba on first use.

The kernels' own modules stay uncompiled: second copies of them are loaded, and all functions of a copy are compiled,
with numba's cache on disk.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["compile_module", "is_compiled"]


def is_compiled(*modules: ModuleType) -> bool:
    """Whether one of these modules has been compiled already, so that small work may as well use it."""
    return any(f"{module.__name__}_compiled" in sys.modules for module in modules)


def compile_module(kernels: ModuleType) -> ModuleType:
    """Copy a module of kernels and compile every function in the copy; the copy is made once."""
    return _compile(kernels.__name__)


@cache
def _compile(name: str) -> ModuleType:
    import numba

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
            setattr(module, function.__name__, numba.njit(cache=True, nogil=True, inline=inlined)(function))
    return module
