"""Dates in words send no row elsewhere: the limit in the words is the first moment on the other side."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.rows.encoding import read_written
from secateur.tree.columns import STEPS, ColumnParser
from secateur.words.conditions import first_beyond, format_moment, read_moments, write_moment

FIRST = datetime(1970, 1, 1)


@settings(deadline=None)
@given(
    st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)),
    st.sampled_from(["day", "minute", "second", "microsecond"]),
    st.sampled_from(["float32", "float64"]),
    st.integers(-2, 2),
)
def test_the_moment_in_the_words_is_the_first_beyond_the_limit(
    moment: datetime, step: str, dtype: str, ulps: int
) -> None:
    reading, kind = ColumnParser("date", step=step), np.dtype(dtype).type
    limit = kind(read_written(pa.array([moment]), reading, "x")[0])
    for _ in range(abs(ulps)):
        limit = np.nextafter(limit, kind(math.copysign(np.inf, ulps)))
    _, words = read_moments("x", reading, -math.inf, float(limit), dtype) or ("", "")
    first = datetime.fromisoformat(words.removeprefix("x before "))
    last = first - timedelta(microseconds=STEPS[step])
    numbers = read_written(pa.array([last, first]), reading, "x").astype(dtype)
    assert numbers[0] <= limit < numbers[1]
    _, later = read_moments("x", reading, float(limit), math.inf, dtype) or ("", "")
    assert later == f"{words.replace('before', 'from')} on"


def test_times_of_the_day_are_worded_too() -> None:
    clock = ColumnParser("clock", step="minute")
    assert read_moments("at", clock, 52_200.0, 60_000.0, "float32") == ("some", "at from 14:31 to 16:40")
    assert read_moments("at", clock, -math.inf, 52_200.0, "float32") == ("some", "at before 14:31")
    assert read_moments("at", clock, 52_200.0, 86_399.0, "float32") == ("some", "at from 14:31 to 23:59")
    assert read_moments("at", clock, 52_200.0, 86_400.0, "float32") is None  # no time of a day
    assert format_moment(52_200.0, clock) == "14:30"


def test_one_day_no_day_and_all_days() -> None:
    day = ColumnParser("date")
    assert read_moments("x", day, 18_686.5, 18_687.5, "float32") == ("some", "x is 2021-03-01")
    assert read_moments("x", day, 18_687.0, 18_687.5, "float32") == ("nothing", "")
    assert read_moments("x", day, -math.inf, math.inf, "float32") == ("everything", "")
    assert read_moments("x", day, -math.inf, 1e30, "float32") is None  # no calendar has such a day


def test_a_time_that_the_tree_rounds_is_said_to_be_about_that_time() -> None:
    second = ColumnParser("date", step="second")
    exact = datetime(2021, 3, 1, 7, 13, 31)
    rounded = float(np.float32((exact - FIRST) / timedelta(days=1)))
    assert format_moment(rounded, second).startswith("about 2021-03-01 07:1")
    assert format_moment(18_687.0, ColumnParser("date")) == "2021-03-01"
    assert write_moment(first_beyond(18_687.0, ColumnParser("date"), "float32"), ColumnParser("date")) == "2021-03-02"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_whole_days_are_exact_in_either_type(dtype: str) -> None:
    days = np.arange(-40_000, 60_000, 997)
    assert [first_beyond(float(one), ColumnParser("date"), dtype) for one in days] == (days + 1).tolist()


def test_a_moment_is_about_where_the_number_stands_for_its_neighbour_too() -> None:
    reading = ColumnParser("date", step="minute")
    seen = set()
    for day in (5_000, 10_000, 20_000):  # their numbers are 42, 84 and 169 seconds apart
        for minute in range(1440 * day, 1440 * day + 300):
            one, here, other = (float(np.float32(place / 1440)) for place in (minute - 1, minute, minute + 1))
            if round(here * 1440) == minute:
                is_about = format_moment(here, reading).startswith("about ")
                assert is_about == (here in (one, other)), (day, minute)
                seen.add((day, is_about))
    assert seen == {(5_000, False), (10_000, False), (10_000, True), (20_000, True)}
