"""Read a model and its rows, and pose the problem that a method works on."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secateur.adapters import from_model
from secateur.adapters.reading import is_pipeline
from secateur.adapters.scikit_learn import read_forest
from secateur.counting.counted_evidence import Evidence, EvidencePlan, TooLargeError, check_size
from secateur.counting.training_evidence import RowEvidence, TrainingEvidence
from secateur.errors import InputError, ParameterError, SecateurError
from secateur.facts.checking import check_facts
from secateur.facts.stating import state_facts
from secateur.methods import Asks, Method, Problem, find_method
from secateur.methods.contract import MethodName, check_amount, check_flag
from secateur.rows.checking import NO_WEIGHT, MissingRejectedError, check_labels, check_rows, check_weights
from secateur.rows.encoding import find_texts, own_names
from secateur.rows.opening import open_rows
from secateur.rows.row_source import MemoryRows, ModelTerms, Progress, RowSource
from secateur.rows.rows import apply_tree, count_classes, sum_up
from secateur.tree.contract import check_tree
from secateur.tree.difference import find_tree_differences
from secateur.tree.facts import NO_FACTS
from secateur.tree.paths import DEFAULT_RF_TOL, trace_paths
from secateur.tree.tree import Tree

COUNTS_SUFFICE = ", or use a method that counts suffice for, such as 'faithful'"
LOOKS_AT_ROWS = "The method {!r} looks at rows one by one"


@dataclass(frozen=True)
class Knowledge:
    """What a caller says about a model's columns and classes; see :func:`secateur.simplify`."""

    feature_names: Sequence[str] | None = None
    class_names: Sequence[str] | None = None
    accepts_missing: bool | None = None
    groups: Any = None
    integers: Any = None
    facts: Any = None
    domain_knowledge: bool = True

    def __post_init__(self) -> None:
        check_flag("domain_knowledge", self.domain_knowledge)

    @property
    def stated(self) -> dict[str, Any]:
        """What the caller states about the columns, as :func:`state_facts` takes it."""
        return {"groups": self.groups, "integers": self.integers, "facts": self.facts}


def find_terms(model: Any) -> ModelTerms:
    """Find the columns that a model takes and the labels it knows."""
    names, classes = getattr(model, "feature_names_in_", None), getattr(model, "classes_", None)
    columns = None if names is None else [str(name) for name in names]
    if names is None or classes is None:
        try:
            tree = from_model(model)
        except SecateurError:  # a forest, or a model that cannot be read without rows
            return ModelTerms(columns, classes, is_pipeline(model))
        columns = own_names(tree) if names is None else columns
        classes = ModelTerms.of(tree).classes if classes is None else classes
    return ModelTerms(columns, None if classes is None else np.asarray(classes), is_pipeline(model))


def open_rows_of(model: Any, X: Any, y: Any, sample_weight: Any) -> AbstractContextManager[RowSource]:
    """Open the training rows of a model, which tells which columns of a file are text."""

    def find() -> list[str]:
        try:
            return find_texts(from_model(model), y)
        except SecateurError:  # the model cannot be read without rows
            return []

    return open_rows(X, y, sample_weight, find_texts=find)


@dataclass(frozen=True)
class OpenForest:
    """The trees of a forest with the names and facts that they share, and its training rows, checked once."""

    named: Tree  # the first of them
    trees: tuple[Tree, ...]
    leaf_shares: tuple[NDArray[np.float64], ...]
    rows: MemoryRows | None


def open_forest(model: Any, rows: RowSource | None, known: Knowledge, why: str) -> OpenForest:
    """Read a forest with its rows, which are brought into memory; ``why`` starts a rejection."""
    held = None if rows is None else rows.hold(partial(find_terms, model), why)
    X = None if held is None else held.X
    forest = read_forest(model, X, known.accepts_missing)
    first = forest.trees[0] if held is None else held.fit(forest.trees[0])
    names = first.feature_names if known.feature_names is None else known.feature_names
    named = from_model(forest.trees[0], feature_names=names, class_names=known.class_names)
    named = state_facts(named, X, **known.stated)
    shared = {name: getattr(named, name) for name in ("feature_names", "class_names", "facts")}
    listed = None
    if held is not None:
        shown = check_rows(named, held.X).convert()
        check_facts(named, shown)
        labels = named.classes[check_labels(named, held.y, shown.n_rows)]
        listed = MemoryRows(shown, labels, check_weights(held.sample_weight, shown.n_rows))
    return OpenForest(named, tuple(replace(tree, **shared) for tree in forest.trees), forest.leaf_shares, listed)


