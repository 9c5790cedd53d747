"""Evidence from a table: one pass over its batches, or two where the rows show what the model does not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.counting.counted_evidence import Evidence
from secateur.errors import InputError, ParameterError
from secateur.evidence_plan import plan_evidence
from secateur.kernels import tiles
from secateur.kernels.compiling import compile_module
from secateur.methods import METHODS
from secateur.problem import pose_problem
from secateur.rows.checking import MissingRefusedError
from secateur.rows.table_columns import pair_columns
from secateur.tree.paths import trace_paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from secateur.evidence_plan import EvidencePlan
    from secateur.rows.batches import BatchReader
    from secateur.rows.source import Source
    from secateur.rows.table_columns import Naming

    Progress = Callable[[int, int | None], object]

__all__ = ["count_table"]


def count_table(
    model: Any,
    source: Source,
    y: Any,
    weight: Any,
    naming: Naming,
    *,
    method: str | None,
    rf_tol: float,
    domain_knowledge: bool = True,
    progress: Progress | None = None,
) -> Evidence:
    """Count the rows of a table for a method, or for all that a summary can serve.

    Parameters
    ----------
    model : fitted tree, pipeline or Tree
    source : Source
    y, weight : str or None
        The columns of the labels and the weights.
    naming : Naming
    method : str or None
    rf_tol : float
    domain_knowledge : bool, default=True
    progress : callable, default=None
        Called with the number of rows that are counted, and of all rows if that is known, after each batch.

    Returns
    -------
    Evidence
    """

    def count(reader: BatchReader) -> Evidence:
        problem = pose_problem(reader.tree, None, rf_tol, domain_knowledge=domain_knowledge)
        is_known = method is None or reader.tree.counts is not None or not METHODS[method].needs_rows
        return _count(reader, plan_evidence(problem, method if is_known else None), progress)

    reader = pair_columns(model, source, y, weight, naming)
    try:
        return count(reader)
    except MissingRefusedError as error:
        # What the model alone does not show, its training rows do: they fill its leaves as it says.
        if naming.accepts_missing is not None:
            raise
        if source.is_once:
            raise InputError(
                f"{error} A reader can be read once only, so what its rows show of the model is not known beforehand: "
                "pass accepts_missing=True if the model was fitted with missing values."
            ) from error
        try:
            taking = pair_columns(model, source, y, weight, replace(naming, accepts_missing=True))
        except (InputError, ParameterError):
            taking = None
        if taking is None or taking.tree.counts is None:
            raise
        found = count(taking)
        leaves = taking.tree.counts[trace_paths(taking.tree, rf_tol).leaf_ids]
        if not np.allclose(found.leaf_counts, leaves, rtol=1e-9, atol=1e-9):
            raise
        return found


def _count(reader: BatchReader, plan: EvidencePlan, progress: Progress | None) -> Evidence:
    total: Evidence | None = None
    for part in reader.map(plan.count):
        if total is None:
            total = part
        else:
            compile_module(tiles)  # there is more than numpy alone should count
            np.add(total.leaf_counts, part.leaf_counts, out=total.leaf_counts)
            np.add(total.cells, part.cells, out=total.cells)
            total = replace(total, n_rows=total.n_rows + part.n_rows)
        if progress is not None:
            progress(total.n_rows, reader.source.n_rows)
    assert total is not None  # a table without rows was refused
    return total
