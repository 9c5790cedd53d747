"""``secateur diff``: say what changed between the rules of two trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.cli.console import print_json, tell
from secateur.cli.options import Json, Quiet
from secateur.errors import InputError

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
    from secateur.rules.compact_rules import CompactRules
    from secateur.rules.difference import compare_rules

    before, after = load_rules(old), load_rules(new)
    if isinstance(before, CompactRules) != isinstance(after, CompactRules):
        few, many = (old, new) if isinstance(before, CompactRules) else (new, old)
        raise InputError(
            f"{few} holds compact rules and {many} one rule for each leaf: make both with --each-leaf, or both without."
        )
    if isinstance(before, CompactRules) and before.otherwise != after.otherwise:  # type: ignore[union-attr]
        tell(
            f"{old} leaves {before.otherwise_name} to “otherwise”, {new} {after.otherwise_name}: "  # type: ignore[union-attr]
            "to compare rules of the same class, make both with the same --otherwise.",
            quiet=quiet,
        )
    difference = compare_rules(before, after)  # type: ignore[arg-type]
    if as_json:
        print_json(difference.to_dict())
    elif not quiet:
        from rich.text import Text

        from secateur.cli.console import out

        for change in difference.changes:
            if change.kind != "same" or everything:
                out.print(Text(str(change), style=STYLES.get(change.kind, "")))
        counted = ", ".join(f"{number} {kind}" for kind, number in difference.counts.items() if number)
        same = f"The same {len(difference.changes)} rules."
        out.print(Text(same if difference.is_same else f"{counted}.", style="bold"))
    raise typer.Exit(code=0 if difference.is_same else 1)
