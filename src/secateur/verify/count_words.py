"""Say in words how recounted rows differ from those that rules state."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SHOWN_CLASSES = 5
ROUNDING = 1e-9
WORDS = {"class_counts": "covers", "leaf_counts": "has in its leaf", "decided_counts": "decides", "unseen": "has"}


def describe_difference(
    what: str, name: str, classes: Sequence[str], again: NDArray[np.float64], stated: NDArray[np.float64]
) -> str:
    """Say how many rows of each class something covers or decides, where that is not what it states.

    Examples
    --------
    >>> import numpy as np
    >>> again, stated = np.array([0, 1]), np.array([2, 560])
    >>> describe_difference("The rule of leaf 4", "class_counts", ["late", "paid"], again, stated)
    'The rule of leaf 4 covers 0 late and 1 paid of these rows, but states 2 late and 560 paid.'
    """
    differing = np.flatnonzero(~np.isclose(again, stated, rtol=ROUNDING, atol=ROUNDING))
    shown = np.arange(len(classes)) if len(classes) <= SHOWN_CLASSES else differing[:SHOWN_CLASSES]
    counted, told = (
        _join([f"{counts[place]:,.10g} {classes[place]}" for place in shown.tolist()]) for counts in (again, stated)
    )
    return f"{what} {WORDS[name]} {counted} of these rows, but states {told}."


def compare_totals(again: NDArray[np.float64], stated: NDArray[np.float64]) -> list[str]:
    """Say so if these are not as many rows as the rules were made from; both are counted by leaf."""
    if np.isnan(stated).any() or np.isclose(again.sum(), stated.sum(), rtol=ROUNDING, atol=ROUNDING):
        return []
    return [
        f"These {again.sum():,.10g} rows are not the {stated.sum():,.10g} training rows, so their counts must differ: "
        "pass the rows that the rules were made from, or audit the rules on these."
    ]


def _join(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
