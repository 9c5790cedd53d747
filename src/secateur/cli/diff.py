"""``secateur diff``: say what changed between the rules of two trainings."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from secateur.cli.console import print_json, tell
from secateur.cli.options import Json, Quiet, Reading, Rows, spread
from secateur.errors import InputError

STYLES = {"removed": "red", "added": "green", "class-changed": "bold red"}


@spread
def command(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="Rules as --export json wrote them.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The rules of the newer training.")],
    *,
    data: Annotated[
        str | None, typer.Option(metavar="FILE", help="A table of rows: which of them change their answer.")
    ] = None,
    used: Rows,
    everything: Annotated[bool, typer.Option("--all", help="List rules that stayed the same too.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    reading: Reading,
) -> None:
    """Say which rules were added, removed, widened, narrowed or shifted, or changed their class.

    Rules are compared by the rows that they are about, whatever their trees look like. With --data and --target also:
    which rows of a table change their answer, from what to what, how many of each were right, and which lines they
    leave and enter.

    For example:

    secateur diff january.json february.json
    secateur diff january.json february.json --data february.csv --target outcome
    """
    from secateur.cli.model_files import load_rules

    before, after = load_rules(old), load_rules(new)
    if before.is_list != after.is_list:
        short, long = (old, new) if before.is_list else (new, old)
        raise InputError(
            f"{short} holds a short list, {long} one rule for each leaf: make both with --each-leaf, or both without."
        )
    difference = before.diff(after)
    if data is not None:
        from secateur.cli.tables.fitted_table import label_rows
        from secateur.results.swaps import compare_answers

        tables = [reading.open(data, tree=rules.tree, quiet=quiet) for rules in (before, after)]
        first, second = (
            label_rows(table, rules.tree, **used.take(table))
            for table, rules in zip(tables, (before, after), strict=True)
        )
        difference = replace(difference, swaps=compare_answers(before, after, first.X, first.y, second.X))
    if difference.otherwise is not None and difference.otherwise[0] != difference.otherwise[1]:
        tell("To compare rules of the same class, make both files with the same --otherwise.", quiet=quiet)
    if as_json:
        print_json(difference.to_dict())
    elif not quiet:
        from rich.text import Text

        from secateur.cli.console import out

        same = [str(change) for change in difference.changes if change.kind == "same"]
        shown = Text("\n".join([*(same if everything else ()), str(difference)]))
        for kind, style in STYLES.items():
            shown.highlight_regex(rf"(?m)^{kind}: .*(\n  now: .*)?$", style)
        out.print(shown)
    raise typer.Exit(code=0 if difference.is_same else 1)
