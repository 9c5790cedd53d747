"""What a method is to work on: a model, its rows and what is known of them, read and checked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.adapters import from_model
from secateur.counting.counted_evidence import Evidence
from secateur.counting.row_evidence import RowEvidence
from secateur.errors import InputError
from secateur.facts.checking import check_facts
from secateur.facts.stating import state_facts, whole_by_dtype
from secateur.frames import frame_columns
from secateur.methods import Problem
from secateur.methods.parameters import check_amount
from secateur.rows.checking import NO_WEIGHT, check_labels, check_rows, check_weights, mark_finite
from secateur.rows.leaves import apply_tree, count_classes, sum_up
from secateur.rows.rows import Rows
from secateur.tree.contract import check_tree
from secateur.tree.difference import find_tree_differences
from secateur.tree.facts import NO_FACTS
from secateur.tree.paths import trace_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secateur.counting.training_evidence import TrainingEvidence
    from secateur.tree.tree import Tree

__all__ = ["open_evidence", "open_problem", "pose_problem"]


def open_problem(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any,
    feature_names: Sequence[str] | None,
    class_names: Sequence[str] | None,
    accepts_missing: bool | None,
    rf_tol: float,
    knowledge: Mapping[str, Any] | None = None,
    domain_knowledge: bool = True,
    is_part: bool = False,
) -> Problem:
    """Read the model, check the rows against it and against what is known of them, and trace_paths the tree."""
    tolerated = check_amount("rf_tol", rf_tol)
    if (X is None) != (y is None):
        given, absent = ("X", "y") if y is None else ("y", "X")
        raise InputError(f"{given} was passed without {absent}: pass both, or neither for a method that needs no rows.")
    if X is None and sample_weight is not None:
        raise InputError("sample_weight was passed without X and y.")
    X = mark_finite(X)
    tree = from_model(
        model,
        X,
        sample_weight=sample_weight,
        feature_names=feature_names,
        class_names=class_names,
        accepts_missing=accepts_missing,
    )
    evidence = None
    if X is not None:
        rows = check_rows(tree, X)
        class_ids = check_labels(tree, y, rows.n_rows)
        weights = check_weights(sample_weight, rows.n_rows, is_part=is_part)
        if tree.feature_names is None and (columns := frame_columns(X)) is not None:
            tree = replace(tree, feature_names=tuple(columns))
        tree = state_facts(tree, X, **knowledge or {})
        if not isinstance(X, Rows):  # else they were checked before, with a whole forest
            rows = check_rows(tree, X) if tree.columns is not None else rows  # with the columns that facts are about
            check_facts(tree, rows, typed=whole_by_dtype(tree, X))
        if tree.counts is None:
            tree = replace(tree, counts=count_classes(tree, apply_tree(tree, rows), class_ids, weights))
            check_tree(tree)  # also makes the new array read-only
        evidence = RowEvidence(tree, rows, class_ids, weights)
    else:
        tree = state_facts(tree, None, **knowledge or {})
    return pose_problem(tree, evidence, tolerated, domain_knowledge=domain_knowledge)


def open_evidence(
    model: Any, evidence: Evidence, given: Mapping[str, Any], rf_tol: float, *, domain_knowledge: bool
) -> Problem:
    """The problem that counts tell of, once it is clear that they are of the model."""
    if not isinstance(evidence, Evidence):
        raise InputError(f"Expected evidence from collect_evidence, found {type(evidence).__name__}.")
    beside = next((name for name, value in given.items() if value is not None), None)
    if beside is not None:
        raise InputError(f"{beside} was passed beside evidence, which has it already: leave it out.")
    tree = evidence.tree
    differences = [] if model is tree else find_tree_differences(tree, from_model(model))
    if differences:
        raise InputError(f"The evidence is of another tree. {differences[0]}")
    if evidence.is_weighted and not evidence.leaf_counts.any():
        raise InputError(NO_WEIGHT)
    if tree.counts is None:
        counts = np.zeros((tree.n_nodes, tree.n_classes))
        counts[trace_paths(tree, rf_tol).leaf_ids] = evidence.leaf_counts
        tree = replace(tree, counts=sum_up(tree, counts))
        check_tree(tree)
        evidence = replace(evidence, tree=tree)
    return pose_problem(tree, evidence, rf_tol, domain_knowledge=domain_knowledge)


def pose_problem(tree: Tree, evidence: TrainingEvidence | None, rf_tol: float, *, domain_knowledge: bool) -> Problem:
    """The problem of a tree that was read, with or without rows."""
    walked = None if domain_knowledge else _forget_columns(tree)
    return Problem(tree, trace_paths(tree, rf_tol), evidence, None, {}, walked)


def _forget_columns(tree: Tree) -> Tree | None:
    """The tree as it is where nothing is known of its columns; behind a pipeline, over what the pipeline makes."""
    if tree.columns is not None and tree.columns.encoded is not None:
        return tree.columns.encoded
    return replace(tree, facts=NO_FACTS) if tree.facts else None
