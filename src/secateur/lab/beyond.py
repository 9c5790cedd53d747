"""Beyond the paper: every method and knob on its data sets, and which of them nothing else beats.

A point is a method with one value of its knob, measured as the paper measures: means over splits, then equally over
data sets; the largest move of a rule's reliability is the largest of all. It is on a front when no other point removes
at least as many conditions for at most the same price, and does strictly better in one of the two; prices are conflict,
class-wise deviation, accuracy lost, and what the rules' probabilities lose in Brier score.

The paper picks ε by what happens on the test rows. A user can pick each knob by folds of the training rows, as here:
a fold's tree is fitted once and serves all methods, with fewer restarts of the local search than the tree of the split.
"""

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import secateur
from secateur.datasets import Dataset
from secateur.lab.local_search import LocalSearchTreeClassifier
from secateur.lab.pages import Page, load_pyplot, show_numbers, write_figures
from secateur.lab.protocol import GRID, TOLERANCES, Arm, Study, split_rows
from secateur.lab.summary import list_rows
from secateur.methods.budgeted import CONFLICTS

BUDGETS = (0.0, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05)
BY_FOLDS = "by folds"
PAPER_TOLERANCES = "the paper's ε"
# Title of a column -> metric, and how it is shown.
COLUMNS = {
    **{"removed %": ("removed", ".2f"), "rules shortened %": ("rule_irc", ".2f"), "conflict %": ("conflict", ".2f")},
    **{"MacroDev": ("macro_dev", ".2f"), "ΔAccuracy": ("delta_accuracy", "+.2f"), "largest |D|": ("max_abs_d", ".2f")},
    **{"rules beyond ε %": ("share_beyond_tolerance", ".1f"), "ΔBrier": ("delta_brier", "+z.4f")},
    **{"ΔAUC": ("delta_auc", "+z.3f"), "|Δp|": ("mean_abs_delta_p", ".3f")},
}
FRONTS = {
    "conflict": "conflict",
    "macro_dev": "MacroDev",
    "delta_brier": "Brier",
    "mean_abs_delta_p": "Δp",
    "delta_accuracy": "ΔAccuracy",
}
JOINTLY = "jointly"  # the front of conflict, MacroDev and Brier score at once
JOINT_PRICES = ("conflict", "macro_dev", "delta_brier")
PAPER_METHODS = ("sibling", "redundancy", "mismatch", "quinlan")

GUARD = 0.05  # how far below its leaf's reliability `budgeted` may leave a rule
# Method -> the argument that is its knob, and the values to try.
KNOBS: dict[str, tuple[str | None, tuple[float | None, ...]]] = {
    **dict.fromkeys(("sibling", "redundancy", "exact"), (None, (None,))),
    "mismatch": ("tolerance", GRID),
    "faithful": ("tolerance", GRID),
    "budgeted": ("max_conflict", BUDGETS),
    "quinlan": (None, (None,)),
}


@dataclass(frozen=True)
class FrontPoint:
    """A method at one setting: means of an :class:`~secateur.Audit` over data sets, and the fronts that it is on."""

    method: str
    knob: str
    removed: float
    rule_irc: float
    conflict: float
    macro_dev: float
    delta_accuracy: float
    max_abs_d: float  # the largest of all rules
    mean_abs_d: float
    share_beyond_tolerance: float  # percentage of rules beyond ε of their leaf; 0.05 where there is no ε
    delta_brier: float  # the rules' minus the tree's
    delta_log_loss: float
    delta_auc: float
    mean_abs_delta_p: float
    fronts: tuple[str, ...] = ()  # of FRONTS, and JOINTLY


METRICS = tuple(one.name for one in fields(FrontPoint) if one.type is float)
MEANS = {metric: "max" if metric == "max_abs_d" else "mean" for metric in METRICS}


def measure_split(arm: Arm, data: Dataset, split: int) -> dict[str, Any]:
    """Fit one tree and measure every method and knob on it, and what the folds of the training rows picked."""
    X_train, X_test, y_train, y_test = split_rows(data, split)
    model = arm.fit(data, split, X_train, y_train)
    picks = pick_knobs(arm, data, split)
    rows = []
    for method, (knob, values) in KNOBS.items():
        picked, allowed = picks.get(method, (None, None))
        found = {}
        for value in dict.fromkeys([*values, *([] if picked is None else [picked])]):
            settings: dict[str, Any] = {"method": method} if knob is None else {"method": method, knob: value}
            if knob == "max_conflict":
                settings["tolerance"] = GUARD
            rules = secateur.simplify(model, X_train, y_train, each_leaf=True, **settings)
            found[value] = _measure(rules, X_test, y_test)
        named = {"method": method, "picked": None, "allowed": None}
        rows += [{**named, "knob": "" if value is None else f"{value:g}", **found[value]} for value in values]
        if picked is not None:
            rows.append({**named, "knob": BY_FOLDS, "picked": picked, "allowed": allowed, **found[picked]})
    return {"n_rules": len(rules), "rows": rows}


