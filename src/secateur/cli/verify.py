"""``secateur verify``: prove again what a file of rules promises."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from secateur.cli.approximate import pick_rows
from secateur.cli.console import print_json, tell, working
from secateur.cli.options import Json, Quiet, Reading, Rows, Seed, Trusting, spread
from secateur.cli.tables.table_file import check_batch_options, in_batches, open_batches
from secateur.errors import ParameterError

if TYPE_CHECKING:
    from secateur.rules.rules import Rules
    from secateur.verify import Verification


@spread
def command(
    rules_file: Annotated[Path, typer.Argument(metavar="RULES", help="Rules as --export json wrote them.")],
    *,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The model that the rules should belong to (.skops, JSON, ONNX or PMML)."),
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="FILE", help="The table that the rules were made from; - is standard input.")
    ] = None,
    used: Rows,
    holdout: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Share of the rows that was set aside.  [default: as the rules say]"),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
    reading: Reading,
    trusting: Trusting,
) -> None:
    """Prove again what rules promise, by code that shares nothing with the code that made them.

    With the model: that the rules belong to its tree, or how often rules that approximate it agree with it. With the
    data: that supports and class counts are right, and what methods promise about rows. Rows that were set aside when
    the rules were made are set aside again, and recounted.

    Ends with 0 if all is verified, with 1 if something is wrong, and with 2 if not everything was checked.

    For example:

    secateur verify rules.json
    secateur verify rules.json --model tree.skops --data loans.csv --target outcome
    """
    from secateur.cli.model_files import load_rules
    from secateur.cli.tables.fitted_table import label_rows, read_one_tree, split_again

    rules = load_rules(rules_file, takes_changed=True)
    brought = None if model is None else trusting.load(model, quiet=quiet)
    asks_model = brought is not None and rules.fidelity is not None
    if asks_model and data is None:
        raise ParameterError("The model is asked about the rows that the rules were made from: name them, --data FILE.")
    if (data is None) != (used.target is None) and not asks_model:
        raise ParameterError("Name the table and the column of its classes: --data FILE --target COLUMN.")
    if brought is not None and not asks_model:
        read_one_tree(brought)  # which rejects several
    if data is not None and not asks_model and in_batches(data, rules.tree):
        check_batch_options(data, used, reading, ("--holdout",) if holdout else ())
        target = used.require_target(data)
        with open_batches(data, rules.tree, target, reading) as (source, _), working("Checking the rules", quiet=quiet):
            proof = rules.verify(source, target, model=brought)
    else:
        rows: tuple[Any, Any] = (None, None)
        unseen = None
        if data is not None and asks_model:
            rows = pick_rows(brought, reading.open(data, seed=seed, quiet=quiet), used)[:2]
        elif data is not None:
            table = reading.open(data, tree=rules.tree, seed=seed, quiet=quiet)
            kept, held_out = split_again(rules, label_rows(table, rules.tree, **used.take(table)), table, holdout, seed)
            rows = kept.X, kept.y
            unseen = None if held_out is None or rules.unseen is None else (held_out.X, held_out.y)
        with working("Checking the rules", quiet=quiet):
            proof = rules.verify(*rows, model=brought, unseen=unseen)
    _conclude(rules, proof, as_json=as_json, quiet=quiet)


def _conclude(rules: Rules, proof: Verification, *, as_json: bool, quiet: bool) -> NoReturn:
    """Show what was found, and exit with 0 if everything was checked and holds."""
    status = 1 if proof.is_refuted else 0 if proof.is_complete else 2
    if as_json:
        ok = {0: True, 1: False, 2: None}[status]  # in the place of the proof's own
        print_json({**vars(proof), "ok": ok, "guarantee": rules.guarantee})
    elif not quiet:
        _show(rules, proof)
    elif proof.lacks_rows:
        tell(_describe_unchecked(rules))
    else:
        for sentence in proof.failures or (f"Not checked: {one}." for one in proof.unchecked):
            tell(sentence)
    raise typer.Exit(code=status)


def _show(rules: Rules, proof: Verification) -> None:
    from rich.text import Text

    from secateur.cli.console import out
    from secateur.export.listing import make_listing
    from secateur.verify.verification import NOT_RECHECKED, NOT_RECOUNTED

    out.print(Text(f"{make_listing(rules, most=0).title}. {rules.guarantee}"))
    words, verdict = str(proof).rsplit("\n", 1)
    for asked in (NOT_RECOUNTED, NOT_RECHECKED):  # of a caller in Python
        words = words.replace(asked, f"{asked.partition(':')[0]}: no rows were named.")
    if proof.lacks_rows:
        verdict = f"{verdict} {_describe_unchecked(rules)}"
    out.print(Text(f"{words}\n{verdict}"))


def _describe_unchecked(rules: Rules) -> str:
    promised = "the budget" if rules.budget else repr(rules.method)
    return (
        f"What {promised} promises about rows was not checked: name the table that the rules were made from with "
        "--data FILE --target COLUMN."
    )
