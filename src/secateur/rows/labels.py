"""Labels as they stand in files: a number, a truth value and a text may all mean the same label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["as_label", "as_truth", "to_label_types"]

BOOLEANS = {"true": True, "false": False, "1": True, "0": False}


def as_label(value: Any) -> str:
    """A value as it stands in a file."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)


def as_truth(value: Any, default: Any = None) -> Any:
    """The truth value that a word stands for, if it does."""
    return BOOLEANS.get(str(value).strip().lower(), default)


def to_label_types(labels: NDArray[Any], classes: Sequence[Any]) -> NDArray[Any]:
    """Labels of a file as a model knows them: texts for numbers or truth values, and numbers for texts, where meant."""
    named = {as_label(label): label for label in classes}
    written = [as_label(label) for label in labels.tolist()]
    if all(isinstance(label, bool) for label in classes) or labels.dtype == bool:
        named = {str(label).lower(): label for label in classes}
        written = [text.lower() for text in written]
    kinds = {type(label) for label in classes}
    if {type(label) for label in labels.tolist()} <= kinds or not set(written) <= set(named):
        return labels
    return np.array([named[text] for text in written], dtype=bool if kinds == {bool} else object)
