"""Shares of counts, where a count may be zero or unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["divide_or_nan", "none_if_nan"]


def divide_or_nan(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    """Divide two arrays, which broadcast; NaN where the whole is zero.

    Examples
    --------
    >>> divide_or_nan(np.array([1.0, 0.0]), np.array([4.0, 0.0])).tolist()
    [0.25, nan]
    """
    shape = np.broadcast_shapes(part.shape, whole.shape)
    share: NDArray[np.float64] = np.divide(part, whole, out=np.full(shape, np.nan), where=whole > 0)
    return share


def none_if_nan(value: float) -> float | None:
    """Give a stored number as a plain float; None where it is not known."""
    return None if value != value else float(value)
