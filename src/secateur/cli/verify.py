"""``secateur verify``: prove again what a file of rules promises."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from secateur.cli.batches import check_batch_options, in_batches, open_batches
from secateur.cli.console import print_json, tell, working
from secateur.cli.options import Holdout, Json, Quiet, Reading, Rows, Seed, Trusting, spread
from secateur.errors import ParameterError

if TYPE_CHECKING:
    from secateur.rules.rules import Rules
    from secateur.verify import Verification

__all__ = ["command"]


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
    holdout: Holdout = 0.0,
    seed: Seed = 0,
    as_json: Json = False,
    quiet: Quiet = False,
    reading: Reading,
    trusting: Trusting,
) -> None:
    """Prove again what rules promise, by code that shares nothing with the code that made them.

    With the model: that the rules belong to its tree. With the data: that supports and class counts are right, and
    what methods promise about rows.

    For example:

    secateur verify rules.json
    secateur verify rules.json --model tree.skops --data loans.csv --target outcome
    """
    from secateur.cli.model_files import load_rules
    from secateur.cli.tables.fitted_table import label_rows, split_table

    if (data is None) != (used.target is None):
        raise ParameterError("Name the table and the column of its classes: --data FILE --target COLUMN.")
    rules = load_rules(rules_file, takes_changed=True)
    brought = None if model is None else trusting.load(model, quiet=quiet)
    if data is not None and in_batches(data, rules.tree):
        check_batch_options(data, used, reading, holdout)
        differing = _compare_model(rules, brought, None)
        target = used.require_target(data)
        with open_batches(data, rules.tree, target, reading) as (source, _), working("Checking the rules", quiet=quiet):
            proof = rules.verify(source, target)
    else:
        rows: tuple[Any, Any] = (None, None)
        if data is not None:
            table = reading.open(data, tree=rules.tree, seed=seed, quiet=quiet)
            kept, _ = split_table(label_rows(table, rules.tree, **used.take(table)), holdout, seed)
            rows = kept.X, kept.y
        differing = _compare_model(rules, brought, rows[0])
        with working("Checking the rules", quiet=quiet):
            proof = rules.verify(*rows)
    _conclude(rules, proof, differing, as_json=as_json, quiet=quiet)


def _conclude(
    rules: Rules, proof: Verification, differing: list[str] | None, *, as_json: bool, quiet: bool
) -> NoReturn:
    """Show what was found, and exit with 0 if everything holds."""
    holds = proof.ok and not differing
    lacks_rows = proof.lacks_rows and not differing
    if as_json:
        print_json(
            {
                **vars(proof),
                "ok": None if lacks_rows else holds,  # in the place of the proof's own
                "model_differences": differing,
                "guarantee": rules.guarantee,
            }
        )
    elif not quiet:
        _show(rules, proof, differing)
    elif lacks_rows:
        tell(_describe_unchecked(rules))
    elif not holds:
        for failure in (*(differing or ()), *proof.failures):
            tell(failure)
    raise typer.Exit(code=2 if lacks_rows else 0 if holds else 1)


def _compare_model(rules: Rules, model: Any, rows: Any) -> list[str] | None:
    """List how the tree of the rules differs from the model's; None without a model."""
    from secateur.adapters import from_model
    from secateur.cli.tables.fitted_table import read_one_tree
    from secateur.tree.difference import find_tree_differences

    if model is None:
        return None
    tree = read_one_tree(model)
    return find_tree_differences(rules.tree, tree if rows is None else from_model(model, rows))


def _show(rules: Rules, proof: Any, differing: list[str] | None) -> None:
    from rich.text import Text

    from secateur.cli.console import out
    from secateur.export.listing import make_listing
    from secateur.verify.verification import NOT_RECHECKED, NOT_RECOUNTED

    out.print(Text(f"{make_listing(rules, most=0).title}. {rules.guarantee}"))
    if differing is not None:
        out.print(Text("\n".join(f"✗ {item}" for item in differing) or "✓ the rules belong to the model's tree"))
    words, verdict = str(proof).rsplit("\n", 1)
    for asked in (NOT_RECOUNTED, NOT_RECHECKED):  # of a caller in Python
        words = words.replace(asked, f"{asked.partition(':')[0]}: no rows were named.")
    if proof.lacks_rows and not differing:
        verdict = f"Proved, as far as that can be without rows. {_describe_unchecked(rules)}"
    out.print(Text(f"{words}\n{'NOT verified.' if differing else verdict}"))


def _describe_unchecked(rules: Rules) -> str:
    promised = "the budget" if rules.budget else repr(rules.method)
    return (
        f"What {promised} promises about rows was not checked: name the table that the rules were made from with "
        "--data FILE --target COLUMN."
    )
