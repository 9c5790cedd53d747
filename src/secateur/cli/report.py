"""``secateur report``: write a page about rules, one file that works offline."""

from pathlib import Path
from typing import Annotated, Any

import typer

from secateur.cli.console import working
from secateur.cli.options import Force, Growing, Making, Quiet, Reading, Rows, Splitting, spread
from secateur.cli.writing import check_outputs, deliver
from secateur.errors import ParameterError


@spread
def command(
    source: Annotated[str, typer.Argument(metavar="RULES|DATA", help="Rules as JSON, or a table as for simplify.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File to write the page to.")],
    *,
    used: Rows,
    data: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The table that the rules were made from, for numbers about its rows."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    making: Making,
    growing: Growing,
    splitting: Splitting,
    force: Force = False,
    quiet: Quiet = False,
    reading: Reading,
) -> None:
    """Write a page about rules: one HTML file that works offline.

    For example:

    secateur report loans.csv --target outcome -o page.html
    secateur report loans.csv --target outcome --each-leaf --method mismatch -o page.html
    secateur report rules.json --data loans.csv --target outcome -o page.html
    """
    from secateur.cli.model_files import is_rules_file, load_rules
    from secateur.cli.tables.fitted_table import fit_table, label_rows, set_aside, simplify_fitted, split_again

    check_outputs(output, inputs=(source, data), force=force)
    rows: tuple[Any, Any] = (None, None)
    target = used.target
    if is_rules_file(Path(source)):
        if (data is None) != (used.target is None):
            raise ParameterError("Name the table and the column of its classes: --data FILE --target COLUMN.")
        if (making, growing, splitting) != (Making(), Growing(), Splitting()):
            raise ParameterError(f"{source} holds rules already: leave out how to make them, such as --method.")
        rules = load_rules(Path(source))
        if data is not None:
            table = reading.open(data, tree=rules.tree, seed=growing.seed, quiet=quiet)
            labelled = label_rows(table, rules.tree, **used.take(table))
            rows, target = (labelled.X, labelled.y), labelled.target
            train, held_out = split_again(rules, labelled, table)
            if (
                held_out is not None
                and rules.unseen is not None
                and rules.verify(train.X, train.y, unseen=(held_out.X, held_out.y)).ok
            ):
                rules, rows = set_aside(rules, held_out, rules.unseen.split, train), (held_out.X, held_out.y)
    else:
        if data is not None:
            raise ParameterError(f"{source} does not hold rules: name one table only.")
        options = making.arguments
        table = reading.open(source, seed=growing.seed, quiet=quiet)
        with working("Fitting the tree", quiet=quiet):
            fitted = fit_table(table, **used.take(table), **growing.arguments, **splitting.arguments)
            rows = (None, None) if fitted.held_out is None else (fitted.held_out.X, fitted.held_out.y)
            target = fitted.target
            rules = simplify_fitted(fitted, takes_facts=not making.no_facts, **options)
    with working("Making the page", quiet=quiet):
        what = None if target is None else f"What decides {target} in {Path(data or source).name}"
        page = rules.report(*rows, target=target, title=title or what or Path(source).name).to_html()
    deliver(page, output, force=force, quiet=quiet)
