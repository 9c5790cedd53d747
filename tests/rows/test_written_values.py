"""Texts, dates and times are read as the numbers that their reading says, as a slow twin reads them one by one."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.errors import InputError
from secateur.rows.encoding import find_unread, read_written
from secateur.tree.columns import STEPS, ColumnParser

FIRST = datetime(1970, 1, 1)


def read_slowly(text: str, reading: ColumnParser) -> float | None:
    """Read one text; None if it cannot be read."""
    text = text.strip(" ")
    if not text:
        return math.nan
    found = re.fullmatch(reading.pattern, text)
    if found is None:
        return None
    if reading.kind == "number":
        digits = "".join(sign for sign in text if sign in f"0123456789-{reading.decimal}")
        return float(Decimal(digits.replace(reading.decimal, ".")))
    part = {name: value or "0" for name, value in found.groupdict().items()}
    year, month, day = "1970", "1", "1"
    if reading.kind == "date":
        year, month, day = part["year"], part["month"], part["day"]
        if part.get("last", "0") != "0":
            one, two = part["first"], part["then"]
            year, month, day = part["last"], *((one, two) if reading.order == "mdy" else (two, one))
    micro = (part["part"].lstrip(".") + "000000")[:6] if part["part"] != "0" else "0"
    try:
        moment = datetime(*map(int, (year, month, day, part["hour"], part["minute"], part["second"], micro)))
    except ValueError:
        return None
    ticks = (moment - FIRST) // timedelta(microseconds=1)
    step = STEPS[reading.step]
    return float(ticks // step * step) / (1e6 if reading.kind == "clock" else 86_400e6)


def readings() -> st.SearchStrategy[ColumnParser]:
    numbers = st.builds(
        ColumnParser,
        st.just("number"),
        unit=st.sampled_from(["", "$", "%", "EUR"]),
        thousands=st.sampled_from(["", ",", "'", " "]),
        decimal=st.just("."),
    ) | st.builds(ColumnParser, st.just("number"), thousands=st.sampled_from(["", "."]), decimal=st.just(","))
    steps = st.sampled_from(["day", "minute", "second", "microsecond"])
    dates = st.builds(ColumnParser, st.just("date"), order=st.sampled_from(["ymd", "dmy", "mdy"]), step=steps)
    clocks = st.builds(ColumnParser, st.just("clock"), step=st.sampled_from(["minute", "second", "microsecond"]))
    return numbers | dates | clocks


def texts() -> st.SearchStrategy[str]:
    """Texts that are nearly amounts, dates and times."""
    number = st.from_regex(r"\A ?[-+]?[$%]? ?[0-9]{1,4}([,.' ][0-9]{1,3}){0,3} ?(%|EUR|\$)? ?\Z")
    moment = st.from_regex(
        r"\A([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4})"
        r"([T ][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?Z?)?\Z"
    )
    clock = st.from_regex(r"\A[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?\Z")
    real = st.datetimes().map(lambda one: one.strftime("%d/%m/%Y %H:%M"))
    return number | moment | clock | real | st.sampled_from(["", "  ", "n/k", "31/06/2021", "29/02/2024", "24:00"])


@settings(deadline=None)
@given(st.lists(texts(), min_size=1, max_size=8), readings())
def test_texts_are_read_as_one_by_one(given_texts: list[str], reading: ColumnParser) -> None:
    wanted = [read_slowly(text, reading) for text in given_texts]
    values = pa.array(given_texts)
    assert find_unread(values, reading).tolist() == [number is None for number in wanted]
    known = [(text, number) for text, number in zip(given_texts, wanted, strict=True) if number is not None]
    found = read_written(pa.array([text for text, _ in known], pa.string()), reading, "x")
    assert np.array_equal(found, [number for _, number in known], equal_nan=True)


@settings(deadline=None)
@given(st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)), st.sampled_from(["day", "minute", "second"]))
def test_a_moment_is_the_same_however_it_is_stored(moment: datetime, step: str) -> None:
    reading = ColumnParser("date", order="dmy", step=step)
    written = [moment.isoformat(sep=" "), moment.strftime(f"%d/%m/{moment.year:04d} %H:%M:%S.%f")]
    (number,) = set(read_written(pa.array(written), reading, "x").tolist())
    kinds: list[Any] = [pa.array([moment], pa.timestamp("us")), pa.array([moment], pa.timestamp("ns"))]
    kinds += [pa.array([moment.replace(tzinfo=UTC)], pa.timestamp("us", tz="UTC"))]
    east = moment.replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=5)))
    kinds += [pa.array([east], pa.timestamp("us", tz="+05:00"))]
    assert {float(read_written(kind, reading, "x")[0]) for kind in kinds} == {number}


def test_other_types_mean_themselves() -> None:
    day, clock = ColumnParser("date"), ColumnParser("clock", step="minute")
    assert read_written(pa.array([date(1970, 1, 3), None]), day, "x").tolist()[0] == 2.0
    assert read_written(pa.array([time(14, 30, 59)]), clock, "x").tolist() == [14 * 3600 + 30 * 60]
    assert read_written(pa.array([3, None]), day, "x").tolist()[0] == 3.0  # counts as read already
    assert np.isnan(read_written(pa.nulls(2), day, "x")).all()
    coded = pa.array(["1970-01-02", None, "1970-01-03"]).dictionary_encode()
    assert np.array_equal(read_written(coded, day, "x"), [1, np.nan, 2], equal_nan=True)
    assert find_unread(pa.array([True]), day).tolist() == [True]


def test_what_cannot_be_read_is_named() -> None:
    with pytest.raises(InputError, match=r"Column 'paid' of X holds 'n/k' \(row 1\), but the rules read it as numbers"):
        read_written(pa.array(["$1", "n/k"]), ColumnParser("number", unit="$"), "paid")
    with pytest.raises(InputError, match=r"holds '31/06/2021' \(row 7\), but the rules read it as dates"):
        read_written(pa.array(["31/06/2021"]), ColumnParser("date", order="dmy"), "seen", first=7)
    assert pd.isna(read_written(pa.array([""]), ColumnParser("date"), "x")[0])