@dataclass(frozen=True)
class ModelReader:
    """Reads a model with its rows, and poses the problem of a method."""

    model: Any  # a fitted tree, pipeline or Tree
    known: Knowledge
    rf_tol: float = DEFAULT_RF_TOL  # a class share that changes by no more along a link counts as unchanged
    progress: Progress | None = None
    find_tolerance: Callable[[Tree], float] | None = None  # that of a regression tree

    def open(self, rows: RowSource | None, method: Method | None) -> Problem:
        """Pose a method's problem with rows where they are in memory or counts do not do, else with counts."""
        if rows is None:
            return self._pose(self._read(None))
        why = ""
        if not rows.in_memory:
            tree = self._read(rows)
            if method is not None and method.asks_of(tree) is Asks.ROWS:
                why = LOOKS_AT_ROWS.format(method.name)
            else:
                # What a method asks of a tree without class counts is not known before its rows are counted.
                asked = None if method is None or (method.needs_rows and not tree.has_own_counts) else method
                try:
                    return self._attach(*self._count(tree, rows, asked))
                except TooLargeError as error:
                    why = error.why
        held = rows.hold(partial(find_terms, self.model), why, "" if method is None else COUNTS_SUFFICE)
        tree = self._read(held)
        listed = held.read_labelled(tree, checks_facts=True)
        if not tree.has_own_counts:
            reached = apply_tree(tree, listed.rows)
            tree = _add_counts(tree, count_classes(tree, reached, listed.class_ids, listed.weights))
        return self._pose(tree, RowEvidence(tree, *listed[:3]))

    def count(self, rows: RowSource, method: Method | None) -> Evidence:
        """Count the rows for a method, or for all that counts can serve."""
        if rows.in_memory:
            rows = rows.hold(partial(find_terms, self.model), "")  # the model must not see its labels
        tree = self._read(rows)
        if method is not None and method.asks_of(tree) is Asks.ROWS:
            raise ParameterError(
                f"{LOOKS_AT_ROWS.format(method.name)}, so its summary would be as large as the rows: pass them to "
                "simplify."
            )
        if method is not None and method.needs_rows and not tree.has_own_counts:
            raise ParameterError(
                f"The tree has no class counts of its own, so what {method.name!r} asks is not known yet: name no "
                "method."
            )
        return self._count(tree, rows, method)[1]

    def open_counted(self, evidence: Any, given: Mapping[str, Any], method: Method | None) -> Problem:
        """Pose the problem from counts, after checking that they belong to this model and suffice for the method."""
        if not isinstance(evidence, Evidence):
            raise InputError(f"Expected evidence from collect_evidence, found {type(evidence).__name__}.")
        beside = next((name for name, value in given.items() if value is not None), None)
        if beside is not None:
            raise InputError(f"{beside} was passed beside evidence, which has it already: leave it out.")
        tree = evidence.tree
        differences = [] if self.model is tree else find_tree_differences(tree, from_model(self.model))
        if differences:
            raise InputError(f"The evidence is of another tree. {differences[0]}")
        if method is None and evidence.method is not None:
            raise InputError(
                f"The evidence was collected for {evidence.method!r} and tells rows apart only by the conditions that "
                "this method may delete, but every condition is asked about here: collect it without naming a method, "
                "or pass X and y."
            )
        if method is not None and method.asks_of(tree) is Asks.ROWS:
            raise InputError(
                f"{LOOKS_AT_ROWS.format(method.name)}, so its summary would be as large as the {evidence.n_rows:,} "
                f"rows: pass X and y{COUNTS_SUFFICE}."
            )
        return self._attach(self._pose(tree), evidence)

    def _read(self, rows: RowSource | None) -> Tree:
        """Read the model in the columns of the rows, with the stated facts about them."""
        shown = weights = None
        if rows is not None:
            columns = getattr(self.model, "feature_names_in_", None) if is_pipeline(self.model) else None
            shown, weights = rows.show(self.model, None if columns is None else [str(name) for name in columns])
        names = {name: getattr(self.known, name) for name in ("feature_names", "class_names", "accepts_missing")}
        tree = from_model(self.model, shown, sample_weight=weights, **names)
        if rows is None:
            return state_facts(tree, None, **self.known.stated)
        return state_facts(rows.fit(tree), rows.types, **self.known.stated)

    def _count(self, tree: Tree, rows: RowSource, method: Method | None) -> tuple[Problem, Evidence]:
        """Count the rows once, or twice where they show what the model does not."""
        problem = self._pose(tree)
        fold = partial(rows.fold, checks_facts=True, progress=self.progress)
        try:
            return problem, fold(tree, _plan(problem, method))
        except MissingRejectedError as error:
            # What the model alone does not show, its training rows do: they fill its leaves as it says.
            if rows.in_memory or self.known.accepts_missing is not None:
                raise
            if rows.is_once:
                raise InputError(
                    f"{error} A reader can be read only once, so what its rows show about the model is not known "
                    "beforehand: pass accepts_missing=True if the model was fitted with missing values."
                ) from error
            try:
                taking = replace(self, known=replace(self.known, accepts_missing=True))._read(rows)
            except (InputError, ParameterError):
                taking = None
            if taking is None or taking.counts is None:
                raise
            taken = self._pose(taking)
            found = fold(taking, _plan(taken, method))
            if not np.allclose(found.leaf_counts, taking.counts[taken.paths.leaf_ids], rtol=1e-9, atol=1e-9):
                raise
            return taken, found

    def _attach(self, problem: Problem, evidence: Evidence) -> Problem:
        """Give a problem counts of its rows, and its tree class counts if it has none of its own."""
        if evidence.is_weighted and not evidence.leaf_counts.any():
            raise InputError(NO_WEIGHT)
        tree = problem.tree
        if tree.has_own_counts:
            return replace(problem, evidence=evidence)
        counts = np.zeros((tree.n_nodes, tree.n_classes))
        counts[problem.paths.leaf_ids] = evidence.leaf_counts
        tree = _add_counts(tree, sum_up(tree, counts))
        return self._pose(tree, replace(evidence, tree=tree))

    def _pose(self, tree: Tree, evidence: TrainingEvidence | None = None) -> Problem:
        walked = None if self.known.domain_knowledge else _forget_columns(tree)
        tolerance = 0.0 if self.find_tolerance is None else self.find_tolerance(tree)
        return Problem(tree, trace_paths(tree, self.rf_tol), evidence, walked, tolerance)


