"""Open what a method works on: a model, its rows, and what is known of them, read and checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.adapters import from_model
from secateur.adapters.pipelines import is_pipeline
from secateur.counting.counted_evidence import Evidence, TooLargeError, check_size
from secateur.counting.evidence_plan import EvidencePlan
from secateur.counting.row_evidence import RowEvidence
from secateur.errors import InputError, ParameterError, SecateurError
from secateur.facts.stating import state_facts
from secateur.methods import Asks, Problem
from secateur.rows.checking import NO_WEIGHT, MissingRefusedError
from secateur.rows.leaves import apply_tree, count_classes, sum_up
from secateur.rows.row_source import ModelTerms
from secateur.rows.table_columns import find_texts, own_names
from secateur.tree.contract import check_tree
from secateur.tree.difference import find_tree_differences
from secateur.tree.facts import NO_FACTS
from secateur.tree.paths import DEFAULT_RF_TOL, trace_paths
from secateur.tree.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secateur.counting.training_evidence import TrainingEvidence
    from secateur.methods import Method
    from secateur.rows.memory_rows import MemoryRows
    from secateur.rows.row_source import Progress, RowSource

__all__ = [
    "COUNTS_SUFFICE",
    "Knowledge",
    "count_evidence",
    "find_terms",
    "find_texts_of",
    "open_evidence",
    "open_problem",
    "read_model",
]

COUNTS_SUFFICE = ", or use a method that counts suffice for, such as 'layered'"


@dataclass(frozen=True)
class Knowledge:
    """What a caller says of a model's columns and classes; see :func:`secateur.simplify`."""

    feature_names: Sequence[str] | None = None
    class_names: Sequence[str] | None = None
    accepts_missing: bool | None = None
    groups: Any = None
    integers: Any = None
    facts: Any = None
    domain_knowledge: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.domain_knowledge, bool):
            raise ParameterError(f"Expected domain_knowledge as True or False, found {self.domain_knowledge!r}.")

    @property
    def stated(self) -> dict[str, Any]:
        """What is said of the columns, as :func:`state_facts` takes it."""
        return {"groups": self.groups, "integers": self.integers, "facts": self.facts}


def read_model(model: Any, rows: RowSource | None, known: Knowledge) -> Tree:
    """Read a model in the columns of some rows, with what is known of them.

    Parameters
    ----------
    model : fitted tree, pipeline or Tree
    rows : RowSource or None
    known : Knowledge

    Returns
    -------
    Tree
    """
    shown = weights = None
    if rows is not None:
        columns = getattr(model, "feature_names_in_", None) if is_pipeline(model) else None
        shown = rows.show(model, None if columns is None else [str(name) for name in columns])
        weights = rows.sample_weight if rows.in_memory else None  # type: ignore[attr-defined]
    tree = from_model(
        model,
        shown,
        sample_weight=weights,
        feature_names=known.feature_names,
        class_names=known.class_names,
        accepts_missing=known.accepts_missing,
    )
    if rows is not None:
        tree = rows.fit(tree)
    return state_facts(tree, None if rows is None else rows.types, **known.stated)


def find_terms(model: Any) -> ModelTerms:
    """Find the columns that a model takes, and the labels that it knows."""
    names, classes = getattr(model, "feature_names_in_", None), getattr(model, "classes_", None)
    columns = None if names is None else [str(name) for name in names]
    if names is None or classes is None:
        try:
            tree = from_model(model)
        except SecateurError:  # a forest, or a model that cannot be read without rows
            return ModelTerms(columns, classes, is_pipeline(model))
        columns, classes = own_names(tree) if names is None else columns, tree.classes if classes is None else classes
    return ModelTerms(columns, np.asarray(classes), is_pipeline(model))


def find_texts_of(model: Any, y: Any = None) -> list[str]:
    """Find the text columns of a model, and that of its labels; none of a model that cannot be read without rows."""
    try:
        return find_texts(from_model(model), y)
    except SecateurError:
        return []


