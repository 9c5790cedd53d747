"""``secateur compare``: measure all methods side by side on one tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from secateur.cli.console import print_json, tell, working
from secateur.cli.options import (
    ComparedKnobs,
    Data,
    Growing,
    Holdout,
    Json,
    Model,
    Quiet,
    Reading,
    Rows,
    Trusting,
    spread,
)

if TYPE_CHECKING:
    from secateur.cli.tables.fitted_table import FittedTable
    from secateur.report.rows_at_hand import RowsAtHand
    from secateur.rules.rule_set import RuleSet

__all__ = ["command"]

# The columns and what they mean; a narrow screen goes without some.
NUMBERS = {
    "rules": "how many there are",
    "left": "conditions that stay",
    "deleted": "share of conditions that went",
    "changed": "rules that lost one",
    "moved": "the farthest that a rule's reliability on its training rows went from its leaf's, in points",
    "conflict": "rows that rules of different classes cover",
    "differ": "rows decided otherwise than by the tree",
    "accuracy": "share of rows they get right, and its change in points against the tree",
    "": "",
    "AUC": "how well the rules' probabilities rank rows",
}
NARROW, LEFT_OUT = 110, ("left", "changed", "conflict")
COMPACT_BUDGET = 0.01


@spread
def command(
    data: Data,
    *,
    used: Rows,
    model: Model = None,
    knobs: ComparedKnobs,
    growing: Growing,
    holdout: Holdout = 0.25,
    as_json: Json = False,
    quiet: Quiet = False,
    reading: Reading,
    trusting: Trusting,
) -> None:
    """Use every method on one tree, and measure them on rows that were held out.

    Methods give one rule for each leaf; the last two lines are few rules and “otherwise”, without and with a budget.

    For example:

    secateur compare loans.csv --target outcome
    secateur compare loans.csv --target outcome --holdout 0.5 --json
    """
    from secateur.cli.tables.fitted_table import fit_table, read_one_tree, simplify_fitted, tell_facts
    from secateur.report.ladder import make_ladder
    from secateur.report.rows_at_hand import find_rows

    if model is not None:
        growing.refuse_with_model()
    brought = None if model is None else trusting.load(model, quiet=quiet)
    tree = None if brought is None else read_one_tree(brought)
    table = reading.open(data, tree=tree, seed=growing.seed, quiet=quiet)
    with working("Comparing the methods", quiet=quiet):
        fitted = fit_table(table, **used.take(table), **growing.arguments, model=brought, holdout=holdout)
        rules = simplify_fitted(fitted, method="none", take_facts=not knobs.no_facts)
        notes = (*fitted.notes, *(() if knobs.no_facts else tell_facts(fitted, rules.tree)))
        held_out = fitted.held_out
        at_hand = find_rows(rules) if held_out is None else find_rows(rules, held_out.X, held_out.y)
        ladder = make_ladder(rules, at_hand, verify=True, **dict[str, Any](knobs.settings))
        ladder += _make_compact_steps(rules, at_hand, knobs)
    if as_json:
        print_json(
            {
                "name": fitted.name,
                "notes": notes,
                "rows": len(fitted.train.y),
                "measured_rows": at_hand.n_rows,
                "held_out": held_out is not None,
                "methods": ladder,
            }
        )
    elif not quiet:
        for note in notes:
            tell(note)
        _show(fitted, len(rules), ladder)
    raise typer.Exit(code=0 if all(step.get("verified", True) for step in ladder) else 1)


def _make_compact_steps(rules: RuleSet, at_hand: RowsAtHand, knobs: ComparedKnobs) -> list[dict[str, Any]]:
    """Record the same of compact rules, without and with a budget."""
    import numpy as np

    from secateur.report.ladder import MEASURED, run_again

    exact = run_again(rules, at_hand, method="exact")
    tolerance = {} if knobs.tolerance is None else {"tolerance": knobs.tolerance}
    steps = []
    for budget in (0.0, COMPACT_BUDGET if knobs.budget is None else knobs.budget):
        made = exact.compact(budget=budget, **tolerance)
        moved = np.abs(made.rules.reliability - made.rules.source_reliability)[made.chosen]
        rows = at_hand.measured
        step: dict[str, Any] = {
            "method": f"compact, {100 * budget:g} %" if budget else "compact",
            "budget": budget,
            "otherwise": made.otherwise,
            "summary": made.guarantee,
            "preserves": f"the class on all but {100 * budget:g} % of training rows"
            if budget
            else "the tree's predictions, exactly",
            "is_exact": made.is_exact,
            "is_current": False,
            "problem": None,
            "verified": made.verify().ok,
            "n_rules": len(made),
            "n_conditions": made.n_conditions,
            "removed": 100.0 * (1.0 - made.n_conditions / max(made.source_n_conditions, 1)),
            **dict.fromkeys(("rules_changed", *MEASURED)),
        }
        if rows is not None:
            audit = made.audit(rows.X, rows.y, sample_weight=rows.sample_weight).to_dict()
            step |= {name: audit[name] for name in MEASURED if name in audit}
            step |= {"agreement": 100.0 - audit["disagreement"], "disagreement": audit["disagreement"]}
        step["max_abs_d"] = float(np.nanmax(moved)) if len(moved) and not np.isnan(moved).all() else None
        steps.append(step)
    return steps


def _show(fitted: FittedTable, n_rules: int, ladder: list[dict[str, Any]]) -> None:
    from rich.table import Column, Table
    from rich.text import Text

    from secateur.cli.console import out

    held_out = fitted.held_out
    measured = "the rows that the rules were made from" if held_out is None else f"{len(held_out.y):,} rows held out"
    out.print(Text(f"One tree for {fitted.target!r} on {len(fitted.train.y):,} rows of {fitted.name}; on {measured}:"))
    shown = [name for name in NUMBERS if out.width >= NARROW or name not in LEFT_OUT]
    numbers = [Column(name, justify="right", no_wrap=True) for name in shown]
    columns = [Column("method", style="bold", no_wrap=True), *numbers, Column("preserves")]
    table = Table(*columns, box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for step in ladder:
        method = Text(step["method"])
        if step["problem"] is not None:
            table.add_row(method, *["–"] * len(shown), Text(f"not here: {step['problem']}"))
            continue
        changed, conflict = step["rules_changed"], step["conflict"]
        cells = {
            "rules": f"{step.get('n_rules', n_rules):,}",
            "left": f"{step['n_conditions']:,}",
            "deleted": f"{step['removed']:.1f} %",
            "changed": "–" if changed is None else f"{100.0 * changed / n_rules:.1f} %",
            "moved": "–" if step["max_abs_d"] is None else f"{100.0 * step['max_abs_d']:.1f}",
            "conflict": "–" if conflict is None else f"{conflict:.1f} %",
            "differ": f"{abs(100.0 - step['agreement']):.1f} %",
            "accuracy": f"{step['accuracy']:.1f} %",
            "": f"{round(step['delta_accuracy'], 1) + 0.0:+.1f}",
            "AUC": "–" if step["auc"] is None else f"{step['auc']:.3f}",
        }
        failed = "" if step["verified"] else " (the check FAILED)"
        table.add_row(method, *(cells[name] for name in shown), Text(f"{step['preserves']}{failed}"))
    out.print(table)
    words = "; ".join(f"{name}: {NUMBERS[name]}" for name in shown if name)
    out.print(Text(f"{words}{_tell_tree_area(ladder)}."), style="dim")


def _tell_tree_area(ladder: list[dict[str, Any]]) -> str:
    """Say how well the tree's own probabilities do."""
    areas = [step["tree_auc"] for step in ladder if step.get("tree_auc") is not None]
    return f" (the tree's own: {areas[0]:.3f})" if areas else ""
