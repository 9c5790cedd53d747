"""Pick a method's knob by cross-validation on training rows: most deletion under a ceiling of conflict.

In every fold a clone of the model is fitted to the other folds, its rules are shortened for each value of the grid,
and audited on the fold that was left out. What is chosen is then used on the model itself, with all training rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import InputError, ParameterError
from secateur.export.frame import make_frame
from secateur.rows import frame_columns
from secateur.simplification import check_share, simplify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secateur.audit import Audit

__all__ = ["Selection", "SelectionPoint", "select_budget", "select_tolerance"]

TOLERANCES = (0.0, 0.01, 0.03, 0.05, 0.1, 0.2)
BUDGETS = (0.0, 0.0025, 0.005, 0.0075, 0.01, 0.0125, 0.015, 0.0175, 0.02, 0.025, 0.03, 0.04, 0.05)


@dataclass(frozen=True)
class SelectionPoint:
    """What one value of the knob does to rows that were left out: means over the folds.

    Attributes
    ----------
    value : float
        Of the tolerance or budget.
    removed : float
        Percentage of all conditions that were deleted.
    conflict : float
        Percentage of rows covered by rules of different classes.
    delta_accuracy : float
        Accuracy of the rules minus that of their tree, in percentage points.
    macro_dev : float
        Mean absolute change of precision and recall over classes, in percentage points.
    conflict_sd, delta_accuracy_sd : float
        Standard deviations over the folds.
    is_allowed : bool
        Whether conflict and accuracy change are within what was asked for.
    """

    value: float
    removed: float
    conflict: float
    delta_accuracy: float
    macro_dev: float
    conflict_sd: float
    delta_accuracy_sd: float
    is_allowed: bool


@dataclass(frozen=True)
class Selection:
    """The value that was picked, and the curve that it was picked from.

    Attributes
    ----------
    parameter : {"tolerance", "budget"}
        Which argument of :func:`simplify` it is for.
    value : float
        What to pass there.
    method : str
        The method that was tried.
    max_conflict, min_accuracy_change : float
        What was asked for, as shares.
    curve : tuple of SelectionPoint
        One point for each value of the grid.
    """

    parameter: str
    value: float
    method: str
    max_conflict: float
    min_accuracy_change: float
    curve: tuple[SelectionPoint, ...] = field(repr=False)

    def to_frame(self, library: str | None = None) -> Any:
        """Put the curve into a data frame, a row a value.

        Parameters
        ----------
        library : {"pandas", "polars"}, default=None
            By default the one that is already imported, else the one that is installed.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
        """
        names = SelectionPoint.__dataclass_fields__
        return make_frame({name: [getattr(point, name) for point in self.curve] for name in names}, library)

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve: conditions removed against conflict, the picked value marked.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            By default a new figure's.

        Returns
        -------
        matplotlib.axes.Axes
        """
        if ax is None:
            try:
                from matplotlib.figure import Figure
            except ImportError as error:
                raise ParameterError("Drawing the curve needs matplotlib: pip install matplotlib.") from error
            ax = Figure(figsize=(6, 4), layout="constrained").subplots()
        ax.plot([p.conflict for p in self.curve], [p.removed for p in self.curve], color="tab:blue", marker="o")
        for point in self.curve:
            ax.annotate(
                f"{point.value:g}", (point.conflict, point.removed), xytext=(4, -10), textcoords="offset points"
            )
        picked = next(point for point in self.curve if point.value == self.value)
        label = f"picked: {self.parameter} {self.value:g}"
        ax.plot([picked.conflict], [picked.removed], "s", color="tab:orange", markersize=10, label=label)
        ax.axvline(
            100 * self.max_conflict, color="gray", linestyle="--", label=f"ceiling {100 * self.max_conflict:g} %"
        )
        ax.set(xlabel="conflict on rows left out, %", ylabel="conditions removed, %", title=f"{self.method}, by fold")
        ax.legend()
        return ax

    def __str__(self) -> str:
        lines = [f"{self.parameter} = {self.value:g} for {self.method}, by cross-validation:"]
        lines.append(f"{self.parameter:>10} {'removed %':>10} {'conflict %':>11} {'Δaccuracy':>10} {'MacroDev':>9}")
        for point in self.curve:
            mark = " ← picked" if point.value == self.value else "" if point.is_allowed else " not allowed"
            lines.append(
                f"{point.value:>10g} {point.removed:>10.2f} {point.conflict:>11.2f} {point.delta_accuracy:>+10.2f} "
                f"{point.macro_dev:>9.2f}{mark}"
            )
        return "\n".join(lines)


