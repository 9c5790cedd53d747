"""Whether a column may hold a number between two limits, against trying all numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secateur.facts.stating import state_facts
from secateur.tree.builder import TreeBuilder
from secateur.verify.boxes import Possible

ENDS = st.sampled_from([-math.inf, math.inf, *(quarter / 4 for quarter in range(-12, 13))])


@given(
    thresholds=st.lists(st.floats(-3, 3), min_size=2, max_size=2), asked=st.lists(st.tuples(ENDS, ENDS)), data=st.data()
)
def test_a_whole_number_between_limits_is_found(
    thresholds: list[float], asked: list[tuple[float, float]], data: st.DataObject
) -> None:
    """Also between limits that no split has, as bounds that someone states, and after other limits were looked up."""
    builder = TreeBuilder(["no", "yes"], ["n"], dtype="float64")
    root = builder.split("n", thresholds[0])
    below = builder.split("n", thresholds[1], parent=root, side="left")
    for parent, side in ((root, "right"), (below, "left"), (below, "right")):
        builder.leaf([1, 2], parent=parent, side=side)
    tree = state_facts(builder.build(), None, integers=["n"])
    possible = Possible(tree, tree.facts)
    for low, high in [*asked, (thresholds[0], data.draw(ENDS))]:
        wanted = any(low < number <= high for number in range(-100, 101))
        assert possible.has_number(0, low, high) == wanted
    lows, highs = (np.array(ends, dtype=np.float64) for ends in zip(*asked, (0.0, 1.0), strict=True))
    found = Possible(tree, tree.facts).has_number(0, lows, highs)
    assert found.tolist() == [any(low < n <= high for n in range(-100, 101)) for low, high in [*asked, (0.0, 1.0)]]


@pytest.mark.parametrize("limit", [7.0, 2.0**24 - 1, 2.0**24, 2.0**26 + 8, 2.0**26 + 16, 2.0**28 - 16])
def test_the_last_whole_number_that_is_rounded_to_a_limit_is_found(limit: float) -> None:
    """Beyond 2^24 several whole numbers are one number of four bytes; they are tried one by one here."""
    builder = TreeBuilder(["no", "yes"], ["n"], dtype="float32")
    root = builder.split("n", limit)
    for side in ("left", "right"):
        builder.leaf([1, 2], parent=root, side=side)
    last = int(limit)
    while np.float32(last + 1) <= limit:
        last += 1
    tree = state_facts(builder.build(), None, integers=["n"])
    assert Possible(tree, tree.facts)._find_place(0, limit) == last
