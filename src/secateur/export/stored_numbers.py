"""Read the numbers of stored rules: class counts, and the numbers behind reasons. A number in quotes is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["read_counts", "read_numbers"]

NUMBERS = {int, float}  # a truth value is none
MOST_ROWS = 1e300  # so that shares and percentages of sums can still be computed


def read_counts(rows: Sequence[Sequence[float] | None], n_classes: int) -> NDArray[np.float64]:
    """Read the class counts of each rule; NaN where they are unknown."""
    if not rows:
        return np.empty((0, n_classes))
    known = [row for row in rows if row is not None]
    if {n_classes, *map(len, known)} != {n_classes} or not {type(count) for row in known for count in row} <= NUMBERS:
        raise ValueError(f"expected {n_classes} class counts for each rule")
    unknown = [np.nan] * n_classes
    read = np.array([unknown if row is None else row for row in rows], dtype=np.float64)
    if (read < 0).any() or (read > MOST_ROWS).any():
        raise ValueError(f"a class count is negative, or more than {MOST_ROWS:g}")
    return read


def read_numbers(values: Sequence[Any], name: str) -> NDArray[np.float64]:
    """Read a number behind each reason; NaN where there is none."""
    if not set(map(type, values)) <= {*NUMBERS, type(None)}:
        raise ValueError(f"expected a number or null in {name!r}")
    numbers = np.array(values, dtype=np.float64)
    if np.isinf(numbers).any():
        raise ValueError(f"the number {name!r} of a reason is not finite")
    return numbers