def _measure(rules: secateur.Rules, X: Any, y: Any) -> dict[str, float]:
    audit = rules.audit(X, y)
    measured = {metric: getattr(audit, metric) for metric in METRICS if hasattr(audit, metric)}
    for score in ("brier", "log_loss", "auc"):
        measured[f"delta_{score}"] = getattr(audit, score) - getattr(audit, f"tree_{score}")
    return {metric: measured[metric] for metric in METRICS}


BEYOND = Study("beyond", measure_split)


def summarize_beyond(splits: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make a row for each data set, method and knob: means over splits, and at the tolerances of the paper's tables."""
    by_setting = list_rows(splits).groupby(["dataset", "method", "knob"], sort=False)
    table = by_setting.agg(splits=("removed", "size"), **{name: (name, how) for name, how in MEANS.items()})
    rows = table.reset_index().to_dict("records")
    papers = [
        {**row, "knob": PAPER_TOLERANCES}
        for row in rows
        if KNOBS[row["method"]][0] == "tolerance" and row["knob"] == f"{TOLERANCES[row['dataset']]:g}"
    ]
    return [*rows, *papers]


def find_fronts(table: Sequence[dict[str, Any]]) -> list[FrontPoint]:
    """Average over the data sets, and mark the points that nothing beats."""
    means = pd.DataFrame(table).groupby(["method", "knob"]).agg(MEANS)
    means = means.loc[sorted(means.index, key=lambda named: (list(KNOBS).index(named[0]), _place(named[1])))]
    costs = means.assign(removed=-means["removed"], delta_accuracy=-means["delta_accuracy"])
    prices = {**{name: [name] for name in FRONTS}, JOINTLY: list(JOINT_PRICES)}
    on_front = {front: _find_front(costs[["removed", *names]].to_numpy()) for front, names in prices.items()}
    return [
        FrontPoint(method, knob, **row, fronts=tuple(name for name in prices if on_front[name][place]))
        for place, ((method, knob), row) in enumerate(means.to_dict("index").items())
    ]


def _place(knob: str) -> tuple[int, float, str]:
    """Sort values first, then what has a name."""
    try:
        return (0, float(knob or 0), "")
    except ValueError:
        return (1, 0.0, knob)


def _find_front(costs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the points (less is better in every part) that no other one equals or beats in all parts."""
    others, points = costs[:, None], costs[None]
    beaten: NDArray[np.bool_] = ((others <= points).all(axis=2) & (others != points).any(axis=2)).any(axis=0)
    return ~beaten


def beyond_page(arm: Arm, points: Sequence[FrontPoint], n_splits: int) -> Page:
    """Show the points as a table; what is on a front is green."""
    header = ("method", "setting", *COLUMNS, "on the front of")
    rows = tuple(
        (*_name(point), *show_numbers(point, COLUMNS), ", ".join(FRONTS.get(front, front) for front in point.fronts))
        for point in points
    )
    return Page(
        f"Every method and setting: means over the data sets, {arm.learner}",
        f"{arm.title}, {n_splits} splits; the last column names the prices at which nothing removes as much for less",
        header,
        rows,
        tuple((("green" if point.fronts else None),) * len(header) for point in points),
    )


def picks_page(arm: Arm, splits: Sequence[dict[str, Any]]) -> Page:
    """Show what folds of the training rows picked on each data set: the values, most frequent first."""
    rows = []
    picked = list_rows(splits)
    for dataset, mine in picked[picked["knob"] == BY_FOLDS].groupby("dataset", sort=False):
        cells = []
        for _, found in mine.groupby("method", sort=False):
            values = found["picked"].value_counts().sort_index().sort_values(ascending=False, kind="stable")
            shown = ", ".join(f"{value:g} ({number})" for value, number in values.head(3).items())
            none = sum(not allowed for allowed in found["allowed"])
            cells.append(shown + (", …" if len(values) > 3 else "") + (f"; none allowed {none}" if none else ""))
        rows.append((dataset, f"{TOLERANCES[dataset]:g}", *cells))
    return Page(
        f"What folds pick, {arm.learner}",
        f"{arm.title}; in brackets on how many splits; where no value is allowed, the least is taken",
        ("data set", "the paper's ε", "ε of mismatch", "ε of faithful", "δ of budgeted"),
        tuple(rows),
    )


def _name(point: FrontPoint) -> tuple[str, str]:
    return f"{point.method}{' (paper)' if point.method in PAPER_METHODS else ''}", point.knob


def draw_fronts(
    arm: Arm, points: Sequence[FrontPoint], directory: Path, kinds: Sequence[str] = ("svg", "png")
) -> list[Path]:
    """Draw conditions removed against the prices, as SVG and PNG."""
    figure, panels = load_pyplot().subplots(1, 4, figsize=(17, 4.5), layout="constrained", sharey=True)
    axes = {
        "conflict": "conflict, %",
        "macro_dev": "MacroDev, points",
        "delta_brier": "change of Brier score",
        "delta_accuracy": "change of accuracy, points",
    }
    for panel, (metric, title) in zip(panels, axes.items(), strict=True):
        for method, marker in zip(KNOBS, "sPDoh*v", strict=True):
            mine = [point for point in points if point.method == method and _place(point.knob)[0] == 0]
            is_papers = method in PAPER_METHODS
            panel.plot(
                *([getattr(point, metric) for point in mine], [point.removed for point in mine]),
                marker=marker,
                linestyle="--" if is_papers else "-",
                color="gray" if is_papers else None,
                label=f"{method} (paper)" if is_papers else method,
            )
        # quinlan promises nothing and is far off; showing it would squeeze the others into a corner.
        shown = [getattr(point, metric) for point in points if point.method != "quinlan"]
        margin = 0.05 * (max(shown) - min(shown))
        panel.set(xlabel=title, xlim=(min(shown) - margin, max(shown) + margin))
    panels[0].set(ylabel="conditions removed, %")
    handles, labels = panels[0].get_legend_handles_labels()
    listed = [(handle, label) for handle, label in zip(handles, labels, strict=True) if "quinlan" not in label]
    figure.legend(*zip(*listed, strict=True), loc="outside lower center", ncols=len(listed))
    figure.suptitle(f"{arm.title} (quinlan is out of view)")
    return write_figures(directory, f"beyond_{arm.name}", figure, kinds)


TOLERANCE_CONFLICT = 0.05  # on rows left out, for ε: the paper's ceiling
BUDGET_CONFLICT = 0.02  # on rows left out, for δ
FEWER_RESTARTS = 5  # a fold's tree has this many times fewer restarts of the local search than the tree of the split

_fitted: dict[str, dict[str, Any]] = {}  # what the trees of this split's folds have learnt, by what they were given


class RememberedTree(LocalSearchTreeClassifier):
    """The stand-in's local search; it fits the same rows with the same settings once in a split."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the tree, or take what an equal one learnt from the same rows."""
        settings = repr(sorted(self.get_params().items())).encode()
        key = hashlib.sha256(settings + X.tobytes() + y.tobytes()).hexdigest()
        if key not in _fitted:
            super().fit(X, y, sample_weight)
            _fitted[key] = {name: value for name, value in vars(self).items() if name.endswith("_")}
        self.__dict__.update(_fitted[key])
        return self


def pick_knobs(arm: Arm, data: Dataset, split: int) -> dict[str, tuple[float, bool]]:
    """Pick ε and δ by folds, and tell whether any value was allowed; nothing for saved trees, which have no folds."""
    X, _, y, _ = split_rows(data, split)
    model = arm.unfitted(data, split)
    if model is None:
        return {}
    if isinstance(model, LocalSearchTreeClassifier):
        model = RememberedTree(**{**model.get_params(), "n_restarts": max(1, model.n_restarts // FEWER_RESTARTS)})
    _fitted.clear()
    limits: dict[str, dict[str, Any]] = {
        method: {"over": "tolerance", "method": method, "grid": GRID, "ceiling": TOLERANCE_CONFLICT}
        for method in ("mismatch", "faithful")
    }
    limits["budgeted"] = {"over": "max_conflict", "grid": CONFLICTS, "ceiling": BUDGET_CONFLICT}
    picked = {}
    for method, asked in limits.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that no value is allowed is stored
            selection = secateur.select(model, X, y, progress=False, **asked)
        picked[method] = selection.value, any(point.is_allowed for point in selection.curve)
    _fitted.clear()
    return picked