def _add_counts(tree: Tree, counts: Any) -> Tree:
    counted = replace(tree, counts=counts)
    check_tree(counted)  # also makes the new array read-only
    return counted


def _plan(problem: Problem, method: Method | None) -> EvidencePlan:
    """Settle what is counted, or reject counts that would be too many."""
    if method is None:
        opened = np.ones(len(problem.paths.links), dtype=bool)
        ignored = ~opened
    else:
        ignored, opened = method.open_conditions(problem)
    name = None if method is None else method.name
    check_size(problem.paths, opened, problem.tree.n_classes, name)
    return EvidencePlan(problem.tree, name, ignored, opened)


def _forget_columns(tree: Tree) -> Tree | None:
    """Make the tree over columns about which nothing is known; behind a pipeline, those that the pipeline makes."""
    if tree.columns is not None and tree.columns.encoded is not None:
        return tree.columns.encoded
    return replace(tree, facts=NO_FACTS) if tree.facts else None


def collect_evidence(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    method: MethodName | None = None,
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
        By default the evidence serves every method that counts can serve, which may be too large for trees with
        long rules; the evidence for one method is smaller.
    rf_tol : float, default=1e-12
        As in :func:`simplify`; read where a method is named.
    feature_names, class_names, accepts_missing, groups, integers, facts : default=None
        As in :func:`simplify`, and the same for every chunk.

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
    <Evidence: 150 rows for 5 rules, for every method that counts can serve>
    >>> secateur.simplify(model, evidence=evidence, each_leaf=True) == secateur.simplify(model, X, y, each_leaf=True)
    True
    """
    if X is None or y is None:
        raise InputError("Expected X and y: the rows to count and their labels.")
    known = Knowledge(feature_names, class_names, accepts_missing, groups, integers, facts)
    chosen = None if method is None else find_method(method)
    reader = ModelReader(model, known, check_amount("rf_tol", rf_tol))
    with open_rows_of(model, X, y, sample_weight) as rows:
        return reader.count(rows, chosen)
