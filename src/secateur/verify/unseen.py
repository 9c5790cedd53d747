"""Recount rows that had no part in making the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from secateur.verify.case import COUNT_TOLERANCE, describe_difference
from secateur.verify.lists import compare_targets, decide_rows
from secateur.verify.placed_rows import PlacedRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from secateur.verify.case import Case, RowReader

__all__ = ["check_unseen"]

NAMED = ("line_counts", "leaf_counts", "squares")


def check_unseen(case: Case, read_unseen: RowReader | None) -> None:
    """Check that lines of a list and leaves have the same unseen rows, and with the rows that they have these."""
    unseen = case.record.get("unseen")
    if unseen is None:
        return
    stated = {name: np.asarray(unseen[name], dtype=np.float64) for name in NAMED if unseen[name] is not None}
    if case.record["list"] is not None:
        sums = [stated[name].sum(axis=0) for name in NAMED[:2]]
        case.expect(
            bool(np.isclose(sums[0], sums[1], rtol=COUNT_TOLERANCE, atol=COUNT_TOLERANCE).all()),
            "the unseen rows of the lines add up to those of the leaves",
            "The unseen rows of the lines do not add up to those of the leaves.",
        )
    if read_unseen is None:
        return
    again = {name: np.zeros(values.shape) for name, values in stated.items()}
    has_weights = False
    powers = np.zeros((len(stated["line_counts"]), 3))
    for matrix, class_ids, weights, targets in read_unseen():
        has_weights |= weights is not None
        heavy = np.ones(len(matrix)) if weights is None else weights
        rows = PlacedRows(case.tree, matrix)
        leaf = rows.leaf_place(case.leaves)
        again["leaf_counts"] += _add_up(leaf, class_ids, heavy, again["leaf_counts"].shape)
        if case.record["list"] is not None:
            row, line = np.arange(len(matrix)), decide_rows(case, rows)
        else:
            found = [(inside, np.full(len(inside), rule)) for rule, inside in case.covered(rows, case.all_rules)]
            row, line = (np.concatenate(part) for part in zip(*found, strict=True))
        again["line_counts"] += _add_up(line, class_ids[row], heavy[row], again["line_counts"].shape)
        if targets is not None and unseen.get("targets") is not None:
            above = targets - np.asarray(case.record["list"]["shares"])[line]
            powers += np.stack([np.bincount(line, heavy * above**k, len(powers)) for k in range(3)], axis=1)
        if "squares" in again:
            again["squares"] += np.bincount(line, heavy[row] ** 2, len(again["squares"]))
    differs = {
        name: ~np.isclose(values, stated[name], rtol=COUNT_TOLERANCE, atol=COUNT_TOLERANCE)
        for name, values in again.items()
    }
    broken = []
    if has_weights != ("squares" in stated):
        said, seen = ("no weights", "some") if has_weights else ("weights", "none")
        broken.append(f"The unseen rows are said to have {said}, but these have {seen}.")
    total, told = (float(counts["leaf_counts"].sum()) for counts in (again, stated))
    if not np.isclose(total, told, rtol=COUNT_TOLERANCE, atol=COUNT_TOLERANCE):
        broken.append(f"These {total:,.10g} rows are not the {told:,.10g} that are stated as unseen.")
    names = case.tree.class_names
    for name, title in (("line_counts", "Line {}"), ("leaf_counts", "Leaf {}")):
        for place in np.flatnonzero(differs[name].any(axis=1)).tolist():
            number = place + 1 if name == "line_counts" else case.leaves[place]
            broken.append(
                describe_difference(title.format(number), "unseen", names, again[name][place], stated[name][place])
            )
    if "squares" in differs and differs["squares"].any():
        broken.append("The sums of squared weights of unseen rows are not those of these rows.")
    case.report("the unseen rows of lines and leaves recounted", broken)
    if unseen.get("targets") is not None:
        moments = np.array([[np.nan if one is None else one for one in line] for line in unseen["targets"]])
        compare_targets(case, np.asarray(case.record["list"]["shares"]), moments, powers, "unseen targets")


def _add_up(
    place: NDArray[np.int64], class_ids: NDArray[np.int64], heavy: NDArray[np.float64], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    counted = np.bincount(place * shape[1] + class_ids, heavy, shape[0] * shape[1])
    return counted.reshape(shape).astype(np.float64)
