"""Round limits to numbers with a fixed number of decimals."""

import math
from decimal import ROUND_FLOOR, Context, Decimal
from functools import lru_cache

import numpy as np

MOST_DECIMALS = 15
_EXACT = Context(prec=1100, rounding=ROUND_FLOOR)  # enough digits to write out every float64


@lru_cache(maxsize=65536)
def last_with_decimals(limit: float, decimals: int, dtype: str) -> Decimal:
    """Find the largest number with so many decimals that, rounded to dtype, does not exceed a finite limit in dtype."""
    kind, step = np.dtype(dtype).type, Decimal(1).scaleb(-decimals)
    with np.errstate(over="ignore"):
        beyond = float(np.nextafter(kind(limit), kind(np.inf)))
        # A number between two neighbours in dtype is rounded to the nearer of them.
        exact = Decimal(limit)
        middle = exact if math.isinf(beyond) else _EXACT.divide(_EXACT.add(exact, Decimal(beyond)), Decimal(2))
        last = _EXACT.quantize(middle, step)

        def fits(n_steps: int) -> bool:
            moved = _EXACT.add(last, _EXACT.multiply(step, Decimal(n_steps)))
            return float(kind(float(moved))) <= limit

        # Rounding twice, to a double and then to dtype, may move the end by many steps: double, then halve.
        jump = 1
        if fits(0):
            place = 0
            while fits(place + jump):
                place, jump = place + jump, 2 * jump
        else:
            place = -1
            while not fits(place):
                place, jump = place - jump, 2 * jump
        while jump > 1:
            jump //= 2
            place += jump if fits(place + jump) else 0
        last = _EXACT.add(last, _EXACT.multiply(step, Decimal(place)))
    return last


def round_down_to_decimals(limit: float, decimals: int, dtype: str) -> float:
    """Round a limit down to :func:`last_with_decimals`, as a number of dtype; an infinite limit stays."""
    if math.isinf(limit):
        return limit
    return float(np.dtype(dtype).type(float(last_with_decimals(limit, decimals, dtype))))


def next_with_decimals(limit: float, decimals: int, dtype: str) -> float:
    """Find the first number with so many decimals that, rounded to dtype, exceeds a limit in dtype."""
    following = _EXACT.add(last_with_decimals(limit, decimals, dtype), Decimal(1).scaleb(-decimals))
    with np.errstate(over="ignore"):
        return float(np.dtype(dtype).type(float(following)))
