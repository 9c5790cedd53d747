"""``secateur methods``: the ladder of methods and what each guarantees."""

from __future__ import annotations

from rich.text import Text

from secateur.cli.console import out

__all__ = ["command"]


def command() -> None:
    """List the methods, from the strictest guarantee to none."""
    from secateur.methods import METHODS

    out.print("Methods, from the strictest guarantee to none:\n")
    for method in METHODS.values():
        names = f" (also {', '.join(method.aliases)})" if method.aliases else ""
        needs = "needs training rows" if method.needs_rows else "needs no rows"
        if "domain" in method.parameters:
            needs = "needs a domain or monotone signs"
        out.print(Text.assemble((method.name, "bold"), names))
        out.print(Text(f"  {method.summary}"))
        out.print(Text.assemble("  preserves ", (method.preserves, "green"), f"; {needs}"))
        out.print(Text(f"  from: {method.source}", style="dim"))
