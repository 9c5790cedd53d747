"""Readings of fitted trees, remembered while the model lives and stays as it is.

Whoever compares methods reads the same model many times, and reading a small tree takes longer than shortening its
rules. A model can be fitted again or changed in place: a reading is used only if all that it was made from is the same.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

    from secateur.tree.tree import Tree

__all__ = ["MOST_NODES", "recall"]

MOST_NODES = 4_096  # of larger trees, reading is a small part of the work, and a second copy takes space
_READINGS: WeakKeyDictionary[Any, tuple[tuple[object, ...], Tree]] = WeakKeyDictionary()


def recall(model: Any, made_from: tuple[object, ...], read: Callable[[], Tree]) -> Tree:
    """Return the model's last reading if it was made from the same content, or read the model and remember that."""
    known = _find(model)
    if known is not None and known[0] == made_from:
        return known[1]
    tree = read()
    if tree.n_nodes <= MOST_NODES:
        with suppress(TypeError):  # a class of the user's own that has no hash, or cannot be referred to weakly
            _READINGS[model] = made_from, tree
    return tree


def _find(model: Any) -> tuple[tuple[object, ...], Tree] | None:
    try:
        return _READINGS.get(model)
    except TypeError:
        return None