def open_problem(
    model: Any,
    rows: RowSource | None,
    known: Knowledge,
    method: Method | None,
    *,
    rf_tol: float = DEFAULT_RF_TOL,
    progress: Progress | None = None,
) -> Problem:
    """Open the problem of a method: with the rows themselves where they are in memory, else with counts of them.

    Rows that are elsewhere are brought into memory where counts are not enough, or would be larger than rows.

    Parameters
    ----------
    model : fitted tree, pipeline or Tree
    rows : RowSource or None
    known : Knowledge
    method : Method or None
        None asks for everything that counts can tell.
    rf_tol : float, default=1e-12
    progress : callable, default=None

    Returns
    -------
    Problem
    """
    rows = _part_labels(model, rows)
    tree = read_model(model, rows, known)
    if rows is None:
        return _pose(tree, None, rf_tol, known)
    if not rows.in_memory:
        if method is not None and method.asks_of(tree) is Asks.ROWS:
            why = f"The method {method.name!r} looks at rows one by one"
        else:
            try:
                return _count_problem(model, tree, rows, known, method, rf_tol, progress)
            except TooLargeError as error:
                why = error.why
        rows = rows.hold(partial(find_terms, model), why, COUNTS_SUFFICE)
        tree = read_model(model, rows, known)
    return _list_problem(tree, rows, rf_tol, known)  # type: ignore[arg-type]


def count_evidence(model: Any, rows: RowSource, known: Knowledge, method: Method | None, rf_tol: float) -> Evidence:
    """Count the rows for a method, or for all that counts can serve.

    Parameters
    ----------
    model : fitted tree, pipeline or Tree
    rows : RowSource
    known : Knowledge
    method : Method or None
    rf_tol : float

    Returns
    -------
    Evidence
    """
    rows = _part_labels(model, rows) or rows
    tree = read_model(model, rows, known)
    if method is not None:
        if method.asks_of(tree) is Asks.ROWS:
            raise ParameterError(
                f"The method {method.name!r} looks at rows one by one, so its summary would be as large as the rows: "
                "pass them to simplify."
            )
        if method.needs_rows and tree.counts is None:
            raise ParameterError(
                f"The tree has no class counts, so what {method.name!r} asks is not known yet: name no method."
            )
    problem = _pose(tree, None, rf_tol, known)
    if rows.in_memory:
        return _plan(problem, method).count(rows.read_labelled(tree, checks_facts=True, is_part=True))  # type: ignore[attr-defined]
    evidence, _ = _count(model, problem, rows, known, method, rf_tol, None)
    return evidence


def open_evidence(
    model: Any, evidence: Any, given: Mapping[str, Any], rf_tol: float, known: Knowledge, method: Method
) -> Problem:
    """Build the problem from counts, after checking that they belong to this model and suffice for the method."""
    if not isinstance(evidence, Evidence):
        raise InputError(f"Expected evidence from collect_evidence, found {type(evidence).__name__}.")
    beside = next((name for name, value in given.items() if value is not None), None)
    if beside is not None:
        raise InputError(f"{beside} was passed beside evidence, which has it already: leave it out.")
    tree = evidence.tree
    differences = [] if model is tree else find_tree_differences(tree, from_model(model))
    if differences:
        raise InputError(f"The evidence is of another tree. {differences[0]}")
    if method.asks_of(tree) is Asks.ROWS:
        raise InputError(
            f"The method {method.name!r} looks at rows one by one, so its summary would be as large as the "
            f"{evidence.n_rows:,} rows: pass X and y{COUNTS_SUFFICE}."
        )
    return _attach(_pose(tree, None, rf_tol, known), evidence, rf_tol, known)


def _part_labels(model: Any, rows: RowSource | None) -> RowSource | None:
    """Part the labels from a frame that holds them, so that the model is not shown them."""
    return rows if rows is None or not rows.in_memory else rows.hold(partial(find_terms, model), "")


