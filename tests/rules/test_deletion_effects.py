"""What a change of reliability is called: at the tolerance itself, on both sides, it is none."""

from __future__ import annotations

import math

import pytest

from secateur.rules.deletion_effects import name_effect, name_set_effect


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
