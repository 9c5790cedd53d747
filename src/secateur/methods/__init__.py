"""The deletion methods and their registry: a file of this package that defines METHODS adds them."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from secateur.errors import ParameterError, did_you_mean
from secateur.methods.contract import Asks, Deletions, Method, Problem, Tunable, Why

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["METHODS", "Asks", "Deletions", "Method", "Problem", "Tunable", "Why", "find_method", "list_methods"]

_MODULES = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
_FOUND: list[Method] = [method for module in _MODULES for method in getattr(module, "METHODS", ())]

METHODS: Mapping[str, Method] = MappingProxyType(
    {method.name: method for method in sorted(_FOUND, key=lambda m: m.strictness)}
)
"""All methods by name, from the strictest guarantee to none, each with its default settings."""
_BY_ALIAS = {alias.lower(): method for method in _FOUND for alias in (method.name, *method.aliases)}


def find_method(name: str, settings: Mapping[str, Any] | None = None, *, others: Iterable[str] = ()) -> Method:
    """Find a method by its name or an alias, in upper or lower case, and give it settings.

    A setting that the method does not read is an error; ``others`` are further names that it may be misspelt for.
    """
    if not isinstance(name, str):
        raise ParameterError(f"Expected the name of a method, found {name!r}. Methods: {', '.join(METHODS)}.")
    wanted = name.strip().lower()
    if wanted not in _BY_ALIAS:
        near = get_close_matches(wanted, _BY_ALIAS, n=1, cutoff=0.0)  # an alias may be nearest; its method is named
        hint = did_you_mean(_BY_ALIAS[near[0]].name, METHODS)
        raise ParameterError(f"There is no method {name!r}.{hint} Methods: {', '.join(METHODS)}.")
    method = _BY_ALIAS[wanted]
    unread = next((given for given in settings or () if given not in method.parameters), None)
    if unread is not None:
        raise ParameterError(_reject_setting(method, unread, others))
    return replace(method, **settings) if settings else method


def list_methods(*, reading: str, as_tunable: bool = False) -> str:
    """List the methods that read a setting, or whose tunable it is, in words."""
    found = [method for method in METHODS.values() if reading in method.parameters]
    if as_tunable:
        found = [method for method in found if method.tunable is not None and method.tunable.setting == reading]
    quoted = [repr(method.name) for method in found]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}" if len(quoted) > 1 else "".join(quoted)


def _reject_setting(method: Method, unread: str, others: Iterable[str]) -> str:
    readers = list_methods(reading=unread)
    if not readers:
        known = {name for one in METHODS.values() for name in one.parameters} | set(others)
        own = f" The method {method.name!r} has these settings: {', '.join(method.parameters)}."
        hint = did_you_mean(unread, sorted(known))
        return f"There is no setting {unread!r}.{hint}{own if method.parameters else ''}"
    verb = "do" if " and " in readers else "does"
    return f"The method {method.name!r} does not read {unread}; {readers} {verb}. Leave {unread} out."
