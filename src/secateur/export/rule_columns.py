"""The rules of a large tree as columns of codes and numbers, which take a fifth of the room of their words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import FormatError
from secateur.export.stored_numbers import read_counts, read_numbers
from secateur.methods import Deletions, Why

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.rules.rule_set import RuleSet
    from secateur.tree.paths import Paths
    from secateur.tree.tree import Tree

__all__ = ["WORDED_CONDITIONS", "columns_to_json", "read_columns"]

# Up to this many conditions every rule is written with its reasons in words.
WORDED_CONDITIONS = 20_000
NUMBERS = ("before", "after", "number")


def columns_to_json(rules: RuleSet) -> str:
    """Write the rules as an object of columns: one element for each rule, or for each link of each rule's path."""
    paths, deletions = rules.paths, rules.deletions
    codes, kind = np.unique(deletions.why, return_inverse=True)
    columns = {
        "class_counts": _list_counts(rules.class_counts),
        "deleted": deletions.deleted.astype(np.int8).tolist(),
        "kind": kind.tolist(),
        "kinds": [Why(code).kind for code in codes.tolist()],
        "leaf_ids": paths.leaf_ids.tolist(),
        "links": paths.links.tolist(),
        "node": deletions.node.tolist(),
        **{name: _list_numbers(getattr(deletions, name)) for name in NUMBERS},
        "offsets": paths.offsets.tolist(),
        "predictions": rules.tree.classes[paths.leaf_class].tolist(),
        "source_class_counts": _list_counts(rules.source_class_counts),
    }
    return json.dumps(columns, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def read_columns(
    tree: Tree, paths: Paths, columns: dict[str, Any]
) -> tuple[Deletions, NDArray[np.float64], NDArray[np.float64]]:
    """Read what became of each condition, and the class counts of the rules and of their leaves."""
    known = {*("class_counts", "deleted", "kind", "kinds", "leaf_ids", "links", "node", "offsets"), *NUMBERS}
    strange = columns.keys() - known - {"predictions", "source_class_counts"}
    if strange:
        raise FormatError(f"The rules JSON has a column {min(strange)!r}, which rules do not have; it was edited.")
    labels = tree.classes[paths.leaf_class].tolist()
    for name, wanted in (("leaf_ids", paths.leaf_ids), ("offsets", paths.offsets), ("links", paths.links)):
        if columns[name] != wanted.tolist():
            raise FormatError(f"The {name} of the rules JSON are not those of its tree; it was cut or edited.")
    if columns["predictions"] != labels or set(map(type, columns["predictions"])) != set(map(type, labels)):
        raise FormatError("The predictions of the rules JSON are not those of its tree's leaves; it was edited.")
    kinds = [Why.from_kind(kind) for kind in columns["kinds"]]
    kind = _read_whole(columns, "kind", len(paths.links), 0, len(kinds) - 1)
    deletions = Deletions(
        deleted=_read_whole(columns, "deleted", len(paths.links), 0, 1).astype(bool),
        why=np.array(kinds, dtype=np.uint8)[kind],
        node=_read_whole(columns, "node", len(paths.links), -1, np.iinfo(np.int32).max).astype(np.int32),
        **{name: _read_numbers(columns, name, len(paths.links)) for name in NUMBERS},
    )
    counts, source_counts = (
        read_counts(columns[name], tree.n_classes) for name in ("class_counts", "source_class_counts")
    )
    return deletions, counts, source_counts


def _list_counts(counts: NDArray[np.float64]) -> list[list[float] | None]:
    unknown = np.isnan(counts).any(axis=1)
    rows: list[list[float] | None] = counts.tolist()
    for place in np.flatnonzero(unknown).tolist():
        rows[place] = None
    return rows


def _list_numbers(numbers: NDArray[np.float64]) -> list[float | None] | None:
    """List numbers with None for NaN; one None if there are none at all."""
    missing = np.isnan(numbers)
    if missing.all():
        return None
    listed = numbers.astype(object)
    listed[missing] = None
    values: list[float | None] = listed.tolist()
    return values


def _read_numbers(columns: dict[str, Any], name: str, size: int) -> NDArray[np.float64]:
    values = columns[name]
    if values is None:
        return np.full(size, np.nan)
    if len(values) != size:
        raise ValueError(f"expected a number or null for each condition in {name!r}")
    return read_numbers(values, name)


def _read_whole(columns: dict[str, Any], name: str, size: int, lowest: int, highest: int) -> NDArray[np.int64]:
    values = columns[name]
    if len(values) != size or not set(map(type, values)) <= {int}:
        raise ValueError(f"expected a whole number for each condition in {name!r}")
    numbers = np.array(values, dtype=np.int64)
    if size and (numbers.min() < lowest or numbers.max() > highest):
        raise ValueError(f"a number in {name!r} is not from {lowest} to {highest}")
    return numbers
