"""Commands on rules in files: make a journal's edits again, say what changed since, write other formats."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from secateur.cli import options
from secateur.cli.console import print_json, print_text, tell, working
from secateur.cli.writing import SqlWriting, check_outputs, choose_export, deliver
from secateur.errors import InputError, ParameterError

STYLES = {"removed": "red", "added": "green", **dict.fromkeys(("class-changed", "value-changed"), "bold red")}


@options.spread
def apply_command(
    rules_file: options.RulesFile,
    edits_file: Annotated[Path, typer.Argument(metavar="EDITS", help="A journal of edits, or edited rules, as JSON.")],
    *,
    data: options.RulesData = None,
    used: options.Rows,
    holdout: options.HeldOut = None,
    seed: options.Seed = 0,
    output: options.Output = None,
    as_json: options.Json = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    reading: options.Reading,
) -> None:
    """Make the edits of a journal again on a list: strike, without, answer, rounded; count their price, verify it.

    The journal is a list such as [{"edit": "strike", "line": 3, "reason": "too few rows"}]. Ends with 1 if the edited
    list could not be verified.

    For example:

    secateur apply rules.json edits.json --data loans.csv --target outcome -o edited.json
    """
    from secateur.cli.model_files import load_rules
    from secateur.cli.tables.fitted_table import set_aside, split_again
    from secateur.rows.row_source import GivenRows
    from secateur.rules.edits import read_journal

    options.require_both(data, used)
    check_outputs(output, inputs=(rules_file, edits_file), force=force)
    try:
        content = json.loads(edits_file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{edits_file} is not JSON: {error}.") from error
    if isinstance(content, dict) and isinstance(content.get("edits"), dict):
        content = content["edits"]
    journal = read_journal(content)
    rules = load_rules(rules_file)
    if data is not None:
        table, labelled = reading.label(data, rules.tree, used, seed=seed, quiet=quiet)
        kept, aside = split_again(rules, labelled, table, holdout, seed)
        split = None if rules.unseen is None else rules.unseen.split  # so that verify finds these rows again
        rules = rules.change(training=GivenRows(kept.X, kept.y, None))
        rules = rules if aside is None else set_aside(rules, aside, split)
    with working("Making the edits", quiet=quiet):
        edited = rules.replay(journal)
        proof = edited.verify()
    if as_json or output is not None:
        deliver(edited.to_json(), output, force=force, quiet=quiet)
    if not as_json and not quiet:
        print_text(edited.to_text())
    if not quiet:
        verdict = f"{'Verified' if proof.ok else 'Not verified'}{'' if data else ', without rows'}."
        tell(f"{edited.guarantee} {verdict}" if as_json else verdict)  # the text says what is guaranteed
    tell(*(proof.failures if data is not None else ()))
    raise typer.Exit(code=1 if proof.is_refuted and data is not None else 0)


@options.spread
def diff_command(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="Rules as --export json wrote them.")],
    new: Annotated[Path | None, typer.Argument(metavar="NEW", help="The rules of the newer training.")] = None,
    *,
    data: Annotated[
        str | None, typer.Option(metavar="FILE", help="A table of rows: which of them change their answer.")
    ] = None,
    used: options.Rows,
    policy: options.Policy = None,
    everything: Annotated[bool, typer.Option("--all", help="List rules that stayed the same too.")] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    reading: options.Reading,
) -> None:
    """Say which rules were added, removed, widened, narrowed or shifted, or changed their class.

    Rules are compared by the rows that they are about, whatever their trees look like. With --data and --target also:
    which rows of a table change their answer, from what to what, how many of each were right, and which lines they
    leave and enter. --policy compares the rows with a policy instead of NEW.

    For example:

    secateur diff january.json february.json
    secateur diff january.json february.json --data february.csv --target outcome
    secateur diff rules.json --data loans.csv --target outcome --policy "default if late >= 2; otherwise repaid"
    """
    from secateur.cli.model_files import load_rules
    from secateur.results.difference import find_difference

    if (new is None) == (policy is None):
        raise ParameterError("Name the rules to compare with, or a policy with --policy, and not both.")
    if policy is not None and data is None:
        raise ParameterError(
            "A policy is compared by the rows that it answers: name them, --data FILE --target COLUMN."
        )
    before = load_rules(old)
    after: Any = None if new is None else load_rules(new)
    if after is not None and before.is_list != after.is_list:
        short, long = (old, new) if before.is_list else (new, old)
        raise InputError(
            f"{short} holds a short list, {long} one rule for each leaf: make both with --each-leaf, or both without."
        )
    rows: tuple[Any, ...] = ()
    if data is not None:
        table, first = reading.label(data, before.tree, used, quiet=quiet)
        if policy is not None:
            from secateur.cli.tables.fitted_table import read_policy

            after, X = read_policy(policy, before, table, first)
        else:
            X = reading.label(data, after.tree, used, quiet=quiet)[1].X
        rows = first.X, first.y, X
    difference = find_difference(before, after, *rows)
    differs = difference.otherwise is not None and difference.otherwise[0] != difference.otherwise[1]
    if differs and not before.tree.is_regression and not _find_left(before) & _find_left(after):
        tell("To compare rules of the same class, make both files with the same --otherwise.", quiet=quiet or as_json)
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


def _find_left(rules: Any) -> set[str]:
    """Find the classes that each section in which they occur leaves to "otherwise", as --otherwise asks for."""
    left = [(one.otherwise.class_name, one.rules) for one in rules.sections if one.otherwise is not None]
    return {own for own, _ in left} - {one.class_name for own, some in left for one in some if one.class_name != own}


@options.spread
def export_command(
    rules_file: options.RulesFile,
    format: Annotated[
        options.Export | None,
        typer.Option("--format", "-f", help="Format to write; by default what --output's ending says."),
    ] = None,
    output: options.Output = None,
    *,
    sql: SqlWriting,
    missing: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="A text that means a blank in the SQL table, like NA and ?."),
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Write rules as SQL, Python, JSON, Markdown, LaTeX, CSV, a page, PMML or ONNX.

    For example:

    secateur export rules.json --format sql --dialect postgres --sql-table loans > rules.sql
    secateur export rules.json --format sql --plain
    secateur export rules.json -o rules.py
    """
    from secateur.cli.model_files import load_rules

    kind = choose_export(format, output, "--format")
    if kind is None:
        raise ParameterError("Say what to write with --format, such as --format sql.")
    check_outputs(output, inputs=(rules_file,), force=force)
    deliver(sql.make_export(load_rules(rules_file), kind, missing), output, force=force, quiet=quiet)
