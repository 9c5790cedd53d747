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
    from secateur.results.difference import compare_rules
    from secateur.rules.compact_rules import CompactRules

    before, after = load_rules(old), load_rules(new)
    if isinstance(before, CompactRules) and isinstance(after, CompactRules):
        if before.otherwise != after.otherwise:
            tell("To compare rules of the same class, make both files with the same --otherwise.", quiet=quiet)
    elif isinstance(before, CompactRules) or isinstance(after, CompactRules):
        few, many = (old, new) if isinstance(before, CompactRules) else (new, old)
        raise InputError(
            f"{few} holds compact rules and {many} one rule for each leaf: make both with --each-leaf, or both without."
        )
    difference = compare_rules(before, after)
    if as_json:
        print_json(difference.to_dict())
    elif not quiet:
        from rich.text import Text

        from secateur.cli.console import out

        for note in difference.notes:
            out.print(Text(note, style="bold"))
        for change in difference.changes:
            if change.kind != "same" or everything:
                out.print(Text(str(change), style=STYLES.get(change.kind, "")))
        *_, last = str(difference).splitlines()  # the same, or how many of each kind
        if difference.otherwise is not None and difference.otherwise[0] != difference.otherwise[1]:
            was, now = difference.otherwise
            out.print(Text(f"otherwise {was}\n  now: otherwise {now}", style=STYLES["class-changed"]))
        out.print(Text(last, style="bold"))
    raise typer.Exit(code=0 if difference.is_same else 1)
