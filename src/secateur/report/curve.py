"""The curves of the slider as points of small drawings: what is removed, how many rows conflict, what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["draw_curves"]

# The drawing's own units; the page scales it.
WIDTH, HEIGHT = 320, 150
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 14, 26

PANELS = (
    ("removed", "Conditions removed", "%"),
    ("conflict", "Rows in conflict", "%"),
    ("delta_accuracy", "Accuracy change", "points"),
)


def draw_curves(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Make a drawing for each number that was measured, over the values of the knob."""
    knob = summary["knob"]
    if knob is None:
        return []
    drawings = []
    for key, name, unit in PANELS:
        numbers = [step[key] for step in summary["steps"]]
        if None not in numbers:
            drawings.append({"key": key, "name": name, "unit": unit, **_place(numbers, knob["values"])})
    return drawings


def _place(numbers: list[float], values: list[float]) -> dict[str, Any]:
    low, high = min(0.0, *numbers), max(0.0, *numbers)
    if high - low < 1e-9:
        high = low + 1.0
    run = WIDTH - LEFT - RIGHT
    rise = HEIGHT - TOP - BOTTOM
    xs = [LEFT + run * (place / (len(values) - 1) if len(values) > 1 else 0.5) for place in range(len(values))]
    ys = [TOP + rise * (high - number) / (high - low) for number in numbers]
    every = -(-len(values) // 7)  # so that the labels do not touch
    return {
        "points": [
            {"x": round(x, 1), "y": round(y, 1), "label": f"{value:g}" if place % every == 0 else ""}
            for place, (x, y, value) in enumerate(zip(xs, ys, values, strict=True))
        ],
        "zero": round(TOP + rise * high / (high - low), 1),
        "ends": [{"y": TOP, "text": f"{high:.3g}"}, {"y": HEIGHT - BOTTOM, "text": f"{low:.3g}"}],
        **{"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": WIDTH - RIGHT, "base": HEIGHT - BOTTOM},
    }
