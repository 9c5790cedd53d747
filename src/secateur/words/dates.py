"""Word limits of dates and times as dates and times.

A limit lies between two moments of the reading's step: the last that goes one way, and the first that goes the other.
The words name one of the two, so that they send no row elsewhere.
"""

import math
from datetime import date, timedelta
from functools import lru_cache

import numpy as np

from secateur.tree.columns import DAY, MOST_DAYS, STEPS, ColumnParser

FIRST_DAY = date(1970, 1, 1)
EARLIEST_DAY = -719_162  # the first of January of the year 1


def read_moments(name: str, reading: ColumnParser, low: float, high: float, dtype: str) -> tuple[str, str] | None:
    """Word ``low < x <= high`` as dates or times; None where a limit is none.

    Examples
    --------
    >>> from secateur.tree.columns import ColumnParser
    >>> read_moments("opened", ColumnParser("date"), -float("inf"), 18687.5, "float32")
    ('some', 'opened before 2021-03-02')
    >>> read_moments("opened", ColumnParser("date"), 18687.5, 18700.5, "float32")
    ('some', 'opened from 2021-03-02 to 2021-03-14')
    """
    if not all(math.isinf(limit) or _is_near(limit, reading) for limit in (low, high)):
        return None
    # The moments that the region holds, in steps: from start to before end.
    start = None if math.isinf(low) else first_beyond(low, reading, dtype)
    end = None if math.isinf(high) else first_beyond(high, reading, dtype)
    if low >= high or (start is not None and end is not None and start >= end):
        return "nothing", ""
    if start is None:
        return ("everything", "") if end is None else ("some", f"{name} before {write_moment(end, reading)}")
    if end is None:
        return "some", f"{name} from {write_moment(start, reading)} on"
    if end - start == 1:
        return "some", f"{name} is {write_moment(start, reading)}"
    return "some", f"{name} from {write_moment(start, reading)} to {write_moment(end - 1, reading)}"


def read_moment(value: float, reading: ColumnParser) -> str:
    """Write a number of the tree's dtype as the date or time that it stands for; a rounded one as about that time."""
    if not _is_near(value, reading):
        return f"{value:g}"
    step, unit = STEPS[reading.step], _unit(reading)
    n_steps = round(value * unit / step)
    single = (np.array([n_steps - 1, n_steps, n_steps + 1], dtype=np.float64) * step / unit).astype(np.float32)
    is_rounded = float(single[1]) == value and (single[0] == single[1] or single[1] == single[2])
    if is_rounded and STEPS["minute"] > step:
        n_steps = round(value * unit / STEPS["minute"]) * STEPS["minute"] // step
    return f"about {write_moment(n_steps, reading)}" if is_rounded else write_moment(n_steps, reading)


@lru_cache(maxsize=65536)
def first_beyond(limit: float, reading: ColumnParser, dtype: str) -> int:
    """Find the first moment, in steps, whose number exceeds a limit of dtype once it is rounded to dtype."""
    kind, step, unit = np.dtype(dtype).type, STEPS[reading.step], _unit(reading)

    def exceeds(n_steps: int) -> bool:
        return float(kind(float(n_steps * step) / unit)) > limit

    # The number rises with the moment: double the stride until it is beyond, then halve it.
    place, jump = math.floor(limit * unit / step), 1
    while exceeds(place):
        place, jump = place - jump, 2 * jump
    jump = 1
    while not exceeds(place + jump):
        place, jump = place + jump, 2 * jump
    while jump > 1:
        jump //= 2
        place += 0 if exceeds(place + jump) else jump
    return place + 1


def write_moment(n_steps: int, reading: ColumnParser) -> str:
    """Write a moment, in steps, as ISO 8601 does, with as much of the time as it needs."""
    days, ticks = divmod(n_steps * STEPS[reading.step], DAY)
    if reading.is_whole_days:
        return _write_day(days)
    seconds, micro = divmod(ticks, STEPS["second"])
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    text = f"{hour:02d}:{minute:02d}"
    if second or micro:
        text += f":{second:02d}" + (f".{micro:06d}".rstrip("0") if micro else "")
    if reading.kind == "clock":
        return "24:00" if days == 1 else text
    return f"{_write_day(days)} {text}" if ticks else _write_day(days)


def _write_day(days: int) -> str:
    return (FIRST_DAY + timedelta(days=days)).isoformat()


def _unit(reading: ColumnParser) -> float:
    return float(STEPS["second"] if reading.kind == "clock" else DAY)


def _is_near(limit: float, reading: ColumnParser) -> bool:
    """Whether a limit lies among the dates that have a name, or within a day."""
    return 0 <= limit < 86_400 if reading.kind == "clock" else EARLIEST_DAY < limit < MOST_DAYS
