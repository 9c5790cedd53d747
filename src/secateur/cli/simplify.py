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
from secateur.cli.forms import make_form, read_settings
from secateur.cli.options import (
    Export,
    Fact,
    Form,
    Growing,
    Holdout,
    Json,
    Knobs,
    MaybeData,
    Method,
    Model,
    Quiet,
    Reading,
    Rows,
    Trusting,
    spell,
    spread,
)
from secateur.cli.outputs import deliver
from secateur.cli.writing import Writing
from secateur.errors import InputError, ParameterError

if TYPE_CHECKING:
    from secateur.cli.tables.fitted_table import FittedTable
    from secateur.report.report import Report
    from secateur.results.audit import Audit
    from secateur.results.compact_audit import CompactAudit
    from secateur.rules.compact_rules import CompactRules
    from secateur.rules.rule_set import RuleSet
    from secateur.verify import Verification

__all__ = ["command"]


# The embedded tables.
Table = StrEnum("Table", {"weather": "weather", "human_id": "human-id"})


@dataclass(frozen=True)
class SimplifyWriting(Writing):
    """What `simplify` writes, and where: what is written about rules, and the fitted model."""

    save_model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the fitted tree or pipeline as a .skops file.")
    ] = None

    @property
    def files(self) -> tuple[Path | None, ...]:
        """The files that were asked for."""
        return *super().files, self.save_model

    def write(self, story: Story, export: Export | None, *, as_json: bool, quiet: bool) -> str | bytes | None:
        """Write the files, and return what is left for the screen."""

        def make_page() -> Report:
            title = None if story.target is None else f"What decides {story.target} in {Path(story.name).name}"
            told = [*story.settings, *story.notes, *story.granted]
            return story.rules.report(*story.measured, target=story.target, title=title or story.name, notes=told)

        more: dict[Path, bytes] = {}
        if self.save_model is not None:
            from secateur.cli.model_files import dump_model

            more[self.save_model] = dump_model(story.model)
        return self.write_rules(story.rules, export, make_page, more, as_json=as_json, quiet=quiet)


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
    writing: SimplifyWriting,
    reasons: Annotated[bool, typer.Option("--reasons", help="Say why each condition was deleted or kept.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print all measurements, what is promised, and how it was checked.")
    ] = False,
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
    secateur simplify loans.csv --target outcome --each-leaf --method faithful --report page.html
    secateur simplify loans.csv --target outcome --export sql --dialect postgres > rules.sql
    secateur simplify loans.csv --target outcome --export json -o rules.json
    secateur simplify loans.csv --target outcome --model tree.skops
    secateur simplify --table human-id --each-leaf --method M1-D
    """
    if data is not None and table is not None:
        raise ParameterError("Name a file or an embedded table, not both: leave out --table.")
    export = writing.check(data, model, as_json=as_json)
    if data is None and used.target is not None:
        raise ParameterError("--target names a column of DATA: name the file too.")
    if data is None and (holdout or used != Rows() or reading != Reading()):
        raise ParameterError("--holdout, --drop and the like are about rows of DATA: name the file too.")
    if model is not None:
        growing.refuse_with_model()
    given = (
        *(() if model is None else ("--model", str(model))),
        *spell(form),
        *(() if method is None else ("--method", method)),
        *(word for one in fact or () for word in ("--fact", one)),
        *(word for group in (replace(used, target=None), knobs, growing, reading, trusting) for word in spell(group)),
    )
    method = "exact" if method is None else method
    options = {**read_settings(method, knobs, form), **({"facts": fact} if fact else {})}
    brought = None if model is None else trusting.load(model, quiet=quiet)
    making = _Making(method, options, knobs, form, given)
    if brought is not None and model is not None and data is not None and _is_ensemble(brought):
        if method != "exact" or knobs != Knobs() or form.each_leaf or fact or writing.save_model is not None:
            raise ParameterError(
                f"{model.name} is of several trees, which few rules approximate: leave out what is about one tree "
                f"(--method, --budget, --each-leaf and the like), or see `secateur approximate --help`."
            )
        return _approximate(
            brought, model, data, used, growing, holdout, form, writing, reading, trusting, verbose, as_json, quiet
        )
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
        for note in (*(f"Warning: {one}" for one in story.warnings), *story.notes):
            tell(note, quiet=quiet)
        deliver(shown, None)
    elif not quiet:
        from secateur.cli.answer import show_answer

        show_answer(story, reasons=reasons, verbose=verbose, page=writing.report)
    if not story.proof.ok and (as_json or quiet or shown is not None):
        tell(str(story.proof))
    raise typer.Exit(code=0 if story.proof.ok else 1)


def _is_ensemble(model: Any) -> bool:
    from secateur.adapters.forests import is_ensemble

    return is_ensemble(model)


def _approximate(
    brought: Any,
    model: Path,
    data: str,
    used: Rows,
    growing: Growing,
    holdout: float,
    form: Form,
    writing: Writing,
    reading: Reading,
    trusting: Trusting,
    verbose: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Take a model of several trees to ``secateur approximate``."""
    from secateur.cli import approximate

    wishes = approximate.Wishes(otherwise=form.otherwise, seed=growing.seed, holdout=holdout or 0.25)
    approximate.run(
        *(brought, model, data, used, wishes, writing, reading, trusting),
        verbose=verbose,
        as_json=as_json,
        quiet=quiet,
    )


