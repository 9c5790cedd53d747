"""The paper's tables with our numbers beside its own, for a terminal and as Markdown; figures that matplotlib draws."""

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from secateur.lab import summary
from secateur.lab.protocol import DATASETS, Arm
from secateur.rows.whole_files import write_whole

TABLES = {
    "Rule simplification": {"RuleIRC %": "rule_irc_pct", "IRC/rule %": "irc_per_rule_pct"},
    "Prediction preservation": {"ΔAccuracy pp": "delta_accuracy_pp", "Conflict %": "conflict_pct"},
    "Class-wise deviations": {
        "|ΔP0|": "abs_delta_p0_pp",
        "|ΔR0|": "abs_delta_r0_pp",
        "|ΔP1|": "abs_delta_p1_pp",
        "|ΔR1|": "abs_delta_r1_pp",
        "MacroDev": "macro_dev_pp",
    },
}
NEAR, FAR = 2.0, 3.0  # standard errors


@dataclass(frozen=True)
class Page:
    """A table as text cells; ``marks`` colours a cell green, yellow or red, or not at all (None)."""

    title: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marks: tuple[tuple[str | None, ...], ...] = ()

    @property
    def marked_rows(self) -> list[list[tuple[str, str | None]]]:
        """The cells of each row, each with its colour."""
        marks = self.marks or ((None,) * len(self.header),) * len(self.rows)
        return [list(zip(*pair, strict=True)) for pair in zip(self.rows, marks, strict=True)]


def show_numbers(found: Any, columns: Mapping[str, tuple[str, str]]) -> tuple[str, ...]:
    """Write the numbers of a record, a mapping or an object, by columns of names and formats; None is a dash."""
    record = found if isinstance(found, dict) else vars(found)
    values = [(record[name], form) for name, form in columns.values()]
    return tuple("–" if value is None else f"{value:{form}}" for value, form in values)


def make_pages(arm: Arm, table: Sequence[dict[str, Any]]) -> list[Page]:
    """Make pages of each of the paper's tables: means over data sets, then every data set, ours beside the paper's."""
    complete = len({row["dataset"] for row in table}) == len(DATASETS)
    pages = [agreement_page(arm, table)]
    for title, columns in TABLES.items():
        note = f"{arm.title}; beside the paper's {arm.beside} columns"
        if complete:
            pages.append(_mean_page(f"{title}: mean ± SD over the eight data sets", note, arm, table, columns))
        found = summary.compare(table, arm.beside, list(columns.values()))
        cells = {(cell.dataset, cell.method, cell.column): cell for cell in found}
        rows, marks = [], []
        for row in table:
            mine = [cells[row["dataset"], row["method"], column] for column in columns.values()]
            read = [f"{cell.ours:.2f} | {cell.theirs:.2f} | {_sign(cell.distance)}" for cell in mine]
            rows.append((row["dataset"], row["method"], *read))
            marks.append((None, None, *(_mark(cell.distance) for cell in mine)))
        header = ("data set", "method", *(f"{name}: ours | paper | diff/SE" for name in columns))
        pages.append(Page(f"{title} by data set", note, header, tuple(rows), tuple(marks)))
    pages.append(_prefix_page(arm, table))
    return pages


def agreement_page(arm: Arm, table: Sequence[dict[str, Any]]) -> Page:
    """Count the numbers of the paper's tables by data set that ours are near."""
    counted = [cell for cell in summary.compare(table, arm.beside) if not math.isnan(cell.distance)]
    spread = {(row["dataset"], row["method"], c): row[f"{c}_sd"] or 0.0 for row in table for c in summary.PAPER_COLUMNS}
    varying = [cell for cell in counted if spread[cell.dataset, cell.method, cell.column] > summary.NO_SPREAD]
    near = [sum(abs(cell.distance) <= FAR for cell in cells) for cells in (counted, varying)]
    return Page(
        f"Agreement with the paper's {arm.beside} columns",
        f"{arm.title}; every number of the tables by data set; those that do not vary over splits must agree to the "
        f"paper's last digit; fewer than {summary.LEAST_SPLITS} splits decide nothing",
        ("numbers", f"within {FAR:g} standard errors", "of them vary over splits", f"within {FAR:g} standard errors"),
        ((str(len(counted)), str(near[0]), str(len(varying)), str(near[1])),),
    )


