"""Trees saved as JSON, by secateur or by Interpretable AI, told apart by what is inside."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from secateur.adapters.iai import read_iai
from secateur.errors import FormatError
from secateur.rows.regular_files import read_whole
from secateur.tree.json import FORMAT, tree_from_dict

if TYPE_CHECKING:
    from pathlib import Path

    from secateur.tree.tree import Tree

__all__ = ["read_tree_file"]


def read_tree_file(path: Path) -> Tree:
    """Read a saved tree of either format."""
    try:
        content = json.loads(read_whole(path))
    except (RecursionError, ValueError) as error:
        raise FormatError(f"{path} cannot be read as JSON: {error}.") from error
    if isinstance(content, dict) and content.get("format") == FORMAT:
        return tree_from_dict(content)
    return read_iai(content)
