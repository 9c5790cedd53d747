"""``secateur approximate``: approximate any model by a short list, and say how often both agree."""

from __future__ import annotations

import json
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli.console import print_json, say, tell, working
from secateur.cli.options import Data, Json, Quiet, Reading, Rows, Trusting, column_option, option, spell, spread
from secateur.cli.writing import Writing, deliver
from secateur.errors import InputError, SecateurError, UnsupportedModelError, shorten
from secateur.tree.tree import Tree

if TYPE_CHECKING:
    from secateur.cli.tables.table_file import TableFile
    from secateur.rules.rules import Rules

OWN_RULES = "see `secateur simplify DATA --model MODEL`"


@dataclass(frozen=True)
class Wishes:
    """What the list should be, and what the rows are about."""

    target: str | None = column_option(
        "The column of the classes or numbers, only to say how often rules and model are right."
    )
    drop: list[str] | None = column_option("Columns that are not for the model.", metavar="COLUMNS")
    fidelity: float | None = option("Share of rows on which the rules should agree with the model, such as 0.95.")
    max_rules: int | None = option("The most rules.  [default: 10, without --fidelity]", min=1)
    max_conditions: int | None = option("The most conditions of all rules.", min=1)
    holdout: float = option("Share of the rows to measure on instead of learning from.", default=0.25, metavar="SHARE")
    n_queries: int | None = option(
        "The most rows to ask the model about.  [default: all, and 10,000 to 20,000 neighbours of them]", min=1
    )
    otherwise: str | None = option("The class of “otherwise”.", metavar="CLASS")
    seed: int = option("Seed of the split and the neighbours.", default=0, min=0, max=2**32 - 1)


@spread
def approximate_command(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A fitted model: .skops, or a pickle with --trust-pickle.")
    ],
    data: Data,
    *,
    wishes: Wishes,
    writing: Writing,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print what is promised and how it was checked.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    reading: Reading,
    trusting: Trusting,
) -> None:
    """Approximate any classifier or regressor by a short list: a forest, a boosted model, a neural network.

    The rules equal a tree that is fitted to the model's answers. How often they agree with the model is measured on
    held-out rows, with an interval, for all rows, each class and each rule.

    For example:

    secateur approximate forest.skops loans.csv --target outcome
    secateur approximate forest.skops loans.csv --target outcome --fidelity 0.95
    secateur approximate forest.skops loans.csv --max-rules 8 --report page.html
    secateur approximate forest.joblib loans.csv --trust-pickle --export json -o rules.json
    """
    writing.check(model, data, as_json=as_json)
    used = Rows(wishes.target, wishes.drop)
    asked = trusting.load(model, quiet=quiet)
    run(asked, model, data, used, wishes, writing, reading, trusting, verbose=verbose, as_json=as_json, quiet=quiet)


def run(
    asked: Any,
    model: Path,
    data: str,
    used: Rows,
    wishes: Wishes,
    writing: Writing,
    reading: Reading,
    trusting: Trusting,
    *,
    verbose: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Approximate a loaded model by the rows of a table, and write and print what came of it."""
    if isinstance(asked, Tree):
        raise UnsupportedModelError(f"{model} holds a tree, and its own rules say exactly what it does: {OWN_RULES}.")
    export = writing.check(model, data, as_json=as_json)
    target, table = used.target, reading.open(data, seed=wishes.seed, quiet=quiet)
    rules, notes = make_approximation(asked, table, used, wishes, quiet=quiet)
    title = f"What {model.name} does" if target is None else f"What decides {target} in {model.name}"
    page = {"target": target, "title": title}
    made = writing.write(rules, export, page, {}, quiet=quiet or as_json, missing=reading.missing)
    proof = rules.verify()
    if as_json:
        found = rules.fidelity
        print_json(
            {
                "name": table.name,
                "notes": [*notes, *rules.remarks],
                "approximation": None if found is None else found.to_dict(),
                "guarantee": rules.guarantee,
                "n_rules": len(rules),
                "n_conditions": rules.n_conditions,
                "verified": proof.ok,
                "verification": vars(proof),
                "rules": json.loads(rules.to_json()),
            }
        )
    elif made is not None:
        tell(*notes, quiet=quiet)
        deliver(made, None)
    elif not quiet:
        from secateur.cli.simplify import SHOWN_RULES, show_listing, show_next
        from secateur.export.listing import make_listing

        show_listing(make_listing(rules, most=SHOWN_RULES), notes=notes)
        if verbose or not proof.ok:
            say(f"\n{rules.guarantee}\n{proof}")
        further = ("--report", "page.html") if writing.report is None else ("--export", "json", "-o", "rules.json")
        show_next(("approximate", str(model), data, *spell(wishes, reading, trusting), *further))
    raise typer.Exit(code=0 if proof.ok else 1)


def make_approximation(
    model: Any, table: TableFile, used: Rows, wishes: Wishes, *, quiet: bool
) -> tuple[Rules, list[str]]:
    """Approximate a model on the rows of a table; also give notes about the table."""
    from secateur.adapters import from_model
    from secateur.approximation import approximate

    X, labels, names, notes = pick_rows(model, table, used)
    with suppress(SecateurError):
        from_model(model)
        notes += [f"This model is one tree, and its own rules say exactly what it does: {OWN_RULES}."]
    asked: dict[str, Any] = {"otherwise": "auto" if wishes.otherwise is None else wishes.otherwise}
    asked |= {name: getattr(wishes, name) for name in ("fidelity", "max_rules", "max_conditions", "n_queries")}
    asked |= {"held_out": wishes.holdout, "random_state": wishes.seed, "feature_names": names}
    with (
        working("Asking the model, and fitting a tree to its answers", quiet=quiet),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always", UserWarning)
        rules = approximate(model, X, labels, **asked)
    return rules, [*notes, *dict.fromkeys(str(one.message) for one in warned)]


def pick_rows(model: Any, table: TableFile, used: Rows) -> tuple[Any, Any, list[str] | None, list[str]]:
    """Pick the rows of a table that a model is asked about, their labels, names of columns, and notes."""
    from secateur.adapters.reading import fitted_names
    from secateur.cli.tables.table_columns import find_columns
    from secateur.cli.tables.training_table import find_column, read_labels, split_names

    columns, labels, notes = list(table.frame.columns), None, list(table.notes)
    kept: Any = slice(None)
    dropped = split_names(columns, used.drop or (), table.name)
    beside = list(dropped)
    if used.target is not None:
        target = find_column(columns, used.target, table.name)
        own = getattr(model, "classes_", ())  # a model fitted to labels with blanks around them answers with blanks
        is_blank_kept = any(isinstance(label, str) and label != label.strip() for label in own)
        read = read_labels(table, target, used.drop_class or (), as_text=is_blank_kept)
        kept, labels = read.kept, read.values
        beside, notes = [target, *beside], [*notes, *read.notes]
    needed = set(fitted_names(model) or ()).intersection(dropped)
    if needed:
        raise InputError(f"The model was fitted on {shorten(sorted(needed))}, and cannot do without: leave out --drop.")
    own, width = getattr(model, "feature_names_in_", None), getattr(model, "n_features_in_", None)
    if width == 0:
        raise InputError(
            "The model is not fitted, or its file does not hold all of it, as a .skops file of CatBoost does not: save "
            "it with joblib, and pass --trust-pickle."
        )
    found = find_columns(table, None if own is None else [*map(str, own)], width, beside).reset_index(drop=True)
    if own is not None or width is None:
        return found[kept], labels, None, notes
    return found.to_numpy()[kept], labels, [*map(str, found.columns)], notes  # the rules get the names