@dataclass(frozen=True)
class _Making:
    """How the rules are made."""

    method: str
    options: dict[str, Any]
    knobs: Knobs
    form: Form
    given: tuple[str, ...]  # the options that make the same rules of the same table once more

    @property
    def take_facts(self) -> bool:
        return not self.knobs.no_facts

    def finish(self, rules: RuleSet) -> RuleSet | CompactRules:
        """Give the rules their form."""
        return make_form(rules, self.knobs, self.form)


@dataclass(frozen=True)
class Story:
    """What one simplification has to tell."""

    name: str
    opening: str
    model: Any
    rules: RuleSet | CompactRules
    audit: Audit | CompactAudit | None
    audited: str  # which rows, after "of"
    proof: Verification
    again: tuple[str, ...]  # the command to try next, after "secateur simplify"
    notes: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()  # how a tree was fitted here, for the page
    granted: tuple[str, ...] = ()  # what was taken for granted
    measured: tuple[Any, Any] = (None, None)  # rows that were held out
    target: str | None = None  # the column of the classes
    warnings: tuple[str, ...] = ()  # what to know before relying on the rules, a sentence each

    @property
    def is_set_aside(self) -> bool:
        """Whether the audit is on rows that the rules were not made from."""
        return self.measured[0] is not None

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
            "warnings": list(self.warnings),
            "notes": [*self.notes, *self.granted, *rules.remarks],
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
) -> Story:
    """Simplify a given model, or a tree that is fitted to the table."""
    from secateur.cli.tables.fitted_table import fit_table, read_one_tree, simplify_fitted, tell_facts
    from secateur.cli.warnings import warn_of_rules
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
    granted = tuple(tell_facts(fitted, whole.tree)) if making.take_facts else ()
    measured: tuple[Any, Any] = (None, None)
    audited = f"the {len(on.y):,} rows that {'the tree was fitted to' if model is None else 'the rules were made from'}"
    if fitted.held_out is not None:
        unseen = "that the tree has not seen" if model is None else "set aside, which the model may have seen"
        audited, measured = f"{len(on.y):,} rows {unseen}", (on.X, on.y)
    opening = _open(whole, fitted.target, f"{'A decision tree' if model is None else 'The model'} for {fitted.name}")
    set_aside = ("--holdout", str(holdout or 0.25))
    return Story(
        name=fitted.name,
        opening=opening,
        model=fitted.model,
        rules=rules,
        audit=audit,
        audited=audited,
        proof=proof,
        again=(data, "--target", fitted.target, *making.given, *set_aside, "--report", "page.html"),
        notes=fitted.notes,
        settings=_tell_settings(fitted, growing) if model is None else (),
        granted=granted,
        measured=measured,
        target=fitted.target,
        warnings=warn_of_rules(rules, audit, min_rows=fitted.min_rows, balanced=growing.balanced),
    )


