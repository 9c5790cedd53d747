"""``secateur diff``: say what changed between the rules of two trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.cli.console import print_json
from secateur.cli.options import Json, Quiet

__all__ = ["command"]

STYLES = {"removed": "red", "added": "green", "class-changed": "bold red"}


def command(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="Rules as --export json wrote them.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The rules or model of the newer training.")],
    everything: Annotated[bool, typer.Option("--all", help="List rules that stayed the same too.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say which rules were added, removed, widened, narrowed or shifted, or changed their class.

    Rules are compared by the rows that they are about, whatever their trees look like.

    For example:

    secateur diff january.json february.json
    """
    from secateur.cli.model_files import load_rules
    from secateur.rules.difference import compare_rules

    difference = compare_rules(load_rules(old), load_rules(new))
    if as_json:
        print_json(difference.to_dict())
    elif not quiet:
        from rich.text import Text

        from secateur.cli.console import out
        from secateur.rules.wording import count_of

        for note in difference.notes:
            out.print(Text(note, style="bold"))
        for change in difference.changes:
            if change.kind != "same" or everything:
                out.print(Text(str(change), style=STYLES.get(change.kind, "")))
        counted = ", ".join(f"{number} {kind}" for kind, number in difference.counts.items() if number)
        same = f"The same {count_of(len(difference.changes), 'rule')}."
        out.print(Text(same if difference.is_same else f"{counted}.", style="bold"))
    raise typer.Exit(code=0 if difference.is_same else 1)
