"""Beyond the paper: every method and knob on its data sets, and which of them nothing else beats.

A point is a method with one value of its knob, measured as the paper measures: means over splits, then equally over
data sets. It is on a front when no other point removes at least as many conditions for at most the same price, and does
strictly better in one of the two; prices are conflict, class-wise deviation, and accuracy lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import secateur
from secateur.methods.budgeted import BUDGETS as TRIED
from secateur.paper.protocol import DATASETS, GRID, TOLERANCES, Arm, Study, split_rows
from secateur.paper.report import Page
from secateur.paper.store import load_pyplot, write_figures

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from secateur.datasets import Dataset

__all__ = ["BEYOND", "FrontPoint", "beyond_page", "draw_fronts", "find_fronts", "measure_split", "summarize_beyond"]

BUDGETS = (0.0, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05)
TARGET = 0.02  # conflict on rows left out that the cross-validated budget may reach
BY_FOLDS = "by folds"
PAPER_TOLERANCES = "the paper's ε"
METRICS = ("removed", "rule_irc", "conflict", "macro_dev", "delta_accuracy")
FRONTS = {"conflict": "conflict", "macro_dev": "MacroDev", "delta_accuracy": "ΔAccuracy"}
PAPER_METHODS = ("sibling", "redundancy", "mismatch", "quinlan")

# Method -> the argument that is its knob, and the values to try.
KNOBS: dict[str, tuple[str | None, tuple[float | None, ...]]] = {
    **dict.fromkeys(("sibling", "redundancy", "subtree", "exact"), (None, (None,))),
    "mismatch": ("tolerance", GRID),
    "layered": ("tolerance", GRID),
    "budgeted": ("budget", BUDGETS),
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
    fronts: tuple[str, ...] = ()  # of "conflict", "macro_dev" and "delta_accuracy"


def measure_split(arm: Arm, data: Dataset, split: int) -> dict[str, Any]:
    """Fit one tree and measure every method and knob on it."""
    X_train, X_test, y_train, y_test = split_rows(data, split)
    model = arm.fit(data, split, X_train, y_train)
    rows = []
    for method, (knob, values) in KNOBS.items():
        for value in values:
            settings: dict[str, Any] = {} if knob is None else {knob: value}
            rules = secateur.simplify(model, X_train, y_train, method=method, **settings)
            rows.append(_measure(rules, X_test, y_test, "" if value is None else f"{value:g}"))
    if arm.name == "cart":  # folds fit the tree anew, which takes the local search minutes
        selection = secateur.select_budget(model, X_train, y_train, grid=TRIED, max_conflict=TARGET, progress=False)
        rules = secateur.simplify(model, X_train, y_train, method="budgeted", budget=selection.value)
        rows.append(_measure(rules, X_test, y_test, BY_FOLDS))
    return {"n_rules": len(rules), "rows": rows}


def _measure(rules: secateur.RuleSet, X: Any, y: Any, knob: str) -> dict[str, Any]:
    audit = rules.audit(X, y)
    return {"method": rules.method, "knob": knob, **{metric: getattr(audit, metric) for metric in METRICS}}


BEYOND = Study("beyond", measure_split, {"budgets": list(BUDGETS), "target": TARGET, "by_folds": list(TRIED)})


def summarize_beyond(splits: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make a row for each data set, method and knob: means over splits, and at the tolerances of the paper's tables."""
    table = []
    for dataset in DATASETS:
        mine = [row for split in splits if split["dataset"] == dataset for row in split["rows"]]
        for method, knob in dict.fromkeys((row["method"], row["knob"]) for row in mine):
            rows = [row for row in mine if (row["method"], row["knob"]) == (method, knob)]
            means = {metric: fmean(row[metric] for row in rows) for metric in METRICS}
            table.append({"dataset": dataset, "method": method, "knob": knob, "splits": len(rows), **means})
            if KNOBS[method][0] == "tolerance" and knob == f"{TOLERANCES[dataset]:g}":
                table.append({**table[-1], "knob": PAPER_TOLERANCES})
    return table


def find_fronts(table: Sequence[dict[str, Any]]) -> list[FrontPoint]:
    """Average over the data sets, and mark the points that nothing beats."""
    points = []
    for method, knob in sorted(
        {(row["method"], row["knob"]) for row in table}, key=lambda pair: (list(KNOBS).index(pair[0]), _place(pair[1]))
    ):
        rows = [row for row in table if (row["method"], row["knob"]) == (method, knob)]
        means: dict[str, Any] = {metric: fmean(row[metric] for row in rows) for metric in METRICS}
        points.append(FrontPoint(method, knob, **means))
    on_front = {name: _find_front([(point.removed, _price(point, name)) for point in points]) for name in FRONTS}
    return [
        replace(point, fronts=tuple(name for name in FRONTS if on_front[name][place]))
        for place, point in enumerate(points)
    ]


def _place(knob: str) -> tuple[int, float]:
    """Sort values first, then what has a name."""
    try:
        return (0, float(knob or 0))
    except ValueError:
        return (1, 0.0)


def _price(point: FrontPoint, name: str) -> float:
    return -point.delta_accuracy if name == "delta_accuracy" else float(getattr(point, name))


def _find_front(points: list[tuple[float, float]]) -> list[bool]:
    """Mark the (removed, price) that no other removes as much as for as little."""
    return [
        not any(more >= removed and less <= price and (more, less) != (removed, price) for more, less in points)
        for removed, price in points
    ]


def beyond_page(arm: Arm, points: Sequence[FrontPoint]) -> Page:
    """Show the points as a table; what is on a front is green."""
    rows = tuple(
        (
            f"{point.method}{' (paper)' if point.method in PAPER_METHODS else ''}",
            point.knob,
            *(f"{value:.2f}" for value in (point.removed, point.rule_irc, point.conflict, point.macro_dev)),
            f"{point.delta_accuracy:+.2f}",
            ", ".join(FRONTS[front] for front in point.fronts),
        )
        for point in points
    )
    return Page(
        f"Every method and knob: means over the data sets, {arm.learner}",
        f"{arm.title}; the last column names what the method cannot be beaten on at its deletion",
        ("method", "knob", "removed %", "rules shortened %", "conflict %", "MacroDev", "ΔAccuracy", "on the front of"),
        rows,
        tuple((("green" if point.fronts else None),) * 8 for point in points),
    )


def draw_fronts(arm: Arm, points: Sequence[FrontPoint], directory: Path) -> list[Path]:
    """Draw conditions removed against the three prices, as SVG and PNG."""
    figure, panels = load_pyplot().subplots(1, 3, figsize=(14, 4.5), layout="constrained", sharey=True)
    axes = {"conflict": "conflict, %", "macro_dev": "MacroDev, points", "delta_accuracy": "change of accuracy, points"}
    for panel, (metric, title) in zip(panels, axes.items(), strict=True):
        for method, marker in zip(KNOBS, "sPXDo^*v", strict=True):
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
    return write_figures(directory, f"beyond_{arm.name}", figure)
