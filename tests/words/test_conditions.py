"""Printed numbers keep every float on its side, in as few digits as that takes."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

import numpy as np
import pytest
import strategies
from exported_rules import ward_rules
from hypothesis import given, settings
from hypothesis import strategies as st

import secateur
from secateur.tree.paths import trace_paths
from secateur.tree.regions import Region
from secateur.tree.tree import Tree, round_down
from secateur.words.conditions import EXACT, _read_cells, count_of, format_share, format_threshold, read_conditions
from secateur.words.plain_words import join_asked


def significant_digits(text: str) -> int:
    return len(Decimal(text).normalize().as_tuple().digits)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@settings(max_examples=500, deadline=None)
def test_every_float32_stays_on_its_side(value: float) -> None:
    limit = np.float32(value)
    with np.errstate(over="ignore"):
        beyond = np.nextafter(limit, np.float32(np.inf))
    assert float(limit) <= float(format_threshold(float(limit), "float32")) < float(beyond)


@given(st.floats(min_value=2.0**-100, max_value=2.0**100, width=32))
@settings(max_examples=200, deadline=None)
def test_no_shorter_decimal_would_do(value: float) -> None:
    limit = float(np.float32(value))
    beyond = float(np.nextafter(np.float32(value), np.float32(np.inf)))
    digits = significant_digits(format_threshold(limit, "float32"))
    if digits > 1:
        # All decimals with one digit less around the gap: none lies in it.
        step = Decimal(10) ** (Decimal(limit).adjusted() - digits + 2)
        floor = (Decimal(limit) // step) * step
        for k in range(-1, 3):
            assert not limit <= float(floor + k * step) < beyond


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=200, deadline=None)
def test_a_float64_threshold_reads_back_exactly(value: float) -> None:
    assert float(format_threshold(value, "float64")) == value


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e38, max_value=1e38))
@settings(max_examples=200, deadline=None)
def test_rounding_down_keeps_the_comparison(threshold: float) -> None:
    down = float(round_down(np.array([threshold]), "float32")[0])
    assert np.float32(down) == down
    assert down <= threshold < float(np.nextafter(np.float32(down), np.float32(np.inf)))


@given(tree=strategies.trees(categorical=False))
@settings(max_examples=100, deadline=None)
def test_merged_conditions_mean_what_their_links_mean(tree: Tree) -> None:
    paths = trace_paths(tree)
    grid = [-5.0, -1.0, -0.5, 0.0, 0.1, 0.5, 1.0, 1.1, 2.0, 3.0, 9.0]
    for rule in secateur.simplify(tree, method="none", each_leaf=True):
        for condition in read_conditions(tree, paths, rule.kept_ids):
            for value in grid:
                x = float(np.dtype(tree.dtype).type(value))
                meant = all(
                    (x <= tree.threshold[paths.parent[link]]) == paths.is_left[link] for link in condition.link_ids
                )
                assert meant == (condition.low < x <= condition.high)


def test_conditions_read_well() -> None:
    builder = secateur.TreeBuilder(
        ["a", "b"], ["age", "city"], categories={"city": ["Oslo", "Rome", "Lima"]}, accepts_missing=["age"]
    )
    root = builder.split("age", 30.5, missing="left")
    young = builder.split("age", 12.25, parent=root, side="left", missing="right")
    builder.leaf([1, 0], parent=young, side="left")
    town = builder.split_categories("city", ["Oslo", "Rome"], parent=young, side="right")
    builder.leaf([0, 1], parent=town, side="left")
    builder.leaf([1, 0], parent=town, side="right")
    known = builder.split("age", math.inf, parent=root, side="right")
    one = builder.split_categories("city", ["Lima"], parent=known, side="left", unlisted="left")
    builder.leaf([0, 2], parent=one, side="left")
    builder.leaf([2, 0], parent=one, side="right")
    builder.leaf([0, 2], parent=known, side="right")
    texts = [rule.text for rule in secateur.simplify(builder.build(), method="none", each_leaf=True)]
    assert texts == [
        "age <= 12.25 => a",
        "(12.25 < age <= 30.5 or missing) and city in {Oslo, Rome} => b",
        "(12.25 < age <= 30.5 or missing) and city not in {Oslo, Rome} => a",
        "age > 30.5 and city not in {Oslo, Rome} => b",
        "age > 30.5 and city in {Oslo, Rome} => a",
        "age is impossible => b",
    ]


def test_a_split_between_every_number_and_none_speaks_of_missing_values() -> None:
    builder = secateur.TreeBuilder(["a", "b"], ["age"], accepts_missing=True)
    root = builder.split("age", math.inf)
    builder.leaf([1, 0], parent=root, side="left")
    builder.leaf([0, 1], parent=root, side="right")
    texts = [rule.text for rule in secateur.simplify(builder.build(), method="none", each_leaf=True)]
    assert texts == ["age is not missing => a", "age is missing => b"]


@pytest.mark.parametrize(
    ("label", "shown"),
    [("Oslo", "Oslo"), ("", '""'), (" Oslo", '" Oslo"'), ("a, b", '"a, b"'), ("{a", '"{a"'), ("a}", '"a}"')],
)
def test_a_category_that_could_be_misread_stands_between_quotes(label: str, shown: str) -> None:
    builder = secateur.TreeBuilder(["a", "b"], ["city"], categories={"city": ["Rome", label]})
    root = builder.split_categories("city", ["Rome", label])
    builder.leaf([1, 0], parent=root, side="left")
    builder.leaf([0, 1], parent=root, side="right")
    rule = secateur.simplify(builder.build(), method="none", each_leaf=True)[0]
    assert rule.text == f"city in {{Rome, {shown}}} => a"


@pytest.mark.parametrize(
    ("share", "text"),
    [(1.0, "100.0 %"), (0.9999, ">99.9 %"), (0.0001, "<0.1 %"), (0.0, "0.0 %"), (0.5, "50.0 %"), (None, "unknown")],
)
def test_a_share_is_never_rounded_to_certainty(share: float | None, text: str) -> None:
    assert format_share(share) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((0, "0 rows"), (1, "1 row"), (1200, "1,200 rows"), (2.5, "2.5 rows")),
        *((1234567.5, "1,234,570 rows"), (1.5e-9, "1.5e-09 rows")),
    ],
)
def test_a_count_agrees_with_its_noun(number: float, text: str) -> None:
    assert count_of(number, "row") == text


def slow_threshold(limit: float, dtype: str) -> str:
    """The shortest decimal by trying every number of digits from one on."""
    if limit == 0:
        return "0"
    with np.errstate(over="ignore"):
        beyond = float(np.nextafter(np.dtype(dtype).type(limit), np.inf))
    middle = limit / 2 + beyond / 2
    exact = Decimal(limit)
    for digits in range(1, 18):
        candidates = {
            Context(prec=digits, rounding=rounding).create_decimal(aim)
            for aim in (exact, Decimal(middle) if math.isfinite(middle) else exact)
            for rounding in (ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN)
        }
        fitting = [decimal for decimal in candidates if limit <= float(decimal) < beyond]
        if fitting:
            best = min(fitting, key=lambda decimal: (float(decimal) >= middle, abs(decimal - exact)))
            return repr(float(best)).removesuffix(".0")
    return repr(limit)


@given(
    st.floats(width=32, allow_nan=False, allow_infinity=False)
    | st.integers(-(10**9), 10**9).map(lambda k: float(np.float32(k / 1000)))
    | st.integers(-38, 38).map(lambda k: float(np.float32(10.0**k))),
    st.sampled_from(["float32", "float64"]),
)
@settings(max_examples=500, deadline=None)
def test_skipping_hopeless_numbers_of_digits_changes_nothing(limit: float, dtype: str) -> None:
    assert format_threshold(limit, dtype) == slow_threshold(limit, dtype)


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=300, deadline=None)
def test_skipping_changes_nothing_for_float64_numbers(limit: float) -> None:
    assert format_threshold(limit, "float64") == slow_threshold(limit, "float64")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("age", "age"),
        ("a <= b", "`a <= b`"),
        ("2", "`2`"),
        ("x = y", "`x = y`"),
        ("k=v", "k=v"),
        ("a and b", "`a and b`"),
    ],
)
def test_a_name_that_could_be_misread_stands_between_backticks(name: str, shown: str) -> None:
    builder = secateur.TreeBuilder(classes=["no", "yes"], feature_names=[name])
    root = builder.split(name, 0.5)
    builder.leaf([2, 1], parent=root, side="left")
    builder.leaf([1, 2], parent=root, side="right")
    rule = secateur.simplify(builder.build(), method="none", each_leaf=True)[0]
    assert rule.text == f"{shown} <= 0.5 => no"
    assert str(rule) == f"no if {shown} ≤ 0.5"


def test_what_a_rule_asks_is_joined_in_a_line() -> None:
    assert join_asked([]) == "always"
    assert join_asked(["age > 3 or missing"]) == "age > 3 or missing"
    assert join_asked(["age > 3 or missing", "ward is A"]) == "(age > 3 or missing) and ward is A"
    assert join_asked(["a", "b", "c"]) == "a and b and c"


def test_cells_of_a_number_are_everything_only_if_none_is_missing() -> None:
    tree = ward_rules().tree
    found = {
        n_codes: _read_cells("x", tree, 0, (1.0, 2.0, 3.0), Region(codes=frozenset(range(n_codes))), EXACT)
        for n_codes in range(5)
    }
    assert found == {
        **{0: ("nothing", ""), 1: ("some", "x <= 1"), 2: ("some", "x <= 2"), 3: ("some", "x <= 3")},
        4: ("everything", ""),
    }
