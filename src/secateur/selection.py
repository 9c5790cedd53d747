"""What a search for the value of a setting found: the value, and the curve that it was picked from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from secateur.errors import need_library
from secateur.export.notebook_tables import write_notebook_table
from secateur.rules.rule import Framed

__all__ = ["MEASURES", "Selection", "SelectionPoint"]

# What a ceiling may be for, in words.
MEASURES = {"conflict": "conflict", "difference": "difference", "auc_loss": "AUC lost"}


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
        Accuracy of the rules minus that of their tree, in percentage points.
    macro_dev : float
        Mean absolute change of precision and recall over classes, in percentage points.
    auc_loss : float
        AUC of the tree minus that of the rules, in percentage points.
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
    measure : {"difference", "conflict", "auc_loss"}
        What the ceiling is for: answers that differ from the tree's, rows that rules of different classes cover, or
        AUC that is lost.
    ceiling : float
        The mean share of rows left out that was asked for.
    min_accuracy_change : float
        What was asked for, as a share.
    curve : tuple of SelectionPoint
        One point for each value of the grid.
    """

    parameter: str
    value: float
    method: str
    measure: str
    ceiling: float
    min_accuracy_change: float
    curve: tuple[SelectionPoint, ...] = field(repr=False)

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
        measure = MEASURES[self.measure]
        titles = (self.parameter, "conditions removed", measure, "change of accuracy", "within what was asked")
        said = f"{self.parameter} = {self.value:g} for {self.method}, by cross-validation."
        return write_notebook_table(titles, rows, before=[said])

    def __str__(self) -> str:
        lines = [f"{self.parameter} = {self.value:g} for {self.method}, by cross-validation:"]
        title = f"{MEASURES[self.measure]} %"
        width = max(11, len(title))
        lines.append(f"{self.parameter:>10} {'removed %':>10} {title:>{width}} {'Δaccuracy':>10} {'MacroDev':>9}")
        for point in self.curve:
            mark = (" ← picked" if point.value == self.value else "") + ("" if point.is_allowed else " (not allowed)")
            lines.append(
                f"{point.value:>10g} {point.removed:>10.2f} {getattr(point, self.measure):>{width}.2f} "
                f"{point.delta_accuracy:>+10.2f} {point.macro_dev:>9.2f}{mark}"
            )
        return "\n".join(lines)