def select_tolerance(
    model: Any,
    X: Any,
    y: Any,
    *,
    method: str = "layered",
    grid: Sequence[float] | None = None,
    max_conflict: float = 0.05,
    min_accuracy_change: float = 0.0,
    cv: Any = 5,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> Selection:
    """Pick the tolerance ε of ``layered`` or ``mismatch`` by cross-validation on training rows.

    Parameters
    ----------
    model : estimator
        A tree of scikit-learn, or one that works like it, fitted or not; clones of it are fitted.
    X : array-like or data frame of shape (n_rows, n_features)
        The training rows.
    y : array-like of shape (n_rows,)
        Their labels.
    method : {"layered", "mismatch"}, default="layered"
    grid : sequence of float, default=None
        The values to try, in increasing order; by default 0, 0.01, 0.03, 0.05, 0.1 and 0.2.
    max_conflict : float in [0, 1], default=0.05
        The mean share of rows left out that rules of different classes may cover.
    min_accuracy_change : float in [-1, 1], default=0.0
        The mean change of accuracy on rows left out that is still allowed.
    cv : int or splitter, default=5
        Number of folds (stratified, shuffled with a fixed seed), or an object with ``split``.
    sample_weight : array-like of shape (n_rows,), default=None
    n_jobs : int, default=None
        Processes, as joblib counts them.
    progress : bool, default=True
        Whether to show a bar on a terminal.

    Returns
    -------
    Selection
        If no value of the grid is allowed, the smallest one is picked, with a warning.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> selection = select_tolerance(model, X, y, max_conflict=0.02, min_accuracy_change=-0.01)
    >>> selection.value
    0.2
    >>> rules = simplify(model, X, y, tolerance=selection.value)
    """
    if method not in ("layered", "mismatch"):
        raise ParameterError(f"A tolerance can be selected for 'layered' and 'mismatch', found {method!r}.")
    return _select(
        "tolerance",
        method,
        model,
        X,
        y,
        TOLERANCES if grid is None else grid,
        max_conflict,
        min_accuracy_change,
        cv,
        sample_weight,
        n_jobs,
        progress,
        {},
    )


def select_budget(
    model: Any,
    X: Any,
    y: Any,
    *,
    smoothing: float = 1000,
    grid: Sequence[float] | None = None,
    max_conflict: float = 0.02,
    min_accuracy_change: float = -0.01,
    cv: Any = 5,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> Selection:
    """Pick the budget δ of ``budgeted`` by cross-validation on training rows.

    Parameters
    ----------
    model : estimator
        A tree of scikit-learn, or one that works like it, fitted or not; clones of it are fitted.
    X : array-like or data frame of shape (n_rows, n_features)
        The training rows.
    y : array-like of shape (n_rows,)
        Their labels.
    smoothing : float, default=1000
        n0 of ``budgeted``.
    grid : sequence of float, default=None
        The values to try, in increasing order; by default 13 of them from 0 to 0.05.
    max_conflict : float in [0, 1], default=0.02
        The mean share of rows left out that rules of different classes may cover.
    min_accuracy_change : float in [-1, 1], default=-0.01
        The mean change of accuracy on rows left out that is still allowed.
    cv : int or splitter, default=5
        Number of folds (stratified, shuffled with a fixed seed), or an object with ``split``.
    sample_weight : array-like of shape (n_rows,), default=None
    n_jobs : int, default=None
        Processes, as joblib counts them.
    progress : bool, default=True
        Whether to show a bar on a terminal.

    Returns
    -------
    Selection
        If no value of the grid is allowed, the smallest one is picked, with a warning.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> selection = select_budget(model, X, y, grid=(0, 0.01, 0.02))
    >>> rules = simplify(model, X, y, method="budgeted", budget=selection.value)
    """
    values = BUDGETS if grid is None else grid
    return _select(
        *("budget", "budgeted", model, X, y, values, max_conflict, min_accuracy_change, cv, sample_weight, n_jobs),
        *(progress, {"smoothing": smoothing}),
    )


def _select(
    parameter: str,
    method: str,
    model: Any,
    X: Any,
    y: Any,
    grid: Sequence[float],
    max_conflict: float,
    min_accuracy_change: float,
    cv: Any,
    sample_weight: Any,
    n_jobs: int | None,
    progress: bool,
    settings: dict[str, Any],
) -> Selection:
    values = _check_grid(parameter, grid)
    ceiling = check_share("max_conflict", max_conflict)
    floor = _check_change(min_accuracy_change)
    if not hasattr(model, "fit") or not hasattr(model, "get_params"):
        raise InputError(
            f"Cross-validation fits the model anew in every fold, which a {type(model).__name__} cannot: pass the "
            "estimator, for example a DecisionTreeClassifier."
        )
    audits = _audit_folds(parameter, method, model, X, y, values, cv, sample_weight, n_jobs, progress, settings)
    curve = tuple(
        _summarize(value, [fold[place] for fold in audits], ceiling, floor) for place, value in enumerate(values)
    )
    allowed = [point for point in curve if point.is_allowed]
    if not allowed:
        warnings.warn(
            f"No {parameter} of the grid keeps the mean conflict within {ceiling:g} and the mean accuracy change at "
            f"{floor:g} or above; {values[0]:g}, the smallest, is picked.",
            stacklevel=3,
        )
    # Of equal deletion, the smaller value.
    picked = max(allowed, key=lambda point: (point.removed, -point.value)).value if allowed else values[0]
    return Selection(parameter, picked, method, ceiling, floor, curve)


def _audit_folds(
    parameter: str,
    method: str,
    model: Any,
    X: Any,
    y: Any,
    values: list[float],
    cv: Any,
    sample_weight: Any,
    n_jobs: int | None,
    progress: bool,
    settings: dict[str, Any],
) -> list[list[Audit]]:
    """One audit for each fold and value."""
    from joblib import Parallel, delayed

    labels = np.asarray(y)
    n_rows = len(X) if frame_columns(X) is not None else len(np.asarray(X))
    if labels.shape != (n_rows,):
        raise InputError(f"Expected one label for each of the {n_rows} rows, found y of shape {labels.shape}.")
    weights = None if sample_weight is None else np.asarray(sample_weight)
    folds = list(_make_folds(cv, n_rows, labels))
    finished = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_audit_fold)(parameter, method, model, X, labels, weights, train, test, values, settings)
        for train, test in folds
    )
    if not progress:
        return list(finished)
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return list(
        track(
            *(finished, f"selecting {parameter}"),
            total=len(folds),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
    )


def _audit_fold(
    parameter: str,
    method: str,
    model: Any,
    X: Any,
    y: NDArray[Any],
    weights: NDArray[Any] | None,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    values: list[float],
    settings: dict[str, Any],
) -> list[Audit]:
    from sklearn.base import clone

    X_train, weight_train = _take(X, train), None if weights is None else weights[train]
    weighted: dict[str, Any] = {} if weights is None else {"sample_weight": weight_train}
    knob: dict[str, Any] = dict(settings)
    tree = clone(model).fit(X_train, y[train], **weighted)
    audits = []
    for value in values:
        knob[parameter] = value
        rules = simplify(tree, X_train, y[train], method=method, **weighted, **knob)
        held_out = None if weights is None else weights[test]
        audits.append(rules.audit(_take(X, test), y[test], sample_weight=held_out))
    return audits


def _make_folds(cv: Any, n_rows: int, labels: NDArray[Any]) -> Any:
    if hasattr(cv, "split"):
        return cv.split(np.zeros((n_rows, 1)), labels)
    if isinstance(cv, bool) or not isinstance(cv, (int, np.integer)) or cv < 2:
        raise ParameterError(f"Expected cv as a number of folds from 2 on, or an object with split, found {cv!r}.")
    classes, counts = np.unique(labels, return_counts=True)
    if counts.min() < cv:
        raise InputError(
            f"Expected at least {cv} rows of every class for {cv} folds, found {counts.min()} of class "
            f"{classes[counts.argmin()]!s}. Pass a smaller cv."
        )
    from sklearn.model_selection import StratifiedKFold

    return StratifiedKFold(int(cv), shuffle=True, random_state=0).split(np.zeros((n_rows, 1)), labels)


def _take(X: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of whatever the rows are in."""
    if frame_columns(X) is None:
        return np.asarray(X)[rows]
    import narwhals

    return narwhals.from_native(X, eager_only=True)[rows].to_native()


def _check_grid(parameter: str, grid: Sequence[float]) -> list[float]:
    if isinstance(grid, (str, bytes)) or not hasattr(grid, "__iter__"):
        raise ParameterError(f"Expected grid as a list of numbers from 0 to 1, found {grid!r}.")
    values = [check_share(f"every {parameter} of the grid", value) for value in grid]
    if not values:
        raise ParameterError(f"The grid is empty: give at least one {parameter} to try.")
    if any(after <= before for before, after in pairwise(values)):
        raise ParameterError(f"Expected the grid in increasing order without repeats, found {values}.")
    return values


def _check_change(value: Any) -> float:
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not is_number or not -1 <= value <= 1:
        raise ParameterError(f"Expected min_accuracy_change as a number from -1 to 1, found {value!r}.")
    return float(value)


def _summarize(value: float, audits: list[Audit], ceiling: float, floor: float) -> SelectionPoint:
    def mean(name: str) -> float:
        return float(np.mean([getattr(audit, name) for audit in audits]))

    conflict, change = mean("conflict"), mean("delta_accuracy")
    return SelectionPoint(
        value=value,
        removed=mean("removed"),
        conflict=conflict,
        delta_accuracy=change,
        macro_dev=mean("macro_dev"),
        conflict_sd=float(np.std([audit.conflict for audit in audits])),
        delta_accuracy_sd=float(np.std([audit.delta_accuracy for audit in audits])),
        is_allowed=conflict <= 100 * ceiling and change >= 100 * floor,
    )
