"""Read labels from files: a number, a truth value and a text may all mean the same label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["TRUTH_WORDS", "as_label", "as_truth", "to_label_types"]

# A CSV column that holds nothing else holds truth values.
TRUTH_WORDS = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}


def as_label(value: Any) -> str:
    """Write a value as files do."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)


def as_truth(value: Any, default: Any = None) -> Any:
    """Read true, false, 1 or 0 as a truth value; anything else gives the default."""
    word = str(value).strip().lower()
    return word == "1" if word in ("0", "1") else TRUTH_WORDS.get(word, default)


def to_label_types(labels: NDArray[Any], classes: Sequence[Any]) -> NDArray[Any]:
    """Turn a file's labels into the model's classes where they read alike, such as texts into numbers.

    Blanks around a text do not count where it is a class without them only.
    """
    known = {label for label in classes if isinstance(label, str)}
    cut = [one.strip(" ") if isinstance(one, str) and one not in known else one for one in labels.tolist()]
    if any(own is not one and own in known for own, one in zip(cut, labels.tolist(), strict=True)):
        labels = np.array(cut, dtype=object)
    named = {as_label(label): label for label in classes}
    written = [as_label(label) for label in labels.tolist()]
    if all(isinstance(label, bool) for label in classes) or labels.dtype == bool:
        named = {str(label).lower(): label for label in classes}
        written = [text.lower() for text in written]
    kinds = {type(label) for label in classes}
    if {type(label) for label in labels.tolist()} <= kinds or not set(written) <= set(named):
        return labels
    return np.array([named[text] for text in written], dtype=bool if kinds == {bool} else object)
