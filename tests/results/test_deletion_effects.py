"""What a change of reliability is called: at the tolerance itself, on both sides, it is none."""

from __future__ import annotations

import math

import pytest

from secateur.results.deletion_effects import name_effect, name_set_effect, read_points


@pytest.mark.parametrize("tolerance", [0.0, 0.05, 0.5])
def test_a_change_of_exactly_the_tolerance_is_no_effect(tolerance: float) -> None:
    above, below = math.nextafter(tolerance, 1), math.nextafter(-tolerance, -1)
    assert {name_effect(effect, tolerance) for effect in (-tolerance, 0.0, tolerance)} == {"probabilistic-irc"}
    assert name_effect(above, tolerance) == "negative-relevance"
    assert name_effect(below, tolerance) == "positive-relevance"
    same = {name_set_effect(effect, tolerance) for effect in (-tolerance, 0.0, tolerance)}
    assert same == {"reliability-preserving"}
    assert name_set_effect(above, tolerance) == "reliability-increasing"
    assert name_set_effect(below, tolerance) == "reliability-decreasing"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        *((0.0, "±0 points"), (-0.0512, "-5.1 points"), (1.0, "+100.0 points"), (0.0005, "+0.1 points")),
        *((math.nextafter(0.0005, 0), "+0.05 points"), (-0.00004, "-0.004 points")),
    ],
)
def test_a_change_that_is_not_zero_never_reads_as_zero(change: float, text: str) -> None:
    assert read_points(change) == text
