"""``secateur audit``: say whether the rules of a file still hold on new rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli.console import print_json, tell, working
from secateur.cli.options import Json, Quiet, Reading, Rows, spread
from secateur.cli.tables.table_file import check_batch_options, in_batches, open_batches
from secateur.errors import ParameterError

if TYPE_CHECKING:
    from secateur.results.audit import Audit
    from secateur.rules.rules import Rules


@spread
def command(
    rules_file: Annotated[Path, typer.Argument(metavar="RULES", help="Rules as --export json wrote them.")],
    data: Annotated[str, typer.Argument(metavar="ROWS", help="A table of new rows; - is standard input.")],
    *,
    used: Rows,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="An earlier table to compare with, instead of the training rows, which flatter."
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    reading: Reading,
) -> None:
    """Audit every rule on new rows: is it still right as often as it was? Status 1 if something moved.

    A rule is compared with the unseen rows that it was measured on, if there were any, else with its training rows, to
    which it was fitted, so that a fall is expected; --since names earlier rows instead. A column on one side of all
    limits, such as one in another unit, and other numbers of rows per line (PSI from 0.25 on) count as moved, too.

    A line of a short list is audited on the rows that it decides, “otherwise” too; a rule of a leaf on those that it
    covers.

    For example:

    secateur audit rules.json april.parquet --target outcome
    secateur audit rules.json april.csv --since january.csv --target outcome --json
    """
    from secateur.cli.model_files import load_rules
    from secateur.results.shifts import LARGE_PSI

    if data == "-" and since == "-":
        raise ParameterError("ROWS and --since are both -, but standard input can be read once: name a file for one.")
    rules = load_rules(rules_file)
    earlier = None if since is None else _audit(rules, since, used, reading, quiet=quiet)[0]
    audit, notes = _audit(rules, data, used, reading, earlier, quiet=quiet)
    if rules.tree.is_regression:
        _show_values(rules_file, audit, notes, as_json=as_json, quiet=quiet)
        raise typer.Exit(code=0)
    moved, is_tested = audit.per_line.moved, audit.per_line.n_tested > 0
    is_shifted = bool(audit.shifts) or audit.per_line.psi >= LARGE_PSI
    if as_json:
        found = {
            "ok": not (moved or is_shifted) if is_tested or is_shifted else None,
            "summary": audit.per_line.summary,
            "psi": None if audit.per_line.psi != audit.per_line.psi else audit.per_line.psi,
            "notes": [*notes, *_list_cautions(audit), *_list_notes(audit)],
        }
        print_json({**found, "audit": audit.to_dict(), "lines": audit.per_line.to_dicts()})
    elif not quiet:
        for note in notes:
            tell(note)
        _show(rules_file, audit)
    elif moved or is_shifted:
        for sentence in (audit.per_line.summary, *audit.shifts):
            tell(sentence)
    if not is_tested and not is_shifted:
        raise ParameterError(_describe_untested(rules, audit))
    raise typer.Exit(code=1 if moved or is_shifted else 0)


def _audit(
    rules: Rules, data: str, used: Rows, reading: Reading, since: Any = None, *, quiet: bool
) -> tuple[Audit, list[str]]:
    """Audit rules on a table; also give notes about the table."""
    from secateur.cli.tables.fitted_table import label_rows

    if in_batches(data, rules.tree):
        check_batch_options(data, used, reading)
        target = used.require_target(data)
        with open_batches(data, rules.tree, target, reading) as (source, notes), working("Auditing", quiet=quiet):
            audit = rules.audit(source, target, since=since)
        return audit, notes
    table = reading.open(data, tree=rules.tree, quiet=quiet)
    rows = label_rows(table, rules.tree, **used.take(table))
    with working("Auditing", quiet=quiet):
        return rules.audit(rows.X, rows.y, since=since), list(rows.notes)


def _show_values(path: Path, audit: Any, notes: list[str], *, as_json: bool, quiet: bool) -> None:
    """Show the audit of rules that predict numbers; no test says that a line moved."""
    from rich.text import Text

    from secateur.cli.console import out
    from secateur.words.conditions import count_of

    if as_json:
        print_json({"ok": None, "notes": notes, "audit": audit.to_dict(), "lines": audit.list_lines()})
    elif not quiet:
        for note in notes:
            tell(note)
        out.print(Text(f"{path} on {count_of(audit.n_rows, 'row')}:"))
        out.print(Text(str(audit)))


def _describe_untested(rules: Rules, audit: Audit) -> str:
    if audit.per_line.since is not None:
        return "No rule could be tested: none has rows in both tables. Name tables with more rows."
    if rules.fidelity is None and rules.is_ranked and not rules.is_weighted:
        why = "No rule has both training rows and rows here. Name an earlier table with --since FILE."
    else:
        why = _list_notes(audit)[-1]
    return f"No rule could be tested. {why}"


def _list_notes(audit: Audit) -> list[str]:
    """List what to bear in mind, in the words of the command line."""
    from secateur.results.per_line import SINCE

    return [note.replace(SINCE, "(--since FILE)") for note in audit.per_line.notes]


def _list_cautions(audit: Audit) -> list[str]:
    """List what the verdicts do not say: rules that state a rarer class, and a guess that is right more often."""
    cautions = list(audit.per_line.cautions)
    if audit.accuracy < audit.baseline:
        guess = f"Always saying {audit.baseline_class} would be right more often ({audit.baseline:.2f} %)"
        cautions.append(f"{guess} than the rules ({audit.accuracy:.2f} %) on these rows.")
    return cautions


def _show(path: Path, audit: Audit) -> None:
    from rich.text import Text

    from secateur.cli.console import out
    from secateur.results.shifts import describe_psi
    from secateur.words.conditions import count_of

    found = audit.per_line
    out.print(Text(f"{path} on {count_of(audit.n_rows, 'row')}:"))
    out.print(Text(str(audit)))
    out.print(Text(found.summary, style="bold red" if found.moved else "bold green"))
    for one in found.moved:
        out.print(Text(str(one)))
    for shift in audit.shifts:
        out.print(Text(shift, style="bold red"))
    if (told := describe_psi(found.psi)) is not None:
        out.print(Text(told))
    for caution in _list_cautions(audit):
        out.print(Text(caution, style="yellow"))
    for note in _list_notes(audit):
        out.print(Text(note, style="dim"))
