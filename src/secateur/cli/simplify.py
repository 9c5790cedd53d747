"""``secateur simplify``: fit a tree or take one, shorten its rules, and show what happened and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli.batches import check_batch_options, in_batches, open_batches
from secateur.cli.console import counting, print_json, tell, working
from secateur.cli.option_groups import Growing, Knobs, Reading, Rows, Trusting, spread
from secateur.cli.options import (
    Dialect,
    Export,
    Fact,
    Force,
    Holdout,
    Json,
    Method,
    Model,
    Output,
    Quiet,
    SqlTable,
    is_screen,
)
from secateur.cli.outputs import check_outputs, choose_export, deliver, make_export, write_files
from secateur.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from secateur.cli.tables.fitted_table import FittedTable
    from secateur.cli.tables.table_file import TableFile
    from secateur.rules.audit import Audit
    from secateur.rules.rule_set import RuleSet
    from secateur.verify import Verification

__all__ = ["command"]

SHOWN_RULES = 50
SHOWN_CLASSES = 5


class Table(StrEnum):
    """The embedded tables."""

    weather = "weather"
    human_id = "human-id"


@spread
def command(
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="CSV, TSV, JSON lines, Parquet or Arrow; - is standard input."),
    ] = None,
    *,
    used: Rows,
    model: Model = None,
    method: Method = None,
    knobs: Knobs,
    growing: Growing,
    holdout: Holdout = 0.0,
    fact: Fact = None,
    table: Annotated[
        Table | None, typer.Option(help="The embedded table to use.  [default: weather, without DATA]")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page about the rules, one HTML file.")
    ] = None,
    export: Annotated[
        Export | None, typer.Option(help="Write the rules, and only them, to --output or the screen.")
    ] = None,
    output: Output = None,
    dialect: Dialect = "duckdb",
    sql_table: SqlTable = "rows",
    save_model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the fitted tree or pipeline as a .skops file.")
    ] = None,
    force: Force = False,
    reasons: Annotated[
        bool, typer.Option("--reasons", help="Say of each condition why it was deleted or kept.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    reading: Reading,
    trusting: Trusting,
) -> None:
    """Fit a tree to a table, delete the conditions that do not matter, and show what happened and why.

    Text and boolean columns become categories, and blanks may be anywhere. Without DATA it runs on an embedded table.

    For example:

    secateur simplify loans.csv --target outcome
    secateur simplify loans.csv --target outcome --method exact --report page.html
    secateur simplify loans.csv --target outcome --export sql --dialect postgres > rules.sql
    secateur simplify loans.csv --target outcome --export json -o rules.json
    secateur simplify loans.csv --target outcome --model tree.skops
    secateur simplify --table human-id --method M1-D
    """
    export = choose_export(export, output)
    if as_json and export is not None and is_screen(output):
        raise ParameterError("--json and --export would both go to the screen: name a file with --output.")
    if data is not None and table is not None:
        raise ParameterError("Name a file or an embedded table, not both: leave out --table.")
    check_outputs(output, report, save_model, force=force)
    if data is None and used.target is not None:
        raise ParameterError("--target names a column of DATA: name the file too.")
    if data is None and (holdout or used != Rows() or reading != Reading()):
        raise ParameterError("--holdout, --drop and the like are about rows of DATA: name the file too.")
    if model is not None and (growing.max_depth is not None or growing.min_rows != Growing().min_rows):
        raise ParameterError("--max-depth and --min-rows are for a tree that is fitted here: leave them out.")
    options = {**knobs.settings, **({"facts": fact} if fact else {})}
    brought = None if model is None else trusting.load(model, quiet=quiet)
    if data is not None:
        from secateur.cli.tables.fitted_table import read_one_tree
        from secateur.methods import find_method

        chosen = find_method("layered" if method is None else method).name  # a slip is found before the work
        tree = None if brought is None else read_one_tree(brought)
        if in_batches(data, tree):
            check_batch_options(data, used, reading, holdout)
            story = _from_batches(
                *(data, brought, used.require_name(data), chosen, options, reading),
                no_facts=knobs.no_facts,
                quiet=quiet,
            )
        else:
            opened = reading.open(data, tree=tree, seed=growing.seed, quiet=quiet)
            arguments = {**used.take(opened), **growing.arguments, "holdout": holdout, "model": brought}
            options["take_facts"] = not knobs.no_facts
            story = _from_table(opened, arguments, chosen, options, quiet=quiet)
    elif model is not None:
        story = _from_model(brought, str(model), "exact" if method is None else method, options)
    else:
        chosen = "layered" if method is None else method
        story = _from_embedded(table or Table.weather, chosen, growing.max_depth, growing.seed, options)
    files: dict[Path, str | bytes] = {}
    if report is not None:
        with working("Making the page", quiet=quiet):
            files[report] = story.rules.report(*story.measured, title=story.name).to_html()
    if save_model is not None:
        files[save_model] = _dump(story.model)
    made = None if export is None else make_export(story.rules, export, dialect, sql_table)
    if made is not None and output is not None and not is_screen(output):
        files[output], made = made, None
    write_files(files, quiet=quiet or as_json)
    alone = as_json or made is not None
    if as_json:
        print_json(story.to_dict())
    elif made is not None:
        for note in story.notes:
            tell(note, quiet=quiet)
        deliver(made, None)
    elif not quiet:
        from secateur.cli.console import out

        _show(out, story, reasons=reasons)
    if not story.proof.ok and (alone or quiet):
        tell(str(story.proof))
    raise typer.Exit(code=0 if story.proof.ok else 1)


@dataclass(frozen=True)
class _Story:
    """What one simplification has to tell."""

    name: str
    opening: str
    model: Any
    rules: RuleSet
    rows: tuple[Any, Any]
    audit: Audit | None
    audited: str
    proof: Verification
    notes: tuple[str, ...] = ()
    measured: tuple[Any, Any] = (None, None)  # rows that were held out
    is_embedded: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        import json

        rules = self.rules
        return {
            "name": self.name,
            "notes": [*self.notes, *rules.remarks],
            "method": rules.method,
            "parameters": dict(rules.parameters),
            "guarantee": rules.guarantee,
            "n_rules": len(rules),
            "conditions_before": len(rules.deleted),
            "conditions_after": int((~rules.deleted).sum()),
            "audited_on": self.audited,
            "audit": None if self.audit is None else vars(self.audit),
            "verified": self.proof.ok,
            "verification": vars(self.proof),
            "rules": json.loads(rules.to_json()),
        }


def _from_table(
    table: TableFile, arguments: dict[str, Any], method: str, options: dict[str, Any], *, quiet: bool
) -> _Story:
    from secateur.cli.tables.fitted_table import fit_table, simplify_fitted

    with working("Fitting the tree", quiet=quiet):
        fitted = fit_table(table, **arguments)
    with working("Deleting conditions and checking the rules", quiet=quiet):
        rules = simplify_fitted(fitted, method=method, **options)
        audit = rules.audit(*_labelled(fitted.held_out or fitted.train))
        proof = rules.verify()
    n_rows = len(fitted.train.y)
    classes = _name_sizes(fitted.class_sizes)
    what = "The model" if fitted.is_brought else f"A decision tree (depth up to {_depth(arguments)})"
    opening = f"{what} for {fitted.target!r} on {n_rows:,} rows of {fitted.name} ({classes})"
    own = "these rows are those that the rules were made from" if fitted.is_brought else "the tree was fitted on them"
    audited = f"all {n_rows:,} rows; {own}"
    if fitted.held_out is not None:
        unseen = "whether the model saw them is not known" if fitted.is_brought else "the tree has not seen them"
        audited = f"{len(fitted.held_out.y):,} rows that were held out; {unseen}"
    measured = (None, None) if fitted.held_out is None else _labelled(fitted.held_out)
    rows, notes = (
        _labelled(fitted.train),
        (*fitted.notes, *(_tell_facts(fitted, rules) if options["take_facts"] else ())),
    )
    return _Story(fitted.name, opening, fitted.model, rules, rows, audit, audited, proof, notes, measured)


def _from_batches(
    data: str,
    model: Any,
    target: str,
    method: str,
    options: dict[str, Any],
    reading: Reading,
    *,
    no_facts: bool,
    quiet: bool,
) -> _Story:
    """The rules of a model on a table that is read in batches."""
    from dataclasses import replace

    from secateur.cli.tables.fitted_table import read_one_tree
    from secateur.simplification import simplify

    with open_batches(data, read_one_tree(model), target, reading, no_facts=no_facts) as (table, notes):
        with counting("Counting", quiet=quiet) as progress:
            rules = simplify(model, table, y=target, method=method, progress=progress, **options)
        with working("Measuring and checking the rules", quiet=quiet):
            audit, proof = rules.audit(table, target), rules.verify(table, target)
    told = notes()
    rules = replace(rules, training=None)  # the table is closed
    sizes = zip(rules.tree.classes.tolist(), rules.source_class_counts.sum(axis=0).astype(int).tolist(), strict=True)
    classes = _name_sizes(dict(sorted(sizes, key=lambda pair: -pair[1])))
    opening = f"The model for {target!r} on {audit.n_rows:,} rows of {table.name} ({classes})"
    audited = f"all {audit.n_rows:,} rows; these rows are those that the rules were made from"
    return _Story(table.name, opening, model, rules, (None, None), audit, audited, proof, told)


def _name_sizes(class_sizes: dict[Any, int]) -> str:
    """The largest classes and their sizes, and how many more there are."""
    sizes = [f"{label} {size:,}" for label, size in class_sizes.items()]
    more = f" and {len(sizes) - SHOWN_CLASSES} more" if sizes[SHOWN_CLASSES:] else ""
    return ", ".join(sizes[:SHOWN_CLASSES]) + more


def _tell_facts(fitted: FittedTable, rules: RuleSet) -> list[str]:
    """What was taken for granted, in a sentence if there is something."""
    from secateur.cli.tables.fitted_table import find_facts

    whole, facts = find_facts(rules.tree, fitted.train)
    told = "; ".join([*(f"{name} is a whole number" for name in whole), *facts])
    return [f"Taken for granted, as the table shows it: {told} (--no-facts takes nothing for granted)."] if told else []


def _depth(arguments: dict[str, Any]) -> int:
    from secateur.cli.tables.fitting import DEFAULT_DEPTH

    depth: int = arguments.get("max_depth", DEFAULT_DEPTH)
    return depth


def _labelled(table: Any) -> tuple[Any, Any]:
    return table.X, table.y


def _from_model(model: Any, name: str, method: str, knobs: dict[str, Any]) -> _Story:
    from secateur.cli.tables.fitted_table import read_one_tree
    from secateur.errors import InputError
    from secateur.methods import find_method
    from secateur.simplification import simplify

    if find_method(method).needs_rows:
        raise InputError(f"The method {method!r} judges deletions by training rows: name DATA, or use --method exact.")
    rules = simplify(read_one_tree(model), method=method, **knobs)
    return _Story(name, f"The model in {name}", model, rules, (None, None), None, "no rows", rules.verify())


def _from_embedded(table: Table, method: str, max_depth: int | None, seed: int, knobs: dict[str, Any]) -> _Story:
    from sklearn.tree import DecisionTreeClassifier

    from secateur import datasets
    from secateur.simplification import simplify

    data = datasets.load(table.value)
    model = DecisionTreeClassifier(max_depth=max_depth, random_state=seed).fit(data.X, data.y)
    rules = simplify(model, data.X, data.y, method=method, feature_names=data.feature_names, **knobs)
    opening = (
        f"A decision tree fitted to the [bold]{data.name}[/] table ({len(data.y)} rows, {data.target_name}?) "
        f"gives {len(rules)} rules with {len(rules.deleted)} conditions.\n"
    )
    audited, rows = "all rows; the tree was fitted on them", (data.X, data.y)
    return _Story(data.name, opening, model, rules, rows, rules.audit(*rows), audited, rules.verify(), is_embedded=True)


def _dump(model: Any) -> bytes:
    from secateur.cli.model_files import dump_model

    return dump_model(model)


def _show(out: Console, story: _Story, *, reasons: bool) -> None:
    """Print the whole story."""
    from rich.panel import Panel
    from rich.text import Text

    rules = story.rules
    n_before, left = len(rules.deleted), int((~rules.deleted).sum())
    if story.is_embedded:
        _show_embedded(out, story)
    else:
        out.print(Text(f"{story.opening} gives {len(rules):,} rules with {n_before:,} conditions."))
        for note in story.notes:
            out.print(Text(f"• {note}", style="dim"))
        _show_rules(out, rules, reasons=reasons)
    if story.audit is not None:
        title = "Audit" if story.is_embedded else f"Audit on {story.audited}"
        out.print(Panel(Text(str(story.audit)), title=Text(title), title_align="left"))
    out.print(Panel(Text(rules.guarantee), title="What is preserved", title_align="left", border_style="green"))
    colour = "green" if story.proof.ok else "red"
    out.print(Panel(Text(str(story.proof)), title="Checked independently", title_align="left", border_style=colour))
    out.print(f"✂ [bold]{n_before} conditions before, {left} after.[/]")


def _show_embedded(out: Console, story: _Story) -> None:
    from secateur.export.terminal import rules_to_table
    from secateur.simplification import simplify

    out.print(story.opening)
    before = simplify(story.rules.tree, *story.rows, method="none")
    out.print(rules_to_table(before, title="Before", caption=""))
    out.print(rules_to_table(story.rules, reasons=True, title=f"After: {story.rules.method}", caption=""))


def _show_rules(out: Console, rules: RuleSet, *, reasons: bool) -> None:
    """The first rules in words."""
    from rich.text import Text

    from secateur.rules.wording import read_evidence, read_link

    out.print(Text(f"\nThe rules after {rules.method}, and below each what was deleted (✂):", style="bold"))
    for rule in rules[:SHOWN_RULES]:
        out.print(Text(f"{rule.index + 1:3d}. {rule.text}   ({read_evidence(rule)})"))
        if not reasons and rule.deleted_ids:
            gone = "; ".join(read_link(rules.tree, rules.paths, link) for link in rule.deleted_ids)
            out.print(Text(f"     ✂ {gone}", style="dim"))
        for link, reason in rule.reasons.items() if reasons else ():
            sign, style = ("✂", "red") if reason.deleted else ("•", "green")
            words = f" {read_link(rules.tree, rules.paths, link)}  {reason.text}"
            out.print(Text.assemble(f"       {sign}", words, style=f"dim {style}"))
    if len(rules) > SHOWN_RULES:
        rest = f"… and {len(rules) - SHOWN_RULES:,} more rules: write them with --export or --report."
        out.print(Text(rest, style="dim"))
    for remark in rules.remarks:
        out.print(Text(f"Note: {remark}", style="dim"))
    out.print()
