"""Pick a method's knob by cross-validation: delete most under a ceiling of conflict, or of disagreement with the tree.

In every fold a clone of the model is fitted to the other folds, its rules are shortened for each value of the grid,
and audited on the rows left out. The picked value is then for the model itself, with all training rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.adapters.forests import is_forest
from secateur.adapters.pipelines import is_pipeline
from secateur.errors import InputError, ParameterError, UnsupportedModelError, did_you_mean
from secateur.frames import frame_columns
from secateur.methods import find_method, list_methods
from secateur.methods.contract import DEFAULT_TOLERANCE
from secateur.methods.settings import check_share, is_number
from secateur.results.compact_audit import CompactAudit
from secateur.rows.checking import check_weights, holds_missing
from secateur.rows.opening import check_pair, hold_rows
from secateur.selection import Selection, SelectionPoint
from secateur.simplification import simplify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secateur.results.audit import Audit

__all__ = ["select_budget", "select_tolerance"]

# Budgets of compact rules to try by default.
COMPACT_GRID = (0.0, 0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03)
SMOOTHING = 1000
# The share of rows left out that may be in conflict by default. A tolerance says nothing of conflict, which comes with
# the deletions that it allows; `budgeted` limits conflict itself on the training rows, to 0.015 by default.
MAX_CONFLICT_OF_TOLERANCE, MAX_CONFLICT_OF_BUDGETED = 0.05, 0.02
# And, for compact rules, that may be decided otherwise than by the tree: the budget that the documents begin with.
MAX_DISAGREEMENT = 0.01


def select_tolerance(
    model: Any,
    X: Any,
    y: Any,
    *,
    method: str = "mismatch",
    grid: Sequence[float] | None = None,
    max_conflict: float = MAX_CONFLICT_OF_TOLERANCE,
    min_accuracy_change: float = 0.0,
    cv: Any = 5,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> Selection:
    """Pick the tolerance ε of ``mismatch`` or ``faithful`` by cross-validation.

    Parameters
    ----------
    model : estimator
        A tree of scikit-learn, or one that works like it, fitted or not; clones of it are fitted.
    X : array-like or data frame of shape (n_rows, n_features), or a table
        The training rows, as :func:`simplify` takes them.
    y : array-like of shape (n_rows,), or str
        Their labels; of a table or data frame the column that holds them.
    method : {"mismatch", "faithful"}, default="mismatch"
    grid : sequence of float, default=None
        The values to try, in increasing order; by default 0, 0.01, 0.03, 0.05, 0.1 and 0.2.
    max_conflict : float in [0, 1], default=0.05
        The mean share of rows left out that rules of different classes may cover.
    min_accuracy_change : float in [-1, 1], default=0.0
        The lowest mean change of accuracy allowed on rows left out.
    cv : int or splitter, default=5
        Number of folds (stratified, shuffled with a fixed seed), or an object with ``split``.
    sample_weight : array-like of shape (n_rows,), or str, default=None
        Weights of the rows, in the fit and in the measures.
    n_jobs : int, default=None
        Processes, as joblib counts them.
    progress : bool, default=True
        Whether to show a bar on a terminal.

    Returns
    -------
    Selection
        Of the values whose mean conflict and accuracy change are allowed, the one that deletes most, and of equal
        ones the smallest. If none is allowed, the smallest of the grid, with a warning.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> selection = select_tolerance(model, X, y, max_conflict=0.02, min_accuracy_change=-0.01)
    >>> selection.value
    0.2
    >>> rules = simplify(model, X, y, method="mismatch", tolerance=selection.value)
    """
    search = _Search.plan("tolerance", method, grid, max_conflict, min_accuracy_change)
    return _select(model, search, _Sample.check(model, X, y, sample_weight), cv, n_jobs, progress)


def select_budget(
    model: Any,
    X: Any,
    y: Any,
    *,
    form: str = "each-leaf",
    smoothing: float = SMOOTHING,
    tolerance: float = DEFAULT_TOLERANCE,
    otherwise: Any = "auto",
    grid: Sequence[float] | None = None,
    max_conflict: float | None = None,
    max_disagreement: float | None = None,
    min_accuracy_change: float = -0.01,
    cv: Any = 5,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> Selection:
    """Pick the budget of :func:`compact`, or max_conflict of ``budgeted``, by cross-validation.

    Parameters
    ----------
    model, X, y : estimator, training rows and labels
        As in :func:`select_tolerance`.
    form : {"each-leaf", "compact"}, default="each-leaf"
        One rule for each leaf, shortened by ``budgeted``; or compact rules.
    smoothing : float, default=1000
        n0 of ``budgeted``; compact rules have no such setting.
    tolerance : float in [0, 1], default=0.05
        How far below its leaf's reliability a rule may end that lost a condition to the picked value.
    otherwise : optional
        As in :func:`compact`, for compact rules.
    grid : sequence of float, default=None
        The values to try, in increasing order; by default 13 of them from 0 to 0.05, for compact rules 8
        from 0 to 0.03.
    max_conflict : float in [0, 1], default=None
        The mean share of rows left out that rules of different classes may cover; by default 0.02. The values of the
        grid are such shares of the training rows. Not for compact rules.
    max_disagreement : float in [0, 1], default=None
        For compact rules, the mean share of rows left out that may be decided otherwise than by the tree; by default
        0.01.
    min_accuracy_change : float in [-1, 1], default=-0.01
        The lowest mean change of accuracy allowed on rows left out.
    cv, sample_weight, n_jobs, progress : optional
        As in :func:`select_tolerance`.

    Returns
    -------
    Selection
        Chosen as by :func:`select_tolerance`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from secateur import compact
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> selection = select_budget(model, X, y, grid=(0, 0.01, 0.02))
    >>> rules = simplify(model, X, y, method="budgeted", max_conflict=selection.value)
    >>> selection = select_budget(model, X, y, form="compact", grid=(0, 0.005, 0.01), max_disagreement=0.02)
    >>> rules = compact(model, X, y, budget=selection.value)
    """
    if form == "compact":
        if max_conflict is not None or smoothing != SMOOTHING:
            other = "smoothing" if max_conflict is None else "max_conflict"
            raise ParameterError(
                f"{other} is for form='each-leaf'; compact rules are held to max_disagreement, the share of rows "
                "decided otherwise than by the tree."
            )
        search = _Search.plan_compact(grid, max_disagreement, min_accuracy_change, tolerance, otherwise)
    elif form == "each-leaf":
        if max_disagreement is not None:
            raise ParameterError("max_disagreement is for form='compact'; one rule for each leaf has max_conflict.")
        if not isinstance(otherwise, str) or otherwise != "auto":
            raise ParameterError("otherwise is for form='compact'; one rule for each leaf leaves no class out.")
        ceiling = MAX_CONFLICT_OF_BUDGETED if max_conflict is None else max_conflict
        guard = {"smoothing": smoothing, "tolerance": check_share("tolerance", tolerance)}
        search = _Search.plan("max_conflict", "budgeted", grid, ceiling, min_accuracy_change, **guard)
    else:
        raise ParameterError(
            f"Expected form as 'each-leaf' or 'compact', found {form!r}.{did_you_mean(form, ('each-leaf', 'compact'))}"
        )
    return _select(model, search, _Sample.check(model, X, y, sample_weight), cv, n_jobs, progress)


@dataclass(frozen=True)
class _Search:
    """What to try, and what is allowed."""

    parameter: str
    method: str
    values: list[float]
    ceiling: float
    min_accuracy_change: float
    settings: dict[str, Any]
    is_compact: bool = False

    @property
    def measure(self) -> str:
        return "disagreement" if self.is_compact else "conflict"

    @classmethod
    def plan(
        cls, parameter: str, method: str, grid: Any, max_conflict: float, min_accuracy_change: float, **settings: Any
    ) -> _Search:
        chosen = find_method(method, settings)
        if chosen.knob is None or chosen.knob.setting != parameter:
            fit = list_methods(reading=parameter, as_knob=True)
            raise ParameterError(f"A {parameter} can be selected for {fit}, found {method!r}.")
        check_share("max_conflict", max_conflict)
        _check_accuracy_change(min_accuracy_change)
        values = _check_grid(parameter, chosen.knob.grid if grid is None else grid)
        return cls(parameter, chosen.name, values, float(max_conflict), float(min_accuracy_change), settings)

    @classmethod
    def plan_compact(
        cls, grid: Any, max_disagreement: float | None, min_accuracy_change: float, tolerance: float, otherwise: Any
    ) -> _Search:
        ceiling = check_share("max_disagreement", MAX_DISAGREEMENT if max_disagreement is None else max_disagreement)
        _check_accuracy_change(min_accuracy_change)
        settings = {"tolerance": check_share("tolerance", tolerance), "otherwise": otherwise}
        values = _check_grid("budget", COMPACT_GRID if grid is None else grid)
        return cls("budget", "compact", values, ceiling, float(min_accuracy_change), settings, is_compact=True)


@dataclass(frozen=True)
class _Sample:
    """Rows, labels and weights."""

    X: Any
    y: NDArray[Any]
    weights: NDArray[np.float64] | None

    @classmethod
    def check(cls, model: Any, X: Any, y: Any, sample_weight: Any) -> _Sample:
        if y is None:
            check_pair(X, y)
        own = getattr(model, "feature_names_in_", None)  # of a fitted model: a table may have other columns beside
        columns = None if own is None else [str(name) for name in own]
        X, y, sample_weight = hold_rows(X, y, sample_weight, "Folds are cut from rows in memory", columns)
        if frame_columns(X) is None:
            if hasattr(X, "tocsr"):
                raise InputError("Expected X as an array or data frame, found a sparse matrix: pass X.toarray().")
            X = np.asarray(X)
        labels = np.asarray(y)
        labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
        if labels.shape != (len(X),):
            raise InputError(f"Expected one label for each of the {len(X)} rows, found y of shape {labels.shape}.")
        return cls(X, labels, check_weights(sample_weight, len(X)))

    @cached_property
    def accepts_missing(self) -> bool | None:
        """Let a tree fitted to a fold without missing values take those of other folds."""
        return True if holds_missing(self.X) else None

    def take(self, rows: NDArray[np.int64]) -> _Sample:
        weights = None if self.weights is None else self.weights[rows]
        import narwhals as nw

        is_array = isinstance(self.X, np.ndarray)
        X = self.X[rows] if is_array else nw.from_native(self.X, eager_only=True)[rows].to_native()
        return _Sample(X, self.y[rows], weights)


def _select(model: Any, search: _Search, sample: _Sample, cv: Any, n_jobs: int | None, progress: bool) -> Selection:
    if is_forest(model):
        raise UnsupportedModelError(
            "Conflict and class-wise deviation are measured for one tree, not for a forest that votes: pass a tree, or "
            "a pipeline that ends in one."
        )
    if not hasattr(model, "fit") or not hasattr(model, "get_params"):
        raise InputError(
            f"Cross-validation fits the model anew in every fold, which a {type(model).__name__} cannot: pass the "
            "estimator, for example a DecisionTreeClassifier."
        )
    audits = _audit_folds(model, search, sample, cv, n_jobs, progress)
    curve = tuple(
        _summarize(value, [fold[place] for fold in audits], search) for place, value in enumerate(search.values)
    )
    allowed = [point for point in curve if point.is_allowed]
    if not allowed:
        warnings.warn(
            f"No {search.parameter} of the grid keeps the mean {search.measure} within {search.ceiling:g} and the mean "
            f"accuracy change at {search.min_accuracy_change:g} or above: {search.values[0]:g}, the least, is picked. "
            + (
                "A budget of 0 changes no answer."
                if search.is_compact
                else "The method 'exact' brings no row into conflict."
            ),
            stacklevel=3,
        )
    # Of equal deletion, the smaller value.
    picked = max(allowed, key=lambda point: (point.removed, -point.value)).value if allowed else search.values[0]
    return Selection(
        parameter=search.parameter,
        value=picked,
        method=search.method,
        max_conflict=None if search.is_compact else search.ceiling,
        min_accuracy_change=search.min_accuracy_change,
        curve=curve,
        max_disagreement=search.ceiling if search.is_compact else None,
    )


def _audit_folds(
    model: Any, search: _Search, sample: _Sample, cv: Any, n_jobs: int | None, progress: bool
) -> list[list[Audit | CompactAudit]]:
    """Audit each value in each fold."""
    from joblib import Parallel, delayed

    folds = list(_make_folds(cv, sample.y))
    classes = set(np.unique(sample.y).tolist())
    for number, (train, _) in enumerate(folds):
        if absent := classes - set(np.unique(sample.y[train]).tolist()):
            raise InputError(
                f"The training rows of fold {number} have no row of class {min(absent)!s}: use a stratified splitter, "
                "such as cv=5."
            )
    finished = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_audit_fold)(model, search, sample.take(train), sample.take(test), sample.accepts_missing)
        for train, test in folds
    )
    if not progress:
        return list(finished)
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    title, hidden = f"selecting {search.parameter}", not console.is_terminal
    return list(track(finished, title, total=len(folds), console=console, disable=hidden, transient=True))


def _audit_fold(
    model: Any, search: _Search, train: _Sample, test: _Sample, accepts_missing: bool | None
) -> list[Audit | CompactAudit]:
    from sklearn.base import clone

    # A pipeline hands weights to a step by its name.
    key = f"{model.steps[-1][0]}__sample_weight" if is_pipeline(model) else "sample_weight"
    weighted: dict[str, Any] = {} if train.weights is None else {key: train.weights}
    tree = clone(model).fit(train.X, train.y, **weighted)
    audits: list[Audit | CompactAudit] = []
    if search.is_compact:
        rules = simplify(
            *(tree, train.X, train.y), method="exact", sample_weight=train.weights, accepts_missing=accepts_missing
        )
        for value in search.values:
            found = rules.compact(budget=value, **search.settings)
            audits.append(found.audit(test.X, test.y, sample_weight=test.weights))
        return audits
    for value in search.values:
        knobs: dict[str, Any] = {**search.settings, search.parameter: value, "accepts_missing": accepts_missing}
        rules = simplify(tree, train.X, train.y, method=search.method, sample_weight=train.weights, **knobs)
        audits.append(rules.audit(test.X, test.y, sample_weight=test.weights))
    return audits


def _make_folds(cv: Any, labels: NDArray[Any]) -> Any:
    if hasattr(cv, "split") and not isinstance(cv, str):
        return cv.split(np.zeros((len(labels), 1)), labels)
    if isinstance(cv, bool) or not isinstance(cv, (int, np.integer)) or cv < 2:
        raise ParameterError(f"Expected cv as a number of folds from 2 on, or an object with split, found {cv!r}.")
    classes, counts = np.unique(labels, return_counts=True)
    if counts.min() < cv:
        raise InputError(
            f"Expected at least {cv} rows of every class for {cv} folds, found {counts.min()} of class "
            f"{classes[counts.argmin()]!s}. Pass a smaller cv."
        )
    from sklearn.model_selection import StratifiedKFold

    return StratifiedKFold(int(cv), shuffle=True, random_state=0).split(np.zeros((len(labels), 1)), labels)


def _check_grid(parameter: str, grid: Sequence[float]) -> list[float]:
    if isinstance(grid, (str, bytes)) or not hasattr(grid, "__iter__"):
        raise ParameterError(f"Expected grid as a list of numbers from 0 to 1, found {grid!r}.")
    values = [check_share(f"every {parameter} of the grid", value) for value in grid]
    if not values:
        raise ParameterError(f"The grid is empty: give at least one {parameter} to try.")
    if any(after <= before for before, after in pairwise(values)):
        raise ParameterError(f"Expected the grid in increasing order without repeats, found {values}.")
    return values


def _check_accuracy_change(value: Any) -> None:
    if not is_number(value) or not -1 <= value <= 1:
        raise ParameterError(f"Expected min_accuracy_change as a number from -1 to 1, found {value!r}.")


def _summarize(value: float, audits: list[Audit | CompactAudit], search: _Search) -> SelectionPoint:
    measure = search.measure
    removed = [100.0 - one.conditions_left if isinstance(one, CompactAudit) else one.removed for one in audits]
    found = {name: [getattr(audit, name) for audit in audits] for name in (measure, "delta_accuracy", "macro_dev")}
    means = {name: float(np.mean(numbers)) for name, numbers in found.items()}
    spread = {f"{name}_sd": float(np.std(found[name])) for name in (measure, "delta_accuracy")}
    is_allowed = means[measure] <= 100 * search.ceiling
    is_allowed &= means["delta_accuracy"] >= 100 * search.min_accuracy_change
    absent: dict[str, Any] = {"conflict": None, "conflict_sd": None} if search.is_compact else {}
    numbers: dict[str, Any] = {**absent, **means, **spread}
    return SelectionPoint(value=value, removed=float(np.mean(removed)), is_allowed=is_allowed, **numbers)