def _list_problem(tree: Tree, rows: MemoryRows, rf_tol: float, known: Knowledge) -> Problem:
    """Open the problem of rows in memory."""
    listed = rows.read_labelled(tree, checks_facts=True)
    if tree.counts is None:
        tree = replace(
            tree, counts=count_classes(tree, apply_tree(tree, listed.rows), listed.class_ids, listed.weights)
        )
        check_tree(tree)  # also makes the new array read-only
    return _pose(tree, RowEvidence(tree, *listed), rf_tol, known)


def _count_problem(
    model: Any,
    tree: Tree,
    rows: RowSource,
    known: Knowledge,
    method: Method | None,
    rf_tol: float,
    progress: Progress | None,
) -> Problem:
    """Open the problem of rows that are counted where they are."""
    # What a method asks of a tree without class counts is known only when its rows are counted: all is counted then.
    asked = None if method is None or (method.needs_rows and tree.counts is None) else method
    problem = _pose(tree, None, rf_tol, known)
    evidence, problem = _count(model, problem, rows, known, asked, rf_tol, progress)
    return _attach(problem, evidence, rf_tol, known)


def _count(
    model: Any,
    problem: Problem,
    rows: RowSource,
    known: Knowledge,
    method: Method | None,
    rf_tol: float,
    progress: Progress | None,
) -> tuple[Evidence, Problem]:
    """Count the rows once, or twice where they show what the model does not."""
    try:
        return rows.fold(problem.tree, _plan(problem, method), checks_facts=True, progress=progress), problem
    except MissingRefusedError as error:
        # What the model alone does not show, its training rows do: they fill its leaves as it says.
        if known.accepts_missing is not None:
            raise
        if rows.is_once:
            raise InputError(
                f"{error} A reader can be read once only, so what its rows show of the model is not known beforehand: "
                "pass accepts_missing=True if the model was fitted with missing values."
            ) from error
        try:
            taking = read_model(model, rows, replace(known, accepts_missing=True))
        except (InputError, ParameterError):
            taking = None
        if taking is None or taking.counts is None:
            raise
        taken = _pose(taking, None, rf_tol, known)
        found = rows.fold(taking, _plan(taken, method), checks_facts=True, progress=progress)
        if not np.allclose(found.leaf_counts, taking.counts[taken.paths.leaf_ids], rtol=1e-9, atol=1e-9):
            raise
        return found, taken


def _plan(problem: Problem, method: Method | None) -> EvidencePlan:
    """Settle what is counted, or refuse counts that would be too many."""
    if method is None:
        opened = np.ones(len(problem.paths.links), dtype=bool)
        ignored = ~opened
    else:
        ignored, opened = method.open_conditions(problem)
    name = None if method is None else method.name
    check_size(problem.paths, opened, problem.tree.n_classes, name)
    return EvidencePlan(problem.tree, name, ignored, opened)


def _attach(problem: Problem, evidence: Evidence, rf_tol: float, known: Knowledge) -> Problem:
    """Give a problem counts of its rows, and its tree class counts if it has none."""
    if evidence.is_weighted and not evidence.leaf_counts.any():
        raise InputError(NO_WEIGHT)
    tree = problem.tree
    if tree.counts is not None:
        return replace(problem, evidence=evidence)
    counts = np.zeros((tree.n_nodes, tree.n_classes))
    counts[problem.paths.leaf_ids] = evidence.leaf_counts
    tree = replace(tree, counts=sum_up(tree, counts))
    check_tree(tree)
    return _pose(tree, replace(evidence, tree=tree), rf_tol, known)


def _pose(tree: Tree, evidence: TrainingEvidence | None, rf_tol: float, known: Knowledge) -> Problem:
    walked = None if known.domain_knowledge else _forget_columns(tree)
    return Problem(tree, trace_paths(tree, rf_tol), evidence, walked)


def _forget_columns(tree: Tree) -> Tree | None:
    """The tree as it is where nothing is known of its columns; behind a pipeline, over what the pipeline makes."""
    if tree.columns is not None and tree.columns.encoded is not None:
        return tree.columns.encoded
    return replace(tree, facts=NO_FACTS) if tree.facts else None
