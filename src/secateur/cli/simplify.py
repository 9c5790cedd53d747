"""``secateur simplify``: fit a tree on embedded data, shorten its rules, and show what happened and why."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.panel import Panel
from rich.text import Text
from sklearn.tree import DecisionTreeClassifier

from secateur.cli.console import out
from secateur.datasets import load
from secateur.export.terminal import rules_to_table
from secateur.simplification import simplify

__all__ = ["command"]


class Table(StrEnum):
    """The embedded tables."""

    weather = "weather"
    human_id = "human-id"


def command(
    table: Annotated[Table, typer.Option(help="The embedded table to use.")] = Table.weather,
    method: Annotated[str, typer.Option(help="How to delete; see `secateur methods`.")] = "layered",
    tolerance: Annotated[float, typer.Option(help="How far a rule's reliability may move, 0 to 1.")] = 0.05,
    max_depth: Annotated[int | None, typer.Option(help="Depth limit of the tree.", min=1)] = None,
    seed: Annotated[int, typer.Option(help="random_state of the tree.", min=0)] = 0,
) -> None:
    """Fit a tree to embedded data, delete the conditions that do not matter, and show what happened and why.

    For example: `secateur simplify --table human-id --method M1-D`
    """
    data = load(table.value)
    model = DecisionTreeClassifier(max_depth=max_depth, random_state=seed).fit(data.X, data.y)
    before = simplify(model, data.X, data.y, method="none", feature_names=data.feature_names)
    rules = simplify(model, data.X, data.y, method=method, tolerance=tolerance, feature_names=data.feature_names)
    audit, proof = rules.audit(data.X, data.y), rules.verify()
    out.print(
        f"A decision tree was fitted to {data.name}: {len(data.y)} rows, does [bold]{data.target_name}[/] "
        f"hold? It has {len(before)} leaves, so {len(before)} rules with {len(before.deleted)} conditions.\n"
    )
    out.print(rules_to_table(before, title="Before", caption=" "))
    out.print(rules_to_table(rules, reasons=True, title=f"After {rules.method}", caption=" "))
    out.print(Panel(Text(str(audit)), title="Audit", title_align="left"))
    out.print(Panel(Text(rules.guarantee), title="What is preserved", title_align="left", border_style="green"))
    out.print(Panel(Text(str(proof)), title="Checked independently", title_align="left"))
    out.print(f"[bold]{len(before.deleted)} conditions before, {int((~rules.deleted).sum())} after.[/]")
    raise typer.Exit(code=0 if proof.ok else 1)
