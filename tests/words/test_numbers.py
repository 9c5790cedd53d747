"""Numbers for people are short, and send no value of the table to another side."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import secateur
from secateur.words.conditions import count_points, format_count, format_share_beside
from secateur.words.plain_words import (
    ROUNDED,
    SHORT_ENOUGH,
    count_digits,
    find_neighbours,
    format_amount,
    format_limit,
    format_target,
    needs_values,
    round_target,
    shorten_number,
    write_number,
)

NUMBERS = st.floats(width=32, min_value=-(2.0**90), max_value=2.0**90) | st.integers(-(10**6), 10**6).map(
    lambda k: float(np.float32(k / 1000))
)


def kind_of(dtype: str) -> type[np.floating]:
    return np.dtype(dtype).type


def slow_neighbours(values: list[float], limit: float) -> tuple[float, float]:
    """Look at every value."""
    below = max((value for value in values if value <= limit), default=-math.inf)
    return below, min((value for value in values if value > limit), default=math.inf)


def slow_short(limit: float, dtype: str) -> Decimal:
    """Try decimals with ever more digits, on a grid around the limit."""
    kind = kind_of(dtype)
    before, after = (Decimal(float(np.nextafter(kind(limit), kind(end)))) for end in (-np.inf, np.inf))
    if limit == 0:
        return Decimal(0)
    exact = Decimal(limit)
    for digits in range(1, 18):
        step = Decimal(10) ** (exact.adjusted() - digits + 1)
        floor = (exact // step) * step
        fitting = [one for one in (floor + k * step for k in range(-2, 3)) if before < one < after]
        if fitting:
            return min(fitting, key=lambda one: (float(kind(float(one))) != limit, abs(one - exact)))
    return exact


@given(st.lists(NUMBERS | st.just(math.nan), max_size=30), st.lists(NUMBERS, min_size=1, max_size=8, unique=True))
@settings(max_examples=200, deadline=None)
def test_neighbours_are_those_that_a_look_at_every_value_finds(values: list[float], limits: list[float]) -> None:
    found = find_neighbours(np.array(values, dtype=np.float64), np.array(sorted(limits)))
    known = [value for value in values if not math.isnan(value)]
    assert found.T.tolist() == [list(slow_neighbours(known, limit)) for limit in sorted(limits)]


@given(NUMBERS, st.sampled_from(["float32", "float64"]))
@settings(max_examples=300, deadline=None)
def test_without_values_no_other_number_lies_between_the_short_one_and_the_limit(limit: float, dtype: str) -> None:
    if dtype == "float64" and np.float32(limit) != np.float32(np.nextafter(limit, np.inf)):
        dtype = "float32"  # the edge of a model that rounds to float32
    found = shorten_number(limit, dtype)
    assert not found.is_rounded
    assert count_digits(found.value) == count_digits(slow_short(limit, dtype))


@given(NUMBERS, st.lists(NUMBERS, max_size=10), st.sampled_from(["float32", "float64"]))
@settings(max_examples=400, deadline=None)
def test_no_value_of_the_column_changes_its_side(limit: float, others: list[float], dtype: str) -> None:
    kind = kind_of(dtype)
    limit = float(kind(limit))
    beside = [float(np.nextafter(kind(limit), kind(end))) for end in (-np.inf, np.inf)]
    for values in (others, [*others, limit], [*others, *beside], [*others, limit, *beside]):
        found = shorten_number(limit, dtype, *slow_neighbours(values, limit))
        shown = float(kind(float(found.value)))  # read as the model reads numbers
        for value in values:
            assert (value <= shown) == (value <= limit)


@pytest.mark.parametrize(
    ("limit", "dtype", "text"),
    [
        (float(np.float32(0.8)), "float32", "0.8"),
        (2.4499998092651367, "float32", "2.45"),
        (2.5000001192092896, "float64", "2.5"),
        (0.7500000298023224, "float64", "0.75"),
        (0.30000000000000004, "float64", "0.3"),
        (float(np.float32(83.33)), "float32", "83.33"),
        (5095.5, "float32", "5,095.5"),
        (0.0, "float32", "0"),
    ],
)
def test_numbers_look_as_people_write_them(limit: float, dtype: str, text: str) -> None:
    assert write_number(shorten_number(limit, dtype).value) == text


def test_a_long_number_is_rounded_as_far_as_the_table_allows() -> None:
    limit = float(np.float32(0.4839281))
    assert needs_values(limit, "float32")
    assert str(shorten_number(limit, "float32", 0.48, 0.49).value) == "0.484"
    assert str(shorten_number(limit, "float32", float(np.float32(0.4839)), 0.48394).value) == "0.48393"
    assert str(shorten_number(limit, "float32", limit, 1.0).value) == "0.484"  # never below a value of the table
    assert str(shorten_number(123456.789, "float64", 0.0, 1e6).value) == "123457"  # all before the point
    assert str(shorten_number(float(np.float32(14.935)), "float32", 0.0, 20.0).value) == "14.935"  # short as it is
    assert SHORT_ENOUGH == 5


def test_a_value_at_the_short_number_itself_keeps_its_side() -> None:
    limit, beyond = 2.4499998092651367, float(np.float32(2.45))  # the table holds 2.45, which is above the limit
    assert str(shorten_number(limit, "float32").value) == "2.45"
    assert float(np.float32(float(shorten_number(limit, "float32", 1.9, beyond).value))) < beyond


def test_what_names_something_has_no_marks_between_thousands() -> None:
    assert [write_number(Decimal(2010), name) for name in ("built_year", "zip", "patient id", "width", "paid")] == [
        *("2010", "2010", "2010", "2,010", "2,010"),
    ]


def test_the_text_says_that_numbers_are_rounded_and_a_file_shows_them_whole() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1)).astype(np.float32)
    y = (X[:, 0] > 0.3).astype(int)
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    rules = secateur.simplify(model, X, y)
    (rule,) = rules
    number = float(rule.asks[0].split()[-1])
    assert count_digits(Decimal(str(number))) <= SHORT_ENOUGH
    assert ((X[:, 0] <= number) == (X[:, 0] <= model.tree_.threshold[0])).all()
    assert ROUNDED in str(rules)
    stored = secateur.Rules.from_json(rules.to_json())
    assert ROUNDED not in str(stored)
    assert stored[0].text == rule.text


def test_counts_shares_and_amounts_are_short() -> None:
    assert [format_count(one) for one in (1234567.0, 1234567.5, 0.1 + 0.2)] == ["1,234,567", "1,234,570", "0.3"]
    assert [format_share_beside(one, 0.02) for one in (0.0312, 0.02004)] == ["3.1 %", "2.004 %"]
    assert [format_amount(one) for one in (1234.5678, 0.000123456)] == ["1,235", "0.0001235"]
    assert [format_limit(one) for one in (19.2716, 0.25, 0.0)] == ["19.28", "0.25", "0"]


def test_values_are_rounded_no_further_than_their_window() -> None:
    assert str(round_target(247.31, 240.0, 255.0, 20.0)) == "247"
    assert str(round_target(247.31, 247.25, 247.35, 20.0)) == "247.3"
    assert format_target(1247.3, (1230.0, 1260.0), 20.0, "€{}") == "about €1,247"
    assert format_target(0.5, None, 0.0) == "0.5"


def test_a_distance_of_percentages_is_in_points_and_one_point_is_no_points() -> None:
    assert [count_points(one) for one in (0.01, 0.1, 0.005, 0.3 - 0.2)] == [
        "1 point",
        "10 points",
        "0.5 points",
        "10 points",
    ]
    assert [format_limit(7.25, one) for one in ("{}", "€{}", "{} %", "{}%")] == [
        "7.25",
        "€7.25",
        "7.25 points",
        "7.25 points",
    ]
