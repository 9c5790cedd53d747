"""``secateur methods``: the ladder of methods and what each guarantees."""

from __future__ import annotations

from rich.table import Table

from secateur.cli.console import out
from secateur.methods import METHODS

__all__ = ["command"]


def command() -> None:
    """List the methods, from the strictest guarantee to none."""
    table = Table(title="Methods, from the strictest guarantee to none", title_justify="left")
    table.add_column("method", style="bold", no_wrap=True)
    table.add_column("also called", no_wrap=True)
    table.add_column("what it does", ratio=3)
    table.add_column("preserves", ratio=2)
    table.add_column("rows", no_wrap=True)
    for method in METHODS.values():
        table.add_row(
            method.name,
            ", ".join(method.aliases),
            method.summary,
            method.preserves,
            "needed" if method.needs_rows else "—",
        )
    out.print(table)
