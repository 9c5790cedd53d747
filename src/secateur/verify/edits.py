"""Recount what the edits of a list cost: on how many rows it now gives another class than the tree."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.verify.case import COUNT_TOLERANCE
from secateur.verify.lists import Lines, decide_rows
from secateur.verify.placed_rows import PlacedRows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secateur.verify.case import Case, RowReader

__all__ = ["check_edits"]


def check_edits(case: Case, read_unseen: RowReader | None) -> None:
    """Check the stated price on the rows that are at hand; one that was not counted is counted here."""
    stated = None if case.record["list"] is None else case.record["list"].get("edits")
    if stated is None:
        return
    for kind, read_rows in (("training", case.read_rows), ("unseen", read_unseen)):
        if read_rows is not None and (kind == "training" or stated[kind] is not None):
            _check_price(case, kind, stated, read_rows)
        elif stated[kind] is None and kind == "training":
            case.skip("on how many rows the edited list differs from the tree was not counted")


def _check_price(case: Case, kind: str, stated: Mapping[str, Any], read_rows: RowReader) -> None:
    lines, tree, n_classes = Lines(case, case.record["list"]), case.tree, case.tree.n_classes
    limits = [pair for edit in reversed(stated["journal"]) for pair in edit.get("limits", ())]
    if limits:  # the tree before they were rounded
        threshold = np.array(tree.threshold)
        for node, limit in limits:
            threshold[node] = limit
        tree = replace(tree, threshold=threshold)
    changed, rows = np.zeros((n_classes,) * 3), 0.0
    for matrix, class_ids, weights, _ in read_rows():
        heavy = np.ones(len(matrix)) if weights is None else weights
        line = decide_rows(case, PlacedRows(case.tree, matrix))
        leaf = PlacedRows(tree, matrix).leaf_place(case.leaves)
        said, given = case.classes[leaf], lines.classes[line]
        for row in np.flatnonzero(said != given).tolist():
            changed[said[row], given[row], class_ids[row]] += heavy[row]
        rows += float(heavy.sum())
    found = f"the edited list differs from the tree on {changed.sum():.10g} of {rows:.10g} {kind} rows (recounted)"
    price = stated[kind]
    if price is None:
        case.checks.append(found)
        return
    said_changed = np.zeros(changed.shape)
    for *place, number in price["changed"]:
        said_changed[tuple(place)] = number
    same = np.isclose(rows, price["rows"], rtol=COUNT_TOLERANCE)
    same &= np.allclose(changed, said_changed, rtol=COUNT_TOLERANCE, atol=COUNT_TOLERANCE)
    told = f"{said_changed.sum():.10g} of {price['rows']:.10g}"
    case.expect(bool(same), found, f"The edits are said to change {told} {kind} rows, but {found}.")
