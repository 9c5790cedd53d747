"""Beyond the paper: every method and knob on its data sets, and which of them nothing else beats.

A point is a method with one value of its knob, measured as the paper measures: means over splits, then equally over
data sets; the largest move of a rule's reliability is the largest of all. It is on a front when no other point removes
at least as many conditions for at most the same price, and does strictly better in one of the two; prices are conflict,
class-wise deviation, accuracy lost, and what the rules' probabilities lose in Brier score.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import secateur
from secateur.datasets import Dataset
from secateur.lab.figures import load_pyplot, write_figures
from secateur.lab.pages import Page
from secateur.lab.protocol import DATASETS, GRID, TOLERANCES, Arm, Study, split_rows

BUDGETS = (0.0, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05)
BY_FOLDS = "by folds"
PAPER_TOLERANCES = "the paper's ε"
METRICS = (
    *("removed", "rule_irc", "conflict", "macro_dev", "delta_accuracy"),
    *("max_abs_d", "mean_abs_d", "share_beyond_tolerance"),
    *("delta_brier", "delta_log_loss", "delta_auc", "mean_abs_delta_p"),
)
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


def measure_split(
    arm: Arm, data: Dataset, split: int, *, picks: Mapping[tuple[str, int], Mapping[str, float]]
) -> dict[str, Any]:
    """Fit one tree and measure every method and knob on it, and what the folds of the training rows picked."""
    X_train, X_test, y_train, y_test = split_rows(data, split)
    model = arm.fit(data, split, X_train, y_train)
    rows = []
    for method, (knob, values) in KNOBS.items():
        picked = picks.get((data.name, split), {}).get(method)
        tried = [(value, "" if value is None else f"{value:g}") for value in values]
        for value, shown in [*tried, *([] if picked is None else [(picked, BY_FOLDS)])]:
            settings: dict[str, Any] = {"method": method} if knob is None else {"method": method, knob: value}
            if knob == "max_conflict":
                settings["tolerance"] = GUARD
            rules = secateur.simplify(model, X_train, y_train, each_leaf=True, **settings)
            rows.append(_measure(rules, X_test, y_test, shown))
    return {"n_rules": len(rules), "rows": rows}


def _measure(rules: secateur.Rules, X: Any, y: Any, knob: str) -> dict[str, Any]:
    audit = rules.audit(X, y)
    measured = {metric: getattr(audit, metric) for metric in METRICS if hasattr(audit, metric)}
    for score in ("brier", "log_loss", "auc"):
        measured[f"delta_{score}"] = getattr(audit, score) - getattr(audit, f"tree_{score}")
    return {"method": rules.method, "knob": knob, **{metric: measured[metric] for metric in METRICS}}


def make_study(picked: Sequence[dict[str, Any]]) -> Study:
    """Make the study from what the folds of each split picked (:data:`~secateur.lab.by_folds.BY_FOLDS`)."""
    picks = {
        (split["dataset"], split["split"]): {row["method"]: row["picked"] for row in split["rows"]} for split in picked
    }
    settings = {"budgets": list(BUDGETS), "guard": GUARD, "metrics": list(METRICS), "by_folds": any(picks.values())}
    return Study("beyond", partial(measure_split, picks=picks), settings)


def summarize_beyond(splits: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make a row for each data set, method and knob: means over splits, and at the tolerances of the paper's tables."""
    table = []
    for dataset in DATASETS:
        mine = [row for split in splits if split["dataset"] == dataset for row in split["rows"]]
        for method, knob in dict.fromkeys((row["method"], row["knob"]) for row in mine):
            rows = [row for row in mine if (row["method"], row["knob"]) == (method, knob)]
            table.append({"dataset": dataset, "method": method, "knob": knob, "splits": len(rows), **_average(rows)})
            if KNOBS[method][0] == "tolerance" and knob == f"{TOLERANCES[dataset]:g}":
                table.append({**table[-1], "knob": PAPER_TOLERANCES})
    return table


def _average(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        metric: (max if metric == "max_abs_d" else fmean)([float(row[metric]) for row in rows]) for metric in METRICS
    }


