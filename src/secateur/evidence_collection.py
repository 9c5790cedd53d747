"""Collect evidence from a chunk of rows, for rules that are made later from all chunks together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from secateur.adapters import from_model
from secateur.annotation import annotate
from secateur.errors import InputError, ParameterError
from secateur.evidence import check_size, gather
from secateur.methods import METHODS, find_method
from secateur.row_evidence import RowEvidence
from secateur.simplification import open_problem
from secateur.tally import LabelledRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secateur.annotation import Annotation
    from secateur.evidence import Evidence
    from secateur.methods import Problem
    from secateur.tree import Tree

__all__ = ["EvidencePlan", "collect_evidence", "plan_evidence"]

# What tells rows apart for a method that tries conditions by their reliability.
BY_ROWS_ALONE = ("budgeted", "mismatch-certified")


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
    X : array-like or data frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    sample_weight : array-like of shape (n_rows,), default=None
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
    problem = open_problem(
        model,
        X,
        y,
        sample_weight=sample_weight,
        feature_names=feature_names,
        class_names=class_names,
        accepts_missing=accepts_missing,
        rf_tol=rf_tol,
        knowledge={"groups": groups, "integers": integers, "facts": facts},
    )
    rows = problem.evidence
    if not isinstance(rows, RowEvidence):
        raise InputError("Expected X and y: the rows to count and their labels.")
    plan = plan_evidence(problem, method, rf_tol, has_counts=from_model(model).counts is not None)
    listed = LabelledRows(rows.rows, rows.class_ids, rows.weights)
    return gather(plan.tree, plan.notes, plan.ignored, plan.opened, listed, plan.method)


class EvidencePlan(NamedTuple):
    """What rows are to be counted for, whoever counts them: see :class:`Evidence`."""

    tree: Tree
    notes: Annotation
    ignored: NDArray[np.bool_]
    opened: NDArray[np.bool_]
    method: str | None


def plan_evidence(problem: Problem, method: str | None, rf_tol: float, *, has_counts: bool) -> EvidencePlan:
    """Settle what is counted for a method, before any row is; or say why there can be no summary for it."""
    chosen = None if method is None else find_method(method).name
    if chosen in BY_ROWS_ALONE:
        raise ParameterError(
            f"The method {chosen!r} looks at rows one by one, so its summary would be as large as the rows: pass them "
            "to simplify."
        )
    if not has_counts:  # a chunk alone does not know them
        tree = replace(problem.tree, counts=None)
        problem = replace(problem, tree=tree, notes=annotate(tree, rf_tol))
        if chosen is not None and METHODS[chosen].needs_rows:
            raise ParameterError(
                f"The tree has no class counts, so what {chosen!r} asks is not known yet: name no method."
            )
    ignored, opened = _find_conditions(problem, chosen)
    check_size(problem.notes, opened, problem.tree.n_classes, chosen)
    return EvidencePlan(problem.tree, problem.notes, ignored, opened, chosen)


def _find_conditions(problem: Problem, method: str | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Conditions that a method deletes whatever the rows say, and those that it may delete by them."""
    notes = problem.notes
    none, every = np.zeros(len(notes.links), dtype=bool), np.ones(len(notes.links), dtype=bool)
    if method is None or method == "quinlan":
        return none, every
    suspects = notes.mismatched & ~notes.inside_h
    if method == "mismatch":
        return none, suspects
    gone = METHODS["exact" if method == "layered" else method].delete(problem).deleted
    return gone, suspects & ~gone if method == "layered" else none
