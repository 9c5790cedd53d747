"""What a method is to work on, from a table: counts of its rows, or the rows where counts do not do."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from secateur.counting.counted_evidence import TooLargeError
from secateur.problem import open_evidence, open_problem
from secateur.rows.counting_tables import count_table
from secateur.rows.labelled_frames import load_table
from secateur.rows.opening import open_source
from secateur.rows.table_columns import find_texts

if TYPE_CHECKING:
    from secateur.methods import Problem
    from secateur.rows.counting_tables import Progress
    from secateur.rows.table_columns import Naming

__all__ = ["open_table"]


def open_table(
    model: Any,
    table: Any,
    y: Any,
    sample_weight: Any,
    naming: Naming,
    *,
    method: str,
    by_rows: bool,
    rf_tol: float,
    domain_knowledge: bool,
    progress: Progress | None,
) -> Problem:
    """Open a table as the problem of a method.

    Parameters
    ----------
    model : fitted tree, pipeline or Tree
    table : path, relation, dataset, reader or lazy frame
    y, sample_weight : str or None
        The columns of the labels and the weights.
    naming : Naming
    method : str
        Name of the method.
    by_rows : bool
        Whether the method looks at rows one by one.
    rf_tol : float
    domain_knowledge : bool
    progress : callable or None

    Returns
    -------
    Problem
    """
    with open_source(table, partial(find_texts, model, y)) as source:
        if not by_rows:
            try:
                evidence = count_table(
                    *(model, source, y, sample_weight, naming),
                    method=None if method == "mismatch-certified" else method,
                    rf_tol=rf_tol,
                    domain_knowledge=domain_knowledge,
                    progress=progress,
                )
                return open_evidence(evidence.tree, evidence, {}, rf_tol, domain_knowledge=domain_knowledge)
            except TooLargeError as error:
                why = str(error).partition(" Instead, ")[0].rstrip(".")
        else:
            why = f"The method {method!r} looks at rows one by one"
        X, labels, weights = load_table(model, source, y, sample_weight, why)
    return open_problem(
        model,
        X,
        labels,
        sample_weight=weights,
        feature_names=naming.feature_names,
        class_names=naming.class_names,
        accepts_missing=naming.accepts_missing,
        rf_tol=rf_tol,
        knowledge=naming.knowledge,
        domain_knowledge=domain_knowledge,
    )
