"""``secateur verify`` and ``audit``: prove again what a file of rules promises; say whether it holds on new rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from secateur.cli import options
from secateur.cli.approximate import pick_rows
from secateur.cli.console import print_json, print_text, say, tell, working
from secateur.cli.options import Json, Policy, Quiet, Reading, Rows, RulesFile, Seed, Trusting, require_both, spread
from secateur.cli.tables.table_file import in_batches, open_batches
from secateur.errors import ParameterError

if TYPE_CHECKING:
    from secateur.results.audit import Audit
    from secateur.results.difference import RulesDifference
    from secateur.rules.rules import Rules
    from secateur.verify import Verification


@spread
def verify_command(
    rules_file: RulesFile,
    *,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The model that the rules should belong to (.skops, JSON, ONNX or PMML)."),
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="FILE", help="The table that the rules were made from; - is standard input.")
    ] = None,
    used: Rows,
    holdout: options.HeldOut = None,
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
    from secateur.cli.tables.fitted_table import read_one_tree, read_texts_again, split_again
    from secateur.cli.tables.table_columns import write_labels

    rules = load_rules(rules_file, takes_changed=True)
    brought = None if model is None else trusting.load(model, quiet=quiet)
    asks_model = brought is not None and rules.fidelity is not None
    if asks_model and data is None:
        raise ParameterError("The model is asked about the rows that the rules were made from: name them, --data FILE.")
    if not asks_model:
        require_both(data, used)
    if brought is not None and not asks_model:
        read_one_tree(brought)  # which rejects several
    if data is not None and not asks_model and in_batches(data, rules.tree):
        unread = ("--holdout",) if holdout else ()
        with open_batches(data, rules.tree, used, reading, unread) as opened, working("Checking", quiet=quiet):
            proof = rules.verify(*opened[:2], model=brought)
    else:
        rows: tuple[Any, Any] = (None, None)
        unseen = None
        if data is not None and asks_model:
            rows = pick_rows(brought, reading.open(data, seed=seed, quiet=quiet), used)[:2]
        elif data is not None:
            table, labelled = reading.label(data, rules.tree, used, seed=seed, quiet=quiet)
            kept, held_out = split_again(rules, labelled, table, holdout, seed)
            rows = write_labels(brought, kept.X), kept.y
            if brought is not None and any(rules.tree.column_parsers):
                brought = read_texts_again(brought, rows[0], rules.tree, table, kept.target)
            unseen = None if held_out is None or rules.unseen is None else (held_out.X, held_out.y)
        with working("Checking the rules", quiet=quiet):
            proof = rules.verify(*rows, model=brought, unseen=unseen)
    status = 1 if proof.is_refuted else 0 if proof.is_complete else 2
    if as_json:
        ok = {0: True, 1: False, 2: None}[status]  # in the place of the proof's own
        print_json({**vars(proof), "ok": ok, "guarantee": rules.guarantee})
    elif not quiet:
        _show_proof(rules, proof)
    elif proof.lacks_rows:
        tell(_describe_unchecked(rules))
    else:
        tell(*(proof.failures or (f"Not checked: {one}." for one in proof.unchecked)))
    raise typer.Exit(code=status)


def _show_proof(rules: Rules, proof: Verification) -> None:
    from secateur.export.listing import make_listing
    from secateur.verify.case import NOT_RECHECKED, NOT_RECOUNTED

    say(f"{make_listing(rules, most=0).title}. {rules.guarantee}")
    words, verdict = str(proof).rsplit("\n", 1)
    for asked in (NOT_RECOUNTED, NOT_RECHECKED):  # of a caller in Python
        words = words.replace(asked, f"{asked.partition(':')[0]}: no rows were named.")
    if proof.lacks_rows:
        verdict = f"{verdict} {_describe_unchecked(rules)}"
    say(f"{words}\n{verdict}")


def _describe_unchecked(rules: Rules) -> str:
    promised = "the budget" if rules.budget else repr(rules.method)
    return (
        f"What {promised} promises about rows was not checked: name the table that the rules were made from with "
        "--data FILE --target COLUMN."
    )


@spread
def audit_command(
    rules_file: RulesFile,
    data: Annotated[str, typer.Argument(metavar="ROWS", help="A table of new rows; - is standard input.")],
    *,
    used: Rows,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="An earlier table to compare with, instead of the training rows, which flatter."
        ),
    ] = None,
    policy: Policy = None,
    as_json: Json = False,
    quiet: Quiet = False,
    reading: Reading,
) -> None:
    """Audit every rule on new rows: is it still right as often as it was? Status 1 if something moved.

    A rule is compared with the unseen rows that it was measured on, if there were any, else with its training rows, to
    which it was fitted, so that a fall is expected; --since names earlier rows instead. A column on one side of all
    limits, such as one in another unit, columns and numbers of rows per line with a PSI from 0.25 on, and rows of which
    one in twenty violates a stated fact or lies outside the training range count as moved, too. --policy also says
    which of the rows a policy would answer otherwise.

    A line of a short list is audited on the rows that it decides, “otherwise” too; a rule of a leaf on those that it
    covers.

    For example:

    secateur audit rules.json april.parquet --target outcome
    secateur audit rules.json april.csv --since january.csv --target outcome --json
    secateur audit rules.json april.csv --target outcome --policy "default if late >= 2; otherwise repaid"
    """
    from secateur.cli.model_files import load_rules

    if data == "-" and since == "-":
        raise ParameterError("ROWS and --since are both -, but standard input can be read once: name a file for one.")
    rules = load_rules(rules_file)
    earlier = None if since is None else _audit(rules, since, used, reading, quiet=quiet).audit
    audit, notes, beside = _audit(rules, data, used, reading, earlier, policy, quiet=quiet)
    moved, is_tested = audit.per_line.moved, audit.per_line.n_tested > 0
    is_shifted = audit.moved and not moved
    if as_json:
        found: dict[str, Any] = {
            "ok": not (moved or is_shifted) if is_tested or is_shifted else None,
            "summary": audit.per_line.summary,
            "table": None if audit.table is None else audit.table.to_dict(),
            "psi": None if audit.per_line.psi != audit.per_line.psi else audit.per_line.psi,
            "notes": [*notes, *_list_cautions(audit), *_list_notes(audit)],
        }
        found |= {} if beside is None else {"policy": beside.to_dict()}
        print_json({**found, "audit": audit.to_dict(), "lines": audit.per_line.to_dicts()})
    elif not quiet:
        tell(*notes)
        _show_audit(rules_file, audit)
        if is_shifted:
            print_text("No line moved, but the table did, so the status is 1.")
        if beside is not None:
            print_text(f"\nA policy instead of the rules:\n{beside}")
    elif moved or is_shifted:
        tell(*(audit.per_line.summary, *audit.shifts))
    if not is_tested and not is_shifted:
        raise ParameterError(_describe_untested(rules, audit))
    raise typer.Exit(code=1 if moved or is_shifted else 0)


class _Found(NamedTuple):
    audit: Audit
    notes: list[str]  # about the table
    beside: RulesDifference | None = None  # a policy on the same rows


def _audit(
    rules: Rules, data: str, used: Rows, reading: Reading, since: Any = None, policy: str | None = None, *, quiet: bool
) -> _Found:
    from secateur.cli.tables.fitted_table import read_policy
    from secateur.results.difference import find_difference

    if in_batches(data, rules.tree):
        unread = ("--policy",) if policy is not None else ()
        with open_batches(data, rules.tree, used, reading, unread) as opened, working("Auditing", quiet=quiet):
            audit = rules.audit(*opened[:2], since=since)
        return _Found(audit, opened[2])
    table, rows = reading.label(data, rules.tree, used, quiet=quiet)
    with working("Auditing", quiet=quiet):
        beside = None
        if policy is not None:
            typed, X = read_policy(policy, rules, table, rows)
            beside = find_difference(rules, typed, rows.X, rows.y, X)
        return _Found(rules.audit(rows.X, rows.y, since=since), list(rows.notes), beside)


def _describe_untested(rules: Rules, audit: Audit) -> str:
    if audit.per_line.since is not None:
        return "No rule could be tested: none has rows in both tables. Name tables with more rows."
    if rules.tree.is_regression and not rules.is_list:
        why = "The training targets of the rules of leaves are not kept. Name an earlier table with --since FILE."
    elif rules.fidelity is None and rules.is_ranked and not rules.is_weighted:
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


def _show_audit(path: Path, audit: Audit) -> None:
    from secateur.results.shifts import describe_psi
    from secateur.words.conditions import count_of

    found = audit.per_line
    say(f"{path} on {count_of(audit.n_rows, 'row')}:")
    say(str(audit))
    say(found.summary, style="bold red" if found.moved else "bold green")
    for one in found.moved:
        say(str(one))
    for shift in audit.shifts:
        say(shift, style="bold red")
    if (told := describe_psi(found.psi)) is not None:
        say(told)
    for caution in _list_cautions(audit):
        say(caution, style="yellow")
    for note in _list_notes(audit):
        say(note, style="dim")
