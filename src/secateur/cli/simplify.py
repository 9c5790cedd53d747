"""``secateur simplify``: fit a tree on embedded data, shorten its rules, and show what happened and why."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.panel import Panel
from rich.text import Text

from secateur.cli.console import out

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["command", "show"]


class Table(StrEnum):
    """The embedded tables."""

    weather = "weather"
    human_id = "human-id"


def command(
    table: Annotated[Table, typer.Option(help="The embedded table to use.")] = Table.weather,
    method: Annotated[str, typer.Option(help="How to delete; see `secateur methods`.")] = "layered",
    tolerance: Annotated[float, typer.Option(help="How far a rule's reliability may move, 0 to 1.")] = 0.05,
    budget: Annotated[float, typer.Option(help="Share of rows that may be in conflict (budgeted), 0 to 1.")] = 0.015,
    max_depth: Annotated[int | None, typer.Option(help="Depth limit of the tree.", min=1)] = None,
    seed: Annotated[int, typer.Option(help="random_state of the tree.", min=0, max=2**32 - 1)] = 0,
) -> None:
    """Fit a tree to embedded data, delete the conditions that do not matter, and show what happened and why.

    For example: `secateur simplify --table human-id --method M1-D`
    """
    verified = show(out, table.value, method, max_depth, seed, tolerance=tolerance, budget=budget)
    raise typer.Exit(code=0 if verified else 1)


def show(console: Console, table: str, method: str, max_depth: int | None, seed: int, **knobs: Any) -> bool:
    """Print the whole story of one simplification; return whether the independent check held."""
    from sklearn.tree import DecisionTreeClassifier

    from secateur.datasets import load
    from secateur.export.terminal import rules_to_table
    from secateur.simplification import simplify

    data = load(table)
    model = DecisionTreeClassifier(max_depth=max_depth, random_state=seed).fit(data.X, data.y)
    before = simplify(model, data.X, data.y, method="none", feature_names=data.feature_names)
    rules = simplify(model, data.X, data.y, method=method, feature_names=data.feature_names, **knobs)
    audit, proof = rules.audit(data.X, data.y), rules.verify()
    left = int((~rules.deleted).sum())
    console.print(
        f"A decision tree fitted to the [bold]{data.name}[/] table ({len(data.y)} rows, {data.target_name}?) "
        f"gives {len(before)} rules with {len(before.deleted)} conditions.\n"
    )
    console.print(rules_to_table(before, title="Before", caption=""))
    console.print(rules_to_table(rules, reasons=True, title=f"After: {rules.method}", caption=""))
    console.print(Panel(Text(str(audit)), title="Audit", title_align="left"))
    console.print(Panel(Text(rules.guarantee), title="What is preserved", title_align="left", border_style="green"))
    console.print(Panel(Text(str(proof)), title="Checked independently", title_align="left", border_style="green"))
    console.print(f"✂ [bold]{len(before.deleted)} conditions before, {left} after.[/]")
    return proof.ok
