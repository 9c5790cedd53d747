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
    """Run an experiment of the paper again and print its numbers beside ours."""
    table = Table(title="The paper's deterministic tables: ours (paper's)", title_justify="left")
    for name in ("data set", "method", "rules", "removed %", "rules modified %", "Δ length", "reliability 1"):
        table.add_column(name)
    for name in ("coverage %", "conflict %", "random_state"):
        table.add_column(name)
    differing = 0
    for (ours, state), theirs in zip(reproduce_deterministic(), expected_rows(), strict=True):
        differing += ours != theirs
        table.add_row(
            ours.dataset,
            ours.method,
            f"{ours.rules} ({theirs.rules})",
            f"{ours.removed_pct:.2f} ({theirs.removed_pct:.2f})",
            f"{ours.rules_modified_pct:.2f} ({theirs.rules_modified_pct:.2f})",
            f"{ours.delta_length:.2f} ({theirs.delta_length:.2f})",
            f"{ours.reliability_one} ({theirs.reliability_one})",
            f"{ours.coverage_pct:.1f} ({theirs.coverage_pct:.1f})",
            f"{ours.conflict_pct:.1f} ({theirs.conflict_pct:.1f})",
            str(state),
        )
    out.print(table)
    out.print(
        "random_state is the smallest one whose tree gives the paper's row for all three methods: "
        "scikit-learn breaks ties between equally good splits by it."
    )
    raise typer.Exit(code=1 if differing else 0)
