"""Figures that matplotlib draws, written whole or not at all."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from secateur.rows.whole_files import write_whole


def load_pyplot() -> Any:
    """Load matplotlib for drawing to files; it is slow, and not always installed."""
    import matplotlib as mpl

    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "secateur"  # the same numbers give the same bytes
    from matplotlib import pyplot

    return pyplot


def write_figures(directory: Path, name: str, figure: Any, kinds: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Write a figure as SVG and PNG, or the kinds that are named, and close it."""
    paths = [write_figure(directory / f"{name}.{kind}", figure) for kind in kinds]
    load_pyplot().close(figure)
    return paths


def write_figure(path: Path, figure: Any) -> Path:
    """Write a matplotlib figure whole or not at all, in the format that the path's ending names."""
    buffer = io.BytesIO()
    named = {"metadata": {"Date": None}} if path.suffix == ".svg" else {}
    figure.savefig(buffer, format=path.suffix[1:], dpi=150, **named)
    write_whole(path, buffer.getvalue())
    return path
