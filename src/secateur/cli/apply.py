"""``secateur apply``: make the edits of a journal again, and say what they cost."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from secateur.cli.console import print_text, tell, working
from secateur.cli.options import Force, Holdout, Json, Output, Quiet, Reading, Rows, Seed, spread
from secateur.errors import InputError, ParameterError


@spread
def command(
    rules_file: Annotated[Path, typer.Argument(metavar="RULES", help="Rules as --export json wrote them.")],
    edits_file: Annotated[Path, typer.Argument(metavar="EDITS", help="A journal of edits, or edited rules, as JSON.")],
    *,
    data: Annotated[
        str | None, typer.Option(metavar="FILE", help="The table that the rules were made from, to count the price.")
    ] = None,
    used: Rows,
    holdout: Holdout = 0.0,
    seed: Seed = 0,
    output: Output = None,
    as_json: Json = False,
    force: Force = False,
    quiet: Quiet = False,
    reading: Reading,
) -> None:
    """Make the edits of a journal again on a list: strike, without, answer, rounded; count their price, verify it.

    The journal is a list such as [{"edit": "strike", "line": 3, "reason": "too few rows"}]. Ends with 1 if the edited
    list could not be verified.

    For example:

    secateur apply rules.json edits.json --data loans.csv --target outcome -o edited.json
    """
    from secateur.cli.model_files import load_rules
    from secateur.cli.tables.fitted_table import label_rows, split_again
    from secateur.cli.writing import check_outputs, deliver
    from secateur.rows.row_source import GivenRows
    from secateur.rules.edits import read_journal

    if (data is None) != (used.target is None):
        raise ParameterError("Name the table and the column of its classes: --data FILE --target COLUMN.")
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
        table = reading.open(data, tree=rules.tree, seed=seed, quiet=quiet)
        labelled = label_rows(table, rules.tree, **used.take(table))
        kept, aside = split_again(rules, labelled, table, holdout or None, seed)
        rules = rules.change(training=GivenRows(kept.X, kept.y, None))
        if aside is not None:
            split = None if rules.unseen is None else rules.unseen.split  # so that verify finds these rows again
            rules = rules.measure(aside.X, aside.y)
            assert rules.unseen is not None
            rules = rules.change(unseen=replace(rules.unseen, split=split))
    with working("Making the edits", quiet=quiet):
        edited = rules.replay(journal)
        proof = edited.verify()
    if as_json or output is not None:
        deliver(edited.to_json(), output, force=force, quiet=quiet)
    if not as_json and not quiet:
        print_text(edited.to_text())
    if not quiet:
        tell(f"{edited.guarantee} {'Verified' if proof.ok else 'Not verified'}{'' if data else ', without rows'}.")
    for sentence in proof.failures if data is not None else ():
        tell(sentence)
    raise typer.Exit(code=1 if proof.is_refuted and data is not None else 0)
