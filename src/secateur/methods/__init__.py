"""The deletion procedures, one a file, and their registry."""

from __future__ import annotations

from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING

from secateur.errors import ParameterError, did_you_mean
from secateur.methods import (
    budgeted,
    exact,
    layered,
    mismatch,
    mismatch_certified,
    none,
    quinlan,
    redundancy,
    sibling,
    subtree,
)
from secateur.methods.contract import Deletions, Method, Problem, Why

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["METHODS", "Deletions", "Method", "Problem", "Why", "find_method"]

# From the strictest guarantee to none.
_MODULES = (none, sibling, subtree, redundancy, exact, mismatch_certified, mismatch, layered, budgeted, quinlan)

METHODS: Mapping[str, Method] = MappingProxyType({module.METHOD.name: module.METHOD for module in _MODULES})
"""All methods by name, from the strictest guarantee to none."""


def find_method(name: str) -> Method:
    """The method of that name or alias, in any case; an unknown name raises an error that names the nearest."""
    if not isinstance(name, str):
        raise ParameterError(f"Expected the name of a method, found {name!r}. Methods: {', '.join(METHODS)}.")
    known = {alias.lower(): method for method in METHODS.values() for alias in (method.name, *method.aliases)}
    wanted = name.strip().lower()
    if wanted in known:
        return known[wanted]
    near = get_close_matches(wanted, known, n=1, cutoff=0.0)  # an alias may be nearest, but its method is named
    hint = did_you_mean(known[near[0]].name, METHODS)
    raise ParameterError(f"There is no method {name!r}.{hint} Methods: {', '.join(METHODS)}.")
