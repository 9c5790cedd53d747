"""How a change of reliability reads."""

from __future__ import annotations

import math

import pytest

from secateur.results.deletion_effects import format_points


@pytest.mark.parametrize(
    ("change", "text"),
    [
        *((0.0, "±0 points"), (-0.0512, "-5.1 points"), (1.0, "+100.0 points"), (0.0005, "+0.1 points")),
        *((math.nextafter(0.0005, 0), "+0.05 points"), (-0.00004, "-0.004 points")),
    ],
)
def test_a_change_that_is_not_zero_never_reads_as_zero(change: float, text: str) -> None:
    assert format_points(change) == text
