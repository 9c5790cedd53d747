"""``secateur diagnose``: say what each condition of each rule does, before anything is deleted."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.cli import options
from secateur.cli.console import print_json, print_text, say, tell, working
from secateur.cli.tables.table_file import in_batches, open_batches
from secateur.cli.writing import check_outputs, deliver
from secateur.errors import ParameterError

if TYPE_CHECKING:
    from secateur.results.deletion_effects import Overlaps
    from secateur.results.diagnosis import Diagnosis

SHOWN_RULES = 50
DEFAULT_TOLERANCE = 0.05
OVERLAPPING = "mismatch"  # a method whose rules may overlap, unless another is named


@dataclass(frozen=True)
class Choosing:
    """Which rules to show, and what of them."""

    rule: list[int] | None = options.option("A rule to show, by its number; all by default.", metavar="NUMBER")
    leaf: list[int] | None = options.option("A rule to show, by the id of its leaf.", metavar="ID")
    pairs: bool = options.flag("Add the pairs of conditions that interact most.", "--pairs")
    overlaps: bool = options.flag(
        "Add which rules of different classes share rows after --method shortens them.", "--overlaps"
    )

    def choose(self, diagnosis: Diagnosis) -> list[int] | None:
        """Find the leaves that were asked for; None for all."""
        leaves = diagnosis.leaf_ids
        for number in self.rule or ():
            if not 1 <= number <= len(leaves):
                raise ParameterError(f"There is no rule {number}: the rules are numbered from 1 to {len(leaves)}.")
        for leaf in self.leaf or ():
            diagnosis.of_leaf(leaf)  # which raises if it is no leaf
        if self.rule is None and self.leaf is None:
            return None
        asked = {leaves[number - 1] for number in self.rule or ()} | set(self.leaf or ())
        return [leaf for leaf in leaves if leaf in asked]


@options.spread
def diagnose_command(
    data: options.MaybeData = None,
    *,
    used: options.Rows,
    model: options.Model = None,
    tolerance: Annotated[
        float, typer.Option(help="A reliability that changes by no more than this counts as unchanged, 0 to 1.")
    ] = DEFAULT_TOLERANCE,
    choosing: Choosing,
    method: options.Method = None,
    growing: options.Growing,
    no_facts: options.NoFacts = False,
    output: options.Output = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    reading: options.Reading,
    trusting: options.Trusting,
) -> None:
    """Say what each condition of each rule does: where it points, and what happens to reliability without it.

    A model without DATA gives the first two layers; the third needs rows. --output writes a .csv, .json or .txt file.

    For example:

    secateur diagnose loans.csv --target outcome
    secateur diagnose loans.csv --target outcome --rule 3 --pairs
    secateur diagnose loans.csv --target outcome --overlaps --method mismatch
    secateur diagnose loans.csv --target outcome --model tree.skops -o diagnosis.csv
    secateur diagnose --model tree.skops --leaf 7
    """
    from secateur.cli.model_files import is_rules_file

    ending = None if output is None or options.is_screen(output) else output.suffix.lower()
    if ending is not None and as_json:
        raise ParameterError("--json prints to the screen: leave it out, or leave --output out.")
    if ending not in (None, ".csv", ".json", ".txt"):
        raise ParameterError(f"What should {output} hold? Give it the ending .csv, .json or .txt.")
    if ending == ".csv" and (choosing.pairs or choosing.overlaps):
        raise ParameterError(
            "A CSV file holds one line per condition: leave --pairs and --overlaps out, or write .json."
        )
    check_outputs(output, inputs=(data, model), force=force)
    if method is not None and not choosing.overlaps:
        raise ParameterError("--method shortens the rules for --overlaps: add --overlaps, or leave --method out.")
    if data is None and (model is None or used != options.Rows() or reading != options.Reading()):
        raise ParameterError("Name a table with its --target, or a model with --model, or both.")
    if data is None and (choosing.pairs or choosing.overlaps):
        raise ParameterError("--pairs and --overlaps are about rows: name a table with its --target.")
    brought = None if model is None else trusting.load(model, growing, quiet=quiet)
    if data is None:
        story = _from_model(brought, str(model), tolerance)
    else:
        shorten = (OVERLAPPING if method is None else method) if choosing.overlaps else None
        story = _from_data(data, brought, used, growing, reading, tolerance, shorten, not no_facts, quiet)
    if model is not None and is_rules_file(model):
        told = f"{model} holds rules: the tree that they were made from is diagnosed, before any deletion."
        story = replace(story, notes=(told, *story.notes))
    leaves = choosing.choose(story.diagnosis)
    if ending is not None:
        deliver(story.to_file(ending, leaves, pairs=choosing.pairs), output, force=force, quiet=quiet)
    elif as_json:
        print_json(story.to_dict(leaves, pairs=choosing.pairs))
    elif not quiet:
        _show(story, leaves, pairs=choosing.pairs)


@dataclass(frozen=True)
class _Story:
    name: str
    opening: str
    diagnosis: Diagnosis
    overlaps: Overlaps | None = None
    method: str | None = None  # that shortened the rules whose overlaps these are
    notes: tuple[str, ...] = ()

    def to_dict(self, leaves: list[int] | None, *, pairs: bool) -> dict[str, Any]:
        told = {"name": self.name, "notes": list(self.notes), **self.diagnosis.to_dict(leaves, pairs=pairs)}
        if self.overlaps is not None:
            listed = [
                {
                    "rules": [one.first + 1, one.second + 1],  # numbered from 1, as people are shown them
                    "predictions": [one.first_prediction, one.second_prediction],
                    "rows": one.rows,
                    "share": one.share,
                }
                for one in self.overlaps
            ]
            told["overlaps"] = {"method": self.method, "pairs": listed}
        return told

    def to_file(self, ending: str, leaves: list[int] | None, *, pairs: bool) -> str:
        """Write what a file with this ending holds; text is without the notes."""
        from secateur.export.diagnosis import explain_words

        if ending == ".csv":
            return self.diagnosis.to_csv(leaves)
        if ending == ".json":
            return json.dumps(self.to_dict(leaves, pairs=pairs), ensure_ascii=False, indent=1, allow_nan=False)
        parts = [self.diagnosis.to_text(leaves, pairs=pairs), explain_words(self.diagnosis)]
        if self.overlaps is not None:
            parts.insert(1, f"After {self.method}: {self.overlaps.to_text()}")
        return "\n\n".join(parts)


def _from_model(model: Any, name: str, tolerance: float) -> _Story:
    from secateur.cli.tables.fitted_table import read_one_tree
    from secateur.simplification import diagnose

    found = diagnose(read_one_tree(model), tolerance=tolerance)
    note = "Without rows, what happens to a rule's reliability is not known: name a table with its --target."
    return _Story(name, f"The model in {name}", found, notes=(note,))


def _from_data(
    data: str,
    model: Any,
    used: options.Rows,
    growing: options.Growing,
    reading: options.Reading,
    tolerance: float,
    method: str | None,
    takes_facts: bool,
    quiet: bool,
) -> _Story:
    """Diagnose a given model, or a tree that is fitted to the table."""
    from secateur.cli.tables.fitted_table import describe_facts, fit_table, read_one_tree, simplify_fitted
    from secateur.methods import find_method
    from secateur.simplification import diagnose, simplify

    reads_tolerance = method is not None and "tolerance" in find_method(method).parameters
    settings: dict[str, Any] = {"tolerance": tolerance} if reads_tolerance else {}
    tree = None if model is None else read_one_tree(model)
    if in_batches(data, tree):
        assert tree is not None
        with open_batches(data, tree, used, reading, no_facts=not takes_facts) as (table, target, told):
            with working("Counting", quiet=quiet) as progress:
                overlaps = None
                if method is not None:
                    settings |= {"method": method, "each_leaf": True, "progress": progress}
                    overlaps = simplify(model, table, y=target, **settings).overlaps(table)
                found = diagnose(model, table, target, tolerance=tolerance)
            name = table.name
        opening = f"The model for {target!r} on the rows of {name}"
        return _Story(name, opening, found, overlaps, method, tuple(told))
    read = reading.open(data, tree=tree, seed=growing.seed, quiet=quiet)
    with working("Fitting and diagnosing the tree", quiet=quiet):
        fitted = fit_table(read, **used.take(read), **growing.arguments, model=model)
        rules = simplify_fitted(fitted, method=method or "none", each_leaf=True, takes_facts=takes_facts, **settings)
        rows: Any = rules.training
        found = diagnose(rules.tree, rows.X, rows.y, tolerance=tolerance)
        overlaps = None if method is None else rules.overlaps(rows.X)
    rows_of = f"{len(fitted.train.y):,} rows of {fitted.name}"
    opening = f"The model for {fitted.target!r} on {rows_of}"
    if model is None:
        opening = f"A decision tree for {fitted.target!r}, fitted to {rows_of},"
    notes = (*fitted.notes, *(describe_facts(fitted, rules.tree) if takes_facts else ()))
    return _Story(fitted.name, opening, found, overlaps, method, notes)


def _show(story: _Story, leaves: list[int] | None, *, pairs: bool) -> None:
    from secateur.export.diagnosis import explain_words
    from secateur.words.conditions import count_of

    diagnosis = story.diagnosis
    tell(*story.notes)
    n_rules, n_conditions = len(diagnosis.leaf_ids), len(diagnosis)
    opening = f"{story.opening} gives {count_of(n_rules, 'rule')} with {count_of(n_conditions, 'condition')}."
    print_text(f"{opening}\n\n")
    listed = list(diagnosis.leaf_ids) if leaves is None else leaves
    print_text(diagnosis.to_text(listed[:SHOWN_RULES], pairs=pairs))
    if len(listed) > SHOWN_RULES:
        rest = len(listed) - SHOWN_RULES
        print_text(f"\n… and {rest:,} more rules: name some with --rule, or write them all with --output.")
    if story.overlaps is not None:
        print_text(f"\nAfter {story.method}: {story.overlaps.to_text()}")
    say(f"\n{explain_words(diagnosis)}", style="dim")
