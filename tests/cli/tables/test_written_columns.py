"""Columns that are written as text are found to hold numbers or dates, and only those."""

from __future__ import annotations

from datetime import time
from typing import Any

import numpy as np
import pandas as pd
import pytest

from secateur.cli.tables.table_columns import Unreadable, describe_readings, find_reading
from secateur.errors import InputError

CASES: dict[str, tuple[list[Any], dict[str, str] | None]] = {
    "thousands": (["37,900", "900", None], {"kind": "number", "thousands": ",", "decimal": "."}),
    "dollars": (["$1,599.38", "-$12.00"], {"kind": "number", "unit": "$", "thousands": ","}),
    "euros": (["1.599,38 €", "12,00 €"], {"kind": "number", "unit": "€", "thousands": ".", "decimal": ","}),
    "percent": (["21.1%", "7 %"], {"kind": "number", "unit": "%"}),
    "decimal comma": (["3,5", "12,25"], {"kind": "number", "thousands": ".", "decimal": ","}),
    "blanks between thousands": (["12 345", "7 000"], {"kind": "number", "thousands": " "}),
    "iso": (["2024-08-15", "2024-01-02"], {"kind": "date", "order": "ymd", "step": "day"}),
    "day first": (["15/08/2024", "03/01/2023"], {"kind": "date", "order": "dmy", "step": "day"}),
    "month first": (["08/15/2024", "03/01/2023"], {"kind": "date", "order": "mdy"}),
    "times": (["2024-08-15 10:20", "2024-08-15T10:20:00Z"], {"kind": "date", "step": "minute"}),
    "seconds": (["2024-08-15 10:20:07"], {"kind": "date", "step": "second"}),
    "clock": (["10:20", "9:05"], {"kind": "clock", "step": "minute"}),
    "words": (["north", "south"], None),
    "two currencies": (["$5", "€6"], None),
    "codes": (["A1", "B2"], None),
    "digits": (["01234", "98765"], None),
    "numbers in words": (["1 apple", "2 pears"], None),
    "versions": (["1.2.3", "1.2.4"], None),
}


@pytest.mark.parametrize("case", CASES)
def test_a_reading_is_found_where_all_texts_fit(case: str) -> None:
    texts, wanted = CASES[case]
    found = find_reading(pd.Series(texts, dtype=object))
    if wanted is None:
        assert found is None
    else:
        assert found is not None
        assert {name: getattr(found.reading, name) for name in wanted} == wanted


def test_types_of_dates_and_times_are_read_too() -> None:
    stamps = find_reading(pd.Series(pd.to_datetime(["2024-08-15 10:20", None])))
    assert stamps is not None
    assert (stamps.reading.kind, stamps.reading.step) == ("date", "minute")
    clock = find_reading(pd.Series([time(10, 20), None], dtype=object))
    assert clock is not None
    assert clock.reading.kind == "clock"


def test_where_no_date_tells_the_day_comes_first_and_that_is_said() -> None:
    dates = pd.Series(["03/04/2021", "05/06/2021"], dtype=object)
    found = find_reading(dates)
    assert found is not None
    assert found.is_ambiguous
    assert found.reading.order == "dmy"
    assert describe_readings({"seen": found}) == [
        "Read as dates seen (dd/mm/yyyy) (--text COLUMN keeps one as text).",
        "No date of seen says whether the day or the month comes first: the day is taken to, and with --month-first "
        "the month.",
    ]
    other = find_reading(dates, month_first=True)
    assert other is not None
    assert other.reading.order == "mdy"


def test_odd_cells_are_told_of_for_all_columns_in_one_go() -> None:
    dates = pd.Series(["2024-08-15"] * 19 + ["soon"], dtype=object)
    amounts = pd.Series(["1 €", "2 €"] * 40 + [f"odd {n}" for n in range(8)], dtype=object)
    plain = pd.Series(["1e5", "2"] * 10 + ["old"], dtype=object)
    unreadable = Unreadable("t.csv", 0.0, "or else")
    for name, values in {"seen": dates, "paid": amounts, "age": plain}.items():
        found = find_reading(values)
        assert found is not None
        unreadable.blank(name, values, found.odd, found.what)
        assert np.isnan(found.read(values, name, "t.csv")).tolist() == values.str.match("soon|odd|old").tolist()
    with pytest.raises(InputError) as raised:
        unreadable.settle()
    assert str(raised.value) == (
        "10 cells of t.csv cannot be read: 'seen' holds 'soon' (row 20) among its dates (1 of 20 cells); 'paid' holds "
        "'odd 0' (row 81), 'odd 1' (row 82), 'odd 2' (row 83) and 5 more among its numbers (8 of 88 cells); 'age' "
        "holds 'old' (row 21) among its numbers (1 of 21 cells). Repair them; name a text that means a blank with "
        "--missing 'soon'; take all such cells for blanks with --blank-unreadable 0.091; or else."
    )
    few = Unreadable("t.csv", 0.091, "")
    assert few.blank("age", plain, find_reading(plain).odd, "numbers").isna().sum() == 1  # type: ignore[union-attr]
    assert few.settle() == [
        "Took for blanks what cannot be read: 'age' holds 'old' (row 21) among its numbers (1 of 21 cells)."
    ]
    assert find_reading(pd.Series(["2024-08-15"] * 5 + ["soon"] * 5, dtype=object)) is None
    assert Unreadable("t.csv", 0.0, "").settle() == []