def find_fronts(table: Sequence[dict[str, Any]]) -> list[FrontPoint]:
    """Average over the data sets, and mark the points that nothing beats."""
    points = []
    for method, knob in sorted(
        {(row["method"], row["knob"]) for row in table}, key=lambda pair: (list(KNOBS).index(pair[0]), _place(pair[1]))
    ):
        rows = [row for row in table if (row["method"], row["knob"]) == (method, knob)]
        points.append(FrontPoint(method, knob, **_average(rows)))
    prices = {**{name: (name,) for name in FRONTS}, JOINTLY: JOINT_PRICES}
    on_front = {
        front: _find_front([(-point.removed, *(_price(point, name) for name in names)) for point in points])
        for front, names in prices.items()
    }
    return [
        replace(point, fronts=tuple(name for name in prices if on_front[name][place]))
        for place, point in enumerate(points)
    ]


def _place(knob: str) -> tuple[int, float, str]:
    """Sort values first, then what has a name."""
    try:
        return (0, float(knob or 0), "")
    except ValueError:
        return (1, 0.0, knob)


def _price(point: FrontPoint, name: str) -> float:
    return -point.delta_accuracy if name == "delta_accuracy" else float(getattr(point, name))


def _find_front(points: list[tuple[float, ...]]) -> list[bool]:
    """Mark the points (less is better in every part) that no other one equals or beats in all parts."""
    return [
        not any(other != point and all(o <= p for o, p in zip(other, point, strict=True)) for other in points)
        for point in points
    ]


def beyond_page(arm: Arm, points: Sequence[FrontPoint], n_splits: int) -> Page:
    """Show the points as a table; what is on a front is green."""
    rows = tuple(
        (
            *_name(point),
            *(f"{value:.2f}" for value in (point.removed, point.rule_irc, point.conflict, point.macro_dev)),
            f"{point.delta_accuracy:+.2f}",
            f"{point.max_abs_d:.2f}",
            f"{point.share_beyond_tolerance:.1f}",
            f"{_no_minus_zero(point.delta_brier, 4):+.4f}",
            f"{_no_minus_zero(point.delta_auc, 3):+.3f}",
            f"{point.mean_abs_delta_p:.3f}",
            ", ".join(FRONTS.get(front, front) for front in point.fronts),
        )
        for point in points
    )
    header = (
        *("method", "knob", "removed %", "rules shortened %", "conflict %", "MacroDev", "ΔAccuracy", "largest |D|"),
        *("rules beyond ε %", "ΔBrier", "ΔAUC", "|Δp|", "on the front of"),
    )
    return Page(
        f"Every method and knob: means over the data sets, {arm.learner}",
        f"{arm.title}, {n_splits} splits; the last column names the prices at which nothing removes as much for less",
        header,
        rows,
        tuple((("green" if point.fronts else None),) * len(header) for point in points),
    )


def picks_page(arm: Arm, picked: Sequence[dict[str, Any]]) -> Page:
    """Show what folds of the training rows picked on each data set: the values, most frequent first."""
    rows = []
    for dataset in DATASETS:
        mine = [row for split in picked if split["dataset"] == dataset for row in split["rows"]]
        cells = []
        for method in dict.fromkeys(row["method"] for row in mine):
            values = [row["picked"] for row in mine if row["method"] == method]
            none = sum(not row["allowed"] for row in mine if row["method"] == method)
            listed = sorted(set(values), key=lambda value: (-values.count(value), value))
            shown = ", ".join(f"{value:g} ({values.count(value)})" for value in listed[:3])
            more = ", …" if len(listed) > 3 else ""
            cells.append(shown + more + (f"; none allowed {none}" if none else ""))
        if cells:
            rows.append((dataset, f"{TOLERANCES[dataset]:g}", *cells))
    return Page(
        f"What folds pick, {arm.learner}",
        f"{arm.title}; in brackets on how many splits; where no value is allowed, the least is taken",
        ("data set", "the paper's ε", "ε of mismatch", "ε of faithful", "δ of budgeted"),
        tuple(rows),
    )


def _name(point: FrontPoint) -> tuple[str, str]:
    return f"{point.method}{' (paper)' if point.method in PAPER_METHODS else ''}", point.knob


def _no_minus_zero(value: float, digits: int) -> float:
    return round(value, digits) + 0.0


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
