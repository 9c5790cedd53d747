"""``secateur compare``: measure all methods, and short lists, side by side on one tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from secateur.cli.console import print_json, say, tell, working
from secateur.cli.options import Data, Growing, Holdout, Json, Model, Quiet, Reading, Rows, Settings, Trusting, spread
from secateur.errors import InputError, SecateurError

if TYPE_CHECKING:
    from secateur.cli.tables.fitted_table import FittedTable
    from secateur.rules.rules import Rules

# The columns and what they mean; a narrow screen goes without some.
NUMBERS = {
    "rules": "how many there are",
    "left": "conditions that are left",
    "deleted": "share of the tree's conditions that are gone",
    "changed": "rules that read shorter",
    "moved": "the farthest that a rule's reliability on its training rows went from its leaf's, in points",
    "conflict": "rows that rules of different classes cover",
    "differ": "rows whose answer differs from the tree's",
    "accuracy": "share of rows they get right, and its change in points against the tree",
    "": "",
    "AUC": "how well the rules' probabilities rank rows",
}
NARROW, LEFT_OUT = 110, ("left", "changed", "conflict")
BUDGET = 0.01


@spread
def compare_command(
    data: Data,
    *,
    used: Rows,
    model: Model = None,
    settings: Settings,
    growing: Growing,
    holdout: Holdout = 0.25,
    as_json: Json = False,
    quiet: Quiet = False,
    reading: Reading,
    trusting: Trusting,
) -> None:
    """Use every method on one tree, and measure them on held-out rows.

    Methods give one rule for each leaf; the last two lines are short lists, without and with a budget.

    For example:

    secateur compare loans.csv --target outcome
    secateur compare loans.csv --target outcome --holdout 0.5 --json
    """
    from secateur.cli.tables.fitted_table import describe_facts, fit_table, read_one_tree, simplify_fitted
    from secateur.methods.contract import check_share

    given = settings.given
    if "tolerance" in given:
        check_share("tolerance", given["tolerance"])
    brought = None if model is None else trusting.load(model, growing, quiet=quiet)
    tree = None if brought is None else read_one_tree(brought)
    table = reading.open(data, tree=tree, seed=growing.seed, quiet=quiet)
    with working("Comparing the methods", quiet=quiet):
        fitted = fit_table(table, **used.take(table), **growing.arguments, model=brought, holdout=holdout)
        if fitted.train.is_regression:
            raise InputError(
                f"The methods that are compared keep classes, and {fitted.target!r} holds numbers: `secateur simplify` "
                "makes rules for them."
            )
        rules = simplify_fitted(fitted, method="none", each_leaf=True, takes_facts=not settings.no_facts)
        notes = (*fitted.notes, *(() if settings.no_facts else describe_facts(fitted, rules.tree)))
        steps = list(_make_steps(fitted, rules, given))
    if as_json:
        record = {"name": fitted.name, "notes": notes, "rows": len(fitted.train.y)}
        record |= {"measured_rows": len((fitted.held_out or fitted.train).y), "held_out": fitted.held_out is not None}
        print_json({**record, "methods": steps})
    elif not quiet:
        tell(*notes)
        _show(fitted, steps)
    raise typer.Exit(code=0 if all(step.get("verified", True) for step in steps) else 1)


def _make_steps(fitted: FittedTable, rules: Rules, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Record for each method what it deletes and what that costs, or why it cannot run; the same of short lists."""
    from secateur.methods import METHODS
    from secateur.simplification import simplify

    on, rows = fitted.held_out or fitted.train, rules.training

    def measure(step: dict[str, Any], **options: Any) -> dict[str, Any]:
        try:
            made = simplify(rules.tree, rows.X, rows.y, **options)  # type: ignore[union-attr]
            audit, proof = made.audit(on.X, on.y), made.verify()
        except SecateurError as error:
            return {**step, "problem": str(error)}
        read = {"n_shortened": made.n_shortened, "shortened": audit.shortened}
        return {**step, "problem": None, "is_exact": made.is_exact, "verified": proof.ok, **read, **audit.to_dict()}

    for method in METHODS.values():
        step = {name: getattr(method, name) for name in ("aliases", "summary", "preserves")}
        read = {name: value for name, value in given.items() if name in method.parameters}
        yield measure({"method": method.name, "each_leaf": True, **step}, method=method.name, each_leaf=True, **read)
    for budget in (0.0, given.get("budget", BUDGET)):
        allowed = {"budget": budget, **{name: given[name] for name in ("tolerance",) if budget and name in given}}
        kept = f"the tree's answer on all but {100 * budget:g} % of training rows" if budget else "the tree's answers"
        name = f"short list, {100 * budget:g} %" if budget else "short list"
        yield measure({"method": name, "each_leaf": False, "budget": budget, "preserves": kept}, **allowed)


