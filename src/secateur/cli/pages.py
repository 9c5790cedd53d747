"""``secateur report`` and ``open``: a page about rules in one file, or with the rows behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli import options
from secateur.cli.console import print_text, tell, working
from secateur.cli.writing import check_outputs, deliver
from secateur.errors import ParameterError

if TYPE_CHECKING:
    from secateur.cli.tables.table_file import TableFile
    from secateur.cli.tables.training_table import TrainingTable
    from secateur.report.desk import Training

SOURCE = typer.Argument(metavar="RULES|DATA", help="Rules as JSON, or a table as for simplify.")


@dataclass(frozen=True)
class Paging:
    """What is on a page beside the rules."""

    title: str | None = options.option("Title of the page.")
    groups_by: str | None = options.column_option(
        "A column by whose values the page tells what each group of rows is told.", "--groups-by"
    )

    def arrange(self, table: TableFile, measured: TrainingTable, target: str) -> dict[str, Any]:
        """Make the arguments of ``rules.report``."""
        title = self.title or f"What decides {target} in {Path(table.name).name}"
        page: dict[str, Any] = {"target": target, "title": title}
        if self.groups_by is not None:
            from secateur.cli.tables.training_table import find_column

            name = find_column(list(table.frame.columns), self.groups_by, table.name)
            page["groups_by"] = table.frame[name].iloc[measured.places]
        return page


@options.spread
def report_command(
    source: Annotated[str, SOURCE],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File to write the page to.")],
    *,
    used: options.Rows,
    data: options.RulesData = None,
    paging: Paging,
    making: options.Making,
    growing: options.Growing,
    splitting: options.Splitting,
    force: options.Force = False,
    quiet: options.Quiet = False,
    reading: options.Reading,
) -> None:
    """Write a page about rules: one HTML file that works offline.

    For example:

    secateur report loans.csv --target outcome -o page.html
    secateur report loans.csv --target outcome --each-leaf --method mismatch -o page.html
    secateur report rules.json --data loans.csv --target outcome -o page.html
    """
    check_outputs(output, inputs=(source, data), force=force)
    made, _ = open_source(source, data, used, paging, making, growing, splitting, reading, quiet=quiet)
    with working("Making the page", quiet=quiet):
        page = made.rules.report(made.X, made.y, **made.page).to_html()
    deliver(page, output, force=force, quiet=quiet)


@options.spread
def open_command(
    source: Annotated[str | None, SOURCE] = None,
    *,
    used: options.Rows,
    data: options.RulesData = None,
    beside: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rules of another training, to show side by side.")
    ] = None,
    model: options.Model = None,
    paging: Paging,
    making: options.Making,
    growing: options.Growing,
    splitting: options.Splitting,
    browser: Annotated[bool, typer.Option("--browser", help="Show the page in the browser.")] = False,
    quiet: options.Quiet = False,
    reading: options.Reading,
    trusting: options.Trusting,
) -> None:
    """Open a table, rules or a model as a page with the rows behind it, until Ctrl-C.

    The page counts what edits cost, fits the tree again without columns that you forbid, and shows two trainings side
    by side. It is served from 127.0.0.1, under an address that only you are told; nothing leaves the machine, and
    nothing is written.

    For example:

    secateur open loans.csv --target outcome
    secateur open rules.json --data loans.csv --target outcome --beside february.json
    secateur open loans.csv --target outcome --model tree.skops
    """
    from secateur.cli.model_files import is_rules_file
    from secateur.cli.tables.fitted_table import read_one_tree
    from secateur.report.desk import Desk, DeskServer, Training

    refit: Any = None
    if (source is None and model is None) or (model is not None and source is not None and is_rules_file(Path(source))):
        raise ParameterError("Name a table, rules or a model: `secateur open loans.csv --target outcome`.")
    brought = None if model is None else read_one_tree(trusting.load(model, quiet=quiet))
    if source is not None:
        how = (used, paging, making, growing, splitting, reading)
        made, refit = open_source(source, data, *how, model=brought, quiet=quiet)
    else:
        from secateur.simplification import simplify

        assert model is not None
        made = Training(model.name, simplify(brought, **making.arguments), page={"title": paging.title or model.name})
    trainings = [made]
    if beside is not None:
        trainings.append(open_rules(beside, data or source, used, paging, reading, quiet=quiet))
    desk = Desk(trainings, refit)
    with working("Making the page", quiet=quiet):
        desk.render(0)
    with DeskServer(desk) as server:
        print_text(server.address)
        tell("Open this address in a browser of this machine; Ctrl-C ends it.", quiet=quiet)
        if browser:
            import webbrowser

            webbrowser.open(server.address)
        server.serve_forever()


def open_rules(
    path: Path, data: str | None, used: options.Rows, paging: Paging, reading: options.Reading, *, quiet: bool = False
) -> Training:
    """Open rules in a file, with the rows of the table that they were made from if it is named."""
    from secateur.cli.model_files import load_rules
    from secateur.cli.tables.fitted_table import set_aside, split_again
    from secateur.report.desk import Training

    options.require_both(data, used)
    rules = load_rules(path)
    if data is None:
        if paging.groups_by is not None:
            raise ParameterError("--groups-by is about rows: name their table with --data.")
        return Training(path.name, rules, page={"title": paging.title or path.name})
    table, labelled = reading.label(data, rules.tree, used, quiet=quiet)
    train, held_out = split_again(rules, labelled, table)
    if (
        held_out is not None
        and rules.unseen is not None
        and rules.verify(train.X, train.y, unseen=(held_out.X, held_out.y)).ok
    ):
        rules, labelled = set_aside(rules, held_out, rules.unseen.split, train), held_out
    page = paging.arrange(table, labelled, labelled.target)
    return Training(path.name, rules, labelled.X, labelled.y, page=page)


def open_source(
    source: str,
    data: str | None,
    used: options.Rows,
    paging: Paging,
    making: options.Making,
    growing: options.Growing,
    splitting: options.Splitting,
    reading: options.Reading,
    *,
    model: Any = None,
    quiet: bool = False,
) -> tuple[Training, Callable[[list[str]], Training] | None]:
    """Open rules, or make those of a table's tree or of a model; also give how to fit the tree without some columns."""
    from secateur.cli.model_files import is_rules_file
    from secateur.cli.tables.fitted_table import fit_table, simplify_fitted
    from secateur.report.desk import Training

    if is_rules_file(Path(source)):
        if (making, growing, splitting) != (options.Making(), options.Growing(), options.Splitting()):
            raise ParameterError(f"{source} holds rules already: leave out how to make them, such as --method.")
        return open_rules(Path(source), data, used, paging, reading, quiet=quiet), None
    if data is not None:
        raise ParameterError(f"{source} does not hold rules: name one table only.")
    table = reading.open(source, tree=model, seed=growing.seed, quiet=quiet)

    def fit(without: list[str]) -> Training:
        left = replace(used, drop=[*(used.drop or ()), *without])
        fitted = fit_table(table, **left.take(table), **growing.arguments, **vars(splitting), model=model)
        rules = simplify_fitted(fitted, takes_facts=not making.no_facts, **making.arguments)
        measured = fitted.held_out or fitted.train
        columns = () if model is not None else tuple(map(str, fitted.train.X.columns))
        name = f"without {', '.join(without)}" if without else fitted.name
        return Training(name, rules, measured.X, measured.y, columns, paging.arrange(table, measured, fitted.target))

    with working("Fitting the tree", quiet=quiet):
        return fit([]), fit if model is None else None
