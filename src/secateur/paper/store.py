"""Finished splits on disk: written whole or not at all, and reused."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from secateur.rows.whole_files import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from secateur.paper.protocol import Arm, Study

__all__ = ["load_pyplot", "load_split", "save_split", "write_figure", "write_figures"]


def load_split(output: Path, study: Study, arm: Arm, dataset: str, split: int) -> dict[str, Any] | None:
    """Load a finished split of the same study, arm and versions; None if it must be run."""
    try:
        found = json.loads(_path(output, study, arm, dataset, split).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    wanted = _describe(study, arm, dataset, split)
    same = isinstance(found, dict) and "rows" in found and wanted.items() <= found.items()
    return found if same else None


def save_split(
    output: Path, study: Study, arm: Arm, dataset: str, split: int, measured: dict[str, Any]
) -> dict[str, Any]:
    """Store a finished split; return what was stored."""
    result = {**_describe(study, arm, dataset, split), **measured}
    write_whole(_path(output, study, arm, dataset, split), json.dumps(result))
    return result


def _describe(study: Study, arm: Arm, dataset: str, split: int) -> dict[str, Any]:
    return {**arm.describe(dataset, split), **study.settings, "dataset": dataset, "split": split}


def _path(output: Path, study: Study, arm: Arm, dataset: str, split: int) -> Path:
    return output / study.name / arm.name / dataset / f"{split:02d}.json"


def load_pyplot() -> Any:
    """Load matplotlib for drawing to files; it is slow, and not always installed."""
    import matplotlib as mpl

    mpl.use("agg")
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
    figure.savefig(buffer, format=path.suffix[1:], dpi=150)
    write_whole(path, buffer.getvalue())
    return path