def _show(fitted: FittedTable, steps: list[dict[str, Any]]) -> None:
    from rich.table import Column, Table
    from rich.text import Text

    from secateur.cli.console import out

    held_out = fitted.held_out
    measured = "the rows that the rules were made from" if held_out is None else f"{len(held_out.y):,} held-out rows"
    say(f"One tree for {fitted.target!r} on {len(fitted.train.y):,} rows of {fitted.name}; on {measured}:")
    shown = [name for name in NUMBERS if out.width >= NARROW or name not in LEFT_OUT]
    numbers = [Column(name, justify="right", no_wrap=True) for name in shown]
    columns = [Column("method", style="bold", no_wrap=True), *numbers, Column("preserves")]
    table = Table(*columns, box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for step in steps:
        method = Text(step["method"])
        if step["problem"] is not None:
            table.add_row(method, *["–"] * len(shown), Text(f"not here: {step['problem']}"))
            continue
        cells = {
            "rules": f"{step['n_rules']:,}",
            "left": f"{step['n_conditions']:,}",
            "deleted": f"{step['shortened']:.1f} %",
            "changed": f"{100 * step['n_shortened'] / step['tree_rules']:.1f} %",
            "moved": "–" if step["max_abs_d"] is None else f"{100.0 * step['max_abs_d']:.1f}",
            "conflict": f"{step['conflict']:.1f} %",
            "differ": f"{abs(100.0 - step['agreement']):.1f} %",
            "accuracy": f"{step['accuracy']:.1f} %",
            "": f"{round(step['delta_accuracy'], 1) + 0.0:+.1f}",
            "AUC": "–" if step["auc"] is None else f"{step['auc']:.3f}",
        }
        failed = "" if step["verified"] else " (the check FAILED)"
        table.add_row(method, *(cells[name] for name in shown), Text(f"{step['preserves']}{failed}"))
    out.print(table)
    areas = [step["tree_auc"] for step in steps if step.get("tree_auc") is not None]
    of_tree = f" (the tree's own: {areas[0]:.3f})" if areas else ""
    words = "; ".join(f"{name}: {NUMBERS[name]}" for name in shown if name)
    say(f"{words}{of_tree}.", style="dim")


def methods_command(as_json: Json = False) -> None:
    """List the methods, from the strictest guarantee to none."""
    from secateur.methods import METHODS

    if as_json:
        listed = ("name", "aliases", "summary", "preserves", "needs_rows", "source")
        print_json([{name: getattr(method, name) for name in listed} for method in METHODS.values()])
        return
    say("Methods, from the strictest guarantee to none:\n")
    for method in METHODS.values():
        names = f" (also {', '.join(method.aliases)})" if method.aliases else ""
        needs = "needs training rows" if method.needs_rows else "needs no rows"
        if "domain" in method.parameters:
            needs = "certified by training rows, a domain or monotone signs"
        say((method.name, "bold"), names)
        say(f"  {method.summary}")
        say("  preserves ", (method.preserves, "green"), f"; {needs}")
        say(f"  from: {method.source}", style="dim")
