"""``secateur simplify``: fit a tree or take one, shorten its rules, and show what happened and why."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli.batches import check_batch_options, in_batches, open_batches
from secateur.cli.console import counting, print_json, tell, working
from secateur.cli.forms import make_form, read_settings, show_compact
from secateur.cli.options import (
    Dialect,
    Export,
    Fact,
    Force,
    Form,
    Growing,
    Holdout,
    Json,
    Knobs,
    MaybeData,
    Method,
    Model,
    Output,
    Quiet,
    Reading,
    Rows,
    SqlTable,
    Trusting,
    is_screen,
    spread,
)
from secateur.cli.outputs import check_outputs, choose_export, deliver, make_export, write_files
from secateur.errors import InputError, ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from secateur.rules.audit import Audit
    from secateur.rules.compact_audit import CompactAudit
    from secateur.rules.compact_rules import CompactRules
    from secateur.rules.rule_set import RuleSet
    from secateur.verify import Verification

__all__ = ["command"]

SHOWN_RULES = 50
SHOWN_CLASSES = 5
OWN_ROWS = "the rules were made from these rows"


# The embedded tables.
Table = StrEnum("Table", {"weather": "weather", "human_id": "human-id"})


@dataclass(frozen=True)
class Writing:
    """What to write, and where."""

    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page about the rules, one HTML file.")
    ] = None
    export: Annotated[
        Export | None, typer.Option(help="Write the rules, and only them, to --output or the screen.")
    ] = None
    output: Output = None
    dialect: Dialect = "duckdb"
    sql_table: SqlTable = "rows"
    save_model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the fitted tree or pipeline as a .skops file.")
    ] = None
    force: Force = False

    def check(self, *, as_json: bool) -> Export | None:
        """Refuse what cannot be written, and settle what to export."""
        export = choose_export(self.export, self.output)
        if as_json and export is not None and is_screen(self.output):
            raise ParameterError("--json and --export would both go to the screen: name a file with --output.")
        check_outputs(self.output, self.report, self.save_model, force=self.force)
        return export

    def write(self, story: _Story, export: Export | None, *, as_json: bool, quiet: bool) -> str | bytes | None:
        """Write the files, and return what is left for the screen."""
        files: dict[Path, str | bytes] = {}
        if self.report is not None:
            with working("Making the page", quiet=quiet):
                title = None if story.target is None else f"What decides {story.target} in {Path(story.name).name}"
                page = story.rules.report(*story.measured, target=story.target, title=title or story.name)
                files[self.report] = page.to_html()
        if self.save_model is not None:
            from secateur.cli.model_files import dump_model

            files[self.save_model] = dump_model(story.model)
        made = None if export is None else make_export(story.rules, export, self.dialect, self.sql_table)
        if made is not None and self.output is not None and not is_screen(self.output):
            files[self.output], made = made, None
        write_files(files, quiet=quiet or as_json)
        return made


@spread
def command(
    data: MaybeData = None,
    *,
    used: Rows,
    model: Model = None,
    form: Form,
    method: Method = None,
    knobs: Knobs,
    growing: Growing,
    holdout: Holdout = 0.0,
    fact: Fact = None,
    table: Annotated[
        Table | None, typer.Option(help="The embedded table to use.  [default: weather, without DATA]")
    ] = None,
    writing: Writing,
    reasons: Annotated[bool, typer.Option("--reasons", help="Say why each condition was deleted or kept.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    reading: Reading,
    trusting: Trusting,
) -> None:
    """Fit a tree to a table, and say in few rules what it does: the cases of a class, and otherwise another.

    No prediction changes unless you allow a budget. Conditions that do not matter are deleted, and rules that others
    stand for dropped; --each-leaf gives one rule for each leaf, and what was deleted from it.
    Text and boolean columns become categories, and blanks may be anywhere. Without DATA it runs on an embedded table.

    For example:

    secateur simplify loans.csv --target outcome
    secateur simplify loans.csv --target outcome --budget 0.01
    secateur simplify loans.csv --target outcome --each-leaf --method layered --report page.html
    secateur simplify loans.csv --target outcome --export sql --dialect postgres > rules.sql
    secateur simplify loans.csv --target outcome --export json -o rules.json
    secateur simplify loans.csv --target outcome --model tree.skops
    secateur simplify --table human-id --each-leaf --method M1-D
    """
    if data is not None and table is not None:
        raise ParameterError("Name a file or an embedded table, not both: leave out --table.")
    export = writing.check(as_json=as_json)
    if data is None and used.target is not None:
        raise ParameterError("--target names a column of DATA: name the file too.")
    if data is None and (holdout or used != Rows() or reading != Reading()):
        raise ParameterError("--holdout, --drop and the like are about rows of DATA: name the file too.")
    if model is not None and (growing.max_depth, growing.min_rows) != (None, 1):
        raise ParameterError("--max-depth and --min-rows are for a tree that is fitted here: leave them out.")
    method = "exact" if method is None else method
    options = {**read_settings(method, knobs, form), **({"facts": fact} if fact else {})}
    brought = None if model is None else trusting.load(model, quiet=quiet)
    making = _Making(method, options, knobs, form)
    if data is not None:
        story = _from_data(data, brought, used, growing, reading, holdout, making, quiet=quiet)
    elif model is not None:
        story = _from_model(brought, str(model), making)
    else:
        story = _from_embedded(table or Table.weather, growing, making)
    shown = writing.write(story, export, as_json=as_json, quiet=quiet)
    if as_json:
        print_json(story.to_dict())
    elif shown is not None:
        for note in story.notes:
            tell(note, quiet=quiet)
        deliver(shown, None)
    elif not quiet:
        _show(story, reasons=reasons)
    if not story.proof.ok and (as_json or quiet or shown is not None):
        tell(str(story.proof))
    raise typer.Exit(code=0 if story.proof.ok else 1)


@dataclass(frozen=True)
class _Making:
    """How the rules are made."""

    method: str
    options: dict[str, Any]
    knobs: Knobs
    form: Form

    @property
    def take_facts(self) -> bool:
        return not self.knobs.no_facts

    def finish(self, rules: RuleSet) -> RuleSet | CompactRules:
        """Give the rules their form."""
        return make_form(rules, self.knobs, self.form)


@dataclass(frozen=True)
class _Story:
    """What one simplification has to tell."""

    name: str
    opening: str
    model: Any
    rules: RuleSet | CompactRules
    audit: Audit | CompactAudit | None
    audited: str
    proof: Verification
    notes: tuple[str, ...] = ()
    measured: tuple[Any, Any] = (None, None)  # rows that were held out
    target: str | None = None  # the column of the classes
    embedded: tuple[Any, Any] | None = None  # the rows of an embedded table

    @property
    def compact(self) -> CompactRules | None:
        """Few rules, where they are not one for each leaf."""
        from secateur.rules.compact_rules import CompactRules

        return self.rules if isinstance(self.rules, CompactRules) else None

    @property
    def whole(self) -> RuleSet:
        """One rule for each leaf."""
        from secateur.rules.compact_rules import CompactRules

        return self.rules.rules if isinstance(self.rules, CompactRules) else self.rules

    @property
    def n_conditions(self) -> tuple[int, int]:
        """Conditions before and after."""
        deleted = self.whole.deleted
        return len(deleted), int((~deleted).sum()) if self.compact is None else self.compact.n_conditions

    def to_dict(self) -> dict[str, Any]:
        """Tell the same to machines."""
        rules, few = self.rules, self.compact
        before, after = self.n_conditions
        compact = {} if few is None else {name: getattr(few, name) for name in ("otherwise", "budget", "tolerance")}
        return {
            "name": self.name,
            "notes": [*self.notes, *rules.remarks],
            "form": "compact" if compact else "each-leaf",
            "method": rules.method,
            "parameters": dict(self.whole.parameters),
            **compact,
            "guarantee": rules.guarantee,
            "rules_before": len(self.whole),
            "n_rules": len(rules),
            "conditions_before": before,
            "conditions_after": after,
            "audited_on": self.audited,
            "audit": None if self.audit is None else self.audit.to_dict(),
            "verified": self.proof.ok,
            "verification": vars(self.proof),
            "rules": json.loads(rules.to_json()),
        }


def _from_data(
    data: str,
    model: Any,
    used: Rows,
    growing: Growing,
    reading: Reading,
    holdout: float,
    making: _Making,
    *,
    quiet: bool,
) -> _Story:
    """Simplify a given model, or a tree that is fitted to the table."""
    from secateur.cli.tables.fitted_table import DEFAULT_DEPTH, fit_table, read_one_tree, simplify_fitted, tell_facts
    from secateur.methods import find_method

    method = find_method(making.method).name
    tree = None if model is None else read_one_tree(model)
    if in_batches(data, tree):
        check_batch_options(data, used, reading, holdout)
        return _from_batches(data, model, used.require_target(data), reading, making, quiet)
    table = reading.open(data, tree=tree, seed=growing.seed, quiet=quiet)
    with working("Fitting the tree", quiet=quiet):
        fitted = fit_table(table, **used.take(table), **growing.arguments, holdout=holdout, model=model)
    on = fitted.held_out or fitted.train
    with working("Deleting conditions and checking the rules", quiet=quiet):
        whole = simplify_fitted(fitted, method=method, take_facts=making.take_facts, **making.options)
        rules = making.finish(whole)
        audit, proof = rules.audit(on.X, on.y), rules.verify()
    n_rows, classes = len(fitted.train.y), _name_sizes(fitted.class_sizes)
    what, seen, unseen = "The model", OWN_ROWS, "the model may have seen them"
    if model is None:
        what = f"A decision tree (depth up to {growing.max_depth or DEFAULT_DEPTH})"
        seen, unseen = "the tree was fitted on them", "the tree has not seen them"
    opening = f"{what} for {fitted.target!r} on {n_rows:,} rows of {fitted.name} ({classes})"
    notes = (*fitted.notes, *(tell_facts(fitted, whole.tree) if making.take_facts else ()))
    measured: tuple[Any, Any] = (None, None)
    audited = f"all {n_rows:,} rows; {seen}"
    if fitted.held_out is not None:
        audited, measured = f"{len(on.y):,} rows that were held out; {unseen}", (on.X, on.y)
    return _Story(fitted.name, opening, fitted.model, rules, audit, audited, proof, notes, measured, fitted.target)


def _from_batches(data: str, model: Any, target: str, reading: Reading, making: _Making, quiet: bool) -> _Story:
    """Simplify a model on a table that is read in batches."""
    from secateur.cli.tables.fitted_table import read_one_tree
    from secateur.simplification import simplify

    tree = read_one_tree(model)
    with open_batches(data, tree, target, reading, no_facts=not making.take_facts) as (table, notes):
        with counting("Counting", quiet=quiet) as progress:
            whole = simplify(model, table, y=target, method=making.method, progress=progress, **making.options)
            rules = making.finish(whole)
        with working("Measuring and checking the rules", quiet=quiet):
            audit, proof = rules.audit(table, target), rules.verify(table, target)
    rules = _let_go(rules)  # the table is closed
    sizes = zip(whole.tree.classes.tolist(), whole.source_class_counts.sum(axis=0).astype(int).tolist(), strict=True)
    classes = _name_sizes(dict(sorted(sizes, key=lambda pair: -pair[1])))
    opening = f"The model for {target!r} on {audit.n_rows:,} rows of {table.name} ({classes})"
    audited = f"all {audit.n_rows:,} rows; {OWN_ROWS}"
    return _Story(table.name, opening, model, rules, audit, audited, proof, tuple(notes), target=target)


def _name_sizes(class_sizes: dict[Any, int]) -> str:
    """List the largest classes and their sizes, and say how many more there are."""
    sizes = [f"{label} {size:,}" for label, size in class_sizes.items()]
    more = f" and {len(sizes) - SHOWN_CLASSES} more" if sizes[SHOWN_CLASSES:] else ""
    return ", ".join(sizes[:SHOWN_CLASSES]) + more


def _let_go(rules: RuleSet | CompactRules) -> RuleSet | CompactRules:
    """Make the same rules without their rows."""
    from secateur.rules.compact_rules import CompactRules

    return rules.without_rows() if isinstance(rules, CompactRules) else replace(rules, training=None)


def _from_model(model: Any, name: str, making: _Making) -> _Story:
    from secateur.cli.tables.fitted_table import read_one_tree
    from secateur.methods import find_method
    from secateur.simplification import simplify

    if find_method(making.method).needs_rows:
        raise InputError(
            f"The method {making.method!r} judges deletions by training rows: name DATA, or use --method exact."
        )
    if making.knobs.budget and not making.form.each_leaf:
        raise InputError("A budget is spent on training rows: name DATA, or leave out --budget.")
    rules = making.finish(simplify(read_one_tree(model), method=making.method, **making.options))
    return _Story(name, f"The model in {name}", model, rules, None, "no rows", rules.verify())


def _from_embedded(table: Table, growing: Growing, making: _Making) -> _Story:
    from sklearn.tree import DecisionTreeClassifier

    from secateur import datasets
    from secateur.simplification import simplify

    data = datasets.load(table.value)
    rows = data.X, data.y
    model = DecisionTreeClassifier(max_depth=growing.max_depth, random_state=growing.seed).fit(*rows)
    whole = simplify(model, *rows, method=making.method, feature_names=data.feature_names, **making.options)
    rules = making.finish(whole)
    opening = (
        f"A decision tree fitted to the [bold]{data.name}[/] table ({len(data.y)} rows, {data.target_name}?) "
        f"gives {len(whole)} rules with {len(whole.deleted)} conditions.\n"
    )
    audited = "all rows; the tree was fitted on them"
    proof, target = rules.verify(), data.target_name
    return _Story(data.name, opening, model, rules, rules.audit(*rows), audited, proof, target=target, embedded=rows)


def _show(story: _Story, *, reasons: bool) -> None:
    """Print the whole story."""
    from rich.panel import Panel
    from rich.text import Text

    from secateur.cli.console import out
    from secateur.rules.wording import count_of

    rules, whole, few = story.rules, story.whole, story.compact
    before, left = story.n_conditions
    if story.embedded is not None:
        _show_embedded(out, story, story.embedded)
    else:
        out.print(Text(f"{story.opening} gives {len(whole):,} rules with {before:,} conditions."))
        for note in story.notes:
            out.print(Text(f"• {note}", style="dim"))
        if few is None:
            _show_rules(out, whole, reasons=reasons)
    if few is not None:
        _show_compact(out, few, reasons=reasons)
    if story.audit is not None:
        title = "Audit" if story.embedded is not None else f"Audit on {story.audited}"
        out.print(Panel(Text(str(story.audit)), title=Text(title), title_align="left"))
    out.print(Panel(Text(rules.guarantee), title="What is preserved", title_align="left", border_style="green"))
    colour = "green" if story.proof.ok else "red"
    out.print(Panel(Text(str(story.proof)), title="Checked independently", title_align="left", border_style=colour))
    if few is None:
        out.print(f"✂ [bold]{before:,} conditions before, {left:,} after.[/]")
    else:
        rest = f"{left:,} in {count_of(len(few), 'rule')} and “otherwise” after"
        out.print(f"✂ [bold]{before:,} conditions in {count_of(len(whole), 'rule')} before, {rest}.[/]")


def _show_embedded(out: Console, story: _Story, rows: tuple[Any, Any]) -> None:
    from secateur.export.terminal import rules_to_table
    from secateur.simplification import simplify

    out.print(story.opening)
    before = simplify(story.rules.tree, *rows, method="none")
    out.print(rules_to_table(before, title="Before", caption=""))
    if story.compact is None:
        out.print(rules_to_table(story.whole, reasons=True, title=f"After: {story.rules.method}", caption=""))


def _show_compact(out: Console, rules: CompactRules, *, reasons: bool) -> None:
    """Print few rules, and say what their numbers are."""
    from rich.text import Text

    changes = "no prediction changes" if rules.is_exact else f"budget {100 * rules.budget:.6g} %"
    how = changes if rules.is_exact or rules.budget else f"of the rules after {rules.method}"
    heading = f"\nThe rules ({how}), the training rows that each decides, and the share of them in its class:"
    out.print(Text(heading, style="bold"))
    show_compact(out, rules, reasons=reasons)
    if not reasons:
        out.print(Text("--reasons says why each condition is there, --each-leaf gives one rule per leaf.", style="dim"))
    out.print()


def _show_rules(out: Console, rules: RuleSet, *, reasons: bool) -> None:
    """Print the first rules in words."""
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
