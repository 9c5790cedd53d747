"""``secateur simplify``: fit a tree or take one, shorten its rules, and show what happened and why."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from secateur.cli import options
from secateur.cli.console import import_during, print_json, say, tell, working
from secateur.cli.tables.table_file import in_batches, open_batches
from secateur.cli.writing import Writing, deliver
from secateur.errors import InputError, ParameterError

if TYPE_CHECKING:
    from secateur.cli.tables.table_file import TableFile
    from secateur.export.listing import Listing
    from secateur.results.answer import Caution
    from secateur.results.audit import Audit
    from secateur.results.measures import Cutoff, Measures, ValueMeasures
    from secateur.rules.rules import Rules
    from secateur.verify import Verification


# The embedded tables: a real one, and the paper's.
Table = StrEnum("Table", {"tumours": "tumours", "weather": "weather", "human_id": "human-id"})
# What reads a table, and what fits a tree to it, which takes long to load.
READING, FITTING = ("duckdb", "pandas", "pyarrow"), ("sklearn.model_selection", "sklearn.tree")
DEMO_DEPTH = 3  # so that its list fits on a screen
SHOWN_RULES = 50
SET_ASIDE = "New rows usually do worse than training rows."
SHORTER = "--budget 0.01 (shorter), "
REASONS = "--reasons (why), "
OF_A_LIST = "--each-leaf (one rule per leaf), --verbose (proofs)"
OF_LEAVES = "--verbose (proofs)"
BALANCED = " --balanced lets rare classes count as much as common ones."
BALANCED_GUESS = " That is the price of --balanced, which finds rare classes."
OTHER_COLUMNS = " Other columns may tell more."
COUNTS = ("n_conditions", "tree_rules", "tree_conditions")
TELLING = 0.65  # an AUC from which on probabilities rank rows


@dataclass(frozen=True)
class SimplifyWriting(Writing):
    """What `simplify` writes, and where: what is written about rules, and the fitted model."""

    save_model: Path | None = options.option("Save the fitted tree or pipeline as a .skops file.", metavar="FILE")

    @property
    def files(self) -> tuple[Path | None, ...]:
        """The files that were asked for."""
        return *super().files, self.save_model


@dataclass(frozen=True)
class Asking:
    """What else is known, and what is printed of it."""

    fact: list[str] | None = options.option(
        "A fact about a column, such as 'age is not missing' or '0 <= bmi <= 100'.", metavar="FACT"
    )
    cost: list[str] | None = options.option(
        "What an error costs, such as 'missed default = 5'; else 1.", metavar="COST"
    )
    table: Table | None = options.option("The embedded table to use.  [default: tumours, without DATA]")
    confusion: bool = options.flag("Print rows by what is said and what they are.", "--confusion")
    reasons: bool = options.flag("Say why each condition was deleted or kept.", "--reasons")
    verbose: bool = options.flag("Print all measurements, what is promised, and how it was checked.", "--verbose", "-v")


@options.spread
def simplify_command(
    data: options.MaybeData = None,
    *,
    used: options.Rows,
    model: options.Model = None,
    making: options.Making,
    growing: options.Growing,
    splitting: options.Splitting,
    asking: Asking,
    writing: SimplifyWriting,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    reading: options.Reading,
    trusting: options.Trusting,
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
    from secateur.adapters.reading import is_ensemble

    fact, table = asking.fact, asking.table
    if data is not None and table is not None:
        raise ParameterError("Name a file or an embedded table, not both: leave out --table.")
    export = writing.check(data, model, as_json=as_json)
    if data is None and used.target is not None:
        raise ParameterError("--target names a column of DATA: name the file too.")
    if data is None and (splitting != options.Splitting() or used != options.Rows() or reading != options.Reading()):
        raise ParameterError("--holdout, --drop and the like are about rows of DATA: name the file too.")
    again = (
        *(() if model is None else ("--model", str(model))),
        *(word for one in fact or () for word in ("--fact", one)),
        *(word for one in asking.cost or () for word in ("--cost", one)),
        *options.spell(making, replace(used, target=None), growing, reading, trusting),
    )
    asked = {**making.arguments, **({"facts": fact} if fact else {})}
    brought = None if model is None else trusting.load(model, growing, quiet=quiet)
    if model is not None and data is not None and is_ensemble(brought):
        plain = replace(making, otherwise=None).arguments == options.Making().arguments and not making.no_facts
        if not plain or fact or writing.save_model is not None:
            raise ParameterError(
                f"{model.name} is of several trees, which a short list approximates: leave out what is about one tree "
                f"(--method, --budget, --each-leaf and the like), or see `secateur approximate --help`."
            )
        from secateur.cli import approximate

        if splitting.split_by is not None or splitting.group is not None:
            raise ParameterError("--split-by and --group are for one tree: leave them out.")
        held_out = 0.25 if splitting.holdout is None else splitting.holdout
        wanted: dict[str, Any] = {"otherwise": making.otherwise, "seed": growing.seed, "holdout": held_out}
        wishes = approximate.Wishes(used.target, used.drop, **wanted)
        given = (brought, model, data, used, wishes, writing, reading, trusting)
        return approximate.run(*given, verbose=asking.verbose, as_json=as_json, quiet=quiet)
    recipe = _Recipe(asked, again, used, growing, reading, splitting, takes_facts=not making.no_facts, quiet=quiet)
    if data is not None:
        story = _from_data(data, brought, recipe)
    elif model is not None:
        story = _from_model(brought, str(model), recipe)
    elif table in (None, Table.tumours):
        from secateur.cli.tables.table_file import read_demo

        growing = growing if growing.max_depth else replace(growing, max_depth=DEMO_DEPTH)
        story = _from_table(read_demo(), None, replace(recipe, used=options.Rows("diagnosis"), growing=growing))
        story = replace(story, again=("YOUR_TABLE.csv", "--target", "COLUMN"))
    else:
        assert table is not None
        story = _from_embedded(table, recipe)
    if asking.cost:
        from secateur.results.measures import find_cutoff

        story = replace(story, cutoff=find_cutoff(story.rules, asking.cost))
    more: dict[Path, bytes] = {}
    if writing.save_model is not None:
        from secateur.cli.model_files import dump_model

        more[writing.save_model] = dump_model(story.model)
    shown = writing.write(story.rules, export, story.page, more, quiet=quiet or as_json, missing=reading.missing)
    if as_json:
        print_json(story.to_dict())
    elif shown is not None:
        tell(*(*(f"Warning: {one}" for one in story.warnings), *story.notes), quiet=quiet)
        deliver(shown, None)
    elif not quiet:
        show_answer(story, asking, writing.report)
    if not story.proof.ok and (as_json or quiet or shown is not None):
        tell(str(story.proof))
    raise typer.Exit(code=0 if story.proof.ok else 1)


@dataclass(frozen=True)
class _Recipe:
    arguments: dict[str, Any]  # of simplify
    again: tuple[str, ...]  # the words that make the same rules of the same table once more
    used: options.Rows
    growing: options.Growing
    reading: options.Reading
    splitting: options.Splitting
    takes_facts: bool
    quiet: bool


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
    settings: str = ""  # how a tree was fitted here, for the page
    facts: tuple[str, ...] = ()  # the facts that were taken from the table
    measured: tuple[Any, Any] = (None, None)  # rows that were held out
    target: str | None = None  # the column of the classes
    warnings: tuple[str, ...] = ()  # what to know before relying on the rules, a sentence each
    crossed: Measures | ValueMeasures | None = None  # of a small table: measured by trees fitted to other rows
    cutoff: Cutoff | None = None  # where errors have costs

    @property
    def is_set_aside(self) -> bool:
        """Whether the audit is on rows that the rules were not made from."""
        return self.measured[0] is not None

    @property
    def page(self) -> dict[str, Any]:
        """Arguments of ``rules.report``."""
        title = self.name if self.target is None else f"What decides {self.target} in {Path(self.name).name}"
        costs = "" if self.cutoff is None else str(self.cutoff)
        told = [*filter(None, (costs, self.settings)), *self.notes, *self.facts]
        return {"X": self.measured[0], "y": self.measured[1], "target": self.target, "title": title, "notes": told}

    def to_dict(self) -> dict[str, Any]:
        """Tell the same to machines."""
        from secateur.results.measures import measure_rules, measure_values

        rules = self.rules
        measures = measure_rules(rules) or measure_values(rules)
        measured: dict[str, Any] = {"audit": self.audit, "measures": measures, "crossed": self.crossed}
        return {
            "name": self.name,
            "warnings": list(self.warnings),
            "notes": [*self.notes, *self.facts, *rules.remarks],
            "each_leaf": not rules.is_list,
            "method": rules.method,
            "parameters": dict(rules.parameters),
            "sections": len(rules.sections) if rules.is_list else None,
            **{name: getattr(rules, name) for name in ("budget", "tolerance", "guarantee", *COUNTS)},
            "n_rules": len(rules),
            "audited_on": self.audited,
            **{name: None if one is None else one.to_dict() for name, one in measured.items()},
            "cutoff": None if self.cutoff is None else vars(self.cutoff),
            "verified": self.proof.ok,
            "verification": vars(self.proof),
            "rules": json.loads(rules.to_json()),
        }


def _from_data(data: str, model: Any, recipe: _Recipe) -> Story:
    """Simplify a given model, or a tree that is fitted to the table, of a file."""
    from secateur.cli.tables.fitted_table import read_one_tree

    tree = None if model is None else read_one_tree(model)
    if in_batches(data, tree):
        return _from_batches(data, model, recipe)
    open_table = partial(recipe.reading.open, data, tree=tree, seed=recipe.growing.seed, quiet=recipe.quiet)
    for name in READING:
        import_module(name)
    story = _from_table(import_during(open_table, FITTING if model is None else ()), model, recipe)
    return replace(story, again=(data, *story.again))


def _from_table(table: TableFile, model: Any, recipe: _Recipe) -> Story:
    """Simplify a given model, or a tree that is fitted to the table; the command to try next lacks the file."""
    from secateur.cli.tables import fitted_table

    used, growing, splitting = recipe.used, recipe.growing, vars(recipe.splitting)
    with working("Fitting the tree", quiet=recipe.quiet):
        fitted = fitted_table.fit_table(table, **used.take(table), **growing.arguments, **splitting, model=model)
    on = fitted.held_out or fitted.train
    with working("Deleting conditions and checking the rules", quiet=recipe.quiet):
        rules = fitted_table.simplify_fitted(fitted, takes_facts=recipe.takes_facts, **recipe.arguments)
        audit, proof = rules.audit(on.X, on.y), rules.verify()
    measured: tuple[Any, Any] = (None, None)
    audited = f"the {len(on.y):,} training rows"
    if fitted.held_out is not None:
        audited = f"{len(on.y):,} {'unseen rows' if model is None else 'rows set aside, which the model may have seen'}"
        measured = on.X, on.y
    settings = ""
    if model is None:
        depth = growing.max_depth or fitted_table.DEFAULT_DEPTH
        alike = "; every class counts alike, however rare it is" if growing.balanced else ""
        least = "1 row" if fitted.min_rows == 1 else f"{fitted.min_rows} rows"
        settings = f"The tree was fitted with a depth of at most {depth} and at least {least} in each leaf{alike}."
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
        again=("--target", fitted.target, *recipe.again, *options.spell(recipe.splitting), "--report", "page.html"),
        notes=(*fitted_table.describe_split(fitted), *fitted.notes),
        settings=settings,
        facts=tuple(fitted_table.describe_facts(fitted, rules.tree)) if recipe.takes_facts else (),
        measured=measured,
        target=fitted.target,
        warnings=warnings,
        crossed=fitted.crossed,
    )


def _open(rules: Rules, target: str, what: str) -> str:
    """Say what is predicted, and how often each class occurs."""
    from secateur.results.answer import describe_classes, describe_values

    if rules.tree.is_regression:
        return describe_values(rules, f"{what} predicts", target)
    sizes, names = rules.leaf_counts.sum(axis=0), rules.tree.class_names
    return describe_classes(names, sizes, target, is_weighted=rules.is_weighted, who=f"{what} predicts")


def _from_batches(data: str, model: Any, recipe: _Recipe) -> Story:
    """Simplify a model on a table that is read in batches."""
    from secateur.cli.tables.fitted_table import read_one_tree
    from secateur.simplification import simplify

    how = (data, read_one_tree(model), recipe.used, recipe.reading, options.spell(recipe.splitting))
    with open_batches(*how, no_facts=not recipe.takes_facts) as (table, target, notes):
        with working("Counting", quiet=recipe.quiet) as progress:
            rules = simplify(model, table, y=target, progress=progress, **recipe.arguments)
        with working("Measuring and checking the rules", quiet=recipe.quiet):
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

    method = recipe.arguments["method"]
    if find_method(method).needs_rows:
        raise InputError(f"The method {method!r} judges deletions by training rows: name DATA, or use --method exact.")
    if recipe.arguments.get("budget"):
        raise InputError("A budget is spent on training rows: name DATA, or leave out --budget.")
    rules = simplify(read_one_tree(model), **recipe.arguments)
    classes = ", ".join(rules.tree.class_names[:-1]) + f" or {rules.tree.class_names[-1]}"
    classes = "numbers" if rules.tree.is_regression else classes
    opening = f"{name}: a decision tree that predicts {classes}; no rows were named, so nothing was measured."
    again = ("DATA", "--target", "COLUMN", *recipe.again)
    return Story(name, opening, model, rules, None, "no rows", rules.verify(), again)


def _from_embedded(table: Table, recipe: _Recipe) -> Story:
    from sklearn.tree import DecisionTreeClassifier

    from secateur import datasets
    from secateur.simplification import simplify

    data, growing = datasets.load(table.value), recipe.growing
    model = DecisionTreeClassifier(max_depth=growing.max_depth, random_state=growing.seed).fit(data.X, data.y)
    groups: dict[str, list[str]] = {}
    for column in data.feature_names:
        groups.setdefault(column.partition("=")[0], []).append(column)
    # The paper's procedures take columns of zeros and ones for what they are: groups only help to read them.
    known: dict[str, Any] = {"groups": groups, "domain_knowledge": not recipe.arguments["each_leaf"]}
    rules = simplify(model, data.X, data.y, feature_names=data.feature_names, **known, **recipe.arguments)
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


def show_answer(story: Story, asking: Asking, page: Path | None) -> None:
    """Print the answer; if asked to, the numbers of the audit and the proofs as well; ``page`` was written."""
    from rich.panel import Panel
    from rich.text import Text

    from secateur.cli.console import out
    from secateur.export.listing import make_listing
    from secateur.results.measures import measure_rules

    rules, verbose = story.rules, asking.verbose
    listing = make_listing(rules, reasons=asking.reasons, most=SHOWN_RULES)
    listing = replace(listing, before=(story.opening,), after=tuple(_describe_trust(story, listing, verbose=verbose)))
    show_listing(listing, warnings=story.warnings, notes=(*story.notes, *(story.facts if verbose else ())))

    def show(title: str, words: Any, colour: str = "none") -> None:
        out.print(Panel(Text(str(words)), title=Text(title), title_align="left", border_style=colour))

    found = measure_rules(rules) if asking.confusion or verbose else None
    if found is not None:
        show(f"Rows by what is said and what they are, {found.rows}", found.describe_confusion())
    if verbose or not story.proof.ok:
        if story.audit is not None:
            show(f"Measured on {story.audited}", story.audit)
        show("What is guaranteed", rules.guarantee)
        show("Checked independently", story.proof, "green" if story.proof.ok else "red")
    show_next(("simplify", *story.again), page)
    if not verbose:
        shorter = "" if rules.budget or story.audit is None else SHORTER  # a budget is spent on rows
        why = "" if asking.reasons else REASONS
        say(f"More: {f'{shorter}{why}{OF_A_LIST}' if rules.is_list else f'{why}{OF_LEAVES}'}", style="dim")


def show_listing(listing: Listing, *, notes: Iterable[str] = (), warnings: Iterable[str] = ()) -> None:
    """Print a listing as wide as the screen, with what to know of the table before the rules."""
    from secateur.cli.console import out
    from secateur.export.text import lay_out

    for sentence in listing.before:
        say(sentence, style="bold")
    for warning in warnings:
        say(f"Warning: {warning}", style="bold yellow")
    for note in notes:
        say(f"• {note}", style="dim")
    cut = ("Write all rules with --export or --report.",) if listing.n_left_out else ()
    words = lay_out(replace(listing, before=(), after=(*cut, *listing.after)), width=out.width)
    say(f"\n{words}", soft_wrap=True)


def show_next(words: Iterable[str], page: Path | None = None) -> None:
    """Print what to do next: open a page that was written, else a command."""
    from secateur.tree.columns import show_text

    command = "secateur " + " ".join(shlex.quote(word) for word in words)
    step = show_text(command) if page is None else f"open {show_text(str(page))} in a browser"
    say("\nNext: ", (step, "bold"), soft_wrap=True)


def _describe_trust(story: Story, listing: Listing, *, verbose: bool) -> list[str]:
    """Say how often the rules are right, how far they agree with the tree, and how short they are."""
    from secateur.results import answer
    from secateur.words.conditions import count_of

    rules, audit = story.rules, story.audit
    sentences = [*answer.warn_of_weights(rules)]
    is_measured = rules.unseen is not None or not story.is_set_aside
    if rules.is_list and is_measured and not rules.tree.is_regression:
        sentences += [SET_ASIDE if one == answer.FLATTER else one for one in answer.describe_measures(rules)]
    elif audit is not None:
        sentences.append(answer.describe_measured(audit, story.audited))
        sentences += [SET_ASIDE] if rules.tree.is_regression and not story.is_set_aside else []
    if (crossed := story.crossed) is not None:
        sentences = [*(one for one in sentences if one != SET_ASIDE), f"New rows: {crossed.describe()}"]
    sentences += [] if story.cutoff is None else [str(story.cutoff)]
    faithful = answer.describe_faithful(rules, *((audit, None) if story.is_set_aside else (None, audit)))
    if story.proof.ok:
        proved = "proved it" if rules.is_exact else "recounted the training rows"
        faithful += f" An independent check {proved}."
    guarantee = () if rules.is_list or verbose else (f"Guarantee: {rules.guarantee}",)
    sentences += [faithful, *guarantee, f"{listing.title}."]
    facts = answer.find_limiting_facts(rules)
    if facts and not verbose:
        others = f" and {count_of(len(facts) - 1, 'more fact')}" if len(facts) > 1 else ""
        sentences.append(f"Stated facts, as the table shows them: {facts[0]}{others} (--verbose lists them).")
    # The rest of what the listing says: a class that no rule predicts is warned of at the top.
    told = {*answer.describe_answer(rules)[1]}
    told |= {f"Note: {one}" for one in rules.remarks[len(rules.own_remarks) :]} if story.warnings else set()
    return [*sentences, *(one for one in listing.after if one not in told)]


def warn_of_rules(rules: Rules, audit: Audit, *, min_rows: int | None, balanced: bool) -> tuple[str, ...]:
    """Find what to warn of, by an audit; ``min_rows`` is the fewest rows in a leaf of a tree that was fitted here."""
    from secateur.results.answer import compare_with_mean, find_cautions
    from secateur.results.measures import FEW_ROWS, measure_rules

    def advise(caution: Caution) -> str:
        if min_rows is None:
            return ""
        if caution.kind == "guess":
            measures = measure_rules(rules)
            if measures is not None and measures.auc >= TELLING:
                told = f" The probabilities of the lines still tell rows apart (AUC {measures.auc:.2f}): see how often "
                told += f"each line was right{'' if rules.unseen is None else ' on unseen rows'}."
                return f"{BALANCED_GUESS if balanced else ''}{told}"
            return BALANCED_GUESS if balanced else OTHER_COLUMNS
        if caution.kind == "unpredicted":
            return "" if balanced else BALANCED
        if caution.kind != "few-rows" or min_rows >= FEW_ROWS:
            return ""
        # A line of a short list may decide few rows though each leaf has many.
        return f" --min-rows {FEW_ROWS} {'may avoid that' if rules.is_list else 'avoids them'}."

    if rules.tree.is_regression:
        return tuple(map(str, compare_with_mean(audit.rmse, audit.baseline)))
    found = find_cautions(rules, audit.accuracy / 100, (audit.baseline_class, audit.baseline / 100))
    return tuple(f"{one.text}{advise(one)}" for one in found)
