"""``secateur simplify``: fit a tree or take one, shorten its rules, and show what happened and why."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli.console import counting, print_json, tell, working
from secateur.cli.options import (
    Cost,
    Fact,
    Growing,
    Json,
    Making,
    MaybeData,
    Model,
    Quiet,
    Reading,
    Rows,
    Splitting,
    Trusting,
    option,
    spell,
    spread,
)
from secateur.cli.tables.table_file import check_batch_options, in_batches, open_batches
from secateur.cli.writing import Writing, deliver
from secateur.errors import InputError, ParameterError

if TYPE_CHECKING:
    from secateur.cli.tables.fitted_table import FittedTable
    from secateur.results.audit import Audit
    from secateur.results.costs import Cutoff
    from secateur.results.measures import Measures
    from secateur.rules.rules import Rules
    from secateur.verify import Verification


# The embedded tables.
Table = StrEnum("Table", {"weather": "weather", "human_id": "human-id"})


@dataclass(frozen=True)
class SimplifyWriting(Writing):
    """What `simplify` writes, and where: what is written about rules, and the fitted model."""

    save_model: Path | None = option("Save the fitted tree or pipeline as a .skops file.", metavar="FILE")

    @property
    def files(self) -> tuple[Path | None, ...]:
        """The files that were asked for."""
        return *super().files, self.save_model


@spread
def command(
    data: MaybeData = None,
    *,
    used: Rows,
    model: Model = None,
    making: Making,
    growing: Growing,
    splitting: Splitting,
    fact: Fact = None,
    cost: Cost = None,
    confusion: Annotated[
        bool, typer.Option("--confusion", help="Print rows by what is said and what they are.")
    ] = False,
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
    """Fit a tree to a table, and turn it into a short list of rules that ends in “otherwise”.

    No answer changes unless you allow a budget. Conditions that do not matter are deleted, and rules that others
    cover are not written; --each-leaf gives one rule for each leaf, and --reasons what was deleted from it.
    Text and boolean columns become categories, and blanks may be anywhere. Without DATA it runs on an embedded table.

    For example:

    secateur simplify loans.csv --target outcome
    secateur simplify loans.csv --target outcome --budget 0.01
    secateur simplify loans.csv --target outcome --each-leaf --method mismatch --report page.html
    secateur simplify loans.csv --target outcome --export sql --dialect postgres > rules.sql
    secateur simplify loans.csv --target outcome --export json -o rules.json
    secateur simplify loans.csv --target outcome --model tree.skops
    secateur simplify --table human-id --each-leaf --method M1-D
    """
    from secateur.adapters.model_checks import is_ensemble

    if data is not None and table is not None:
        raise ParameterError("Name a file or an embedded table, not both: leave out --table.")
    export = writing.check(data, model, as_json=as_json)
    if data is None and used.target is not None:
        raise ParameterError("--target names a column of DATA: name the file too.")
    if data is None and (splitting != Splitting() or used != Rows() or reading != Reading()):
        raise ParameterError("--holdout, --drop and the like are about rows of DATA: name the file too.")
    if model is not None:
        growing.reject_with_model()
    again = (
        *(() if model is None else ("--model", str(model))),
        *(word for one in fact or () for word in ("--fact", one)),
        *(word for group in (making, replace(used, target=None), growing, reading, trusting) for word in spell(group)),
    )
    options = {**making.arguments, **({"facts": fact} if fact else {})}
    brought = None if model is None else trusting.load(model, quiet=quiet)
    if model is not None and data is not None and is_ensemble(brought):
        of_one_tree = {**options, "otherwise": None} != {**Making().arguments, "otherwise": None} or making.no_facts
        if of_one_tree or writing.save_model is not None:
            raise ParameterError(
                f"{model.name} is of several trees, which a short list approximates: leave out what is about one tree "
                f"(--method, --budget, --each-leaf and the like), or see `secateur approximate --help`."
            )
        from secateur.cli import approximate

        if splitting.split_by is not None or splitting.group is not None:
            raise ParameterError("--split-by and --group are for one tree: leave them out.")
        held_out = splitting.holdout or 0.25
        wishes = approximate.Wishes(otherwise=making.otherwise, seed=growing.seed, holdout=held_out)
        given = (brought, model, data, used, wishes, writing, reading, trusting)
        return approximate.run(*given, verbose=verbose, as_json=as_json, quiet=quiet)
    recipe = _Recipe(options, again, takes_facts=not making.no_facts)
    if data is not None:
        story = _from_data(data, brought, used, growing, reading, splitting, recipe, quiet=quiet)
    elif model is not None:
        story = _from_model(brought, str(model), recipe)
    else:
        story = _from_embedded(table or Table.weather, growing, recipe)
    if cost:
        from secateur.results.costs import find_cutoff

        story = replace(story, cutoff=find_cutoff(story.rules, cost))
    more: dict[Path, bytes] = {}
    if writing.save_model is not None:
        from secateur.cli.model_files import dump_model

        more[writing.save_model] = dump_model(story.model)
    shown = writing.write(story.rules, export, story.page, more, quiet=quiet or as_json)
    if as_json:
        print_json(story.to_dict())
    elif shown is not None:
        for note in (*(f"Warning: {one}" for one in story.warnings), *story.notes):
            tell(note, quiet=quiet)
        deliver(shown, None)
    elif not quiet:
        from secateur.cli.answer import show_answer

        show_answer(story, reasons=reasons, verbose=verbose, confusion=confusion, page=writing.report)
    if not story.proof.ok and (as_json or quiet or shown is not None):
        tell(str(story.proof))
    raise typer.Exit(code=0 if story.proof.ok else 1)


@dataclass(frozen=True)
class _Recipe:
    """How the rules are made."""

    options: dict[str, Any]  # of simplify
    again: tuple[str, ...]  # the words that make the same rules of the same table once more
    takes_facts: bool


@dataclass(frozen=True)
class Story:
    """What one simplification has to tell."""

    name: str
    opening: str
    model: Any
    rules: Rules
    audit: Audit | None
    audited: str  # which rows, after "of"
    proof: Verification
    again: tuple[str, ...]  # the command to try next, after "secateur simplify"
    notes: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()  # how a tree was fitted here, for the page
    facts: tuple[str, ...] = ()  # the facts that were taken from the table
    measured: tuple[Any, Any] = (None, None)  # rows that were held out
    target: str | None = None  # the column of the classes
    warnings: tuple[str, ...] = ()  # what to know before relying on the rules, a sentence each
    crossed: Measures | None = None  # of a small table: measured by trees that were fitted to other rows
    cutoff: Cutoff | None = None  # where errors have costs

    @property
    def is_set_aside(self) -> bool:
        """Whether the audit is on rows that the rules were not made from."""
        return self.measured[0] is not None

    @property
    def page(self) -> dict[str, Any]:
        """Arguments of ``rules.report``."""
        title = self.name if self.target is None else f"What decides {self.target} in {Path(self.name).name}"
        costs = () if self.cutoff is None else (str(self.cutoff),)
        told = [*costs, *self.settings, *self.notes, *self.facts]
        return {"X": self.measured[0], "y": self.measured[1], "target": self.target, "title": title, "notes": told}

    def to_dict(self) -> dict[str, Any]:
        """Tell the same to machines."""
        from secateur.results.measures import measure_rules

        rules = self.rules
        return {
            "name": self.name,
            "warnings": list(self.warnings),
            "notes": [*self.notes, *self.facts, *rules.remarks],
            "each_leaf": not rules.is_list,
            "method": rules.method,
            "parameters": dict(rules.parameters),
            "sections": len(rules.sections) if rules.is_list else None,
            "budget": rules.budget,
            "tolerance": rules.tolerance,
            "guarantee": rules.guarantee,
            **{name: getattr(rules, name) for name in ("n_conditions", "tree_rules", "tree_conditions")},
            "n_rules": len(rules),
            "audited_on": self.audited,
            "audit": None if self.audit is None else self.audit.to_dict(),
            "measures": None if (found := measure_rules(rules)) is None else found.to_dict(),
            "crossed": None if self.crossed is None else self.crossed.to_dict(),
            "cutoff": None if self.cutoff is None else vars(self.cutoff),
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
    splitting: Splitting,
    recipe: _Recipe,
    *,
    quiet: bool,
) -> Story:
    """Simplify a given model, or a tree that is fitted to the table."""
    from secateur.cli.answer import warn_of_rules
    from secateur.cli.tables.fitted_table import (
        describe_facts,
        describe_split,
        fit_table,
        read_one_tree,
        simplify_fitted,
    )

    tree = None if model is None else read_one_tree(model)
    if in_batches(data, tree):
        check_batch_options(data, used, reading, spell(splitting))
        return _from_batches(data, model, used.require_target(data), reading, recipe, quiet)
    table = reading.open(data, tree=tree, seed=growing.seed, quiet=quiet)
    with working("Fitting the tree", quiet=quiet):
        fitted = fit_table(table, **used.take(table), **growing.arguments, **splitting.arguments, model=model)
    on = fitted.held_out or fitted.train
    with working("Deleting conditions and checking the rules", quiet=quiet):
        rules = simplify_fitted(fitted, takes_facts=recipe.takes_facts, **recipe.options)
        audit, proof = rules.audit(on.X, on.y), rules.verify()
    measured: tuple[Any, Any] = (None, None)
    audited = f"the {len(on.y):,} training rows"
    if fitted.held_out is not None:
        audited = f"{len(on.y):,} {'unseen rows' if model is None else 'rows set aside, which the model may have seen'}"
        measured = on.X, on.y
    notes = (*((told,) if (told := describe_split(fitted)) is not None else ()), *fitted.notes)
    warnings = warn_of_rules(rules, audit, min_rows=fitted.min_rows, balanced=growing.balanced)
    if fitted.crossed is not None:
        few = f"{len(on.y):,} rows are too few to set some aside: the numbers beside lines are of training rows."
        warnings = (few, *warnings)
    return Story(
        name=fitted.name,
        opening=_open(rules, fitted.target, f"{'A decision tree' if model is None else 'The model'} for {fitted.name}"),
        model=fitted.model,
        rules=rules,
        audit=audit,
        audited=audited,
        proof=proof,
        again=(data, "--target", fitted.target, *recipe.again, *spell(splitting), "--report", "page.html"),
        notes=notes,
        settings=_describe_fitting(fitted, growing) if model is None else (),
        facts=tuple(describe_facts(fitted, rules.tree)) if recipe.takes_facts else (),
        measured=measured,
        target=fitted.target,
        warnings=warnings,
        crossed=fitted.crossed,
    )


def _describe_fitting(fitted: FittedTable, growing: Growing) -> tuple[str, ...]:
    """Say how the tree was fitted."""
    from secateur.cli.tables.fitted_table import DEFAULT_DEPTH

    depth = growing.max_depth or DEFAULT_DEPTH
    alike = "; every class counts alike, however rare it is" if growing.balanced else ""
    least = "1 row" if fitted.min_rows == 1 else f"{fitted.min_rows} rows"
    return (f"The tree was fitted with a depth of at most {depth} and at least {least} in each leaf{alike}.",)


def _open(rules: Rules, target: str, what: str) -> str:
    """Say what is predicted, and how often each class occurs."""
    from secateur.results.answer import describe_classes, describe_values

    if rules.tree.is_regression:
        return describe_values(rules, f"{what} predicts", target)
    sizes, names = rules.leaf_counts.sum(axis=0), rules.tree.class_names
    return describe_classes(names, sizes, target, is_weighted=rules.is_weighted, who=f"{what} predicts")


def _from_batches(data: str, model: Any, target: str, reading: Reading, recipe: _Recipe, quiet: bool) -> Story:
    """Simplify a model on a table that is read in batches."""
    from secateur.cli.tables.fitted_table import read_one_tree
    from secateur.simplification import simplify

    tree = read_one_tree(model)
    with open_batches(data, tree, target, reading, no_facts=not recipe.takes_facts) as (table, notes):
        with counting("Counting", quiet=quiet) as progress:
            rules = simplify(model, table, y=target, progress=progress, **recipe.options)
        with working("Measuring and checking the rules", quiet=quiet):
            audit, proof = rules.audit(table, target), rules.verify(table, target)
    rules = rules.without_rows()  # the table is closed
    opening = _open(rules, target, f"The model for {table.name}")
    again = (data, "--target", target, *recipe.again, "--export", "sql")
    audited = f"the {audit.n_rows:,} rows that the rules were made from"
    return Story(table.name, opening, model, rules, audit, audited, proof, again, tuple(notes), target=target)


def _from_model(model: Any, name: str, recipe: _Recipe) -> Story:
    from secateur.cli.tables.fitted_table import read_one_tree
    from secateur.methods import find_method
    from secateur.simplification import simplify

    method = recipe.options["method"]
    if find_method(method).needs_rows:
        raise InputError(f"The method {method!r} judges deletions by training rows: name DATA, or use --method exact.")
    if recipe.options.get("budget"):
        raise InputError("A budget is spent on training rows: name DATA, or leave out --budget.")
    rules = simplify(read_one_tree(model), **recipe.options)
    classes = ", ".join(rules.tree.class_names[:-1]) + f" or {rules.tree.class_names[-1]}"
    classes = "numbers" if rules.tree.is_regression else classes
    opening = f"{name}: a decision tree that predicts {classes}; no rows were named, so nothing was measured."
    again = ("DATA", "--target", "COLUMN", *recipe.again)
    return Story(name, opening, model, rules, None, "no rows", rules.verify(), again)


def _from_embedded(table: Table, growing: Growing, recipe: _Recipe) -> Story:
    from sklearn.tree import DecisionTreeClassifier

    from secateur import datasets
    from secateur.cli.answer import warn_of_rules
    from secateur.simplification import simplify

    data = datasets.load(table.value)
    model = DecisionTreeClassifier(max_depth=growing.max_depth, random_state=growing.seed).fit(data.X, data.y)
    groups: dict[str, list[str]] = {}
    for column in data.feature_names:
        groups.setdefault(column.partition("=")[0], []).append(column)
    # The paper's procedures take columns of zeros and ones for what they are: groups only help to read them.
    known: dict[str, Any] = {"groups": groups, "domain_knowledge": not recipe.options["each_leaf"]}
    rules = simplify(model, data.X, data.y, feature_names=data.feature_names, **known, **recipe.options)
    audit = rules.audit(data.X, data.y)
    return Story(
        name=data.name,
        opening=_open(rules, data.target_name, f"A decision tree for the embedded table {data.name}"),
        model=model,
        rules=rules,
        audit=audit,
        audited=f"the {len(data.y)} rows that the tree was fitted to",
        proof=rules.verify(),
        again=("YOUR_TABLE.csv", "--target", "COLUMN"),
        target=data.target_name,
        warnings=warn_of_rules(rules, audit, min_rows=None, balanced=False),
    )
