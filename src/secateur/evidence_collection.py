"""Collect evidence from a chunk of rows, for rules that are made later from all chunks together."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from secateur.adapters import from_model
from secateur.counting.row_evidence import RowEvidence
from secateur.errors import InputError
from secateur.evidence_plan import plan_evidence
from secateur.methods import find_method
from secateur.methods.parameters import check_amount
from secateur.problem import open_problem
from secateur.rows.counting_tables import count_table
from secateur.rows.labelled_frames import split_frame
from secateur.rows.opening import is_frame, is_spark, is_stream, open_source
from secateur.rows.rows import LabelledRows
from secateur.rows.table_columns import Naming, find_texts
from secateur.tree.paths import trace_paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secateur.counting.counted_evidence import Evidence

__all__ = ["collect_evidence"]


def collect_evidence(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    method: str | None = None,
    rf_tol: float = 1e-12,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    accepts_missing: bool | None = None,
    groups: Any = None,
    integers: Any = None,
    facts: Any = None,
) -> Evidence:
    """Count what rule methods need of some training rows.

    Evidence of chunks adds up: ``one.merge(other)`` is that of all their rows.

    Parameters
    ----------
    model : fitted tree, pipeline or Tree
        The same for every chunk. A :class:`Tree` from :func:`from_model` is read once rather than with every chunk.
    X : array-like or data frame of shape (n_rows, n_features), or a table
        A chunk of rows; a table as in :func:`simplify` is counted whole, a batch at a time.
    y : array-like of shape (n_rows,), or str
        Their labels; of a table the column that holds them.
    sample_weight : array-like of shape (n_rows,), or str, default=None
    method : str, default=None
        By default the evidence serves every method that a summary can serve. For trees with long rules that may be too
        large; the evidence for one method is smaller.
    rf_tol : float, default=1e-12
        As in :func:`simplify`; read where a method is named.
    feature_names, class_names, accepts_missing, groups, integers, facts : default=None
        As in :func:`simplify`, and the same for every chunk.

    Returns
    -------
    Evidence

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import secateur
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> chunks = [collect_evidence(model, X[part], y[part]) for part in (slice(0, 70), slice(70, 150))]
    >>> evidence = chunks[0].merge(chunks[1])
    >>> evidence
    <Evidence: 150 rows for 5 rules, for every method that a summary can serve>
    >>> secateur.simplify(model, evidence=evidence) == secateur.simplify(model, X, y)
    True
    """
    chosen = None if method is None else find_method(method).name
    knowledge = {"groups": groups, "integers": integers, "facts": facts}
    naming = Naming(feature_names, class_names, accepts_missing, knowledge)
    if is_spark(X):
        from secateur.spark.collection import count_frame

        return count_frame(model, X, y, sample_weight, naming, method=chosen, rf_tol=rf_tol)
    if is_stream(X):
        tolerated = check_amount("rf_tol", rf_tol)
        with open_source(X, partial(find_texts, model, y)) as source:
            return count_table(model, source, y, sample_weight, naming, method=chosen, rf_tol=tolerated)
    if isinstance(y, str) and is_frame(X):
        X, y, sample_weight = split_frame(model, X, y, sample_weight)
    problem = open_problem(
        model,
        X,
        y,
        sample_weight=sample_weight,
        feature_names=feature_names,
        class_names=class_names,
        accepts_missing=accepts_missing,
        rf_tol=rf_tol,
        knowledge=knowledge,
        is_part=True,
    )
    rows = problem.evidence
    if not isinstance(rows, RowEvidence):
        raise InputError("Expected X and y: the rows to count and their labels.")
    if from_model(model).counts is None:  # a chunk alone does not know them
        tree = replace(problem.tree, counts=None)
        problem = replace(problem, tree=tree, paths=trace_paths(tree, rf_tol))
    plan = plan_evidence(problem, chosen)
    return plan.count(LabelledRows(rows.rows, rows.class_ids, rows.weights))
