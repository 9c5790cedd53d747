"""Pick a tunable parameter by cross-validation: delete most under a ceiling of conflict, or of answers that differ.

In every fold a clone of the model is fitted to the other folds, its rules are shortened for each value of the grid,
and audited on the rows left out. The picked value is then for the model itself, with all training rows.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from secateur.adapters.reading import is_forest, is_pipeline
from secateur.choosing import ListForm, choose_lines, choose_lines_by_budget
from secateur.errors import InputError, ParameterError, UnsupportedModelError, did_you_mean, need_library
from secateur.export.html import write_notebook_table
from secateur.frames import frame_columns
from secateur.methods import find_method, list_methods
from secateur.methods.contract import MethodName, Settings, check_amount, check_share, check_whole, is_number
from secateur.methods.covering import count_sections
from secateur.results.audit import Audit
from secateur.rows.checking import check_weights, holds_missing
from secateur.rows.opening import check_pair, hold_rows
from secateur.rules.rule import Framed
from secateur.rules.rules import Rules
from secateur.simplification import simplify


class SelectSettings(Settings, total=False):
    """Settings of methods and of a list."""

    tolerance: float
    sections: Any
    budget: float


class _Kind(NamedTuple):
    """What is asked by default of rules that are chosen by one parameter."""

    method: str
    measure: str  # what the ceiling is for
    ceiling: float
    min_accuracy_change: float


# A tolerance says nothing of conflict, which comes with the deletions that it allows; `max_conflict` is a limit on
# conflict itself, and 0.015 is what `budgeted` spends by default; 0.01 is the budget that the documents begin with.
KINDS = {
    "budget": _Kind("exact", "difference", 0.01, -0.01),
    "tolerance": _Kind("mismatch", "conflict", 0.05, 0.0),
    "sections": _Kind("exact", "auc_loss", 0.01, -0.01),
    "max_conflict": _Kind("budgeted", "conflict", 0.02, -0.01),
}
# A list of `exact` keeps every answer; what its tolerance may cost is how well its shares rank rows.
TOLERANCE_OF_LIST = _Kind("exact", "auc_loss", 0.01, -0.01)
FORM_OF_VALUES = _Kind("exact", "r2_loss", 0.01, -0.01)
SPREADS = (0.05, 0.1, 0.15, 0.25, 0.35, 0.5)  # tolerances of values to try, in standard deviations of the targets
GRIDS: dict[str, tuple[float, ...]] = {  # to try by default, for lists
    "budget": (0.0, 0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03),
    "tolerance": (0.02, 0.05, 0.1, 0.15, 0.2, 1.0),
    "sections": (1, 2, 3, 4, 6, 8),
}


def select(
    model: Any,
    X: Any,
    y: Any,
    *,
    over: Literal["budget", "tolerance", "sections", "max_conflict"] = "budget",
    method: MethodName | None = None,
    grid: Sequence[float] | None = None,
    ceiling: float | None = None,
    min_accuracy_change: float | None = None,
    otherwise: Any = "auto",
    cv: Any = 5,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    progress: bool = True,
    **settings: Unpack[SelectSettings],
) -> Selection:
    """Pick the budget, tolerance or number of sections of a list, or a setting of a method, by cross-validation.

    Parameters
    ----------
    model : estimator
        A tree of scikit-learn, or one that works like it, fitted or not; clones of it are fitted. Of a regression tree,
        accuracy is R², and a value differs from the tree's if it is further from it than the tolerance.
    X : array-like or data frame of shape (n_rows, n_features), or a table
        The training rows, as :func:`simplify` takes them.
    y : array-like of shape (n_rows,), or str
        Their labels; of a table or data frame the column that holds them.
    over : {"budget", "tolerance", "sections", "max_conflict"}, default="budget"
        What to pick: the budget of a list, its number of sections, or with ``method="exact"`` its tolerance; or, with
        one rule for each leaf, ε of ``faithful`` or ``mismatch``, or δ of ``budgeted``.
    method : str, default=None
        The method that deletes; by default ``exact``, for a tolerance ``mismatch``, for ``max_conflict`` ``budgeted``.
    grid : sequence of float, default=None
        The values to try, in increasing order; by default some of a list, or the method's own. Tolerances of a
        regression tree are in the units of the target.
    ceiling : float in [0, 1], default=None
        The mean share of rows left out whose answer may differ from the tree's, by default 0.01; of the tolerance and
        the sections of a list, the AUC or R² that may be lost, by default 0.01; of other tolerances and
        ``max_conflict``, the share of rows that rules of different classes may cover, by default 0.05 and 0.02.
    min_accuracy_change : float in [-1, 1], default=None
        The lowest mean change of accuracy allowed on rows left out; by default -0.01, of the tolerance of a method 0.
    otherwise : label, default="auto"
        The class that a list does not write.
    cv : int or splitter, default=5
        Number of folds (stratified, shuffled with a fixed seed), or an object with ``split``.
    sample_weight : array-like of shape (n_rows,), or str, default=None
        Weights of the rows, in the fit and in the measures.
    n_jobs : int, default=None
        Processes, as joblib counts them.
    progress : bool, default=True
        Whether to show a bar on a terminal.
    **settings : object
        Other settings of the method, and ``tolerance``, ``sections`` and ``budget`` of a list.

    Returns
    -------
    Selection
        Of the values whose means are allowed, the one that deletes most, and of equal ones the smallest. If none is
        allowed, the one with the least of the measure, with a warning.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    >>> selection = select(model, X, y, grid=(0, 0.005, 0.01), ceiling=0.02)
    >>> rules = simplify(model, X, y, budget=selection.value)
    >>> rules = simplify(model, X, y, sections=select(model, X, y, over="sections").value)
    >>> selection = select(model, X, y, over="tolerance", ceiling=0.02, min_accuracy_change=-0.01)
    >>> rules = simplify(model, X, y, method="mismatch", tolerance=selection.value)
    """
    from sklearn.base import is_regressor

    if over not in KINDS:
        raise ParameterError(f"Expected over as one of {', '.join(KINDS)}, found {over!r}.{did_you_mean(over, KINDS)}")
    if hasattr(model, "__sklearn_tags__") and is_regressor(model):
        search = _Search.plan_values(over, method, grid, {**settings})
    else:
        search = _Search.plan(over, KINDS[over].method if method is None else method, grid, {**settings})
    kind = search.kind
    if not search.is_list and not (isinstance(otherwise, str) and otherwise == "auto"):
        raise ParameterError(f"'otherwise' is for a list: leave it out for over={over!r}.")
    ceiling = check_share("ceiling", kind.ceiling if ceiling is None else ceiling)
    least = kind.min_accuracy_change if min_accuracy_change is None else min_accuracy_change
    if not is_number(least) or not -1 <= least <= 1:
        raise ParameterError(f"Expected min_accuracy_change as a number from -1 to 1, found {least!r}.")
    search = replace(search, ceiling=ceiling, min_accuracy_change=float(least), otherwise=otherwise)
    return _select(model, search, _Sample.check(model, X, y, sample_weight), cv, n_jobs, progress)


@dataclass(frozen=True)
class _Search:
    """What to try, and what is allowed."""

    parameter: str
    method: str
    values: list[float]
    settings: dict[str, Any]  # of the method
    form: ListForm | None  # of a list
    budget: float = 0.0  # of a list
    ceiling: float = 0.0
    min_accuracy_change: float = 0.0
    otherwise: Any = "auto"
    is_regression: bool = False

    @property
    def is_list(self) -> bool:
        return self.form is not None

    @property
    def kind(self) -> _Kind:
        if self.is_regression and self.parameter != "budget":
            return FORM_OF_VALUES
        return TOLERANCE_OF_LIST if self.is_list and self.parameter == "tolerance" else KINDS[self.parameter]

    @classmethod
    def plan(cls, over: str, method: str, grid: Any, settings: dict[str, Any]) -> _Search:
        is_exact = find_method(method).name == "exact"
        if over == "budget" or (is_exact and over in GRIDS):
            names = ("tolerance", "sections", "budget") if is_exact else ()
            own = {name: settings[name] for name in names if name in settings and name != over}
            budget = check_share("budget", own.pop("budget", 0.0))
            own_settings = {name: value for name, value in settings.items() if name not in names or name == over}
            values = _check_grid(over, GRIDS[over] if grid is None else grid)
            return cls(over, find_method(method, own_settings).name, values, own_settings, ListForm(**own), budget)
        chosen = find_method(method, settings)
        if chosen.tunable is None or chosen.tunable.setting != over:
            fit = list_methods(reading=over, as_tunable=True)
            fit = f"{fit}, or 'exact' as that of a list" if over == "tolerance" else fit or "'exact'"
            one = "A number of sections" if over == "sections" else f"A {over}"
            raise ParameterError(f"{one} can be selected for {fit}, found {method!r}.")
        return cls(over, chosen.name, _check_grid(over, chosen.tunable.grid if grid is None else grid), settings, None)

    @classmethod
    def plan_values(cls, over: str, method: str | None, grid: Any, settings: dict[str, Any]) -> _Search:
        """Plan for a regression tree, whose method is `exact`; without a grid of tolerances, the targets give one."""
        if over not in GRIDS or find_method(method or "exact").name != "exact":
            raise ParameterError(
                f"Of a regression tree {', '.join(GRIDS)} can be selected, by 'exact': "
                f"{over if over not in GRIDS else f'the method {method!r}'} is for classes."
            )
        others = {name: value for name, value in settings.items() if name not in GRIDS or name == over}
        find_method("exact", others)
        tried = (() if over == "tolerance" else GRIDS[over]) if grid is None else grid
        values = [] if grid is None and not tried else _check_grid(over, tried, is_regression=True)
        return cls(over, "exact", values, settings, ListForm(), is_regression=True)

    def settle(self, targets: NDArray[Any]) -> _Search:
        """Give tolerances of values to try by default, rounded parts of the spread of the targets."""
        if not self.is_regression:
            return self
        if targets.dtype.kind not in "fiub" or not np.isfinite(targets).all():
            raise InputError("Expected y as finite numbers, which a regression tree predicts, found other values.")
        if self.values:
            return self
        spread = float(np.std(targets.astype(np.float64)))
        return replace(self, values=sorted({float(f"{part * spread:.3g}") for part in SPREADS}))


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
    search = search.settle(sample.y)
    audits = _audit_folds(model, search, sample, cv, n_jobs, progress)
    curve = tuple(
        _summarize(value, [fold[place] for fold in audits], search) for place, value in enumerate(search.values)
    )
    allowed = [point for point in curve if point.is_allowed]
    least = min(curve, key=lambda point: (getattr(point, search.kind.measure), point.value))
    if not allowed:
        advice = " The method 'exact' without a budget changes no answer and brings no row into conflict."
        advice = " A smaller tolerance loses less." if search.kind.measure == "auc_loss" else advice
        warnings.warn(
            f"No {search.parameter} of the grid keeps the mean {MEASURES[search.kind.measure]} within "
            f"{search.ceiling:g} and the mean accuracy change at {search.min_accuracy_change:g} or above: "
            f"{least.value:g}, with the least, is picked.{advice}",
            stacklevel=3,
        )
    # Of equal deletion, the smaller value.
    picked = max(allowed, key=lambda point: (point.removed, -point.value)).value if allowed else least.value
    names = ("parameter", "method", "ceiling", "min_accuracy_change", "is_regression")
    asked = {name: getattr(search, name) for name in names}
    return Selection(value=picked, measure=search.kind.measure, curve=curve, **asked)


def _audit_folds(
    model: Any, search: _Search, sample: _Sample, cv: Any, n_jobs: int | None, progress: bool
) -> list[list[Audit]]:
    from joblib import Parallel, delayed

    folds = list(_make_folds(cv, sample.y, is_regression=search.is_regression))
    classes = set() if search.is_regression else set(np.unique(sample.y).tolist())
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
    audits = []
    for number, fold in enumerate(finished, 1):
        audits.append(fold)
        if progress and sys.stderr.isatty():
            end = "\n" if number == len(folds) else ""
            sys.stderr.write(f"\rSelecting {search.parameter}: fold {number} of {len(folds)}{end}")
            sys.stderr.flush()
    return audits


def _audit_fold(
    model: Any, search: _Search, train: _Sample, test: _Sample, accepts_missing: bool | None
) -> list[Audit]:
    from sklearn.base import clone

    # A pipeline hands weights to a step by its name.
    key = f"{model.steps[-1][0]}__sample_weight" if is_pipeline(model) else "sample_weight"
    weighted: dict[str, Any] = {} if train.weights is None else {key: train.weights}
    tree = clone(model).fit(train.X, train.y, **weighted)
    known: dict[str, Any] = {"method": search.method, "sample_weight": train.weights}
    known |= {"otherwise": search.otherwise} if search.is_regression else {"each_leaf": True}
    make = partial(simplify, tree, train.X, train.y, accepts_missing=accepts_missing, **known)

    def audit(rules: Rules) -> Audit:
        return rules.audit(test.X, test.y, sample_weight=test.weights)

    if search.is_regression or search.form is None:
        return [audit(make(**{**search.settings, search.parameter: value})) for value in search.values]
    rules = make(**search.settings)
    form = search.form._replace(otherwise=search.otherwise)
    if search.parameter != "budget":
        forms = [form._replace(**{search.parameter: value}) for value in search.values]
        return [audit(choose_lines(rules, one, budget=search.budget)) for one in forms]
    if search.method == "exact":  # no budget is exceeded before it is spent
        return [audit(some) for some in choose_lines_by_budget(rules, search.values, form)]
    return [audit(choose_lines(rules, form, budget=value)) for value in search.values]


def _make_folds(cv: Any, labels: NDArray[Any], *, is_regression: bool) -> Any:
    if hasattr(cv, "split") and not isinstance(cv, str):
        return cv.split(np.zeros((len(labels), 1)), labels)
    cv = check_whole("cv", cv, 2, also=", or an object with split")
    from sklearn.model_selection import KFold, StratifiedKFold

    if is_regression:
        if len(labels) < 2 * cv:
            raise InputError(f"Expected at least {2 * cv} rows for {cv} folds, found {len(labels)}. Pass a smaller cv.")
        return KFold(int(cv), shuffle=True, random_state=0).split(labels)
    classes, counts = np.unique(labels, return_counts=True)
    if counts.min() < cv:
        raise InputError(
            f"Expected at least {cv} rows of every class for {cv} folds, found {counts.min()} of class "
            f"{classes[counts.argmin()]!s}. Pass a smaller cv."
        )
    return StratifiedKFold(int(cv), shuffle=True, random_state=0).split(np.zeros((len(labels), 1)), labels)


def _check_grid(parameter: str, grid: Sequence[float], *, is_regression: bool = False) -> list[float]:
    if isinstance(grid, (str, bytes)) or not hasattr(grid, "__iter__"):
        raise ParameterError(f"Expected grid as a list of numbers from 0 to 1, found {grid!r}.")
    check = check_amount if is_regression and parameter == "tolerance" else check_share
    values: list[float] = [
        count_sections(value, 2).most if parameter == "sections" else check(f"every {parameter} of the grid", value)
        for value in grid
    ]
    if not values:
        raise ParameterError(f"The grid is empty: give at least one {parameter} to try.")
    if any(after <= before for before, after in pairwise(values)):
        raise ParameterError(f"Expected the grid in increasing order without repeats, found {values}.")
    return values


def _summarize(value: float, audits: list[Audit], search: _Search) -> SelectionPoint:
    found = {"removed": [audit.shortened for audit in audits]}
    if search.is_regression:
        lost = [float(100.0 * np.nan_to_num(audit.tree_r2 - audit.r2)) for audit in audits]
        found |= {"r2_loss": lost, "delta_accuracy": [-one for one in lost]}
        found |= {"difference": [audit.off for audit in audits]}
        found |= {name: [0.0] for name in ("conflict", "macro_dev", "auc_loss")}  # are about classes
    else:
        names = ("conflict", "delta_accuracy", "macro_dev")
        found |= {name: [getattr(audit, name) for audit in audits] for name in names}
        found |= {"difference": [100.0 - audit.agreement for audit in audits], "r2_loss": [0.0]}
        found |= {"auc_loss": [float(100.0 * np.nan_to_num(audit.tree_auc - audit.auc)) for audit in audits]}
    means = {name: float(np.mean(numbers)) for name, numbers in found.items()}
    spread = {f"{name}_sd": float(np.std(found[name])) for name in ("conflict", "difference", "delta_accuracy")}
    is_allowed = means[search.kind.measure] <= 100 * search.ceiling
    is_allowed &= means["delta_accuracy"] >= 100 * search.min_accuracy_change
    return SelectionPoint(value=value, is_allowed=is_allowed, **means, **spread)


# What a ceiling may be for, in words.
MEASURES = {"conflict": "conflict", "difference": "difference", "auc_loss": "AUC lost", "r2_loss": "R² lost"}


@dataclass(frozen=True)
class SelectionPoint:
    """What one value of the parameter does on the rows left out: means over the folds.

    Attributes
    ----------
    value : float
        The tolerance, budget, sections or max_conflict.
    removed : float
        Percentage of the tree's conditions, as they read, that are gone.
    conflict : float
        Percentage of rows covered by rules of different classes.
    difference : float
        Percentage of rows whose answer differs from that of the fold's tree.
    delta_accuracy : float
        Accuracy of the rules minus that of their tree, in percentage points; of values, 100 times R².
    macro_dev : float
        Mean absolute change of precision and recall over classes, in percentage points.
    auc_loss : float
        AUC of the tree minus that of the rules, in percentage points.
    r2_loss : float
        Of values, 100 times R² of the tree minus that of the rules. What is about classes is 0 there, and this of
        classes.
    conflict_sd, difference_sd, delta_accuracy_sd : float
        Standard deviations over the folds.
    is_allowed : bool
        Whether the measure of the ceiling and the accuracy change are within what was asked for.
    """

    value: float
    removed: float
    conflict: float
    difference: float
    delta_accuracy: float
    macro_dev: float
    auc_loss: float
    r2_loss: float
    conflict_sd: float
    difference_sd: float
    delta_accuracy_sd: float
    is_allowed: bool


@dataclass(frozen=True)
class Selection(Framed):
    """The picked value, and the curve that it was picked from.

    Attributes
    ----------
    parameter : {"budget", "tolerance", "sections", "max_conflict"}
        The argument of :func:`simplify` that it is for.
    value : float
        What to pass there.
    method : str
        The method tried.
    measure : {"difference", "conflict", "auc_loss", "r2_loss"}
        What the ceiling is for: answers that differ from the tree's, rows that rules of different classes cover, or
        AUC or R² that is lost.
    ceiling : float
        The mean share of rows left out that was asked for.
    min_accuracy_change : float
        What was asked for, as a share.
    curve : tuple of SelectionPoint
        One point for each value of the grid.
    is_regression : bool
        Whether the rules predict values.
    """

    parameter: str
    value: float
    method: str
    measure: str
    ceiling: float
    min_accuracy_change: float
    curve: tuple[SelectionPoint, ...] = field(repr=False)
    is_regression: bool = False

    def _list_columns(self) -> dict[str, list[float]]:
        """List the curve, a row for each value."""
        return {name: [getattr(point, name) for point in self.curve] for name in SelectionPoint.__dataclass_fields__}

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve: conditions removed against conflict or difference, the picked value marked.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            By default a new figure's.

        Returns
        -------
        matplotlib.axes.Axes
        """
        if ax is None:
            need_library("matplotlib", "lab", "Drawing the curve")
            from matplotlib.figure import Figure

            ax = Figure(figsize=(6, 4), layout="constrained").subplots()
        along = [getattr(point, self.measure) for point in self.curve]
        removed = [point.removed for point in self.curve]
        ax.plot(along, removed, color="tab:blue", marker="o")
        beside = {"xytext": (4, -10), "textcoords": "offset points"}
        for point, place in zip(self.curve, zip(along, removed, strict=True), strict=True):
            ax.annotate(f"{point.value:g}", place, **beside)
        picked = next(place for place, point in enumerate(self.curve) if point.value == self.value)
        label = f"picked: {self.parameter} {self.value:g}"
        ax.plot([along[picked]], [removed[picked]], "s", color="tab:orange", markersize=10, label=label)
        ceiling = 100 * self.ceiling
        ax.axvline(ceiling, color="gray", linestyle="--", label=f"ceiling {ceiling:g} %")
        words = "answers that differ from the tree's" if self.measure == "difference" else MEASURES[self.measure]
        ax.set(xlabel=f"{words} on rows left out, %", ylabel="conditions removed, %")
        ax.set_title(f"{self.method}, means over folds")
        ax.legend()
        return ax

    def _repr_html_(self) -> str:
        rows = [
            (
                f"{point.value:g}{' ← picked' if point.value == self.value else ''}",
                f"{point.removed:.1f} %",
                f"{getattr(point, self.measure):.2f} %",
                f"{point.delta_accuracy:+.2f} points",
                "yes" if point.is_allowed else "no",
            )
            for point in self.curve
        ]
        measure, of = MEASURES[self.measure], "accuracy" if not self.is_regression else "R²"
        titles = (self.parameter, "conditions removed", measure, f"change of {of}", "within what was asked")
        said = f"{self.parameter} = {self.value:g} for {self.method}, by cross-validation."
        return write_notebook_table(titles, rows, before=[said])

    def __str__(self) -> str:
        lines = [f"{self.parameter} = {self.value:g} for {self.method}, by cross-validation:"]
        title = f"{MEASURES[self.measure]} %"
        width = max(11, len(title))
        last = ("Δaccuracy", "MacroDev") if not self.is_regression else ("ΔR² · 100", "")
        head = f"{self.parameter:>10} {'removed %':>10} {title:>{width}} {last[0]:>10} {last[1]:>9}"
        lines.append(head.rstrip())
        for point in self.curve:
            deviation = f" {point.macro_dev:>9.2f}" if not self.is_regression else ""
            mark = (" ← picked" if point.value == self.value else "") + ("" if point.is_allowed else " (not allowed)")
            lines.append(
                f"{point.value:>10g} {point.removed:>10.2f} {getattr(point, self.measure):>{width}.2f} "
                f"{point.delta_accuracy:>+10.2f}{deviation}{mark}"
            )
        return "\n".join(lines)