def _tell_settings(fitted: FittedTable, growing: Growing) -> tuple[str, ...]:
    """Say how the tree was fitted."""
    from secateur.cli.tables.fitted_table import DEFAULT_DEPTH

    depth = growing.max_depth or DEFAULT_DEPTH
    alike = "; every class counts alike, however rare it is" if growing.balanced else ""
    least = "1 row" if fitted.min_rows == 1 else f"{fitted.min_rows} rows"
    return (f"The tree was fitted with a depth of at most {depth} and at least {least} in each leaf{alike}.",)


def _open(rules: RuleSet, target: str, what: str) -> str:
    """Say what is predicted, and how often each class occurs."""
    from secateur.results.answer import say_classes

    sizes = rules.source_class_counts.sum(axis=0)
    names = rules.tree.class_names
    return say_classes(names, sizes, target, is_weighted=rules.is_weighted, who=f"{what} predicts")


def _from_batches(data: str, model: Any, target: str, reading: Reading, making: _Making, quiet: bool) -> Story:
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
    opening = _open(whole, target, f"The model for {table.name}")
    again = (data, "--target", target, *making.given, "--export", "sql")
    audited = f"the {audit.n_rows:,} rows that the rules were made from"
    return Story(table.name, opening, model, rules, audit, audited, proof, again, tuple(notes), target=target)


def _let_go(rules: RuleSet | CompactRules) -> RuleSet | CompactRules:
    """Make the same rules without their rows."""
    from secateur.rules.compact_rules import CompactRules

    return rules.without_rows() if isinstance(rules, CompactRules) else replace(rules, training=None)


def _from_model(model: Any, name: str, making: _Making) -> Story:
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
    classes = ", ".join(rules.tree.class_names[:-1]) + f" or {rules.tree.class_names[-1]}"
    opening = f"{name}: a decision tree that predicts {classes}; no rows were named, so nothing was measured."
    again = ("DATA", "--target", "COLUMN", *making.given)
    return Story(name, opening, model, rules, None, "no rows", rules.verify(), again)


def _from_embedded(table: Table, growing: Growing, making: _Making) -> Story:
    from sklearn.tree import DecisionTreeClassifier

    from secateur import datasets
    from secateur.cli.warnings import warn_of_rules
    from secateur.simplification import simplify

    data = datasets.load(table.value)
    rows = data.X, data.y
    model = DecisionTreeClassifier(max_depth=growing.max_depth, random_state=growing.seed).fit(*rows)
    groups: dict[str, list[str]] = {}
    for column in data.feature_names:
        groups.setdefault(column.partition("=")[0], []).append(column)
    whole = simplify(
        model,
        *rows,
        method=making.method,
        feature_names=data.feature_names,
        groups=groups,
        # The paper's procedures take columns of zeros and ones for what they are: groups only help to read them.
        domain_knowledge=not making.form.each_leaf,
        **making.options,
    )
    rules = making.finish(whole)
    opening = _open(whole, data.target_name, f"A decision tree for the embedded table {data.name}")
    audited = f"the {len(data.y)} rows that the tree was fitted to"
    again = ("YOUR_TABLE.csv", "--target", "COLUMN")
    audit, proof = rules.audit(*rows), rules.verify()
    warnings = warn_of_rules(rules, audit, min_rows=None, balanced=False)
    return Story(
        *(data.name, opening, model, rules, audit, audited, proof, again), target=data.target_name, warnings=warnings
    )