def tolerance_page(choices: Sequence[summary.Choice], learners: str) -> Page:
    """Show the tolerance that the paper's grid picks beside the one assumed for the tables."""
    rows = tuple(
        (
            choice.dataset,
            "none" if choice.picked is None else f"{choice.picked:g}",
            f"{choice.assumed:g}",
            " ".join(f"{tolerance:g}: {value:.1f}" for tolerance, value in choice.removed.items()),
        )
        for choice in choices
    )
    return Page(
        "ε by the paper's descriptive grid",
        f"most deletion with mean accuracy change >= 0 and mean conflict <= 5 %, jointly for {learners}",
        ("data set", "picked here", "used in the tables", "mean % of conditions removed at each ε"),
        rows,
    )


def to_terminal(page: Page) -> Table:
    """Show a page as a rich table."""
    table = Table(title=page.title, caption=page.note, box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.title_justify = table.caption_justify = "left"
    for name in page.header:
        table.add_column(name)
    for row in page.marked_rows:
        table.add_row(*(Text(cell, style=mark or "") for cell, mark in row))
    return table


def to_markdown(page: Page, level: int = 3) -> str:
    """Write a page as Markdown below a heading of that level; a cell more than three standard errors away is bold."""
    lines = [f"{'#' * level} {page.title}", "", f"{page.note[0].upper()}{page.note[1:]}.", ""]
    lines += [_markdown_row(page.header), "|" + "---|" * len(page.header)]
    for row in page.marked_rows:
        lines.append(_markdown_row([f"**{cell}**" if mark == "red" else cell for cell, mark in row]))
    return "\n".join([*lines, ""])


def _markdown_row(cells: Sequence[str]) -> str:
    escaped = [cell.replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(escaped)} |"


def _mean_page(title: str, note: str, arm: Arm, table: Sequence[dict[str, Any]], columns: dict[str, str]) -> Page:
    paper = {row["method"]: row for row in summary.expected_aggregate() if row["learner"] == arm.beside}
    rows, marks = [], []
    for row in summary.aggregate(table):
        theirs, method = paper[row["method"]], row["method"]
        away = {c: summary.mean_distance(table, method, c, theirs[c]) for c in columns.values()}
        cells = [f"{_mean(row, c)} | {_mean(theirs, c)} | {_sign(away[c])}" for c in columns.values()]
        rows.append((method, *cells))
        marks.append((None, *(_mark(away[c]) for c in columns.values())))
    header = ("method", *(f"{name}: ours | paper | diff/SE" for name in columns))
    return Page(title, note, header, tuple(rows), tuple(marks))


def _mean(row: dict[str, Any], column: str) -> str:
    return f"{row[column]:.2f} ± {row[f'{column}_sd']:.2f}"


def _prefix_page(arm: Arm, table: Sequence[dict[str, Any]]) -> Page:
    """Show ancestor-rule assimilation, which the paper describes without rates."""
    rows = tuple(
        (row["method"], f"{row['assimilated_pct']:.2f}", f"{row['removed_pct']:.2f}")
        for row in summary.aggregate(table)
    )
    return Page(
        "Strict-prefix (assimilation) rates and conditions removed, means over data sets",
        arm.title,
        ("method", "assimilated rules %", "conditions removed %"),
        rows,
    )


def _sign(distance: float) -> str:
    return "undecided" if math.isnan(distance) else f"{distance:+.1f}"


def _mark(distance: float) -> str | None:
    if math.isnan(distance):
        return None
    away = abs(distance)
    return "green" if away <= NEAR else "yellow" if away <= FAR else "red"


def load_pyplot() -> Any:
    """Load matplotlib for drawing to files; it is slow, and not always installed."""
    import matplotlib as mpl

    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "secateur"  # the same numbers give the same bytes
    from matplotlib import pyplot

    return pyplot


def write_figures(directory: Path, name: str, figure: Any, kinds: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Write a figure as SVG and PNG, or the kinds that are named, and close it."""
    paths = [write_figure(directory / f"{name}.{kind}", figure) for kind in kinds]
    load_pyplot().close(figure)
    return paths


def write_figure(path: Path, figure: Any) -> Path:
    """Write a matplotlib figure whole or not at all, in the format that the path's ending names."""
    buffer = io.BytesIO()
    named = {"metadata": {"Date": None}} if path.suffix == ".svg" else {}
    figure.savefig(buffer, format=path.suffix[1:], dpi=150, **named)
    write_whole(path, buffer.getvalue())
    return path
