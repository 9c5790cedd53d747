"""What became of each leaf's rule, as columns of codes and numbers: one element for each leaf, or for each edge.

Quoted numbers are rejected: each column says which types it takes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.errors import FormatError
from secateur.methods import Deletions, Why
from secateur.tree.paths import Paths
from secateur.tree.tree import Tree

NUMBERS = ("before", "after", "number")
KNOWN = {int, float}  # not bool
MOST_ROWS = 1e300  # so that shares and percentages of sums can still be computed


def paths_to_columns(tree: Tree, paths: Paths) -> dict[str, Any]:
    """List the leaves and the edges of their paths."""
    return {
        "leaf_ids": paths.leaf_ids.tolist(),
        "predictions": tree.answers[paths.leaf_ids].tolist(),
        "offsets": paths.offsets.tolist(),
        "links": paths.links.tolist(),
    }


def read_paths(tree: Tree, paths: Paths, columns: Mapping[str, Any]) -> None:
    """Reject leaves and edges that are not those of the tree."""
    for name, wanted in paths_to_columns(tree, paths).items():
        found = columns[name]
        if found != wanted or set(map(type, found)) != set(map(type, wanted)):
            raise FormatError(f"The {name} of the rules JSON are not those of its tree; it was cut or edited.")


def deletions_to_columns(deletions: Deletions) -> dict[str, Any]:
    """List what became of each edge, and the codes and numbers behind the reasons."""
    codes, kind = np.unique(deletions.why, return_inverse=True)
    return {
        "deleted": deletions.deleted.astype(np.int8).tolist(),
        "kinds": [Why(code).kind for code in codes.tolist()],
        "kind": kind.tolist(),
        "node": deletions.node.tolist(),
        **{name: _list_numbers(getattr(deletions, name)) for name in NUMBERS},
    }


def read_deletions(links: NDArray[Any], columns: Mapping[str, Any]) -> Deletions:
    """Read what became of each of some edges."""
    size, kinds = len(links), [Why.from_kind(kind) for kind in columns["kinds"]]
    kind = _read_whole(columns, "kind", size, 0, len(kinds) - 1)
    return Deletions(
        deleted=_read_whole(columns, "deleted", size, 0, 1).astype(bool),
        why=np.array(kinds, dtype=np.uint8)[kind],
        node=_read_whole(columns, "node", size, -1, np.iinfo(np.int32).max).astype(np.int32),
        **{name: _read_numbers(columns, name, size) for name in NUMBERS},
    )


def counts_to_list(counts: NDArray[np.float64]) -> list[list[float] | None]:
    """List class counts, None where they are not known."""
    rows: list[list[float] | None] = counts.tolist()
    for place in np.flatnonzero(np.isnan(counts).any(axis=1)).tolist():
        rows[place] = None
    return rows


def read_counts(rows: Sequence[Sequence[float] | None], n_rows: int, n_classes: int) -> NDArray[np.float64]:
    """Read class counts of so many leaves or lines; NaN where they are unknown."""
    known = [row for row in rows if row is not None]
    right = len(rows) == n_rows and {n_classes, *map(len, known)} == {n_classes}
    if not right or not {type(count) for row in known for count in row} <= KNOWN:
        raise ValueError(f"expected {n_classes} class counts for each of {n_rows} leaves or lines")
    if not rows:
        return np.empty((0, n_classes))
    unknown = [np.nan] * n_classes
    read = np.array([unknown if row is None else row for row in rows], dtype=np.float64)
    if (read < 0).any() or (read > MOST_ROWS).any():
        raise ValueError(f"a class count is negative, or more than {MOST_ROWS:g}")
    return read


def _list_numbers(numbers: NDArray[np.float64]) -> list[float | None] | None:
    """List numbers with None for NaN; one None if there are none at all."""
    missing = np.isnan(numbers)
    if missing.all():
        return None
    listed = numbers.astype(object)
    listed[missing] = None
    values: list[float | None] = listed.tolist()
    return values


def _read_numbers(columns: Mapping[str, Any], name: str, size: int) -> NDArray[np.float64]:
    values = columns[name]
    if values is None:
        return np.broadcast_to(np.nan, size)
    if len(values) != size or not set(map(type, values)) <= {*KNOWN, type(None)}:
        raise ValueError(f"expected a number or null for each condition in {name!r}")
    numbers = np.array(values, dtype=np.float64)
    if np.isinf(numbers).any():
        raise ValueError(f"the number {name!r} of a reason is not finite")
    return numbers


def _read_whole(columns: Mapping[str, Any], name: str, size: int, lowest: int, highest: int) -> NDArray[np.int64]:
    values = columns[name]
    if len(values) != size or not set(map(type, values)) <= {int}:
        raise ValueError(f"expected a whole number for each condition in {name!r}")
    numbers = np.array(values, dtype=np.int64)
    if size and (numbers.min() < lowest or numbers.max() > highest):
        raise ValueError(f"a number in {name!r} is not from {lowest} to {highest}")
    return numbers
