"""Rows of plain values as a pandas or polars data frame, whichever the user has."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from secateur.errors import ParameterError
from secateur.reading import join_conditions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secateur.rules import RuleSet

__all__ = ["make_frame", "rules_to_frame"]

LIBRARIES = ("pandas", "polars")


def rules_to_frame(rules: RuleSet, library: str | None = None) -> Any:
    """A row for each rule."""
    listed = list(rules)
    columns: dict[str, list[Any]] = {
        "rule": [join_conditions(rule.conditions) for rule in listed],
        "prediction": [rule.prediction for rule in listed],
        "class_name": [rule.class_name for rule in listed],
        "support": [rule.support for rule in listed],
        "reliability": [rule.reliability for rule in listed],
        "source_support": [rule.source_support for rule in listed],
        "source_reliability": [rule.source_reliability for rule in listed],
        "n_conditions": [len(rule.kept_ids) for rule in listed],
        "n_deleted": [len(rule.deleted_ids) for rule in listed],
        "leaf_id": [rule.leaf_id for rule in listed],
        "kept_ids": [list(rule.kept_ids) for rule in listed],
        "deleted_ids": [list(rule.deleted_ids) for rule in listed],
    }
    return make_frame(columns, library)


def make_frame(columns: Mapping[str, Sequence[Any]], library: str | None) -> Any:
    """Equally long columns as a data frame of the wanted, the imported or the installed library."""
    if library is not None and library not in LIBRARIES:
        raise ParameterError(f"Expected library='pandas' or library='polars', found {library!r}.")
    choices = [library] if library else sorted(LIBRARIES, key=lambda name: name not in sys.modules)
    for name in choices:
        if find_spec(name) is not None:
            return importlib.import_module(name).DataFrame(dict(columns))
    raise ParameterError(
        f"A data frame needs {' or '.join(choices)}, and it is not installed. "
        f"Install it with: pip install {choices[0]}."
    )
