"""Finished splits on disk: written whole or not at all, and reused."""

from __future__ import annotations

import io
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.errors import InputError

if TYPE_CHECKING:
    from secateur.paper.protocol import Arm, Study

__all__ = ["load_split", "save_split", "write_figure", "write_whole"]


def load_split(output: Path, study: Study, arm: Arm, dataset: str, split: int) -> dict[str, Any] | None:
    """A finished split of the same study, arm and versions; None if it must be run."""
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


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file beside its place and move it there, so that a killed run leaves no half of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(f"Cannot write to {path.parent}: {error.strerror}. Name another --output.") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _describe(study: Study, arm: Arm, dataset: str, split: int) -> dict[str, Any]:
    return {**arm.describe(dataset, split), **study.settings, "dataset": dataset, "split": split}


def _path(output: Path, study: Study, arm: Arm, dataset: str, split: int) -> Path:
    return output / study.name / arm.name / dataset / f"{split:02d}.json"


def write_figure(path: Path, figure: Any) -> Path:
    """Write a matplotlib figure whole or not at all, in the format that the path's ending names."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:], dpi=150)
    write_whole(path, buffer.getvalue())
    return path
