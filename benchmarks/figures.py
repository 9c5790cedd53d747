"""The growth curves as small SVGs, one for each thing that grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.growth import CURVES, EXPONENT, Curve
from secateur.lab.pages import write_figure

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.result import Result

__all__ = ["draw_curves"]


def draw_curves(results: list[Result], directory: Path) -> list[Path]:
    """Draw every curve that was run; needs matplotlib."""
    import matplotlib as mpl

    mpl.use("agg")
    mpl.rcParams["svg.fonttype"] = "none"  # text stays text, and the files stay small
    return [
        _draw(curve, mine, directory)
        for curve in CURVES
        if (mine := [result for result in results if result.right and result.case.startswith(f"{curve.name}/")])
    ]


def _draw(curve: Curve, results: list[Result], directory: Path) -> Path:
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(5, 3.6), layout="constrained")
    shown = "seconds" if curve.reference is None else "ratio"
    for result, marker in zip(results, "osD^", strict=False):
        sizes = [point["size"] for point in result.points]
        lower, median, upper = zip(*(point[shown] for point in result.points), strict=True)
        power = f"{curve.unit}$^{{{result.measures[EXPONENT].median:.2f}}}$"
        axis.plot(sizes, median, marker=marker, label=f"{result.case.rpartition('/')[2]}: seconds ~ {power}")
        axis.fill_between(sizes, lower, upper, alpha=0.2)
    axis.set(
        xscale="log",
        yscale="log",
        title=curve.about,
        xlabel=curve.unit + (f" (powers fitted from {curve.fitted_from:,} on)" if curve.fitted_from else ""),
        ylabel="seconds" if curve.reference is None else f"times one {curve.reference.name}",
    )
    axis.legend()
    path = write_figure(directory / f"{curve.name.replace('/', '_')}.svg", figure)
    plt.close(figure)
    return path
