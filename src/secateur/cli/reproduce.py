"""``secateur reproduce``: the paper's experiments beside its numbers."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.table import Table

from secateur.cli.console import out
from secateur.paper.deterministic import expected_rows, reproduce_deterministic

__all__ = ["command"]


class Experiment(StrEnum):
    """The experiments that can be run."""

    deterministic = "deterministic"


def command(
    experiment: Annotated[Experiment, typer.Argument(help="Which of the paper's experiments to run.")],
) -> None:
    """Run an experiment of the paper again and print its numbers, in brackets, below ours."""
    table = Table(
        title="The paper's deterministic tables: ours, and below it (the paper's)",
        title_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for name in ("data set", "method", "rules", "removed", "modified", "Δlength", "rel. 1", "coverage", "conflict"):
        table.add_column(name, no_wrap=True)
    table.add_column("state", no_wrap=True)
    differing = 0
    for (ours, state), theirs in zip(reproduce_deterministic(), expected_rows(), strict=True):
        differing += ours != theirs
        pairs = [
            (f"{ours.rules}", f"{theirs.rules}"),
            (f"{ours.removed_pct:.2f}", f"{theirs.removed_pct:.2f}"),
            (f"{ours.rules_modified_pct:.2f}", f"{theirs.rules_modified_pct:.2f}"),
            (f"{ours.delta_length:.2f}", f"{theirs.delta_length:.2f}"),
            (ours.reliability_one, theirs.reliability_one),
            (f"{ours.coverage_pct:.1f}", f"{theirs.coverage_pct:.1f}"),
            (f"{ours.conflict_pct:.1f}", f"{theirs.conflict_pct:.1f}"),
        ]
        cells = [f"{one}\n({other})" for one, other in pairs]
        table.add_row(ours.dataset, ours.method, *cells, str(state))
    out.print(table)
    out.print(
        "removed, modified, coverage and conflict are in percent. state is the smallest random_state whose tree gives "
        "the paper's row for all three methods: scikit-learn breaks ties between equally good splits by it."
    )
    out.print("Every cell agrees." if not differing else f"{differing} rows differ from the paper.")
    raise typer.Exit(code=1 if differing else 0)
